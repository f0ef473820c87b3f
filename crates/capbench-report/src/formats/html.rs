//! One page for a browser: plain tables.

use std::fmt::Write;

use crate::figures;
use crate::model::{Report, Sentence, Table};

/// The page.
pub fn html(report: &Report) -> String {
    let title = escaped(&report.title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head><body>\n\
         <h1>{title}</h1>\n<p>{}</p>\n",
        escaped(&report.subtitle)
    );
    sentences(&mut page, &report.verdict);
    for warning in &report.warnings {
        let _ = writeln!(page, "<p><strong>{}</strong></p>", escaped(warning));
    }
    report.summary.iter().for_each(|summary| table(&mut page, summary));
    for section in &report.sections {
        let _ = writeln!(page, "<h2 id=\"{}\">{}</h2>", escaped(&section.id), escaped(&section.heading));
        sentences(&mut page, &section.text);
        section.tables.iter().for_each(|one| table(&mut page, one));
    }
    page.push_str("<h2>Findings</h2>\n");
    sentences(&mut page, &report.findings);
    for statement in &report.statements {
        let _ = writeln!(page, "<p>{}</p>", escaped(statement));
    }
    page.push_str("<h2>Environment</h2>\n");
    report.environment.iter().for_each(|facts| table(&mut page, facts));
    page.push_str("<h2>Trials</h2>\n");
    table(&mut page, &report.trials);
    page.push_str("</body></html>\n");
    page
}

fn sentences(page: &mut String, sentences: &[Sentence]) {
    for sentence in sentences {
        let _ = writeln!(page, "<p>{}</p>", escaped(&sentence.text));
    }
}

fn table(page: &mut String, table: &Table) {
    let _ = writeln!(
        page,
        "<table id=\"{}\"><caption>{}</caption><tr>",
        escaped(&table.id),
        escaped(&table.caption)
    );
    for column in &table.columns {
        let _ = write!(page, "<th>{} {}</th>", escaped(&column.heading), column.unit.symbol());
    }
    page.push_str("</tr>\n");
    for row in &table.rows {
        page.push_str("<tr>");
        for (cell, column) in row.cells.iter().zip(&table.columns) {
            let _ = write!(page, "<td>{}</td>", escaped(&figures::cell(cell, column.unit)));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table>\n");
    for note in &table.notes {
        let _ = writeln!(page, "<p>{}</p>", escaped(note));
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
