//! `arcbench replay`: one kept cell again, checked against what was kept of it, with as much written of it
//! as is asked for; and the lines that a person pastes to get something again.
//!
//! The cell is run once to see that it is the same, and once more with writers listening in. Files get
//! their names only when that too came to the same.

pub(crate) mod at;
mod check;
mod content;
mod line;
mod packets;
mod pcap;
mod qlog;
mod spans;
mod taps;
mod trace;
mod under_way;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use bench::CellResult;
use report::{Align, Sheet};
use sim::{Options, Tap, run_cell};
use units::Span;

use crate::args::{Crypto, Format, Replay};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kept_cell::KeptCell;
use crate::records::{self, ReplayRecord, WrittenRecord};
use crate::{interrupt, output};

use self::spans::Window;
use self::taps::Written;

pub(crate) use self::line::{again, from_folder, line};

/// Runs the cell again and writes what is asked.
pub(crate) fn run(arguments: &Replay) -> Result<Exit, Failure> {
    let cancel = interrupt::listen()?;
    let kept = KeptCell::find(&arguments.cell, arguments.run.as_deref())?;
    let crypto = arguments.crypto.unwrap_or(kept.crypto);
    if arguments.keylog.is_some() && crypto != Crypto::Tls {
        return Err(Failure::usage("there are no keys to log without TLS").help("add --crypto tls"));
    }
    taps::check_paths(arguments)?;
    let first = plain(&kept, crypto)?;
    let differences = check::differences(&kept, &first);
    if !differences.is_empty() {
        return Err(not_the_same(&kept, &differences));
    }
    let mut written = Vec::new();
    if taps::wanted(arguments) {
        let window = window(arguments, &kept, &first)?;
        check_not_interrupted(cancel)?;
        let files = taps::write(arguments, &kept, crypto, window)?;
        check_not_interrupted(cancel)?;
        written = taps::name(files)?;
    }
    report(arguments, &kept, &first, &written)
}

/// The cell with nobody listening in.
pub(crate) fn plain(kept: &KeptCell, crypto: Crypto) -> Result<CellResult, Failure> {
    run_cell(&kept.cell, Options { crypto: crypto.sim(), ..Options::default() })
        .map_err(|error| failed(&error))
}

/// The cell with `tap` listening in. The result must be that of `hash`.
pub(crate) fn tapped(
    kept: &KeptCell,
    tap: &mut dyn Tap,
    options: Options<'_>,
) -> Result<CellResult, Failure> {
    let result =
        run_cell(&kept.cell, Options { tap: Some(tap), ..options }).map_err(|error| failed(&error))?;
    let differences = check::differences(kept, &result);
    if differences.is_empty() { Ok(result) } else { Err(not_the_same(kept, &differences)) }
}

fn failed(error: &sim::SimError) -> Failure {
    Failure::unexpected(format!("failed to run the cell: {error}"))
}

fn not_the_same(kept: &KeptCell, differences: &[String]) -> Failure {
    let mut message =
        format!("{} did not come to the same result as the one that was kept", kept.summary.cell);
    for line in differences {
        message.push_str("\n  ");
        message.push_str(line);
    }
    Failure { exit: Exit::NotDeterministic, ..Failure::unexpected(message) }
        .help("nothing was written; results of another build are run anew with `arcbench run --fresh`")
}

fn check_not_interrupted(cancel: &AtomicBool) -> Result<(), Failure> {
    if cancel.load(Ordering::Relaxed) { Err(Failure::interrupted("nothing was written")) } else { Ok(()) }
}

/// What the trace covers.
fn window(arguments: &Replay, kept: &KeptCell, first: &CellResult) -> Result<Window, Failure> {
    let duration = kept.cell.duration;
    let (Some(from), to) = (arguments.from, arguments.to) else {
        if arguments.to.is_some() {
            return Err(Failure::usage("--to without --from").help("add for example --from 0s"));
        }
        return Ok(spans::worst(&kept.cell, first, WINDOW));
    };
    let to = to.unwrap_or(from + WINDOW).min(duration);
    if from >= to {
        return Err(Failure::usage(format!("there is no traffic between {from} and {to}"))
            .help(format!("the cell has {duration} of it")));
    }
    Ok(Window { from_ns: from.as_nanos(), to_ns: to.as_nanos() })
}

fn report(
    arguments: &Replay,
    kept: &KeptCell,
    result: &CellResult,
    written: &[Written],
) -> Result<Exit, Failure> {
    let summary = &result.summary;
    match arguments.format {
        Format::Human => {
            let mut text = format!("{}\n  the same: trace hash {}\n", summary.cell, summary.trace_hash);
            for Written { what, path, bytes, events } in written {
                let size = size(*bytes);
                let _ = writeln!(
                    text,
                    "  {what}: {} ({events} {}, {size}){}",
                    path.display(),
                    unit(what),
                    opens(what)
                );
            }
            output::data(&text)?;
        }
        Format::Json => {
            let file = |Written { what, path, bytes, events }: &Written| WrittenRecord {
                what: (*what).to_owned(),
                path: path.display().to_string(),
                bytes: *bytes,
                events: *events,
            };
            output::data(&records::line(&ReplayRecord {
                schema: "arcbench.replay",
                version: records::VERSION,
                cell: kept.summary.cell.clone(),
                same: true,
                trace_hash: summary.trace_hash.clone(),
                packets: summary.packets,
                written: written.iter().map(file).collect(),
            })?)?;
        }
        Format::Markdown => output::data(&sheet(written).markdown())?,
        Format::Csv => output::data(&sheet(written).csv())?,
    }
    Ok(Exit::Ok)
}

/// A row for each file.
fn sheet(written: &[Written]) -> Sheet {
    let mut sheet = Sheet::new([
        ("what", Align::Left),
        ("path", Align::Left),
        ("events", Align::Right),
        ("bytes", Align::Right),
    ]);
    for Written { what, path, bytes, events } in written {
        sheet.row([what.to_string(), path.display().to_string(), events.to_string(), bytes.to_string()]);
    }
    sheet
}

fn unit(what: &str) -> &'static str {
    match what {
        "packets" => "lines",
        "pcap" => "packets",
        "keylog" => "secrets",
        _ => "events",
    }
}

/// What reads it.
fn opens(what: &str) -> &'static str {
    match what {
        "trace" => "; open it at https://ui.perfetto.dev",
        "qlog" => "; open it at https://qvis.quictools.info",
        "pcap" => "; open it with Wireshark",
        "packets" => "; its columns are in docs/replay.md",
        _ => "",
    }
}

/// Bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// How much of a cell a trace covers unless asked otherwise.
const WINDOW: Span = Span::from_secs(10);
