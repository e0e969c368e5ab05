//! What a packet costs on a link: sent, and polled when it comes out.

use divan::Bencher;
use divan::counter::ItemsCount;
use netmodel::{Link, StreamKey, builtin};
use units::{Span, Time};

fn main() {
    divan::main();
}

const PACKETS: u64 = 10_000;

/// Video through the built-in profiles: about 300 packets a second, so that a long link has up to a
/// hundred under way.
#[divan::bench(args = ["same-region", "good-india", "bad-india", "bad-india-reorder", "thin-india"])]
fn send_and_exit(bencher: Bencher<'_, '_>, name: &str) {
    let profile = builtin::profile(name).expect("it is built in");
    let gap = Span::from_micros(3_300);
    bencher.counter(ItemsCount::new(PACKETS)).bench_local(|| {
        let mut link: Link<[u64; 6]> =
            Link::new(&profile.down, &StreamKey::new([1; 32]), "hop/down", Time::ZERO);
        let mut now = Time::ZERO;
        let mut out = 0u64;
        for n in 0..PACKETS {
            while link.next_exit() <= now {
                out += link.poll_exit(now).map_or(0, |exit| exit.payload[0] & 1);
            }
            divan::black_box(link.send(now, 1250, 0, [n; 6]));
            now += gap;
        }
        out
    });
}
