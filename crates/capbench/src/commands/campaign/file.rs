//! The file of a campaign, and the runs that it expands to.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};
use capbench_report::command_line;
use capbench_sys::host::trust::{self, Trust};
use clap::{Arg, Command};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::EARLIER;
use crate::configuration::value::{Entries, Value, entries, line_of, parse, word};
use crate::configuration::{self, Configuration};
use crate::error_output;
use crate::exit::Usage;
use crate::suggestion::nearest;
use crate::{Cli, help};

/// The commands that a campaign can run.
const COMMANDS: [&str; 5] = ["bench", "search", "sweep", "rfc2544", "soak"];
/// Flags that a campaign gives to its runs itself.
const OWN_FLAGS: [&str; 2] = ["out", "dry-run"];
/// Runs of one file: far more than anybody waits for.
const MOST_RUNS: usize = 10_000;
/// Octets of a name, which is also the name of a directory.
const LONGEST_NAME: usize = 200;

/// A campaign.
#[derive(Debug)]
pub struct Campaign {
    pub name: String,
    /// What is said of all its runs in a dataset.
    pub labels: Vec<(String, String)>,
    /// In the order in which they are run.
    pub runs: Vec<PlannedRun>,
    /// The file, for messages.
    path: String,
}

/// A run of a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRun {
    /// The name of its directory.
    pub name: String,
    pub command: String,
    /// The words after the command, without the directory.
    pub words: Vec<String>,
    /// The line of its entry.
    line: usize,
}

impl PlannedRun {
    /// The command line that measures it. The directory is in front of the words of the campaign, and settings of the host are in
    /// front of it: so saved results show which words are of the campaign.
    pub fn measuring(&self, directory: &Path) -> Vec<String> {
        let front = [self.command.clone(), "--out".into(), directory.display().to_string()];
        front.into_iter().chain(self.words.iter().cloned()).collect()
    }

    /// The command line that goes on with it.
    pub fn resuming(&self, directory: &Path) -> Vec<String> {
        vec![self.command.clone(), "--resume".into(), directory.display().to_string()]
    }

    /// The command line that prints its plan.
    pub fn planning(&self) -> Vec<String> {
        let front = [self.command.clone(), "--dry-run".into()];
        front.into_iter().chain(self.words.iter().cloned()).collect()
    }

    /// The command line as a user types it.
    pub fn shown(&self) -> String {
        let front = ["capbench".to_string(), self.command.clone()];
        command_line(&front.into_iter().chain(self.words.iter().cloned()).collect::<Vec<_>>())
    }

    /// Whether a saved command line is one of [`Self::measuring`] for the same words.
    pub fn is_asked_by(&self, command: &[String]) -> bool {
        let own = command.iter().position(|word| word == "--out").and_then(|out| command.get(out + 2..));
        command.get(1) == Some(&self.command) && own == Some(&self.words[..])
    }
}

impl Campaign {
    /// Checks the command line of every run, with the settings of this host.
    pub fn check(&self, cli: &Command, configuration: &Configuration) -> Result<()> {
        for run in &self.runs {
            let line = std::iter::once("capbench".to_string()).chain(run.measuring(Path::new("out")));
            let line = configuration.complete(cli, line.map(OsString::from).collect())?;
            Cli::read_with(cli.clone(), line.words).map_err(|error| {
                let (path, place, name) = (&self.path, run.line, &run.name);
                Usage(format!("{path}:{place}: run {name}: {}", error_output::line_of(&error)))
            })?;
        }
        Ok(())
    }
}

/// Reads a file.
///
/// # Errors
/// A file that cannot be read, or that others control when root reads it. What is no campaign: the line, the key, and what may be there.
pub fn read(path: &Path) -> Result<Campaign> {
    let text = Trust::for_instructions().read_text(path, trust::LONGEST).map_err(trust::advised);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(Reader { path: path.display().to_string(), text: &text }.campaign(&stem)?)
}

/// A file of any octets, for the fuzz target.
#[cfg(any(test, fuzzing))]
pub(crate) fn understand(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    let reader = Reader { path: "file.toml".into(), text: &text };
    std::hint::black_box(reader.campaign("file").is_ok());
}

struct Reader<'t> {
    path: String,
    text: &'t str,
}

type Key<'a, 'i> = &'a Spanned<std::borrow::Cow<'i, str>>;

/// A flag of the matrix and its values.
type Axis = (String, Vec<Value>);

impl Reader<'_> {
    fn campaign(&self, stem: &str) -> Result<Campaign, Usage> {
        let root = parse(&self.path, self.text)?;
        let mut campaign =
            Campaign { name: tidy(stem), labels: Vec::new(), runs: Vec::new(), path: self.path.clone() };
        let cli = help::equipped(<Cli as clap::CommandFactory>::command());
        for (key, value) in entries(root.get_ref()) {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("name", DeValue::String(name)) => campaign.name = self.name(key, name)?,
                ("labels", DeValue::Table(table)) => campaign.labels = self.labels(table)?,
                ("run", DeValue::Array(list)) => {
                    for entry in list.iter() {
                        let DeValue::Table(table) = entry.get_ref() else {
                            return Err(self.refuse(key, "write each run as a table [[run]]"));
                        };
                        let line = line_of(self.text, &entry.span());
                        campaign.runs.extend(self.runs(&cli, table, line, campaign.runs.len())?);
                    }
                }
                ("name", _) => return Err(self.refuse(key, "it is a string")),
                ("labels", _) => return Err(self.refuse(key, "it is a table of strings")),
                ("run", _) => return Err(self.refuse(key, "write each run as a table [[run]]")),
                (other, _) => return Err(self.unknown(key, other, &["name", "labels", "run"])),
            }
        }
        if campaign.runs.is_empty() {
            return Err(Usage(format!("{}: it has no run; begin each with [[run]]", self.path)));
        }
        self.check_names(&campaign.runs)?;
        Ok(campaign)
    }

    /// The runs of an entry; the file has as many as `before` in front of it.
    fn runs(
        &self,
        cli: &Command,
        table: &DeTable<'_>,
        line: usize,
        before: usize,
    ) -> Result<Vec<PlannedRun>, Usage> {
        let (mut command, mut name, mut fixed, mut matrix) = (None, None, Vec::new(), Vec::new());
        for (key, value) in entries(table) {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("command", DeValue::String(text)) => command = Some((key, text.to_string())),
                ("name", DeValue::String(text)) => name = Some(self.name(key, text)?),
                ("flags", DeValue::Table(flags)) => fixed = entries(flags),
                ("matrix", DeValue::Table(axes)) => matrix = entries(axes),
                ("command" | "name", _) => return Err(self.refuse(key, "it is a string")),
                ("flags" | "matrix", _) => return Err(self.refuse(key, "it is a table of flags")),
                (other, _) => return Err(self.unknown(key, other, &["command", "name", "flags", "matrix"])),
            }
        }
        let list = COMMANDS.join(", ");
        let Some((key, command)) = command else {
            return Err(Usage(format!("{}:{line}: the run has no command; {list} are possible", self.path)));
        };
        let found = cli.find_subcommand(&command).filter(|_| COMMANDS.contains(&command.as_str()));
        let Some(found) = found else {
            let meant = nearest(&command, COMMANDS.into_iter());
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
            return Err(self.refuse(key, &format!("a campaign runs {list}, not {command}{meant}")));
        };
        let fixed = self.fixed(found, fixed)?;
        let axes = self.axes(found, matrix)?;
        let name = name.unwrap_or_else(|| command.clone());
        let number = axes.iter().fold(1, |number: usize, (_, values)| number.saturating_mul(values.len()));
        if before.saturating_add(number) > MOST_RUNS {
            return Err(Usage(format!(
                "{}:{line}: the matrix has {number} runs; a campaign has up to {MOST_RUNS}",
                self.path
            )));
        }
        let runs = product(&axes).map(|point| {
            let mut named = name.clone();
            let mut words = fixed.clone();
            for ((flag, _), value) in axes.iter().zip(point) {
                named = format!("{named}-{}", label(flag, value));
                // Checked in `axes`.
                words.extend(words_of(found, flag, value).unwrap_or_default());
            }
            // Operands come last, as in an ordinary command line.
            words.sort_by_key(|word| !word.starts_with("--"));
            PlannedRun { name: named, command: command.clone(), words, line }
        });
        Ok(runs.collect())
    }

    fn fixed(&self, command: &Command, flags: Entries<'_, '_>) -> Result<Vec<String>, Usage> {
        let mut words = Vec::new();
        for (key, value) in flags {
            self.check_flag(command, key)?;
            let value = Value::of(value.get_ref()).map_err(|why| self.refuse(key, why))?;
            words.extend(words_of(command, key.get_ref(), &value).map_err(|why| self.refuse(key, &why))?);
        }
        Ok(words)
    }

    fn axes(&self, command: &Command, matrix: Entries<'_, '_>) -> Result<Vec<Axis>, Usage> {
        let mut axes = Vec::new();
        for (key, value) in matrix {
            self.check_flag(command, key)?;
            let DeValue::Array(list) = value.get_ref() else {
                return Err(self.refuse(key, "it is a list: one entry for each run"));
            };
            if list.is_empty() {
                return Err(self.refuse(key, "the list is empty, so that nothing would be run"));
            }
            let mut values = Vec::new();
            for value in list.iter() {
                let value = Value::of(value.get_ref()).map_err(|why| self.refuse(key, why))?;
                words_of(command, key.get_ref(), &value).map_err(|why| self.refuse(key, &why))?;
                values.push(value);
            }
            axes.push((key.get_ref().to_string(), values));
        }
        Ok(axes)
    }

    fn check_flag(&self, command: &Command, key: Key<'_, '_>) -> Result<(), Usage> {
        let flag = key.get_ref().as_ref();
        if OWN_FLAGS.contains(&flag) || flag == "resume" {
            return Err(self.refuse(key, "the campaign gives it to its runs; leave it out"));
        }
        if argument(command, flag).is_some() {
            return Ok(());
        }
        let operands = command.get_positionals().map(|arg| arg.get_id().as_str());
        let known = configuration::shown(command).map(|(name, _)| name).chain(operands);
        let meant = nearest(flag, known).map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
        Err(self.refuse(key, &format!("capbench {} has no flag --{flag}{meant}", command.get_name())))
    }

    fn labels(&self, table: &DeTable<'_>) -> Result<Vec<(String, String)>, Usage> {
        let mut labels = Vec::new();
        for (key, value) in entries(table) {
            let value =
                word(value.get_ref()).ok_or_else(|| self.refuse(key, "a label is a string or a number"))?;
            labels.push((key.get_ref().to_string(), value));
        }
        Ok(labels)
    }

    fn name(&self, key: Key<'_, '_>, name: &str) -> Result<String, Usage> {
        let is_plain = !name.is_empty() && tidy(name) == name;
        is_plain.then(|| name.to_string()).ok_or_else(|| {
            self.refuse(key, "a name has letters, digits and . _ + -, and begins with a letter or digit")
        })
    }

    /// Each name is a directory of its own.
    fn check_names(&self, runs: &[PlannedRun]) -> Result<(), Usage> {
        let mut seen = BTreeMap::new();
        for run in runs {
            let PlannedRun { name, line, .. } = run;
            let refuse = |why: String| Err(Usage(format!("{}:{line}: {why}", self.path)));
            if let Some(other) = seen.insert(name, line) {
                return refuse(format!(
                    "a second run has the name {name}, the first one is of line {other}: give one of them a name"
                ));
            }
            if name.len() > LONGEST_NAME || name == EARLIER {
                return refuse(format!("{name} cannot be the name of a run: give the run another name"));
            }
        }
        Ok(())
    }

    fn unknown(&self, key: Key<'_, '_>, found: &str, known: &[&str]) -> Usage {
        let meant = nearest(found, known.iter().copied());
        let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
        self.refuse(key, &format!("no key of this name; {} are possible{meant}", known.join(", ")))
    }

    fn refuse(&self, key: Key<'_, '_>, why: &str) -> Usage {
        let line = line_of(self.text, &key.span());
        Usage(format!("{}:{line}: {}: {why}", self.path, key.get_ref()))
    }
}

/// The flag, or the operand, of this name.
fn argument<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    let flag = configuration::find(command, name);
    flag.or_else(|| command.get_positionals().find(|arg| arg.get_id().as_str() == name))
}

fn words_of(command: &Command, name: &str, value: &Value) -> Result<Vec<String>, String> {
    let Some(arg) = argument(command, name) else { return Ok(Vec::new()) };
    Ok(value.words(arg)?.into_iter().map(|word| word.to_string_lossy().into_owned()).collect())
}

/// Every combination of values, the first axis changing slowest.
fn product(axes: &[Axis]) -> impl Iterator<Item = Vec<&Value>> {
    let number = axes.iter().map(|(_, values)| values.len()).product();
    (0..number).map(move |mut nth: usize| {
        let mut point: Vec<&Value> = Vec::with_capacity(axes.len());
        for (_, values) in axes.iter().rev() {
            point.push(&values[nth % values.len()]);
            nth /= values.len();
        }
        point.reverse();
        point
    })
}

/// A value in the name of a run.
fn label(flag: &str, value: &Value) -> String {
    match value {
        Value::Switch(true) => flag.into(),
        Value::Switch(false) => format!("no-{flag}"),
        Value::Words(words) => tidy(&words.join("+")),
    }
}

/// Letters that every file system and shell takes; none in front that hides a file or looks like a flag.
fn tidy(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._+-".contains(letter);
    let tidied: String = text.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    tidied.trim_start_matches(['.', '-', '+']).into()
}
