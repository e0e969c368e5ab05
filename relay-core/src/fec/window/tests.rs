//! The sliding window from end to end: whatever is lost, repeated, late or false.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use units::Time;

use super::decoder::{EQUATIONS_MAX, SOURCES_KEPT};
use super::*;
use crate::event::{Camera, FrameId};
use crate::wire::{FrameShape, VideoHeader, WindowParity};

#[derive(Debug, Clone)]
enum Packet {
    Source(VideoHeader, Bytes),
    Parity(WindowParity, Bytes),
}

/// Frames of these sizes, each with this many parity packets after it, over a window of `window`.
fn packets(window: u32, frames: &[(u32, u8)]) -> Vec<Packet> {
    let mut encoder = WindowEncoder::new(window);
    let mut packets = Vec::new();
    for (number, (frame_bytes, parity)) in (0..).zip(frames) {
        let shape = FrameShape::cut(*frame_bytes, FRAGMENT_BYTES).expect("in range");
        for index in 0..shape.count {
            let source = encoder.next_source();
            let frame = FrameId { camera: Camera((number % 3) as u8), number };
            let header = VideoHeader { seq: 0, frame, index, shape, parity: 0, source: Some(source) };
            let mut state = source.wrapping_mul(2_654_435_761) | 1;
            let payload: Bytes = (0..header.payload_bytes())
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 24) as u8
                })
                .collect();
            encoder.push(header, payload.clone());
            packets.push(Packet::Source(header, payload));
        }
        encoder.owe(Time::ZERO, *parity);
        while let Some((parity, symbol)) = encoder.pop(FRAGMENT_BYTES) {
            let mut out = BytesMut::new();
            symbol.write(&mut out);
            packets.push(Packet::Parity(parity, out.freeze()));
        }
    }
    packets
}

const FRAGMENT_BYTES: usize = 40;

fn feed(decoder: &mut WindowDecoder, packet: &Packet) {
    match packet {
        Packet::Source(header, payload) => {
            decoder.insert_source(header.source.expect("a source"), header, payload);
        }
        Packet::Parity(parity, symbol) => decoder.insert_parity(parity, symbol),
    }
}

fn recovered(decoder: &mut WindowDecoder) -> Vec<(u32, VideoHeader, Bytes)> {
    std::iter::from_fn(|| decoder.poll_recovered())
        .map(|(header, payload)| (header.source.expect("a source"), header, payload))
        .collect()
}

/// Which of the missing symbols the arrived parity determines, by plain elimination over the factors.
fn determined(missing: &BTreeSet<u32>, parity: &[WindowParity]) -> BTreeSet<u32> {
    let columns: Vec<u32> = missing.iter().copied().collect();
    let factor = |parity: &WindowParity, source: u32| {
        let inside = source >= parity.first && source < parity.first + u32::from(parity.count);
        if inside { coefficient(parity.row, source) } else { 0 }
    };
    let mut rows: Vec<Vec<u8>> =
        parity.iter().map(|parity| columns.iter().map(|source| factor(parity, *source)).collect()).collect();
    let mut rank = 0;
    for column in 0..columns.len() {
        let Some(found) = (rank..rows.len()).find(|row| rows[*row][column] != 0) else { continue };
        rows.swap(rank, found);
        let inverse = gf256::inverse(rows[rank][column]);
        gf256::scale(&mut rows[rank], inverse);
        let pivot = rows[rank].clone();
        for (index, row) in rows.iter_mut().enumerate() {
            let factor = row[column];
            if index != rank {
                gf256::add_multiple(row, factor, &pivot);
            }
        }
        rank += 1;
    }
    let single = |row: &Vec<u8>| row.iter().filter(|factor| **factor != 0).count() == 1;
    let column = |row: &Vec<u8>| row.iter().position(|factor| *factor != 0);
    rows.iter().filter(|row| single(row)).filter_map(column).map(|column| columns[column]).collect()
}

fn frames() -> impl Strategy<Value = Vec<(u32, u8)>> {
    prop::collection::vec((1u32..500, 0u8..5), 1..20)
}

proptest! {
    #[test]
    fn as_many_losses_as_parity_in_one_window_are_recovered(
        frame_bytes in 1u32..4_000, parity in 1u8..40, picks in prop::collection::vec(any::<u16>(), 40),
        lost_parity in 0u8..40,
    ) {
        let sent = packets(WINDOW_MAX.into(), &[(frame_bytes, parity)]);
        let count = sent.len() - usize::from(parity);
        let arriving = usize::from(parity - lost_parity.min(parity));
        let lost: BTreeSet<usize> = picks[..arriving].iter().map(|pick| usize::from(*pick) % count).collect();
        let mut decoder = WindowDecoder::default();
        for (index, packet) in sent[..count + arriving].iter().enumerate() {
            if !lost.contains(&index) {
                feed(&mut decoder, packet);
            }
        }
        let back = recovered(&mut decoder);
        prop_assert_eq!(back.len(), lost.len());
        for (source, header, payload) in back {
            let Packet::Source(sent_header, sent_payload) = &sent[source as usize] else { panic!() };
            prop_assert_eq!((&header, &payload), (sent_header, sent_payload));
        }
    }

    #[test]
    fn whatever_order_all_that_is_determined_is_recovered_and_nothing_else(
        frames in frames(), window in 2u32..=128, lose in prop::collection::vec(0u8..4, 400), order: u64, twice: bool,
    ) {
        let sent = packets(window, &frames);
        prop_assume!(sent.len() < SOURCES_KEPT);
        let mut arriving: Vec<&Packet> = sent.iter().zip(&lose).filter(|(_, lose)| **lose > 0).map(|(p, _)| p).collect();
        let mut state = order;
        for at in (1..arriving.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            arriving.swap(at, (state >> 33) as usize % (at + 1));
        }
        let (mut truth, mut missing) = (BTreeMap::new(), BTreeSet::new());
        for packet in &sent {
            if let Packet::Source(header, payload) = packet {
                truth.insert(header.source.expect("a source"), (*header, payload.clone()));
                missing.insert(header.source.expect("a source"));
            }
        }
        let mut decoder = WindowDecoder::default();
        let (mut parity, mut back) = (Vec::new(), BTreeSet::new());
        for packet in arriving {
            for _ in 0..=u8::from(twice) {
                feed(&mut decoder, packet);
            }
            match packet {
                Packet::Source(header, _) => {
                    missing.remove(&header.source.expect("a source"));
                }
                Packet::Parity(header, _) => parity.push(*header),
            }
            for (source, header, payload) in recovered(&mut decoder) {
                prop_assert_eq!(&(header, payload), &truth[&source]);
                prop_assert!(back.insert(source), "each once");
            }
        }
        // What came after it had been recovered is not missing in the end.
        let determined = determined(&missing, &parity);
        prop_assert!(determined.is_subset(&back), "{:?} {:?}", determined, back);
        prop_assert!(back.iter().all(|source| determined.contains(source) || !missing.contains(source)));
        prop_assert_eq!(decoder.take_contradictions(), 0);
    }

    #[test]
    fn no_parity_makes_it_panic_or_grow_or_replaces_what_arrived(
        packets in prop::collection::vec(
            (any::<bool>(), prop_oneof![0u32..300, any::<u32>()], 1..=WINDOW_MAX, 0..WINDOW_MAX, prop::collection::vec(any::<u8>(), 14..90), 1u32..90),
            0..300,
        ),
    ) {
        let mut decoder = WindowDecoder::default();
        let mut arrived = BTreeSet::new();
        for (is_source, first, count, row, symbol, frame_bytes) in packets {
            if is_source {
                let shape = FrameShape { frame_bytes, count: 1 };
                let frame = FrameId { camera: Camera(1), number: first };
                let header = VideoHeader { seq: 0, frame, index: 0, shape, parity: 0, source: Some(first) };
                decoder.insert_source(first, &header, &Bytes::from(vec![3; frame_bytes as usize]));
                arrived.insert(first);
            } else if first.checked_add(count.into()).is_some() {
                decoder.insert_parity(&WindowParity { seq: 0, first, count, row }, &symbol);
            }
            let (sources, equations) = decoder.sizes();
            prop_assert!(sources <= SOURCES_KEPT && equations <= EQUATIONS_MAX);
            for (source, _, _) in recovered(&mut decoder) {
                // A jump of numbers makes it forget what it had.
                prop_assert!(!arrived.contains(&source) || decoder.limit_hits() > 0);
            }
        }
    }
}

#[test]
fn parity_that_does_not_fit_its_fragments_is_counted() {
    let sent = packets(16, &[(400, 2)]);
    let mut decoder = WindowDecoder::default();
    for packet in &sent[1..10] {
        feed(&mut decoder, packet);
    }
    let Packet::Parity(parity, symbol) = &sent[10] else { panic!("the first parity packet") };
    decoder.insert_parity(parity, &symbol[..20]);
    assert_eq!(decoder.take_contradictions(), 1, "shorter than what it protects");
    let mut damaged = symbol.to_vec();
    damaged[0] ^= 0x80;
    decoder.insert_parity(parity, &damaged);
    assert_eq!(decoder.take_contradictions(), 1, "a camera that cannot be");
    decoder.insert_parity(parity, symbol);
    let back = recovered(&mut decoder);
    assert_eq!(back.len(), 1);
}

#[test]
fn a_window_leaves_out_what_no_longer_fits_the_path() {
    let mut encoder = WindowEncoder::new(8);
    let shape = FrameShape { frame_bytes: 100, count: 2 };
    for (index, length) in [(0u16, 60usize), (1, 40), (0, 40)] {
        let frame = FrameId { camera: Camera(0), number: 0 };
        let source = Some(encoder.next_source());
        let header = VideoHeader { seq: 0, frame, index, shape, parity: 0, source };
        encoder.push(header, Bytes::from(vec![1; length]));
    }
    encoder.owe(Time::ZERO, 1);
    let (parity, symbol) = encoder.pop(40).expect("one is owed");
    assert_eq!((parity.first, parity.count, symbol.len()), (1, 2, 53));
    assert!(encoder.pop(40).is_none());
}

/// Whether frames of 17 fragments with `parity` parity packets each are whole after their own parity, and after the
/// next frame's, on a Gilbert channel: the shares that are not.
fn failures(share: f64, burst: f64, parity: u8, frames: usize) -> (f64, f64) {
    let sent = packets(64, &vec![(17 * FRAGMENT_BYTES as u32, parity); frames]);
    let (leave, mut state, mut bad) = (1.0 / burst, 7u64, false);
    let enter = share * leave / (1.0 - share);
    let mut decoder = WindowDecoder::default();
    let mut missing: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); frames];
    let (mut after_own, mut after_next) = (0, 0);
    for (index, packet) in sent.iter().enumerate() {
        if bad {
            if let Packet::Source(header, _) = packet {
                missing[header.frame.number as usize].insert(header.source.expect("a source"));
            }
        } else {
            feed(&mut decoder, packet);
        }
        for (source, header, _) in recovered(&mut decoder) {
            missing[header.frame.number as usize].remove(&source);
        }
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = (state >> 11) as f64 / (1u64 << 53) as f64;
        bad = if bad { draw >= leave } else { draw < enter };
        if (index + 1) % (17 + usize::from(parity)) == 0 {
            let frame = index / (17 + usize::from(parity));
            after_own += u32::from(!missing[frame].is_empty());
            after_next += u32::from(frame > 0 && !missing[frame - 1].is_empty());
        }
    }
    (f64::from(after_own) / frames as f64, f64::from(after_next) / frames as f64)
}

#[test]
fn on_a_gilbert_channel_the_next_frame_s_parity_saves_what_the_closed_form_says() {
    let (share, burst, parity, frames) = (0.03, 3.0, 4u8, 20_000);
    let (after_own, after_next) = failures(share, burst, parity, frames);
    // Frames together fail when more of their packets are lost than they have parity.
    let fail = |together: usize| {
        crate::fec::plan::lost_beyond(share, burst, 17 * together, usize::from(parity) * together)
    };
    // A frame fails after its own parity if it fails alone, or if it and some before it fail together: at least as
    // often as alone, and at most as often as any of these. The window reaches back over four frames.
    let at_most: f64 = (1..=4).map(fail).sum();
    assert!(after_own > fail(1) * 0.95 && after_own < at_most, "{after_own} in {}..{at_most}", fail(1));
    // After the next frame's parity the frame alone does not count any more.
    let at_most: f64 = (2..=5).map(fail).sum();
    assert!(after_next < at_most, "{after_next} below {at_most}");
    assert!(after_next < after_own / 2.0, "{after_next} against {after_own}");
}
