//! From the file form to the resolved form, with every problem that the types do not rule out.

use std::ops::Range;

use toml::Spanned;
use units::{Size, Span};

use super::Profile;
use super::file::{
    ChangeFile, DirectionFile, JitterFile, ProfileFile, QueueFile, QueueKindFile, RateFile, RateKind,
    RateStepFile,
};
use super::loss::resolve_loss;
use super::netem::resolve_netem;
use super::short::MaybeShort;
use super::types::{
    Change, CodelParameters, DirectionProfile, DualPi2Parameters, Jitter, Loss, Queue, QueueKind, QueueLimit,
    RateModel, RateStep,
};
use crate::document::{Problem, list};
use crate::trace::Trace;

/// A problem, and whether it is that something is not there.
pub(super) struct Found {
    pub(super) problem: Problem,
    pub(super) absent: bool,
}

/// What was found so far.
#[derive(Default)]
pub(super) struct Findings(Vec<Found>);

impl Findings {
    pub(super) fn wrong(&mut self, problem: Problem) {
        self.add(Found { problem, absent: false });
    }

    pub(super) fn absent(&mut self, problem: Problem) {
        self.add(Found { problem, absent: true });
    }

    /// A key that both directions share is looked at twice; its problem counts once.
    fn add(&mut self, found: Found) {
        if !self.0.iter().any(|f| f.problem == found.problem) {
            self.0.push(found);
        }
    }

    /// Notes each of the given parameters that a kind does not take.
    pub(super) fn refuse(&mut self, kind: &str, takes: &[&str], given: &[(&str, Option<Range<usize>>)]) {
        for (name, span) in given {
            if let Some(span) = span
                && !takes.contains(name)
            {
                let help = match takes {
                    [] => format!("`{kind}` takes no parameters"),
                    _ => format!("`{kind}` takes {}", list(takes)),
                };
                self.wrong(
                    Problem::new(format!("`{name}` does not belong to `{kind}`")).at(span.clone()).help(help),
                );
            }
        }
    }
}

type Load<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Resolves a file; where something is wrong, a default stands in its place.
pub(super) fn resolve(name: &str, file: &ProfileFile, load: Load<'_>) -> (Profile, Vec<Found>) {
    let mut found = Findings::default();
    let own = DirectionFile::default();
    let files = [file.up.as_ref().unwrap_or(&own), file.down.as_ref().unwrap_or(&own)];
    if let Some(rtt) = &file.rtt {
        check_at_most(&mut found, "rtt", rtt, DELAY_MAX);
        for delay in [&file.delay, &files[0].delay, &files[1].delay].into_iter().flatten() {
            let problem = Problem::new("`delay` and `rtt` both say what the delay is").at(delay.span());
            found.wrong(problem.help("keep one: `rtt` is halved into both directions"));
        }
    }
    let rtt = file.rtt.as_ref().map_or(Span::ZERO, |rtt| *rtt.get_ref());
    let halves = [rtt / 2, rtt - rtt / 2];
    let netems = files.map(|own| resolve_netem(&mut found, file, own));
    let merged = files.map(|own| merge(file, own));
    let delays = [0, 1].map(|i| match netems[i] {
        Some(netem) => netem.delay,
        None => merged[i].delay.as_ref().map_or(halves[i], |delay| *delay.get_ref()),
    });
    let around = delays[0] + delays[1];
    let [up, down] = [0, 1].map(|i| {
        let resolver = &mut Resolver { found: &mut found, load, around };
        DirectionProfile { netem: netems[i], ..resolver.direction(&merged[i], delays[i]) }
    });
    check_queues_have_rates(&mut found, &merged);
    let description = file.description.clone().unwrap_or_default();
    (Profile { name: name.to_owned(), description, up, down }, found.0)
}

/// The keys of one direction: its own, or the shared ones. Netem takes the place of delay, jitter and loss.
fn merge(shared: &ProfileFile, own: &DirectionFile) -> DirectionFile {
    let netem = own.netem.is_some() || shared.netem.is_some();
    DirectionFile {
        delay: own.delay.clone().or_else(|| shared.delay.clone()).filter(|_| !netem),
        jitter: own.jitter.clone().or_else(|| shared.jitter.clone()).filter(|_| !netem),
        loss: own.loss.clone().or_else(|| shared.loss.clone()).filter(|_| !netem),
        netem: None,
        rate: own.rate.clone().or_else(|| shared.rate.clone()),
        rate_counts: own.rate_counts.clone().or_else(|| shared.rate_counts.clone()),
        queue: own.queue.clone().or_else(|| shared.queue.clone()),
        duplicate: own.duplicate.clone().or_else(|| shared.duplicate.clone()),
        corrupt: own.corrupt.clone().or_else(|| shared.corrupt.clone()),
        schedule: if own.schedule.is_empty() { shared.schedule.clone() } else { own.schedule.clone() },
    }
}

/// A queue waits for a rate: one that no direction has a rate for is a mistake. A rate that is
/// stated and of no use has a problem of its own.
fn check_queues_have_rates(found: &mut Findings, files: &[DirectionFile; 2]) {
    let limited = files.each_ref().map(|file| {
        let rates = file.schedule.iter().filter_map(|change| change.get_ref().rate.as_ref());
        rates.chain(&file.rate).any(|rate| *rate.get_ref().0.kind.get_ref() != RateKind::Unlimited)
    });
    let queues = |file: &DirectionFile| -> Vec<Range<usize>> {
        let scheduled = file.schedule.iter().filter_map(|change| change.get_ref().queue.as_ref());
        scheduled.chain(&file.queue).map(Spanned::span).collect()
    };
    let queues = [queues(&files[0]), queues(&files[1])];
    for span in queues.iter().flatten() {
        if !(0..2).any(|i| limited[i] && queues[i].contains(span)) {
            let problem = Problem::new("a queue needs a rate to wait for").at(span.clone());
            found.absent(problem.help("state a `rate`, for example \"2.5 Mbit/s\", or leave the queue out"));
        }
    }
}

struct Resolver<'a> {
    found: &'a mut Findings,
    load: Load<'a>,
    around: Span,
}

impl Resolver<'_> {
    fn direction(&mut self, file: &DirectionFile, delay: Span) -> DirectionProfile {
        if let Some(delay) = &file.delay {
            check_at_most(self.found, "delay", delay, DELAY_MAX);
        }
        let rate = file.rate.as_ref().map(|rate| self.rate(rate, false)).unwrap_or_default();
        let mut profile = DirectionProfile {
            delay,
            jitter: file.jitter.as_ref().map(|j| self.jitter(j)).unwrap_or_default(),
            loss: file.loss.as_ref().map(|l| resolve_loss(self.found, l)).unwrap_or_default(),
            netem: None,
            rate_counts: file.rate_counts.as_ref().map(|counts| *counts.get_ref()).unwrap_or_default(),
            queue: file.queue.as_ref().map(|q| self.queue(q, &rate)).unwrap_or_default(),
            rate,
            duplicate: file.duplicate.as_ref().map(|share| *share.get_ref()).unwrap_or_default(),
            corrupt: file.corrupt.as_ref().map(|share| *share.get_ref()).unwrap_or_default(),
            schedule: Vec::new(),
        };
        profile.schedule = self.schedule(&file.schedule, &profile.rate);
        profile
    }

    fn schedule(&mut self, entries: &[Spanned<ChangeFile>], rate: &RateModel) -> Vec<Change> {
        let mut rate = rate.clone();
        let mut last = Span::ZERO;
        let mut changes = Vec::with_capacity(entries.len());
        for entry in entries {
            let change = self.change(entry.get_ref(), &mut rate);
            if change.at < last {
                let problem = Problem::new("the schedule is not in order of time");
                self.found.wrong(problem.at(entry.get_ref().at.span()).help("move this entry up"));
            }
            if change == (Change { at: change.at, ..Change::default() }) {
                let problem = Problem::new("this entry of the schedule changes nothing").at(entry.span());
                self.found.absent(problem.help("state a key besides `at`, for example `outage = \"2 s\"`"));
            }
            last = last.max(change.at);
            changes.push(change);
        }
        changes
    }

    fn change(&mut self, file: &ChangeFile, rate: &mut RateModel) -> Change {
        check_at_most(self.found, "at", &file.at, AT_MAX);
        if let Some(delay) = &file.delay {
            check_at_most(self.found, "delay", delay, DELAY_MAX);
        }
        if let Some(outage) = &file.outage {
            check_above_zero(self.found, "outage", outage.get_ref().is_zero(), outage.span());
        }
        let new_rate = file.rate.as_ref().map(|rate| self.rate(rate, true));
        if let Some(new_rate) = &new_rate {
            rate.clone_from(new_rate);
        }
        Change {
            at: *file.at.get_ref(),
            delay: file.delay.as_ref().map(|delay| *delay.get_ref()),
            jitter: file.jitter.as_ref().map(|j| self.jitter(j)),
            loss: file.loss.as_ref().map(|l| -> Loss { resolve_loss(self.found, l) }),
            queue: file.queue.as_ref().map(|q| self.queue(q, rate)),
            rate: new_rate,
            duplicate: file.duplicate.as_ref().map(|share| *share.get_ref()),
            corrupt: file.corrupt.as_ref().map(|share| *share.get_ref()),
            outage: file.outage.as_ref().map(|outage| *outage.get_ref()),
        }
    }

    fn jitter(&mut self, file: &Spanned<MaybeShort<JitterFile>>) -> Jitter {
        let JitterFile { sigma, distribution, order } = &file.get_ref().0;
        let sigma = sigma.as_ref().map_or(Span::ZERO, |sigma| {
            // A short form has no place of its own.
            let span = if sigma.span().is_empty() { file.span() } else { sigma.span() };
            check_at_most(self.found, "sigma", &Spanned::new(span, *sigma.get_ref()), DELAY_MAX);
            *sigma.get_ref()
        });
        Jitter { sigma, distribution: *distribution, order: *order }
    }

    /// `may_stop`: a rate of zero for good is meant in a schedule, and a mistake elsewhere.
    fn rate(&mut self, file: &Spanned<MaybeShort<RateFile>>, may_stop: bool) -> RateModel {
        let span = file.span();
        let file = &file.get_ref().0;
        let kind = *file.kind.get_ref();
        let (name, takes): (&str, &[&str]) = match kind {
            RateKind::Unlimited => ("unlimited", &[]),
            RateKind::Constant => ("constant", &["rate"]),
            RateKind::Steps => ("steps", &["steps"]),
            RateKind::Trace => ("trace", &["path", "content"]),
        };
        let given = [
            ("rate", file.rate.as_ref().map(Spanned::span)),
            ("steps", file.steps.first().map(Spanned::span)),
            ("path", file.path.as_ref().map(Spanned::span)),
            ("content", file.content.as_ref().map(Spanned::span)),
        ];
        self.found.refuse(name, takes, &given);
        match kind {
            RateKind::Unlimited => RateModel::Unlimited,
            RateKind::Constant => {
                let Some(rate) = &file.rate else {
                    self.found.absent(Problem::new("a `constant` rate needs `rate`").at(span));
                    return RateModel::Unlimited;
                };
                let zero = rate.get_ref().as_bits_per_sec() == 0 && !may_stop;
                let place = if rate.span().is_empty() { span } else { rate.span() };
                check_above_zero(self.found, "rate", zero, place);
                RateModel::Constant(*rate.get_ref())
            }
            RateKind::Steps => self.steps(&file.steps, span),
            RateKind::Trace => self.trace(file, span),
        }
    }

    fn steps(&mut self, steps: &[Spanned<RateStepFile>], span: Range<usize>) -> RateModel {
        let Some(first) = steps.first() else {
            self.found.absent(Problem::new("a rate in `steps` needs at least one step").at(span));
            return RateModel::Unlimited;
        };
        if !first.get_ref().at.is_zero() {
            let problem = Problem::new("the first step of a rate is not at the start").at(first.span());
            self.found.wrong(problem.help("give it `at = \"0 s\"`"));
        }
        for pair in steps.windows(2) {
            if pair[1].get_ref().at <= pair[0].get_ref().at {
                let problem = Problem::new("the steps of a rate are not in order of time");
                self.found.wrong(problem.at(pair[1].span()));
            }
        }
        for step in steps {
            check_at_most(self.found, "at", &Spanned::new(step.span(), step.get_ref().at), AT_MAX);
        }
        let steps = steps.iter().map(|s| RateStep { at: s.get_ref().at, rate: s.get_ref().rate });
        RateModel::Steps(steps.collect())
    }

    fn trace(&mut self, file: &RateFile, span: Range<usize>) -> RateModel {
        let loaded;
        let (text, place) = match (&file.path, &file.content) {
            (Some(path), None) => {
                let Some(text) = (self.load)(path.get_ref()) else {
                    let message = format!("there is no trace file `{}`", path.get_ref());
                    self.found.wrong(Problem::new(message).at(path.span()));
                    return RateModel::Unlimited;
                };
                loaded = text;
                (&loaded, path.span())
            }
            (None, Some(content)) => (content.get_ref(), content.span()),
            (None, None) => {
                self.found.absent(Problem::new("a rate by `trace` needs `path` or `content`").at(span));
                return RateModel::Unlimited;
            }
            (Some(_), Some(content)) => {
                let problem = Problem::new("`path` and `content` both say what the trace is");
                self.found.wrong(problem.at(content.span()).help("keep one"));
                return RateModel::Unlimited;
            }
        };
        match Trace::parse(text) {
            Ok(trace) => RateModel::Trace(trace),
            Err(error) => {
                self.found.wrong(Problem::new(error.to_string()).at(place));
                RateModel::Unlimited
            }
        }
    }

    fn queue(&mut self, file: &Spanned<QueueFile>, rate: &RateModel) -> Queue {
        let QueueFile { bytes, packets, time, bdp, .. } = file.get_ref();
        let mut limits = Vec::new();
        if let Some(bytes) = bytes {
            let low = *bytes.get_ref() < FULL_PACKET;
            self.check(!low, "`bytes` is less than one packet of 1500 B", bytes.span());
            limits.push(QueueLimit::Bytes(*bytes.get_ref()));
        }
        if let Some(packets) = packets {
            let fits = (1..=PACKETS_MAX).contains(packets.get_ref());
            self.check(fits, "`packets` is not between 1 and 1000000000", packets.span());
            limits.push(QueueLimit::Packets(*packets.get_ref()));
        }
        if let Some(time) = time {
            check_above_zero(self.found, "time", time.get_ref().is_zero(), time.span());
            limits.push(QueueLimit::Time(*time.get_ref()));
        }
        if let Some(bdp) = bdp {
            let fits = *bdp.get_ref() > 0.0 && *bdp.get_ref() <= BDP_MAX;
            self.check(fits, "`bdp` is not above 0 and at most 1000", bdp.span());
            limits.push(QueueLimit::Bytes(self.bdp_bytes(*bdp.get_ref(), rate)));
        }
        let limit = if let [limit] = limits[..] {
            limit
        } else {
            let problem = Problem::new("a queue needs exactly one of `bytes`, `packets`, `time` and `bdp`");
            let problem = problem.at(file.span());
            if limits.is_empty() {
                self.found.absent(problem);
            } else {
                self.found.wrong(problem);
            }
            QueueLimit::default()
        };
        Queue { kind: self.queue_kind(file.get_ref()), limit }
    }

    fn queue_kind(&mut self, file: &QueueFile) -> QueueKind {
        let (name, takes): (&str, &[&str]) = match file.kind {
            QueueKindFile::DropTail => ("drop-tail", &[]),
            QueueKindFile::Codel => ("codel", &["target", "interval", "ecn"]),
            QueueKindFile::DualPi2 => ("dualpi2", &["target", "rtt_max"]),
        };
        let given = [
            ("target", file.target.as_ref().map(Spanned::span)),
            ("interval", file.interval.as_ref().map(Spanned::span)),
            ("ecn", file.ecn.as_ref().map(Spanned::span)),
            ("rtt_max", file.rtt_max.as_ref().map(Spanned::span)),
        ];
        self.found.refuse(name, takes, &given);
        let spans = [("target", &file.target), ("interval", &file.interval), ("rtt_max", &file.rtt_max)];
        for (name, value) in spans {
            if let Some(value) = value {
                check_above_zero(self.found, name, value.get_ref().is_zero(), value.span());
                check_at_most(self.found, name, value, DELAY_MAX);
            }
        }
        let or =
            |value: &Option<Spanned<Span>>, default: Span| value.as_ref().map_or(default, |v| *v.get_ref());
        match file.kind {
            QueueKindFile::DropTail => QueueKind::DropTail,
            QueueKindFile::Codel => {
                let default = CodelParameters::default();
                QueueKind::Codel(CodelParameters {
                    target: or(&file.target, default.target),
                    interval: or(&file.interval, default.interval),
                    ecn: file.ecn.as_ref().map_or(default.ecn, |ecn| *ecn.get_ref()),
                })
            }
            QueueKindFile::DualPi2 => {
                let default = DualPi2Parameters::default();
                QueueKind::DualPi2(DualPi2Parameters {
                    target: or(&file.target, default.target),
                    rtt_max: or(&file.rtt_max, default.rtt_max),
                })
            }
        }
    }

    fn bdp_bytes(&self, ratio: f64, rate: &RateModel) -> Size {
        let rate = match rate {
            RateModel::Unlimited => return FULL_PACKET,
            RateModel::Constant(rate) => *rate,
            RateModel::Steps(steps) => steps[0].rate,
            RateModel::Trace(trace) => trace.mean_rate(),
        };
        let bytes = (rate.bytes_in(self.around).as_bytes() as f64 * ratio).round() as u64;
        Size::from_bytes(bytes).max(FULL_PACKET)
    }

    fn check(&mut self, fits: bool, message: &str, span: Range<usize>) {
        if !fits {
            self.found.wrong(Problem::new(message).at(span));
        }
    }
}

fn check_at_most(found: &mut Findings, name: &str, value: &Spanned<Span>, most: Span) {
    if *value.get_ref() > most {
        found.wrong(Problem::new(format!("`{name}` is more than {most}")).at(value.span()));
    }
}

fn check_above_zero(found: &mut Findings, name: &str, zero: bool, span: Range<usize>) {
    if zero {
        found.wrong(Problem::new(format!("`{name}` is zero; it must be above")).at(span));
    }
}

/// Longer than any delay that is a link's; it keeps sums of times far from their end.
const DELAY_MAX: Span = Span::from_secs(600);
/// Longer than any cell.
const AT_MAX: Span = Span::from_secs(7 * 24 * 3600);
const FULL_PACKET: Size = Size::from_bytes(1500);
const PACKETS_MAX: u64 = 1_000_000_000;
const BDP_MAX: f64 = 1000.0;
