//! Axes: grid lines with their ticks' texts.

use maud::{Markup, html};

use super::Coord;
use super::scale::{Scale, tick_text};

/// Ticks of a horizontal axis: a line over the plot's height for each, and its text below.
pub(crate) fn horizontal(x: &Scale, count: usize, (top, bottom): (f64, f64)) -> Markup {
    html! {
        g class="axis" {
            @for tick in x.ticks(count) {
                @let at = Coord(x.at(tick));
                line x1=(at) x2=(at) y1=(Coord(top)) y2=(Coord(bottom)) {}
                text x=(at) y=(Coord(bottom + 14.0)) text-anchor="middle" { (tick_text(tick)) }
            }
        }
    }
}

/// Ticks of a vertical axis: a line over the plot's width for each, and its text to the left.
pub(crate) fn vertical(y: &Scale, count: usize, (left, right): (f64, f64)) -> Markup {
    html! {
        g class="axis" {
            @for tick in y.ticks(count) {
                @let at = y.at(tick);
                line x1=(Coord(left)) x2=(Coord(right)) y1=(Coord(at)) y2=(Coord(at)) {}
                text x=(Coord(left - 6.0)) y=(Coord(at + 4.0)) text-anchor="end" { (tick_text(tick)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tick_has_a_line_and_a_text() {
        let scale = Scale::linear(0.0, 100.0, 0.0, 200.0);
        for text in
            [horizontal(&scale, 5, (0.0, 10.0)).into_string(), vertical(&scale, 5, (0.0, 10.0)).into_string()]
        {
            assert_eq!(text.matches("<line").count(), 6, "{text}");
            assert!(text.contains(">0</text>") && text.contains(">100</text>"), "{text}");
        }
    }
}
