//! Nothing that comes from the network makes a machine panic or loses it its session.

use bench::End;
use bench::relay_core::settings::{FecAmount, FecKind};
use bench::relay_core::{Machine, Role, Settings};
use bench::units::Span;
use proptest::prelude::*;
use tests::trio::{Fate, Trio};

const STEP: Span = Span::from_millis(20);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_datagrams_are_dropped(
        datagrams in prop::collection::vec((0u8..3, 0u8..3, prop::collection::vec(any::<u8>(), 0..1500)), 1..40),
    ) {
        let ends = [End::Robot, End::Relay, End::Operator];
        let mut trio = Trio::joined(&Settings::default());
        for (from, to, bytes) in datagrams {
            trio.inject(ends[usize::from(from)], ends[usize::from(to)], &bytes);
        }
        trio.frame(0, 0, 20_000);
        trio.pose(0);
        trio.run_for(STEP);
        prop_assert_eq!(trio.delivered(0), [0]);
        prop_assert_eq!(trio.executed(), [0]);
    }

    #[test]
    fn damaged_datagrams_cost_no_more_than_themselves(
        seed: u64, every in 2u64..9, frames in 5u32..20,
    ) {
        let mut trio = Trio::joined(&Settings::default());
        let mut state = seed;
        trio.wire(move |_, _, bytes| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if !(state >> 33).is_multiple_of(every) {
                return Fate::Arrive;
            }
            let mut damaged = bytes.to_vec();
            // Somewhere in the tag, which covers the whole packet.
            let index = damaged.len() - 1 - (state >> 40) as usize % 16;
            damaged[index] ^= 1 << (state >> 60 & 7);
            Fate::Replace(damaged)
        });
        for number in 0..frames {
            trio.frame(0, number, 20_000);
            trio.pose(number);
            trio.run_for(STEP);
        }
        trio.wire(|_, _, _| Fate::Arrive);
        trio.run_for(Span::from_secs(2));
        // Loss that was just measured may make the relay skip one or two more.
        for number in frames..frames + 6 {
            trio.frame(0, number, 20_000);
            trio.pose(number);
            trio.run_for(Span::from_millis(500));
        }
        prop_assert!(trio.delivered(0).contains(&(frames + 5)));
        prop_assert_eq!(trio.executed().last().copied(), Some(frames + 5));
    }

    /// The null cipher does not protect payloads, so here the application's own decoders meet bytes that
    /// the transport accepted.
    #[test]
    fn malformed_messages_are_counted_and_dropped(
        offset in 1usize..60, flip in 1u8.., frames in 5u32..15, toward_relay: bool, window: bool,
    ) {
        let mut settings = Settings::default();
        if window {
            // Parity for every frame, so that there is some to damage.
            settings.fec.kind = FecKind::Window;
            settings.fec.amount = FecAmount::Fixed;
        }
        let mut trio = Trio::joined(&settings);
        trio.wire(move |from, to, bytes| {
            let hit = if toward_relay { to == End::Relay } else { from == End::Relay };
            // From the end of a packet: before the tag lies the payload of the application's message.
            if !hit || bytes.len() < 16 + offset + 30 {
                return Fate::Arrive;
            }
            let mut damaged = bytes.to_vec();
            // After the short header (1 + 4 + at most 4 bytes): frame type, length, message.
            let index = 9 + offset.min(damaged.len() - 26);
            damaged[index] ^= flip;
            Fate::Replace(damaged)
        });
        for number in 0..frames {
            trio.frame(0, number, 3_000);
            trio.pose(number);
            trio.run_for(STEP);
        }
        let now = trio.now;
        for role in [Role::Robot, Role::Operator] {
            let counters = trio.relay.snapshot(now, role).counters;
            prop_assert!(counters.malformed <= counters.packets_received);
        }
        let counters = trio.operator.snapshot(now, Role::Operator).counters;
        prop_assert!(counters.malformed <= counters.packets_received);
    }
}
