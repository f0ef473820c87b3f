//! How users write goals: names of presets, `NAME:KEY=VALUE,...`, or a TOML file with tables `[goals.NAME]`. Both forms have the
//! same keys.

use std::collections::BTreeMap;
use std::time::Duration;

use super::goal::{Goal, Strategy, Width};
use super::preset::{INITIAL, PRECEDING_TARGETS, goals_of_preset, names};
use crate::ratio::Ratio;
use crate::{JudgeError, Result};

/// Defaults of a goal defined by the user.
const EXCEED_RATIO: Ratio = Ratio::fixed(0.5);
const WIDTH: Width = Width::Relative(Ratio::fixed(0.005));

/// Parses goals: presets separated by commas, or one goal in the form `NAME:KEY=VALUE,...`.
///
/// Keys: `from` (a preset of one goal, whose attributes are the defaults), `loss`, `duration`, `sum`, `exceed`, `width` (`0.5%`
/// of the upper bound, `0.1%max` of the maximum load), `initial`, `targets`, `strategy` (`mlr` or `binary`). `loss` and
/// `duration` are required without `from`. Fails with the invalid or contradictory part.
pub fn parse(text: &str) -> Result<Vec<Goal>> {
    let Some((name, settings)) = text.split_once(':') else {
        let mut goals = Vec::new();
        for name in text.split(',') {
            goals.extend(named(name.trim())?);
        }
        return Ok(goals);
    };
    let goal = pairs(settings).and_then(|pairs| goal(name.trim(), &pairs));
    Ok(vec![checked(name.trim(), goal)?])
}

/// Why the text of a file defines no goals.
#[derive(Debug)]
pub enum Unread {
    /// It is not TOML of this form. The reason names the line.
    File(String),
    /// A goal is not valid.
    Goal(JudgeError),
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    goals: BTreeMap<String, BTreeMap<String, toml::Value>>,
}

/// The goals of a TOML text by name. Fails when it is not TOML, or defines no valid goal.
pub fn parse_toml(text: &str) -> std::result::Result<Vec<Goal>, Unread> {
    let file: File = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        // The library's message shows the place in further lines.
        Unread::File(format!("line {line}: {}", error.message().lines().collect::<Vec<_>>().join(" ")))
    })?;
    if file.goals.is_empty() {
        return Err(Unread::File("it defines no goal; write [goals.NAME]".into()));
    }
    let mut goals = Vec::new();
    for (name, table) in file.goals {
        goals.push(checked(&name, goal_of_table(&name, table)).map_err(Unread::Goal)?);
    }
    Ok(goals)
}

fn goal_of_table(name: &str, table: BTreeMap<String, toml::Value>) -> std::result::Result<Goal, String> {
    let mut pairs = Vec::new();
    for (key, value) in table {
        let text = text_of(&key, value)?;
        pairs.push((key, text));
    }
    goal(name, &pairs)
}

/// The settings of the form `KEY=VALUE,...`.
fn pairs(settings: &str) -> std::result::Result<Vec<(String, String)>, String> {
    let mut pairs = Vec::new();
    for pair in settings.split(',') {
        let (key, value) = pair.split_once('=').ok_or_else(|| format!("\"{pair}\" is not KEY=VALUE"))?;
        pairs.push((key.trim().to_string(), value.trim().to_string()));
    }
    Ok(pairs)
}

/// A value in the notation of the other form.
fn text_of(key: &str, value: toml::Value) -> std::result::Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        other => Err(format!("{key}: a {} is neither a text nor a number", other.type_str())),
    }
}

fn named(name: &str) -> Result<Vec<Goal>> {
    if name.is_empty() {
        return Err(JudgeError::Goals {
            reason: "a goal has no name; name one, such as ndr, or several with a comma between two".into(),
        });
    }
    goals_of_preset(name).ok_or_else(|| JudgeError::Goal {
        goal: name.into(),
        reason: format!(
            "there is no such preset; there are {}; a goal of your own is NAME:loss=0.1%,duration=1s,sum=21s",
            names().join(", ")
        ),
    })
}

fn checked(name: &str, goal: std::result::Result<Goal, String>) -> Result<Goal> {
    let goal = goal.map_err(|reason| JudgeError::Goal { goal: name.into(), reason })?;
    goal.validate()?;
    Ok(goal)
}

/// The keys of a goal. The report says what they mean.
pub const KEYS: [&str; 9] =
    ["loss", "duration", "sum", "exceed", "width", "initial", "targets", "strategy", "from"];

fn goal(name: &str, pairs: &[(String, String)]) -> std::result::Result<Goal, String> {
    let mut given: BTreeMap<&str, &str> = BTreeMap::new();
    for (key, value) in pairs {
        if !KEYS.contains(&key.as_str()) {
            return Err(format!("there is no key \"{key}\"; there are {}", KEYS.join(", ")));
        }
        if given.insert(key, value).is_some() {
            return Err(format!("{key}: it is given twice"));
        }
    }
    let from = value(&given, "from", base)?;
    let loss = value(&given, "loss", str::parse)?;
    let given_duration = value(&given, "duration", duration)?;
    let missing = ["duration", "loss"].into_iter().find(|key| !given.contains_key(key));
    if let Some(key) = missing.filter(|_| from.is_none()) {
        return Err(format!("{key} is missing; give it, or from=PRESET"));
    }
    let defaults = from.unwrap_or_else(|| Goal {
        name: name.into(),
        strategy: Strategy::Mlr,
        loss_ratio: Ratio::ZERO,
        exceed_ratio: EXCEED_RATIO,
        width: WIDTH,
        final_duration: Duration::ZERO,
        duration_sum: Duration::ZERO,
        initial_duration: INITIAL,
        preceding_targets: PRECEDING_TARGETS,
    });
    let final_duration = given_duration.unwrap_or(defaults.final_duration);
    Ok(Goal {
        name: name.into(),
        strategy: value(&given, "strategy", strategy)?.unwrap_or(defaults.strategy),
        loss_ratio: loss.unwrap_or(defaults.loss_ratio),
        exceed_ratio: value(&given, "exceed", str::parse)?.unwrap_or(defaults.exceed_ratio),
        width: value(&given, "width", str::parse)?.unwrap_or(defaults.width),
        final_duration,
        // A preset's sum and first trials fit its own duration. Another duration adjusts them.
        duration_sum: value(&given, "sum", duration)?.unwrap_or(defaults.duration_sum.max(final_duration)),
        initial_duration: value(&given, "initial", duration)?
            .unwrap_or(defaults.initial_duration.min(final_duration)),
        preceding_targets: value(&given, "targets", whole)?.unwrap_or(defaults.preceding_targets),
    })
}

/// The value of a key, if the user gave it.
fn value<T>(
    given: &BTreeMap<&str, &str>,
    key: &str,
    read: fn(&str) -> std::result::Result<T, String>,
) -> std::result::Result<Option<T>, String> {
    let value = given.get(key).map(|text| read(text));
    value.transpose().map_err(|reason| format!("{key}: {reason}"))
}

fn whole(text: &str) -> std::result::Result<u32, String> {
    text.parse().map_err(|_| format!("\"{text}\" is no whole number"))
}

fn base(text: &str) -> std::result::Result<Goal, String> {
    let mut goals = goals_of_preset(text)
        .ok_or_else(|| format!("there is no preset \"{text}\"; there are {}", names().join(", ")))?;
    match goals.len() {
        1 => Ok(goals.remove(0)),
        several => Err(format!("preset \"{text}\" has {several} goals; name one that has one")),
    }
}

fn duration(text: &str) -> std::result::Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| format!("\"{text}\" is no duration; 500ms, 1s and 1min are"))
}

fn strategy(text: &str) -> std::result::Result<Strategy, String> {
    let all = [Strategy::Mlr, Strategy::Binary];
    let found = all.into_iter().find(|strategy| strategy.to_string() == text);
    found.ok_or_else(|| format!("\"{text}\" is no strategy; mlr and binary are"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Unread, parse, parse_toml};
    use crate::search::Ratio;
    use crate::search::goal::{Strategy, Width};
    use crate::search::preset::goals_of_preset;

    fn ratio(value: f64) -> Ratio {
        Ratio::new(value).unwrap()
    }

    #[test]
    fn presets_come_in_lists() {
        let names: Vec<_> = parse("ndr, pdr,quick").unwrap().into_iter().map(|goal| goal.name).collect();
        assert_eq!(names, ["ndr", "pdr", "quick-ndr", "quick-pdr"]);
    }

    #[test]
    fn a_goal_of_ones_own_has_every_attribute() {
        let goals = parse("mine:loss=0.5%,duration=1s,sum=21s,exceed=0.5,width=0.5%").unwrap();
        let pdr = goals_of_preset("pdr").unwrap().remove(0);
        assert_eq!(goals, [crate::search::goal::Goal { name: "mine".into(), ..pdr }]);
        let goal = &parse("b:loss=0,duration=10s,strategy=binary,width=0.1%max").unwrap()[0];
        assert_eq!((goal.strategy, goal.width), (Strategy::Binary, Width::OfMaximum(ratio(0.001))));
        assert_eq!((goal.duration_sum, goal.exceed_ratio), (Duration::from_secs(10), ratio(0.5)));
    }

    #[test]
    fn a_preset_gives_the_defaults() {
        let goal = &parse("coarse:from=rfc2544,width=2%,duration=90s").unwrap()[0];
        assert_eq!((goal.strategy, goal.duration_sum), (Strategy::Binary, Duration::from_secs(90)));
        assert_eq!(goal.width, Width::Relative(ratio(0.02)));
    }

    #[test]
    fn what_is_wrong_is_given_with_the_key() {
        for (text, expected) in [
            ("nrd", "there is no such preset; there are rfc2544,"),
            ("", "a goal has no name"),
            ("ndr,,pdr", "a goal has no name"),
            ("x:loss=0", "duration is missing"),
            ("x:duration=1s", "loss is missing"),
            ("x:from=ndr,speed=1", "there is no key \"speed\"; there are loss, duration,"),
            ("x:from=ndr,loss", "\"loss\" is not KEY=VALUE"),
            ("x:from=ndr,loss=0,loss=0", "loss: it is given twice"),
            ("x:from=ndr,loss=100%", "loss: 1 is no ratio from 0 to below 1"),
            ("x:from=ndr,width=0", "width=0 is never reached"),
            ("x:from=ndr,duration=fast", "duration: \"fast\" is no duration"),
            ("x:from=quick,loss=0", "has 2 goals"),
            ("x:from=ndr,strategy=guess", "strategy: \"guess\" is no strategy"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_file_defines_goals_in_the_same_keys() {
        let text = "[goals.a]\nfrom = \"ndr\"\nexceed = 0.2\n[goals.b]\nloss = \"1%\"\nwidth = \"1%\"\nduration = \"2s\"\ntargets = 1";
        let Ok(goals) = parse_toml(text) else { panic!("two goals") };
        assert_eq!((goals[0].exceed_ratio, goals[1].preceding_targets), (ratio(0.2), 1));
        let given = |text| match parse_toml(text) {
            Err(Unread::Goal(error)) => error.to_string(),
            Err(Unread::File(reason)) => reason,
            Ok(goals) => panic!("{goals:?}"),
        };
        assert!(given("[goals.a]\nloss = 2").contains("loss: 2 is no ratio"));
        assert!(given("[goals.a]\nfrom = true").contains("from: a boolean is neither"));
        assert!(given("[goals.a]\nloss = ").starts_with("line 2: "));
        assert!(given("[goal.a]\nloss = 0").contains("line 1: "));
    }

    #[test]
    fn the_example_file_is_understood() {
        let Ok(goals) = parse_toml(include_str!("../../../../examples/goals.toml")) else { panic!("goals") };
        let names: Vec<_> = goals.iter().map(|goal| goal.name.as_str()).collect();
        assert_eq!(names, ["five-minutes", "ndr-fine", "plain"]);
        assert_eq!(goals[0].duration_sum, Duration::from_secs(300));
    }
}
