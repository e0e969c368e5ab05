//! `--qlog`: what each side of each connection did, as qlog 0.3 in JSON text sequences, which qvis opens.
//!
//! Two sources are put together in the order of time. Packets sent and received come from the simulator,
//! with the frames in them, which are readable since nothing is encrypted; QUIC's own log leaves the
//! frames out. Packets declared lost and round-trip times come from QUIC's own log, since only QUIC knows
//! them; the window comes from the sender's true one, since QUIC is shown an open one (see
//! `ARCHITECTURE.md`). Times are milliseconds since the cell's beginning, so that two runs give the same bytes.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bench::relay_core::{Role, Snapshot};
use bench::{Direction, End, Hop};
use serde_json::{Map, Value, json};
use sim::quic::{Frame, Packet, PacketKind, Reader};
use sim::tap::{Arrived, QlogSink, Sample, Sent};
use units::Time;

/// The four logs.
pub(crate) struct Qlogs<W> {
    sides: Vec<Arc<Mutex<Side<W>>>>,
    /// Of each link, in the order of its packets: to read them when they are sent and when they arrive.
    sent: [Reader; 4],
    arrived: [Reader; 4],
    text: String,
}

/// One side of one connection.
struct Side<W> {
    out: W,
    now: Time,
    last: Option<Snapshot>,
    events: u64,
}

/// Which side, and what its file is called.
pub(crate) const SIDES: [(Hop, End, &str); 4] = [
    (Hop::Robot, End::Robot, "robot-hop.robot.sqlog"),
    (Hop::Robot, End::Relay, "robot-hop.relay.sqlog"),
    (Hop::Operator, End::Operator, "operator-hop.operator.sqlog"),
    (Hop::Operator, End::Relay, "operator-hop.relay.sqlog"),
];

impl<W: Write + Send + Sync + 'static> Qlogs<W> {
    /// Begins the logs of `cell`, one for each of [`SIDES`]. The traffic begins at `start`.
    pub(crate) fn new(outs: [W; 4], cell: &str, start: Time) -> Self {
        let sides = SIDES.iter().zip(outs).map(|((hop, end, _), mut out)| {
            let head = head(*hop, *end, cell, start);
            // Here and below: the writer remembers what goes wrong.
            let _ = writeln!(out, "\u{1e}{head}");
            Arc::new(Mutex::new(Side { out, now: Time::ZERO, last: None, events: 0 }))
        });
        Self {
            sides: sides.collect(),
            sent: std::array::from_fn(|_| Reader::default()),
            arrived: std::array::from_fn(|_| Reader::default()),
            text: String::new(),
        }
    }

    /// Where QUIC's own log goes.
    pub(crate) fn sink(&self) -> QlogSink {
        let sides = self.sides.clone();
        Arc::new(move |end, hop| match index(hop, end) {
            Some(index) => Box::new(Own { side: Arc::clone(&sides[index]), line: Vec::new() }),
            None => Box::new(io::sink()),
        })
    }

    /// Time has come to `now`.
    pub(crate) fn at(&mut self, now: Time) {
        for side in &self.sides {
            lock(side).now = now;
        }
    }

    /// A packet was sent.
    pub(crate) fn sent(&mut self, packet: &Sent<'_>) {
        let (hop, direction) = (packet.id.hop, packet.id.direction);
        let packets = self.sent[super::packets::link_index(hop, direction)].read(packet.datagram);
        let sender = ends(hop, direction).0;
        self.packets(hop, sender, "transport:packet_sent", &packets);
    }

    /// A packet came out of a link.
    pub(crate) fn arrived(&mut self, packet: &Arrived<'_>) {
        let (hop, direction) = (packet.id.hop, packet.id.direction);
        let packets = self.arrived[super::packets::link_index(hop, direction)].read(packet.datagram);
        let receiver = ends(hop, direction).1;
        let name = if packet.corrupted { "transport:packet_dropped" } else { "transport:packet_received" };
        self.packets(hop, receiver, name, &packets);
    }

    /// The state of every sending side.
    pub(crate) fn sample(&mut self, sample: &Sample) {
        for (end, role, snapshot) in &sample.sides {
            let hop = if *role == Role::Robot { Hop::Robot } else { Hop::Operator };
            let Some(index) = index(hop, *end) else { continue };
            let mut side = lock(&self.sides[index]);
            let data = metrics(side.last.as_ref(), snapshot);
            side.last = Some(*snapshot);
            if !data.is_empty() {
                side.event("recovery:metrics_updated", &Value::Object(data).to_string());
            }
        }
    }

    /// How many events each side has, and its writer. The simulator must have dropped its sinks.
    pub(crate) fn finish(self) -> Vec<(u64, W)> {
        let sides = self.sides.into_iter().filter_map(Arc::into_inner);
        let sides = sides.map(|side| side.into_inner().unwrap_or_else(PoisonError::into_inner));
        sides.map(|side| (side.events, side.out)).collect()
    }

    fn packets(&mut self, hop: Hop, end: End, name: &str, packets: &[Packet]) {
        let Some(index) = index(hop, end) else { return };
        let mut side = lock(&self.sides[index]);
        for packet in packets {
            self.text.clear();
            packet_data(&mut self.text, packet);
            side.event(name, &self.text);
        }
    }
}

impl<W: Write> Side<W> {
    fn event(&mut self, name: &str, data: &str) {
        let nanos = self.now.as_nanos();
        let (ms, rest) = (nanos / 1_000_000, nanos % 1_000_000);
        self.events += 1;
        let _ = writeln!(self.out, "\u{1e}{{\"time\":{ms}.{rest:06},\"name\":\"{name}\",\"data\":{data}}}");
    }

    /// Takes what only QUIC knows from a record of its own log.
    fn own(&mut self, record: &[u8]) {
        let text = String::from_utf8_lossy(record);
        let lost = text.contains("packet_lost");
        if !lost && !text.contains("metrics_updated") {
            return;
        }
        let Ok(mut record) = serde_json::from_str::<Value>(text.trim_start_matches('\u{1e}').trim()) else {
            return;
        };
        let Some(data) = record.get_mut("data").and_then(Value::as_object_mut) else { return };
        if lost {
            self.event("recovery:packet_lost", &Value::Object(std::mem::take(data)).to_string());
            return;
        }
        let mut kept = Map::new();
        for name in ["smoothed_rtt", "latest_rtt", "rtt_variance"] {
            if let Some(seconds) = data.get(name).and_then(Value::as_f64) {
                // It gives seconds where the format asks for milliseconds.
                kept.insert(name.to_owned(), json!((seconds * 1e6).round() / 1e3));
            }
        }
        if let Some(count) = data.remove("pto_count") {
            kept.insert("pto_count".to_owned(), count);
        }
        if !kept.is_empty() {
            self.event("recovery:metrics_updated", &Value::Object(kept).to_string());
        }
    }
}

/// Takes QUIC's own log of one connection, record by record.
struct Own<W> {
    side: Arc<Mutex<Side<W>>>,
    line: Vec<u8>,
}

impl<W: Write + Send> Write for Own<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            if *byte == b'\n' {
                lock(&self.side).own(&self.line);
                self.line.clear();
            } else if self.line.len() < RECORD_BYTES_MAX {
                self.line.push(*byte);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The first record of a file.
fn head(hop: Hop, end: End, cell: &str, start: Time) -> Value {
    let client = end != End::Relay;
    let name = format!("{} on the {} hop", end.name(), hop.name());
    json!({
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": format!("{cell}: {name}"),
        "description": format!("traffic begins at {} ms", start.as_nanos() / 1_000_000),
        "trace": {
            "title": name,
            "vantage_point": {"name": name, "type": if client { "client" } else { "server" }},
            "common_fields": {
                "time_format": "relative",
                "reference_time": 0,
                "protocol_type": ["QUIC"],
                "ODCID": format!("{}-hop", hop.name()),
            },
        },
    })
}

/// What changed between two states of a sending side.
fn metrics(last: Option<&Snapshot>, now: &Snapshot) -> Map<String, Value> {
    let mut data = Map::new();
    let mut changed = |name: &str, before: Option<u64>, after: u64, value: Value| {
        if before != Some(after) {
            data.insert(name.to_owned(), value);
        }
    };
    let open = now.window_bytes >= OPEN_WINDOW_BYTES;
    if !open {
        let window = now.window_bytes;
        changed("congestion_window", last.map(|last| last.window_bytes), window, json!(window));
    }
    let in_flight = now.in_flight_bytes;
    changed("bytes_in_flight", last.map(|last| last.in_flight_bytes), in_flight, json!(in_flight));
    let min_ns = now.rtt_min.as_nanos();
    changed("min_rtt", last.map(|last| last.rtt_min.as_nanos()), min_ns, json!(now.rtt_min.as_millis_f64()));
    if now.pacing_bits_per_sec < u64::MAX {
        let rate = now.pacing_bits_per_sec;
        changed("pacing_rate", last.map(|last| last.pacing_bits_per_sec), rate, json!(rate));
    }
    data
}

fn packet_data(out: &mut String, packet: &Packet) {
    let kind = match packet.kind {
        PacketKind::Initial => "initial",
        PacketKind::Handshake => "handshake",
        PacketKind::OneRtt => "1RTT",
    };
    let _ = write!(
        out,
        r#"{{"header":{{"packet_type":"{kind}","packet_number":{}}},"raw":{{"length":{}}},"frames":["#,
        packet.number, packet.bytes
    );
    for (index, frame) in packet.frames.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        frame_data(out, frame);
    }
    out.push_str("]}");
}

fn frame_data(out: &mut String, frame: &Frame) {
    let _ = match frame {
        Frame::Padding { bytes } => write!(out, r#"{{"frame_type":"padding","length":{bytes}}}"#),
        Frame::Ping => write!(out, r#"{{"frame_type":"ping"}}"#),
        Frame::Ack { delay_us, ranges } => {
            let ranges: Vec<String> =
                ranges.iter().map(|(first, last)| format!("[{first},{last}]")).collect();
            let (ms, us) = (delay_us / 1000, delay_us % 1000);
            let ranges = ranges.join(",");
            write!(out, r#"{{"frame_type":"ack","ack_delay":{ms}.{us:03},"acked_ranges":[{ranges}]}}"#)
        }
        Frame::Crypto { offset, bytes } => {
            write!(out, r#"{{"frame_type":"crypto","offset":{offset},"length":{bytes}}}"#)
        }
        Frame::Stream { id, offset, bytes, fin } => write!(
            out,
            r#"{{"frame_type":"stream","stream_id":{id},"offset":{offset},"length":{bytes},"fin":{fin}}}"#
        ),
        Frame::Datagram { bytes } => write!(out, r#"{{"frame_type":"datagram","length":{bytes}}}"#),
        Frame::ResetStream { id, code, final_bytes } => write!(
            out,
            r#"{{"frame_type":"reset_stream","stream_id":{id},"error_code":{code},"final_size":{final_bytes}}}"#
        ),
        Frame::Other { kind, name } => {
            write!(out, r#"{{"frame_type":"{name}","frame_type_value":{kind}}}"#)
        }
    };
}

fn lock<T>(side: &Mutex<T>) -> MutexGuard<'_, T> {
    side.lock().unwrap_or_else(PoisonError::into_inner)
}

fn index(hop: Hop, end: End) -> Option<usize> {
    SIDES.iter().position(|(of, at, _)| (*of, *at) == (hop, end))
}

/// Sender and receiver on a link.
fn ends(hop: Hop, direction: Direction) -> (End, End) {
    let outer = match hop {
        Hop::Robot => End::Robot,
        Hop::Operator => End::Operator,
    };
    match direction {
        Direction::Up => (outer, End::Relay),
        Direction::Down => (End::Relay, outer),
    }
}

/// A record of QUIC's own log that is longer is cut, and then not read.
const RECORD_BYTES_MAX: usize = 1 << 20;
/// A window that admits everything is none.
const OPEN_WINDOW_BYTES: u64 = 1 << 40;
