//! Legends: a sample of a line beside its name.

use maud::{Markup, html};

/// One line of a legend: the classes of its line and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// Classes of the line, which give colour and dashes.
    pub(crate) class: String,
    /// What the line is.
    pub(crate) name: String,
}

/// A list of samples and names. It stands beside a drawing, not in it, so that its text wraps.
pub(crate) fn list(keys: &[Key]) -> Markup {
    html! {
        ul class="legend" {
            @for key in keys {
                li { (sample(&key.class)) (key.name) }
            }
        }
    }
}

/// The sample of a line alone.
pub(crate) fn sample(class: &str) -> Markup {
    html! {
        svg class="sample" width="26" height="10" aria-hidden="true" focusable="false" {
            path class=(format!("line {class}")) d="M1 5H25" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        let keys = [Key { class: "c0".to_owned(), name: "</ul><script>".to_owned() }];
        let text = list(&keys).into_string();
        assert!(text.contains("&lt;/ul&gt;&lt;script&gt;") && text.contains(r#"class="line c0""#), "{text}");
    }
}
