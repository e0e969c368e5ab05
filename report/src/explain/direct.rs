//! A finding for each cause that cost something, each with its own numbers; and what cost no frame but bytes.

use std::fmt::Write as _;

use bench::Cause;
use bench::relay_core::settings::{CongestionFeedback, CongestionKind, FecAmount, FecKind, LossMeasure};
use bench::statistics::rounded;

use super::facts::Facts;
use super::record::{Fact, Finding, Kind, Suggestion};
use super::tally::Cost;
use super::{Look, count, percent, skip, weight, words};

/// Those that there are, each with its weight.
pub(super) fn findings(look: &Look<'_>) -> Vec<(f64, Finding)> {
    let mut found: Vec<(f64, Finding)> = PARTS.iter().filter_map(|part| one(look, part)).collect();
    found.extend(parity(look));
    found
}

/// One part of a frame's way, and what can go wrong on it.
struct Part {
    kind: Kind,
    causes: &'static [Cause],
    /// The sentence, and the evidence beside the counts.
    says: fn(&Look<'_>, &Cost) -> (String, Vec<Fact>),
    /// Where the summary has what it adds to a packet's or frame's way.
    delay: Option<&'static str>,
    setting: fn(&Look<'_>) -> Option<Suggestion>,
}

const PARTS: &[Part] = &[
    Part {
        kind: Kind::Connection,
        causes: &[Cause::NotConnected],
        says: connection,
        delay: None,
        setting: none,
    },
    Part { kind: Kind::Outage, causes: &[Cause::Outage], says: outage, delay: None, setting: none },
    Part { kind: Kind::Skipping, causes: &[Cause::Skipped], says: skipping, delay: None, setting: try_skip },
    Part {
        kind: Kind::Window,
        causes: &[Cause::WindowShut, Cause::Superseded],
        says: window,
        delay: Some(RELAY_P99),
        setting: try_control,
    },
    Part {
        kind: Kind::Deadline,
        causes: &[Cause::ExpiredInRelay],
        says: deadline,
        delay: Some(RELAY_P99),
        setting: none,
    },
    Part {
        kind: Kind::Queue,
        causes: &[Cause::LinkQueue, Cause::QueueOverflow],
        says: queue,
        delay: Some("link.down.queue_ms.p99"),
        setting: try_shorter_queue,
    },
    Part {
        kind: Kind::RandomLoss,
        causes: &[Cause::Lost],
        says: random_loss,
        delay: None,
        setting: try_repair,
    },
    Part { kind: Kind::LinkDelay, causes: &[Cause::LinkDelay], says: link_delay, delay: None, setting: none },
    Part { kind: Kind::Streams, causes: &[Cause::InTransport], says: streams, delay: None, setting: none },
    Part { kind: Kind::RobotHop, causes: &[Cause::RobotHop], says: robot_hop, delay: None, setting: none },
    Part { kind: Kind::NoFrames, causes: &[], says: no_frames, delay: None, setting: none },
];

fn one(look: &Look<'_>, part: &Part) -> Option<(f64, Finding)> {
    let cost = look.tally.of(part.kind);
    let standing = part.kind == Kind::Queue && standing(look);
    // Smaller frames on a link with room are the window's doing.
    let shrunk = if part.kind == Kind::Window && look.thin().is_empty() { look.shrunk_frames() } else { 0.0 };
    if cost.is_nothing() && !standing && shrunk == 0.0 {
        return None;
    }
    let (text, more) = (part.says)(look, &cost);
    let mut finding = look.finding(part.kind, &cost, text);
    finding.delay_ms_p99 = part.delay.and_then(|path| look.facts.number(path));
    finding.evidence = counts(part.causes, &cost);
    finding.evidence.extend(more);
    finding.setting = (part.setting)(look);
    if finding.worst_seconds.is_empty() && part.kind == Kind::Queue {
        finding.worst_seconds = fullest(look);
    }
    Some((weight(&cost) + shrunk, finding))
}

/// How many frames and freezes owe it to `causes`, as the tables have it.
fn counts(causes: &[Cause], cost: &Cost) -> Vec<Fact> {
    let names: Vec<String> = causes.iter().map(|cause| format!("'{}'", cause.name())).collect();
    let which = if names.is_empty() {
        "cause IS NULL".to_owned()
    } else {
        format!("cause IN ({})", names.join(", "))
    };
    let select = |what: &str, and: &str| format!("SELECT {what} FROM * WHERE {which}{and}");
    let mut facts = Vec::new();
    if !names.is_empty() {
        let of =
            |what, value, and| Facts::table(what, "frames", Some(value as f64), "", &select("count(*)", and));
        facts.push(of("frames missing for it", cost.missing, " AND delivered_us IS NULL"));
        facts.push(of("frames late for it", cost.late, " AND delivered_us IS NOT NULL"));
    }
    if cost.freezes > 0 {
        let frozen = Some(super::seconds(cost.frozen_us));
        let select = select("sum(length_us) / 1e6", "");
        facts.push(Facts::table("pictures stood for it, all cameras", "freezes", frozen, "s", &select));
    }
    facts
}

fn connection(look: &Look<'_>, cost: &Cost) -> (String, Vec<Fact>) {
    let facts = &look.facts;
    let joined = |path| facts.number(path).map_or_else(|| "never".to_owned(), |at| format!("at {at:.1} s"));
    let lost = facts
        .number(LOST_AT)
        .map_or_else(String::new, |at| format!(", and a connection was lost at {at:.1} s"));
    let text = format!(
        "An end was not in the session for {}: the robot's end joined {}, the operator's {}{lost}.",
        count(cost.frames(), "frame"),
        joined("connection.robot_joined_at_s"),
        joined("connection.operator_joined_at_s"),
    );
    let evidence = vec![
        facts.summary("the robot's end joined", "connection.robot_joined_at_s", "s"),
        facts.summary("the operator's end joined", "connection.operator_joined_at_s", "s"),
        facts.summary("a connection was lost", LOST_AT, "s"),
    ];
    (text, evidence)
}

fn outage(look: &Look<'_>, cost: &Cost) -> (String, Vec<Fact>) {
    let dropped = look.facts.summary("packets sent while the link was down", "link.down.outage_dropped", "");
    let text = format!(
        "The link was down: {} to the operator fell into it, and {} were missing or late for that.",
        count(dropped.value.unwrap_or(0.0) as u64, "packet"),
        count(cost.frames(), "frame")
    );
    (text, vec![dropped])
}

fn skipping(look: &Look<'_>, cost: &Cost) -> (String, Vec<Fact>) {
    let (skip, peak) = (&look.evidence.cell.settings.skip, skip::peak(look));
    let threshold = percent(Some(skip.threshold.as_f64()));
    let reached = if peak.declared_alone(look) {
        format!(
            "QUIC declared up to {} of packets lost within {} s, over the threshold of {threshold}; really lost were \
             {} in that time",
            percent(peak.declared),
            peak.window_s,
            percent(peak.really)
        )
    } else {
        format!(
            "measured loss passed the threshold of {threshold}: QUIC declared up to {} of packets lost within {} s, \
             and {} really were in that time",
            percent(peak.declared),
            peak.window_s,
            percent(peak.really)
        )
    };
    let text = format!("The relay skipped {}: {reached}.", count(cost.missing, "frame"));
    let mut evidence = peak.facts().to_vec();
    evidence.extend(
        ["skip.threshold", "skip.measured", "skip.keep_one_in", "skip.window"]
            .map(|key| look.facts.setting(key)),
    );
    (text, evidence)
}

fn try_skip(look: &Look<'_>) -> Option<Suggestion> {
    let peak = skip::peak(look);
    if peak.declared_alone(look) {
        let why = "what was really lost did not pass the threshold".to_owned();
        return Some(look.try_setting("skip.measured", "app", why));
    }
    let by_quic = look.evidence.cell.settings.skip.measured == LossMeasure::Transport;
    let most = if by_quic { peak.declared } else { peak.really }?;
    let above = (most * 100.0).floor() + 1.0;
    let why = format!("no measured loss was above it: the most was {}", percent(Some(most)));
    (above <= THRESHOLD_MAX).then(|| look.try_setting("skip.threshold", &format!("{above:.0} %"), why))
}

fn window(look: &Look<'_>, cost: &Cost) -> (String, Vec<Fact>) {
    let (window, rtt) = (look.relay_median(|r| r.window_bytes as f64), look.relay_median(|r| r.rtt_ms));
    let need_kb = rtt.map(|rtt_ms| rounded(look.full_bps / 8.0 * rtt_ms / 1e6, 3));
    let worst = look.smallest_window(&cost.worst());
    let events =
        look.facts.summary("times the control law was told of congestion", "transport.congestion_events", "");
    let mut text = format!(
        "Window or pacer did not admit {} in time: the window was {} kB at the least in the worst seconds and {} kB \
         in the median of all, where full-size video has {} kB under way in a round trip of {} ms. The control law was told of congestion {} times.",
        count(cost.frames(), "frame"),
        words(worst.map(|bytes| bytes as f64 / 1e3), 0),
        words(window.map(|bytes| bytes / 1e3), 0),
        words(need_kb, 0),
        words(rtt, 0),
        words(events.value, 0)
    );
    if look.thin().is_empty() && look.shrunk_frames() > 0.0 {
        let _ = write!(
            text,
            " The robot was asked for smaller frames: they had {} of full size in all.",
            percent(look.picture_ratio())
        );
    }
    let full_bytes_per_ms = look.full_bps / 8.0 / 1e3;
    let duration = look.evidence.summary.duration_s;
    let need = format!(
        "SELECT round(quantile_disc(rtt_ms, 0.5) * {full_bytes_per_ms} / 1000, 3) FROM * WHERE second < {duration}"
    );
    let seconds: Vec<String> = cost.worst().iter().map(u64::to_string).collect();
    let smallest = format!("SELECT min(window_bytes) FROM * WHERE second IN ({})", seconds.join(", "));
    let evidence = vec![
        Facts::table(
            "window at the least, in the worst seconds",
            "seconds",
            worst.map(|bytes| bytes as f64),
            "bytes",
            &smallest,
        ),
        look.median_fact("window, median of the seconds", "window_bytes", "bytes", |r| r.window_bytes as f64),
        look.median_fact("round trip, median of the seconds", "rtt_ms", "ms", |r| r.rtt_ms),
        Facts::table("full-size video in such a round trip", "seconds", need_kb, "kB", &need),
        events,
        look.facts.summary("packets that the link really lost", "transport.packets_really_lost", ""),
        look.facts.summary("of them the queue had no room for", "link.down.queue_dropped", ""),
        look.picture_fact(),
        look.facts.summary("frames in the relay, p99", RELAY_P99, "ms"),
        look.facts.setting("congestion.kind"),
        look.facts.setting("congestion.feedback"),
    ];
    (text, evidence)
}

/// Another control where the window was shut although there was no queue.
fn try_control(look: &Look<'_>) -> Option<Suggestion> {
    let control = &look.evidence.cell.settings.congestion;
    if !look.thin().is_empty() || standing(look) || look.evidence.summary.link.down.queue_dropped > 0 {
        return None;
    }
    let queue = words(look.facts.number("link.down.queue_ms.p99"), 1);
    let no_queue =
        format!("the window was shut while the link's queue was short: {queue} ms at its 99th percentile");
    match (control.kind, control.feedback) {
        (CongestionKind::NewReno | CongestionKind::Cubic, _) => Some(look.try_setting(
            "congestion.kind",
            "delay",
            format!("{no_queue}; `delay` slows down for a queue and not for loss"),
        )),
        (_, CongestionFeedback::Transport) => Some(look.try_setting(
            "congestion.feedback",
            "app",
            format!("{no_queue}; the receiver's reports say what really arrived and when"),
        )),
        _ => None,
    }
}

fn deadline(look: &Look<'_>, cost: &Cost) -> (String, Vec<Fact>) {
    let setting = look.facts.setting("deadline.frame");
    let text = format!(
        "{} grew older in the relay than the deadline of {} before window and pacer had admitted all of them.",
        count(cost.frames(), "frame"),
        setting.word.as_deref().unwrap_or("?")
    );
    (text, vec![setting, look.facts.summary("frames in the relay, p99", RELAY_P99, "ms")])
}

fn queue(look: &Look<'_>, cost: &Cost) -> (String, Vec<Fact>) {
    let facts = &look.facts;
    let (p50, p99) = ("link.down.queue_ms.p50", "link.down.queue_ms.p99");
    let full = facts.summary("packets that found it full", "link.down.queue_dropped", "");
    let text = format!(
        "Packets waited in the link's queue towards the operator: {} ms in the median, {} ms at the 99th percentile; \
         {} found it full. {} were missing or late for that.",
        words(facts.number(p50), 1),
        words(facts.number(p99), 1),
        words(full.value, 0),
        count(cost.frames(), "frame")
    );
    let evidence = vec![
        facts.summary("wait in the link's queue, p50", p50, "ms"),
        facts.summary("wait in the link's queue, p99", p99, "ms"),
        facts.summary("the longest wait", "link.down.queue_ms_max", "ms"),
        full,
        facts.setting("congestion.kind"),
    ];
    (text, evidence)
}

fn try_shorter_queue(look: &Look<'_>) -> Option<Suggestion> {
    let control = &look.evidence.cell.settings.congestion;
    let fills =
        matches!(control.kind, CongestionKind::NewReno | CongestionKind::Cubic | CongestionKind::Open);
    let why = "it slows down for a queue; this law does so only when the queue is full".to_owned();
    (fills && standing(look)).then(|| look.try_setting("congestion.kind", "delay", why))
}

/// Whether packets wait longer in the link's queue than a control law should let them.
fn standing(look: &Look<'_>) -> bool {
    look.facts.number("link.down.queue_ms.p99").is_some_and(|ms| ms >= QUEUE_MS_LONG)
}

/// The seconds with the longest waits in the link's queue.
fn fullest(look: &Look<'_>) -> Vec<u64> {
    let mut seconds: Vec<(f64, u64)> = look
        .evidence
        .seconds
        .iter()
        .map(|row| (row.down.queue_ms_max, row.second))
        .filter(|(ms, _)| *ms > 0.0)
        .collect();
    seconds.sort_by(|(left, a), (right, b)| right.total_cmp(left).then(a.cmp(b)));
    seconds.into_iter().take(SECONDS_NAMED).map(|(_, second)| second).collect()
}

fn random_loss(look: &Look<'_>, cost: &Cost) -> (String, Vec<Fact>) {
    let facts = &look.facts;
    let (before, after) = ("loss.pre_repair_ratio", "loss.post_repair_ratio");
    let offered = facts.number("link.down.offered").filter(|offered| *offered > 0.0);
    let share = facts.number("link.down.lost").zip(offered).map(|(lost, offered)| lost / offered);
    let text = format!(
        "The link lost {} of the packets to the operator. For {} neither parity nor sending again made up for that in \
         time: {} missing, {} late.",
        // Not those that a queue or an outage dropped.
        percent(share),
        count(cost.frames(), "frame"),
        cost.missing,
        cost.late
    );
    let evidence = vec![
        facts.summary("packets that the link lost", "link.down.lost", ""),
        facts.summary("packets that never came, whatever dropped them", before, ""),
        facts.summary("frames sent that never became complete", after, ""),
        facts.setting("repair.enabled"),
        facts.setting("fec.kind"),
        facts.setting("fec.amount"),
        facts.setting("fec.ratio"),
    ];
    (text, evidence)
}

fn try_repair(look: &Look<'_>) -> Option<Suggestion> {
    let settings = &look.evidence.cell.settings;
    if !settings.repair.enabled {
        let why = "what is lost is then sent again while it can still arrive".to_owned();
        return Some(look.try_setting("repair.enabled", "true", why));
    }
    let parity = "a frame with parity survives losses without waiting for a round trip".to_owned();
    match (settings.fec.kind, settings.fec.amount) {
        (FecKind::None, _) => Some(look.try_setting("fec.kind", "block", parity)),
        (_, FecAmount::Fixed) => {
            let why = "parity then follows the measured share and burst length of loss".to_owned();
            Some(look.try_setting("fec.amount", "adaptive", why))
        }
        _ => None,
    }
}

fn link_delay(look: &Look<'_>, cost: &Cost) -> (String, Vec<Fact>) {
    let link = &look.evidence.cell.profile.down;
    let (delay, sigma) = (link.delay.as_millis_f64(), link.jitter.sigma.as_millis_f64());
    let text = format!(
        "{} owe it to the link's own delay and jitter: {delay} ms one way, give or take {sigma} ms.",
        count(cost.frames(), "frame")
    );
    let evidence = vec![
        look.facts.profile("the link's delay, one way", "down.delay", Some(delay), "ms"),
        look.facts.profile("standard deviation of it", "down.jitter.sigma", Some(sigma), "ms"),
    ];
    (text, evidence)
}

fn streams(look: &Look<'_>, cost: &Cost) -> (String, Vec<Fact>) {
    let text = format!(
        "{} were in the hands of QUIC, sent as streams, when time passed; which of their packets were late it does not say.",
        count(cost.frames(), "frame")
    );
    (text, vec![look.facts.setting("delivery.kind")])
}

fn robot_hop(look: &Look<'_>, cost: &Cost) -> (String, Vec<Fact>) {
    let facts = &look.facts;
    let text = format!("{} were lost or held up between robot and relay.", count(cost.frames(), "frame"));
    let evidence = vec![
        facts.summary("packets lost between robot and relay", "robot_link.up.lost", ""),
        facts.summary("packets that found the queue there full", "robot_link.up.queue_dropped", ""),
        facts.summary("wait in the queue there, p99", "robot_link.up.queue_ms.p99", "ms"),
    ];
    (text, evidence)
}

fn no_frames(_: &Look<'_>, cost: &Cost) -> (String, Vec<Fact>) {
    (
        format!("In {} the camera made no frame that could have been shown.", count(cost.freezes, "freeze")),
        Vec::new(),
    )
}

/// Parity that took much of what was sent.
fn parity(look: &Look<'_>) -> Option<(f64, Finding)> {
    let frames = look.evidence.frames;
    let sum = |of: fn(&bench::FrameRow) -> u32| frames.iter().map(|frame| u64::from(of(frame))).sum::<u64>();
    let (parity, sent, lost) =
        (sum(|f| f.packets_parity), sum(|f| f.packets_sent), sum(|f| f.packets_lost + f.packets_overflowed));
    let share = bench::statistics::ratio(parity, sent)?;
    if share < PARITY_SHARE_MIN {
        return None;
    }
    let overhead = look.facts.summary(
        "bytes sent to the operator for each byte of video delivered",
        "overhead_ratio",
        "",
    );
    let text = format!(
        "{} of the packets with video carried parity, {parity} packets where {lost} were lost: {} bytes were sent to the \
         operator for each byte of video delivered.",
        percent(Some(share)),
        words(overhead.value, 2)
    );
    let mut finding = look.finding(Kind::ParityCost, &Cost::default(), text);
    let table = |what, value: f64, select: &str| Facts::table(what, "frames", Some(value), "", select);
    finding.evidence = vec![
        table("packets with parity", parity as f64, "SELECT sum(packets_parity) FROM *"),
        table("packets with video or parity", sent as f64, "SELECT sum(packets_sent) FROM *"),
        table("of these lost", lost as f64, "SELECT sum(packets_lost + packets_overflowed) FROM *"),
        overhead,
        look.facts.setting("fec.kind"),
        look.facts.setting("fec.amount"),
        look.facts.setting("fec.overhead_max"),
    ];
    if look.evidence.cell.settings.fec.amount == FecAmount::Fixed && parity > lost * PARITY_PER_LOSS_MUCH {
        let why = "parity then follows the measured share and burst length of loss".to_owned();
        finding.setting = Some(look.try_setting("fec.amount", "adaptive", why));
    }
    Some((0.0, finding))
}

/// What is said when nothing else is.
pub(super) fn nothing(look: &Look<'_>) -> Finding {
    let summary = look.evidence.summary;
    let slowest = summary.cameras.0.iter().filter_map(|(_, camera)| camera.delay_ms.max).fold(0.0, f64::max);
    let text = format!(
        "Nothing limited the video: all {} frames came, the slowest after {slowest:.1} ms, and no picture stood.",
        summary.all.produced
    );
    let mut finding = look.finding(Kind::Nothing, &Cost::default(), text);
    finding.evidence = vec![
        look.facts.summary("frames that were made", "all.produced", ""),
        look.facts.summary("frames that came", "all.delivered", ""),
        look.facts.summary("frozen video", "all.frozen_s_per_min", "s/min"),
    ];
    let delays = summary.cameras.iter().map(|(name, _)| {
        look.facts.summary(
            &format!("the slowest frame of {name}"),
            &format!("cameras.{name}.delay_ms.max"),
            "ms",
        )
    });
    finding.evidence.extend(delays);
    finding
}

fn none(_: &Look<'_>) -> Option<Suggestion> {
    None
}

const RELAY_P99: &str = "relay_ms.p99";
const LOST_AT: &str = "connection.lost_at_s";
/// A wait at the 99th percentile from which the queue is worth speaking of although no frame was late for
/// it: what the default control law is to keep a standing queue under.
const QUEUE_MS_LONG: f64 = 50.0;
/// A threshold above this would skip nothing that could be seen.
const THRESHOLD_MAX: f64 = 50.0;
/// Seconds that a finding names.
const SECONDS_NAMED: usize = 3;
/// Parity of so much of all video packets is worth speaking of: twice the least for the default workload's
/// frames on a clean link.
const PARITY_SHARE_MIN: f64 = 0.2;
/// So many parity packets for each lost one are more than loss asks for.
const PARITY_PER_LOSS_MUCH: u64 = 4;
