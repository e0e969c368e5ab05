//! The writers of a replay together, listening in on one run: which are asked for, their files, and how
//! these get their names.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use bench::relay_core::Event;
use bench::{End, Input, Summary};
use sim::tap::{Arrived, Dropped, Sample, Sent};
use sim::{Options, Tap};
use units::{Span, Time};

use super::content::Cameras;
use super::packets::{Format as PacketFormat, PacketLog};
use super::pcap::{Capture, Secrets};
use super::qlog::{Qlogs, SIDES};
use super::spans::Window;
use super::trace::{TraceLog, estimated_bytes};
use super::{size, tapped};
use crate::args::{CaptureAt, Crypto, Replay};
use crate::failure::Failure;
use crate::kept_cell::KeptCell;
use crate::new_file::{NewFile, NewFolders, check_free};
use crate::output;

/// A file that was written.
pub(crate) struct Written {
    pub(crate) what: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) events: u64,
}

/// A file that is whole and has no name yet.
pub(crate) struct Closed {
    what: &'static str,
    file: NewFile,
    bytes: u64,
    events: u64,
}

/// All that was written, before it has its names.
pub(crate) struct Unnamed {
    files: Vec<Closed>,
    /// After the files, since folders go when nothing is in them.
    _folders: Option<NewFolders>,
}

/// Whether anything is asked for.
pub(crate) fn wanted(arguments: &Replay) -> bool {
    !paths(arguments).is_empty()
}

/// Refuses, before anything is run, paths at which there is something, and one path given twice.
pub(crate) fn check_paths(arguments: &Replay) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for path in paths(arguments) {
        check_free(&path, arguments.force)?;
        if !seen.insert(path.clone()) {
            return Err(Failure::usage(format!("`{}` is given twice", path.display())));
        }
    }
    Ok(())
}

/// Gives all files their names.
pub(crate) fn name(written: Unnamed) -> Result<Vec<Written>, Failure> {
    written
        .files
        .into_iter()
        .map(|Closed { what, file, bytes, events }| Ok(Written { what, path: file.rename()?, bytes, events }))
        .collect()
}

/// Runs the cell again and writes everything, under names that are not final.
pub(crate) fn write(
    arguments: &Replay,
    kept: &KeptCell,
    crypto: Crypto,
    window: Window,
) -> Result<Unnamed, Failure> {
    let folders = arguments.qlog.as_deref().map(NewFolders::create).transpose()?;
    let mut closed = Vec::new();
    // Frames within QUIC packets can be read only where nothing encrypts them. What is sent is the same.
    let apart = crypto == Crypto::Tls && arguments.qlog.is_some();
    let passes = if apart { &[Crypto::Null, Crypto::Tls][..] } else { &[crypto][..] };
    for pass in passes {
        let mut taps = Taps::open(arguments, kept, window, !apart || *pass == Crypto::Null, *pass == crypto)?;
        let secrets = Arc::clone(&taps.secrets);
        let every_secret = Arc::clone(&taps.every_secret);
        let key_log: sim::tap::KeyLogSink = Arc::new(move |line: &str| {
            for sink in [&secrets, &every_secret] {
                sink.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
            }
        });
        let tls = *pass == Crypto::Tls;
        let options = Options {
            crypto: pass.sim(),
            qlog: taps.qlogs.as_ref().map(Qlogs::sink),
            key_log: tls.then_some(key_log),
            ..Options::default()
        };
        let result = tapped(kept, &mut taps, options)?;
        closed.extend(taps.close(kept, &result)?);
    }
    Ok(Unnamed { files: closed, _folders: folders })
}

fn paths(arguments: &Replay) -> Vec<PathBuf> {
    let single = [&arguments.packets, &arguments.trace, &arguments.pcap, &arguments.keylog];
    let qlogs = arguments.qlog.iter().flat_map(|folder| SIDES.iter().map(|(_, _, name)| folder.join(name)));
    single.into_iter().flatten().cloned().chain(qlogs).collect()
}

/// About how many bytes a capture takes.
fn capture_bytes(summary: &Summary, at: CaptureAt) -> u64 {
    let links = [&summary.link, &summary.robot_link];
    let bytes: u64 = links.iter().map(|link| link.up.bytes + link.down.bytes).sum();
    let one_end = bytes + summary.packets * CAPTURED_BYTES;
    if at == CaptureAt::Both { 2 * one_end } else { one_end }
}

/// The writers of one pass.
pub(crate) struct Taps {
    packets: Option<PacketLog<NewFile>>,
    pcap: Option<Capture<NewFile>>,
    trace: Option<(TraceLog, NewFile)>,
    qlogs: Option<Qlogs<NewFile>>,
    keylog: Option<NewFile>,
    /// Secrets that the capture has not taken yet, and all of them.
    secrets: Secrets,
    every_secret: Secrets,
}

impl Taps {
    /// Opens the files that are asked for: the qlogs if `quic`, the others if `rest`.
    fn open(
        arguments: &Replay,
        kept: &KeptCell,
        window: Window,
        quic: bool,
        rest: bool,
    ) -> Result<Self, Failure> {
        let cameras = Cameras::of(&kept.cell);
        let start = Time::ZERO + kept.cell.warmup;
        let force = arguments.force;
        let create = |path: &Option<PathBuf>| {
            path.as_ref().filter(|_| rest).map(|path| NewFile::create(path, force)).transpose()
        };
        let secrets = Secrets::default();
        let tls = arguments.crypto.unwrap_or(kept.crypto) == Crypto::Tls;
        let at = arguments.pcap_at.unwrap_or(if tls { CaptureAt::Sent } else { CaptureAt::Both });
        let packets = create(&arguments.packets)?.map(|file| {
            let format = arguments.packets.as_deref().map_or(PacketFormat::Tsv, PacketFormat::of);
            PacketLog::new(file, format, start, cameras.clone())
        });
        let pcap = create(&arguments.pcap)?
            .map(|file| {
                output::note(&format!("pcap: about {}", size(capture_bytes(&kept.summary, at))));
                Capture::new(file, cameras.clone(), at, Arc::clone(&secrets))
                    .ok_or_else(|| Failure::unexpected("the head of the capture cannot be written"))
            })
            .transpose()?;
        let trace = create(&arguments.trace)?.map(|file| {
            let estimated = size(estimated_bytes(&kept.cell, window));
            let (from, to) = (window.from_ns as f64 / 1e9, window.to_ns as f64 / 1e9);
            output::note(&format!("trace: {from:.1} s to {to:.1} s of the traffic, about {estimated}"));
            (TraceLog::new(start, window, cameras), file)
        });
        let qlogs = match arguments.qlog.as_ref().filter(|_| quic) {
            Some(folder) => {
                let mut files = Vec::new();
                for (_, _, name) in SIDES {
                    files.push(NewFile::create(&folder.join(name), force)?);
                }
                let files: [NewFile; 4] =
                    files.try_into().map_err(|_| Failure::unexpected("there are four sides"))?;
                Some(Qlogs::new(files, &kept.summary.cell, start))
            }
            None => None,
        };
        let keylog = create(&arguments.keylog)?;
        Ok(Self { packets, pcap, trace, qlogs, keylog, secrets, every_secret: Secrets::default() })
    }

    /// Writes what is left and makes all files safe on disk.
    fn close(self, kept: &KeptCell, result: &bench::CellResult) -> Result<Vec<Closed>, Failure> {
        let mut ended = Vec::new();
        if let Some(packets) = self.packets {
            let (lines, file) = packets.finish();
            ended.push(("packets", lines, file));
        }
        if let Some(qlogs) = self.qlogs {
            ended.extend(qlogs.finish().into_iter().map(|(events, file)| ("qlog", events, file)));
        }
        if let Some((trace, mut file)) = self.trace {
            // The file remembers what goes wrong.
            let events = trace.finish(&kept.cell, result, &mut file).unwrap_or(0);
            ended.push(("trace", events, file));
        }
        if let Some(pcap) = self.pcap {
            let (packets, file) = pcap.finish();
            ended.push(("pcap", packets, file));
        }
        if let Some(mut file) = self.keylog {
            let lines =
                std::mem::take(&mut *self.every_secret.lock().unwrap_or_else(PoisonError::into_inner));
            for line in &lines {
                let _ = writeln!(file, "{line}");
            }
            ended.push(("keylog", lines.len() as u64, file));
        }
        ended
            .into_iter()
            .map(|(what, events, mut file)| Ok(Closed { what, bytes: file.close()?, events, file }))
            .collect()
    }
}

impl Tap for Taps {
    fn at(&mut self, now: Time) {
        if let Some(qlogs) = &mut self.qlogs {
            qlogs.at(now);
        }
    }

    fn input(&mut self, now: Time, input: &Input) {
        if let Some((trace, _)) = &mut self.trace {
            trace.input(now, input);
        }
    }

    fn event(&mut self, now: Time, _end: End, event: &Event) {
        if let Some((trace, _)) = &mut self.trace {
            trace.event(now, event);
        }
    }

    fn sent(&mut self, now: Time, packet: &Sent<'_>) {
        if let Some(packets) = &mut self.packets {
            packets.sent(now, packet);
        }
        if let Some(pcap) = &mut self.pcap {
            pcap.sent(now, packet);
        }
        if let Some((trace, _)) = &mut self.trace {
            trace.sent(now, packet);
        }
        if let Some(qlogs) = &mut self.qlogs {
            qlogs.sent(packet);
        }
    }

    fn dropped(&mut self, now: Time, packet: &Dropped<'_>) {
        if let Some(packets) = &mut self.packets {
            packets.dropped(now, packet);
        }
        if let Some(pcap) = &mut self.pcap {
            pcap.dropped(now, packet);
        }
        if let Some((trace, _)) = &mut self.trace {
            trace.dropped(now, packet);
        }
    }

    fn arrived(&mut self, now: Time, packet: &Arrived<'_>) {
        if let Some(packets) = &mut self.packets {
            packets.arrived(now, packet);
        }
        if let Some((trace, _)) = &mut self.trace {
            trace.arrived(packet);
        }
        if let Some(pcap) = &mut self.pcap {
            pcap.arrived(now, packet);
        }
        if let Some(qlogs) = &mut self.qlogs {
            qlogs.arrived(packet);
        }
    }

    fn sample(&mut self, now: Time, sample: &Sample) {
        if let Some((trace, _)) = &mut self.trace {
            trace.sample(now, sample);
        }
        if let Some(qlogs) = &mut self.qlogs {
            qlogs.sample(sample);
        }
    }

    fn sample_interval(&self) -> Option<Span> {
        let wanted = self.trace.is_some() || self.qlogs.is_some();
        wanted.then_some(SAMPLE_INTERVAL)
    }
}

/// What a capture has beside each packet: its block and its comment.
const CAPTURED_BYTES: u64 = 90;
/// Queue, rate and window in traces and qlogs: fifty times a second.
const SAMPLE_INTERVAL: Span = Span::from_millis(20);
