//! `capbench config`: which settings apply, and where each is made.

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory, ValueEnum};
use serde::Serialize;

use crate::Cli;
use crate::command_line::Origin;
use crate::configuration::value::Value;
use crate::configuration::{self, Configuration, Setting, Sources};
use crate::exit::{Exit, Usage};
use crate::help;
use crate::output::{print, print_json};

/// Version of the layout of `config show --json`. It rises when a reader of older documents would misunderstand newer ones.
pub const SCHEMA_VERSION: u32 = 1;

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Files: /etc/capbench/*.toml, then capbench/*.toml in $XDG_CONFIG_HOME or ~/.config, in the order of their names; \
then variables CAPBENCH_FLAG and CAPBENCH_COMMAND_FLAG. Later ones win, and flags win over all. docs/configuration.md"
)]
pub struct ConfigFlags {
    /// What to print
    #[arg(value_enum)]
    question: Question,
    /// Show every flag of this command, those with their defaults too
    #[arg(value_name = "COMMAND", value_parser = PossibleValuesParser::new(commands()), hide_possible_values = true)]
    command: Option<String>,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Question {
    /// What is set, and where
    Show,
    /// Whether every file and variable is right: names and values
    Check,
}

/// The commands whose flags can be set. They are looked for without `config` itself, whose flags are being made.
fn commands() -> Vec<&'static str> {
    help::GROUPS
        .iter()
        .flat_map(|group| group.commands)
        .map(|(name, _)| *name)
        .filter(|name| configuration::why_no_command(name).is_none())
        .collect()
}

/// What `config show --json` prints.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Version of this layout.
    schema_version: u32,
    /// The files that were read. Later ones win.
    files: Vec<String>,
    /// Variables of the environment that begin with `CAPBENCH_` and are no settings.
    other_variables: Vec<String>,
    /// The flags of each command, or of the command that was named.
    flags: Vec<FlagValue>,
}

/// A flag's value.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct FlagValue {
    /// The command.
    command: String,
    /// The flag's long name.
    flag: String,
    /// Its value; absent where the flag is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// Where the value is set; absent for the flag's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
}

pub fn run(flags: &ConfigFlags) -> Result<Exit> {
    let cli = help::equipped(Cli::command());
    let configuration = Configuration::read(&cli, &Sources::of_process())?;
    for command in commands() {
        configuration.check(&cli, command)?;
    }
    let ConfigFlags { question, command, json } = flags;
    if *question == Question::Check {
        if *json || command.is_some() {
            let why = "config check: it checks the settings of all commands and prints text; leave out COMMAND and --json";
            return Err(Usage(why.into()).into());
        }
        print(&checked(&configuration))?;
        return Ok(Exit::Done);
    }
    let document = document(&cli, &configuration, command.as_deref());
    if *json {
        print_json(&document)?
    } else {
        print(&text(&document, command.is_some()))?
    }
    Ok(Exit::Done)
}

fn document(cli: &clap::Command, configuration: &Configuration, named: Option<&str>) -> Document {
    let mut flags = Vec::new();
    for name in commands().into_iter().filter(|name| named.is_none_or(|named| named == *name)) {
        let Some(command) = cli.find_subcommand(name) else { continue };
        let settings = configuration.of(name);
        for (flag, arg) in configuration::shown(command) {
            let setting = settings.get(flag);
            if setting.is_none() && named.is_none() {
                continue;
            }
            let (value, origin) = match setting {
                Some(Setting { value, origin, .. }) => (Some(value.clone()), Some(origin.clone())),
                None => (default(arg), None),
            };
            flags.push(FlagValue { command: name.into(), flag: flag.into(), value, origin });
        }
    }
    let other_variables = configuration.others.iter().map(|(name, _)| name.clone()).collect();
    Document { schema_version: SCHEMA_VERSION, files: configuration.files.clone(), other_variables, flags }
}

/// The default of a flag. Some are known to the command only, and its help names them.
fn default(arg: &clap::Arg) -> Option<Value> {
    if !arg.get_action().takes_values() {
        return Some(Value::Switch(false));
    }
    let words: Vec<_> = arg.get_default_values().iter().map(|word| word.to_string_lossy().into()).collect();
    if !words.is_empty() {
        return Some(Value::Words(words));
    }
    let help = arg.get_help()?.to_string();
    let (_, default) = help.rsplit_once("[default: ")?;
    Some(Value::Words(vec![default.trim_end_matches(']').into()]))
}

fn text(document: &Document, has_defaults: bool) -> String {
    let Document { files, other_variables, flags, .. } = document;
    let width = |of: fn(&FlagValue) -> usize| flags.iter().map(of).max().unwrap_or(0);
    let shown = |value: &Option<Value>| value.as_ref().map_or("-".into(), Value::to_string);
    let (command, flag) = (width(|row| row.command.len()), width(|row| row.flag.len()) + 2);
    let value = flags.iter().map(|row| shown(&row.value).chars().count()).max().unwrap_or(0).min(30);
    let mut text = String::new();
    for row in flags {
        let origin = row.origin.as_ref().map_or("flag default".into(), Origin::to_string);
        let name = format!("--{}", row.flag);
        text +=
            &format!("{:<command$}  {name:<flag$}  {:<value$}  {origin}\n", row.command, shown(&row.value));
    }
    if flags.is_empty() {
        text += "Nothing is set: every flag has its default.\n";
    }
    if !has_defaults {
        text += &match files.len() {
            0 => "\nNo file has settings.\n".into(),
            _ => format!("\nFiles, later ones win: {}\n", files.join(", ")),
        };
        text += "Every flag of a command with its default: capbench config show COMMAND\n";
    }
    if !other_variables.is_empty() {
        text += &format!("Variables that are no settings: {}\n", other_variables.join(", "));
    }
    text
}

/// What was checked, and variables that may be mistakes.
fn checked(configuration: &Configuration) -> String {
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let (files, settings) = (configuration.files.len(), configuration.count());
    let mut text = format!("No mistake in {} with {}.\n", count(files, "file"), count(settings, "setting"));
    for (name, meant) in &configuration.others {
        let meant = meant.as_ref().map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
        text += &format!("{name} is no setting, as no flag has this name{meant}\n");
    }
    text
}
