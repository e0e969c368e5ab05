//! What lies behind several causes at once, where the numbers show it: a link thinner than the video, reordering
//! that was taken for loss, a slow start.

use bench::relay_core::settings::{CongestionFeedback, LossMeasure, Settings};
use bench::{FrameRow, FreezeRow};

use super::facts::Facts;
use super::record::{Finding, Kind, Suggestion};
use super::tally::{Cost, SECOND_US, Tally};
use super::{HEADERS, Look, count, percent, weight, words};

/// Those that there are, each with its weight.
pub(super) fn findings(look: &Look<'_>) -> Vec<(f64, Finding)> {
    [rate(look), reordering(look), start_up(look)].into_iter().flatten().collect()
}

/// The link carries less than the cameras make.
fn rate(look: &Look<'_>) -> Option<(f64, Finding)> {
    let thin = look.thin();
    let second = *thin.first()?;
    let in_thin = |us: u64| thin.binary_search(&(us / SECOND_US)).is_ok();
    let evidence = look.evidence;
    let frames = evidence.frames.iter().filter(|frame| in_thin(frame.produced_us));
    let freezes = evidence.freezes.iter().filter(|freeze| in_thin(freeze.from_us));
    let kinds = [Kind::Window, Kind::Deadline, Kind::Queue];
    let cost = Tally::one(frames.clone(), freezes.clone(), |kind| kinds.contains(&kind));
    let mbit = |bps: f64| bench::statistics::rounded(bps / 1e6, 3);
    let rates = thin.iter().filter_map(|second| look.rates_bps.get(*second as usize).copied().flatten());
    let least = rates.fold(f64::INFINITY, f64::min);
    let (full, goodput) = (mbit(look.full_bps), look.facts.number(GOODPUT));
    let when = if thin.len() < look.rates_bps.len() {
        format!(" in {} of {} seconds, from second {second} on", thin.len(), look.rates_bps.len())
    } else {
        String::new()
    };
    let size = match look.picture_ratio() {
        Some(ratio) if look.shrunk_frames() > 0.0 => {
            format!("The frames that were made had {} of full size in all", percent(Some(ratio)))
        }
        _ => "Frames were made at full size".to_owned(),
    };
    let text = format!(
        "The link carries {:.2} Mbit/s{when}, and the cameras at full size make {full:.2} Mbit/s of video. {size}, \
         and {} Mbit/s of complete frames came through.",
        mbit(least),
        words(goodput, 2)
    );
    let mut finding = look.finding(Kind::Rate, &cost, text);
    finding.covers = Tally::new(frames, freezes).among(&kinds);
    finding.delay_ms_p99 = look.facts.number(QUEUE_P99);
    finding.evidence = vec![
        look.facts.profile(
            "rate of the link, where it is too thin",
            "down.rate",
            Some(mbit(least)),
            "Mbit/s",
        ),
        Facts::workload("video at full size", "cameras", full, "Mbit/s"),
        look.facts.summary("bytes sent for each byte of video on the robot's hop", HEADERS, ""),
        look.picture_fact(),
        look.facts.summary("bytes of complete frames", GOODPUT, "Mbit/s"),
        look.facts.summary("wait in the link's queue, p99", QUEUE_P99, "ms"),
        look.facts.setting("resize.enabled"),
    ];
    let settings = &evidence.cell.settings;
    if !settings.resize.enabled && evidence.cell.workload.resizable {
        let why = "smaller frames fit a thin link, and none need be dropped".to_owned();
        finding.setting = Some(look.try_setting("resize.enabled", "true", why));
    }
    Some((weight(&cost) + look.shrunk_frames(), finding))
}

/// Packets that arrived were declared lost, and something acted on it.
fn reordering(look: &Look<'_>) -> Option<(f64, Finding)> {
    let transport = &look.evidence.summary.transport;
    let spurious = transport.packets_spuriously_lost_min;
    let settings = &look.evidence.cell.settings;
    if spurious < SPURIOUS_MIN || spurious * 2 < transport.packets_declared_lost {
        return None;
    }
    let mut acted = Vec::new();
    if settings.skip.enabled && settings.skip.measured == LossMeasure::Transport {
        acted.push(Kind::Skipping);
    }
    if settings.congestion.feedback == CongestionFeedback::Transport {
        acted.extend([Kind::Window, Kind::Deadline]);
    }
    let covers = look.tally.among(&acted);
    if covers.is_empty() {
        return None;
    }
    let cost = Tally::one(look.evidence.frames, look.evidence.freezes, |kind| covers.contains(&kind));
    let out_of_order = look.facts.number(REORDERED);
    let text = format!(
        "QUIC declared {} lost, of which at least {spurious} arrived: {} packets came out of the link after one \
         that was sent later, and that was taken for loss. The link really lost {}.",
        count(transport.packets_declared_lost, "packet"),
        words(out_of_order, 0),
        transport.packets_really_lost
    );
    let mut finding = look.finding(Kind::ReorderingTakenForLoss, &cost, text);
    finding.covers = covers;
    finding.evidence = vec![
        look.facts.summary("packets that QUIC declared lost", "transport.packets_declared_lost", ""),
        look.facts.summary("of these at least arrived", "transport.packets_spuriously_lost_min", ""),
        look.facts.summary("packets that the link really lost", "transport.packets_really_lost", ""),
        look.facts.summary("packets that came out of order", REORDERED, ""),
        look.facts.summary("times the control law was told of congestion", "transport.congestion_events", ""),
        look.facts.setting("loss_detection.packet_threshold"),
        look.facts.setting("loss_detection.time_threshold"),
        look.facts.setting("congestion.feedback"),
        look.facts.setting("skip.measured"),
    ];
    finding.setting = tolerance(look);
    Some((weight(&cost), finding))
}

/// Both thresholds of the shipped default where they are higher: either alone still declares the same packets lost.
fn tolerance(look: &Look<'_>) -> Option<Suggestion> {
    let (set, usual) = (&look.evidence.cell.settings.loss_detection, Settings::default().loss_detection);
    if set.packet_threshold >= usual.packet_threshold && set.time_threshold >= usual.time_threshold {
        return None;
    }
    let packets = set.packet_threshold.max(usual.packet_threshold);
    let time = set.time_threshold.max(usual.time_threshold);
    let why = "packets that are late, or that later ones overtook, are then not taken for lost".to_owned();
    let value = format!("{{packet_threshold={packets},time_threshold={time:?}}}");
    Some(look.try_setting("loss_detection", &value, why))
}

/// Most of what went wrong did so at the beginning.
fn start_up(look: &Look<'_>) -> Option<(f64, Finding)> {
    let evidence = look.evidence;
    if evidence.summary.duration_s < START_S as f64 * 4.0 {
        return None;
    }
    let early = |us: u64| us < START_S * SECOND_US;
    let frames: Vec<&FrameRow> = evidence.frames.iter().filter(|frame| early(frame.produced_us)).collect();
    let freezes: Vec<&FreezeRow> = evidence.freezes.iter().filter(|freeze| early(freeze.from_us)).collect();
    // Who was not there has a finding of its own.
    let counts = |kind| kind != Kind::Connection;
    let at_start = Tally::one(frames.iter().copied(), freezes.iter().copied(), counts);
    let all = Tally::one(evidence.frames, evidence.freezes, counts);
    if at_start.frames() < START_FRAMES_MIN || weight(&at_start) * 2.0 < weight(&all) {
        return None;
    }
    let text = format!(
        "{} of the {} that were missing or late were made in the first {START_S} s.",
        at_start.frames(),
        count(all.frames(), "frame")
    );
    let parts = Tally::new(frames.iter().copied(), freezes.iter().copied());
    let mut finding = look.finding(Kind::StartUp, &at_start, text);
    finding.covers = parts.among(&Kind::ALL).into_iter().filter(|kind| counts(*kind)).collect();
    let bad =
        format!("cause IS NOT NULL AND cause != 'not-connected' AND produced_us < {}", START_S * SECOND_US);
    finding.evidence = vec![
        Facts::table(
            &format!("frames missing or late in the first {START_S} s"),
            "frames",
            Some(at_start.frames() as f64),
            "",
            &format!("SELECT count(*) FROM * WHERE {bad}"),
        ),
        Facts::table(
            "frames missing or late in all",
            "frames",
            Some(all.frames() as f64),
            "",
            "SELECT count(*) FROM * WHERE cause IS NOT NULL AND cause != 'not-connected'",
        ),
        look.facts.setting("congestion.initial_window"),
    ];
    finding.setting = first_window(look, &parts, &at_start);
    Some((weight(&at_start), finding))
}

/// A larger first window, where most of a slow start waited for it.
fn first_window(look: &Look<'_>, parts: &Tally, at_start: &Cost) -> Option<Suggestion> {
    let waited = parts.of(Kind::Window).frames() + parts.of(Kind::Deadline).frames();
    let rtt_ms = look.relay_median(|relay| relay.rtt_ms)?;
    let needed = (look.full_bps / 8.0 * rtt_ms / 1e3 / 1e3).ceil() * 1e3;
    let now = look.evidence.cell.settings.congestion.initial_window.as_bytes() as f64;
    let thin = !look.thin().is_empty();
    if waited * 2 < at_start.frames() || now >= needed || thin || needed > INITIAL_WINDOW_MAX {
        return None;
    }
    let why = format!("it is what full-size video has under way in a round trip of {rtt_ms:.0} ms");
    Some(look.try_setting("congestion.initial_window", &format!("{:.0} kB", needed / 1e3), why))
}

const GOODPUT: &str = "all.goodput_mbit_s";
const QUEUE_P99: &str = "link.down.queue_ms.p99";
const REORDERED: &str = "link.down.reordered";
/// Packets wrongly declared lost that are worth speaking of.
const SPURIOUS_MIN: u64 = 20;
/// What counts as the beginning, in seconds; a cell must be four times as long to have one.
const START_S: u64 = 5;
/// Frames missing or late at the beginning that are worth speaking of.
const START_FRAMES_MIN: u64 = 5;
/// The setting's range ends here.
const INITIAL_WINDOW_MAX: f64 = 10e6;
