//! Settings for flags, from files and the environment: docs/configuration.md.
//!
//! | file | what |
//! |---|---|
//! | this | reads all sources, and completes a command line with what they set |
//! | `sources` | the folders and the environment of this process |
//! | `settable` | which flags can be set, and how a value is written on a command line |
//! | `value` | a value in TOML or in a variable |
//!
//! A setting is written into the command line, in front of the user's words, unless the user gives that flag or one that excludes
//! it. So clap checks it as it checks a flag, and saved results have the complete command line.

mod settable;
mod sources;
#[cfg(test)]
mod tests;
pub mod value;

use std::collections::BTreeMap;
use std::ffi::OsString;

use anyhow::Result;
use clap::parser::ValueSource;
use clap::{Arg, Command};

pub use self::settable::{find, shown, why_no_command};
pub use self::sources::Sources;
use self::value::Value;
use crate::command_line::{Line, Origin};
use crate::error_output;
use crate::exit::Usage;
use crate::suggestion::nearest;

/// A value for a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The command; `None` for every command that has the flag.
    pub command: Option<String>,
    /// The flag's long name.
    pub flag: String,
    pub value: Value,
    pub origin: Origin,
    /// Settings of a higher rank win.
    rank: usize,
}

/// All settings.
#[derive(Debug, Default)]
pub struct Configuration {
    settings: Vec<Setting>,
    /// The files that were read, in their order.
    pub files: Vec<String>,
    /// Variables that begin as a setting does and are none, with the one that the user may have meant.
    pub others: Vec<(String, Option<String>)>,
}

/// A setting as words of a command line.
#[derive(Debug)]
struct Placed<'a> {
    arg: &'a Arg,
    setting: &'a Setting,
    words: Vec<OsString>,
    /// Flags without which it has no effect, as clap writes them.
    needs: Vec<String>,
}

impl Configuration {
    /// Reads the sources. Names are checked for every command, values only when their command runs.
    ///
    /// # Errors
    /// A file that cannot be read or is no TOML, a name that no command or flag has, a flag that cannot be set.
    pub fn read(cli: &Command, sources: &Sources) -> Result<Self> {
        let mut configuration = Self::of_files(cli, sources.files()?)?;
        configuration.add_variables(cli, sources, 2 * configuration.files.len())?;
        configuration.settings.sort_by_key(|setting| setting.rank);
        Ok(configuration)
    }

    /// The settings of files, each with its path and text; later files win.
    fn of_files(cli: &Command, files: Vec<(String, String)>) -> Result<Self, Usage> {
        let mut configuration = Self::default();
        for (path, text) in files {
            let rank = 2 * configuration.files.len();
            configuration.settings.extend(value::settings_of(&path, &text, rank)?);
            configuration.files.push(path);
        }
        for setting in &configuration.settings {
            check_names(cli, setting)?;
        }
        Ok(configuration)
    }

    fn add_variables(&mut self, cli: &Command, sources: &Sources, rank: usize) -> Result<()> {
        let names = settable::variables(cli);
        for (name, text) in sources.variables() {
            let origin = Origin::Variable { name: name.clone() };
            if let Some((command, flag)) = names.get(&name) {
                let text = text.into_string().map_err(|_| Usage(format!("{name}: the value is no UTF-8")))?;
                let rank = rank + usize::from(command.is_some());
                let (command, flag) = (command.clone(), flag.clone());
                let value = Value::Words(vec![text]);
                self.settings.push(Setting { command, flag, value, origin, rank });
                continue;
            }
            // All have the prefix, which would make every two of them alike.
            let without = |name: &'_ str| name.strip_prefix(settable::PREFIX).unwrap_or(name).to_string();
            let keys: Vec<String> = names.keys().map(|name| without(name)).collect();
            let meant = nearest(&without(&name), keys.iter().map(String::as_str));
            let meant = meant.map(|meant| format!("{}{meant}", settable::PREFIX));
            match settable::named_command(cli, &name) {
                // Its command leaves no doubt that a setting was meant.
                Some(command) => {
                    let text = match settable::why_no_command(command) {
                        Some(why) => format!("{name}: flags of {command} cannot be set: {why}"),
                        None => {
                            format!("{name}: capbench {command} has no flag of this name{}", maybe(meant))
                        }
                    };
                    return Err(Usage(text).into());
                }
                None => self.others.push((name, meant)),
            }
        }
        Ok(())
    }

    /// The settings of a command: of each flag the one that wins.
    pub fn of(&self, command: &str) -> BTreeMap<&str, &Setting> {
        let own = |setting: &&Setting| setting.command.as_deref().is_none_or(|named| named == command);
        self.settings.iter().filter(own).map(|setting| (setting.flag.as_str(), setting)).collect()
    }

    /// Number of settings.
    pub fn count(&self) -> usize {
        self.settings.len()
    }

    /// Checks the values of a command's settings.
    pub fn check(&self, cli: &Command, command: &str) -> Result<()> {
        match built(cli).find_subcommand(command) {
            Some(found) => self.placed(found, &[]).map(drop),
            None => Ok(()),
        }
    }

    /// The settings of a command that apply when the user gives these flags.
    fn placed<'a>(&'a self, command: &'a Command, given: &[&Arg]) -> Result<Vec<Placed<'a>>> {
        let mut wanted: Vec<&Setting> = self.of(command.get_name()).into_values().collect();
        wanted.sort_by_key(|setting| std::cmp::Reverse(setting.rank));
        let mut placed: Vec<Placed<'a>> = Vec::new();
        for setting in wanted {
            let Some(arg) = settable::find(command, &setting.flag) else { continue };
            let refuse =
                |why: String| Usage(format!("{}: {}: {}", setting.origin, setting.flag, why.trim_end()));
            let words = setting.value.words(arg).map_err(refuse)?;
            let needs = needs(command, &words).map_err(refuse)?;
            let excludes = |other: &Arg| settable::excludes(command, arg, other);
            if given.iter().any(|other| other.get_id() == arg.get_id() || excludes(other)) || words.is_empty()
            {
                continue;
            }
            if let Some(other) = placed.iter().find(|other| excludes(other.arg)) {
                if other.setting.rank == setting.rank {
                    let Setting { flag, origin, .. } = other.setting;
                    return Err(
                        refuse(format!("cannot be used together with {flag}, which {origin} sets")).into()
                    );
                }
                continue;
            }
            placed.push(Placed { arg, setting, words, needs });
        }
        // A flag that works only with another one is a wish for the case that this one is there.
        loop {
            let is_there = |need: &String| {
                given.iter().any(|arg| arg.to_string() == *need)
                    || placed.iter().any(|other| other.arg.to_string() == *need)
            };
            let lacks: Vec<_> = placed.iter().map(|setting| !setting.needs.iter().all(is_there)).collect();
            if !lacks.contains(&true) {
                break;
            }
            let mut lacks = lacks.into_iter();
            placed.retain(|_| !lacks.next().unwrap_or(false));
        }
        placed.sort_by_key(|placed| &placed.setting.flag);
        Ok(placed)
    }

    /// The command line with the settings of its command.
    ///
    /// # Errors
    /// A value that its flag does not accept, or two settings of one source that exclude each other.
    pub fn complete(&self, cli: &Command, line: Vec<OsString>) -> Result<Line> {
        let as_is = |words| Ok(Line { words, set: Vec::new() });
        let built = built(cli);
        let Some((place, command)) = settable::command_of(&built, &line) else { return as_is(line) };
        // What the user gave. Mistakes are found when the completed line is read.
        let read = cli.clone().ignore_errors(true).try_get_matches_from(&line);
        let Ok(matches) = read else { return as_is(line) };
        let Some(matches) = matches.subcommand_matches(command.get_name()) else { return as_is(line) };
        let is_given =
            |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
        let given: Vec<&Arg> = command.get_arguments().filter(is_given).collect();
        let placed = self.placed(command, &given)?;
        let (front, rest) = line.split_at(place + 1);
        let settings = placed.iter().flat_map(|placed| &placed.words);
        let words = front.iter().chain(settings).chain(rest).cloned().collect();
        let set = placed.iter().map(|placed| (placed.setting.flag.clone(), placed.setting.origin.clone()));
        Ok(Line { words, set: set.collect() })
    }

    /// The command line interface whose help shows what is set, and where.
    fn explained(&self, cli: Command, command: &str) -> Command {
        let settings = self.of(command);
        cli.mut_subcommand(command, |found| {
            found.mut_args(|arg| match arg.get_long().and_then(|long| settings.get(long)) {
                Some(Setting { value, origin, .. }) => {
                    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                    arg.help(format!("{help} [set: {value}, by {origin}]"))
                }
                None => arg,
            })
        })
    }
}

/// Completes the command line of this process with the settings of this host and user, and keeps it. Help shows the settings. A configuration with a mistake is no reason to refuse help.
pub fn complete(cli: &mut Command, line: Vec<OsString>) -> Result<Vec<OsString>> {
    let found = settable::command_of(cli, &line).map(|(_, command)| command.get_name().to_string());
    let completed = match found.filter(|name| settable::why_no_command(name).is_none()) {
        Some(name) if asks_for_help(cli, &line) => {
            if let Ok(configuration) = Configuration::read(cli, &Sources::of_process()) {
                *cli = configuration.explained(std::mem::take(cli), &name);
            }
            Line { words: line, set: Vec::new() }
        }
        Some(_) => Configuration::read(cli, &Sources::of_process())?.complete(cli, line)?,
        None => Line { words: line, set: Vec::new() },
    };
    Ok(completed.of_process())
}

/// A file of any octets, for the fuzz target: its settings, and their values for each command that it names.
#[cfg(any(test, fuzzing))]
pub(crate) fn understand(cli: &Command, octets: &[u8]) {
    let text = String::from_utf8_lossy(octets).into_owned();
    let Ok(configuration) = Configuration::of_files(cli, vec![("file.toml".into(), text)]) else { return };
    let named: std::collections::BTreeSet<_> =
        configuration.settings.iter().filter_map(|setting| setting.command.as_deref()).collect();
    for command in named {
        std::hint::black_box(configuration.check(cli, command).is_ok());
    }
}

fn asks_for_help(cli: &Command, line: &[OsString]) -> bool {
    cli.clone().ignore_errors(true).try_get_matches_from(line).is_err_and(|error| !error.use_stderr())
}

/// Checks that a setting's command and flag exist and that the flag can be set.
fn check_names(cli: &Command, setting: &Setting) -> Result<(), Usage> {
    let Setting { command, flag, origin, .. } = setting;
    let refuse = |why: String| Err(Usage(format!("{origin}: {why}")));
    if let Some(name) = command {
        if let Some(why) = settable::why_no_command(name) {
            return refuse(format!("flags of {name} cannot be set: {why}"));
        }
        let Some(command) = settable::commands(cli).find(|command| command.get_name() == name) else {
            let meant = nearest(name, settable::commands(cli).map(Command::get_name)).map(String::from);
            return refuse(format!("[{name}]: no command of this name{}", maybe(meant)));
        };
        return match settable::find(command, flag) {
            Some(_) => Ok(()),
            None => refuse(format!("{flag}: {}", settable::why_not(cli, Some(command), flag))),
        };
    }
    match settable::commands(cli).any(|command| settable::find(command, flag).is_some()) {
        true => Ok(()),
        false => refuse(format!("{flag}: {}", settable::why_not(cli, None, flag))),
    }
}

/// The end of a message that names what the user may have meant.
fn maybe(meant: Option<String>) -> String {
    meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"))
}

/// A copy in which clap has worked out how it writes each argument.
fn built(cli: &Command) -> Command {
    let mut built = cli.clone();
    built.build();
    built
}

/// The flags that a flag needs, as clap writes them; or what is wrong with its value. clap finds both: the command is read with
/// this flag alone.
fn needs(command: &Command, words: &[OsString]) -> Result<Vec<String>, String> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let line = std::iter::once(OsString::from(command.get_name())).chain(words.iter().cloned());
    let error = match command.clone().mut_args(|arg| arg.required(false)).try_get_matches_from(line) {
        Ok(_) => return Ok(Vec::new()),
        Err(error) => error,
    };
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::MissingRequiredArgument, Some(ContextValue::Strings(missing))) => Ok(missing.clone()),
        _ => Err(error_output::line_of(&error)),
    }
}
