//! The netem stage of a profile: its file form, its resolved form, and the kernel's numbers for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use units::Span;

use super::file::{DirectionFile, LossFile, ProfileFile, unplaced};
use super::loss::resolve_loss;
use super::resolve::Findings;
use super::types::{GilbertElliott, LossClock, LossModel};
use crate::document::Problem;
use crate::random::StreamKey;

/// Loss and delay as kernel netem has them, to the bit: the same seed gives each packet the same fate here, through the
/// userspace link and in the kernel. In place of `delay`, `jitter` and `loss`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetemFile {
    /// The seed of netem's generator (`TCA_NETEM_PRNG_SEED`), from 0 to 2⁶³ − 1; written for both directions, both
    /// have the same draws. Default: from the cell's seed, another one for each direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u64>")]
    pub seed: Option<Spanned<u64>>,
    /// The delay around which the jitter is, at most 600 s. Default 0 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub delay: Option<Spanned<Span>>,
    /// Half the width of the delay's variation, which is uniform; packets overtake each other. At most 1 s.
    /// Default 0 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub jitter: Option<Spanned<Span>>,
    /// Which packets are lost; behind the queue, where netem stands. Not by the `time` clock and without
    /// `drop`. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<LossFile>")]
    pub loss: Option<Spanned<LossFile>>,
}

/// Loss and delay as kernel netem has them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Netem {
    /// The generator's seed; `None` takes it from the cell's randomness.
    pub seed: Option<u64>,
    /// The middle of the delay.
    pub delay: Span,
    /// Half the width of its uniform variation.
    pub jitter: Span,
    /// Which packets are lost; a Gilbert-Elliott chain by the packet clock.
    pub loss: LossModel,
}

/// A law of loss in the kernel's numbers: probabilities in units of 1 / (2³² − 1), as `tc` makes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelLoss {
    /// No loss.
    None,
    /// `tc_netem_qopt.loss`.
    Random {
        /// The chance of a loss; never 0.
        loss: u32,
    },
    /// `tc_netem_gemodel`.
    GilbertElliott {
        /// Good to bad.
        p: u32,
        /// Bad to good.
        r: u32,
        /// One minus the loss in the bad state: a trap of the interface.
        h: u32,
        /// The loss in the good state.
        k1: u32,
    },
}

impl Netem {
    /// The seed for the direction of the link that is called `label` under `key`.
    pub fn seed(&self, key: &StreamKey, label: &str) -> u64 {
        self.seed.unwrap_or_else(|| key.stream(&format!("{label}/netem")).u64())
    }

    /// The jitter in nanoseconds, as netem has it.
    pub fn jitter_ns(&self) -> u32 {
        self.jitter.min(JITTER_MAX).as_nanos() as u32
    }

    /// The law of loss in the kernel's numbers.
    pub fn kernel_loss(&self) -> KernelLoss {
        match self.loss {
            LossModel::None => KernelLoss::None,
            LossModel::Bernoulli { p } => match scaled(p.as_f64()) {
                // The kernel compares with "at least": a chance of zero would still lose one in 2³².
                0 => KernelLoss::None,
                loss => KernelLoss::Random { loss },
            },
            LossModel::GilbertElliott(GilbertElliott { moves, loss_good, loss_bad, .. }) => {
                let (p, r) = moves.chances();
                KernelLoss::GilbertElliott {
                    p: scaled(p),
                    r: scaled(r),
                    h: u32::MAX - scaled(loss_bad.as_f64()),
                    k1: scaled(loss_good.as_f64()),
                }
            }
        }
    }
}

/// `percent2u32` of iproute2.
fn scaled(probability: f64) -> u32 {
    (probability.clamp(0.0, 1.0) * f64::from(u32::MAX)).round() as u32
}

/// Resolves the netem of a direction, its own or the shared one, if there is one.
pub(super) fn resolve_netem(
    found: &mut Findings,
    shared: &ProfileFile,
    own: &DirectionFile,
) -> Option<Netem> {
    let file = own.netem.as_ref().or(shared.netem.as_ref())?;
    refuse_beside(found, shared, own);
    let NetemFile { seed, delay, jitter, loss } = file.get_ref();
    let mut at_most = |name: &str, value: &Option<Spanned<Span>>, most: Span| {
        let Some(value) = value else { return Span::ZERO };
        if *value.get_ref() > most {
            found.wrong(Problem::new(format!("`{name}` is more than {most}")).at(value.span()));
        }
        *value.get_ref()
    };
    let delay = at_most("delay", delay, DELAY_MAX);
    let jitter = at_most("jitter", jitter, JITTER_MAX);
    let loss = loss.as_ref().map_or(LossModel::None, |file| {
        let loss = resolve_loss(found, file);
        let by_time =
            matches!(loss.model, LossModel::GilbertElliott(model) if model.clock != LossClock::Packet);
        if by_time || !loss.drop.is_empty() {
            let what = if by_time { "the `time` clock" } else { "`drop`" };
            let problem = Problem::new(format!("netem does not have {what}"));
            found.wrong(problem.at(file.span()).help("use `loss` in place of `netem`"));
        }
        loss.model
    });
    Some(Netem { seed: seed.as_ref().map(|seed| *seed.get_ref()), delay, jitter, loss })
}

/// Notes what stands beside a netem and says the same. A netem of a direction sets the shared keys aside.
fn refuse_beside(found: &mut Findings, shared: &ProfileFile, own: &DirectionFile) {
    let mut beside = vec![
        ("delay", own.delay.as_ref().map(Spanned::span)),
        ("jitter", own.jitter.as_ref().map(Spanned::span)),
        ("loss", own.loss.as_ref().map(Spanned::span)),
    ];
    if own.netem.is_none() {
        beside.extend([
            ("rtt", shared.rtt.as_ref().map(Spanned::span)),
            ("delay", shared.delay.as_ref().map(Spanned::span)),
            ("jitter", shared.jitter.as_ref().map(Spanned::span)),
            ("loss", shared.loss.as_ref().map(Spanned::span)),
        ]);
    }
    let schedule = if own.schedule.is_empty() { &shared.schedule } else { &own.schedule };
    for change in schedule {
        let change = change.get_ref();
        beside.extend([
            ("delay", change.delay.as_ref().map(Spanned::span)),
            ("jitter", change.jitter.as_ref().map(Spanned::span)),
            ("loss", change.loss.as_ref().map(Spanned::span)),
        ]);
    }
    for (name, span) in beside {
        if let Some(span) = span {
            let problem = Problem::new(format!("`{name}` and `netem` both say what loss and delay are"));
            found.wrong(problem.at(span).help(format!("keep one: `netem` takes the place of `{name}`")));
        }
    }
}

/// The file form, with nothing left to a default but a seed that is the cell's.
pub(super) fn netem_file(netem: &Netem, loss: LossFile) -> NetemFile {
    NetemFile {
        seed: netem.seed.map(unplaced),
        delay: Some(unplaced(netem.delay)),
        jitter: Some(unplaced(netem.jitter)),
        loss: Some(unplaced(loss)),
    }
}

const DELAY_MAX: Span = Span::from_secs(600);
/// The kernel's arithmetic is of 32 bits: twice the jitter must fit.
const JITTER_MAX: Span = Span::from_secs(1);

#[cfg(test)]
mod tests {
    use units::Share;

    use super::*;
    use crate::Profile;

    fn problems(text: &str) -> Vec<String> {
        Profile::parse("test", text).unwrap_err().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_netem_is_read_and_printed() {
        let text = "[netem]\nseed = 77\ndelay = '50 ms'\njitter = '10 ms'\n\
                    loss = { kind = 'gilbert-elliott', p = '5 %', r = '30 %', loss_bad = '90 %' }";
        let profile = Profile::parse("test", text).unwrap();
        let netem = profile.down.netem.unwrap();
        assert_eq!(profile.up.netem, Some(netem));
        assert_eq!(
            (netem.seed, netem.delay, profile.up.delay),
            (Some(77), Span::from_millis(50), netem.delay)
        );
        let expected = KernelLoss::GilbertElliott { p: 214_748_365, r: 1_288_490_189, h: 429_496_729, k1: 0 };
        assert_eq!(netem.kernel_loss(), expected);
        assert_eq!(Profile::parse("test", &profile.to_toml()).unwrap(), profile);
    }

    #[test]
    fn a_direction_may_have_netem_alone() {
        let text = "rtt = '20 ms'\nloss = { kind = 'bernoulli', p = '1 %' }\n[down.netem]\ndelay = '30 ms'\n";
        let profile = Profile::parse("test", text).unwrap();
        assert_eq!((profile.up.netem, profile.up.delay), (None, Span::from_millis(10)));
        assert_eq!((profile.down.delay, profile.down.loss.model), (Span::from_millis(30), LossModel::None));
        assert_eq!(Profile::parse("test", &profile.to_toml()).unwrap(), profile);
    }

    #[test]
    fn what_says_the_same_is_refused() {
        let found = problems(
            "rtt = '20 ms'\njitter = '1 ms'\nnetem = { delay = '1 ms' }\n[up]\nloss = { kind = 'none' }\n\
             [[down.schedule]]\nat = '1 s'\ndelay = '3 ms'",
        );
        assert_eq!(found.len(), 4, "{found:#?}");
        let found = problems("[netem]\njitter = '2 s'\nloss = { kind = 'bernoulli', p = '1 %', drop = [1] }");
        assert_eq!(found.len(), 2, "{found:#?}");
    }

    #[test]
    fn a_seed_of_the_cells_differs_by_direction() {
        let key = StreamKey::new([1; 32]);
        let netem = Netem::default();
        assert_ne!(netem.seed(&key, "up"), netem.seed(&key, "down"));
        assert_eq!(Netem { seed: Some(5), ..netem }.seed(&key, "up"), 5);
    }

    #[test]
    fn no_chance_is_no_loss() {
        let netem = Netem { loss: LossModel::Bernoulli { p: Share::ZERO }, ..Netem::default() };
        assert_eq!(netem.kernel_loss(), KernelLoss::None);
    }
}
