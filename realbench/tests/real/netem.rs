//! The kernel's netem: where it honours the seed each packet's fate, and everywhere what no seed can change.
//!
//! Runs where the kernel has netem; `tests/uml/run` brings one along.

use std::sync::Arc;

use bench::Direction;
use netmodel::units::{Span, Time};
use netmodel::{Profile, StreamKey, Verdict};
use realbench::fates::{Fate, Fates, FatesOptions, Lateness, by_backend, by_model, differences};
use realbench::link::{NetemLink, probe_netem};

use crate::possible;

/// Whether the kernel has netem; if not, says why.
fn netem_here() -> bool {
    if !possible() {
        return false;
    }
    let probed = probe_netem();
    if let Err(error) = &probed {
        eprintln!("skipped: failed to {error}");
    }
    probed.is_ok()
}

/// The kernel's fates, and the model's of the same packets.
fn fates(profile: &str, packets: u32, interval: Span) -> (Fates, Fates) {
    let options = FatesOptions {
        profile: Arc::new(Profile::parse("test", profile).unwrap()),
        key: StreamKey::new([7; 32]),
        direction: Direction::Down,
        packets,
        ip_bytes: PACKET_BYTES,
        interval,
    };
    let kernel = by_backend(&options, &NetemLink).unwrap();
    let model = by_model(&options, Some(&kernel.fates));
    assert_eq!(kernel.fates.len(), packets as usize);
    println!("{profile}\n  {:?}", Lateness::of(&kernel, &model));
    (kernel, model)
}

fn takes_the_seed(fates: &Fates) -> bool {
    let notes = &fates.report.as_ref().unwrap().notes;
    !notes.iter().any(|note| note.contains("does not take netem's seed"))
}

fn milliseconds(fates: &Fates) -> Vec<f64> {
    let mut delays: Vec<f64> =
        fates.fates.iter().filter_map(|fate| fate.delay).map(Span::as_millis_f64).collect();
    delays.sort_unstable_by(f64::total_cmp);
    delays
}

fn arrived(fates: &[Fate]) -> Vec<(usize, Time)> {
    let arrival = |(number, fate): (usize, &Fate)| Some((number, fate.sent + fate.delay?));
    fates.iter().enumerate().filter_map(arrival).collect()
}

#[test]
fn a_seed_gives_each_packet_the_predicted_fate() {
    if !netem_here() {
        return;
    }
    let chain = "{ kind = 'gilbert-elliott', p = '5 %', r = '30 %' }";
    let four = "{ kind = 'gilbert-elliott', p = '5 %', r = '30 %', loss_good = '2 %', loss_bad = '70 %' }";
    let single = "{ kind = 'bernoulli', p = '10 %' }";
    for (seed, loss) in [(1, chain), (2, chain), (77, chain), (77, four), (1_u64 << 62, single)] {
        let text = format!("[netem]\nseed = {seed}\ndelay = '50 ms'\njitter = '10 ms'\nloss = {loss}");
        let (kernel, model) = fates(&text, 400, Span::from_millis(3));
        if !takes_the_seed(&kernel) {
            eprintln!("skipped: this kernel's netem ignores the seed");
            return;
        }
        // Whether it is lost is exact; and nothing comes before its time, as half of it would by other draws.
        assert_eq!(
            differences(&kernel, &model, None),
            [0; 0],
            "seed {seed}: {:?}",
            Lateness::of(&kernel, &model)
        );
        // A busy machine is late, but not with every second packet by a twentieth of what is drawn from.
        let late = Lateness::of(&kernel, &model).unwrap();
        assert!(late.us_p50 < 1000.0, "seed {seed}: {late:?}");
    }
}

#[test]
fn losses_and_delays_have_the_chains_statistics() {
    if !netem_here() {
        return;
    }
    let packets = 2000;
    let (kernel, _) = fates(
        "[netem]\ndelay = '50 ms'\njitter = '10 ms'\nloss = { kind = 'gilbert-elliott', p = '5 %', r = '30 %' }",
        packets,
        Span::from_millis(2),
    );
    let lost: Vec<bool> = kernel.fates.iter().map(|fate| fate.verdict == Verdict::Lost).collect();
    let share = lost.iter().filter(|lost| **lost).count() as f64 / f64::from(packets);
    // A kernel that ignores the seed draws others each time: five standard errors. The mean p / (p + r) has the
    // variance π (1 − π) (1 + λ) / (1 − λ) a packet, with λ = 1 − p − r.
    let (p, r) = (0.05, 0.3);
    let (mean, lambda) = (p / (p + r), 1.0 - p - r);
    let error = (mean * (1.0 - mean) * (1.0 + lambda) / (1.0 - lambda) / f64::from(packets)).sqrt();
    assert!((share - mean).abs() < 5.0 * error, "{share} lost, {mean} ± {error}");
    // Bursts are geometric with the mean 1 / r; there are about p (1 − π) of them a packet.
    let bursts = lost.windows(2).filter(|pair| pair[1] && !pair[0]).count() as f64 + f64::from(lost[0]);
    let burst = share * f64::from(packets) / bursts;
    let error = (1.0 - r).sqrt() / r / bursts.sqrt();
    assert!((burst - 1.0 / r).abs() < 5.0 * error, "{burst} a burst, {} ± {error}", 1.0 / r);

    let delays = milliseconds(&kernel);
    let at = |part: f64| delays[(part * (delays.len() - 1) as f64) as usize];
    println!("  loss {share:.4}, burst {burst:.2}, delay {:.3} to {:.3} ms", delays[0], at(1.0));
    assert!(delays[0] >= 40.0 && at(1.0) >= 59.0, "{} to {}", delays[0], at(1.0));
    // Uniform over 20 ms: quartiles are within 1.2 ms by five standard errors; the machine is late besides.
    for (share, expected) in [(0.25, 45.0), (0.5, 50.0), (0.75, 55.0)] {
        let delay = at(share);
        assert!((-1.25..3.0).contains(&(delay - expected)), "{share}: {delay} ms, {expected} ms");
    }
    let overtaken = arrived(&kernel.fates).windows(2).filter(|pair| pair[1].1 < pair[0].1).count();
    assert!(overtaken > 100, "{overtaken}: netem keeps no order");
}

#[test]
fn packets_wait_for_the_rate_first_and_are_lost_and_delayed_then() {
    if !netem_here() {
        return;
    }
    // All at once: the queue alone spaces them out.
    let packets = 60;
    let (kernel, _) = fates(
        "rate = '2 Mbit/s'\nqueue = { packets = 100 }\n\
         [netem]\ndelay = '100 ms'\njitter = '10 ms'\nloss = { kind = 'bernoulli', p = '40 %' }",
        packets,
        Span::ZERO,
    );
    let came = arrived(&kernel.fates);
    let began = kernel.fates[0].sent;
    assert!((10..58).contains(&came.len()), "{} came", came.len());
    // What is lost has been sent before: were it lost first, the last packets would come after 60 % of the time.
    for (number, at) in &came {
        let least = 90.0 + MILLISECONDS_A_PACKET * number.saturating_sub(BURST_PACKETS) as f64;
        let delay = at.since(began).as_millis_f64();
        assert!(delay >= least, "packet {number} came after {delay} ms, before {least} ms");
    }
    // Were they delayed first, they would come one by one.
    let mut times: Vec<Time> = came.iter().map(|(_, at)| *at).collect();
    times.sort_unstable();
    let close = times.windows(2).filter(|pair| pair[1].since(pair[0]).as_millis_f64() < 2.0).count();
    assert!(close > 0, "jitter comes behind the queue");
}

#[test]
fn a_rate_is_kept_and_a_full_queue_drops() {
    if !netem_here() {
        return;
    }
    for (queue, kept) in [("packets = 20", 20), ("bytes = '24 kB'", 20)] {
        let text = format!("rate = '2 Mbit/s'\nqueue = {{ {queue} }}\n[netem]\ndelay = '200 ms'");
        let (kernel, model) = fates(&text, 60, Span::ZERO);
        let came = arrived(&kernel.fates);
        let (first, last) = (kernel.fates[0].sent, kernel.fates[59].sent);
        // What has left by the end of the sending, and what waited then.
        let room =
            kept + BURST_PACKETS + (last.since(first).as_millis_f64() / MILLISECONDS_A_PACKET) as usize + 1;
        assert!((kept..=room).contains(&came.len()), "{queue}: {} came, room for {room}", came.len());
        assert!(
            came.iter().take(kept).enumerate().all(|(n, (number, _))| n == *number),
            "the tail is dropped"
        );
        println!("  {} came, {} by the model", came.len(), arrived(&model.fates).len());
        let mut gaps: Vec<f64> =
            came.windows(2).map(|pair| pair[1].1.since(pair[0].1).as_millis_f64()).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        let gap = gaps[gaps.len() / 2];
        assert!((gap - MILLISECONDS_A_PACKET).abs() < 0.3, "{queue}: one in {gap} ms");
    }
    // Slower than the rate nothing waits: that 200 ms of packets are under way fills no queue.
    let (kernel, model) = fates(
        "rate = '2 Mbit/s'\nqueue = { packets = 20 }\n[netem]\ndelay = '200 ms'",
        100,
        Span::from_millis(6),
    );
    assert_eq!(arrived(&kernel.fates).len(), 100);
    assert_eq!(differences(&kernel, &model, None), [0; 0], "no earlier than by what the bucket holds");
}

const PACKET_BYTES: u32 = 1200;
/// At 2 Mbit/s.
const MILLISECONDS_A_PACKET: f64 = 4.8;
/// What an idle token bucket lets through at once: its bucket holds one packet and a part of another.
const BURST_PACKETS: usize = 2;
