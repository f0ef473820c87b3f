//! Names of sections, tables and charts. They are link targets and file names: letters, digits and `-`, each unique.

use std::collections::BTreeSet;

use crate::model::Report;

#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    /// Makes a name valid and unique.
    fn take(&mut self, id: &mut String) {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let plain: String = if id.is_empty() { "part".into() } else { id.chars().map(letter).collect() };
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
    report.picture.iter_mut().for_each(|chart| names.take(&mut chart.id));
    report.summary.iter_mut().for_each(|table| names.take(&mut table.id));
    for section in &mut report.sections {
        section.charts.iter_mut().for_each(|chart| names.take(&mut chart.id));
        section.tables.iter_mut().for_each(|table| names.take(&mut table.id));
    }
    report.environment.iter_mut().for_each(|table| names.take(&mut table.id));
    // A section may share the name of its chart: their links have different positions.
    let mut names = Names::default();
    report.sections.iter_mut().for_each(|section| names.take(&mut section.id));
}
