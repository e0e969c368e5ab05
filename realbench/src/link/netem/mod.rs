//! The link by the kernel: a token bucket for the queue at a rate, and netem behind it for loss and delay.

mod message;
mod refusals;

use std::time::Instant;

use bench::Direction;
use futures_util::StreamExt;
use netmodel::profile::{Distribution, Netem, QueueLimit, RateCounts, RateModel};
use netmodel::units::Span;
use netmodel::{DirectionProfile, LinkCounters};
use rtnetlink::Handle;
use rtnetlink::packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload, Nla,
};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};

use super::error::{LinkError, Unsupported};
use super::plan::{LINKS, LinkPlan, Place};
use super::report::LinkReport;
use super::{LinkBackend, PacketSink, RunningLink};
use crate::net::{Cable, Middle, Namespace, NetError, PORTS, Topology, index_of, netlink};
use message::{Discipline, NetemOptions, bucket_bytes, packet_queue, seed_of, token_bucket};

/// The link by kernel netem, where the kernel has it. A profile's `netem` gives each packet the same fate as the
/// model, if the kernel honours the seed (6.6 and later); nothing is told of single packets.
#[derive(Debug, Clone, Copy)]
pub struct NetemLink;

impl LinkBackend for NetemLink {
    fn name(&self) -> &'static str {
        NAME
    }

    fn middle(&self) -> Middle {
        Middle::Bridged
    }

    fn refusals(&self, plan: &LinkPlan) -> Vec<Unsupported> {
        LINKS.into_iter().flat_map(|place| refusals::of(place, plan.profile(place))).collect()
    }

    fn start(
        &self,
        topology: &Topology,
        plan: &LinkPlan,
        _: Box<dyn PacketSink>,
    ) -> Result<Box<dyn RunningLink>, LinkError> {
        let refused = self.refusals(plan);
        if !refused.is_empty() {
            return Err(LinkError::Unsupported { backend: NAME, refused });
        }
        if topology.kind() != self.middle() {
            return Err(LinkError::WrongTopology { backend: NAME });
        }
        let mut notes = vec!["the kernel tells nothing of single packets".to_owned()];
        topology.middle().run(|| {
            netlink(async |mut handle| {
                for place in LINKS {
                    notes.extend(direction(&mut handle, plan, place).await?);
                }
                Ok(())
            })
        })?;
        #[expect(clippy::disallowed_methods, reason = "the kernel's link runs by the real clock")]
        let began = Instant::now();
        Ok(Box::new(Running { began, notes }))
    }
}

/// Whether this kernel has netem: tried on a device of a namespace that is gone afterwards.
///
/// # Errors
///
/// Why not: `ENOENT` if the kernel has none.
pub fn probe() -> Result<(), NetError> {
    Namespace::new()?.run(|| {
        netlink(async |mut handle| {
            let options = NetemOptions {
                delay: Span::ZERO,
                jitter_ns: 0,
                loss: netmodel::profile::KernelLoss::None,
                seed: 1,
            };
            set(&mut handle, "lo", ROOT, &options.discipline()).await
        })
    })
}

/// By how much a packet may leave before its time: an idle token bucket is full, and lets through what it holds.
pub(crate) fn ahead_max(profile: &DirectionProfile) -> Span {
    let RateModel::Constant(rate) = profile.rate else { return Span::ZERO };
    let bytes_per_s = (rate.as_bits_per_sec() / 8).max(1);
    Span::from_nanos((u64::from(bucket_bytes(bytes_per_s)) * 1_000_000_000).div_ceil(bytes_per_s))
}

/// Sets up one direction of a hop; gives notes for people.
async fn direction(handle: &mut Handle, plan: &LinkPlan, place: Place) -> Result<Option<String>, NetError> {
    let profile = plan.profile(place);
    let sender = PORTS.iter().find(|port| port.hop == place.hop && port.direction() == place.direction);
    let sender = sender.expect("every direction has a sender");
    let cable = Cable::of(sender);
    let first = if place.direction == Direction::Up { cable.near } else { cable.far };
    if let RateModel::Constant(rate) = profile.rate {
        let bytes_per_s = rate.as_bits_per_sec() / 8;
        let limit = match profile.queue.limit {
            QueueLimit::Bytes(bytes) => bytes.as_bytes(),
            QueueLimit::Time(time) => rate.bytes_in(time).as_bytes(),
            QueueLimit::Packets(packets) => packets.saturating_mul(1 << 11),
        };
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let (overhead, least) = match profile.rate_counts {
            RateCounts::Ip => (-14, 0),
            RateCounts::Ethernet => (24, 84),
        };
        set(handle, &first, ROOT, &token_bucket(bytes_per_s, limit, overhead, least)).await?;
        if let QueueLimit::Packets(packets) = profile.queue.limit {
            let packets = u32::try_from(packets).unwrap_or(u32::MAX);
            set(handle, &first, INNER, &packet_queue(packets)).await?;
        }
    }
    let last = sender.other().middle_device;
    let options = options(plan, place);
    set(handle, last, ROOT, &options.discipline()).await?;
    let told = seed(handle, last).await?;
    Ok((told != Some(options.seed)).then(|| {
        format!("{}: the kernel does not take netem's seed, so that packets meet other fates", place.label())
    }))
}

/// Loss and delay of a direction in the kernel's numbers.
fn options(plan: &LinkPlan, place: Place) -> NetemOptions {
    let profile = plan.profile(place);
    let netem = profile.netem.unwrap_or_else(|| {
        // What `refusals` lets through: uniform jitter of a standard deviation, which is half its width by √3.
        debug_assert!(profile.jitter.sigma.is_zero() || profile.jitter.distribution == Distribution::Uniform);
        let jitter = (profile.jitter.sigma.as_nanos() as f64 * 3f64.sqrt()).round() as u64;
        Netem { seed: None, delay: profile.delay, jitter: Span::from_nanos(jitter), loss: profile.loss.model }
    });
    NetemOptions {
        delay: netem.delay,
        jitter_ns: netem.jitter_ns(),
        loss: netem.kernel_loss(),
        seed: netem.seed(&plan.key, place.label()),
    }
}

/// Sets `discipline` on `device`, at a place in its tree.
async fn set(
    handle: &mut Handle,
    device: &str,
    (parent, own): (TcHandle, TcHandle),
    discipline: &Discipline,
) -> Result<(), NetError> {
    let failed = |error| NetError::netlink(format!("set {} on {device}", discipline.kind), error);
    let mut message = TcMessage::with_index(index_of(device)? as i32);
    message.header.parent = parent;
    message.header.handle = own;
    message.attributes.push(TcAttribute::Kind(discipline.kind.to_owned()));
    let options = DefaultNla::new(TCA_OPTIONS, discipline.options.clone());
    message.attributes.push(TcAttribute::Other(options));
    if let Some(table) = &discipline.size_table {
        message.attributes.push(TcAttribute::Stab(table.clone()));
    }
    let mut request = NetlinkMessage::from(RouteNetlinkMessage::NewQueueDiscipline(message));
    request.header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    let mut answers = handle.request(request).map_err(failed)?;
    while let Some(answer) = answers.next().await {
        if let NetlinkPayload::Error(error) = answer.payload {
            if error.raw_code().abs() == libc::ENOENT {
                return Err(NetError::NoDiscipline { kind: discipline.kind });
            }
            return Err(failed(rtnetlink::Error::NetlinkError(error)));
        }
    }
    Ok(())
}

/// The seed that netem on `device` has.
async fn seed(handle: &Handle, device: &str) -> Result<Option<u64>, NetError> {
    let index = index_of(device)? as i32;
    let mut found = handle.qdisc().get().index(index).execute().boxed_local();
    let mut seed = None;
    while let Some(message) = found.next().await {
        let message = message.map_err(|error| NetError::netlink(format!("read netem of {device}"), error))?;
        if message.header.index != index {
            continue;
        }
        for attribute in &message.attributes {
            if let TcAttribute::Options(options) = attribute
                && let Some(TcOption::Other(options)) = options.first()
            {
                let mut bytes = vec![0; options.value_len()];
                options.emit_value(&mut bytes);
                seed = seed.or(seed_of(&bytes));
            }
        }
    }
    Ok(seed)
}

struct Running {
    began: Instant,
    notes: Vec<String>,
}

impl RunningLink for Running {
    fn counters(&self) -> [LinkCounters; 4] {
        Default::default()
    }

    fn stop(self: Box<Self>) -> Result<LinkReport, LinkError> {
        Ok(LinkReport {
            backend: NAME,
            wall: self.began.elapsed(),
            notes: self.notes,
            ..LinkReport::default()
        })
    }
}

const NAME: &str = "netem";
const TCA_OPTIONS: u16 = 2;
/// Parent and handle of a device's own discipline.
const ROOT: (TcHandle, TcHandle) = (TcHandle::ROOT, TcHandle { major: 1, minor: 0 });
/// And of what a token bucket keeps its packets in.
const INNER: (TcHandle, TcHandle) = (TcHandle { major: 1, minor: 1 }, TcHandle { major: 2, minor: 0 });
