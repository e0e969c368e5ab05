//! The profile file: what it means, what it refuses, and that printing loses nothing.

use proptest::prelude::*;
use units::{Rate, Share, Size, Span};

use super::*;
use crate::builtin;

fn parse(text: &str) -> Profile {
    Profile::parse("test", text).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// Each problem as the text it is about and its message.
fn problems(text: &str) -> Vec<String> {
    let found = Profile::parse("test", text).expect_err("there is a problem");
    let about = |p: &Problem| p.span.clone().map_or("", |span| &text[span]).to_owned();
    found.iter().map(|p| format!("{} | {p}", about(p))).collect()
}

/// Checks that there is exactly one problem, about `about`, that says `message`.
#[track_caller]
fn refuses(text: &str, about: &str, message: &str) {
    let found = problems(text);
    assert!(
        found.len() == 1 && found[0].starts_with(&format!("{about} |")) && found[0].contains(message),
        "{text}\n{found:#?}"
    );
}

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

fn share(text: &str) -> Share {
    text.parse().unwrap()
}

#[test]
fn an_empty_file_is_a_perfect_link() {
    let profile = parse("");
    assert_eq!(profile.up, DirectionProfile::default());
    assert_eq!(profile.down, DirectionProfile::default());
}

#[test]
fn shared_keys_hold_for_both_and_a_direction_replaces_them_whole() {
    let profile = parse(
        "rtt = '251 ms'\njitter = { sigma = '5 ms', order = 'reorder' }\nrate = '1 Gbit/s'\n\
         [down]\njitter = '7 ms'\nloss = { kind = 'bernoulli', p = '1 %' }",
    );
    let reorder = Jitter { sigma: ms(5), order: Order::Reorder, ..Jitter::default() };
    assert_eq!(
        (profile.up.delay, profile.down.delay),
        (Span::from_micros(125_500), Span::from_micros(125_500))
    );
    assert_eq!(profile.up.jitter, reorder);
    assert_eq!(profile.down.jitter, Jitter { sigma: ms(7), ..Jitter::default() });
    assert_eq!(profile.up.loss, Loss::default());
    assert_eq!(profile.down.loss.model, LossModel::Bernoulli { p: share("1 %") });
    assert_eq!(profile.up.rate, profile.down.rate);
}

#[test]
fn an_odd_rtt_is_halved_without_loss() {
    let profile = parse("rtt = '3 ns'");
    assert_eq!(profile.up.delay + profile.down.delay, Span::from_nanos(3));
}

#[test]
fn a_bandwidth_delay_product_becomes_bytes() {
    let queue = |text: &str| parse(text).down.queue.limit;
    let bytes = |bytes| QueueLimit::Bytes(Size::from_bytes(bytes));
    assert_eq!(queue("rtt = '100 ms'\nrate = '8 Mbit/s'\nqueue = { bdp = 1.5 }"), bytes(150_000));
    let by_direction =
        "[up]\ndelay = '30 ms'\n[down]\ndelay = '70 ms'\nrate = '8 Mbit/s'\nqueue = { bdp = 1 }";
    assert_eq!(queue(by_direction), bytes(100_000));
    assert_eq!(queue("rtt = '1 us'\nrate = '8 kbit/s'\nqueue = { bdp = 1 }"), bytes(1500));
}

#[test]
fn a_trace_comes_from_its_path_through_the_loader() {
    let text = "rate = { kind = 'trace', path = 'lte.trace' }";
    let load = |path: &str| (path == "lte.trace").then(|| "1\n2\n".to_owned());
    let profile = Profile::parse_with("test", text, &load).unwrap();
    let inline = parse("rate = { kind = 'trace', content = '''\n1\n2\n''' }");
    assert_eq!(profile, inline);
    refuses(text, "'lte.trace'", "there is no trace file `lte.trace`");
    refuses("rate = { kind = 'trace', content = '1 x' }", "'1 x'", "line 1 of the trace is `1 x`");
}

#[test]
fn every_unknown_key_is_named_at_once_with_the_nearest() {
    let text = "dealy = '1 ms'\nrate = '1 Mbit/s'\n[up]\njiter = '1 ms'\n[[up.schedule]]\nat = '1 s'\noutag = '1 s'\n\
                [down.loss]\nkind = 'bernoulli'\np = 1\nmeen = '1 %'";
    let found = problems(text);
    let expected = [
        "dealy | unknown key `dealy` (did you mean `delay`?)",
        "jiter | unknown key `jiter` (did you mean `jitter`?)",
        "outag | unknown key `outag` (did you mean `outage`?)",
        "1 | `1` has no unit; a share is written with %, for example \"1.5 %\"",
        "meen | unknown key `meen` (did you mean `mean`?)",
    ];
    assert_eq!(found, expected, "{found:#?}");
}

#[test]
fn problems_of_both_kinds_are_found_together() {
    let found = problems("rtt = 5\n[up]\nloss = { kind = 'none', p = '1 %' }\nqueue = { packets = 0 }");
    assert_eq!(found.len(), 3, "{found:#?}");
}

#[test]
fn quantities_need_their_unit_and_sign() {
    refuses("rate = '-1 Mbit/s'", "'-1 Mbit/s'", "cannot be negative");
    refuses("rate = 1000", "1000", "has no unit");
    refuses("rate = -1000", "-1000", "cannot be negative");
    refuses("rate = '0 bit/s'", "'0 bit/s'", "`rate` is zero");
    refuses("jitter = 5.5", "5.5", "has no unit");
    refuses("delay = '700 s'", "'700 s'", "`delay` is more than 10 min");
    refuses("jitter = '700 s'", "'700 s'", "`sigma` is more than 10 min");
    refuses("duplicate = '101 %'", "'101 %'", "at most 100 %");
    refuses("rate = true", "true", "expected a rate as text");
}

#[test]
fn what_follows_from_a_problem_is_not_told_again() {
    refuses("loss = { kind = 'bernoulli', p = 'nan %' }", "'nan %'", "nan");
    refuses("[[schedule]]\nat = '1 s'\noutag = '1 s'", "outag", "did you mean `outage`?");
    let lost = "rate = { kind = 'trace', path = 'no' }\nqueue = { packets = 9 }";
    refuses(lost, "'no'", "there is no trace file");
    refuses("rate = { kind = 'constant' }\nqueue = { packets = 9 }", "{ kind = 'constant' }", "needs `rate`");
}

#[test]
fn the_delay_is_said_once() {
    refuses("rtt = '10 ms'\n[up]\ndelay = '3 ms'", "'3 ms'", "both say what the delay is");
}

#[test]
fn a_kind_refuses_what_is_not_its_own_and_asks_for_what_is() {
    refuses(
        "loss = { kind = 'bernoulli', p = '1 %', burst = 3 }",
        "3",
        "`burst` does not belong to `bernoulli`",
    );
    refuses("loss = { p = '1 %' }", "'1 %'", "`p` does not belong to `none`");
    refuses("loss = { kind = 'bernoulli' }", "'bernoulli'", "needs `p`");
    refuses("loss = { kind = 'gilbert-elliott', mean = '1 %' }", "'gilbert-elliott'", "needs either");
    refuses("loss = { kind = 'gilbert-eliott' }", "'gilbert-eliott'", "did you mean `gilbert-elliott`?");
    refuses(
        "rate = { kind = 'constant', rate = '1 bit/s', path = 'x' }",
        "'x'",
        "does not belong to `constant`",
    );
    refuses("rate = { kind = 'steps' }", "{ kind = 'steps' }", "at least one step");
    refuses("rate = { kind = 'trace' }", "{ kind = 'trace' }", "needs `path` or `content`");
    refuses("rate = '1 Mbit/s'\nqueue = {}", "{}", "exactly one of");
    refuses(
        "rate = '1 Mbit/s'\nqueue = { packets = 3, time = '1 s' }",
        "{ packets = 3, time = '1 s' }",
        "exactly one",
    );
    refuses("queue = { packets = 3 }", "{ packets = 3 }", "a queue needs a rate");
}

#[test]
fn parameters_stay_in_their_range() {
    let chain = |rest: &str| format!("loss = {{ kind = 'gilbert-elliott', {rest} }}");
    refuses(&chain("mean = '1 %', burst = 0.5"), "0.5", "not between 1 and");
    refuses(&chain("mean = '1 %', burst = nan"), "nan", "not between 1 and");
    refuses(&chain("mean = '60 %', burst = 1"), "'60 %'", "cannot be above 50 %");
    refuses(&chain("p = '1 %', r = '0 %'"), "'0 %'", "would never end");
    refuses(&chain("p = '1 %', r = '5 %', clock = 'time'"), "'time'", "needs `interval`");
    refuses(
        &chain("p = '1 %', r = '5 %', interval = '1 ms'"),
        "'1 ms'",
        "does not belong to the `packet` clock",
    );
    refuses(&chain("p = '40 %', r = '60 %', clock = 'time', interval = '1 ms'"), "'time'", "too often");
    refuses(&chain("p = '1 %', r = '5 %', clock = 'time', interval = '1 us'"), "'1 us'", "not between 10 us");
    refuses("rate = '1 Mbit/s'\nqueue = { bytes = '10 B' }", "'10 B'", "less than one packet");
    refuses("rate = '1 Mbit/s'\nqueue = { bdp = -1.0 }", "-1.0", "not above 0");
    refuses("rate = '1 Mbit/s'\nqueue = { time = '0 ms' }", "'0 ms'", "is zero");
    refuses("loss = { drop = [18446744073709551615] }", "{ drop = [18446744073709551615] }", "above");
}

#[test]
fn a_schedule_is_in_order_and_changes_something() {
    let entries = "[[schedule]]\nat = '2 s'\noutage = '1 s'\n[[schedule]]\nat = '1 s'\ndelay = '1 ms'";
    refuses(entries, "'1 s'", "not in order of time");
    refuses("[[schedule]]\nat = '2 s'", "[[schedule]]", "changes nothing");
    refuses("[[schedule]]\nat = '2 s'\noutage = '0 s'", "'0 s'", "`outage` is zero");
    refuses("[[schedule]]\noutage = '1 s'", "[[schedule]]", "missing key `at`");
    let steps = "rate = { kind = 'steps', steps = [{ at = '1 s', rate = '1 bit/s' }] }";
    refuses(steps, "{ at = '1 s', rate = '1 bit/s' }", "not at the start");
    let stop = parse("rate = '1 Mbit/s'\n[[schedule]]\nat = '1 s'\nrate = '0 bit/s'");
    assert_eq!(stop.up.schedule[0].rate, Some(RateModel::Constant(Rate::from_bits_per_sec(0))));
}

#[test]
fn the_built_in_profiles_say_what_the_source_says() {
    // Round trip in ms, sigma in us, loss in parts per billion, Mbit/s.
    let expected = [
        ("same-region", 2, 300, 0, 1000),
        ("brazil", 170, 8_000, 3_000_000, 1000),
        ("good-india", 250, 5_000, 1_000_000, 1000),
        ("bad-india", 270, 15_000, 15_000_000, 1000),
        ("thin-india", 250, 5_000, 1_000_000, 2),
    ];
    assert_eq!(builtin::names().len(), 2 * expected.len());
    for (name, rtt, sigma_us, loss, mbit) in expected {
        let profile = builtin::profile(name).unwrap();
        let twin = builtin::profile(&format!("{name}-reorder")).unwrap();
        for (direction, other) in [(&profile.up, &twin.up), (&profile.down, &twin.down)] {
            assert_eq!(direction.delay, ms(rtt) / 2);
            let sigma = Span::from_micros(sigma_us);
            assert_eq!(direction.jitter, Jitter { sigma, ..Jitter::default() });
            let lost = match direction.loss.model {
                LossModel::None => 0,
                LossModel::Bernoulli { p } => p.as_parts_per_billion(),
                LossModel::GilbertElliott(model) => {
                    let Moves::MeanAndBurst { mean, burst } = model.moves else { panic!() };
                    assert_eq!((burst.to_bits(), model.clock), (3f64.to_bits(), LossClock::Packet));
                    mean.as_parts_per_billion()
                }
            };
            assert_eq!(lost, loss, "{name}");
            let RateModel::Constant(rate) = direction.rate else { panic!() };
            assert_eq!(rate.as_bits_per_sec() / 1_000_000, mbit, "{name}");
            let jitter = Jitter { order: Order::Reorder, ..direction.jitter };
            assert_eq!(*other, DirectionProfile { jitter, ..direction.clone() }, "{name}");
        }
    }
    let thin = builtin::profile("thin-india").unwrap().down;
    assert_eq!(thin.rate, RateModel::Constant(Rate::from_bits_per_sec(2_500_000)));
    assert_eq!(thin.queue.limit, QueueLimit::Time(ms(300)));
    let robot = builtin::profile("robot-hop").unwrap();
    assert_eq!((robot.up.delay, robot.down.jitter), (Span::from_micros(500), Jitter::default()));
    assert_eq!(builtin::profile("mars"), None);
}

#[test]
fn the_schema_describes_every_key() {
    let schema = serde_json::to_value(profile_schema()).unwrap();
    let keys = schema["properties"].as_object().unwrap();
    for (key, value) in keys {
        assert!(key == "up" || key == "down" || value["description"].is_string(), "{key}: {value}");
    }
    assert_eq!(schema["additionalProperties"], serde_json::Value::Bool(false));
    assert!(keys.contains_key("rate_counts") && keys.contains_key("schedule"));
    assert!(schema["$defs"]["ChangeFile"]["properties"]["outage"].is_object());
}

fn any_span() -> impl Strategy<Value = Span> {
    (0u64..600_000_000_000).prop_map(Span::from_nanos)
}

fn any_share() -> impl Strategy<Value = Share> {
    (0u32..=1_000_000_000).prop_map(Share::from_parts_per_billion)
}

fn any_jitter() -> impl Strategy<Value = Jitter> {
    let distribution = prop::sample::select(vec![
        Distribution::Normal,
        Distribution::Uniform,
        Distribution::Pareto,
        Distribution::Wifi,
    ]);
    let order = prop::sample::select(vec![Order::Fifo, Order::Reorder]);
    (any_span(), distribution, order).prop_map(|(sigma, distribution, order)| Jitter {
        sigma,
        distribution,
        order,
    })
}

fn any_loss() -> impl Strategy<Value = Loss> {
    let by_burst = (0u32..500_000_000, 1.0f64..1000.0)
        .prop_map(|(mean, burst)| Moves::MeanAndBurst { mean: Share::from_parts_per_billion(mean), burst });
    let by_chances = (0u32..400_000_000, 1u32..600_000_000).prop_map(|(p, r)| Moves::Chances {
        p: Share::from_parts_per_billion(p),
        r: Share::from_parts_per_billion(r),
    });
    let clock = prop_oneof![
        Just(LossClock::Packet),
        (10_000u64..1_000_000_000).prop_map(|ns| LossClock::Time { interval: Span::from_nanos(ns) }),
    ];
    let chain = (prop_oneof![by_burst, by_chances], any_share(), any_share(), clock)
        .prop_map(|(moves, loss_good, loss_bad, clock)| GilbertElliott { moves, loss_good, loss_bad, clock })
        // The time clock needs states that last longer than its interval.
        .prop_map(|chain| match chain.moves.chances() {
            (p, r) if p + r >= 1.0 => GilbertElliott { clock: LossClock::Packet, ..chain },
            _ => chain,
        });
    let model = prop_oneof![
        Just(LossModel::None),
        any_share().prop_map(|p| LossModel::Bernoulli { p }),
        chain.prop_map(LossModel::GilbertElliott),
    ];
    let drop = prop::collection::btree_set(0u64..=i64::MAX as u64, 0..4);
    (model, drop).prop_map(|(model, drop)| Loss { model, drop: drop.into_iter().collect() })
}

fn any_rate() -> impl Strategy<Value = RateModel> {
    let rate = || (1u64..=u64::MAX).prop_map(Rate::from_bits_per_sec);
    let steps = (rate(), prop::collection::btree_map(1u64..1_000_000_000, rate(), 0..4)).prop_map(
        |(first, later)| {
            let later = later.into_iter().map(|(at, rate)| RateStep { at: Span::from_nanos(at), rate });
            let first = RateStep { at: Span::ZERO, rate: first };
            RateModel::Steps(std::iter::once(first).chain(later).collect())
        },
    );
    let trace = prop::collection::vec(1u32..100_000, 1..20).prop_map(|mut times| {
        times.sort_unstable();
        RateModel::Trace(crate::Trace::from_times_ms(times).unwrap())
    });
    prop_oneof![Just(RateModel::Unlimited), rate().prop_map(RateModel::Constant), steps, trace]
}

fn queue_kind() -> impl Strategy<Value = QueueKind> {
    let span = || (1..1_000_u64).prop_map(ms);
    prop_oneof![
        Just(QueueKind::DropTail),
        (span(), span(), any::<bool>())
            .prop_map(|(target, interval, ecn)| QueueKind::Codel(CodelParameters { target, interval, ecn })),
        (span(), span())
            .prop_map(|(target, rtt_max)| QueueKind::DualPi2(DualPi2Parameters { target, rtt_max })),
    ]
}

fn any_queue() -> impl Strategy<Value = Queue> {
    let limit = prop_oneof![
        (1500u64..=u64::MAX).prop_map(|bytes| QueueLimit::Bytes(Size::from_bytes(bytes))),
        (1u64..=1_000_000_000).prop_map(QueueLimit::Packets),
        (1u64..=u64::MAX).prop_map(|ns| QueueLimit::Time(Span::from_nanos(ns))),
    ];
    (limit, queue_kind()).prop_map(|(limit, kind)| Queue { kind, limit })
}

fn any_change() -> impl Strategy<Value = Change> {
    let option = prop::option::of::<BoxedStrategy<Span>>;
    let first = (any_span(), option(any_span().boxed()), prop::option::of(any_jitter()));
    let second = (prop::option::of(any_loss()), prop::option::of(any_rate()), prop::option::of(any_queue()));
    let third = (prop::option::of(any_share()), prop::option::of(any_share()));
    (first, second, third, 1u64..1_000_000_000).prop_map(
        |((at, delay, jitter), (loss, rate, queue), (duplicate, corrupt), outage)| Change {
            at,
            delay,
            jitter,
            loss,
            rate,
            queue,
            duplicate,
            corrupt,
            outage: Some(Span::from_nanos(outage)),
        },
    )
}

fn any_direction() -> impl Strategy<Value = DirectionProfile> {
    let first = (any_span(), any_jitter(), any_loss(), any_rate());
    let counts = prop::sample::select(vec![RateCounts::Ip, RateCounts::Ethernet]);
    let second = (counts, any_queue(), any_share(), any_share());
    (first, second, prop::collection::vec(any_change(), 0..4)).prop_map(
        |((delay, jitter, loss, rate), (rate_counts, queue, duplicate, corrupt), mut schedule)| {
            schedule.sort_by_key(|change| change.at);
            let rates = schedule.iter().filter_map(|change| change.rate.as_ref());
            let limited = rates.chain([&rate]).any(|rate| *rate != RateModel::Unlimited);
            if !limited {
                for change in &mut schedule {
                    change.queue = None;
                }
            }
            let queue = if limited { queue } else { Queue::default() };
            DirectionProfile {
                delay,
                jitter,
                loss,
                rate,
                rate_counts,
                queue,
                duplicate,
                corrupt,
                schedule,
                ..DirectionProfile::default()
            }
        },
    )
}

proptest! {
    #[test]
    fn printing_then_parsing_gives_the_profile_back(
        description in ".*", up in any_direction(), down in any_direction(),
    ) {
        let profile = Profile { name: "test".to_owned(), description, up, down };
        let text = profile.to_toml();
        let again = Profile::parse("test", &text);
        prop_assert_eq!(again.as_ref(), Ok(&profile), "{}", text);
        prop_assert_eq!(again.unwrap().to_toml(), text);
    }

    #[test]
    fn no_text_panics_the_parser(text in ".*") {
        let _ = Profile::parse("test", &text);
    }

    #[test]
    fn no_damage_to_a_profile_panics_the_parser(
        index in 0usize..10, at in 0usize..2000, insert in "[\\[\\]{}=.\"'a-z0-9 %\n-]{0,4}", remove in 0usize..6,
    ) {
        let name = builtin::names()[index];
        let text = builtin::profile(name).unwrap().to_toml();
        let start = at.min(text.len());
        let end = (start + remove).min(text.len());
        let damaged = format!("{}{insert}{}", &text[..start], &text[end..]);
        if let Err(problems) = Profile::parse(name, &damaged) {
            for problem in problems {
                if let Some(span) = problem.span {
                    prop_assert!(damaged.get(span.clone()).is_some(), "{span:?} of\n{damaged}");
                }
            }
        }
    }
}
