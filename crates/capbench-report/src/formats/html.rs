//! The report as one HTML file that opens without a network, loads nothing and sends nothing.
//!
//! Charts and tables work without scripts. A chart is the drawing of [`super::svg`] plus a table of its points; tables hold the
//! exact value of each rounded number. Scripts only show the values at the pointer, sort and switch. The page's policy (CSP
//! level 3) allows only these scripts, by digest: text of results cannot become a script.

mod code;
mod points;
mod table;
mod view;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, context};
use sha2::{Digest as _, Sha256};

use crate::model::Report;

const TEMPLATE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/page.css");
/// Runs before the page is shown, so that it never flashes in the wrong colours.
const THEME: &str = include_str!("html/script/theme.js");
const SCRIPT: &str = concat!(
    "(function () {\n\"use strict\";\n",
    include_str!("html/script/evidence.js"),
    include_str!("html/script/tables.js"),
    include_str!("html/script/chart.js"),
    include_str!("html/script/page.js"),
    "})();\n"
);

/// The report as a page: a whole HTML document.
pub fn html(report: &Report) -> String {
    let style = format!("{STYLE}{}", view::colours(report));
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    // A line of the template with a statement leaves no empty line in the page.
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the delimiters are the usual ones"));
    let policy = policy(&style);
    let values = context! { policy, style, theme => THEME, script => SCRIPT, page => view::page(report) };
    // The template is part of the program, and a test renders all of it.
    environment.render_str(TEMPLATE, values).expect("the template fits its values")
}

/// The page's policy: it loads nothing and runs only these scripts and styles.
fn policy(style: &str) -> String {
    let scripts: Vec<String> = [THEME, SCRIPT].map(digest).into();
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        scripts.join(" "),
        digest(style)
    )
}

/// A script or style as a CSP source: `'sha256-...'`.
fn digest(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests;
