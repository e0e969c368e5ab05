//! `--packets`: one line for each packet of each link, in the order they were sent, with what became of it.
//!
//! A line is written when the packet's fate is known, so those of packets under way are held back, at
//! most as many as the links hold.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use bench::netmodel::Verdict;
use bench::relay_core::Carried;
use bench::{Direction, Hop, IP_UDP_OVERHEAD_BYTES};
use sim::tap::{Arrived, Dropped, PacketId, Sent};
use units::{Span, Time};

use super::content::{Cameras, kinds};

/// Writes the log to a file.
pub(crate) struct PacketLog<W> {
    out: W,
    format: Format,
    start: Time,
    cameras: Cameras,
    /// Packets whose line is not written yet, in the order they were sent.
    waiting: VecDeque<Line>,
    /// The number among all packets of the first of `waiting`.
    first: u64,
    /// For each link its packets in `waiting`, by their numbers there: a packet's number, and its place among all
    /// packets. Numbers are in order but not without gaps, since a second flow's packets have some of them.
    places: [VecDeque<(u64, u64)>; 4],
    text: String,
    lines: u64,
}

/// The two forms of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// A line of names, then a line of values a packet, with tabs between; empty for what does not apply.
    Tsv,
    /// One JSON object a line; what does not apply is left out.
    JsonLines,
}

impl Format {
    /// By the ending of a file's name: JSON Lines for `.jsonl` and `.jsonl.zst`.
    pub(crate) fn of(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".zst").unwrap_or(&name);
        let json = Path::new(name).extension().is_some_and(|ending| ending == "jsonl" || ending == "json");
        if json { Self::JsonLines } else { Self::Tsv }
    }
}

#[derive(Debug, Clone, Copy)]
struct Line {
    sent: Time,
    id: PacketId,
    ip_bytes: u32,
    carries: Carried,
    fate: Fate,
    /// A packet that came twice has a second line.
    again: Option<Exit>,
}

#[derive(Debug, Clone, Copy)]
enum Fate {
    UnderWay,
    Dropped(Verdict),
    /// In an active queue, after so long.
    DroppedInQueue(Span),
    Out(Exit),
}

#[derive(Debug, Clone, Copy)]
struct Exit {
    at: Time,
    queued: Span,
    corrupted: bool,
}

impl<W: Write> PacketLog<W> {
    /// Begins a log to `out`. Times in it count from `start`.
    pub(crate) fn new(mut out: W, format: Format, start: Time, cameras: Cameras) -> Self {
        if format == Format::Tsv {
            // The writer remembers what goes wrong.
            let _ = out.write_all(HEADER.as_bytes());
        }
        Self {
            out,
            format,
            start,
            cameras,
            waiting: VecDeque::new(),
            first: 0,
            places: std::array::from_fn(|_| VecDeque::new()),
            text: String::new(),
            lines: 0,
        }
    }

    /// A packet was sent.
    pub(crate) fn sent(&mut self, now: Time, packet: &Sent<'_>) {
        let fate = match packet.verdict {
            Verdict::Accepted => Fate::UnderWay,
            verdict => Fate::Dropped(verdict),
        };
        let places = &mut self.places[link_index(packet.id.hop, packet.id.direction)];
        places.push_back((packet.id.number, self.first + self.waiting.len() as u64));
        let ip_bytes = packet.datagram.len() as u32 + IP_UDP_OVERHEAD_BYTES;
        let (id, carries) = (packet.id, packet.carries);
        self.waiting.push_back(Line { sent: now, id, ip_bytes, carries, fate, again: None });
        self.write_known(now);
    }

    /// A packet came out.
    pub(crate) fn arrived(&mut self, now: Time, packet: &Arrived<'_>) {
        let exit = Exit { at: now, queued: packet.queued, corrupted: packet.corrupted };
        if let Some(line) = self.line(packet.id) {
            if packet.duplicate {
                line.again = Some(exit);
            } else {
                line.fate = Fate::Out(exit);
            }
        }
    }

    /// A packet that the link had accepted was dropped in its queue.
    pub(crate) fn dropped(&mut self, now: Time, packet: &Dropped<'_>) {
        if let Some(line) = self.line(packet.id) {
            line.fate = Fate::DroppedInQueue(now.since(line.sent));
        }
    }

    /// The line of a packet, if it is not written yet.
    fn line(&mut self, id: PacketId) -> Option<&mut Line> {
        let places = &self.places[link_index(id.hop, id.direction)];
        let index = places.binary_search_by_key(&id.number, |(number, _)| *number).ok()?;
        let (_, place) = places.get(index)?;
        self.waiting.get_mut((place - self.first) as usize)
    }

    /// Writes the lines of all packets, those still under way included: how many, and the writer.
    pub(crate) fn finish(mut self) -> (u64, W) {
        while let Some(line) = self.waiting.pop_front() {
            self.write(&line);
        }
        (self.lines, self.out)
    }

    /// Writes what is known before `now`: at that moment a copy may still follow.
    fn write_known(&mut self, now: Time) {
        while let Some(line) = self.waiting.front() {
            match line.fate {
                Fate::Dropped(_) | Fate::DroppedInQueue(_) => {}
                Fate::Out(exit) if exit.at < now => {}
                _ => break,
            }
            let line = *line;
            self.waiting.pop_front();
            self.first += 1;
            self.places[link_index(line.id.hop, line.id.direction)].pop_front();
            self.write(&line);
        }
    }

    fn write(&mut self, line: &Line) {
        let out = |exit: Exit| (Some(exit.queued), Some(exit.at));
        let (fate, (queued, at)) = match line.fate {
            Fate::UnderWay => ("under-way", (None, None)),
            Fate::Dropped(verdict) => (verdict_name(verdict), (None, None)),
            Fate::DroppedInQueue(queued) => (QUEUE_DROPPED, (Some(queued), None)),
            Fate::Out(exit) => (if exit.corrupted { "damaged" } else { "delivered" }, out(exit)),
        };
        self.write_line(line, fate, queued, at);
        if let Some(exit) = line.again {
            let fate = if exit.corrupted { "copy-damaged" } else { "copy" };
            self.write_line(line, fate, Some(exit.queued), Some(exit.at));
        }
    }

    fn write_line(&mut self, line: &Line, fate: &str, queued: Option<Span>, at: Option<Time>) {
        self.text.clear();
        match self.format {
            Format::Tsv => self.tsv(line, fate, queued, at),
            Format::JsonLines => self.json(line, fate, queued, at),
        }
        self.lines += 1;
        let _ = self.out.write_all(self.text.as_bytes());
    }

    fn tsv(&mut self, line: &Line, fate: &str, queued: Option<Span>, at: Option<Time>) {
        let text = &mut self.text;
        let (hop, direction) = (line.id.hop.name(), line.id.direction.name());
        let sent = Micros::since(line.sent, self.start);
        let _ = write!(text, "{sent}\t{hop}\t{direction}\t{}\t{}\t{fate}\t", line.id.number, line.ip_bytes);
        for time in [queued.map(Micros::of), at.map(|at| Micros::since(at, self.start))] {
            if let Some(time) = time {
                let _ = write!(text, "{time}");
            }
            text.push('\t');
        }
        text.push_str(&kinds(&line.carries));
        let _ = match line.carries.video {
            Some(part) => {
                let camera = self.cameras.name(part.frame);
                write!(text, "\t{camera}\t{}\t{}\t{}", part.frame.number, part.index, part.count)
            }
            None => write!(text, "\t\t\t\t"),
        };
        for number in [line.carries.pose, line.carries.command] {
            text.push('\t');
            if let Some(number) = number {
                let _ = write!(text, "{number}");
            }
        }
        text.push('\n');
    }

    fn json(&mut self, line: &Line, fate: &str, queued: Option<Span>, at: Option<Time>) {
        let text = &mut self.text;
        let (hop, direction) = (line.id.hop.name(), line.id.direction.name());
        let sent = Micros::since(line.sent, self.start);
        let _ = write!(
            text,
            r#"{{"t_us":{sent},"hop":"{hop}","direction":"{direction}","id":{},"ip_bytes":{},"fate":"{fate}""#,
            line.id.number, line.ip_bytes
        );
        let (queued, at) = (queued.map(Micros::of), at.map(|at| Micros::since(at, self.start)));
        for (name, time) in [("queued_us", queued), ("exit_us", at)] {
            if let Some(time) = time {
                let _ = write!(text, r#","{name}":{time}"#);
            }
        }
        let _ = write!(text, r#","carries":"{}""#, kinds(&line.carries));
        if let Some(part) = line.carries.video {
            // A camera's name is checked when the scenario is read, and needs no quoting in JSON but this.
            let camera = serde_json::Value::from(self.cameras.name(part.frame));
            let (number, index, count) = (part.frame.number, part.index, part.count);
            let _ = write!(text, r#","camera":{camera},"frame":{number},"index":{index},"count":{count}"#);
        }
        for (name, number) in [("pose", line.carries.pose), ("command", line.carries.command)] {
            if let Some(number) = number {
                let _ = write!(text, r#","{name}":{number}"#);
            }
        }
        text.push_str("}\n");
    }
}

/// Nanoseconds that print as microseconds with three decimals, signed.
pub(crate) struct Micros(i128);

impl Micros {
    /// From `start` to `at`.
    pub(crate) fn since(at: Time, start: Time) -> Self {
        Self(i128::from(at.as_nanos()) - i128::from(start.as_nanos()))
    }

    fn of(span: Span) -> Self {
        Self(i128::from(span.as_nanos()))
    }
}

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:03}", nanos / 1000, nanos % 1000)
    }
}

/// Index of a link: by hop and then direction, up first.
pub(crate) fn link_index(hop: Hop, direction: Direction) -> usize {
    hop as usize * 2 + direction as usize
}

/// The word for a packet that a link did not take.
pub(crate) fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "accepted",
        Verdict::Lost => "lost",
        Verdict::QueueFull => "queue-full",
        Verdict::Outage => "outage",
    }
}

/// The word for a packet that a link took and dropped later, in its queue.
pub(crate) const QUEUE_DROPPED: &str = "queue-dropped";

const HEADER: &str = "t_us\thop\tdirection\tid\tip_bytes\tfate\tqueued_us\texit_us\tcarries\tcamera\tframe\tindex\tcount\t\
                      pose\tcommand\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> PacketId {
        PacketId { hop: Hop::Operator, direction: Direction::Down, number }
    }

    fn sent(number: u64, verdict: Verdict) -> Sent<'static> {
        let address = "10.0.0.2:4433".parse().unwrap();
        let carries = Carried { feedback: true, ..Carried::default() };
        Sent { id: id(number), from: address, to: address, ecn: 0, datagram: &[0; 72], verdict, carries }
    }

    fn arrived(number: u64, corrupted: bool, duplicate: bool) -> Arrived<'static> {
        let address = "10.0.0.3:4433".parse().unwrap();
        let queued = Span::from_micros(5);
        Arrived {
            id: id(number),
            from: address,
            to: address,
            ecn: 0,
            datagram: &[0; 72],
            queued,
            corrupted,
            duplicate,
        }
    }

    #[test]
    fn lines_stand_in_the_order_of_sending_whatever_comes_out_first() {
        let start = Time::from_nanos(1_000_000);
        let at = |us: u64| Time::from_nanos(us * 1000);
        let cameras = Cameras::of(&bench::Scenario::parse("s", SCENARIO, &|_| None).unwrap().cells()[0]);
        let mut log = PacketLog::new(Vec::new(), Format::Tsv, start, cameras);
        log.sent(at(900), &sent(0, Verdict::Accepted));
        log.sent(at(1000), &sent(1, Verdict::Lost));
        log.sent(at(1100), &sent(2, Verdict::Accepted));
        log.sent(at(1200), &sent(3, Verdict::Accepted));
        log.arrived(at(1300), &arrived(2, true, false));
        log.arrived(at(1400), &arrived(0, false, false));
        log.arrived(at(1400), &arrived(0, false, true));
        log.sent(at(1500), &sent(4, Verdict::QueueFull));
        let (lines, text) = log.finish();
        let text = String::from_utf8(text).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split('\t').collect()).collect();
        assert_eq!((lines, rows.len()), (6, 6));
        let fates: Vec<(&str, &str)> = rows.iter().map(|row| (row[3], row[5])).collect();
        let expected = [
            ("0", "delivered"),
            ("0", "copy"),
            ("1", "lost"),
            ("2", "damaged"),
            ("3", "under-way"),
            ("4", "queue-full"),
        ];
        assert_eq!(fates, expected);
        assert_eq!(
            rows[0][..9],
            ["-100.000", "operator", "down", "0", "100", "delivered", "5.000", "400.000", "feedback"]
        );
    }

    fn dropped(number: u64) -> Dropped<'static> {
        let address = "10.0.0.3:4433".parse().unwrap();
        Dropped { id: id(number), from: address, to: address, datagram: &[0; 72] }
    }

    #[test]
    fn a_drop_in_the_queue_is_a_fate_and_numbers_may_be_another_flows() {
        let at = |us: u64| Time::from_nanos(us * 1000);
        let cameras = Cameras::of(&bench::Scenario::parse("s", SCENARIO, &|_| None).unwrap().cells()[0]);
        for format in [Format::Tsv, Format::JsonLines] {
            let mut log = PacketLog::new(Vec::new(), format, Time::ZERO, cameras.clone());
            // Numbers 1, 2 and 4 are a second flow's.
            for (us, number) in [(100, 0), (200, 3), (300, 5)] {
                log.sent(at(us), &sent(number, Verdict::Accepted));
            }
            log.arrived(at(400), &arrived(0, false, false));
            log.dropped(at(450), &dropped(3));
            log.dropped(at(450), &dropped(4));
            log.arrived(at(500), &arrived(5, false, false));
            let text = String::from_utf8(log.finish().1).unwrap();
            let has = |parts: [&str; 2]| {
                assert_eq!(text.lines().filter(|l| parts.iter().all(|p| l.contains(p))).count(), 1, "{text}");
            };
            match format {
                Format::Tsv => {
                    has(["down\t0\t100\tdelivered\t5.000\t400.000", ""]);
                    has(["down\t3\t100\tqueue-dropped\t250.000\t\t", ""]);
                    has(["down\t5\t100\tdelivered\t5.000\t500.000", ""]);
                }
                Format::JsonLines => {
                    has([
                        r#""id":3,"ip_bytes":100,"fate":"queue-dropped","queued_us":250.000,"carries""#,
                        "",
                    ]);
                    has([r#""id":5"#, r#""queued_us":5.000,"exit_us":500.000"#]);
                }
            }
        }
    }

    #[test]
    fn names_say_the_form() {
        let of = |name: &str| Format::of(Path::new(name));
        assert_eq!((of("a.jsonl"), of("a.jsonl.zst")), (Format::JsonLines, Format::JsonLines));
        assert_eq!((of("a.tsv.zst"), of("a")), (Format::Tsv, Format::Tsv));
    }

    const SCENARIO: &str = "duration = \"1 s\"\nseeds = \"1\"\nprofiles = [\"same-region\"]\n[settings.a]\n";
}
