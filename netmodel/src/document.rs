//! TOML text to a type, with every error at once and each error's place in the text.
//!
//! Serde stops at the first thing that does not fit. Here, what does not fit is noted with its
//! span, taken out, and the rest is tried again, until nothing is left to note. Used for
//! profiles, and by the callers of this crate for their own files.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::de::{DeArray, DeTable, DeValue, Deserializer};

/// One thing that is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// The bytes of the text that it is about; `None` is the document as a whole.
    pub span: Option<Range<usize>>,
    /// What to do about it, where that is known.
    pub help: Option<String>,
}

impl Problem {
    /// A problem without a place or advice.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None, help: None }
    }

    /// The same, about these bytes of the text.
    #[must_use]
    pub fn at(self, span: Range<usize>) -> Self {
        Self { span: Some(span), ..self }
    }

    /// The same, with advice.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

/// Reads `text` as a `T`.
///
/// # Errors
///
/// All that is wrong, in the order of the text: if it is not TOML, every syntax error; otherwise
/// every unknown key (with the nearest known one), wrong value and missing key. Of more than
/// [`PROBLEMS_MAX`], that many and a last one that says so.
pub fn decode<T: DeserializeOwned>(text: &str) -> Result<T, Vec<Problem>> {
    match recover(text) {
        (Some(value), problems) if problems.is_empty() => Ok(value),
        (_, problems) => Err(problems),
    }
}

/// Reads `text` as a `T` made of what fits, with all that does not.
///
/// The value is there whenever the document without its faulty entries is a `T`, so that a caller
/// can go on and check what the types do not say. It must not be used for anything else while
/// there are problems. A check for something absent should stay silent then: it may be absent
/// because it was faulty. With more than [`PROBLEMS_MAX`] problems there is no value.
pub fn recover<T: DeserializeOwned>(text: &str) -> (Option<T>, Vec<Problem>) {
    let (root, syntax) = DeTable::parse_recoverable(text);
    if !syntax.is_empty() {
        let problems = syntax.iter().map(|e| Problem { span: e.span(), ..Problem::new(e.message()) });
        return (None, capped(problems.collect()));
    }
    let root_span = root.span();
    let mut table = root.into_inner();
    let mut removed = Vec::new();
    let mut problems: Vec<Problem> = Vec::new();
    let mut more = false;
    // Each turn takes an entry out of the table, so there are at most as many as entries; and since
    // each looks at the whole table again, they end when there is enough to tell.
    let value = loop {
        let root = toml::Spanned::new(root_span.clone(), table.clone());
        let error = match T::deserialize(Deserializer::from(root)) {
            Ok(value) => break Some(value),
            Err(error) => error,
        };
        if problems.len() == PROBLEMS_MAX {
            more = true;
            break None;
        }
        let place = error.span().filter(|span| *span != root_span);
        let consequence = missing_key(error.message()).is_some_and(|key| {
            let within = place.as_ref().unwrap_or(&root_span);
            removed.iter().any(|r: &Removed| r.key == key && r.within == *within)
        });
        let problem = Problem { span: place.clone(), ..explain(error.message()) };
        if !consequence && !problems.contains(&problem) {
            problems.push(problem);
        }
        let Some(place) = place else { break None };
        if !remove(&mut table, &root_span, &place, &mut removed) {
            break None;
        }
    };
    problems.sort_by_key(|p| p.span.as_ref().map_or(0, |s| s.start));
    if more {
        problems.push(Problem::new(format!("there are more problems than these {PROBLEMS_MAX}")));
    }
    (value, problems)
}

/// Most problems of one text that are told one by one.
pub const PROBLEMS_MAX: usize = 100;

/// The first [`PROBLEMS_MAX`] of `problems`, and how many more there are.
pub fn capped(mut problems: Vec<Problem>) -> Vec<Problem> {
    // One that says "there are more" may already stand at the end.
    if problems.len() > PROBLEMS_MAX + 1 {
        let more = problems.len() - PROBLEMS_MAX;
        problems.truncate(PROBLEMS_MAX);
        problems.push(Problem::new(format!("and there are {more} more problems")));
    }
    problems
}

/// The one of `right` that `wrong` was probably meant to be: the nearest by edit distance, if it is
/// near. Case and the choice between `-` and `_` do not count.
pub fn suggest<'a>(wrong: &str, right: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong: Vec<char> = folded(wrong);
    let limit = (wrong.len() / 3).max(2);
    right
        .into_iter()
        .map(|name| (edit_distance(&wrong, &folded(name)), name))
        .filter(|(distance, _)| *distance <= limit && *distance < wrong.len().max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// A key that was taken out, and the span of the table that it was in.
struct Removed {
    within: Range<usize>,
    key: String,
}

/// Takes out the innermost entry whose key or value has this span.
fn remove(
    table: &mut DeTable<'_>,
    within: &Range<usize>,
    place: &Range<usize>,
    removed: &mut Vec<Removed>,
) -> bool {
    for (_, value) in table.iter_mut() {
        let span = value.span();
        if remove_below(value.get_mut(), &span, place, removed) {
            return true;
        }
    }
    let found = table.iter().find(|(key, value)| key.span() == *place || value.span() == *place);
    let Some(key) = found.map(|(key, _)| key.clone()) else { return false };
    table.remove(&key);
    removed.push(Removed { within: within.clone(), key: key.into_inner().into_owned() });
    true
}

fn remove_below(
    value: &mut DeValue<'_>,
    span: &Range<usize>,
    place: &Range<usize>,
    removed: &mut Vec<Removed>,
) -> bool {
    match value {
        DeValue::Table(table) => remove(table, span, place, removed),
        DeValue::Array(array) => remove_item(array, place, removed),
        _ => false,
    }
}

fn remove_item(array: &mut DeArray<'_>, place: &Range<usize>, removed: &mut Vec<Removed>) -> bool {
    for item in array.iter_mut() {
        let span = item.span();
        if remove_below(item.get_mut(), &span, place, removed) {
            return true;
        }
    }
    let Some(index) = array.iter().position(|item| item.span() == *place) else { return false };
    let items = std::mem::replace(array, DeArray::new()).into_iter().enumerate();
    *array = items.filter(|(i, _)| *i != index).map(|(_, item)| item).collect();
    true
}

/// Serde's message in the words of somebody who writes files, with advice.
fn explain(message: &str) -> Problem {
    if let Some(key) = missing_key(message) {
        return Problem::new(format!("missing key `{key}`"));
    }
    for (prefix, noun, plural) in
        [("unknown field `", "key", "keys"), ("unknown variant `", "value", "values")]
    {
        let Some((wrong, expected)) = message.strip_prefix(prefix).and_then(|m| m.split_once('`')) else {
            continue;
        };
        let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        let problem = Problem::new(format!("unknown {noun} `{wrong}`"));
        return match suggest(wrong, known.iter().copied()) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None if known.is_empty() => problem,
            None => problem.help(format!("the {plural} here are {}", list(&known))),
        };
    }
    Problem::new(plain(message).unwrap_or_else(|| message.to_owned()))
}

/// What serde says about a value of the wrong type, without the names that types have in the code.
fn plain(message: &str) -> Option<String> {
    if message == "wanted string or table" {
        return Some("expected a name as text".to_owned());
    }
    if message.starts_with("invalid length ") && message.contains(", expected struct ") {
        // Serde would take the values of a table in their order, too.
        return Some("expected a table, found a list".to_owned());
    }
    let mismatch =
        message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    // A text that was found may hold anything; what is expected stands last.
    let (found, expected) = mismatch.rsplit_once(", expected ")?;
    Some(format!("expected {}, found {}", plain_expected(expected), plain_found(found)))
}

/// What a type is to somebody who writes files.
fn plain_expected(expected: &str) -> Cow<'_, str> {
    let whole = |max: u64| Cow::Owned(format!("a whole number from 0 to {max}"));
    match expected.trim_start_matches("a nonzero ") {
        "u8" => whole(u8::MAX.into()),
        "u16" => whole(u16::MAX.into()),
        "u32" => whole(u32::MAX.into()),
        "u64" | "u128" | "usize" => "a whole number, not negative".into(),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "`true` or `false`".into(),
        "a string" | "str" | "string" => "a text in quotes".into(),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        other => {
            let kind = other.split(' ').next().unwrap_or(other);
            match kind {
                "struct" => "a table".into(),
                "enum" | "variant" => "a name as text".into(),
                "tuple" => "a list".into(),
                _ => expected.into(),
            }
        }
    }
}

/// A value as it was found.
fn plain_found(found: &str) -> Cow<'_, str> {
    for kind in ["boolean ", "integer ", "floating point "] {
        if let Some(value) = found.strip_prefix(kind) {
            return value.into();
        }
    }
    match found {
        "sequence" => "a list".into(),
        "map" => "a table".into(),
        _ => match found.strip_prefix("string ") {
            Some(text) => format!("the text {text}").into(),
            None => found.into(),
        },
    }
}

fn missing_key(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'))
}

/// Names in backticks with commas and a last "and".
pub(crate) fn list(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, [])) => format!("`{last}`"),
        Some((last, rest)) => {
            let rest: Vec<String> = rest.iter().map(|name| format!("`{name}`")).collect();
            format!("{} and `{last}`", rest.join(", "))
        }
        None => String::new(),
    }
}

fn folded(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).map(|c| if c == '-' { '_' } else { c }).collect()
}

/// The number of insertions, deletions and replacements between two texts (Levenshtein).
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replace = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde::Deserialize;
    use units::Span;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        length: Span,
        #[serde(default)]
        mode: Mode,
        inner: Option<Inner>,
        #[serde(default)]
        list: Vec<Inner>,
        #[serde(default)]
        named: BTreeMap<String, Inner>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        count: u32,
        #[serde(default)]
        loss_good: f64,
    }

    #[derive(Debug, PartialEq, Default, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Mode {
        #[default]
        DropTail,
        Codel,
    }

    /// Each problem as the text it is about and its message.
    fn problems(text: &str) -> Vec<String> {
        let found = decode::<Outer>(text).unwrap_err();
        let about = |p: &Problem| p.span.clone().map_or("", |span| &text[span]).to_owned();
        found.iter().map(|p| format!("{} | {p}", about(p))).collect()
    }

    #[test]
    fn what_is_right_is_read() {
        let outer: Outer = decode("length = '2 s'\nmode = 'codel'\n[inner]\ncount = 1").unwrap();
        assert_eq!((outer.length, outer.mode), (Span::from_secs(2), Mode::Codel));
        assert_eq!(outer.inner, Some(Inner { count: 1, loss_good: 0.0 }));
    }

    #[test]
    fn every_problem_is_found_at_once_and_in_its_place() {
        let text = "lenght = '2 s'\nlength = 3\nmode = 'codell'\ncolour = 1\n[inner]\ncount = -1\nloss-good = 2\n\
                    [[list]]\ncount = 'x'\n[[list]]\ncuont = 3\n[named.a]\ncount = 1\nxyz = 2\n";
        let found = problems(text);
        let expected = [
            "lenght | unknown key `lenght` (did you mean `length`?)",
            "3 | `3` has no unit; a duration is written with ns, us, ms, s, min or h, for example \"120 s\"",
            "'codell' | unknown value `codell` (did you mean `codel`?)",
            "colour | unknown key `colour` (the keys here are `length`, `mode`, `inner`, `list` and `named`)",
            "-1 | expected a whole number from 0 to 4294967295, found `-1`",
            "loss-good | unknown key `loss-good` (did you mean `loss_good`?)",
            "'x' | expected a whole number from 0 to 4294967295, found the text \"x\"",
            "[[list]] | missing key `count`",
            "cuont | unknown key `cuont` (did you mean `count`?)",
            "xyz | unknown key `xyz` (the keys here are `count` and `loss_good`)",
        ];
        assert_eq!(found, expected, "{found:#?}");
    }

    #[test]
    fn a_missing_key_is_about_its_table_and_alone() {
        assert_eq!(problems("length = '1 s'\n[inner]\nloss_good = 1.0"), ["[inner] | missing key `count`"]);
        assert_eq!(problems("mode = 'codel'"), [" | missing key `length`"]);
    }

    #[test]
    fn what_follows_from_a_problem_is_none() {
        // Without its faulty `length` the document has no `length`: that is the same problem.
        assert_eq!(problems("length = 3").len(), 1);
        assert_eq!(problems("length = '1 s'\n[inner]\ncount = 'x'").len(), 1);
    }

    #[test]
    fn no_type_of_the_code_is_named() {
        let text = "length = '1 s'\nmode = 1\ninner = 3\nlist = 'x'\n[named]\na = []\nb = { count = 1.5 }\n\
                    c = { count = 1, loss_good = true }";
        let found = problems(text);
        let expected = [
            "1 | expected a name as text",
            "3 | expected a table, found `3`",
            "'x' | expected a list, found the text \"x\"",
            "[] | expected a table, found a list",
            "1.5 | expected a whole number from 0 to 4294967295, found `1.5`",
            "true | expected a number, found `true`",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}, not {expected}");
            let leaks = ["struct", "Inner", "Outer", "Mode", "u32", "f64", "invalid", "integer", "wanted"];
            assert!(leaks.iter().all(|leak| !found.contains(leak)), "{found}");
        }
    }

    #[test]
    fn very_many_problems_are_cut_short() {
        use std::fmt::Write;

        let mut text = "length = '1 s'\n".to_owned();
        for number in 0..10_000 {
            writeln!(text, "key{number} = {number}").unwrap();
        }
        let found = problems(&text);
        assert_eq!(found.len(), PROBLEMS_MAX + 1);
        assert_eq!(found[PROBLEMS_MAX], " | there are more problems than these 100");
        let syntax = problems(&"=\n".repeat(10_000));
        assert_eq!(syntax.len(), PROBLEMS_MAX + 1, "{:?}", &syntax[..3]);
        assert!(syntax[PROBLEMS_MAX].contains("more problems"));
        let few = vec![Problem::new("x"); PROBLEMS_MAX + 1];
        assert_eq!(capped(few.clone()), few, "one more is not worth a line that says so");
    }

    #[test]
    fn syntax_errors_come_alone_and_all() {
        let found = problems("length = \nmode = 'codel\nxyz = 1");
        assert!(found.len() >= 2 && found.iter().all(|p| !p.contains("unknown key")), "{found:#?}");
    }

    #[test]
    fn the_recovered_value_lacks_the_faulty() {
        let (value, found) = recover::<Outer>("length = '1 s'\nxyz = 1\n[inner]\ncount = 'x'");
        assert_eq!(found.len(), 2);
        assert_eq!(value.unwrap().inner, None);
    }

    #[test]
    fn suggestions_are_near_or_none() {
        let names = ["delay", "jitter", "loss", "rate_counts"];
        assert_eq!(suggest("dealy", names), Some("delay"));
        assert_eq!(suggest("rate-count", names), Some("rate_counts"));
        assert_eq!(suggest("Jitter", names), Some("jitter"));
        assert_eq!(suggest("bandwidth", names), None);
        assert_eq!(suggest("p", ["r"]), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = decode::<Outer>(&text);
        }

        #[test]
        fn no_near_miss_panics(
            lines in prop::collection::vec(
                "(length|mode|inner|list|named|count)(\\.[a-z]{1,3})? = ('1 s'|-1|\\{\\}|\\[\\]|\\[\\{ count = 1 \\}\\]|x)", 0..6),
            header in "(\\[inner\\]|\\[\\[list\\]\\]|\\[named\\.x\\]|\\[inner|)",
        ) {
            let text = format!("{}\n{header}\n{}", lines.join("\n"), lines.join("\n"));
            let _ = decode::<Outer>(&text);
        }
    }
}
