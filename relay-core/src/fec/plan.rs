//! How much parity a frame needs: from the measured share and burst length of loss.
//!
//! Loss is taken to follow a Gilbert chain (every packet in the bad state lost, none in the good
//! one), whose two parameters are the loss share and the mean burst. For a frame of k fragments the
//! plan is the least m such that more than m of k + m packets are lost with at most the target
//! probability. The same estimate serves links without bursts: their mean burst is about 1.

use units::Share;

use crate::settings::{Fec, FecAmount, FecKind};

/// A running estimate of loss share and burst length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LossEstimate {
    packets: f64,
    lost: f64,
    bursts: f64,
}

impl LossEstimate {
    /// Before anything is known: as if one packet in [`PRIOR_PACKETS`] had been lost.
    pub(crate) fn new() -> Self {
        Self { packets: PRIOR_PACKETS, lost: PRIOR_LOST, bursts: PRIOR_LOST }
    }

    /// Takes a judged packet; `begins_burst` says that it was lost and the one before it was not.
    pub(crate) fn insert(&mut self, lost: bool, begins_burst: bool) {
        let keep = 1.0 - 1.0 / MEMORY_PACKETS;
        self.packets = self.packets * keep + 1.0;
        self.lost = self.lost * keep + f64::from(u8::from(lost));
        self.bursts = self.bursts * keep + f64::from(u8::from(begins_burst));
    }

    /// The share of packets lost.
    pub(crate) fn share(&self) -> f64 {
        (self.lost / self.packets).clamp(0.0, 1.0)
    }

    /// The mean number of packets lost in a row.
    pub(crate) fn burst(&self) -> f64 {
        if self.bursts < MIN_BURSTS { 1.0 } else { (self.lost / self.bursts).max(1.0) }
    }
}

/// Chooses parity for frames.
#[derive(Debug)]
pub(crate) struct Plan {
    settings: Fec,
    /// The chosen parity by fragment count, for the estimate below.
    chosen: Vec<Option<u8>>,
    at: (u32, u32),
}

impl Plan {
    pub(crate) fn new(settings: &Fec) -> Self {
        Self { settings: settings.clone(), chosen: Vec::new(), at: (0, 0) }
    }

    /// Parity fragments for a frame of `count` fragments of the main camera, or of a wrist.
    /// `spare` is what the link takes beside all frames at full size, as a share of those; `reorders` says
    /// that the link reorders packets and has room.
    ///
    /// It is the same where parity is over a sliding window: a share of frames that is left over by its own
    /// parity then waits for the next frame's.
    pub(crate) fn parity(
        &mut self,
        estimate: &LossEstimate,
        count: u16,
        main: bool,
        spare: f64,
        reorders: bool,
    ) -> u8 {
        if self.settings.kind == FecKind::None {
            return 0;
        }
        let cap = (f64::from(count) * self.settings.overhead_max.as_f64()).ceil() as u8;
        let cap = cap.min(PARITY_MAX);
        if self.settings.amount == FecAmount::Fixed {
            let fixed = (f64::from(count) * self.settings.ratio.as_f64()).ceil();
            return (fixed as u8).min(PARITY_MAX);
        }
        // Recomputed only when the estimate has moved by a tenth.
        let step = |value: f64| (libm::log(value.max(1e-6)) * 10.0) as i32 as u32;
        let at = (step(estimate.share()), step(estimate.burst()));
        if at != self.at {
            self.at = at;
            self.chosen.clear();
        }
        let slot = usize::from(count) * 2 + usize::from(main);
        if self.chosen.len() <= slot {
            self.chosen.resize(slot + 1, None);
        }
        let target = if main { self.settings.residual_main } else { self.settings.residual_wrist };
        let for_loss = *self.chosen[slot].get_or_insert_with(|| least_parity(estimate, count, cap, target));
        // Where rate is short, parity yields to the frames.
        let affordable = spare.max(self.settings.overhead_short.as_f64()) * f64::from(count);
        let for_loss = for_loss.min(affordable.round() as u8);
        if !reorders {
            return for_loss;
        }
        let for_delay = (f64::from(count) * self.settings.reordering.as_f64()).ceil() as u8;
        for_loss.max(for_delay.min(cap))
    }
}

/// The least parity with which a frame of `count` fragments is lost with at most `target`, or `cap`.
fn least_parity(estimate: &LossEstimate, count: u16, cap: u8, target: Share) -> u8 {
    if estimate.share() <= 0.0 || count > COUNT_MAX {
        return 0;
    }
    let fails = |parity: u8| more_lost_than(estimate, usize::from(count), usize::from(parity));
    (0..=cap).find(|&parity| fails(parity) <= target.as_f64()).unwrap_or(cap)
}

/// Probability that more than `parity` of `count + parity` packets are lost.
fn more_lost_than(estimate: &LossEstimate, count: usize, parity: usize) -> f64 {
    let share = estimate.share().min(0.5);
    let leave_bad = 1.0 / estimate.burst();
    let enter_bad = (share * leave_bad / (1.0 - share)).min(1.0);
    // Probability of having lost n so far and being in the good, or the bad, state; losses over
    // `parity` need not be told apart.
    let mut good = vec![0.0; parity + 2];
    let mut bad = vec![0.0; parity + 2];
    good[0] = 1.0 - share;
    bad[0] = share;
    for _ in 0..count + parity {
        let (mut good_next, mut bad_next) = (vec![0.0; parity + 2], vec![0.0; parity + 2]);
        for lost in 0..parity + 2 {
            // The state decides the packet's fate, then moves.
            good_next[lost] += good[lost] * (1.0 - enter_bad);
            bad_next[lost] += good[lost] * enter_bad;
            let more = (lost + 1).min(parity + 1);
            good_next[more] += bad[lost] * leave_bad;
            bad_next[more] += bad[lost] * (1.0 - leave_bad);
        }
        (good, bad) = (good_next, bad_next);
    }
    good[parity + 1] + bad[parity + 1]
}

/// The estimate begins as if one of this many packets had been lost.
const PRIOR_PACKETS: f64 = 1_000.0;
const PRIOR_LOST: f64 = 1.0;
/// Packets over which the estimate forgets: a minute of the default workload.
const MEMORY_PACKETS: f64 = 20_000.0;
/// Bursts to have seen before their length is believed.
const MIN_BURSTS: f64 = 2.0;
/// Parity fragments of one frame.
const PARITY_MAX: u8 = 64;
/// Frames of more fragments get no parity: the computation would cost more than it is worth.
const COUNT_MAX: u16 = 256;

/// [`more_lost_than`] for a known channel, which other codes are held against.
#[cfg(test)]
pub(super) fn lost_beyond(share: f64, burst: f64, count: usize, parity: usize) -> f64 {
    let packets = 1e6;
    let lost = packets * share;
    more_lost_than(&LossEstimate { packets, lost, bursts: lost / burst }, count, parity)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(share: f64, burst: f64) -> LossEstimate {
        let packets = 1e6;
        LossEstimate { packets, lost: packets * share, bursts: packets * share / burst }
    }

    #[test]
    fn without_parity_it_is_the_closed_form() {
        let found = more_lost_than(&estimate(0.015, 3.0), 17, 0);
        let enter = 0.015 / 3.0 / 0.985;
        let expected = 1.0 - 0.985 * libm::pow(1.0 - enter, 16.0);
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        // Independent losses are the burst of 1 / (1 - share).
        let found = more_lost_than(&estimate(0.01, 1.0 / 0.99), 17, 0);
        assert!((found - (1.0 - libm::pow(0.99, 17.0))).abs() < 1e-9, "{found}");
    }

    #[test]
    fn independent_losses_follow_the_binomial() {
        let (n, p) = (20.0, 0.02);
        let none = libm::pow(1.0 - p, n);
        let one = n * p * libm::pow(1.0 - p, n - 1.0);
        let found = more_lost_than(&estimate(p, 1.0 / (1.0 - p)), 19, 1);
        assert!((found - (1.0 - none - one)).abs() < 1e-9);
    }

    #[test]
    fn more_loss_and_longer_bursts_ask_for_more() {
        let least = |share, burst| least_parity(&estimate(share, burst), 17, 30, Share::from_f64(0.003));
        assert_eq!(least(1e-7, 1.0), 0);
        assert_eq!(least(0.001, 1.0), 1);
        assert!(least(0.015, 3.0) > least(0.015, 1.0));
        assert!(least(0.03, 3.0) >= least(0.015, 3.0));
    }

    #[test]
    fn where_rate_is_short_parity_yields() {
        let mut plan = Plan::new(&Fec::default());
        let bad = estimate(0.015, 3.0);
        let wanted = plan.parity(&bad, 20, true, f64::INFINITY, false);
        assert!(wanted > 6, "{wanted}");
        assert_eq!(plan.parity(&bad, 20, true, 0.3, false), 6, "what there is room for");
        for short in [0.0, -0.5, 0.05] {
            assert_eq!(plan.parity(&bad, 20, true, short, false), 2, "the tenth that is always allowed");
            assert_eq!(plan.parity(&bad, 2, false, short, false), 0);
        }
        assert_eq!(plan.parity(&bad, 20, true, 2.0, false), wanted, "and no more than is wanted");
    }

    #[test]
    fn the_estimate_learns_share_and_burst() {
        let mut estimate = LossEstimate::new();
        for packet in 0..100_000u32 {
            let place = packet % 200;
            estimate.insert(place < 3, place == 0);
        }
        assert!((estimate.share() - 0.015).abs() < 0.001);
        assert!((estimate.burst() - 3.0).abs() < 0.1);
    }
}
