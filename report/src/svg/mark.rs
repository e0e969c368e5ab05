//! The mark beside a heat cell's colour: as many bars filled as the value is good, so that it reads
//! without colour.

use maud::{Markup, html};

/// How many levels a heat map tells apart.
pub(crate) const LEVELS: u8 = 5;

/// The id of the mark of a level, of 0 (worst) to 4 (best), or of what is lost.
pub(crate) fn id(level: Option<u8>) -> String {
    level.map_or_else(|| "lv-x".to_owned(), |level| format!("lv-{}", level.min(LEVELS - 1)))
}

/// All marks, defined once in a page and used by their ids.
pub(crate) fn definitions() -> Markup {
    html! {
        svg width="0" height="0" class="defs" aria-hidden="true" focusable="false" {
            @for level in 0..LEVELS {
                symbol id=(id(Some(level))) viewBox="0 0 16 12" {
                    @for bar in 0..LEVELS {
                        @let height = 4 + 2 * bar;
                        @let class = if bar <= level { "bar on" } else { "bar" };
                        rect class=(class) x=(1 + 3 * bar) y=(12 - height) width="2" height=(height) {}
                    }
                }
            }
            symbol id=(id(None)) viewBox="0 0 16 12" {
                path class="cross" d="M4 2L12 10M12 2L4 10" {}
            }
        }
    }
}

/// The mark of a level.
pub(crate) fn of(level: Option<u8>) -> Markup {
    html! {
        svg class="mark" width="16" height="12" aria-hidden="true" focusable="false" {
            use href=(format!("#{}", id(level))) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_differ_without_colour() {
        let text = definitions().into_string();
        assert_eq!(text.matches("bar on").count(), 1 + 2 + 3 + 4 + 5);
        assert!(
            text.contains(r#"id="lv-0""#) && text.contains(r#"id="lv-4""#) && text.contains(r#"id="lv-x""#)
        );
        assert_eq!(id(Some(9)), "lv-4");
    }
}
