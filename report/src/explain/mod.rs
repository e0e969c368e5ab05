//! What limited one cell, in plain words and with the numbers that say so.
//!
//! Every missing or late frame and every freeze has one cause (`bench`'s `metrics/why`); [`explain`] adds up what
//! each cause cost, names what lies behind several of them (a thin link, reordering taken for loss, a slow start)
//! where the numbers show it, and ranks all of it by cost. It computes nothing that is not in the cell's
//! summary, tables, profile and settings, and says of each number where it stands. It reads no file and runs nothing:
//! whoever calls it (`arcbench explain`) brings the tables and prints.

mod direct;
mod facts;
mod link;
mod record;
mod root;
mod skip;
mod tally;
#[cfg(test)]
mod tests;

use bench::metrics::RelaySecondRow;
use bench::metrics::summary::Mode;
use bench::statistics::{percentile, rounded};
use bench::{Cell, FrameRow, FreezeRow, SecondRow, Summary};

use self::facts::Facts;
pub use self::record::{Explanation, Fact, Finding, Kind, Suggestion, explain_schema};
use self::tally::{Cost, SECOND_US, Tally};

/// What is known of a cell.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The cell, with its profile, settings and workload.
    pub cell: &'a Cell,
    /// Its summary.
    pub summary: &'a Summary,
    /// Its frames.
    pub frames: &'a [FrameRow],
    /// Its freezes.
    pub freezes: &'a [FreezeRow],
    /// Its seconds.
    pub seconds: &'a [SecondRow],
    /// How commands name the cell, quoted for a shell.
    pub cell_argument: &'a str,
    /// How commands name the run's scenario, quoted for a shell.
    pub scenario_argument: &'a str,
}

/// What limited the cell.
pub fn explain(evidence: &Evidence<'_>) -> Explanation {
    let look = Look::new(*evidence);
    let mut ranked: Vec<(f64, Finding)> = root::findings(&look);
    ranked.extend(direct::findings(&look));
    if ranked.is_empty() {
        ranked.push((0.0, direct::nothing(&look)));
    }
    // Of equal cost, what lies behind others goes before them.
    ranked.sort_by(|(left, a), (right, b)| {
        right.total_cmp(left).then_with(|| (a.covers.is_empty(), a.what).cmp(&(b.covers.is_empty(), b.what)))
    });
    let all = Tally::one(evidence.frames, evidence.freezes, |_| true);
    let summary = evidence.summary;
    Explanation {
        schema: "arcbench.explain".to_owned(),
        version: 1,
        cell: summary.cell.clone(),
        profile: summary.profile.clone(),
        settings: summary.settings.clone(),
        seed: summary.seed.clone(),
        duration_s: summary.duration_s,
        produced: summary.all.produced,
        missing: all.missing,
        late: all.late,
        frozen_s: seconds(all.frozen_us),
        freezes: all.freezes,
        findings: ranked.into_iter().map(|(_, finding)| finding).collect(),
    }
}

/// A cell with what several findings need of it.
struct Look<'a> {
    evidence: Evidence<'a>,
    tally: Tally,
    facts: Facts,
    /// Bits a second that the cameras make at full size.
    full_bps: f64,
    /// The link's rate in each second of the traffic.
    rates_bps: Vec<Option<f64>>,
}

impl<'a> Look<'a> {
    fn new(evidence: Evidence<'a>) -> Self {
        Self {
            tally: Tally::new(evidence.frames, evidence.freezes),
            facts: Facts::new(evidence.summary, evidence.cell),
            full_bps: link::full_bps(evidence.cell),
            rates_bps: link::rates_bps(evidence.cell),
            evidence,
        }
    }

    /// Bytes of all frames made, of what they are at full size. Sizes vary by chance, so it is near 1 and not 1
    /// where nothing was made smaller.
    fn picture_ratio(&self) -> Option<f64> {
        let bytes: u64 = self.evidence.frames.iter().map(|frame| u64::from(frame.bytes)).sum();
        let full = self.full_bps / 8.0 * self.evidence.summary.duration_s;
        (full > 0.0).then(|| rounded(bytes as f64 / full, 4))
    }

    fn picture_fact(&self) -> Fact {
        let full = self.full_bps / 8.0 * self.evidence.summary.duration_s;
        let select = format!("SELECT sum(frame_bytes) / {full} FROM *");
        Facts::table("size of the frames made, of full size", "frames", self.picture_ratio(), "", &select)
    }

    /// Frames' worth of picture that was not made because the robot was asked for smaller frames.
    fn shrunk_frames(&self) -> f64 {
        let ratio = self.picture_ratio().unwrap_or(1.0);
        if ratio > FULL_SIZE_MIN { 0.0 } else { (1.0 - ratio) * self.evidence.summary.all.produced as f64 }
    }

    /// Seconds of the traffic in which the link carries less than the cameras make at full size, with what
    /// carries a byte of it.
    fn thin(&self) -> Vec<u64> {
        let needed = self.full_bps * self.header_ratio();
        let thin = |(_, rate): &(usize, &Option<f64>)| rate.is_some_and(|rate| rate < needed);
        self.rates_bps.iter().enumerate().filter(thin).map(|(second, _)| second as u64).collect()
    }

    /// Bytes on the link for each byte of video, without parity: what the robot's hop, which has none, took.
    fn header_ratio(&self) -> f64 {
        self.facts
            .number(HEADERS)
            .filter(|ratio| ratio.is_finite())
            .unwrap_or(1.0)
            .clamp(1.0, HEADER_RATIO_MAX)
    }

    /// The median of a column of the relay's seconds within the traffic.
    fn relay_median(&self, of: impl Fn(&RelaySecondRow) -> f64) -> Option<f64> {
        let within = |row: &&SecondRow| (row.second as f64) < self.evidence.summary.duration_s;
        let rows = self.evidence.seconds.iter().filter(within).filter_map(|row| row.relay.as_ref());
        // Three decimals are kept: a percentile is taken over whole numbers.
        let mut values: Vec<u64> = rows.map(|row| (of(row).max(0.0) * 1000.0).round() as u64).collect();
        values.sort_unstable();
        percentile(&values, 0, 50).map(|value| value as f64 / 1000.0)
    }

    /// The smallest window with which one of these seconds began.
    fn smallest_window(&self, seconds: &[u64]) -> Option<u64> {
        let of = |row: &SecondRow| seconds.contains(&row.second).then_some(row.relay?.window_bytes);
        self.evidence.seconds.iter().filter_map(of).min()
    }

    fn median_fact(&self, what: &str, column: &str, unit: &str, of: impl Fn(&RelaySecondRow) -> f64) -> Fact {
        let duration = self.evidence.summary.duration_s;
        let select = format!("SELECT quantile_disc({column}, 0.5) FROM * WHERE second < {duration}");
        Facts::table(what, "seconds", self.relay_median(of), unit, &select)
    }

    /// A finding about `what`, with what `cost` says, and commands for its worst moment.
    fn finding(&self, what: Kind, cost: &Cost, text: String) -> Finding {
        let cell = self.evidence.cell_argument;
        // Both run the cell again, which cannot be done with a real one.
        let moment = cost.moment_us().filter(|_| self.evidence.summary.mode == Mode::Sim);
        let next = moment.map(|(at_us, length_us)| look_at(cell, at_us, length_us)).unwrap_or_default();
        Finding {
            what,
            text,
            covers: Vec::new(),
            missing: cost.missing,
            late: cost.late,
            frozen_s: seconds(cost.frozen_us),
            freezes: cost.freezes,
            delay_ms_p99: None,
            evidence: Vec::new(),
            worst_seconds: cost.worst(),
            next,
            setting: None,
        }
    }

    /// `key` set to `value`, as something to try.
    fn try_setting(&self, key: &str, value: &str, why: String) -> Suggestion {
        let summary = self.evidence.summary;
        let (scenario, profile, settings, seed) =
            (self.evidence.scenario_argument, &summary.profile, &summary.settings, &summary.seed);
        let mode = if summary.mode == Mode::Real { " --mode real" } else { "" };
        Suggestion {
            key: key.to_owned(),
            now: self.facts.written(key),
            value: value.to_owned(),
            why,
            command: format!(
                "arcbench run {scenario} --profiles {profile} --settings {settings} --seeds {seed}{mode} --set {}",
                quoted(&format!("{key}={}", value.replace(' ', "")))
            ),
        }
    }
}

/// What a finding is ranked by: a point for each frame missing or late, and one for each second that a picture stood.
fn weight(cost: &Cost) -> f64 {
    cost.frames() as f64 + cost.frozen_us as f64 / SECOND_US as f64
}

/// Commands that look at a moment: what happened around it, and the life of the frames in it.
fn look_at(cell: &str, at_us: u64, length_us: u64) -> Vec<String> {
    let tenths = at_us / 100_000;
    let at = format!("{}.{}s", tenths / 10, tenths % 10);
    let from = (at_us / SECOND_US).saturating_sub(1);
    let to = (at_us.saturating_add(length_us.min(TRACED_US_MAX)) / SECOND_US) + 2;
    vec![
        format!("arcbench show {cell} --at {at}"),
        format!("arcbench replay {cell} --trace trace-{from}s.json --from {from}s --to {to}s"),
    ]
}

fn seconds(us: u64) -> f64 {
    rounded(us as f64 / 1e6, 6)
}

/// `argument` as a shell reads it back; values of settings have no quotes in them.
fn quoted(argument: &str) -> String {
    if argument.contains(['{', '[', '"']) { format!("'{argument}'") } else { argument.to_owned() }
}

/// A share as a percentage in words.
fn percent(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "an unknown share".to_owned(), |ratio| format!("{:.1} %", ratio * 100.0))
}

/// A number in words.
fn words(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "an unknown number".to_owned(), |value| format!("{value:.decimals$}"))
}

/// A count with its noun.
fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Where the summary has the bytes that carry a byte of video on the robot's hop.
const HEADERS: &str = "transport.robot_hop_overhead_ratio";
/// Headers of the smallest packets; a larger ratio speaks of frames that never came whole.
const HEADER_RATIO_MAX: f64 = 1.5;
/// Frames this near to full size were not made smaller: their sizes vary by a tenth.
const FULL_SIZE_MIN: f64 = 0.95;
/// How much of a long freeze a trace is to cover.
const TRACED_US_MAX: u64 = 10 * SECOND_US;
