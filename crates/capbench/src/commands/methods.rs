//! `capbench methods`: every method, whether it runs here or why not, and its options.

pub mod document;
pub mod settings;

use std::path::PathBuf;

use anyhow::Result;
use capbench_capture::VlanTags;
use capbench_lab::programs::Programs;
use capbench_lab::subject::{self, Listed, PathSetting};
use capbench_report::formats::text::{columns, wrapped};
use capbench_traffic::transmit;
use clap::Args;

use self::document::Document;
use self::settings::{OWN_WORK, path_setting_words, settings};
use crate::exit::Exit;
use crate::output::{print, print_json};

#[derive(Args, Clone, Debug)]
pub struct MethodsFlags {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// File that defines programs for cmd:NAME, which are listed too
    #[arg(long, value_name = "FILE")]
    programs: Option<PathBuf>,
}

pub fn run(flags: &MethodsFlags) -> Result<Exit> {
    let programs = Programs::with_file(flags.programs.as_deref())?;
    let methods = subject::list(&programs);
    if flags.json { print_json(&Document::new(&methods)) } else { print(&as_text(&methods)) }?;
    Ok(Exit::Done)
}

fn as_text(methods: &[Listed]) -> String {
    let row = |method: &Listed| {
        let here = if method.here.is_ok() { "yes" } else { "no" };
        // The part before the colon; the rest is in the details.
        let tested = method.untested.as_deref().map_or("yes", |text| text.split(':').next().unwrap_or(text));
        vec![method.name.clone(), here.into(), tested.into()]
    };
    let rows: Vec<_> = methods.iter().map(row).collect();
    let mut text = columns(&["capture", "here", "tested"], &rows);
    if methods.iter().any(|method| method.here.is_err()) {
        text.push_str(
            "`capbench bench` makes its own user namespace, in which packet sockets need\nno privilege.\n",
        );
    }
    text.push('\n');
    methods.iter().for_each(|method| details(&mut text, method));
    text.push_str("Behind any method's name, in commands that measure:\n");
    wrapped(&mut text, "  ", "      ", &format!("+{}=MODEL: {}", OWN_WORK.name, OWN_WORK.summary));
    text.push_str("The same, on bench's own link:\n");
    for known in PathSetting::ALL {
        wrapped(&mut text, "  ", "      ", &format!("+{}: {}", known.name(), path_setting_words(known)));
    }
    text.push_str("\ntransmit   how\n");
    for method in transmit::METHODS {
        wrapped(&mut text, &format!("{:<9}  ", method.name), &" ".repeat(11), method.summary);
        if let Err(reason) = (method.supported)() {
            wrapped(&mut text, &" ".repeat(11), &" ".repeat(13), &format!("not here: {reason}"));
        }
    }
    text
}

/// Everything about one method, wrapped.
fn details(text: &mut String, method: &Listed) {
    let argument =
        method.argument.map_or_else(String::new, |argument| format!("[:{}]", argument.placeholder));
    let title = format!("{}{argument}", method.name);
    wrapped(text, "", "  ", &format!("{title}: {}", method.summary));
    if let Err(reason) = &method.here {
        wrapped(text, "  not here: ", "    ", reason);
    }
    wrapped(text, "  needs ", "      ", method.privilege);
    let no_tags = "VLAN tags are missing: the kernel removes them, and it does not report them";
    let no_tags = (method.vlan_tags == Some(VlanTags::Removed)).then_some(no_tags);
    for note in method.untested.as_deref().into_iter().chain(no_tags) {
        wrapped(text, "  ", "    ", note);
    }
    if let Some(argument) = method.argument {
        wrapped(text, &format!("  {}: ", argument.placeholder), "      ", argument.summary);
    }
    for known in settings(method) {
        let value = match (known.value, known.optional) {
            (None, _) => String::new(),
            (Some(value), true) => format!("[={value}]"),
            (Some(value), false) => format!("={value}"),
        };
        wrapped(text, &format!("  +{}{value}: ", known.name), "      ", known.summary);
    }
    if !method.options.is_empty() {
        wrapped(text, "  uses ", "      ", &method.options.join(" "));
    }
    text.push('\n');
}
