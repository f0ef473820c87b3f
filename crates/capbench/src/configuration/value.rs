//! A value for a flag, in TOML or in a variable, and as words of a command line.

use std::ffi::OsString;
use std::fmt;
use std::ops::Range;

use clap::{Arg, ArgAction};
use serde::Serialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Setting;
use crate::command_line::Origin;
use crate::exit::Usage;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// Whether a flag without a value is given.
    Switch(bool),
    /// One value, or several for a flag that takes several.
    Words(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => write!(formatter, "{on}"),
            Self::Words(words) => formatter.write_str(&words.join(",")),
        }
    }
}

/// Spanned contents of a table, in the order of the file.
pub type Entries<'a, 'i> = Vec<(&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>)>;

/// The entries of a table in the order in which they are written.
pub fn entries<'a, 'i>(table: &'a DeTable<'i>) -> Entries<'a, 'i> {
    let mut entries: Entries<'a, 'i> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// The line of a place in a text, from 1.
pub fn line_of(text: &str, place: &Range<usize>) -> usize {
    1 + text.bytes().take(place.start).filter(|octet| *octet == b'\n').count()
}

/// Parses a file. Mistakes name the file and the line.
pub fn parse<'i>(path: &str, text: &'i str) -> Result<Spanned<DeTable<'i>>, Usage> {
    DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |place| line_of(text, &place));
        Usage(format!("{path}:{line}: no TOML: {}", error.message()))
    })
}

impl Value {
    /// Reads a value of TOML; or says what may be there.
    pub fn of(value: &DeValue<'_>) -> Result<Self, &'static str> {
        const REFUSAL: &str = "a value is a string, a number, true, false, or a list of strings and numbers";
        match value {
            DeValue::Boolean(on) => Ok(Self::Switch(*on)),
            DeValue::Array(list) => {
                let words = list.iter().map(|one| word(one.get_ref()).ok_or(REFUSAL));
                Ok(Self::Words(words.collect::<Result<_, _>>()?))
            }
            one => Ok(Self::Words(vec![word(one).ok_or(REFUSAL)?])),
        }
    }

    /// The words of a command line that give an argument this value; none if it is not given.
    pub fn words(&self, arg: &Arg) -> Result<Vec<OsString>, String> {
        let Some(long) = arg.get_long() else { return self.operands() };
        let flag = |times: usize| Ok(vec![OsString::from(format!("--{long}")); times]);
        let (switch, text) = match self {
            Self::Switch(on) => (Some(*on), None),
            Self::Words(words) => match &words[..] {
                [one] => (one.parse().ok(), Some(one.as_str())),
                _ => (None, None),
            },
        };
        let is_optional = arg.get_num_args().is_some_and(|number| number.min_values() == 0);
        match (arg.get_action(), self) {
            (ArgAction::SetTrue | ArgAction::SetFalse, _) => {
                flag(usize::from(switch.ok_or_else(|| format!("\"{self}\" is neither true nor false"))?))
            }
            (ArgAction::Count, _) => {
                let times = switch.map(u8::from).or_else(|| text?.parse().ok());
                let refuse = || format!("\"{self}\" is no number from 0 to 255: how often the flag is given");
                flag(usize::from(times.ok_or_else(refuse)?))
            }
            (_, Self::Switch(on)) if is_optional => flag(usize::from(*on)),
            (_, Self::Switch(on)) => Ok(vec![format!("--{long}={on}").into()]),
            (action, Self::Words(words)) => {
                if words.len() > 1 && !matches!(action, ArgAction::Append) {
                    return Err(format!("it is a list of {}, and the flag takes one value", words.len()));
                }
                Ok(words.iter().map(|word| format!("--{long}={word}").into()).collect())
            }
        }
    }

    /// The words for an operand.
    fn operands(&self) -> Result<Vec<OsString>, String> {
        match self {
            Self::Switch(on) => Err(format!("{on} is no operand; write a string")),
            Self::Words(words) => Ok(words.iter().map(OsString::from).collect()),
        }
    }
}

/// A string or number as it is written on a command line.
pub fn word(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().into()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).ok().map(|number| number.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().into()),
        _ => None,
    }
}

/// The settings of a file: keys for every command, and a table for each command. `rank` is that of the keys for every command.
pub fn settings_of(path: &str, text: &str, rank: usize) -> Result<Vec<Setting>, Usage> {
    let root = parse(path, text)?;
    let mut settings = Vec::new();
    let mut add = |command: Option<&str>, key: &Spanned<_>, value: &Spanned<DeValue<'_>>| {
        let flag: &std::borrow::Cow<'_, str> = key.get_ref();
        let line = line_of(text, &key.span());
        let refuse = |why| Usage(format!("{path}:{line}: {flag}: {why}"));
        let value = Value::of(value.get_ref()).map_err(refuse)?;
        let (command, flag) = (command.map(String::from), flag.to_string());
        let rank = rank + usize::from(command.is_some());
        settings.push(Setting {
            command,
            flag,
            value,
            origin: Origin::File { path: path.into(), line },
            rank,
        });
        Ok(())
    };
    for (key, value) in entries(root.get_ref()) {
        match value.get_ref() {
            DeValue::Table(table) => {
                for (flag, value) in entries(table) {
                    add(Some(key.get_ref()), flag, value)?;
                }
            }
            _ => add(None, key, value)?,
        }
    }
    Ok(settings)
}
