//! `arcbench cdf`: how late frames are, over all produced frames, settings side by side.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bench::netmodel::document::suggest;
use bench::scenario::name_matches;
use bench::{Cell, CellFolder, Summary};
use report::cdf::{Curve, PERCENTS, chart, percentiles};
use report::{Align, Sheet};

use crate::args::{Cdf, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kept::{self, Kept};
use crate::records::{self, CdfCurve, CdfRecord};
use crate::{input, kept_cell, output, show};

/// Reads the frames and prints their distributions.
pub(crate) fn run(arguments: &Cdf) -> Result<Exit, Failure> {
    input::no_files(&arguments.profiles)?;
    let (folder, groups) = match &arguments.what {
        Some(what) if !Path::new(what).join(kept::SCENARIO).is_file() => {
            let (folder, group) = one_cell(what, arguments)?;
            let newest = arguments.run.is_none() && !Path::new(what).exists();
            kept::tell("cell folder", &folder, newest, arguments.format);
            (folder, vec![group])
        }
        folder => {
            let kept = Kept::find(folder.as_deref().map(Path::new).or(arguments.run.as_deref()))?;
            let groups = of_run(&kept, arguments)?;
            kept.tell(arguments.format);
            (kept.path, groups)
        }
    };
    output::data(&match arguments.format {
        Format::Human => human(&groups),
        Format::Markdown => markdown(&groups),
        Format::Csv => csv(&groups),
        Format::Json => records::line(&record(&folder, &groups, arguments))?,
    })?;
    Ok(Exit::Ok)
}

/// The curves of one profile.
struct Group {
    profile: String,
    curves: Vec<Curve>,
}

/// The folder of one cell, and its curve.
fn one_cell(what: &str, arguments: &Cdf) -> Result<(PathBuf, Group), Failure> {
    let file = show::find(what, arguments.run.as_deref())?;
    let folder = file.parent().map(Path::to_owned).unwrap_or_default();
    let summary: Summary = show::summary(&file)?;
    let cameras: Vec<&str> = summary.cameras.iter().map(|(name, _)| name).collect();
    let camera = camera(&cameras, arguments.camera.as_deref())?;
    let name = format!("{} seed {}", summary.settings, summary.seed);
    let curve = Curve::new(name, delays(&folder, camera)?);
    Ok((folder, Group { profile: summary.profile, curves: vec![curve] }))
}

/// The curves of a run: all seeds together, for each profile and settings.
fn of_run(kept: &Kept, arguments: &Cdf) -> Result<Vec<Group>, Failure> {
    let known = kept::known(&kept.cells);
    let cameras: Vec<&str> = known.cameras.iter().map(String::as_str).collect();
    let camera = camera(&cameras, arguments.camera.as_deref())?;
    let chosen = |patterns: &[String], name: &str| {
        patterns.is_empty() || patterns.iter().any(|pattern| name_matches(pattern, name))
    };
    let mut groups = Vec::new();
    for profile in known.profiles.iter().filter(|name| chosen(&arguments.profiles, name)) {
        let mut curves = Vec::new();
        for settings in known.settings.iter().filter(|name| chosen(&arguments.settings, name)) {
            let of = |cell: &&Summary| cell.profile == *profile && cell.settings == *settings;
            let mut all = Vec::new();
            for cell in kept.summaries.iter().filter(of) {
                all.extend(delays(&folder_of(kept, cell), camera)?);
            }
            if !all.is_empty() {
                curves.push(Curve::new(settings.clone(), all));
            }
        }
        if !curves.is_empty() {
            groups.push(Group { profile: profile.clone(), curves });
        }
    }
    if groups.is_empty() {
        let of = |cell: &Cell| format!("{}/{}", cell.profile.name, cell.settings_name);
        let first = kept.cells.first().map(of).unwrap_or_default();
        return Err(Failure::nothing_selected(format!(
            "no finished cell of `{}` is selected",
            kept.path.display()
        ))
        .help(format!("it names {first} and others")));
    }
    Ok(groups)
}

fn folder_of(kept: &Kept, cell: &Summary) -> PathBuf {
    kept.path.join("cells").join(&cell.cell)
}

/// The camera that was asked for, or the main one.
fn camera<'a>(cameras: &[&'a str], wanted: Option<&str>) -> Result<&'a str, Failure> {
    let found = match wanted {
        None => cameras.first(),
        Some(wanted) => cameras.iter().find(|name| **name == wanted),
    };
    found.copied().ok_or_else(|| {
        let wanted = wanted.unwrap_or("main");
        let near = suggest(wanted, cameras.iter().copied());
        let help = near
            .map_or_else(|| format!("there are {}", cameras.join(", ")), |n| format!("did you mean `{n}`?"));
        Failure::usage(format!("there is no camera `{wanted}`")).help(help)
    })
}

/// The delay of each frame of a camera, in microseconds; `None` if it never came.
fn delays(folder: &Path, camera: &str) -> Result<Vec<Option<u64>>, Failure> {
    let frames = CellFolder::at(folder).frames().map_err(|error| kept_cell::unreadable(&[error]))?;
    let delay = |frame: &bench::FrameRow| frame.delivered_us.map(|at| at.saturating_sub(frame.produced_us));
    Ok(frames.iter().filter(|frame| frame.camera == camera).map(delay).collect())
}

fn human(groups: &[Group]) -> String {
    let columns = output::columns();
    let mut out = String::new();
    for group in groups {
        let _ = writeln!(out, "{}: share of all produced frames that came within so long\n", group.profile);
        let _ = writeln!(out, "{}", chart(&group.curves, columns));
        let _ = writeln!(out, "{}", percentiles(&group.curves).human(columns));
    }
    out
}

fn markdown(groups: &[Group]) -> String {
    let of = |group: &Group| format!("**{}**\n\n{}", group.profile, percentiles(&group.curves).markdown());
    groups.iter().map(of).collect::<Vec<_>>().join("\n")
}

fn csv(groups: &[Group]) -> String {
    let names = ["profile", "settings", "produced", "delivered", "percent", "delay_ms"];
    let mut sheet = Sheet::new(names.map(|name| (name, Align::Left)));
    for group in groups {
        for curve in &group.curves {
            for percent in PERCENTS {
                sheet.row([
                    group.profile.clone(),
                    curve.name.clone(),
                    curve.produced().to_string(),
                    curve.delivered().to_string(),
                    percent.to_string(),
                    curve.delay_ms(percent).map(|ms| ms.to_string()).unwrap_or_default(),
                ]);
            }
        }
    }
    sheet.csv()
}

fn record(folder: &Path, groups: &[Group], arguments: &Cdf) -> CdfRecord {
    let curve = |group: &Group, curve: &Curve| {
        let delay = |percent: &u32| (format!("p{percent}"), curve.delay_ms(*percent));
        CdfCurve {
            profile: group.profile.clone(),
            settings: curve.name.clone(),
            produced: curve.produced(),
            delivered: curve.delivered(),
            delay_all_ms: PERCENTS.iter().map(delay).collect(),
        }
    };
    CdfRecord {
        schema: "arcbench.cdf",
        version: records::VERSION,
        folder: folder.display().to_string(),
        camera: arguments.camera.clone(),
        curves: groups.iter().flat_map(|group| group.curves.iter().map(|of| curve(group, of))).collect(),
    }
}
