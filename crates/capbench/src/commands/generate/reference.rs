//! Manual pages of files (section 5) and of tables (section 7). Their text is that of the tables and schemas themselves.

use std::collections::BTreeSet;

use capbench_judge::search;
use capbench_lab::programs::Programs;
use capbench_lab::subject::{self, Listed, PathSetting};
use capbench_model::places::ALL;
use capbench_report::sentences::goal_help::{self, KeyHelp};
use capbench_report::sentences::places::{About, about};
use capbench_traffic::transmit;
use serde_json::Value;

use crate::commands::methods::settings::{OWN_WORK, path_setting_words, settings};

/// A page: what `render` writes below its name.
pub struct Page {
    pub name: &'static str,
    pub section: u8,
    about: &'static str,
    render: fn(&mut Roff),
    see: &'static [&'static str],
}

/// All of them.
pub const PAGES: [Page; 7] = [
    Page {
        name: "capbench-results",
        section: 5,
        about: "results.json, what capbench saves of a run",
        render: results,
        see: &["capbench-report(1)", "capbench-ledger(7)"],
    },
    Page {
        name: "capbench-recommended",
        section: 5,
        about: "recommended.json, what is certain of the last bench",
        render: recommended,
        see: &["capbench-bench(1)", "capbench-record(1)", "capbench-results(5)"],
    },
    Page {
        name: "capbench-programs",
        section: 5,
        about: "file that defines capture programs for capbench --programs",
        render: |page| page.example(include_str!("../../../../../examples/programs.toml")),
        see: &["capbench-bench(1)", "capbench-methods(7)"],
    },
    Page {
        name: "capbench-campaign",
        section: 5,
        about: "file of capbench campaign: the matrix of its runs",
        render: |page| page.example(include_str!("../../../../../examples/campaign.toml")),
        see: &["capbench-campaign(1)", "capbench-config(1)"],
    },
    Page {
        name: "capbench-goals",
        section: 5,
        about: "goals of capbench search: presets, and the keys of one's own",
        render: goals,
        see: &["capbench-search(1)"],
    },
    Page {
        name: "capbench-methods",
        section: 7,
        about: "capture methods and ways to transmit",
        render: methods,
        see: &["capbench-methods(1)", "capbench-programs(5)"],
    },
    Page {
        name: "capbench-ledger",
        section: 7,
        about: "places where a frame can be lost, and the counters that report it",
        render: ledger,
        see: &["capbench-why(1)", "capbench-results(5)"],
    },
];

impl Page {
    /// The page in the language of man(7).
    pub fn text(&self) -> String {
        let Self { name, section, about, render, see } = self;
        let version = env!("CARGO_PKG_VERSION");
        let mut page = Roff(format!(
            ".TH {name} {section} \"\" \"capbench {version}\" \"capbench manual\"\n.SH NAME\n{} \\- {}\n",
            escaped(name),
            escaped(about)
        ));
        page.heading("DESCRIPTION");
        render(&mut page);
        page.heading("SEE ALSO");
        page.text(&see.join(", "));
        page.0
    }
}

/// Text for roff(7).
struct Roff(String);

impl Roff {
    fn heading(&mut self, title: &str) {
        self.0 += &format!(".SH \"{}\"\n", escaped(title));
    }

    fn subheading(&mut self, title: &str) {
        self.0 += &format!(".SS \"{}\"\n", escaped(title));
    }

    /// A paragraph. A line that begins with a dot would be a request.
    fn text(&mut self, text: &str) {
        let text = escaped(text);
        let dot = if text.starts_with('.') { "\\&" } else { "" };
        self.0 += &format!(".PP\n{dot}{text}\n");
    }

    /// A term and what it means.
    fn term(&mut self, term: &str, meaning: &str) {
        self.0 += &format!(".TP\n\\fB{}\\fR\n{}\n", escaped(term), escaped(meaning));
    }

    /// Lines as they are.
    fn example(&mut self, text: &str) {
        let lines = text.lines().map(|line| format!("\\&{}\n", escaped(line)));
        self.0 += &format!(".PP\n.nf\n{}.fi\n", lines.collect::<String>());
    }
}

fn schema() -> Value {
    let text = include_str!("../../../../../docs/results.schema.json");
    serde_json::from_str(text).expect("docs/results.schema.json is JSON")
}

fn results(page: &mut Roff) {
    let schema = schema();
    page.text(description(&schema));
    members(page, &schema);
    page.heading("TYPES");
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        defined(page, name, definition);
    }
}

fn recommended(page: &mut Roff) {
    page.text(
        "$XDG_STATE_HOME/capbench/recommended.json, by default below ~/.local/state. capbench bench writes it, and capbench record \
         reads it for --method auto.",
    );
    page.term("started_unix_s", "When the bench started, in seconds since 1970.");
    page.term("host", "The facts by which the host is recognised.");
    page.term("recommended (Recommendation)", "What the bench recommends.");
    page.heading("TYPES");
    let schema = schema();
    let mut wanted = BTreeSet::from(["Recommendation".to_string()]);
    // What a type refers to, until there is nothing new.
    loop {
        let known = wanted.len();
        for name in wanted.clone() {
            references(&schema["$defs"][&name], &mut wanted);
        }
        if wanted.len() == known {
            break;
        }
    }
    for name in &wanted {
        defined(page, name, &schema["$defs"][name]);
    }
}

fn description(of: &Value) -> &str {
    of["description"].as_str().unwrap_or_default()
}

/// The type that a member refers to.
fn reference(member: &Value) -> Option<&str> {
    member["$ref"].as_str()?.rsplit('/').next()
}

/// All types that are named in a value.
fn references(value: &Value, names: &mut BTreeSet<String>) {
    names.extend(reference(value).map(String::from));
    match value {
        Value::Object(members) => members.values().for_each(|member| references(member, names)),
        Value::Array(list) => list.iter().for_each(|one| references(one, names)),
        _ => {}
    }
}

/// A type with its members or values.
fn defined(page: &mut Roff, name: &str, definition: &Value) {
    page.subheading(name);
    page.text(description(definition));
    members(page, definition);
    for variant in definition["oneOf"].as_array().into_iter().flatten() {
        let tagged = variant["properties"].as_object().into_iter().flatten();
        let tag = tagged.filter_map(|(key, member)| Some(format!("{key}: {}", member["const"].as_str()?)));
        let values = variant["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let name = match variant["const"].as_str() {
            Some(value) => value.to_string(),
            None => values.map(String::from).chain(tag).collect::<Vec<_>>().join(", "),
        };
        page.term(if name.is_empty() { "(other)" } else { &name }, description(variant));
        members(page, variant);
    }
}

/// The members of an object that are no tag.
fn members(page: &mut Roff, object: &Value) {
    for (name, member) in object["properties"].as_object().into_iter().flatten() {
        if member.get("const").is_some_and(Value::is_string) {
            continue;
        }
        let term = match kind(member) {
            kind if kind.is_empty() => name.clone(),
            kind => format!("{name} ({kind})"),
        };
        page.term(&term, description(member));
    }
}

/// The type of a member in words.
fn kind(member: &Value) -> String {
    if let Some(name) = reference(member) {
        return name.into();
    }
    if let Some(any) = member["anyOf"].as_array() {
        return any.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    let list =
        |one: &str| if one == "array" { format!("list of {}", kind(&member["items"])) } else { one.into() };
    match &member["type"] {
        Value::String(one) => list(one),
        Value::Array(several) => {
            several.iter().filter_map(Value::as_str).map(list).collect::<Vec<_>>().join(" or ")
        }
        _ => String::new(),
    }
}

fn goals(page: &mut Roff) {
    page.text(
        "capbench search --goal names presets, or defines a goal as NAME:KEY=VALUE,... A file for --goals defines goals as tables.",
    );
    page.heading("KEYS");
    for KeyHelp { key, meaning, default } in goal_help::KEYS {
        let default = if default.is_empty() { String::new() } else { format!(" Default: {default}.") };
        page.term(key, &format!("{meaning}.{default}"));
    }
    page.heading("PRESETS");
    for search::PresetGoal { preset, goal } in search::presets() {
        let source = goal_help::source(&goal.name);
        page.term(preset, &format!("{source}. {}.", goal_help::words(&goal)));
    }
    page.heading("EXAMPLES");
    page.example(include_str!("../../../../../examples/goals.toml"));
}

fn methods(page: &mut Roff) {
    page.text("capbench methods says which of them can run on a host, and why the others cannot.");
    for method in subject::list(&Programs::default()) {
        of_method(page, &method);
    }
    page.subheading("Settings of any method, in commands that measure");
    page.term(&format!("+{}=MODEL", OWN_WORK.name), OWN_WORK.summary);
    page.subheading("The same, on bench's own link");
    for known in PathSetting::ALL {
        page.term(&format!("+{}", known.name()), path_setting_words(known));
    }
    page.heading("WAYS TO TRANSMIT");
    transmit::METHODS.iter().for_each(|method| page.term(method.name, method.summary));
}

fn of_method(page: &mut Roff, method: &Listed) {
    page.subheading(&method.name);
    page.text(&format!("{}. It needs {}.", method.summary, method.privilege));
    if let Some(untested) = &method.untested {
        page.text(untested);
    }
    if let Some(argument) = method.argument {
        page.term(&format!(":{}", argument.placeholder), argument.summary);
    }
    for known in settings(method) {
        let value = known.value.map_or_else(String::new, |value| format!("={value}"));
        page.term(&format!("+{}{value}", known.name), known.summary);
    }
    if !method.options.is_empty() {
        page.term("Options", &method.options.join(" "));
    }
}

fn ledger(page: &mut Roff) {
    page.text(
        "The places in the order of a frame's path. A frame counts at one of them, or it is delivered.",
    );
    for place in ALL {
        let About { meaning, on_virtual_link, on_card, unknown } = about(place);
        page.subheading(place.key());
        page.text(meaning);
        page.term("Counter on capbench's own link", on_virtual_link);
        page.term("Counter on a card", on_card);
        page.term("Unknown", unknown);
    }
}

/// Text as roff(7) prints it unchanged.
pub fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq")
}
