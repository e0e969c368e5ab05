//! From the resolved form back to the file form, with nothing left to a default.

use super::file::{
    ChangeFile, ClockKind, DirectionFile, JitterFile, LossFile, LossKind, ProfileFile, QueueFile,
    QueueKindFile, RateFile, RateKind, RateStepFile, unplaced,
};
use super::netem::netem_file;
use super::short::MaybeShort;
use super::types::{
    Change, CodelParameters, DirectionProfile, DualPi2Parameters, GilbertElliott, Jitter, Loss, LossClock,
    LossModel, Moves, Queue, QueueLimit, RateModel, RateStep,
};
use super::{Profile, QueueKind};

pub(super) fn to_file(profile: &Profile) -> ProfileFile {
    ProfileFile {
        description: Some(profile.description.clone()),
        up: Some(direction(&profile.up)),
        down: Some(direction(&profile.down)),
        ..ProfileFile::default()
    }
}

fn direction(profile: &DirectionProfile) -> DirectionFile {
    // A queue is refused where there is no rate for it to wait for.
    let rates = profile.schedule.iter().filter_map(|change| change.rate.as_ref());
    let limited = rates.chain([&profile.rate]).any(|rate| *rate != RateModel::Unlimited);
    let own = profile.netem.is_none();
    DirectionFile {
        delay: own.then(|| unplaced(profile.delay)),
        jitter: own.then(|| unplaced(jitter(profile.jitter))),
        loss: own.then(|| unplaced(loss(&profile.loss))),
        netem: profile.netem.as_ref().map(|n| unplaced(netem_file(n, loss_model(n.loss, Vec::new())))),
        rate: Some(unplaced(rate(&profile.rate))),
        rate_counts: Some(unplaced(profile.rate_counts)),
        queue: limited.then(|| unplaced(queue(profile.queue))),
        duplicate: Some(unplaced(profile.duplicate)),
        corrupt: Some(unplaced(profile.corrupt)),
        schedule: profile.schedule.iter().map(|entry| unplaced(change(entry))).collect(),
    }
}

fn change(change: &Change) -> ChangeFile {
    ChangeFile {
        at: unplaced(change.at),
        delay: change.delay.map(unplaced),
        jitter: change.jitter.map(|j| unplaced(jitter(j))),
        loss: change.loss.as_ref().map(|l| unplaced(loss(l))),
        rate: change.rate.as_ref().map(|r| unplaced(rate(r))),
        queue: change.queue.map(|q| unplaced(queue(q))),
        duplicate: change.duplicate.map(unplaced),
        corrupt: change.corrupt.map(unplaced),
        outage: change.outage.map(unplaced),
    }
}

fn jitter(jitter: Jitter) -> MaybeShort<JitterFile> {
    MaybeShort(JitterFile {
        sigma: Some(unplaced(jitter.sigma)),
        distribution: jitter.distribution,
        order: jitter.order,
    })
}

fn loss(loss: &Loss) -> LossFile {
    loss_model(loss.model, loss.drop.clone())
}

fn loss_model(model: LossModel, drop: Vec<u64>) -> LossFile {
    let of = |kind| LossFile { kind: Some(unplaced(kind)), drop, ..LossFile::default() };
    match model {
        LossModel::None => of(LossKind::None),
        LossModel::Bernoulli { p } => LossFile { p: Some(unplaced(p)), ..of(LossKind::Bernoulli) },
        LossModel::GilbertElliott(model) => gilbert_elliott(&model, of(LossKind::GilbertElliott)),
    }
}

fn gilbert_elliott(model: &GilbertElliott, file: LossFile) -> LossFile {
    let (clock, interval) = match model.clock {
        LossClock::Packet => (ClockKind::Packet, None),
        LossClock::Time { interval } => (ClockKind::Time, Some(unplaced(interval))),
    };
    let file = LossFile {
        loss_good: Some(unplaced(model.loss_good)),
        loss_bad: Some(unplaced(model.loss_bad)),
        clock: Some(unplaced(clock)),
        interval,
        ..file
    };
    match model.moves {
        Moves::MeanAndBurst { mean, burst } => {
            LossFile { mean: Some(unplaced(mean)), burst: Some(unplaced(burst)), ..file }
        }
        Moves::Chances { p, r } => LossFile { p: Some(unplaced(p)), r: Some(unplaced(r)), ..file },
    }
}

fn rate(rate: &RateModel) -> MaybeShort<RateFile> {
    MaybeShort(match rate {
        RateModel::Unlimited => RateFile::of(RateKind::Unlimited),
        RateModel::Constant(rate) => {
            RateFile { rate: Some(unplaced(*rate)), ..RateFile::of(RateKind::Constant) }
        }
        RateModel::Steps(steps) => {
            let steps =
                steps.iter().map(|RateStep { at, rate }| unplaced(RateStepFile { at: *at, rate: *rate }));
            RateFile { steps: steps.collect(), ..RateFile::of(RateKind::Steps) }
        }
        RateModel::Trace(trace) => {
            RateFile { content: Some(unplaced(trace.to_string())), ..RateFile::of(RateKind::Trace) }
        }
    })
}

fn queue(queue: Queue) -> QueueFile {
    let file = match queue.kind {
        QueueKind::DropTail => QueueFile::default(),
        QueueKind::Codel(CodelParameters { target, interval, ecn }) => QueueFile {
            kind: QueueKindFile::Codel,
            target: Some(unplaced(target)),
            interval: Some(unplaced(interval)),
            ecn: Some(unplaced(ecn)),
            ..QueueFile::default()
        },
        QueueKind::DualPi2(DualPi2Parameters { target, rtt_max }) => QueueFile {
            kind: QueueKindFile::DualPi2,
            target: Some(unplaced(target)),
            rtt_max: Some(unplaced(rtt_max)),
            ..QueueFile::default()
        },
    };
    match queue.limit {
        QueueLimit::Bytes(bytes) => QueueFile { bytes: Some(unplaced(bytes)), ..file },
        QueueLimit::Packets(packets) => QueueFile { packets: Some(unplaced(packets)), ..file },
        QueueLimit::Time(time) => QueueFile { time: Some(unplaced(time)), ..file },
    }
}
