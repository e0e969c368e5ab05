//! The stages together: what every link must keep, whatever its profile.

use proptest::prelude::*;
use units::Size;

use super::*;
use crate::profile::{
    CodelParameters, Distribution, DualPi2Parameters, Jitter, Loss, LossModel, Profile, QueueKind,
    QueueLimit, RateModel, RateStep,
};

const ACCEPTED: Verdict = Verdict::Accepted;

fn key() -> StreamKey {
    StreamKey::new([9; 32])
}

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

fn at_ms(at: u64) -> Time {
    Time::ZERO + ms(at)
}

/// The `down` direction of a profile given as a file.
fn down(text: &str) -> DirectionProfile {
    Profile::parse("test", text).unwrap_or_else(|problems| panic!("{problems:#?}")).down
}

fn link(profile: &DirectionProfile) -> Link<u64> {
    Link::new(profile, &key(), "hop/down", Time::ZERO)
}

/// What came of sending packets at their times: verdicts, and exits in the order of coming out. The
/// payload is the time of sending.
fn run(link: &mut Link<u64>, packets: &[(Time, u32)]) -> (Vec<Verdict>, Vec<Exit<u64>>) {
    let mut exits = Vec::new();
    let mut verdicts = Vec::new();
    for (now, bytes) in packets {
        drain(link, *now, &mut exits);
        let admission = link.send(*now, *bytes, 1, now.as_nanos());
        assert_eq!(admission.id as usize, verdicts.len());
        verdicts.push(admission.verdict);
    }
    drain(link, Time::MAX - Span::from_nanos(1), &mut exits);
    (verdicts, exits)
}

fn drain(link: &mut Link<u64>, now: Time, exits: &mut Vec<Exit<u64>>) {
    while link.next_exit() <= now {
        let due = link.next_exit();
        assert!(
            due == Time::ZERO || link.poll_exit(due - Span::from_nanos(1)).is_none(),
            "not before its time"
        );
        match link.poll_exit(due) {
            Some(exit) => {
                assert_eq!(exit.at, due);
                exits.push(exit);
            }
            // It was an active queue's turn to decide.
            None => assert!(link.active.is_some() && link.next_exit() > due, "it is due"),
        }
    }
}

fn every(gap: Span, count: u64, bytes: u32) -> Vec<(Time, u32)> {
    (0..count).map(|n| (Time::ZERO + gap * n, bytes)).collect()
}

#[test]
fn a_perfect_link_is_at_once() {
    let (verdicts, exits) = run(&mut link(&DirectionProfile::default()), &every(ms(1), 3, 100));
    assert_eq!(verdicts, [Verdict::Accepted; 3]);
    for (n, exit) in (0..).zip(&exits) {
        let at = at_ms(n);
        let (queued, payload) = (Span::ZERO, at.as_nanos());
        let expected =
            Exit { id: n, at, queued, ip_bytes: 100, ecn: 1, corrupted: false, duplicate: false, payload };
        assert_eq!(*exit, expected);
    }
    assert_eq!(link(&DirectionProfile::default()).next_exit(), Time::MAX);
}

#[test]
fn the_stages_add_up() {
    // 1250 bytes at 10 Mbit/s are 1 ms; two at once, then 20 ms of delay.
    let profile = down("delay = '20 ms'\nrate = '10 Mbit/s'");
    let mut link = link(&profile);
    let (_, exits) = run(&mut link, &[(Time::ZERO, 1250), (Time::ZERO, 1250)]);
    assert_eq!((exits[0].at, exits[0].queued), (at_ms(21), Span::ZERO));
    assert_eq!((exits[1].at, exits[1].queued), (at_ms(22), ms(1)));
    assert_eq!(
        (link.propagation(), link.rate_at(Time::ZERO)),
        (ms(20), Some(Rate::from_bits_per_sec(10_000_000)))
    );
}

#[test]
fn the_queue_of_a_saturated_md1_has_its_mean_wait() {
    // Poisson arrivals at 70 % of the rate: a mean wait of ρ / (2 (1 − ρ)) service times.
    let profile = down("rate = '10 Mbit/s'\nqueue = { packets = 100000 }");
    let mut arrivals = key().stream("arrivals");
    let mut now = 0.0;
    let packets: Vec<(Time, u32)> = (0..1_000_000)
        .map(|_| {
            now += arrivals.exponential() * 1e6 / 0.7;
            (Time::from_nanos(now as u64), 1250)
        })
        .collect();
    let (_, exits) = run(&mut link(&profile), &packets);
    let mean = exits.iter().map(|exit| exit.queued.as_millis_f64()).sum::<f64>() / exits.len() as f64;
    let expected = 0.7 / (2.0 * 0.3);
    assert!((mean - expected).abs() < 0.02 * expected, "{mean} for {expected}");
}

#[test]
fn a_full_queue_drops_the_tail() {
    let sent = [(Time::ZERO, 1000), (Time::ZERO, 1000), (Time::ZERO, 1000), (at_ms(1), 1000)];
    let verdicts = |queue: &str| {
        // 1000 bytes take 1 ms.
        run(&mut link(&down(&format!("rate = '8 Mbit/s'\nqueue = {{ {queue} }}"))), &sent).0
    };
    let expected = [Verdict::Accepted, Verdict::Accepted, Verdict::QueueFull, Verdict::Accepted];
    assert_eq!(verdicts("bytes = '2 kB'"), expected);
    assert_eq!(verdicts("bytes = '2999 B'"), expected);
    assert_eq!(verdicts("packets = 2"), expected);
    assert_eq!(verdicts("time = '2 ms'"), expected);
    assert_eq!(verdicts("bytes = '3 kB'"), [Verdict::Accepted; 4]);
    assert_eq!(verdicts("time = '3 ms'"), [Verdict::Accepted; 4]);
}

#[test]
fn the_queue_is_seen_as_it_empties() {
    let mut link = link(&down("rate = '8 Mbit/s'"));
    for _ in 0..3 {
        link.send(Time::ZERO, 1000, 0, 0);
    }
    let seen = [0, 1, 2, 3].map(|at| link.queue_bytes(at_ms(at)));
    assert_eq!(seen, [3000, 2000, 1000, 0]);
    assert_eq!((link.counters().queue_bytes_max, link.counters().queue_packets_max), (3000, 3));
}

#[test]
fn an_outage_drops_what_is_sent_and_lets_the_rest_arrive() {
    let profile = down("delay = '5 ms'\n[[schedule]]\nat = '10 ms'\noutage = '3 ms'");
    let mut link = Link::new(&profile, &key(), "hop/down", at_ms(100));
    let packets: Vec<(Time, u32)> = (108..115).map(|at| (at_ms(at), 100)).collect();
    let (verdicts, exits) = run(&mut link, &packets);
    assert_eq!(
        verdicts,
        [ACCEPTED, ACCEPTED, Verdict::Outage, Verdict::Outage, Verdict::Outage, ACCEPTED, ACCEPTED]
    );
    assert_eq!(exits[1].at, at_ms(114), "sent before it, arrives after it");
    assert_eq!(link.counters().outage_dropped.packets, 3);
}

#[test]
fn a_schedule_changes_each_stage() {
    let profile = down(
        "delay = '5 ms'\nrate = '8 Mbit/s'\n\
         [[schedule]]\nat = '10 ms'\ndelay = '50 ms'\nrate = '80 kbit/s'\nqueue = { packets = 1 }\n\
         [[schedule]]\nat = '500 ms'\nloss = { kind = 'bernoulli', p = '100 %' }\n\
         [[schedule]]\nat = '600 ms'\nloss = { kind = 'none' }\nduplicate = '100 %'\ncorrupt = '100 %'\nrate = '8 Mbit/s'",
    );
    let sent =
        [(Time::ZERO, 1000), (at_ms(20), 1000), (at_ms(21), 1000), (at_ms(550), 1000), (at_ms(600), 1000)];
    let mut link = link(&profile);
    let (verdicts, exits) = run(&mut link, &sent);
    assert_eq!(verdicts, [ACCEPTED, ACCEPTED, Verdict::QueueFull, Verdict::Lost, ACCEPTED]);
    let seen: Vec<_> = exits.iter().map(|exit| (exit.at, exit.corrupted, exit.duplicate)).collect();
    let last = at_ms(651);
    assert_eq!(
        seen,
        [(at_ms(6), false, false), (at_ms(170), false, false), (last, true, false), (last, true, true)]
    );
    let counters = link.counters();
    assert_eq!(
        (counters.duplicated.packets, counters.corrupted.packets, counters.delivered.packets),
        (1, 2, 3)
    );
}

#[test]
fn what_an_entry_of_a_schedule_does_not_state_stays() {
    let profile = down(
        "delay = '5 ms'\n[[schedule]]\nat = '10 ms'\njitter = '1 ms'\n\
         [[schedule]]\nat = '20 ms'\nduplicate = '0 %'\n[[schedule]]\nat = '30 ms'\ndelay = '50 ms'",
    );
    let (_, exits) = run(&mut link(&profile), &every(ms(10), 5, 100));
    let delays: Vec<Span> = exits.iter().map(|exit| exit.at.since(Time::from_nanos(exit.payload))).collect();
    assert_eq!(delays[0], ms(5));
    for (delay, expected) in delays[1..].iter().zip([5, 5, 50, 50]) {
        assert_ne!(*delay, ms(expected), "the jitter stays");
        assert!(*delay > ms(expected - 4) && *delay < ms(expected + 4), "the delay stays: {delay}");
    }
}

#[test]
fn a_shorter_delay_overtakes_only_where_it_may() {
    let text = |order: &str| {
        format!(
            "delay = '50 ms'\njitter = {{ order = '{order}' }}\n[[schedule]]\nat = '10 ms'\ndelay = '5 ms'"
        )
    };
    let sent = [(at_ms(9), 100), (at_ms(11), 100)];
    let exits = |order: &str| {
        let mut link = link(&down(&text(order)));
        let exits = run(&mut link, &sent).1;
        let counters = link.counters().clone();
        (exits.iter().map(|e| (e.id, e.at)).collect::<Vec<_>>(), counters.held_for_order, counters.overtaken)
    };
    assert_eq!(exits("fifo"), (vec![(0, at_ms(59)), (1, at_ms(59))], 1, 0));
    assert_eq!(exits("reorder"), (vec![(1, at_ms(16)), (0, at_ms(59))], 0, 1));
}

#[test]
fn netem_stands_behind_the_queue_and_reorders() {
    let netem = "[netem]\nseed = 77\ndelay = '50 ms'\njitter = '10 ms'\n\
                 loss = { kind = 'gilbert-elliott', p = '5 %', r = '30 %' }\n";
    let free = down(netem);
    let packets = every(ms(1), 400, 100);
    let (verdicts, exits) = run(&mut link(&free), &packets);
    let lost = |verdicts: &[Verdict]| verdicts.iter().filter(|v| **v == Verdict::Lost).count();
    assert!(verdicts[16] == Verdict::Lost && verdicts[17] == Verdict::Lost && verdicts[15] == ACCEPTED);
    assert_eq!(exits.len() + lost(&verdicts), packets.len());
    assert!(exits.windows(2).any(|pair| pair[0].id > pair[1].id), "packets overtake each other");
    let first = exits.iter().find(|exit| exit.id == 0).unwrap();
    assert_eq!(first.at, packets[0].0 + Span::from_nanos(45_814_144));

    // At a rate of one packet in two, every other packet is dropped before netem: it takes no draw, and those
    // that netem sees meet the fates of the first ones above.
    let queued = down(&format!("rate = '400 kbit/s'\nqueue = {{ packets = 1 }}\n{netem}"));
    let (behind, _) = run(&mut link(&queued), &packets);
    let seen: Vec<Verdict> = behind.into_iter().filter(|verdict| *verdict != Verdict::QueueFull).collect();
    assert!((190..=210).contains(&seen.len()), "{}", seen.len());
    assert_eq!(seen, verdicts[..seen.len()]);
}

#[test]
fn under_way_is_limited() {
    let mut link = link(&down("delay = '600 s'"));
    for _ in 0..Link::<u64>::IN_FLIGHT_MAX {
        assert_eq!(link.send(Time::ZERO, 40, 0, 0).verdict, Verdict::Accepted);
    }
    assert_eq!(link.send(Time::ZERO, 40, 0, 0).verdict, Verdict::QueueFull);
    assert_eq!(link.counters().overflow_dropped.packets, 1);
}

#[test]
fn a_frame_of_17_packets_survives_bad_india_as_its_file_says() {
    let profile = crate::builtin::profile("bad-india").unwrap().down;
    let frames = 200_000;
    let (verdicts, _) = run(&mut link(&profile), &every(Span::from_micros(3_900), frames * 17, 1200));
    let whole = verdicts.chunks(17).filter(|frame| frame.iter().all(|v| *v == Verdict::Accepted)).count();
    // Good at the first packet, and no move to bad at the 16 after it: 0.985 × (1 − p)¹⁶.
    let expected = 0.985 * libm::pow(1.0 - 0.015 / 3.0 / 0.985, 16.0);
    let share = whole as f64 / frames as f64;
    assert!((share - expected).abs() < 0.004 && (share - 0.91).abs() < 0.007, "{share} for {expected}");
}

#[test]
fn each_direction_has_draws_of_its_own() {
    let profile = down("loss = { kind = 'bernoulli', p = '50 %' }");
    let verdicts = |label: &str| {
        let mut link: Link<()> = Link::new(&profile, &key(), label, Time::ZERO);
        (0..100).map(|_| link.send(Time::ZERO, 100, 0, ()).verdict).collect::<Vec<_>>()
    };
    assert_eq!(verdicts("hop/down"), verdicts("hop/down"));
    assert_ne!(verdicts("hop/down"), verdicts("hop/up"));
}

/// Whether a packet was lost, its jitter and damage, and its copy's damage.
type Fate = (bool, Option<(i64, bool)>, Option<bool>);

fn any_rate() -> impl Strategy<Value = RateModel> {
    let step = |at, bits| RateStep { at: ms(at), rate: Rate::from_bits_per_sec(bits) };
    prop_oneof![
        Just(RateModel::Unlimited),
        (100_000u64..1_000_000_000).prop_map(|bits| RateModel::Constant(Rate::from_bits_per_sec(bits))),
        (0u64..10_000_000, 100_000u64..10_000_000).prop_map(move |(a, b)| RateModel::Steps(vec![
            step(0, a),
            step(7, b),
            step(20, 0),
            step(25, b)
        ])),
        prop::collection::vec(1u32..40, 1..20).prop_map(|mut times| {
            times.sort_unstable();
            RateModel::Trace(crate::Trace::from_times_ms(times).unwrap())
        }),
    ]
}

fn any_queue() -> impl Strategy<Value = Queue> {
    let limit = prop_oneof![
        (1500u64..20_000).prop_map(|bytes| QueueLimit::Bytes(Size::from_bytes(bytes))),
        (1u64..20).prop_map(QueueLimit::Packets),
        (1u64..50).prop_map(|time| QueueLimit::Time(ms(time))),
    ];
    let kind = prop::sample::select(vec![
        QueueKind::DropTail,
        QueueKind::Codel(CodelParameters { target: ms(2), interval: ms(5), ecn: true }),
        QueueKind::DualPi2(DualPi2Parameters { target: ms(2), rtt_max: ms(10) }),
    ]);
    (limit, kind).prop_map(|(limit, kind)| Queue { kind, limit })
}

fn any_jitter() -> impl Strategy<Value = Jitter> {
    let distribution = prop::sample::select(vec![
        Distribution::Normal,
        Distribution::Uniform,
        Distribution::Pareto,
        Distribution::Wifi,
    ]);
    let order = prop::sample::select(vec![Order::Fifo, Order::Reorder]);
    (0u64..10_000, distribution, order).prop_map(|(us, distribution, order)| Jitter {
        sigma: Span::from_micros(us),
        distribution,
        order,
    })
}

fn any_share() -> impl Strategy<Value = Share> {
    (0u32..=500_000_000).prop_map(Share::from_parts_per_billion)
}

fn any_profile() -> impl Strategy<Value = DirectionProfile> {
    let chance = (any_share(), any_share(), any_share());
    (0u64..50, any_jitter(), any_rate(), any_queue(), chance, prop::option::of(0u64..40)).prop_map(
        |(delay, jitter, rate, queue, (loss, duplicate, corrupt), outage)| DirectionProfile {
            delay: ms(delay),
            jitter,
            loss: Loss { model: LossModel::Bernoulli { p: loss }, drop: vec![3] },
            rate,
            queue,
            duplicate,
            corrupt,
            schedule: outage
                .map(|at| Change { at: ms(at), outage: Some(ms(3)), ..Change::default() })
                .into_iter()
                .collect(),
            ..DirectionProfile::default()
        },
    )
}

fn any_packets() -> impl Strategy<Value = Vec<(Time, u32)>> {
    prop::collection::vec((0u64..3_000_000, 28u32..1500), 1..80).prop_map(|packets| {
        let mut now = Time::ZERO;
        let send = |(gap, bytes)| {
            now += Span::from_nanos(gap);
            (now, bytes)
        };
        packets.into_iter().map(send).collect()
    })
}

/// The least that jitter may add to a delay.
fn shortest(profile: &DirectionProfile) -> Span {
    let sigma = profile.jitter.sigma.as_secs_f64();
    let below = match profile.jitter.distribution {
        Distribution::Normal => 3.0,
        Distribution::Uniform => 1.7321,
        Distribution::Pareto => 0.6929,
        Distribution::Wifi => 0.4878,
    };
    profile.delay - Span::from_secs_f64(sigma * below)
}

proptest! {
    #[test]
    fn nothing_arrives_before_its_delay(profile in any_profile(), packets in any_packets()) {
        let (_, exits) = run(&mut link(&profile), &packets);
        for exit in exits {
            let sent = Time::from_nanos(exit.payload);
            let bits = u64::from(exit.ip_bytes) * 8;
            let sending = match profile.rate {
                RateModel::Constant(rate) => Span::from_nanos(bits * 1_000_000_000 / rate.as_bits_per_sec()),
                _ => Span::ZERO,
            };
            let least = exit.queued + sending + shortest(&profile);
            prop_assert!(exit.at.since(sent) + Span::from_nanos(2) >= least, "{exit:?}");
        }
    }

    #[test]
    fn packets_and_bytes_are_conserved(
        profile in any_profile(), packets in any_packets(), stop in 0u64..100,
    ) {
        let mut link = link(&profile);
        let mut out = 0;
        for (now, bytes) in packets {
            while let Some(exit) = link.poll_exit(now.min(at_ms(stop))) {
                out += u64::from(!exit.duplicate);
            }
            link.send(now, bytes, 0, 0);
        }
        let mut counters = link.counters().clone();
        prop_assert_eq!(counters.delivered.packets, out);
        // What is under way comes out, but where the rate has stopped for good.
        let under_way = link.in_flight() as u64;
        let before = (counters.delivered.packets, counters.aqm_dropped.packets);
        while link.poll_exit(Time::MAX).is_some() {}
        counters = link.counters().clone();
        prop_assert_eq!(link.in_flight(), 0);
        let after = (counters.delivered.packets, counters.aqm_dropped.packets);
        prop_assert_eq!(after.0 + after.1, before.0 + before.1 + under_way);
        let fates = [
            counters.outage_dropped,
            counters.lost,
            counters.queue_dropped,
            counters.aqm_dropped,
            counters.delivered,
        ];
        prop_assert_eq!(counters.offered.packets, fates.iter().map(|c| c.packets).sum::<u64>());
        prop_assert_eq!(counters.offered.bytes, fates.iter().map(|c| c.bytes).sum::<u64>());
    }

    #[test]
    fn the_queue_stays_within_its_limit(profile in any_profile(), packets in any_packets()) {
        let mut link = link(&profile);
        for (now, bytes) in packets {
            link.send(now, bytes, 0, 0);
            if let QueueLimit::Bytes(most) = profile.queue.limit {
                prop_assert!(link.queue_bytes(now) <= most.as_bytes());
            }
        }
        let counters = link.counters();
        match profile.queue.limit {
            QueueLimit::Bytes(most) => prop_assert!(counters.queue_bytes_max <= most.as_bytes()),
            QueueLimit::Packets(most) => prop_assert!(counters.queue_packets_max <= most),
            QueueLimit::Time(most) => {
                while let Some(exit) = link.poll_exit(Time::MAX) {
                    prop_assert!(exit.queued <= most);
                }
            }
        }
    }

    #[test]
    fn fifo_never_reorders(profile in any_profile(), packets in any_packets()) {
        let mut link = link(&profile);
        let (_, exits) = run(&mut link, &packets);
        for pair in exits.windows(2) {
            prop_assert!(pair[0].at <= pair[1].at, "exits come in order of time");
            if profile.jitter.order == Order::Fifo {
                prop_assert!((pair[0].id, pair[0].duplicate) < (pair[1].id, pair[1].duplicate));
            }
        }
        if profile.jitter.order == Order::Fifo {
            prop_assert_eq!(link.counters().overtaken, 0);
        }
    }

    #[test]
    fn no_window_of_exits_carries_more_than_the_rate(
        bits in 100_000u64..100_000_000, queue in any_queue(), packets in any_packets(),
    ) {
        let rate = RateModel::Constant(Rate::from_bits_per_sec(bits));
        let profile = DirectionProfile { delay: ms(5), rate, queue, ..DirectionProfile::default() };
        let (_, exits) = run(&mut link(&profile), &packets);
        for (i, first) in exits.iter().enumerate() {
            let mut sent = 0;
            for exit in &exits[i + 1..] {
                sent += u128::from(exit.ip_bytes) * 8;
                let span = u128::from(exit.at.since(first.at).as_nanos() + 1);
                prop_assert!(sent * 1_000_000_000 <= span * u128::from(bits));
            }
        }
    }

    /// The draw contract: what one stage does to a packet shifts no draw of another.
    #[test]
    fn what_becomes_of_packets_shifts_no_draw(
        profile in any_profile(), packets in any_packets(), loss in any_share(), queue in any_queue(),
        outage in 0u64..100,
    ) {
        let jitter = Jitter { order: Order::Reorder, ..profile.jitter };
        let rate = RateModel::Constant(Rate::from_bits_per_sec(5_000_000));
        let calm = DirectionProfile {
            jitter, delay: ms(900), loss: Loss::default(), rate: RateModel::Unlimited, schedule: vec![], ..profile
        };
        let outage = Change { at: ms(outage), outage: Some(ms(20)), ..Change::default() };
        let loss = Loss { model: LossModel::Bernoulli { p: loss }, drop: vec![1, 5] };
        let rough = DirectionProfile { loss, rate, queue, schedule: vec![outage], ..calm.clone() };
        let fates = |profile: &DirectionProfile| {
            let mut exits = run(&mut link(profile), &packets).1;
            exits.sort_by_key(|exit| (exit.id, exit.duplicate));
            exits
        };
        let (calm, rough) = (fates(&calm), fates(&rough));
        for exit in rough {
            let same = calm.iter().find(|e| (e.id, e.duplicate) == (exit.id, exit.duplicate));
            let same = same.expect("a copy in one is a copy in the other");
            prop_assert_eq!(same.corrupted, exit.corrupted);
            let sending = (u64::from(exit.ip_bytes) * 8).div_ceil(5) * 1000;
            let later = exit.at.since(same.at).as_nanos();
            prop_assert!(later.abs_diff(exit.queued.as_nanos() + sending) <= 1000, "packet {}", exit.id);
        }
    }

    /// The draw contract: packet n meets the same loss, jitter, duplication and corruption whatever the
    /// times and sizes are, and whatever queue and rate do.
    #[test]
    fn packet_n_meets_the_same_draws_whatever_else_happens(
        profile in any_profile(), one in any_packets(), two in any_packets(), other_rate in any_rate(),
    ) {
        let roomy = Queue { kind: QueueKind::DropTail, limit: QueueLimit::Packets(1_000_000) };
        let jitter = Jitter { order: Order::Reorder, ..profile.jitter };
        let first = DirectionProfile { jitter, delay: ms(900), queue: roomy, schedule: vec![], ..profile };
        let second = DirectionProfile { rate: other_rate, ..first.clone() };
        let fates = |profile: &DirectionProfile, packets: &[(Time, u32)]| -> Vec<Fate> {
            let mut link = link(profile);
            let (verdicts, exits) = run(&mut link, packets);
            let mut bare = Link::new(&DirectionProfile {
                jitter: Jitter::default(), delay: Span::ZERO, ..profile.clone()
            }, &key(), "hop/down", Time::ZERO);
            let (_, departures) = run(&mut bare, packets);
            (0..).zip(verdicts).map(|(id, verdict)| {
                let find = |exits: &[Exit<u64>], copy: bool| {
                    exits.iter().find(|e| e.id == id && e.duplicate == copy).cloned()
                };
                let original = find(&exits, false).map(|exit| {
                    let departure = find(&departures, false).unwrap().at;
                    (exit.at.as_nanos() as i64 - departure.as_nanos() as i64, exit.corrupted)
                });
                (verdict == Verdict::Lost, original, find(&exits, true).map(|copy| copy.corrupted))
            }).collect()
        };
        let [first, second] = [fates(&first, &one), fates(&second, &two)];
        for (id, (first, second)) in first.into_iter().zip(second).enumerate() {
            prop_assert_eq!(first, second, "packet {}", id);
        }
    }
}
