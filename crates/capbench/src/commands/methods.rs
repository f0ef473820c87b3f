//! `capbench methods`: what can run here and why not.

use anyhow::Result;
use capbench_capture::METHODS;
use serde_json::json;

use crate::cli::methods::MethodsFlags;
use crate::exit::Exit;
use crate::table::Table;

/// Runs the command.
pub fn run(flags: &MethodsFlags) -> Result<Exit> {
    let states: Vec<_> = METHODS.iter().map(|method| (method, (method.supported)())).collect();
    if flags.json {
        let methods: Vec<_> = states
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
        println!("{}", serde_json::to_string_pretty(&json!({ "schema_version": 1, "methods": methods }))?);
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["method", "here", "privilege", "how"]);
    for (method, state) in &states {
        let here = if state.is_ok() { "yes" } else { "no" };
        table.row(vec![method.name.into(), here.into(), method.privilege.into(), method.summary.into()]);
    }
    print!("{table}");
    for (method, state) in &states {
        if let Err(reason) = state {
            println!("{}: {reason}", method.name);
        }
    }
    println!("\nOptions");
    for (method, _) in &states {
        println!("  {:<10} {}", method.name, method.options.join(" "));
    }
    Ok(Exit::Done)
}
