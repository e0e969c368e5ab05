//! The recorder as a whole: small cells worked out by hand, and any order of events.

use std::io::Write;
use std::sync::{Arc, Mutex};

use netmodel::Verdict;
use proptest::prelude::*;
use relay_core::{
    Camera, Carried, DropPlace, DropReason, Event, FrameId, LeaveReason, PartKind, Refusal, Role, Snapshot,
    TurnedAway, VideoPart,
};
use units::{Share, Size, Span, Time};

use super::cause::{Cause, CauseCounts};
use super::freezes::FreezeRow;
use super::summary::{DelayAllSummary, DropSummary, OnTime, Percentiles};
use super::{CellResult, Recorder};
use crate::cell::{Cell, test_cell};
use crate::place::{Direction, End, Hop};
use crate::workload::{CameraSpec, Input, Workload};

/// Two seconds of traffic after one of warm-up; cameras `a` and `b` of 10 frames/s.
fn cell() -> Cell {
    let camera = |name: &str| CameraSpec {
        name: name.to_owned(),
        frames_per_s: 10,
        frame_bytes: Size::from_bytes(1000),
        spread: Share::ZERO,
    };
    let workload = Workload { cameras: vec![camera("a"), camera("b")], ..Workload::default() };
    Cell {
        workload: Arc::new(workload),
        duration: Span::from_secs(2),
        warmup: Span::from_secs(1),
        repeat: 1,
        ..test_cell(1)
    }
}

/// A moment so many milliseconds after the start of the traffic.
fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_secs(1) + Span::from_millis(ms)
}

fn id(camera: u8, number: u32) -> FrameId {
    FrameId { camera: Camera(camera), number }
}

fn made(recorder: &mut Recorder, at: u64, camera: u8, number: u32) {
    recorder.input(ms(at), &Input::Frame { frame: id(camera, number), bytes: 1000 });
}

fn delivered(recorder: &mut Recorder, at: u64, camera: u8, number: u32) {
    recorder.event(ms(at), End::Operator, &Event::FrameDelivered { frame: id(camera, number), bytes: 1000 });
}

/// Something to tell a recorder, at a number of milliseconds.
type Feed = Box<dyn Fn(&mut Recorder, u64)>;

/// Camera `a` makes ten frames, 100 ms apart from 0 ms on. Frame n comes after 100 + 10·n ms, but
/// frame 3 is skipped, 4 lost and 5 comes after 450 ms. Camera `b` makes one frame that comes in
/// the drain.
fn ten_frames(recorder: &mut Recorder) {
    let mut steps: Vec<(u64, Feed)> = Vec::new();
    for n in 0..10u32 {
        let at = u64::from(n) * 100;
        steps.push((at, Box::new(move |r, at| made(r, at, 0, n))));
        let delay = if n == 5 { 450 } else { 100 + 10 * u64::from(n) };
        match n {
            3 => {
                let reason = DropReason::Skipped;
                let event = Event::FrameDropped { frame: id(0, n), place: DropPlace::Relay, reason };
                steps.push((at + 2, Box::new(move |r, at| r.event(ms(at), End::Relay, &event))));
            }
            4 => {}
            _ => steps.push((at + delay, Box::new(move |r, at| delivered(r, at, 0, n)))),
        }
    }
    steps.push((50, Box::new(|r, at| made(r, at, 1, 0))));
    steps.push((3050, Box::new(|r, at| delivered(r, at, 1, 0))));
    steps.sort_by_key(|(at, _)| *at);
    for (at, step) in &steps {
        step(recorder, *at);
    }
}

fn run(feed: impl Fn(&mut Recorder)) -> CellResult {
    let mut recorder = Recorder::new(&cell(), None);
    feed(&mut recorder);
    recorder.finish(ms(5000))
}

#[test]
fn a_cell_of_ten_frames_by_hand() {
    let result = run(ten_frames);
    let a = result.summary.cameras.get("a").unwrap();
    assert_eq!((a.produced, a.delivered, a.delivered_ratio), (10, 8, Some(0.8)));
    // Delays in order: 100 110 120 160 170 180 190 450, then two that never came.
    assert_eq!((a.delay_ms.p50, a.delay_ms.p95, a.delay_ms.p99), (Some(160.0), Some(450.0), Some(450.0)));
    assert_eq!(a.delay_ms.max, Some(450.0));
    assert_eq!(a.delay_all_ms, DelayAllSummary { p50: Some(170.0), p95: None, p99: None });
    let on_time = OnTime { within_200_ms: Some(0.7), within_300_ms: Some(0.7), within_500_ms: Some(0.8) };
    assert_eq!(a.on_time_ratio, on_time);
    assert_eq!(a.dropped, DropSummary { skipped: 1, lost_on_link: 1, ..DropSummary::default() });
    // Nothing is known of frames 4 and 5 but when they were made, and of the latter when it came.
    assert_eq!(a.causes.missing, CauseCounts { skipped: 1, robot_hop: 1, ..CauseCounts::default() });
    assert_eq!(a.causes.late, CauseCounts { robot_hop: 1, ..CauseCounts::default() });
    // Shown at 100 210 320 (6 at) 760 (7 at) 870 (5 late at 950) 980 (9 at) 1090. The gap of 440 ms
    // and the tail of 910 ms are freezes: 1.35 s of 2 s.
    assert_eq!((a.freezes, a.freeze_ms_max, a.late, a.shown), (2, 910.0, 1, 7));
    assert_eq!(a.frozen_s_per_min, 40.5);
    let b = result.summary.cameras.get("b").unwrap();
    assert_eq!((b.produced, b.delivered, b.shown), (1, 1, 1), "the drain counts as delivered");
    assert_eq!(b.frozen_s_per_min, 60.0, "but not as shown in time");
    assert_eq!(b.delay_ms.p50, Some(3000.0));
    let all = &result.summary.all;
    assert_eq!((all.produced, all.delivered, all.delivered_ratio), (11, 9, Some(0.818_182)));
    assert_eq!(all.frozen_s_per_min, Some(50.25));
    assert_eq!(all.goodput_mbit_s, Some(0.036), "9 frames of 1000 bytes in 2 s");
    assert_eq!(result.summary.transport.events_unexpected, 0);
}

#[test]
fn the_tables_tell_the_same_story() {
    let result = run(ten_frames);
    assert_eq!(result.frames.len(), 11);
    let third = &result.frames[3];
    assert_eq!((third.produced_us, third.delivered_us, third.shown_us), (300_000, None, None));
    assert_eq!((third.dropped_at.as_deref(), third.dropped_why.as_deref()), (Some("relay"), Some("skipped")));
    let fifth = &result.frames[5];
    assert_eq!((fifth.delivered_us, fifth.shown_us), (Some(950_000), None));
    assert_eq!(result.frames[6].shown_us, Some(760_000));
    assert_eq!((result.frames[10].camera.as_str(), result.frames[10].delivered_us), ("b", Some(3_050_000)));
    let freeze = |from_us, to_us, cause, frames: Option<(u32, u32)>, missing, late| FreezeRow {
        camera: "a".to_owned(),
        from_us,
        to_us,
        cause,
        first_frame: frames.map(|f| f.0),
        last_frame: frames.map(|f| f.1),
        missing,
        late,
    };
    assert_eq!(result.freezes.len(), 3, "and one of camera b from start to end");
    // Frame 3 was skipped, 4 lost and 5 late, the latter two before the relay.
    let first = freeze(320_000, 760_000, Some(Cause::RobotHop), Some((3, 6)), 2, 1);
    assert_eq!(result.freezes[0], first);
    assert_eq!(result.freezes[1], freeze(1_090_000, 2_000_000, None, None, 0, 0));
    let a = |second: usize| *result.seconds[second].cameras.get("a").unwrap();
    assert_eq!(result.seconds.len(), 5);
    assert_eq!((a(0).produced, a(0).delivered, a(0).skipped, a(0).freezes), (10, 7, 1, 1));
    assert_eq!((a(1).delivered, a(1).freezes), (1, 1));
    assert_eq!(a(0).frozen_s, 0.44);
    assert_eq!(a(1).frozen_s, 0.91);
    assert_eq!(result.seconds[3].cameras.get("b").unwrap().delivered, 1);
}

#[test]
fn nothing_at_all_is_nulls_and_a_picture_that_stands() {
    let result = run(|_| {});
    let a = result.summary.cameras.get("a").unwrap();
    assert_eq!((a.produced, a.delivered_ratio, a.delay_ms.p50), (0, None, None));
    assert_eq!((a.frozen_s_per_min, a.frozen_w3c_s_per_min, a.freezes_w3c), (60.0, 60.0, 1));
    assert_eq!(result.summary.all.frozen_w3c_s_per_min, Some(60.0));
    assert_eq!(result.summary.warnings.len(), 2, "{:?}", result.summary.warnings);
    let text = serde_json::to_string(&result.summary).unwrap();
    assert!(text.contains(r#""overhead_ratio":null"#), "{text}");
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
}

#[test]
fn a_lost_percent_of_frames_leaves_p99_and_a_second_one_does_not() {
    for (lost, p99) in [(1, Some(100.0)), (2, None)] {
        let mut recorder = Recorder::new(&cell(), None);
        for n in 0..100 {
            made(&mut recorder, 0, 0, n);
        }
        for n in lost..100 {
            delivered(&mut recorder, 100, 0, n);
        }
        let summary = recorder.finish(ms(5000)).summary;
        assert_eq!(summary.cameras.get("a").unwrap().delay_all_ms.p99, p99);
    }
}

#[test]
fn time_in_the_relay_and_loss_after_repair() {
    let summary = run(|r| {
        for n in 0..4 {
            made(r, 0, 0, n);
            r.event(ms(10), End::Relay, &Event::FrameAtRelay { frame: id(0, n) });
        }
        for (n, at) in [(0, 12), (1, 14), (2, 18)] {
            let event = Event::FrameForwarded { frame: id(0, n), packets: 2, bytes: 1100 };
            r.event(ms(at), End::Relay, &event);
        }
        delivered(r, 100, 0, 0);
        delivered(r, 100, 0, 2);
    })
    .summary;
    assert_eq!(summary.relay_ms, Percentiles { p50: Some(4.0), p99: Some(8.0) });
    assert_eq!(summary.cameras.get("a").unwrap().relay_ms, summary.relay_ms);
    assert_eq!(summary.loss.post_repair_ratio, Some(0.333_333));
}

#[test]
fn a_frame_that_nobody_gave_up_is_lost_where_it_got_no_further() {
    let feed = |operator_leaves: bool| {
        run(move |r| {
            for n in 0..3 {
                made(r, 0, 0, n);
            }
            // 0 gets into the robot's transport, 1 into the relay, 2 into the relay's transport.
            for n in 1..3 {
                r.event(ms(10), End::Relay, &Event::FrameAtRelay { frame: id(0, n) });
            }
            r.event(ms(11), End::Relay, &Event::FrameForwarded { frame: id(0, 2), packets: 2, bytes: 1100 });
            if operator_leaves {
                let left = Event::Left { role: Role::Operator, reason: LeaveReason::TimedOut };
                r.event(ms(1500), End::Relay, &left);
            }
        })
    };
    let fates = |result: &CellResult| -> Vec<(Option<String>, Option<String>)> {
        result.frames.iter().map(|f| (f.dropped_at.clone(), f.dropped_why.clone())).collect()
    };
    let at = |place: &str, reason: &str| (Some(place.to_owned()), Some(reason.to_owned()));
    let waits = feed(false);
    assert_eq!(fates(&waits), [at("link", "lost"), (None, None), at("link", "lost")]);
    let dropped = waits.summary.cameras.get("a").unwrap().dropped;
    assert_eq!(dropped, DropSummary { lost_on_link: 2, unaccounted: 1, ..DropSummary::default() });
    let left = feed(true);
    assert_eq!(fates(&left)[1], at("relay", "no-peer"));
    let dropped = left.summary.cameras.get("a").unwrap().dropped;
    assert_eq!(dropped, DropSummary { lost_on_link: 2, no_peer: 1, ..DropSummary::default() });
    assert_eq!(left.summary.connection.lost_at_s, Some(1.5));
}

#[test]
fn a_failed_cell_has_nulls_for_what_was_not_measured() {
    let failed = super::Summary::failed(&cell(), "it broke");
    let json = serde_json::to_value(&failed).unwrap();
    for pointer in [
        "/all/frozen_s_per_min",
        "/all/frozen_w3c_s_per_min",
        "/all/goodput_mbit_s",
        "/all/delivered_ratio",
        "/commands/gap_ms_max",
        "/link/down/queue_ms_max",
        "/hand_to_command_ms/p50",
        "/connection/operator_joined_at_s",
    ] {
        assert_eq!(json.pointer(pointer), Some(&serde_json::Value::Null), "{pointer}");
    }
    assert_eq!(json.get("warnings"), None);
    assert_eq!(serde_json::from_value::<super::Summary>(json).unwrap(), failed);
}

#[test]
fn overhead_and_loss_come_from_the_packets_of_the_traffic() {
    let summary = run(|r| {
        let (hop, down) = (Hop::Operator, Direction::Down);
        r.packet_sent(Time::ZERO, hop, down, 0, 5000, Verdict::Lost, &Carried::default());
        made(r, 0, 0, 0);
        let verdicts = [Verdict::Accepted, Verdict::Lost, Verdict::QueueFull, Verdict::Accepted];
        for (id, verdict) in (1..).zip(verdicts) {
            r.packet_sent(ms(0), hop, down, id, 600, verdict, &Carried::default());
        }
        r.packet_exit(ms(50), hop, down, 1, 600, Span::from_millis(3), false, false);
        r.packet_exit(ms(60), hop, down, 4, 600, Span::from_millis(7), false, false);
        r.packet_sent(ms(60), hop, Direction::Up, 0, 100, Verdict::Accepted, &Carried::default());
        delivered(r, 60, 0, 0);
    })
    .summary;
    assert_eq!(summary.packets, 6);
    assert_eq!(summary.overhead_ratio, Some(2.4));
    assert_eq!(summary.loss.pre_repair_ratio, Some(0.5));
    let down = &summary.link.down;
    assert_eq!((down.offered, down.lost, down.queue_dropped, down.delivered), (4, 1, 1, 2));
    assert_eq!(down.queue_ms, Percentiles { p50: Some(3.0), p99: Some(7.0) });
    assert_eq!(summary.link.up.offered, 1);
    assert_eq!(summary.robot_link.up.offered, 0);
}

#[test]
fn declared_loss_is_set_against_real_loss_from_the_start_of_the_traffic() {
    let summary = run(|r| {
        let mut snapshot = Snapshot::default();
        for (at, sent, declared) in [(0, 100, 10), (1000, 200, 30), (2000, 300, 50)] {
            snapshot.counters.packets_sent = sent;
            snapshot.counters.packets_declared_lost = declared;
            r.sample(ms(at), End::Robot, Role::Robot, &Snapshot::default());
            r.sample(ms(at), End::Relay, Role::Operator, &snapshot);
            r.packet_sent(
                ms(at),
                Hop::Operator,
                Direction::Down,
                at,
                100,
                Verdict::Lost,
                &Carried::default(),
            );
        }
    })
    .summary;
    let transport = &summary.transport;
    assert_eq!((transport.packets_sent, transport.packets_declared_lost), (200, 40));
    assert_eq!((transport.packets_really_lost, transport.packets_spuriously_lost_min), (3, 37));
}

#[test]
fn hand_movements_and_stale_commands() {
    let summary = run(|r| {
        for pose in 0..3 {
            let at = ms(u64::from(pose) * 10 + 10);
            r.input(at, &Input::Pose { pose, moved_at: at - Span::from_millis(5), bytes: 64 });
        }
        for (at, pose) in [(100, 0), (110, 2), (120, 1)] {
            r.event(ms(at), End::Robot, &Event::CommandExecuted { pose });
        }
    })
    .summary;
    assert_eq!(summary.stale_commands, 1);
    // 100 − 5, 110 − 15 and 110 − 25.
    assert_eq!((summary.hand_to_command_ms.p50, summary.hand_to_command_ms.p99), (Some(95.0), Some(95.0)));
    assert_eq!(summary.commands.executed, 3);
}

#[test]
fn what_was_never_made_is_counted_and_ignored() {
    let summary = run(|r| {
        made(r, 0, 0, 1);
        made(r, 0, 9, 0);
        delivered(r, 1, 0, 0);
        made(r, 2, 0, 0);
        r.event(ms(3), End::Operator, &Event::FrameDelivered { frame: id(0, 0), bytes: 999 });
        delivered(r, 4, 0, 0);
        delivered(r, 5, 0, 0);
        r.event(ms(6), End::Robot, &Event::CommandExecuted { pose: 0 });
    })
    .summary;
    assert_eq!(summary.transport.events_unexpected, 6);
    assert_eq!(summary.cameras.get("a").unwrap().delivered, 1);
}

#[test]
fn the_trace_hash_sees_order_and_ignores_samples_and_the_log() {
    let hash = |feed: &dyn Fn(&mut Recorder)| run(feed).summary.trace_hash;
    let base = hash(&|r| made(r, 0, 0, 0));
    assert_eq!(base.len(), 64);
    assert_ne!(base, hash(&|_| {}));
    assert_ne!(base, hash(&|r| made(r, 1, 0, 0)));
    let sampled = hash(&|r| {
        r.sample(ms(0), End::Relay, Role::Operator, &Snapshot::default());
        made(r, 0, 0, 0);
    });
    assert_eq!(base, sampled);
    let mut logged = Recorder::new(&cell(), Some(Box::new(std::io::sink())));
    made(&mut logged, 0, 0, 0);
    assert_eq!(logged.finish(ms(5000)).summary.trace_hash, base);
}

/// A writer whose text can be read afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Fails from the first byte on.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_log_has_a_line_of_json_for_everything() {
    let out = Shared::default();
    let mut r = Recorder::new(&cell(), Some(Box::new(out.clone())));
    r.event(Time::from_nanos(1), End::Relay, &Event::Joined { role: Role::Robot });
    made(&mut r, 0, 0, 0);
    r.input(ms(10), &Input::Pose { pose: 0, moved_at: ms(5), bytes: 64 });
    let part = VideoPart { frame: id(0, 0), kind: PartKind::Parity, index: 3, count: 2 };
    let video = Carried { video: Some(part), ..Carried::default() };
    r.packet_sent(ms(11), Hop::Operator, Direction::Down, 3, 1228, Verdict::QueueFull, &video);
    r.packet_exit(ms(12), Hop::Robot, Direction::Up, 4, 1228, Span::from_nanos(1500), true, false);
    r.sample(
        ms(13),
        End::Relay,
        Role::Operator,
        &Snapshot { pacing_bits_per_sec: u64::MAX, ..Snapshot::default() },
    );
    let pose = Carried { pose: Some(3), feedback: true, ..Carried::default() };
    r.packet_sent(ms(14), Hop::Operator, Direction::Up, 3, 100, Verdict::Accepted, &pose);
    for event in [
        Event::Left { role: Role::Operator, reason: LeaveReason::TimedOut },
        Event::TurnedAway(Box::new(TurnedAway {
            role: None,
            peer: ([10, 0, 0, 9], 4433).into(),
            why: Refusal::PeerUntrusted,
            alert: Some(48),
            detail: "\"quoted\"".into(),
        })),
        Event::FrameAtRelay { frame: id(0, 0) },
        Event::FrameForwarded { frame: id(0, 0), packets: 1, bytes: 1100 },
        Event::FrameDropped { frame: id(7, 0), place: DropPlace::Operator, reason: DropReason::NoPeer },
        Event::FrameDelivered { frame: id(0, 0), bytes: 1000 },
        Event::PoseAtRelay { pose: 0 },
        Event::CommandExecuted { pose: 0 },
        Event::CommandStale { pose: 0 },
    ] {
        r.event(ms(14), End::Robot, &event);
    }
    assert!(r.finish(ms(5000)).log_error.is_none());
    let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 17);
    let start = r#"{"format":"arcbench.events","version":1}
{"t_us":-999999.999,"at":"relay","event":"joined","role":"robot"}
"#;
    assert!(text.starts_with(start), "{text}");
    let carried = r#""verdict":"queue-full","camera":"a","frame":0,"part":"parity","index":3,"count":2}"#;
    assert!(text.contains(carried), "{text}");
    let carried = r#""verdict":"accepted","pose":3,"feedback":true}"#;
    assert!(text.contains(carried), "{text}");
    let lines = &lines[1..];
    assert_eq!(lines[2]["moved_us"], 5000.0);
    assert_eq!(lines[3]["verdict"], "queue-full");
    assert_eq!((lines[4]["queued_us"].as_f64(), lines[4]["corrupted"].as_bool()), (Some(1.5), Some(true)));
    assert_eq!(lines[5]["pacing_bit_s"], serde_json::Value::Null);
    assert_eq!((&lines[8]["event"], &lines[8]["role"]), (&"turned-away".into(), &"unknown".into()));
    assert_eq!(lines[8]["why"], "peer-untrusted");
    assert_eq!(lines[11]["camera"], "camera-7");
}

#[test]
fn a_log_that_cannot_be_written_is_reported_and_stops_nothing() {
    let mut recorder = Recorder::new(&cell(), Some(Box::new(Full)));
    ten_frames(&mut recorder);
    let result = recorder.finish(ms(5000));
    assert_eq!(result.log_error.map(|e| e.kind()), Some(std::io::ErrorKind::StorageFull));
    assert_eq!(result.summary.trace_hash, run(ten_frames).summary.trace_hash);
}

/// Anything that can be told to a recorder.
#[derive(Debug, Clone)]
enum Step {
    Made(u8, u32),
    Pose(u32, u64),
    Event(Event),
    Sent(u64, Verdict, FrameId),
    Exit(u64, bool, bool),
    Sample(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let frame = || (0u8..4, 0u32..6).prop_map(|(camera, number)| id(camera, number));
    let reason = prop::sample::select(vec![DropReason::Skipped, DropReason::Expired, DropReason::Incomplete]);
    let event = prop_oneof![
        frame().prop_map(|frame| Event::FrameAtRelay { frame }),
        frame().prop_map(|frame| Event::FrameForwarded { frame, packets: 3, bytes: 3000 }),
        (frame(), reason).prop_map(|(frame, reason)| Event::FrameDropped {
            frame,
            place: DropPlace::Relay,
            reason
        }),
        frame().prop_map(|frame| Event::FrameDelivered { frame, bytes: 1000 }),
        (0u32..6).prop_map(|pose| Event::PoseAtRelay { pose }),
        (0u32..6).prop_map(|pose| Event::CommandExecuted { pose }),
        (0u32..6).prop_map(|pose| Event::CommandStale { pose }),
    ];
    let verdict =
        prop::sample::select(vec![Verdict::Accepted, Verdict::Lost, Verdict::QueueFull, Verdict::Outage]);
    prop_oneof![
        (0u8..4, 0u32..6).prop_map(|(camera, number)| Step::Made(camera, number)),
        (0u32..6, any::<u64>()).prop_map(|(pose, moved)| Step::Pose(pose, moved)),
        event.prop_map(Step::Event),
        (0u64..9, verdict, frame()).prop_map(|(id, verdict, frame)| Step::Sent(id, verdict, frame)),
        (prop_oneof![0u64..9, any::<u64>()], any::<bool>(), any::<bool>())
            .prop_map(|(id, c, d)| Step::Exit(id, c, d)),
        any::<u64>().prop_map(Step::Sample),
    ]
}

proptest! {
    #[test]
    fn no_order_of_events_panics_and_the_counts_add_up(
        steps in prop::collection::vec((0u64..8_000_000_000, step()), 0..150), gop in 1u32..4, sorted: bool,
    ) {
        let mut steps = steps;
        if sorted {
            steps.sort_by_key(|(at, _)| *at);
        }
        let mut cell = cell();
        cell.workload = Arc::new(Workload { gop, ..(*cell.workload).clone() });
        let mut r = Recorder::new(&cell, Some(Box::new(std::io::sink())));
        for (at, step) in steps {
            let at = Time::from_nanos(at);
            match step {
                Step::Made(camera, number) => r.input(at, &Input::Frame { frame: id(camera, number), bytes: 1000 }),
                Step::Pose(pose, moved) => r.input(at, &Input::Pose { pose, moved_at: Time::from_nanos(moved), bytes: 64 }),
                Step::Event(event) => r.event(at, End::Relay, &event),
                Step::Sent(id, verdict, frame) => {
                    let part = VideoPart { frame, kind: PartKind::Fragment, index: 0, count: 2 };
                    let carries = Carried { video: Some(part), ..Carried::default() };
                    r.packet_sent(at, Hop::Operator, Direction::Down, id, 1228, verdict, &carries);
                }
                Step::Exit(id, c, d) => r.packet_exit(at, Hop::Operator, Direction::Down, id, 1228, Span::from_nanos(id), c, d),
                Step::Sample(x) => {
                    let snapshot = Snapshot { window_bytes: x, rtt_smoothed: Span::from_nanos(x), ..Snapshot::default() };
                    r.sample(at, End::Relay, Role::Operator, &snapshot);
                }
            }
        }
        let result = r.finish(Time::from_nanos(8_000_000_000));
        for (_, c) in result.summary.cameras.iter() {
            prop_assert!(c.delivered <= c.produced);
            let d = c.dropped;
            let given_up = d.skipped + d.expired + d.superseded + d.no_peer + d.incomplete
                + d.lost_on_link + d.unaccounted;
            prop_assert_eq!(c.delivered + given_up, c.produced);
            prop_assert_eq!(c.delivered + c.causes.missing.total(), c.produced);
            prop_assert!(c.causes.late.total() <= c.delivered);
            prop_assert_eq!(c.shown + c.late + c.undecodable, c.delivered);
            prop_assert!((0.0..=60.0).contains(&c.frozen_s_per_min));
            prop_assert!((0.0..=60.0).contains(&c.frozen_w3c_s_per_min));
            prop_assert!(c.shown > 0 || c.frozen_w3c_s_per_min == 60.0);
        }
        let counted: u64 = result.seconds.iter().flat_map(|s| s.cameras.iter().map(|(_, c)| c.produced)).sum();
        prop_assert!(counted <= result.summary.all.produced);
        prop_assert_eq!(result.frames.len() as u64, result.summary.all.produced);
        let text = serde_json::to_string(&result.summary).unwrap();
        prop_assert_eq!(serde_json::from_str::<super::Summary>(&text).unwrap(), result.summary);
    }
}
