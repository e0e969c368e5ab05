//! `arcbench fates`: what becomes of each packet of a link, by the model and by real links, and where they differ.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use bench::Direction;
use bench::netmodel::{Profile, Verdict};
use bench::scenario::SourceProblems;
use bench::units::Span;
use realbench::fates::{
    Fate, Fates, FatesOptions, IP_BYTES_MAX, IP_BYTES_MIN, Lateness, by_backend, by_model, differences,
};
use realbench::net::enter_user_namespace;
use report::{Align, Sheet};

use crate::args::{self, FateBackend, Format, Selection};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::records::{
    self, BackendRecord, FateRecord, FatesRecord, LagRecord, LatenessRecord, LinkReportRecord,
};
use crate::{diagnostics, input, output, text_file};

/// Sends the packets by every backend that is asked for, and compares.
pub(crate) fn run(arguments: &args::Fates) -> Result<Exit, Failure> {
    let options = options(arguments)?;
    let real = arguments.backend.iter().any(|backend| *backend != FateBackend::Sim);
    if real {
        // Before there is a second thread.
        enter_user_namespace().map_err(|error| impossible(&format!("failed to {error}")))?;
    }
    let mut columns = Vec::new();
    let late_max = arguments.late_max.as_deref().map(|text| span("late-max", text)).transpose()?;
    for backend in &arguments.backend {
        columns.push(column(&options, *backend, late_max)?);
    }
    match arguments.format {
        Format::Human => output::data(&human(&options, &columns))?,
        Format::Json => output::data(&records::line(&record(arguments, &options, &columns))?)?,
        Format::Markdown => output::data(&sheet(&options, &columns).markdown())?,
        Format::Csv => output::data(&sheet(&options, &columns).csv())?,
    }
    let equal = columns.iter().all(|column| column.differences.is_empty());
    Ok(if equal { Exit::Ok } else { Exit::NotDeterministic })
}

/// What one backend did.
struct Column {
    name: &'static str,
    fates: Fates,
    /// Of a real link: the model's, of packets sent when its own were. These are what it is compared with, since
    /// where there is a queue or an outage, a fate depends on when a packet is sent.
    model: Option<Fates>,
    /// The packets whose fate is not the one that the model gives them.
    differences: Vec<usize>,
    /// How late packets were, where that is seen from outside.
    lateness: Option<Lateness>,
}

fn column(options: &FatesOptions, backend: FateBackend, late_max: Option<Span>) -> Result<Column, Failure> {
    let name = backend.name();
    let Some(link) = realbench::link::backend(name) else {
        let fates = by_model(options, None);
        return Ok(Column { name, fates, model: None, differences: Vec::new(), lateness: None });
    };
    let fates = by_backend(options, link).map_err(|error| impossible(&format!("failed to {error}")))?;
    // Where delays depend on when packets are sent, the model has to be asked about the same times.
    let model = by_model(options, Some(&fates.fates));
    let lateness = if fates.exact { None } else { Lateness::of(&fates, &model) };
    let differences = differences(&fates, &model, late_max);
    Ok(Column { name, differences, lateness, fates, model: Some(model) })
}

fn impossible(message: &str) -> Failure {
    Failure::usage(message).help("`arcbench doctor` says what this machine can do")
}

/// The packets of the cell that `run` would make of the same profile and seed.
fn options(arguments: &args::Fates) -> Result<FatesOptions, Failure> {
    let interval = span("interval", &arguments.interval)?;
    if interval > INTERVAL_MAX {
        return Err(Failure::usage(format!("`--interval {interval}` is more than {INTERVAL_MAX}")));
    }
    let is_path = arguments.profile.contains('/') || Path::new(&arguments.profile).extension().is_some();
    let profiles = (!is_path).then(|| vec![arguments.profile.clone()]);
    let seeds = Some(arguments.seed.to_string());
    let mut loaded = input::load(&Selection { seeds, profiles, ..Selection::default() })?;
    let mut cell = loaded.cells.swap_remove(0);
    if is_path {
        cell.profile = Arc::new(read(&arguments.profile)?);
    }
    Ok(FatesOptions {
        profile: Arc::clone(&cell.profile),
        key: cell.key(),
        direction: match arguments.direction {
            args::FateDirection::Up => Direction::Up,
            args::FateDirection::Down => Direction::Down,
        },
        packets: arguments.packets,
        ip_bytes: arguments.bytes.clamp(IP_BYTES_MIN, IP_BYTES_MAX),
        interval,
    })
}

fn span(flag: &str, text: &str) -> Result<Span, Failure> {
    text.parse().map_err(|error| Failure::usage(format!("`--{flag} {text}`: {error}")))
}

fn read(path: &str) -> Result<Profile, Failure> {
    let unreadable = |reason| Failure::usage(format!("cannot read the profile `{path}`: {reason}"));
    let text = text_file::read(Path::new(path)).map_err(unreadable)?;
    let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    let folder = Path::new(path).parent().map(Path::to_owned).unwrap_or_default();
    let load = |name: &str| text_file::read(&folder.join(name)).ok();
    Profile::parse_with(&stem, &text, &load).map_err(|problems| {
        diagnostics::failure(&[SourceProblems { name: path.to_owned(), text: text.clone(), problems }])
    })
}

fn human(options: &FatesOptions, columns: &[Column]) -> String {
    let mut out = format!("{:>8}", "packet");
    for column in columns {
        let _ = write!(out, "  {:>14}", column.name);
        if let Some(name) = column.model_name() {
            let _ = write!(out, "  {name:>14}");
        }
    }
    out.push('\n');
    for number in 0..options.packets as usize {
        let _ = write!(out, "{number:>8}");
        for column in columns {
            let fate = column.fates.fates.get(number).map_or_else(String::new, said);
            let mark = if column.differences.binary_search(&number).is_ok() { "!" } else { " " };
            let _ = write!(out, "  {fate:>13}{mark}");
            if let Some(model) = &column.model {
                let fate = model.fates.get(number).map_or_else(String::new, said);
                let _ = write!(out, "  {fate:>14}");
            }
        }
        out.push('\n');
    }
    for name in columns.iter().filter_map(Column::model_name) {
        let (_, link) = name.split_once('@').unwrap_or_default();
        let _ = writeln!(
            out,
            "{name}: the model's fate of a packet sent when {link}'s was, which {link} is compared with"
        );
    }
    for column in columns {
        let fates = &column.fates.fates;
        let lost = fates.iter().filter(|fate| fate.verdict != Verdict::Accepted).count();
        let _ = write!(out, "{}: {lost} of {} lost or dropped", column.name, fates.len());
        if column.name != FateBackend::Sim.name() {
            let _ = write!(out, ", {} with another fate than the model's", column.differences.len());
        }
        out.push('\n');
        if let Some(late) = column.lateness {
            let _ = writeln!(
                out,
                "  delays seen from outside, over the model's: min {:.1} us, p50 {:.1} us, p99 {:.1} us, max {:.1} us",
                late.us_min, late.us_p50, late.us_p99, late.us_max
            );
        }
        if let Some(report) = &column.fates.report {
            if let Some(lag) = report.release_lag.summary() {
                let _ = writeln!(
                    out,
                    "  release lag: p50 {:.1} us, p99 {:.1} us, max {:.1} us; processor {:.1} % of a core",
                    lag.p50,
                    lag.p99,
                    lag.max,
                    100.0 * report.cpu.as_secs_f64() / report.wall.as_secs_f64().max(1e-9)
                );
            }
            for note in &report.notes {
                let _ = writeln!(out, "  note: {note}");
            }
        }
    }
    out
}

/// A row for each packet; for each backend its fate and its delay, and of a real link the model's of packets sent at the
/// same times and whether they differ.
fn sheet(options: &FatesOptions, columns: &[Column]) -> Sheet {
    let (left, right) = (Align::Left, Align::Right);
    let mut names = vec![("packet".to_owned(), right)];
    for column in columns {
        for name in [Some(column.name.to_owned()), column.model_name()].into_iter().flatten() {
            names.extend([(format!("{name}_fate"), left), (format!("{name}_delay_ms"), right)]);
        }
        if column.model.is_some() {
            names.push((format!("{}_differs", column.name), left));
        }
    }
    let mut sheet = Sheet::new(names.iter().map(|(name, align)| (name.as_str(), *align)));
    for number in 0..options.packets as usize {
        let mut row = vec![number.to_string()];
        for column in columns {
            for fates in [Some(&column.fates), column.model.as_ref()].into_iter().flatten() {
                let fate = fates.fates.get(number);
                row.push(fate.map_or("", |fate| what(fate)).to_owned());
                let delay = fate.and_then(|fate| fate.delay);
                row.push(delay.map(|delay| delay.as_millis_f64().to_string()).unwrap_or_default());
            }
            if column.model.is_some() {
                row.push(column.differences.binary_search(&number).is_ok().to_string());
            }
        }
        sheet.row(row);
    }
    sheet
}

impl Column {
    /// What the model's fates of packets sent at a real link's times are called.
    fn model_name(&self) -> Option<String> {
        self.model.as_ref().map(|_| format!("{}@{}", FateBackend::Sim.name(), self.name))
    }
}

fn said(fate: &Fate) -> String {
    match (fate.verdict, fate.delay) {
        (Verdict::Accepted, Some(delay)) => format!("{:.6} ms", delay.as_millis_f64()),
        _ => what(fate).to_owned(),
    }
}

fn what(fate: &Fate) -> &'static str {
    if fate.verdict == Verdict::Accepted && fate.delay.is_none() { "missing" } else { word(fate.verdict) }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "delivered",
        Verdict::Lost => "lost",
        Verdict::QueueFull => "queue full",
        Verdict::Outage => "outage",
    }
}

fn record(arguments: &args::Fates, options: &FatesOptions, columns: &[Column]) -> FatesRecord {
    let fate = |fate: &Fate| FateRecord {
        sent_us: fate.sent.as_nanos() as f64 / 1e3,
        fate: word(fate.verdict),
        delay_us: fate.delay.map(|delay| delay.as_nanos() as f64 / 1e3),
    };
    let backend = |column: &Column| BackendRecord {
        backend: column.name.to_owned(),
        exact: column.fates.exact,
        fates: column.fates.fates.iter().map(fate).collect(),
        model: column.model.as_ref().map(|model| model.fates.iter().map(fate).collect()),
        differences: column.differences.clone(),
        late_us: column.lateness.map(lateness),
        report: column.fates.report.as_ref().map(report),
    };
    FatesRecord {
        schema: "arcbench.fates",
        version: records::VERSION,
        profile: options.profile.name.clone(),
        seed: arguments.seed.to_string(),
        direction: options.direction.name().to_owned(),
        equal: columns.iter().all(|column| column.differences.is_empty()),
        backends: columns.iter().map(backend).collect(),
    }
}

fn lateness(late: Lateness) -> LatenessRecord {
    LatenessRecord {
        count: late.count,
        min: late.us_min,
        p50: late.us_p50,
        p99: late.us_p99,
        max: late.us_max,
    }
}

fn report(report: &realbench::link::LinkReport) -> LinkReportRecord {
    let lag = |lag: &realbench::Lag| {
        let summary = lag.summary().unwrap_or_default();
        LagRecord { count: lag.count(), p50: summary.p50, p99: summary.p99, max: summary.max }
    };
    LinkReportRecord {
        release_lag_us: lag(&report.release_lag),
        arrival_lag_us: lag(&report.arrival_lag),
        strays: report.strays,
        socket_drops: report.socket_drops,
        send_failures: report.send_failures,
        cpu_s: report.cpu.as_secs_f64(),
        wall_s: report.wall.as_secs_f64(),
        notes: report.notes.clone(),
    }
}

/// A longer one would make a command that does not end.
const INTERVAL_MAX: Span = Span::from_secs(10);
