//! Two settings with the same profile and seed meet the same link and the same cameras.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use bench::relay_core::Settings;
use bench::relay_core::settings::CongestionKind;
use bench::units::Span;
use serde_json::Value;
use tests::cell;

/// A log that the test can read afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("one thread").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Every packet's fate by (hop, direction, number), and every input.
struct Seen {
    verdicts: BTreeMap<(String, String, u64), String>,
    inputs: Vec<String>,
}

fn seen(profile: &str, settings: Settings) -> Seen {
    let log = Shared::default();
    let cell = cell(profile, settings, 7, Span::from_secs(20));
    let options = sim::Options { log: Some(Box::new(log.clone())), ..sim::Options::default() };
    sim::run_cell(&cell, options).expect("the cell runs");
    let bytes = log.0.lock().expect("one thread").clone();
    let text = String::from_utf8(bytes).expect("the log is text");
    let mut seen = Seen { verdicts: BTreeMap::new(), inputs: Vec::new() };
    for line in text.lines() {
        let entry: Value = serde_json::from_str(line).expect("each line is JSON");
        let word = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        if entry["packet"] == "sent" {
            let id = entry["id"].as_u64().expect("a number");
            seen.verdicts.insert((word("hop"), word("direction"), id), word("verdict"));
        }
        if entry.get("input").is_some() {
            seen.inputs.push(line.to_owned());
        }
    }
    seen
}

#[test]
fn packet_n_meets_the_same_fate_whatever_the_settings() {
    for profile in ["bad-india", "bad-india-reorder", "brazil"] {
        // Cameras make other frames when they are asked to; that is not what this is about.
        let mut one = Settings::default();
        one.resize.enabled = false;
        let mut other = one.clone();
        other.congestion.kind = CongestionKind::NewReno;
        other.skip.enabled = false;
        other.pose.repeat = 0;
        let (one, two) = (seen(profile, one), seen(profile, other));
        assert!(one.inputs == two.inputs, "{profile}: the same cameras and hands");
        let common: Vec<_> = one.verdicts.keys().filter(|key| two.verdicts.contains_key(*key)).collect();
        assert!(common.len() > 2_000, "{profile}: only {} packets in common", common.len());
        for key in &common {
            assert_eq!(one.verdicts[*key], two.verdicts[*key], "{profile}: {key:?}");
        }
        let lost = common.iter().filter(|key| one.verdicts[**key] == "lost").count();
        assert!(lost > 0, "{profile} loses packets");
        assert!(one.verdicts.len() != two.verdicts.len(), "{profile}: the settings made a difference");
    }
}
