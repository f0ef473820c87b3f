//! `capbench methods`: every method, whether it runs here or why not, and its options.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Result;
use capbench_capture::VlanTags;
use capbench_lab::programs::Programs;
use capbench_lab::subject::{self, Listed, PATH_SETTINGS};
use capbench_report::formats::text::{columns, wrapped};
use capbench_traffic::transmit;
use clap::Args;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::print;

/// How to list them.
#[derive(Args, Clone, Debug)]
pub struct MethodsFlags {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// File that defines programs for cmd:NAME, which are listed too
    #[arg(long, value_name = "FILE")]
    programs: Option<PathBuf>,
}

/// Runs the command.
pub fn run(flags: &MethodsFlags) -> Result<Exit> {
    let programs = Programs::with_file(flags.programs.as_deref())?;
    let methods = subject::list(&programs);
    print(&if flags.json { as_json(&methods)? } else { as_text(&methods)? })?;
    Ok(Exit::Done)
}

fn as_json(methods: &[Listed]) -> Result<String> {
    let setting = |name: &str, value: Option<&str>, optional: bool, summary: &str| json!({ "setting": name, "value": value, "value_is_optional": optional, "summary": summary });
    let capture: Vec<Value> = methods
        .iter()
        .map(|method| {
            let settings = method.settings.iter();
            json!({
                "method": method.name,
                "summary": method.summary,
                "runs_here": method.here.is_ok(),
                "reason": method.here.as_ref().err(),
                "privilege": method.privilege,
                "untested": method.untested,
                "vlan_tags": method.vlan_tags.map(VlanTags::name),
                "options": method.options,
                "argument": method.argument.map(|argument| json!({
                    "placeholder": argument.placeholder, "required": false, "summary": argument.summary,
                })),
                "settings": settings
                    .map(|known| setting(known.name, known.value, known.optional, known.summary))
                    .collect::<Vec<_>>(),
                "variants": method.variants,
                "in_default": method.in_default,
            })
        })
        .collect();
    let path: Vec<_> =
        PATH_SETTINGS.iter().map(|known| setting(known.name, None, true, known.summary)).collect();
    let transmit: Vec<_> = transmit::METHODS
        .iter()
        .map(|method| {
            let here = (method.supported)();
            json!({
                "method": method.name, "summary": method.summary, "runs_here": here.is_ok(), "reason": here.err(),
            })
        })
        .collect();
    let document =
        json!({ "schema_version": 2, "methods": capture, "path_settings": path, "transmit": transmit });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn as_text(methods: &[Listed]) -> Result<String> {
    let row = |method: &Listed| {
        let here = if method.here.is_ok() { "yes" } else { "no" };
        // The part before the colon; the rest is in the details.
        let tested = method.untested.map_or("yes", |text| text.split(':').next().unwrap_or(text));
        vec![method.name.clone(), here.into(), tested.into()]
    };
    let rows: Vec<_> = methods.iter().map(row).collect();
    let mut text = columns(&["capture", "here", "tested"], &rows);
    if methods.iter().any(|method| method.here.is_err()) {
        writeln!(
            text,
            "`capbench bench` makes a user namespace of its own, in which packet sockets need\nno privilege."
        )?;
    }
    writeln!(text)?;
    for method in methods {
        details(&mut text, method)?;
    }
    writeln!(text, "Behind any method's name, on bench's own link:")?;
    for known in PATH_SETTINGS {
        wrapped(&mut text, "  ", "      ", &format!("+{}: {}", known.name, known.summary));
    }
    writeln!(text)?;
    writeln!(text, "transmit   how")?;
    for method in transmit::METHODS {
        wrapped(&mut text, &format!("{:<9}  ", method.name), &" ".repeat(11), method.summary);
        if let Err(reason) = (method.supported)() {
            wrapped(&mut text, &" ".repeat(11), &" ".repeat(13), &format!("not here: {reason}"));
        }
    }
    Ok(text)
}

/// Everything about one method, wrapped.
fn details(text: &mut String, method: &Listed) -> Result<()> {
    let mut title = method.name.clone();
    if let Some(argument) = method.argument {
        let placeholder = argument.placeholder;
        title += &format!("[:{placeholder}]");
    }
    wrapped(text, "", "  ", &format!("{title}: {}", method.summary));
    if let Err(reason) = &method.here {
        wrapped(text, "  not here: ", "    ", reason);
    }
    wrapped(text, "  needs ", "      ", method.privilege);
    if let Some(untested) = method.untested {
        wrapped(text, "  ", "    ", untested);
    }
    if method.vlan_tags == Some(VlanTags::Removed) {
        wrapped(
            text,
            "  ",
            "    ",
            "VLAN tags are missing: the kernel removes them, and it does not report them",
        );
    }
    if let Some(argument) = method.argument {
        wrapped(text, &format!("  {}: ", argument.placeholder), "      ", argument.summary);
    }
    for known in &method.settings {
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
    writeln!(text)?;
    Ok(())
}
