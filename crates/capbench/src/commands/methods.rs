//! `capbench methods`: what can run here and why not.

use std::fmt::Write;

use anyhow::Result;
use capbench_capture::{METHODS, Method, MethodSpec};
use capbench_traffic::transmit;
use serde_json::json;

use crate::cli::methods::MethodsFlags;
use crate::exit::{Exit, print};
use crate::table::Table;

/// A method and whether it can run here, or why not.
type State = (&'static Method, Result<(), String>);

/// Runs the command.
pub fn run(flags: &MethodsFlags) -> Result<Exit> {
    let states: Vec<State> =
        METHODS.iter().map(|method| (*method, (method.supported)(&MethodSpec::plain(method.name)))).collect();
    print(&if flags.json { as_json(&states)? } else { as_text(&states)? })?;
    Ok(Exit::Done)
}

fn as_json(states: &[State]) -> Result<String> {
    let capture: Vec<_> = states
        .iter()
        .map(|(method, state)| {
            json!({
                "method": method.name,
                "summary": method.summary,
                "runs_here": state.is_ok(),
                "reason": state.as_ref().err(),
                "privilege": method.privilege,
                "options": method.options,
            })
        })
        .collect();
    let transmit: Vec<_> = transmit::METHODS
        .iter()
        .map(|method| json!({ "method": method.name, "summary": method.summary, "privilege": "CAP_NET_RAW" }))
        .collect();
    let document = json!({ "schema_version": 1, "methods": capture, "transmit": transmit });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn as_text(states: &[State]) -> Result<String> {
    let mut table = Table::new(&["capture", "here", "privilege", "how"]);
    for (method, state) in states {
        let here = if state.is_ok() { "yes" } else { "no" };
        table.row(vec![method.name.into(), here.into(), method.privilege.into(), method.summary.into()]);
    }
    let mut text = table.to_string();
    for (method, state) in states {
        if let Err(reason) = state {
            writeln!(text, "{}: {reason}", method.name)?;
        }
    }
    if states.iter().any(|(_, state)| state.is_err()) {
        writeln!(
            text,
            "`capbench bench` makes a user namespace of its own, in which packet sockets need no privilege."
        )?;
    }
    writeln!(text)?;
    let mut table = Table::new(&["transmit", "how"]);
    for method in transmit::METHODS {
        table.row(vec![method.name.into(), method.summary.into()]);
    }
    writeln!(text, "{table}")?;
    let mut table = Table::new(&["capture", "heeds"]);
    for (method, _) in states {
        table.row(vec![method.name.into(), method.options.join(" ")]);
    }
    write!(text, "{table}")?;
    Ok(text)
}
