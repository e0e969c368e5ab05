//! No link at all: the two ends of a hop are the ends of one virtual cable.

use netmodel::units::Share;
use netmodel::{DirectionProfile, LinkCounters};

use super::error::{LinkError, Unsupported};
use super::plan::{LINKS, LinkPlan};
use super::report::LinkReport;
use super::{LinkBackend, PacketSink, RunningLink};
use crate::net::{Middle, Topology};

/// A cable: nothing is lost or late, and nothing is known of any packet.
#[derive(Debug, Clone, Copy)]
pub struct NoLink;

impl LinkBackend for NoLink {
    fn name(&self) -> &'static str {
        "none"
    }

    fn middle(&self) -> Middle {
        Middle::Direct
    }

    fn refusals(&self, plan: &LinkPlan) -> Vec<Unsupported> {
        let why = "there is no link";
        let at = |place| {
            let stages = stages(plan.profile(place));
            stages.into_iter().map(move |stage| Unsupported {
                hop: place.hop,
                direction: place.direction,
                stage,
                why,
            })
        };
        LINKS.into_iter().flat_map(at).collect()
    }

    fn start(
        &self,
        topology: &Topology,
        plan: &LinkPlan,
        _: Box<dyn PacketSink>,
    ) -> Result<Box<dyn RunningLink>, LinkError> {
        let refused = self.refusals(plan);
        if !refused.is_empty() {
            return Err(LinkError::Unsupported { backend: self.name(), refused });
        }
        if topology.kind() != self.middle() {
            return Err(LinkError::WrongTopology { backend: self.name() });
        }
        Ok(Box::new(Cable))
    }
}

/// The keys of a profile that do something.
fn stages(profile: &DirectionProfile) -> Vec<&'static str> {
    let perfect = DirectionProfile::default();
    let keys = [
        ("delay", profile.delay != perfect.delay),
        ("jitter", !profile.jitter.sigma.is_zero()),
        ("loss", profile.loss != perfect.loss),
        ("rate", profile.rate != perfect.rate),
        ("duplicate", profile.duplicate != Share::ZERO),
        ("corrupt", profile.corrupt != Share::ZERO),
        ("schedule", !profile.schedule.is_empty()),
    ];
    keys.into_iter().filter_map(|(key, does)| does.then_some(key)).collect()
}

struct Cable;

impl RunningLink for Cable {
    fn counters(&self) -> [LinkCounters; 4] {
        Default::default()
    }

    fn stop(self: Box<Self>) -> Result<LinkReport, LinkError> {
        Ok(LinkReport { backend: "none", ..LinkReport::default() })
    }
}
