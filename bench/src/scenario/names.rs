//! What may be called what, and choosing by name.

/// Whether `name` can name a profile, settings or a camera: lower-case letters and digits with
/// single `-` between, since names become parts of folder names (where `--` separates them),
/// arguments (which start with `-`) and JSON keys.
pub(crate) fn valid(name: &str) -> bool {
    let word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    name.len() <= NAME_BYTES_MAX && name.split('-').all(word)
}

/// Whether `name` is the path of a file and no name.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || name.strip_suffix(".toml").is_some()
}

/// Why `name` is no name.
pub(crate) fn complaint(what: &str, name: &str) -> String {
    format!(
        "`{name}` is not a {what}; it is 1 to {NAME_BYTES_MAX} lower-case letters and digits, with single `-` \
         between them"
    )
}

/// Whether `name` matches `pattern`, in which each `*` stands for any text.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(head) else { return false };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return left.ends_with(piece);
        }
        match left.find(piece) {
            Some(at) => left = &left[at + piece.len()..],
            None => return false,
        }
    }
    true
}

/// The patterns of an argument that may hold several with commas between.
pub(crate) fn patterns(arguments: &[String]) -> impl Iterator<Item = &str> {
    arguments.iter().flat_map(|argument| argument.split(',')).map(str::trim).filter(|p| !p.is_empty())
}

const NAME_BYTES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_in_paths() {
        for name in ["bad-india-2", "a", "0", "a-b-c", &"x".repeat(64)] {
            assert!(valid(name), "{name}");
        }
        let dashes = ["-", "--", "-a", "a-", "a--s1", "a---b"];
        for name in ["", "Bad", "a b", "a/b", "..", "a_b", "é", &"x".repeat(65)].into_iter().chain(dashes) {
            assert!(!valid(name), "{name}");
        }
    }

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "x"),
            ("bad*", "bad-india"),
            ("*india", "bad-india"),
            ("b*-i*a", "bad-india"),
            ("*a*a*", "banana"),
            ("x", "x"),
            ("a**b", "ab"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("", "x"), ("bad", "bad-india"), ("*x*", "bad"), ("a*b*c", "acb"), ("ab*b", "ab")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
