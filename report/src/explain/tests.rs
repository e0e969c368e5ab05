//! A constructed cell for each kind of finding.

use bench::metrics::{LinkSecondRow, RelaySecondRow};
use bench::{Cause, Named, Scenario};

use super::*;

/// What is known of a constructed cell.
struct Built {
    cell: Cell,
    summary: Summary,
    frames: Vec<FrameRow>,
    freezes: Vec<FreezeRow>,
    seconds: Vec<SecondRow>,
}

/// A two-minute cell on `profile` under `settings`, of which every frame came in time.
fn built(profile: &str, settings: &str) -> Built {
    let text = format!("seeds = \"1\"\nprofiles = [\"{profile}\"]\n[settings.s]\n{settings}\n");
    let scenario = Scenario::parse("test.toml", &text, &|_| None).unwrap();
    let cell = scenario.cells().remove(0);
    let mut frames = Vec::new();
    for camera in &cell.workload.cameras {
        let interval_us = 1_000_000 / u64::from(camera.frames_per_s);
        for number in 0..120 * camera.frames_per_s {
            frames.push(frame(
                &camera.name,
                number,
                u64::from(number) * interval_us,
                camera.frame_bytes.as_bytes(),
            ));
        }
    }
    let relay = RelaySecondRow {
        window_bytes: 200_000,
        in_flight_bytes: 90_000,
        rtt_ms: 270.0,
        queue_bytes: 0,
        queue_frames: 0,
        declared_lost: 0,
    };
    let second = |second| SecondRow {
        second,
        cameras: Named::default(),
        down: LinkSecondRow { packets: 300, ..LinkSecondRow::default() },
        up: LinkSecondRow::default(),
        relay: Some(relay),
        commands: 72,
    };
    let mut summary = Summary { profile: profile.to_owned(), settings: "s".to_owned(), ..Summary::default() };
    (summary.cell, summary.seed, summary.duration_s) = ("x--s--s1--0".to_owned(), "1".to_owned(), 120.0);
    summary.all.produced = frames.len() as u64;
    Built { cell, summary, frames, freezes: Vec::new(), seconds: (0..123).map(second).collect() }
}

fn frame(camera: &str, frame: u32, produced_us: u64, bytes: u64) -> FrameRow {
    FrameRow {
        camera: camera.to_owned(),
        frame,
        bytes: bytes as u32,
        produced_us,
        at_relay_us: Some(produced_us + 1000),
        forwarded_us: Some(produced_us + 2000),
        packets: 15,
        delivered_us: Some(produced_us + 150_000),
        shown_us: Some(produced_us + 150_000),
        dropped_at: None,
        dropped_why: None,
        cause: None,
        packets_sent: 16,
        packets_parity: 1,
        packets_again: 0,
        packets_lost: 0,
        packets_overflowed: 0,
        packets_in_outage: 0,
        link_queue_us_max: 0,
    }
}

impl Built {
    /// `count` frames from `second` on are missing for `cause`.
    fn missing(&mut self, cause: Cause, second: u64, count: usize) -> &mut Self {
        for frame in self.at(second, count) {
            (frame.cause, frame.delivered_us, frame.shown_us) = (Some(cause), None, None);
        }
        self
    }

    /// `count` frames from `second` on came late for `cause`.
    fn late(&mut self, cause: Cause, second: u64, count: usize) -> &mut Self {
        for frame in self.at(second, count) {
            (frame.cause, frame.delivered_us) = (Some(cause), Some(frame.produced_us + 400_000));
        }
        self
    }

    fn at(&mut self, second: u64, count: usize) -> impl Iterator<Item = &mut FrameRow> {
        let from =
            move |frame: &&mut FrameRow| frame.produced_us >= second * SECOND_US && frame.cause.is_none();
        self.frames.iter_mut().filter(from).take(count)
    }

    fn freeze(&mut self, cause: Option<Cause>, from_us: u64, to_us: u64) -> &mut Self {
        let (first_frame, last_frame) = (Some(0), Some(1));
        self.freezes.push(FreezeRow {
            camera: "main".to_owned(),
            from_us,
            to_us,
            cause,
            first_frame,
            last_frame,
            missing: 1,
            late: 0,
        });
        self
    }

    /// The explanation, whose numbers must add up and whose places must hold what is said to be there.
    fn explained(&self) -> Explanation {
        let explanation = explain(&Evidence {
            cell: &self.cell,
            summary: &self.summary,
            frames: &self.frames,
            freezes: &self.freezes,
            seconds: &self.seconds,
            cell_argument: "runs/r/cells/x",
            scenario_argument: "runs/r/scenario.resolved.toml",
        });
        let shared = |of: fn(&Finding) -> u64| {
            explanation.findings.iter().filter(|finding| finding.covers.is_empty()).map(of).sum::<u64>()
        };
        assert_eq!(shared(|finding| finding.missing), explanation.missing, "{explanation:#?}");
        assert_eq!(shared(|finding| finding.late), explanation.late, "{explanation:#?}");
        assert_eq!(shared(|finding| finding.freezes), explanation.freezes, "{explanation:#?}");
        let summary = serde_json::to_value(&self.summary).unwrap();
        for fact in explanation.findings.iter().flat_map(|finding| &finding.evidence) {
            assert!(fact.field.is_some() != fact.query.is_some(), "{fact:?}");
            if fact.file == "summary.json" {
                let path = fact.field.as_ref().unwrap().replace('.', "/");
                let there = summary.pointer(&format!("/{path}")).unwrap_or_else(|| panic!("no {path}"));
                assert_eq!(there.as_f64(), fact.value, "{fact:?}");
            }
        }
        explanation
    }

    #[track_caller]
    fn finds(&self, kind: Kind) -> Finding {
        let explanation = self.explained();
        let found = explanation.findings.iter().find(|finding| finding.what == kind);
        found.unwrap_or_else(|| panic!("no {kind:?} in {explanation:#?}")).clone()
    }
}

#[test]
fn a_kind_has_one_name_everywhere() {
    for kind in Kind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
}

#[test]
fn a_cell_without_fault_was_limited_by_nothing() {
    let explanation = built("good-india", "").explained();
    assert_eq!(explanation.findings.len(), 1);
    assert_eq!(explanation.findings[0].what, Kind::Nothing);
    assert!(explanation.findings[0].next.is_empty() && explanation.findings[0].setting.is_none());
}

#[test]
fn each_cause_has_its_finding() {
    for (cause, kind) in [
        (Cause::NotConnected, Kind::Connection),
        (Cause::RobotHop, Kind::RobotHop),
        (Cause::Skipped, Kind::Skipping),
        (Cause::ExpiredInRelay, Kind::Deadline),
        (Cause::Superseded, Kind::Window),
        (Cause::WindowShut, Kind::Window),
        (Cause::Outage, Kind::Outage),
        (Cause::QueueOverflow, Kind::Queue),
        (Cause::Lost, Kind::RandomLoss),
        (Cause::LinkQueue, Kind::Queue),
        (Cause::LinkDelay, Kind::LinkDelay),
        (Cause::InTransport, Kind::Streams),
    ] {
        let finding = built("good-india", "").missing(cause, 70, 20).late(cause, 40, 3).finds(kind);
        assert_eq!((finding.missing, finding.late, finding.freezes), (20, 3, 0), "{cause:?}");
        assert_eq!(finding.worst_seconds, [70, 71, 40], "{cause:?}");
        assert_eq!(finding.next[0], "arcbench show runs/r/cells/x --at 70.0s");
        let name = format!("'{}'", cause.name());
        let says =
            |fact: &Fact| fact.value == Some(20.0) && fact.query.as_ref().is_some_and(|q| q.contains(&name));
        assert!(finding.evidence.iter().any(says), "{finding:#?}");
    }
    let finding = built("good-india", "").freeze(None, 3_000_000, 4_500_000).finds(Kind::NoFrames);
    assert_eq!((finding.freezes, finding.frozen_s, finding.worst_seconds), (1, 1.5, vec![3, 4]));
}

#[test]
fn the_longest_freeze_is_where_to_look_and_cost_ranks() {
    let mut cell = built("good-india", "");
    cell.missing(Cause::Lost, 10, 3).missing(Cause::WindowShut, 20, 9);
    cell.freeze(Some(Cause::Lost), 10_450_000, 10_700_000).freeze(Some(Cause::Lost), 73_260_000, 74_000_000);
    let explanation = cell.explained();
    let order: Vec<Kind> = explanation.findings.iter().map(|finding| finding.what).collect();
    assert_eq!(order, [Kind::Window, Kind::RandomLoss]);
    let next = &explanation.findings[1].next;
    assert_eq!(next[0], "arcbench show runs/r/cells/x --at 73.2s");
    assert_eq!(next[1], "arcbench replay runs/r/cells/x --trace trace-72s.json --from 72s --to 76s");
    assert_eq!(cell.explained(), explanation, "the same evidence, the same words");
}

#[test]
fn a_link_thinner_than_the_video_is_named_and_what_waits_for_it_is_covered() {
    let mut cell = built("thin-india", "resize = { enabled = false }");
    cell.late(Cause::LinkQueue, 50, 10).missing(Cause::WindowShut, 60, 4).missing(Cause::Lost, 5, 2);
    let finding = cell.finds(Kind::Rate);
    assert_eq!((finding.missing, finding.late), (4, 10));
    assert_eq!(finding.covers, [Kind::Window, Kind::Queue]);
    assert!(finding.text.contains("2.50 Mbit/s") && finding.text.contains("3.10 Mbit/s"), "{}", finding.text);
    let setting = finding.setting.unwrap();
    assert_eq!(
        (setting.key.as_str(), setting.now.as_str(), setting.value.as_str()),
        ("resize.enabled", "false", "true")
    );
    assert_eq!(cell.explained().findings[0].what, Kind::Rate);
    assert!(cell.finds(Kind::Window).setting.is_none(), "no window makes a link wider");
    // Pictures made smaller are a cost without any frame late.
    let mut small = built("thin-india", "");
    small.frames.iter_mut().for_each(|frame| frame.bytes /= 2);
    let finding = small.finds(Kind::Rate);
    assert!(finding.text.contains("50.0 % of full size"), "{}", finding.text);
    assert!(finding.covers.is_empty() && finding.setting.is_none());
}

#[test]
fn a_rate_that_dips_is_thin_only_then() {
    let mut cell = built("good-india", "");
    let rate =
        bench::netmodel::profile::RateModel::Constant(bench::units::Rate::from_bits_per_sec(1_000_000));
    let mut profile = (*cell.cell.profile).clone();
    let at = |s, rate| bench::netmodel::profile::Change {
        at: bench::units::Span::from_secs(s),
        rate: Some(rate),
        ..bench::netmodel::profile::Change::default()
    };
    profile.down.schedule = vec![at(60, rate), at(70, bench::netmodel::profile::RateModel::Unlimited)];
    cell.cell.profile = std::sync::Arc::new(profile);
    cell.late(Cause::LinkQueue, 62, 10).late(Cause::LinkQueue, 90, 10);
    let finding = cell.finds(Kind::Rate);
    assert_eq!(finding.late, 10);
    assert!(finding.text.contains("in 10 of 120 seconds, from second 60 on"), "{}", finding.text);
}

#[test]
fn reordering_counts_only_where_something_acts_on_it() {
    let old = "skip = { enabled = true, threshold = \"1 %\", measured = \"transport\" }\n\
               loss_detection = { packet_threshold = 3 }\ncongestion = { kind = \"new-reno\", feedback = \"transport\" }";
    let with = |settings: &str, spurious| {
        let mut cell = built("bad-india-reorder", settings);
        cell.missing(Cause::Skipped, 5, 50).missing(Cause::WindowShut, 30, 7).missing(Cause::Lost, 60, 3);
        let transport = &mut cell.summary.transport;
        transport.packets_declared_lost = 100;
        transport.packets_spuriously_lost_min = spurious;
        cell
    };
    let finding = with(old, 80).finds(Kind::ReorderingTakenForLoss);
    assert_eq!((finding.missing, finding.covers), (57, vec![Kind::Skipping, Kind::Window]));
    let setting = finding.setting.unwrap();
    assert_eq!(setting.key, "loss_detection");
    let set = "--seeds 1 --set 'loss_detection={packet_threshold=1000,time_threshold=4.0}'";
    assert!(setting.command.ends_with(set), "{}", setting.command);
    let none =
        |cell: &Built| cell.explained().findings.iter().all(|f| f.what != Kind::ReorderingTakenForLoss);
    assert!(none(&with(old, 30)), "most of it was lost");
    assert!(none(&with("", 80)), "the shipped relay does not act on what QUIC declares");
}

#[test]
fn skipping_says_what_was_declared_and_what_was_lost() {
    let skip = "skip = { enabled = true, threshold = \"3 %\", measured = \"transport\", window = \"2 s\" }";
    let mut cell = built("bad-india", skip);
    cell.missing(Cause::Skipped, 40, 30);
    for second in [40, 41] {
        cell.seconds[second].relay.as_mut().unwrap().declared_lost = 30;
        cell.seconds[second].down.lost = 6;
    }
    let finding = cell.finds(Kind::Skipping);
    assert!(finding.text.contains("up to 10.0 % of packets lost within 2 s"), "{}", finding.text);
    assert!(finding.text.contains("really lost were 2.0 %"), "{}", finding.text);
    assert_eq!(finding.setting.unwrap().key, "skip.measured");
    // Where it really was lost, only a higher threshold would have kept the frames.
    cell.seconds[40].down.lost = 25;
    let setting = cell.finds(Kind::Skipping).setting.unwrap();
    assert_eq!((setting.key.as_str(), setting.value.as_str()), ("skip.threshold", "11 %"));
}

#[test]
fn a_shut_window_without_a_queue_asks_for_another_control() {
    let key = |settings: &str, edit: fn(&mut Summary)| {
        let mut cell = built("bad-india", settings);
        cell.late(Cause::WindowShut, 40, 30);
        edit(&mut cell.summary);
        cell.finds(Kind::Window).setting.map(|setting| setting.key)
    };
    let reno = "congestion = { kind = \"new-reno\" }";
    assert_eq!(key(reno, |_| ()).as_deref(), Some("congestion.kind"));
    assert_eq!(key(reno, |summary| summary.link.down.queue_ms.p99 = Some(120.0)), None);
    let transport = "congestion = { feedback = \"transport\" }";
    assert_eq!(key(transport, |_| ()).as_deref(), Some("congestion.feedback"));
    assert_eq!(key("", |_| ()), None);
}

#[test]
fn a_standing_queue_is_named_though_no_frame_was_late() {
    let mut cell = built("good-india", "");
    cell.summary.link.down.queue_ms.p99 = Some(80.0);
    cell.seconds[33].down.queue_ms_max = 95.0;
    let finding = cell.finds(Kind::Queue);
    assert_eq!((finding.delay_ms_p99, finding.worst_seconds), (Some(80.0), vec![33]));
    cell.summary.link.down.queue_ms.p99 = Some(20.0);
    assert_eq!(cell.explained().findings[0].what, Kind::Nothing);
}

#[test]
fn what_goes_wrong_at_the_start_is_named() {
    let mut cell = built("bad-india", "congestion = { initial_window = \"12 kB\" }");
    cell.late(Cause::WindowShut, 0, 12).late(Cause::Lost, 80, 4);
    let finding = cell.finds(Kind::StartUp);
    assert_eq!((finding.late, finding.covers), (12, vec![Kind::Window]));
    let setting = finding.setting.unwrap();
    assert_eq!((setting.key.as_str(), setting.value.as_str()), ("congestion.initial_window", "105 kB"));
    cell.late(Cause::Lost, 90, 20);
    assert!(cell.explained().findings.iter().all(|finding| finding.what != Kind::StartUp));
}

#[test]
fn loss_asks_for_what_is_switched_off() {
    let key = |settings: &str| {
        let finding = built("bad-india", settings).missing(Cause::Lost, 9, 5).finds(Kind::RandomLoss);
        finding.setting.map(|setting| setting.key)
    };
    assert_eq!(key("repair = { enabled = false }").as_deref(), Some("repair.enabled"));
    assert_eq!(key("fec = { kind = \"none\" }").as_deref(), Some("fec.kind"));
    assert_eq!(key("fec = { amount = \"fixed\" }").as_deref(), Some("fec.amount"));
    assert_eq!(key(""), None);
}

#[test]
fn much_parity_is_a_cost_and_comes_last() {
    let mut cell = built("bad-india", "fec = { amount = \"fixed\" }");
    cell.frames.iter_mut().for_each(|frame| (frame.packets_sent, frame.packets_parity) = (24, 8));
    cell.missing(Cause::Lost, 9, 1);
    let explanation = cell.explained();
    let last = explanation.findings.last().unwrap();
    assert_eq!((last.what, last.missing), (Kind::ParityCost, 0));
    assert!(last.text.starts_with("33.3 % of the packets"), "{}", last.text);
    assert_eq!(last.setting.as_ref().unwrap().key, "fec.amount");
}
