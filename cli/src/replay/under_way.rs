//! What the packets carry that a link has taken and that have not come out: for whoever hears of a packet's drop
//! in a queue, where nothing but its number is told.

use std::collections::BTreeMap;

use bench::netmodel::Verdict;
use bench::relay_core::Carried;
use sim::tap::{Arrived, Dropped, Sent};
use units::{Span, Time};

use super::packets::link_index;

/// Packets under way on the four links: as many as the links themselves hold.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    links: [BTreeMap<u64, (Time, Carried)>; 4],
}

impl UnderWay {
    /// A packet was sent.
    pub(crate) fn sent(&mut self, now: Time, packet: &Sent<'_>) {
        if packet.verdict == Verdict::Accepted {
            let link = link_index(packet.id.hop, packet.id.direction);
            self.links[link].insert(packet.id.number, (now, packet.carries));
        }
    }

    /// A packet came out.
    pub(crate) fn arrived(&mut self, packet: &Arrived<'_>) {
        self.links[link_index(packet.id.hop, packet.id.direction)].remove(&packet.id.number);
    }

    /// A packet was dropped in its queue: how long it had been there, and what it carried.
    pub(crate) fn dropped(&mut self, now: Time, packet: &Dropped<'_>) -> Option<(Span, Carried)> {
        let link = &mut self.links[link_index(packet.id.hop, packet.id.direction)];
        link.remove(&packet.id.number).map(|(sent, carries)| (now.since(sent), carries))
    }
}
