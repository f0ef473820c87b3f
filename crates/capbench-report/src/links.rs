//! Names of sections, tables and charts. They are link targets and file names: letters, digits and `-`, each unique.

use std::collections::BTreeSet;

use crate::model::{Report, Section};

/// Names in use.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    /// Makes a name valid and unique.
    fn take(&mut self, id: &mut String) {
        let plain: String = id
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .collect();
        let plain = if plain.is_empty() { "part".to_string() } else { plain };
        let mut own = plain.clone();
        let mut nth = 2;
        while !self.0.insert(own.clone()) {
            own = format!("{plain}-{nth}");
            nth += 1;
        }
        *id = own;
    }
}

/// Gives every part of a report a unique name.
pub(crate) fn name_once(report: &mut Report) {
    let mut names = Names::default();
    names.take(&mut report.trials.id);
    report.summary.iter_mut().for_each(|table| names.take(&mut table.id));
    name_parts(&mut report.sections, &mut names);
    report.environment.iter_mut().for_each(|table| names.take(&mut table.id));
    name_sections(&mut report.sections);
}

fn name_parts(sections: &mut [Section], names: &mut Names) {
    for section in sections {
        section.charts.iter_mut().for_each(|chart| names.take(&mut chart.id));
        section.tables.iter_mut().for_each(|table| names.take(&mut table.id));
    }
}

/// A section may share the name of its chart: their links have different positions.
fn name_sections(sections: &mut [Section]) {
    let mut names = Names::default();
    sections.iter_mut().for_each(|section| names.take(&mut section.id));
}

/// Names sections outside a report.
#[cfg(test)]
pub(crate) fn name_all(sections: &mut [Section]) {
    name_parts(sections, &mut Names::default());
    name_sections(sections);
}
