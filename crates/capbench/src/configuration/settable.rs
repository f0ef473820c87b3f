//! Which flags can be set, by their names in clap's commands. No flag is listed here but those that cannot be set.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

use super::maybe;
use crate::suggestion::nearest;

/// Commands whose flags cannot be set, with the reason.
const COMMANDS: [(&str, &str); 6] = [
    (
        "agent",
        "its command line is all that a controller may do here, so no file and no variable may widen it",
    ),
    ("config", "it reports the configuration"),
    ("generate", "it writes what a package contains"),
    ("help", "it only prints"),
    ("otg", "its command line is all that clients may do here, so no file and no variable may widen it"),
    ("tune", "its command line is all that it may change, so no file and no variable may widen it"),
];

/// Flags that cannot be set, with the reason.
const FLAGS: [(&str, &str); 4] = [
    ("help", "it ends every command"),
    ("help-all", "it ends every command"),
    ("version", "it ends every command"),
    ("resume", "it names one run"),
];

/// What the names of variables begin with.
pub const PREFIX: &str = "CAPBENCH_";

/// Why no flag of a command can be set; `None` if they can.
pub fn why_no_command(name: &str) -> Option<&'static str> {
    COMMANDS.iter().find(|(command, _)| *command == name).map(|(_, why)| *why)
}

/// The commands whose flags can be set.
pub fn commands(cli: &Command) -> impl Iterator<Item = &Command> {
    cli.get_subcommands().filter(|command| why_no_command(command.get_name()).is_none())
}

/// The flags of a command that can be set, with their names.
pub fn shown(command: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let named = command.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg)));
    named.filter(|(name, arg)| !arg.is_hide_set() && is_settable(name, arg))
}

fn is_settable(name: &str, arg: &Arg) -> bool {
    let ends = matches!(
        arg.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    );
    !ends && !FLAGS.iter().any(|(flag, _)| *flag == name)
}

/// The flag of this name, if it can be set.
pub fn find<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| arg.get_long() == Some(name) && is_settable(name, arg))
}

/// Why a name is no flag that can be set, with the one that the user may have meant.
pub fn why_not(cli: &Command, command: Option<&Command>, name: &str) -> String {
    if let Some((_, why)) = FLAGS.iter().find(|(flag, _)| *flag == name) {
        return format!("it cannot be set: {why}");
    }
    let list: Vec<&Command> = command.map_or_else(|| commands(cli).collect(), |command| vec![command]);
    let aliased = list.iter().flat_map(|command| command.get_arguments()).find(|arg| {
        arg.get_all_aliases().is_some_and(|all| all.contains(&name))
            || arg.get_short().is_some_and(|short| name == short.to_string())
    });
    let names = list.iter().flat_map(|command| shown(command).map(|(name, _)| name));
    let meant = aliased.and_then(Arg::get_long).or_else(|| nearest(name, names)).map(String::from);
    let of = match command {
        Some(command) => format!("capbench {} has no flag --{name}", command.get_name()),
        None => format!("no command has a flag --{name}"),
    };
    of + &maybe(meant)
}

/// The command of a command line and its place there. Flags in front of it have no values.
pub fn command_of<'a>(cli: &'a Command, line: &[OsString]) -> Option<(usize, &'a Command)> {
    let place = 1 + line.iter().skip(1).position(|word| !word.to_string_lossy().starts_with('-'))?;
    Some((place, cli.find_subcommand(&line[place])?))
}

/// Whether two flags of a command exclude each other. One that is exclusive excludes all.
pub fn excludes(command: &Command, one: &Arg, other: &Arg) -> bool {
    let names = |one: &Arg, other: &Arg| {
        command.get_arg_conflicts_with(one).iter().any(|found| found.get_id() == other.get_id())
    };
    one.is_exclusive_set() || other.is_exclusive_set() || names(one, other) || names(other, one)
}

/// The variables that are settings: of a flag in all commands, and of a command's flag.
pub fn variables(cli: &Command) -> BTreeMap<String, (Option<String>, String)> {
    let mut names = BTreeMap::new();
    for command in commands(cli) {
        for (flag, _) in shown(command) {
            let of_command = Some(command.get_name().to_string());
            names.insert(variable(&[flag]), (None, flag.into()));
            names.insert(variable(&[command.get_name(), flag]), (of_command, flag.into()));
        }
    }
    names
}

fn variable(parts: &[&str]) -> String {
    PREFIX.to_string() + &parts.join("_").replace('-', "_").to_uppercase()
}

/// The command whose variables begin as this name does.
pub fn named_command<'a>(cli: &'a Command, name: &str) -> Option<&'a str> {
    let mut all = cli.get_subcommands().map(Command::get_name);
    all.find(|command| name.starts_with(&(variable(&[command]) + "_")))
}
