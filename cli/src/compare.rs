//! `arcbench compare`: two runs, or two settings, before and after.

use std::path::{Path, PathBuf};

use bench::Summary;
use bench::metrics::summary::Status;
use bench::netmodel::document::suggest;
use bench::scenario::name_matches;
use report::compare::record::{CompareResult, SideRecord};
use report::compare::text;
use report::{Compared, Group, Verdict};

use crate::args::{Compare, FailOn, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kept::{self, Kept};
use crate::{comparable, gates, grid, input, output};

/// Reads both sides and prints what differs.
pub(crate) fn run(arguments: &Compare) -> Result<Exit, Failure> {
    input::no_files(&arguments.profiles)?;
    let metrics = grid::metrics(&arguments.metric)?;
    let before = Side::find(&arguments.before, arguments.run.as_deref())?;
    let after = Side::find(&arguments.after, arguments.run.as_deref())?;
    let (before, after) = named(before, after)?;
    // A gate is about what is compared: other settings of the same run are not judged.
    let chosen: Vec<_> =
        after.kept.cells.iter().filter(|cell| after.has(&cell.settings_name)).cloned().collect();
    let wanted = gates::read(&arguments.gate, &chosen)?;
    comparable::check(&before.kept, &after.kept)?;
    before.tell_of_repeats();
    if before.kept.path != after.kept.path {
        after.tell_of_repeats();
    }
    let pairing = Pairing::new(&before, &after, &arguments.profiles);
    let compared = Compared::new(&pairing.groups, &metrics);
    if compared.pairs == 0 {
        return Err(nothing(&before, &after));
    }
    let judged = gates::judge(&wanted, &chosen, &after.kept.summaries);
    tell(&before, &after, arguments.format);
    output::data(&match arguments.format {
        Format::Human => text::human(&compared, output::columns()),
        Format::Markdown => text::markdown(&compared),
        Format::Csv => text::csv(&compared),
        Format::Json => {
            let side = |side: &Side, unpaired: &[String]| SideRecord {
                run: side.kept.id.clone(),
                folder: side.kept.path.display().to_string(),
                settings: side.settings.clone(),
                unpaired: unpaired.to_vec(),
            };
            let (before, after) = (side(&before, &pairing.only.0), side(&after, &pairing.only.1));
            let record = CompareResult::new(&compared, before, after, judged.clone());
            serde_json::to_string(&record)
                .map_err(|error| Failure::unexpected(format!("writing the comparison as JSON: {error}")))?
        }
    })?;
    pairing.tell();
    let replay = |profile: &str, settings: &str, seed: &str| after.kept.replay(profile, settings, seed);
    let gate_failed = gates::tell(&judged, false, replay);
    Ok(ended(arguments.fail_on, &compared, &pairing, gate_failed))
}

/// Says on stderr which runs are compared: one line where both sides are of one run.
fn tell(before: &Side, after: &Side, format: Format) {
    if before.kept.path == after.kept.path {
        return before.kept.tell(format);
    }
    for (what, side) in [("run folder before", before), ("run folder after", after)] {
        kept::tell(what, &side.kept.path, side.kept.newest, format);
    }
}

/// The exit code: what is missing weighs more than what is worse.
fn ended(fail_on: FailOn, compared: &Compared, pairing: &Pairing<'_>, gate_failed: bool) -> Exit {
    let regression = match fail_on {
        FailOn::None => false,
        FailOn::Worse => compared.count(Verdict::Worse) > 0,
        FailOn::Unsettled => compared.count(Verdict::Worse) > 0 || compared.leans_worse(),
    };
    if !pairing.newly_failed.is_empty() {
        Exit::CellsFailed
    } else if gate_failed {
        Exit::GateFailed
    } else if regression {
        Exit::Regression
    } else {
        Exit::Ok
    }
}

/// One side: a run, and perhaps one settings of it.
struct Side {
    kept: Kept,
    settings: Option<String>,
}

impl Side {
    /// What `text` means: a run folder, `RUN:SETTINGS`, or settings of `run` or the newest run.
    fn find(text: &str, run: Option<&Path>) -> Result<Self, Failure> {
        let folder = Path::new(text);
        if folder.is_dir() {
            return Ok(Self { kept: Kept::read(folder)?, settings: None });
        }
        let (folder, settings): (Option<PathBuf>, &str) = match text.rsplit_once(':') {
            Some((folder, settings)) if Path::new(folder).is_dir() => (Some(folder.into()), settings),
            None if !text.contains(std::path::is_separator) => (run.map(Path::to_owned), text),
            _ => {
                return Err(Failure::usage(format!("there is no run folder `{text}`"))
                    .help("a side is a run folder, RUN:SETTINGS, or the name of settings in --run"));
            }
        };
        let kept = Kept::find(folder.as_deref())?;
        let names: Vec<&str> = kept.scenario.settings().iter().map(|(name, _)| name.as_str()).collect();
        if !names.contains(&settings) {
            let near = suggest(settings, names.iter().copied());
            let help = near
                .map_or_else(|| format!("it has {}", names.join(", ")), |n| format!("did you mean `{n}`?"));
            let shown = kept.path.display();
            return Err(Failure::usage(format!(
                "no run folder and no settings in `{shown}` is called `{settings}`"
            ))
            .help(help));
        }
        Ok(Self { settings: Some(settings.to_owned()), kept })
    }

    /// Whether cells under these settings are on this side.
    fn has(&self, settings: &str) -> bool {
        self.settings.as_ref().is_none_or(|chosen| chosen == settings)
    }

    /// The summaries on this side: of a real cell the first time that it was run, since repeats are no seeds of their
    /// own and would make any difference look surer than it is.
    fn summaries(&self) -> impl Iterator<Item = &Summary> {
        self.kept.summaries.iter().filter(|cell| self.has(&cell.settings) && cell.repeat <= 1)
    }

    /// Says on stderr that there are others.
    fn tell_of_repeats(&self) {
        if self.kept.summaries.iter().any(|cell| self.has(&cell.settings) && cell.repeat > 1) {
            let shown = self.kept.path.display();
            output::note(&format!("note: of the repeats in `{shown}` the first is compared"));
        }
    }
}

/// Where one side names its settings, so must the other, unless it has only one.
fn named(mut before: Side, mut after: Side) -> Result<(Side, Side), Failure> {
    let only = |side: &Side| match side.kept.scenario.settings() {
        [(name, _)] => Ok(Some(name.clone())),
        _ => Err(Failure::usage(format!(
            "one side names its settings and `{}` does not",
            side.kept.path.display()
        ))
        .help(format!("write {}:SETTINGS", side.kept.path.display()))),
    };
    match (&before.settings, &after.settings) {
        (Some(_), None) => after.settings = only(&after)?,
        (None, Some(_)) => before.settings = only(&before)?,
        _ => {}
    }
    Ok((before, after))
}

fn nothing(before: &Side, after: &Side) -> Failure {
    let of = |side: &Side| {
        let settings = side.settings.as_ref().map(|name| format!(":{name}")).unwrap_or_default();
        let count = side.summaries().filter(|cell| cell.status == Status::Ok).count();
        format!("`{}{settings}` has {count} finished", side.kept.path.display())
    };
    Failure::nothing_selected(format!("compared 0 cells: {}, {}", of(before), of(after)))
        .help("a pair needs the same profile and seed (and, where no settings are named, the same settings)")
}

/// Which cell belongs to which.
struct Pairing<'a> {
    groups: Vec<Group<'a>>,
    /// Ids of finished cells without a finished counterpart, before and after.
    only: (Vec<String>, Vec<String>),
    /// Cells that are finished before and failed after.
    newly_failed: Vec<String>,
}

impl<'a> Pairing<'a> {
    fn new(before: &'a Side, after: &'a Side, profiles: &[String]) -> Self {
        let selected =
            |cell: &&Summary| profiles.is_empty() || profiles.iter().any(|p| name_matches(p, &cell.profile));
        let by_name = before.settings.is_none();
        let same = |a: &Summary, b: &Summary| {
            (&a.profile, &a.seed) == (&b.profile, &b.seed) && (!by_name || a.settings == b.settings)
        };
        let ok = |cell: &Summary| cell.status == Status::Ok;
        let id = |cell: &Summary| cell.cell.clone();
        let mut pairing =
            Self { groups: Vec::new(), only: (Vec::new(), Vec::new()), newly_failed: Vec::new() };
        for a in before.summaries().filter(selected).filter(|cell| ok(cell)) {
            match after.summaries().find(|b| same(a, b)) {
                Some(b) if ok(b) => pairing.add(a, b),
                Some(b) => pairing.newly_failed.push(id(b)),
                None => pairing.only.0.push(id(a)),
            }
        }
        let alone = |b: &&Summary| ok(b) && !before.summaries().any(|a| ok(a) && same(a, b));
        pairing.only.1 = after.summaries().filter(selected).filter(alone).map(id).collect();
        pairing
    }

    fn add(&mut self, a: &'a Summary, b: &'a Summary) {
        let is = |group: &&mut Group<'_>| {
            group.profile == a.profile && group.before == a.settings && group.after == b.settings
        };
        match self.groups.iter_mut().find(is) {
            Some(group) => group.pairs.push((a, b)),
            None => self.groups.push(Group {
                profile: a.profile.clone(),
                before: a.settings.clone(),
                after: b.settings.clone(),
                pairs: vec![(a, b)],
            }),
        }
    }

    /// Says on stderr what was left out.
    fn tell(&self) {
        let some = |ids: &[String]| {
            let more = ids.len().saturating_sub(NAMED_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", ids[..ids.len().min(NAMED_MAX)].join(", "))
        };
        for (what, ids) in [
            ("failed after and not before", &self.newly_failed),
            ("not compared, finished only before", &self.only.0),
            ("not compared, finished only after", &self.only.1),
        ] {
            if !ids.is_empty() {
                output::note(&format!("{what}: {}", some(ids)));
            }
        }
    }
}

/// Cells that are named before it is only said how many more there are.
const NAMED_MAX: usize = 6;
