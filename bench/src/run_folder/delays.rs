//! Delay histograms as an `HdrHistogram` interval log, which its many tools read.
//!
//! One interval for each camera, tagged with its name, and one for hand to command; values are microseconds. What
//! never came is in no histogram: how many these are is in a comment.

use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use crate::metrics::{CellResult, Summary};

/// The log's bytes.
pub(super) fn encode(result: &CellResult) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    // The cell's time has no calendar: its traffic starts at zero.
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment("[arcbench.delays version 1, in microseconds]")
        .with_start_time(SystemTime::UNIX_EPOCH)
        .with_base_time(SystemTime::UNIX_EPOCH)
        .begin_log_with(&mut bytes, &mut serializer)?;
    let duration = Duration::from_secs_f64(result.summary.duration_s.clamp(0.0, DURATION_S_MAX));
    let mut write = |name: &str, missing: u64, values: &mut dyn Iterator<Item = u64>| {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, US_MAX, DIGITS).map_err(io::Error::other)?;
        values.for_each(|value| histogram.saturating_record(value));
        let tag = tag(name);
        log.write_comment(&format!("{tag}: {missing} never came"))?;
        log.write_histogram(&histogram, Duration::ZERO, duration, Tag::new(&tag)).map_err(io::Error::other)
    };
    for (name, camera) in result.summary.cameras.iter() {
        let frames = result.frames.iter().filter(|frame| frame.camera == name);
        let missing = camera.produced.saturating_sub(camera.delivered);
        write(name, missing, &mut frames.filter_map(crate::FrameRow::delay_us))?;
    }
    let commands = &result.summary.commands;
    write(HAND, commands.movements_lost, &mut result.hand_to_command_us.iter().copied())?;
    Ok(bytes)
}

/// Whether `log` has, to its end, an interval for each camera of `summary` and one for hand to command. What is in their
/// histograms is not looked at.
pub(super) fn is_whole(log: &[u8], summary: &Summary) -> bool {
    let intervals = log.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"Tag=")).count();
    intervals == summary.cameras.iter().count() + 1 && log.ends_with(b"\n")
}

/// A camera's name without what the format takes for its own.
fn tag(name: &str) -> String {
    name.replace([',', ' ', '\r', '\n'], "-")
}

/// The tag of the time from a hand movement to its command.
const HAND: &str = "hand-to-command";
/// An hour: longer than any delay that a cell lets something take; a longer one counts as this.
const US_MAX: u64 = 3_600_000_000;
/// Decimal digits that a value keeps.
const DIGITS: u8 = 3;
/// A year, far over the longest cell.
const DURATION_S_MAX: f64 = 31_536_000.0;

#[cfg(test)]
mod tests {
    use by_hand::histograms;

    use super::*;
    use crate::metrics::Recorder;
    use units::Time;

    /// Reading back needs base64, which the log's reader leaves to its caller.
    mod by_hand {
        use hdrhistogram::Histogram;
        use hdrhistogram::serialization::Deserializer;
        use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

        pub(super) fn histograms(log: &[u8]) -> Vec<(String, Histogram<u64>)> {
            let entries = IntervalLogIterator::new(log).map(Result::unwrap);
            let interval = |entry| match entry {
                LogEntry::Interval(interval) => {
                    let bytes = decode(interval.encoded_histogram());
                    let histogram = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
                    Some((interval.tag().unwrap().as_str().to_owned(), histogram))
                }
                _ => None,
            };
            entries.filter_map(interval).collect()
        }

        fn decode(text: &str) -> Vec<u8> {
            let digit = |c: u8| match c {
                b'A'..=b'Z' => c - b'A',
                b'a'..=b'z' => c - b'a' + 26,
                b'0'..=b'9' => c - b'0' + 52,
                b'+' => 62,
                _ => 63,
            };
            let (mut out, mut bits, mut held) = (Vec::new(), 0u32, 0);
            for c in text.bytes().filter(|c| *c != b'=') {
                bits = bits << 6 | u32::from(digit(c));
                held += 6;
                if held >= 8 {
                    held -= 8;
                    out.push((bits >> held) as u8);
                }
            }
            out
        }
    }

    #[test]
    fn each_camera_and_the_hand_have_their_histogram() {
        let cell = crate::cell::test_cell(1);
        let mut result = Recorder::new(&cell, None).finish(Time::from_nanos(9_000_000_000));
        result.hand_to_command_us = vec![100_000, 100_000, 140_000];
        let bytes = encode(&result).unwrap();
        assert_eq!(bytes, encode(&result).unwrap(), "the same bytes each time");
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(
            text.starts_with("#[Histogram log format version 1.3]\n#[arcbench.delays version 1,"),
            "{text}"
        );
        let read = histograms(&bytes);
        let tags: Vec<&str> = read.iter().map(|(tag, _)| tag.as_str()).collect();
        assert_eq!(tags, ["main", "wrist-left", "wrist-right", "hand-to-command"]);
        let hand = &read[3].1;
        assert_eq!(hand.len(), 3);
        assert!(hand.value_at_quantile(0.5).abs_diff(100_000) <= 100, "{}", hand.value_at_quantile(0.5));
        assert_eq!(tag("left, wrist"), "left--wrist");
        assert!(is_whole(&bytes, &result.summary));
        assert!(!is_whole(&bytes[..bytes.len() - 1], &result.summary), "its end is missing");
        assert!(!is_whole(&bytes, &Summary::default()), "of other cameras");
    }
}
