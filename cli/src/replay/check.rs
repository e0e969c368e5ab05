//! Whether a cell that was run again came to the same, and if not, what differs first.

use bench::{CellFolder, CellResult, SecondRow, Summary};
use serde_json::Value;

use crate::kept_cell::KeptCell;

/// What differs, for people, the most telling first. Empty if the trace hashes agree.
pub(crate) fn differences(kept: &KeptCell, result: &CellResult) -> Vec<String> {
    let (then, now) = (&kept.summary, &result.summary);
    if then.trace_hash == now.trace_hash {
        return Vec::new();
    }
    let mut lines =
        vec![format!("trace hash: kept {}, now {}", short(&then.trace_hash), short(&now.trace_hash))];
    let versions = kept.other_versions();
    if versions.is_empty() {
        lines.push("it was kept by this very build, so nothing should differ".to_owned());
    }
    for (name, then, now) in versions {
        lines.push(format!("another {name}: kept {then}, now {now}"));
    }
    lines.push(first_second(kept, &result.seconds));
    if then.packets == now.packets {
        lines.push(format!("packets: {} in both", now.packets));
    } else {
        lines.push(format!("packets: kept {}, now {}", then.packets, now.packets));
    }
    lines.extend(first_field(then, now));
    lines
}

/// The first second whose row is another.
fn first_second(kept: &KeptCell, now: &[SecondRow]) -> String {
    let then = CellFolder::at(&kept.folder).seconds();
    let mut then = match then {
        Ok(seconds) => seconds.into_iter(),
        Err(error) => return format!("its seconds cannot be compared: failed to {error}"),
    };
    for row in now {
        let kept = then.next();
        if kept.as_ref() != Some(row) {
            let Some(kept) = kept else { return format!("second {}: not kept", row.second) };
            let (then, now) = (kept.down.packets, row.down.packets);
            return format!(
                "first differing second: {}, with {then} packets to the operator kept and {now} now",
                row.second
            );
        }
    }
    "no second's row differs".to_owned()
}

/// The first field of the summary that is another, hash and processor time aside.
fn first_field(then: &Summary, now: &Summary) -> Option<String> {
    let value = |summary: &Summary| serde_json::to_value(summary).ok();
    let (then, now) = (value(then)?, value(now)?);
    match differing(&then, &now, "") {
        Some(line) => Some(format!("first differing field of the summary: {line}")),
        None => Some("no other field of the summary differs".to_owned()),
    }
}

fn differing(then: &Value, now: &Value, path: &str) -> Option<String> {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => now.iter().find_map(|(name, value)| {
            if ["trace_hash", "cpu_s"].contains(&name.as_str()) {
                return None;
            }
            let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            differing(then.get(name).unwrap_or(&Value::Null), value, &inner)
        }),
        (then, now) if then == now => None,
        (then, now) => Some(format!("{path}: kept {then}, now {now}")),
    }
}

fn short(hash: &str) -> String {
    hash.chars().take(HASH_CHARS).collect()
}

const HASH_CHARS: usize = 16;
