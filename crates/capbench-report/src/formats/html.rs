//! The page: a report in one HTML file that opens without a network, loads nothing and sends nothing.
//!
//! Tables are in the HTML, with the exact value of each rounded number, and can be read without scripts. Charts come as
//! data and are drawn by uPlot (`html/uplot`, with its licence) when they come into view. The page's own policy (CSP level 3)
//! lets run only what is here, known by its digests: nothing that stands in results can become a script.

mod charts;
mod view;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::model::Report;

const TEMPLATE: &str = include_str!("html/page.html");
const STYLE: &str = concat!(include_str!("html/uplot/uPlot.min.css"), "\n", include_str!("html/page.css"));
/// Runs before the page is shown, so that it never appears in the other colours first.
const THEME: &str = include_str!("html/script/theme.js");
const UPLOT: &str = concat!(
    "/*\n",
    include_str!("html/uplot/LICENSE"),
    "\n*/\n",
    include_str!("html/uplot/uPlot.iife.min.js")
);
const SCRIPT: &str = concat!(
    "(function () {\n\"use strict\";\n",
    include_str!("html/script/figures.js"),
    include_str!("html/script/evidence.js"),
    include_str!("html/script/tables.js"),
    include_str!("html/script/scales.js"),
    include_str!("html/script/layout.js"),
    include_str!("html/script/draw.js"),
    include_str!("html/script/readout.js"),
    include_str!("html/script/chart.js"),
    include_str!("html/script/page.js"),
    "})();\n"
);

/// What the template fills in.
#[derive(Serialize)]
struct Context<'r> {
    policy: String,
    style: &'static str,
    theme: &'static str,
    uplot: &'static str,
    script: &'static str,
    charts: String,
    page: view::Page<'r>,
}

/// The report as a page: a whole HTML document.
pub fn html(report: &Report) -> String {
    let context = Context {
        policy: policy(),
        style: STYLE,
        theme: THEME,
        uplot: UPLOT,
        script: SCRIPT,
        charts: charts::json(report),
        page: view::page(report),
    };
    render(&context)
}

fn render(context: &Context<'_>) -> String {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let lines_of_their_own = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(lines_of_their_own.expect("the delimiters are the usual ones"));
    // The template is part of the program and its fields are those of the types here: a test renders all of it.
    environment.render_str(TEMPLATE, Serde(context)).expect("the template fits its context")
}

/// Nothing is loaded from anywhere; of scripts and styles only these are taken.
fn policy() -> String {
    let scripts: Vec<String> = [THEME, UPLOT, SCRIPT].map(policy_source).into();
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        scripts.join(" "),
        policy_source(STYLE)
    )
}

/// A text as a source of CSP: `'sha256-...'`.
fn policy_source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests;
