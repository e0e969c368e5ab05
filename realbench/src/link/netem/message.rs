//! Queueing disciplines as netlink messages, which no library writes for netem and tbf.
//!
//! The layouts are those of `linux/pkt_sched.h`; all numbers are in the machine's byte order.

use netmodel::profile::KernelLoss;
use netmodel::units::Span;

/// A queueing discipline to set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Discipline {
    pub(super) kind: &'static str,
    pub(super) options: Vec<u8>,
    /// `TCA_STAB`: how much more or less than its frame a packet counts.
    pub(super) size_table: Option<Vec<u8>>,
}

/// What netem is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NetemOptions {
    pub(super) delay: Span,
    pub(super) jitter_ns: u32,
    pub(super) loss: KernelLoss,
    pub(super) seed: u64,
}

impl NetemOptions {
    pub(super) fn discipline(&self) -> Discipline {
        let random = if let KernelLoss::Random { loss } = self.loss { loss } else { 0 };
        // `tc_netem_qopt`: latency, limit, loss, gap, duplicate, jitter; the first and the last are in ticks, and
        // replaced below by what is in nanoseconds.
        let mut options = words(&[0, FLIGHT_PACKETS_MAX, random, 0, 0, 0]);
        attribute(&mut options, TCA_NETEM_LATENCY64, &self.delay.as_nanos().to_ne_bytes());
        attribute(&mut options, TCA_NETEM_JITTER64, &u64::from(self.jitter_ns).to_ne_bytes());
        if let KernelLoss::GilbertElliott { p, r, h, k1 } = self.loss {
            let mut model = Vec::new();
            attribute(&mut model, NETEM_LOSS_GE, &words(&[p, r, h, k1]));
            attribute(&mut options, TCA_NETEM_LOSS | NLA_F_NESTED, &model);
        }
        attribute(&mut options, TCA_NETEM_PRNG_SEED, &self.seed.to_ne_bytes());
        Discipline { kind: "netem", options, size_table: None }
    }
}

/// The seed in netem's options as the kernel tells them; a kernel that has none to set tells none.
pub(super) fn seed_of(options: &[u8]) -> Option<u64> {
    let mut rest = options.get(NETEM_QOPT_BYTES..)?;
    while let [a, b, c, d, ..] = *rest {
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let value = rest.get(4..length)?;
        if u16::from_ne_bytes([c, d]) == TCA_NETEM_PRNG_SEED {
            return Some(u64::from_ne_bytes(value.try_into().ok()?));
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// A token bucket that sends `bytes_per_s` and holds `limit_bytes`.
///
/// The kernel counts frames, with their 14 bytes of Ethernet header; `overhead` corrects that.
pub(super) fn token_bucket(bytes_per_s: u64, limit_bytes: u32, overhead: i32, least: u32) -> Discipline {
    let burst = bucket_bytes(bytes_per_s);
    let rate = u32::try_from(bytes_per_s).unwrap_or(u32::MAX);
    let mut parameters = vec![0, LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0];
    parameters.extend(rate.to_ne_bytes());
    parameters.extend([0; 12]);
    parameters.extend(words(&[limit_bytes, 0, 0]));
    let mut options = Vec::new();
    attribute(&mut options, TCA_TBF_PARMS, &parameters);
    attribute(&mut options, TCA_TBF_BURST, &burst.to_ne_bytes());
    attribute(&mut options, TCA_TBF_RATE64, &bytes_per_s.to_ne_bytes());
    // `tc_sizespec` without a table: cell_log, size_log, cell_align, overhead, linklayer, mpu, mtu, tsize.
    let mut sizes = vec![0; 4];
    sizes.extend(overhead.to_ne_bytes());
    sizes.extend(words(&[u32::from(LINKLAYER_ETHERNET), least, 0, 0]));
    let mut table = Vec::new();
    attribute(&mut table, TCA_STAB_BASE, &sizes);
    Discipline { kind: "tbf", options, size_table: Some(table) }
}

/// What a bucket of this rate holds: enough for a full frame, and for what passes while a timer is late.
pub(super) fn bucket_bytes(bytes_per_s: u64) -> u32 {
    (bytes_per_s / 10_000).clamp(BURST_BYTES_MIN, 1 << 20) as u32
}

/// A queue of at most so many packets.
pub(super) fn packet_queue(packets: u32) -> Discipline {
    Discipline { kind: "pfifo", options: words(&[packets]), size_table: None }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn attribute(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    out.extend((4 + value.len() as u16).to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

const NETEM_QOPT_BYTES: usize = 24;
const TCA_NETEM_LOSS: u16 = 5;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;
const TCA_NETEM_PRNG_SEED: u16 = 14;
const NETEM_LOSS_GE: u16 = 2;
const NLA_F_NESTED: u16 = 0x8000;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TCA_STAB_BASE: u16 = 1;
const LINKLAYER_ETHERNET: u8 = 1;
/// netem's `limit` counts everything that is under way, not what waits.
const FLIGHT_PACKETS_MAX: u32 = 100_000;
const BURST_BYTES_MIN: u64 = 1600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_is_found_where_it_was_put() {
        let loss = KernelLoss::GilbertElliott { p: 1, r: 2, h: 3, k1: 4 };
        let options =
            NetemOptions { delay: Span::from_millis(50), jitter_ns: 7, loss, seed: 0x0123_4567_89ab_cdef };
        let bytes = options.discipline().options;
        assert_eq!(seed_of(&bytes), Some(options.seed));
        // The options, two attributes of 8 bytes, a nest of one of 16, one of 8.
        assert_eq!(bytes.len(), 24 + 2 * 12 + (4 + 4 + 16) + 12);
        for length in 0..bytes.len() {
            assert_eq!(seed_of(&bytes[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn no_answer_of_the_kernels_is_too_strange() {
        for strange in [[0u8; 4], [1, 0, 14, 0], [255, 255, 14, 0], [4, 0, 14, 0]] {
            let mut options = vec![0; NETEM_QOPT_BYTES];
            options.extend(strange);
            assert_eq!(seed_of(&options), None);
        }
    }

    #[test]
    fn a_token_bucket_is_laid_out_as_the_kernel_has_it() {
        let discipline = token_bucket(312_500, 93_750, -14, 0);
        // 4 + 36 of parameters, 4 + 4 of burst, 4 + 8 of rate.
        assert_eq!(discipline.options.len(), 40 + 8 + 12);
        assert_eq!(discipline.options[12..16], 312_500u32.to_ne_bytes());
        assert_eq!(discipline.options[28..32], 93_750u32.to_ne_bytes());
        assert_eq!(discipline.size_table.unwrap().len(), 4 + 24);
    }
}
