//! What of a profile the kernel's disciplines cannot do, by name.

use netmodel::DirectionProfile;
use netmodel::profile::{Distribution, LossClock, LossModel, Order, QueueKind, RateModel};
use netmodel::units::Share;

use super::super::error::Unsupported;
use super::super::plan::Place;

/// Everything at `place` that is refused.
pub(super) fn of(place: Place, profile: &DirectionProfile) -> Vec<Unsupported> {
    let jitter = profile.jitter;
    let jitters = !jitter.sigma.is_zero();
    let limited = profile.rate != RateModel::Unlimited;
    let by_time =
        matches!(profile.loss.model, LossModel::GilbertElliott(model) if model.clock != LossClock::Packet);
    let cases = [
        (!profile.schedule.is_empty(), "schedule", "the kernel's link does not change over time"),
        (matches!(profile.rate, RateModel::Steps(_)), "rate", "a token bucket does not change over time"),
        (matches!(profile.rate, RateModel::Trace(_)), "rate", "a token bucket does not follow a trace"),
        (limited && profile.queue.kind != QueueKind::DropTail, "queue", "only `drop-tail` is set up"),
        (by_time, "loss", "netem has no `time` clock"),
        (!profile.loss.drop.is_empty(), "loss", "netem has no drop list"),
        (
            limited && profile.loss.model != LossModel::None,
            "loss",
            "netem stands behind the queue; say `netem` in place of `loss` to mean that",
        ),
        (
            jitters && jitter.order == Order::Fifo,
            "jitter",
            "netem keeps no order; say `order = \"reorder\"`, or use `netem`",
        ),
        (
            jitters && jitter.distribution != Distribution::Uniform,
            "jitter",
            "only the `uniform` distribution is set up",
        ),
        (profile.duplicate != Share::ZERO, "duplicate", "netem's copies go through the queue again"),
        (profile.corrupt != Share::ZERO, "corrupt", "what netem damages does not pass the UDP checksum"),
    ];
    let refused = cases.into_iter().filter(|(refused, ..)| *refused);
    let at = |(_, stage, why)| Unsupported { hop: place.hop, direction: place.direction, stage, why };
    refused.map(at).collect()
}

#[cfg(test)]
mod tests {
    use netmodel::Profile;

    use super::*;
    use crate::link::LINKS;

    fn stages(text: &str) -> Vec<&'static str> {
        let profile = Profile::parse("test", text).unwrap();
        of(LINKS[3], &profile.down).into_iter().map(|refused| refused.stage).collect()
    }

    #[test]
    fn what_netem_does_is_not_refused() {
        let none: [&str; 0] = [];
        assert_eq!(stages("rtt = '270 ms'\nrate = '1 Gbit/s'\nqueue = { packets = 1000 }"), none);
        assert_eq!(
            stages("rate = '1 Mbit/s'\n[netem]\ndelay = '3 ms'\nloss = { kind = 'bernoulli', p = '1 %' }"),
            none
        );
        assert_eq!(
            stages("delay = '3 ms'\nloss = { kind = 'gilbert-elliott', mean = '1 %', burst = 3 }"),
            none
        );
        let uniform = "jitter = { sigma = '1 ms', distribution = 'uniform', order = 'reorder' }";
        assert_eq!(stages(uniform), none);
    }

    #[test]
    fn what_it_does_not_is_named() {
        assert_eq!(stages("jitter = '1 ms'"), ["jitter", "jitter"]);
        assert_eq!(stages("rate = '1 Mbit/s'\nloss = { kind = 'bernoulli', p = '1 %' }"), ["loss"]);
        assert_eq!(stages("loss = { kind = 'none', drop = [1] }"), ["loss"]);
        assert_eq!(stages("[[schedule]]\nat = '1 s'\noutage = '1 s'"), ["schedule"]);
        assert_eq!(stages("duplicate = '1 %'\ncorrupt = '1 %'"), ["duplicate", "corrupt"]);
        assert_eq!(
            stages("rate = { kind = 'steps', steps = [{ at = '0 s', rate = '1 Mbit/s' }] }"),
            ["rate"]
        );
    }
}
