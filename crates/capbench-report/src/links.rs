//! Names of sections, tables and charts. They are link targets and file names: letters, digits and `-`, each unique.

use std::collections::BTreeSet;

use crate::model::Report;

/// The names that are in use.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    /// Makes a name valid and unique.
    fn make_unique(&mut self, name: &mut String) {
        let mut valid: String = name.chars().map(letter).collect();
        if valid.is_empty() {
            valid = "part".into();
        }
        let mut unique = valid.clone();
        let mut number = 2;
        while !self.0.insert(unique.clone()) {
            unique = format!("{valid}-{number}");
            number += 1;
        }
        *name = unique;
    }
}

/// A character as a name may have it: a lower-case letter, a digit or `-`.
fn letter(character: char) -> char {
    if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '-' }
}

/// Makes the names of all parts of a report valid and unique.
pub(crate) fn make_names_unique(report: &mut Report) {
    let mut names = Names::default();
    names.make_unique(&mut report.trials.id);
    for chart in &mut report.picture {
        names.make_unique(&mut chart.id);
    }
    if let Some(table) = &mut report.summary {
        names.make_unique(&mut table.id);
    }
    for section in &mut report.sections {
        for chart in &mut section.charts {
            names.make_unique(&mut chart.id);
        }
        for table in &mut section.tables {
            names.make_unique(&mut table.id);
        }
    }
    for table in &mut report.environment {
        names.make_unique(&mut table.id);
    }
    // A section may have the name of a chart: a page links to `section-NAME` and `chart-NAME`.
    let mut names = Names::default();
    for section in &mut report.sections {
        names.make_unique(&mut section.id);
    }
}
