//! The metrics that a grid can show: their names, units and direction, and where in a summary they
//! are.
//!
//! What each one means is defined once, in `bench`; this is the catalogue.

use bench::Summary;
use bench::metrics::summary::{CameraSummary, HandSummary};
use bench::netmodel::document::suggest;

use Better::{Higher, Lower};

/// One number of a cell that can be looked at.
#[derive(Debug)]
pub struct Metric {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Other names that mean the same.
    pub aliases: &'static [&'static str],
    /// What it is, in a few words.
    pub title: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// Digits after the point that are worth printing.
    pub decimals: usize,
    extract: fn(&Summary) -> Value,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// What a cell says of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A finite number in the metric's unit.
    Number(f64),
    /// Infinite: what it is measured on never arrived.
    Lost,
    /// The cell has nothing to measure it on.
    Absent,
}

impl Value {
    /// The number, if it is one.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Whether it is infinite.
    pub fn is_lost(self) -> bool {
        self == Self::Lost
    }
}

/// A name that no metric has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a metric")]
pub struct UnknownMetric {
    /// The name.
    pub name: String,
    /// The metric whose name is nearest, if one is near.
    pub nearest: Option<&'static str>,
}

impl Metric {
    /// Every metric, in the order in which they are printed when all are asked for.
    pub fn all() -> &'static [Self] {
        CATALOGUE
    }

    /// The metrics that are printed when none is named.
    pub fn defaults() -> Vec<&'static Self> {
        DEFAULTS.iter().filter_map(|name| Self::find(name).ok()).collect()
    }

    /// The metric called `name`, by its name or an alias.
    pub fn find(name: &str) -> Result<&'static Self, UnknownMetric> {
        let is = |metric: &&Self| metric.name == name || metric.aliases.contains(&name);
        CATALOGUE
            .iter()
            .find(is)
            .ok_or_else(|| UnknownMetric { name: name.to_owned(), nearest: nearest(name) })
    }

    /// What `names` select, in the order given and each once; `all` is every metric and no name at
    /// all is the defaults.
    pub fn select<S: AsRef<str>>(names: &[S]) -> Result<Vec<&'static Self>, UnknownMetric> {
        if names.is_empty() {
            return Ok(Self::defaults());
        }
        let mut selected: Vec<&'static Self> = Vec::new();
        for name in names {
            let found = match name.as_ref() {
                "all" => CATALOGUE.iter().collect(),
                name => vec![Self::find(name)?],
            };
            for metric in found {
                if !selected.iter().any(|known| known.name == metric.name) {
                    selected.push(metric);
                }
            }
        }
        Ok(selected)
    }

    /// Its unit alone, without what it is a share of: `%` for `% of produced`.
    pub fn symbol(&self) -> &'static str {
        self.unit.split_once(" of ").map_or(self.unit, |(symbol, _)| symbol)
    }

    /// What `cell` says of it.
    pub fn of(&self, cell: &Summary) -> Value {
        (self.extract)(cell)
    }
}

fn nearest(name: &str) -> Option<&'static str> {
    let names = CATALOGUE.iter().flat_map(|metric| metric.aliases.iter().chain([&metric.name]).copied());
    let nearest = suggest(name, names)?;
    // An alias may be nearest; what is suggested is the name that the help lists.
    Metric::find(nearest).ok().map(|metric| metric.name)
}

/// The main camera: the first of the workload.
fn main_camera(cell: &Summary) -> Option<&CameraSummary> {
    cell.cameras.iter().next().map(|(_, camera)| camera)
}

/// A number of the main camera, infinite where it is `None` though the camera made frames.
fn of_frames(cell: &Summary, pick: fn(&CameraSummary) -> Option<f64>) -> Value {
    match main_camera(cell) {
        Some(camera) if camera.produced > 0 => pick(camera).map_or(Value::Lost, Value::Number),
        _ => Value::Absent,
    }
}

/// A number about hand movements, infinite where it is `None` though there were movements.
fn of_hand(cell: &Summary, pick: fn(&HandSummary) -> Option<f64>) -> Value {
    match pick(&cell.hand_to_command_ms) {
        Some(number) => Value::Number(number),
        None if cell.commands.poses > 0 => Value::Lost,
        None => Value::Absent,
    }
}

/// A number that is there or is not.
fn plain(number: Option<f64>) -> Value {
    number.map_or(Value::Absent, Value::Number)
}

/// A ratio in percent.
fn percent(ratio: Option<f64>) -> Value {
    plain(ratio.map(|ratio| ratio * 100.0))
}

/// `part` in percent of `whole`.
fn share(part: u64, whole: u64) -> Value {
    percent(bench::statistics::ratio(part, whole))
}

/// Names of the metrics that are printed when none is asked for.
const DEFAULTS: [&str; 5] = ["delivered", "frozen", "delay-p50", "delay-p99", "hand-p50"];

const fn metric(
    name: &'static str,
    aliases: &'static [&'static str],
    title: &'static str,
    unit: &'static str,
    better: Better,
    decimals: usize,
    extract: fn(&Summary) -> Value,
) -> Metric {
    Metric { name, aliases, title, unit, better, decimals, extract }
}

/// Every metric. The order is that of the help and of `all`.
static CATALOGUE: &[Metric] = &[
    // Frames that arrived.
    metric("delivered", &["delivered-main"], "main frames delivered", "% of produced", Higher, 1, |cell| {
        percent(main_camera(cell).and_then(|camera| camera.delivered_ratio))
    }),
    metric("delivered-all", &[], "frames delivered, all cameras", "% of produced", Higher, 1, |cell| {
        percent(cell.all.delivered_ratio)
    }),
    metric("on-time-200", &[], "main frames within 200 ms", "% of produced", Higher, 1, |cell| {
        percent(main_camera(cell).and_then(|camera| camera.on_time_ratio.within_200_ms))
    }),
    metric("on-time-300", &["on-time"], "main frames within 300 ms", "% of produced", Higher, 1, |cell| {
        percent(main_camera(cell).and_then(|camera| camera.on_time_ratio.within_300_ms))
    }),
    metric("on-time-500", &[], "main frames within 500 ms", "% of produced", Higher, 1, |cell| {
        percent(main_camera(cell).and_then(|camera| camera.on_time_ratio.within_500_ms))
    }),
    // What the operator sees.
    metric("frozen", &["frozen-all"], "frozen video, mean over cameras", "s/min", Lower, 2, |cell| {
        plain(cell.all.frozen_s_per_min)
    }),
    metric("frozen-main", &[], "frozen video, main camera", "s/min", Lower, 2, |cell| {
        plain(main_camera(cell).map(|camera| camera.frozen_s_per_min))
    }),
    metric(
        "frozen-w3c",
        &[],
        "frozen video by the W3C's mean, mean over cameras",
        "s/min",
        Lower,
        2,
        |cell| plain(cell.all.frozen_w3c_s_per_min),
    ),
    // How late frames are.
    metric(
        "delay-p50",
        &["delay", "delay-median"],
        "delay of delivered main frames, p50",
        "ms",
        Lower,
        1,
        |cell| of_frames(cell, |camera| camera.delay_ms.p50),
    ),
    metric("delay-p95", &[], "delay of delivered main frames, p95", "ms", Lower, 1, |cell| {
        of_frames(cell, |camera| camera.delay_ms.p95)
    }),
    metric("delay-p99", &[], "delay of delivered main frames, p99", "ms", Lower, 1, |cell| {
        of_frames(cell, |camera| camera.delay_ms.p99)
    }),
    metric("delay-max", &[], "delay of delivered main frames, longest", "ms", Lower, 1, |cell| {
        of_frames(cell, |camera| camera.delay_ms.max)
    }),
    metric("delay-all-p50", &[], "delay of all produced main frames, p50", "ms", Lower, 1, |cell| {
        of_frames(cell, |camera| camera.delay_all_ms.p50)
    }),
    metric("delay-all-p95", &[], "delay of all produced main frames, p95", "ms", Lower, 1, |cell| {
        of_frames(cell, |camera| camera.delay_all_ms.p95)
    }),
    metric("delay-all-p99", &[], "delay of all produced main frames, p99", "ms", Lower, 1, |cell| {
        of_frames(cell, |camera| camera.delay_all_ms.p99)
    }),
    metric("relay-p50", &[], "frames in the relay, p50", "ms", Lower, 2, |cell| plain(cell.relay_ms.p50)),
    metric("relay-p99", &[], "frames in the relay, p99", "ms", Lower, 2, |cell| plain(cell.relay_ms.p99)),
    // Hands.
    metric("hand-p50", &["hand", "hand-median"], "hand to command, p50", "ms", Lower, 1, |cell| {
        of_hand(cell, |hand| hand.p50)
    }),
    metric("hand-p99", &[], "hand to command, p99", "ms", Lower, 1, |cell| of_hand(cell, |hand| hand.p99)),
    metric("hand-max", &[], "hand to command, longest carried out", "ms", Lower, 1, |cell| {
        of_hand(cell, |hand| hand.max)
    }),
    metric("command-gap", &[], "longest time without a command", "ms", Lower, 1, |cell| {
        plain(cell.commands.gap_ms_max)
    }),
    metric("stale", &["stale-commands"], "stale commands carried out", "commands", Lower, 0, |cell| {
        Value::Number(cell.stale_commands as f64)
    }),
    // What it costs.
    metric("goodput", &[], "bytes of complete frames", "Mbit/s", Higher, 2, |cell| {
        plain(cell.all.goodput_mbit_s)
    }),
    metric("overhead", &[], "bytes sent to the operator for each delivered", "ratio", Lower, 3, |cell| {
        match cell.overhead_ratio {
            Some(ratio) => Value::Number(ratio),
            None if cell.all.produced > 0 => Value::Lost,
            None => Value::Absent,
        }
    }),
    metric("queue-p50", &[], "wait in the queue towards the operator, p50", "ms", Lower, 1, |cell| {
        plain(cell.link.down.queue_ms.p50)
    }),
    metric("queue-p99", &["queue"], "wait in the queue towards the operator, p99", "ms", Lower, 1, |cell| {
        plain(cell.link.down.queue_ms.p99)
    }),
    // What it leaves to others.
    metric(
        "bulk-goodput",
        &["cross-goodput"],
        "bytes that the second flow got across",
        "Mbit/s",
        Higher,
        2,
        |cell| plain(cell.cross_traffic.and_then(|flow| flow.goodput_mbit_s)),
    ),
    metric("bulk-rtt", &["cross-rtt"], "round trip of the second flow, p50", "ms", Lower, 1, |cell| {
        plain(cell.cross_traffic.and_then(|flow| flow.rtt_ms.p50))
    }),
    metric("bulk-loss", &["cross-loss"], "packets the second flow lost", "% of sent", Lower, 2, |cell| {
        percent(cell.cross_traffic.and_then(|flow| flow.loss_ratio))
    }),
    metric("jain", &["fairness"], "Jain's index of video and the second flow", "index", Higher, 3, |cell| {
        plain(cell.cross_traffic.and_then(|flow| flow.jain_index))
    }),
    // Why.
    metric("skipped", &[], "main frames skipped by the relay", "% of produced", Lower, 1, |cell| {
        main_camera(cell).map_or(Value::Absent, |camera| share(camera.dropped.skipped, camera.produced))
    }),
    metric("expired", &[], "main frames given up at the deadline", "% of produced", Lower, 1, |cell| {
        main_camera(cell).map_or(Value::Absent, |camera| share(camera.dropped.expired, camera.produced))
    }),
    metric("incomplete", &[], "main frames with a part missing", "% of produced", Lower, 1, |cell| {
        main_camera(cell).map_or(Value::Absent, |camera| share(camera.dropped.incomplete, camera.produced))
    }),
    metric(
        "loss",
        &["really-lost"],
        "packets really lost towards the operator",
        "% of sent",
        Lower,
        2,
        |cell| percent(cell.loss.pre_repair_ratio),
    ),
    metric("declared-lost", &[], "packets QUIC declared lost", "% of sent", Lower, 2, |cell| {
        share(cell.transport.packets_declared_lost, cell.transport.packets_sent)
    }),
    metric("post-loss", &[], "frames sent that never became complete", "% of sent", Lower, 2, |cell| {
        percent(cell.loss.post_repair_ratio)
    }),
];

#[cfg(test)]
mod tests {
    use bench::Named;

    use super::*;

    #[test]
    fn names_and_aliases_are_unique() {
        let mut names: Vec<&str> = CATALOGUE
            .iter()
            .flat_map(|metric| metric.aliases.iter().chain([&metric.name]).copied())
            .collect();
        names.push("all");
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn titles_fit_beside_their_name_and_unit() {
        for metric in CATALOGUE {
            let length = metric.name.len() + metric.title.len() + metric.unit.len() + ": , ".len();
            assert!(length <= 80, "{} needs {length} columns", metric.name);
        }
    }

    #[test]
    fn a_mistyped_name_gets_the_nearest() {
        let error = Metric::find("deliverd").unwrap_err();
        assert_eq!(error.nearest, Some("delivered"));
        assert_eq!(Metric::find("zzzzzzzzzz").unwrap_err().nearest, None);
    }

    #[test]
    fn selection_keeps_the_order_and_drops_repeats() {
        let names = |selected: Vec<&'static Metric>| selected.iter().map(|m| m.name).collect::<Vec<_>>();
        assert_eq!(names(Metric::select::<&str>(&[]).unwrap()), DEFAULTS);
        assert_eq!(
            names(Metric::select(&["hand", "delivered", "hand-p50"]).unwrap()),
            ["hand-p50", "delivered"]
        );
        assert_eq!(Metric::select(&["all"]).unwrap().len(), CATALOGUE.len());
        assert!(Metric::select(&["delivered", "nope"]).is_err());
    }

    #[test]
    fn nothing_delivered_is_lost_and_nothing_produced_is_absent() {
        let camera = |produced| CameraSummary { produced, ..CameraSummary::default() };
        let cell = |produced| Summary {
            cameras: Named(vec![("main".to_owned(), camera(produced))]),
            ..Summary::default()
        };
        let delay = Metric::find("delay-p50").unwrap();
        assert_eq!(delay.of(&cell(10)), Value::Lost);
        assert_eq!(delay.of(&cell(0)), Value::Absent);
        assert_eq!(delay.of(&Summary::default()), Value::Absent);
    }

    #[test]
    fn ratios_become_percent() {
        let mut cell = Summary::default();
        let camera = CameraSummary { produced: 4, delivered_ratio: Some(0.25), ..CameraSummary::default() };
        cell.cameras = Named(vec![("only".to_owned(), camera)]);
        assert_eq!(Metric::find("delivered").unwrap().of(&cell), Value::Number(25.0));
    }
}
