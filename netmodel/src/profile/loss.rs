//! From the file form of a loss to its resolved form.

use std::ops::Range;

use toml::Spanned;
use units::{Share, Span};

use super::file::{ClockKind, LossFile, LossKind};
use super::resolve::Findings;
use super::types::{GilbertElliott, Loss, LossClock, LossModel, Moves};
use crate::document::Problem;

/// Resolves a loss; where something is wrong, it is none.
pub(super) fn resolve_loss(found: &mut Findings, file: &Spanned<LossFile>) -> Loss {
    let span = file.span();
    let file = file.get_ref();
    let kind = file.kind.as_ref().map(|kind| *kind.get_ref()).unwrap_or_default();
    let (name, takes): (&str, &[&str]) = match kind {
        LossKind::None => ("none", &[]),
        LossKind::Bernoulli => ("bernoulli", &["p"]),
        LossKind::GilbertElliott => {
            ("gilbert-elliott", &["mean", "burst", "p", "r", "loss_good", "loss_bad", "clock", "interval"])
        }
    };
    found.refuse(name, takes, &given(file));
    let place = file.kind.as_ref().map_or(span, Spanned::span);
    let model = match (kind, &file.p) {
        (LossKind::None, _) => LossModel::None,
        (LossKind::Bernoulli, Some(p)) => LossModel::Bernoulli { p: *p.get_ref() },
        (LossKind::Bernoulli, None) => {
            found.absent(Problem::new("`bernoulli` needs `p`").at(place.clone()));
            LossModel::None
        }
        (LossKind::GilbertElliott, _) => gilbert_elliott(found, file, place.clone()),
    };
    Loss { model, drop: drop_list(found, file, place) }
}

fn given(file: &LossFile) -> [(&'static str, Option<Range<usize>>); 8] {
    [
        ("p", file.p.as_ref().map(Spanned::span)),
        ("r", file.r.as_ref().map(Spanned::span)),
        ("mean", file.mean.as_ref().map(Spanned::span)),
        ("burst", file.burst.as_ref().map(Spanned::span)),
        ("loss_good", file.loss_good.as_ref().map(Spanned::span)),
        ("loss_bad", file.loss_bad.as_ref().map(Spanned::span)),
        ("clock", file.clock.as_ref().map(Spanned::span)),
        ("interval", file.interval.as_ref().map(Spanned::span)),
    ]
}

fn drop_list(found: &mut Findings, file: &LossFile, place: Range<usize>) -> Vec<u64> {
    let mut drop = file.drop.clone();
    drop.sort_unstable();
    drop.dedup();
    if drop.last().is_some_and(|last| *last > DROP_MAX) {
        found.wrong(Problem::new(format!("`drop` has a packet number above {DROP_MAX}")).at(place));
        return Vec::new();
    }
    drop
}

fn gilbert_elliott(found: &mut Findings, file: &LossFile, place: Range<usize>) -> LossModel {
    let Some(moves) = moves(found, file, place.clone()) else { return LossModel::None };
    let Some(clock) = clock(found, file, moves, place) else { return LossModel::None };
    let share = |given: &Option<Spanned<Share>>, default| given.as_ref().map_or(default, |s| *s.get_ref());
    LossModel::GilbertElliott(GilbertElliott {
        moves,
        loss_good: share(&file.loss_good, Share::ZERO),
        loss_bad: share(&file.loss_bad, Share::ALL),
        clock,
    })
}

fn moves(found: &mut Findings, file: &LossFile, place: Range<usize>) -> Option<Moves> {
    match (&file.mean, &file.burst, &file.p, &file.r) {
        (Some(mean), Some(burst), None, None) => mean_and_burst(found, mean, burst),
        (None, None, Some(p), Some(r)) => {
            if *r.get_ref() == Share::ZERO {
                found.wrong(Problem::new("`r` is zero: the bad state would never end").at(r.span()));
                return None;
            }
            Some(Moves::Chances { p: *p.get_ref(), r: *r.get_ref() })
        }
        (mean, burst, p, r) => {
            let problem = Problem::new("`gilbert-elliott` needs either `mean` and `burst`, or `p` and `r`");
            let problem = problem.at(place);
            let mixed = (mean.is_some() || burst.is_some()) && (p.is_some() || r.is_some());
            if mixed {
                found.wrong(problem);
            } else {
                found.absent(problem);
            }
            None
        }
    }
}

fn mean_and_burst(found: &mut Findings, mean: &Spanned<Share>, burst: &Spanned<f64>) -> Option<Moves> {
    let length = *burst.get_ref();
    if !(1.0..=BURST_MAX).contains(&length) {
        let problem = Problem::new(format!("`burst` is not between 1 and {BURST_MAX} packets"));
        found.wrong(problem.at(burst.span()));
        return None;
    }
    // The chain cannot leave the good state more than once a packet.
    if mean.get_ref().as_f64() > length / (1.0 + length) {
        let most = Share::from_f64(length / (1.0 + length));
        let problem = Problem::new(format!("`mean` cannot be above {most} with this `burst`"));
        found.wrong(problem.at(mean.span()).help("make `burst` longer"));
        return None;
    }
    Some(Moves::MeanAndBurst { mean: *mean.get_ref(), burst: length })
}

fn clock(found: &mut Findings, file: &LossFile, moves: Moves, place: Range<usize>) -> Option<LossClock> {
    let kind = file.clock.as_ref().map(|clock| *clock.get_ref()).unwrap_or_default();
    match (kind, &file.interval) {
        (ClockKind::Packet, None) => Some(LossClock::Packet),
        (ClockKind::Packet, Some(interval)) => {
            let problem = Problem::new("`interval` does not belong to the `packet` clock");
            found.wrong(problem.at(interval.span()).help("set `clock = \"time\"`, or leave it out"));
            None
        }
        (ClockKind::Time, None) => {
            let problem = Problem::new("the `time` clock needs `interval`, the reference spacing of packets");
            found.absent(problem.at(file.clock.as_ref().map_or(place, Spanned::span)));
            None
        }
        (ClockKind::Time, Some(interval)) => {
            if *interval.get_ref() < INTERVAL_MIN || *interval.get_ref() > INTERVAL_MAX {
                let message = format!("`interval` is not between {INTERVAL_MIN} and {INTERVAL_MAX}");
                found.wrong(Problem::new(message).at(interval.span()));
                return None;
            }
            let (p, r) = moves.chances();
            if p + r >= 1.0 {
                let message = "the states change too often for the `time` clock: p + r must be below 100 %";
                let problem = Problem::new(message).at(file.clock.as_ref().map_or(place, Spanned::span));
                found.wrong(problem.help("make `burst` longer, or use `bernoulli`"));
                return None;
            }
            Some(LossClock::Time { interval: *interval.get_ref() })
        }
    }
}

/// The largest integer that TOML must be able to hold.
const DROP_MAX: u64 = i64::MAX as u64;
const BURST_MAX: f64 = 1e6;
/// Bounds how often the states change in a simulated second.
const INTERVAL_MIN: Span = Span::from_micros(10);
const INTERVAL_MAX: Span = Span::from_secs(600);
