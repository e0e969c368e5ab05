//! From a scenario's text to a [`Scenario`], with everything that is wrong at once.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use netmodel::document::{self, Problem};
use netmodel::{Profile, builtin};
use relay_core::Settings;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use units::Span;

use super::error::Findings;
use super::{Scenario, ScenarioErrors, ScenarioFile, check_duration, names, seeds};
use crate::offload::Real;
use crate::workload::Workload;

pub(super) fn read(
    source_name: &str,
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Scenario, ScenarioErrors> {
    let (file, problems) = document::recover::<ScenarioFile>(text);
    let root = OnceCell::new();
    let found = Findings::new(source_name, text);
    let mut reader = Reader { text, root: &root, lookup, whole: problems.is_empty(), found };
    reader.found.extend(problems);
    let scenario = file.map(|file| reader.scenario(&file));
    reader.found.into_result()?;
    Ok(scenario.flatten().expect("a scenario without problems is whole"))
}

struct Reader<'a> {
    text: &'a str,
    /// The document with the place of everything in it, once it was asked for; `None` if it is not
    /// TOML.
    root: &'a OnceCell<Option<DeTable<'a>>>,
    lookup: &'a dyn Fn(&str) -> Option<String>,
    /// Whether the document had no faulty entries; else what is absent may just have been faulty.
    whole: bool,
    found: Findings,
}

impl<'a> Reader<'a> {
    fn root(&self) -> Option<&'a DeTable<'a>> {
        self.root.get_or_init(|| DeTable::parse(self.text).ok().map(Spanned::into_inner)).as_ref()
    }

    /// The scenario as far as it can be made; it is only used if nothing was found wrong.
    fn scenario(&mut self, file: &ScenarioFile) -> Option<Scenario> {
        let inline = self.inline_profiles(file);
        let profiles = self.profiles(file, &inline);
        let robot_hop = self.robot_hop(file, &inline, &profiles);
        self.unused_profiles(file, &profiles, robot_hop.as_deref());
        let reference = self.reference(file);
        Some(Scenario {
            description: file.description.clone().unwrap_or_default(),
            duration: self.duration(file),
            warmup: self.warmup(file),
            seeds: self.seeds(file),
            base_seed: file.base_seed.map_or(1, |seed| seed.0),
            workload: self.workload(file),
            settings: self.settings(file),
            real: self.real(file),
            profiles,
            robot_hop: robot_hop?,
            reference,
        })
    }

    fn duration(&mut self, file: &ScenarioFile) -> Span {
        let Some(given) = &file.duration else { return DURATION_DEFAULT };
        let duration = *given.get_ref();
        if let Err(message) = check_duration(duration) {
            self.found.push(Problem::new(message).at(given.span()));
        }
        duration
    }

    fn warmup(&mut self, file: &ScenarioFile) -> Span {
        let Some(given) = &file.warmup else { return WARMUP_DEFAULT };
        let warmup = *given.get_ref();
        if warmup > WARMUP_MAX {
            let message = format!("warmup is {warmup}, outside 0 s to 60 s");
            self.found.push(Problem::new(message).at(given.span()));
        }
        warmup
    }

    fn seeds(&mut self, file: &ScenarioFile) -> Vec<u64> {
        let Some(given) = &file.seeds else { return vec![1] };
        seeds::parse(given.get_ref()).unwrap_or_else(|message| {
            self.found.push(Problem::new(message).at(given.span()));
            Vec::new()
        })
    }

    fn workload(&mut self, file: &ScenarioFile) -> Arc<Workload> {
        let Some(given) = &file.workload else { return Arc::default() };
        let problems = given.get_ref().problems();
        self.found.extend(problems.into_iter().map(|p| p.at(given.span())));
        Arc::new(given.get_ref().clone())
    }

    /// The settings in the order of the file.
    fn settings(&mut self, file: &ScenarioFile) -> Vec<(String, Arc<Settings>)> {
        if file.settings.is_empty() && self.whole {
            let problem = Problem::new("there are no settings to run");
            self.found
                .push(problem.help("add a `[settings.<name>]` block; an empty one is the default relay"));
        }
        let mut blocks: Vec<_> = file.settings.iter().collect();
        blocks.sort_by_key(|(name, _)| name.span().start);
        for (name, settings) in &blocks {
            if !names::valid(name.get_ref()) {
                let message = names::complaint("name for settings", name.get_ref());
                self.found.push(Problem::new(message).at(name.span()));
            }
            let problems = settings.get_ref().problems();
            let root = if problems.is_empty() { None } else { self.root() };
            for wrong in problems {
                let keys = ["settings", name.get_ref()].into_iter().chain(wrong.key.split('.'));
                let span = root.and_then(|root| locate(root, keys)).unwrap_or_else(|| settings.span());
                self.found.push(Problem::new(wrong.to_string()).at(span));
            }
        }
        blocks.into_iter().map(|(name, s)| (name.get_ref().clone(), Arc::new(s.get_ref().clone()))).collect()
    }

    /// What is for real cells; about settings that there are.
    fn real(&mut self, file: &ScenarioFile) -> Real {
        for name in file.real.settings.keys().filter(|_| self.whole) {
            let known = || file.settings.keys().map(|known| known.get_ref().as_str());
            if !known().any(|known| known == name.get_ref()) {
                let problem = Problem::new(format!("there are no settings `{}`", name.get_ref()));
                let help = document::suggest(name.get_ref(), known()).map_or_else(
                    || "a table in `real.settings` is called like the settings that it is for".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                self.found.push(problem.at(name.span()).help(help));
            }
        }
        Real::of_file(&file.real)
    }

    /// The `[profile.<name>]` tables; `None` for one with problems.
    fn inline_profiles(&mut self, file: &ScenarioFile) -> Inline {
        let mut profiles = Vec::new();
        for (name, table) in &file.profile {
            let text = name.get_ref();
            if !names::valid(text) {
                self.found.push(Problem::new(names::complaint("name for a profile", text)).at(name.span()));
            }
            let resolved = if self.whole {
                Profile::from_file(text, table.get_ref(), self.lookup)
            } else {
                Err(Profile::problems_of_recovered(text, table.get_ref(), self.lookup))
            };
            let profile = match resolved {
                Ok(profile) => Some(Arc::new(profile)),
                Err(problems) => {
                    let placed = |p: Problem| if p.span.is_none() { p.at(name.span()) } else { p };
                    self.found.extend(problems.into_iter().map(placed));
                    None
                }
            };
            profiles.push((text.clone(), profile));
        }
        profiles
    }

    fn profiles(&mut self, file: &ScenarioFile, inline: &Inline) -> Vec<Arc<Profile>> {
        let Some(list) = &file.profiles else {
            if self.whole {
                let problem = Problem::new("there are no profiles to run");
                self.found.push(problem.help("add `profiles = [\"…\"]` with names or paths of profiles"));
            }
            return Vec::new();
        };
        if list.get_ref().is_empty() && self.whole {
            self.found.push(Problem::new("there are no profiles to run").at(list.span()));
        }
        let mut profiles: Vec<Arc<Profile>> = Vec::new();
        for wanted in list.get_ref() {
            let Some(profile) = self.profile(wanted, inline) else { continue };
            if profiles.iter().any(|p| p.name == profile.name) {
                let message = format!("there are two profiles called `{}`", profile.name);
                self.found.push(Problem::new(message).at(wanted.span()));
            } else {
                profiles.push(profile);
            }
        }
        profiles
    }

    fn robot_hop(
        &mut self,
        file: &ScenarioFile,
        inline: &Inline,
        profiles: &[Arc<Profile>],
    ) -> Option<Arc<Profile>> {
        let Some(wanted) = &file.robot_hop else {
            return self.profile(&Spanned::new(0..0, ROBOT_HOP_DEFAULT.to_owned()), inline);
        };
        let profile = self.profile(wanted, inline)?;
        if profiles.iter().any(|p| p.name == profile.name && *p != profile) {
            let message = format!("there are two profiles called `{}`", profile.name);
            self.found.push(Problem::new(message).at(wanted.span()));
        }
        Some(profile)
    }

    /// The profile of this name or path; notes the problem if there is none.
    fn profile(&mut self, wanted: &Spanned<String>, inline: &Inline) -> Option<Arc<Profile>> {
        let name = wanted.get_ref().as_str();
        if let Some((_, profile)) = inline.iter().find(|(own, _)| own == name) {
            return profile.clone();
        }
        let is_path = names::is_path(name);
        if !is_path && let Some(profile) = builtin::profile(name) {
            return Some(Arc::new(profile));
        }
        if !self.whole && self.root().is_some_and(|root| locate(root, ["profile", name]).is_some()) {
            // It is there and was faulty as a whole.
            return None;
        }
        let Some(text) = (self.lookup)(name) else {
            let problem = if is_path {
                Problem::new(format!("cannot read the profile file `{name}`"))
            } else {
                unknown_profile(name, inline.iter().map(|(own, _)| own.as_str()))
            };
            self.found.push(problem.at(wanted.span()));
            return None;
        };
        if text == self.text {
            let problem = Problem::new(format!("`{name}` is this scenario, not a profile"));
            self.found.push(problem.at(wanted.span()).help("name a file with the conditions of one link"));
            return None;
        }
        let file_name = name.rsplit('/').next().unwrap_or(name);
        let stem = file_name.strip_suffix(".toml").unwrap_or(file_name);
        if !names::valid(stem) {
            let message = names::complaint("name for a profile", stem);
            self.found
                .push(Problem::new(message).at(wanted.span()).help("the file's name names the profile"));
        }
        match Profile::parse_with(stem, &text, self.lookup) {
            Ok(profile) => Some(Arc::new(profile)),
            Err(problems) => {
                self.found.other(name, &text, problems);
                None
            }
        }
    }

    fn unused_profiles(
        &mut self,
        file: &ScenarioFile,
        profiles: &[Arc<Profile>],
        robot_hop: Option<&Profile>,
    ) {
        let used = |name: &str| {
            profiles.iter().any(|p| p.name == name)
                || robot_hop.is_some_and(|p| p.name == name)
                || file.profiles.iter().flat_map(Spanned::get_ref).any(|p| p.get_ref() == name)
        };
        for name in file.profile.keys().filter(|name| self.whole && !used(name.get_ref())) {
            let problem = Problem::new(format!("profile `{}` is not used", name.get_ref())).at(name.span());
            self.found.push(problem.help("name it in `profiles` or `robot_hop`"));
        }
    }

    fn reference(&mut self, file: &ScenarioFile) -> super::Reference {
        for (profile, settings) in &file.reference {
            for (name, metrics) in settings {
                for (metric, _) in metrics.iter().filter(|(_, value)| !value.is_finite()) {
                    let span = self.root().and_then(|r| locate(r, ["reference", profile, name, metric]));
                    let message = format!("reference `{metric}` is not a number");
                    self.found.push(Problem { span, ..Problem::new(message) });
                }
            }
        }
        file.reference.clone()
    }
}

/// Own profiles of a scenario by name; `None` for one with problems.
type Inline = Vec<(String, Option<Arc<Profile>>)>;

/// The complaint about a profile that does not exist.
pub(super) fn unknown_profile<'a>(name: &'a str, own: impl Iterator<Item = &'a str>) -> Problem {
    let known: Vec<&str> = own.chain(builtin::names().iter().copied()).collect();
    let problem = Problem::new(format!("there is no profile `{name}`"));
    match document::suggest(name, known.iter().copied()) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem.help(format!("the profiles are {}", known.join(", "))),
    }
}

/// Where the value under `keys` stands in the text that `root` was read from.
fn locate<'a>(root: &DeTable<'_>, keys: impl IntoIterator<Item = &'a str>) -> Option<Range<usize>> {
    let mut keys = keys.into_iter();
    let mut value = root.get(keys.next()?)?;
    for key in keys {
        let DeValue::Table(table) = value.get_ref() else { return None };
        value = table.get(key)?;
    }
    Some(value.span())
}

const DURATION_DEFAULT: Span = Span::from_secs(120);
const WARMUP_DEFAULT: Span = Span::from_secs(5);
const WARMUP_MAX: Span = Span::from_secs(60);
const ROBOT_HOP_DEFAULT: &str = "robot-hop";
