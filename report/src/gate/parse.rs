//! The grammar of a gate:
//!
//! ```text
//! gate    = subject operator number
//! subject = names | "mean(" names ")" | "worst(" names ")"
//! names   = profile [ "/" settings ] "." field { "." field }
//! ```
//!
//! Names hold no dots and no slashes, so nothing needs quoting but for the shell.

use super::{Comparison, Gate, GateError, Over};

impl Gate {
    /// Reads a gate.
    ///
    /// # Errors
    ///
    /// If it is none: what is missing, and how one looks.
    pub fn parse(text: &str) -> Result<Self, GateError> {
        let error = |reason: &str| GateError {
            gate: text.to_owned(),
            reason: reason.to_owned(),
            help: Some(HOW.to_owned()),
        };
        let (at, (sign, comparison)) = SIGNS
            .iter()
            .filter_map(|sign| Some((text.find(sign.0)?, *sign)))
            .min_by_key(|(at, _)| *at)
            .ok_or_else(|| error("there is no comparison in it"))?;
        let (subject, limit) = (text[..at].trim(), text[at + sign.len()..].trim());
        let limit: f64 = limit.parse().map_err(|_| error("what stands after the comparison is no number"))?;
        if !limit.is_finite() {
            return Err(error("what stands after the comparison is no finite number"));
        }
        let (over, names) = match subject.split_once('(') {
            None => (Over::Mean, subject),
            Some((over, rest)) => {
                let names = rest.strip_suffix(')').ok_or_else(|| error("`(` without `)` at the end"))?;
                match over.trim() {
                    "mean" => (Over::Mean, names.trim()),
                    "worst" => (Over::Worst, names.trim()),
                    _ => return Err(error("what can stand before `(` is `mean` or `worst`")),
                }
            }
        };
        let mut parts = names.split('.').map(str::to_owned);
        let cells = parts.next().unwrap_or_default();
        let path: Vec<String> = parts.collect();
        let (profile, settings) = cells.split_once('/').unwrap_or((&cells, "*"));
        if path.is_empty() || [profile, settings].iter().any(|part| part.is_empty()) {
            return Err(error("it names no profile and field"));
        }
        if path.iter().any(|part| part.is_empty() || part.contains(char::is_whitespace)) {
            return Err(error("a part of the field's name is empty or has a space in it"));
        }
        let (profile, settings) = (profile.to_owned(), settings.to_owned());
        Ok(Self { text: text.to_owned(), over, profile, settings, path, comparison, limit })
    }
}

/// Longer signs before those that they begin with: at the same place, the first wins.
const SIGNS: [(&str, Comparison); 6] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    (">", Comparison::Above),
    ("<", Comparison::Below),
];

const HOW: &str = "a gate is PROFILE[/SETTINGS].FIELD OPERATOR NUMBER, as in \
                   'bad-india.main.delivered_ratio >= 0.99' or 'worst(*/best.hand_to_command_ms.p99) <= 250'";
