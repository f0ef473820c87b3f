//! Names of sections, tables and charts: they are links and names of files, so they are of letters, digits and `-`, and each is
//! there once.

use std::collections::BTreeSet;

use crate::model::{Report, Section};

/// Names that are taken.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    /// Makes a name one that is fit and free.
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

/// Names everything of a report.
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

/// A section may be called as the chart that it is for: their links are told apart by where they stand.
fn name_sections(sections: &mut [Section]) {
    let mut names = Names::default();
    sections.iter_mut().for_each(|section| names.take(&mut section.id));
}

/// Names sections that stand alone.
#[cfg(test)]
pub(crate) fn name_all(sections: &mut [Section]) {
    name_parts(sections, &mut Names::default());
    name_sections(sections);
}
