//! Charts as inline SVG: scales, axes, lines and steps, marks of a heat map, legends.
//!
//! This is no general plotting library: it has what the pages of this crate draw, knows nothing of
//! metrics or cells, and loads nothing, no font either. Colours are not set here but by classes and
//! by custom properties of the page, so that one drawing serves light, dark and paper. Coordinates
//! are in the user units of the drawing, printed to a tenth, so that the same data gives the same
//! bytes.

pub(crate) mod axis;
pub(crate) mod legend;
pub(crate) mod mark;
pub(crate) mod path;
pub(crate) mod scale;

use maud::{Markup, html};

/// A drawing's size, name and description.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// Of the user coordinates.
    pub(crate) width: f64,
    /// Of the user coordinates.
    pub(crate) height: f64,
    /// Unique in the page; the ids of title and description begin with it.
    pub(crate) id: &'a str,
    /// What is drawn, in a few words.
    pub(crate) title: &'a str,
    /// What can be seen in it, for whoever cannot see it.
    pub(crate) desc: &'a str,
}

impl Frame<'_> {
    /// The drawing with `content` in it.
    pub(crate) fn draw(&self, content: &Markup) -> Markup {
        let (title_id, desc_id) = (format!("{}-t", self.id), format!("{}-d", self.id));
        html! {
            svg viewBox=(format!("0 0 {} {}", Coord(self.width), Coord(self.height))) role="img"
                aria-labelledby=(title_id) aria-describedby=(desc_id) {
                title id=(title_id) { (self.title) }
                desc id=(desc_id) { (self.desc) }
                (content)
            }
        }
    }
}

/// A coordinate, printed to a tenth and without digits that say nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Coord(pub(crate) f64);

impl std::fmt::Display for Coord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What is no number has no place; it must not break the drawing either.
        let tenths = if self.0.is_finite() { (self.0 * 10.0).round() as i64 } else { 0 };
        let sign = if tenths < 0 { "-" } else { "" };
        let (whole, rest) = (tenths.abs() / 10, tenths.abs() % 10);
        if rest == 0 { write!(f, "{sign}{whole}") } else { write!(f, "{sign}{whole}.{rest}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_always_numbers() {
        for (value, text) in
            [(1.0, "1"), (1.26, "1.3"), (-0.04, "0"), (-1.5, "-1.5"), (f64::NAN, "0"), (f64::INFINITY, "0")]
        {
            assert_eq!(Coord(value).to_string(), text);
        }
    }

    #[test]
    fn a_drawing_is_named_and_described_and_escapes_both() {
        let frame = Frame { width: 10.0, height: 5.5, id: "f", title: "a<b", desc: "</desc><script>" };
        let text = frame.draw(&html! { g {} }).into_string();
        assert!(text.contains(r#"viewBox="0 0 10 5.5""#), "{text}");
        assert!(text.contains(r#"<title id="f-t">a&lt;b</title>"#), "{text}");
        assert!(text.contains("&lt;/desc&gt;&lt;script&gt;"), "{text}");
        assert!(text.contains(r#"aria-labelledby="f-t" aria-describedby="f-d""#), "{text}");
    }
}
