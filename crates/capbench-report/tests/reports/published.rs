//! Every published number as it is printed, read back and held against the data files' own text: on the terminal, on the page, in
//! Markdown and in CSV.
//!
//! Numbers are compared digit by digit, as decimals and not as floating point: what a cell holds, or how it is rounded, cannot
//! hide a difference from both sides. [`SOURCES`] says by hand where each column of a file is to be found.

mod decimal;
mod printed;

use capbench_report::formats::text::Extent;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use capbench_judge::reproduction::Comparison;
use capbench_report::figures;
use capbench_report::formats::{self, Format, text};
use capbench_report::model::Unit;
use capbench_report::{report, save};
use capbench_results::Results;
use capbench_results::read::Run;

use super::runs;
use decimal::Decimal;
use printed::Printed;

/// What a column of a file counts, and so by how many powers of ten and in which unit it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Rate,
    Gigabits,
    Load,
    Share,
    Count,
}

/// Where a published number is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Medium {
    /// What `capbench reproduce` prints.
    Terminal,
    /// Fields of the page as they are read.
    Page,
    /// Their exact values, which the page sorts by.
    PageExact,
    Markdown,
    Csv,
}

const MEDIA: [Medium; 5] = [Medium::Terminal, Medium::Page, Medium::PageExact, Medium::Markdown, Medium::Csv];

impl Kind {
    /// What a column is, by its name in the file.
    fn from_column(column: &str) -> Self {
        match column {
            _ if column.ends_with("pps") => Self::Rate,
            _ if column.ends_with("gbps") => Self::Gigabits,
            _ if column.ends_with("load_pct") => Self::Load,
            _ if column.starts_with("fraction_captured") => Self::Share,
            "received" | "dropped" | "seen_by_app" | "queue_blocked_count" => Self::Count,
            _ => panic!("what is {column}?"),
        }
    }

    /// By how many powers of ten a number is printed larger than the file has it.
    fn shift(self, medium: Medium) -> i32 {
        let is_exact = matches!(medium, Medium::PageExact | Medium::Csv);
        match self {
            Self::Rate | Self::Count => 0,
            Self::Gigabits => 9,
            Self::Load if is_exact => -2,
            Self::Load => 0,
            Self::Share if is_exact => 0,
            Self::Share => 2,
        }
    }

    /// Units that a head may have, of which the longest is tried first.
    fn units(self, medium: Medium) -> &'static [&'static str] {
        match (self, medium) {
            (Self::Count, _) => &[""],
            (Self::Rate, Medium::Csv) => &["_pps"],
            (Self::Gigabits, Medium::Csv) => &["_bps_l1"],
            (Self::Load, Medium::Csv) => &["_load_cpus"],
            (Self::Share, Medium::Csv) => &["_captured_ratio"],
            (Self::Rate, _) => &["packets/s"],
            (Self::Gigabits, _) => &["bit/s (L1)"],
            (Self::Load | Self::Share, _) => &["%"],
        }
    }
}

/// A table of ours, the file of its published columns, and these in the order in which the table has them: the name in the file,
/// and what the head of each names.
type Source = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const CESNET_1: &str = "cesnet-2008-table1-best-effort-szedata2";
const CESNET_2: &str = "cesnet-2008-table2-best-effort-pf_ring";
const CESNET_3: &str = "cesnet-2008-table3-best-effort-linux-stack";
const CESNET_4: &str = "cesnet-2008-table4-rfc2544-printed-as-szedata2";
const CESNET_5: &str = "cesnet-2008-table5-rfc2544-pf_ring";
const CESNET_6: &str = "cesnet-2008-table6-rfc2544-linux-stack";
const CESNET_7: &str = "cesnet-2008-table7-imix-load";

#[rustfmt::skip]
const SOURCES: &[Source] = &[
    ("dain-2004-45kpps", "dain-2004-libpcap-45kpps", &[("fraction_captured", "normal_libpcap")]),
    ("dain-2004-167kpps", "dain-2004-libpcap-vs-mmap-167kpps",
        &[("fraction_captured_libpcap", "normal_libpcap"), ("fraction_captured_mmap_libpcap", "mmap_libpcap")]),
    ("deri-2004-fraction-captured", "deri-2004-fraction-captured", &[("fraction_captured", "80_kpps")]),
    ("cesnet-2008-table1-rates-same", CESNET_1, &[("pps", "szedata2"), ("gbps", "szedata2")]),
    ("cesnet-2008-table1-loads-same", CESNET_1,
        &[("app_load_pct", "szedata2_app"), ("kernel_load_pct", "szedata2_kernel")]),
    ("cesnet-2008-table2-rates-same", CESNET_2, &[("same_cpu_pps", "pf_ring"), ("same_cpu_gbps", "pf_ring")]),
    ("cesnet-2008-table2-rates-other", CESNET_2, &[("other_cpu_pps", "pf_ring"), ("other_cpu_gbps", "pf_ring")]),
    ("cesnet-2008-table2-loads-same", CESNET_2,
        &[("same_cpu_app_load_pct", "pf_ring_app"), ("same_cpu_kernel_load_pct", "pf_ring_kernel")]),
    ("cesnet-2008-table2-loads-other", CESNET_2,
        &[("other_cpu_app_load_pct", "pf_ring_app"), ("other_cpu_kernel_load_pct", "pf_ring_kernel")]),
    ("cesnet-2008-table3-rates-same", CESNET_3, &[("same_cpu_pps", "libpcap"), ("same_cpu_gbps", "libpcap")]),
    ("cesnet-2008-table3-rates-other", CESNET_3, &[("other_cpu_pps", "libpcap"), ("other_cpu_gbps", "libpcap")]),
    ("cesnet-2008-table3-loads-same", CESNET_3,
        &[("same_cpu_app_load_pct", "libpcap_app"), ("same_cpu_kernel_load_pct", "libpcap_kernel")]),
    ("cesnet-2008-table3-loads-other", CESNET_3,
        &[("other_cpu_app_load_pct", "libpcap_app"), ("other_cpu_kernel_load_pct", "libpcap_kernel")]),
    ("cesnet-2008-table4-throughput-same", CESNET_4, &[("same_cpu_pps", "szedata2"), ("same_cpu_gbps", "szedata2")]),
    ("cesnet-2008-table4-throughput-other", CESNET_4, &[("other_cpu_pps", "szedata2"), ("other_cpu_gbps", "szedata2")]),
    ("cesnet-2008-table5-throughput-same", CESNET_5, &[("same_cpu_pps", "pf_ring"), ("same_cpu_gbps", "pf_ring")]),
    ("cesnet-2008-table5-throughput-other", CESNET_5, &[("other_cpu_pps", "pf_ring"), ("other_cpu_gbps", "pf_ring")]),
    ("cesnet-2008-table6-throughput-same", CESNET_6, &[("same_cpu_pps", "libpcap"), ("same_cpu_gbps", "libpcap")]),
    ("cesnet-2008-table6-throughput-other", CESNET_6, &[("other_cpu_pps", "libpcap"), ("other_cpu_gbps", "libpcap")]),
    ("cesnet-2008-table7-imix-same", CESNET_7,
        &[("same_cpu_app_load_pct", "app"), ("same_cpu_kernel_load_pct", "kernel")]),
    ("cesnet-2008-table7-imix-other", CESNET_7,
        &[("other_cpu_app_load_pct", "app"), ("other_cpu_kernel_load_pct", "kernel")]),
    ("loke-2011-tpacket-v1-vs-v3", "loke-2011-tpacket-v1-vs-v3",
        &[("received", "received"), ("dropped", "dropped"), ("seen_by_app", "seen_by_app"), ("queue_blocked_count", "blocked")]),
];

/// A data file, as text.
struct Data {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Data {
    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../capbench-reproduce/src/published")
    }

    fn read(name: &str) -> Self {
        let text = std::fs::read_to_string(Self::folder().join(format!("{name}.csv"))).unwrap();
        assert!(!text.contains('"'), "{name} has quoted fields");
        let mut rows = text.lines().map(|line| line.split(',').map(String::from).collect());
        Self { columns: rows.next().unwrap(), rows: rows.collect() }
    }

    /// Names of rows and what they have in this column, as it is written there.
    fn column(&self, name: &str) -> Vec<(&str, &str)> {
        let at = self.columns.iter().position(|column| column == name).unwrap();
        self.rows.iter().map(|row| (row[0].as_str(), row[at].as_str())).collect()
    }
}

/// A table as a medium has it.
type Read<'r> = Box<dyn Fn(Medium, &Comparison) -> Printed + 'r>;

/// Reads tables from what `capbench report` writes and prints of a run.
fn reader(results: &Results) -> Read<'static> {
    let wanted: Vec<&Format> =
        ["html", "markdown", "csv"].iter().filter_map(|name| formats::named(name)).collect();
    let run = Run::new(results.clone(), Path::new("/nowhere"));
    let files = save::files(&run, &wanted).unwrap();
    let terminal = text::text(&report::report(&run), Extent::Details);
    Box::new(move |medium, table| {
        let file = |path: String| {
            let found = files.iter().find(|file| file.path == Path::new(&path));
            String::from_utf8(found.unwrap_or_else(|| panic!("no {path}")).content.clone()).unwrap()
        };
        match medium {
            Medium::Terminal => {
                let name = |at: f64| figures::number(at, Unit::Count);
                let names = table.rows.iter().map(|row| row.at.map_or_else(|| row.label.clone(), name));
                printed::terminal(&terminal, &table.caption, &names.collect::<Vec<_>>())
            }
            Medium::Page => printed::page(&file("report.html".into()), &table.id, false),
            Medium::PageExact => printed::page(&file("report.html".into()), &table.id, true),
            Medium::Markdown => printed::markdown(&file("report.md".into()), &table.caption),
            Medium::Csv => printed::csv(&file(format!("tables/{}.csv", table.id))),
        }
    })
}

/// Whether a printed row is that of a file: named alike, or with the name here behind it.
fn is_row(printed: &str, published: &str) -> bool {
    let printed = printed.replace(',', "");
    printed == published || printed.starts_with(&format!("{published}: "))
}

/// Holds a table in a medium against its file; returns how many numbers it has.
fn compare((name, _, columns): &Source, data: &Data, medium: Medium, table: &Printed) -> usize {
    let place = format!("{name}, {medium:?}");
    let published: Vec<usize> = (0..table.heads.len())
        .filter(|&at| printed::plain(&table.heads[at]).starts_with("published"))
        .collect();
    assert_eq!(published.len(), columns.len(), "{place}: {:?}", table.heads);
    let mut compared = 0;
    for (at, (column, named)) in published.into_iter().zip(*columns) {
        let (kind, head) = (Kind::from_column(column), &table.heads[at]);
        assert!(printed::plain(head).contains(named), "{place}: {head} is not of {named}");
        assert!(kind.units(medium).iter().any(|unit| head.contains(unit)), "{place}: unit of {head}");
        let mut left = data.column(column);
        for (label, fields) in &table.rows {
            let found = left.iter().position(|(name, _)| is_row(label, name));
            let expected = found.map_or("", |found| left.remove(found).1);
            let field = fields[at].as_str();
            if expected.is_empty() {
                assert!(matches!(field, "" | "-"), "{place}: {label} has {field} in {head}, unpublished");
                continue;
            }
            let is = Decimal::printed(field).unwrap_or_else(|| panic!("{place}: {label}: {field} in {head}"));
            let should = Decimal::new(expected, kind.shift(medium)).expect("files have numbers");
            assert_eq!(is, should, "{place}: {label} has {field} in {head}, published is {expected}");
            compared += 1;
        }
        assert_eq!(left, [], "{place}: {column} has rows that are not printed");
    }
    compared
}

#[test]
fn tables_of_publications_fit_a_terminal() {
    let results = runs::reproduced::all();
    let report = report::report(&Run::new(results, Path::new("/nowhere")));
    let printed = text::text(&report, Extent::Details);
    assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
    insta::assert_snapshot!(&printed[printed.find("dain-2004: published and here").unwrap()..]);
}

#[test]
fn every_published_number_is_printed_as_its_file_has_it() {
    let results = runs::reproduced::all();
    let read = reader(&results);
    let mut numbers = [0; MEDIA.len()];
    let mut met = BTreeSet::new();
    for table in results.reproductions.iter().flat_map(|reproduction| &reproduction.tables) {
        let source = SOURCES.iter().find(|source| source.0 == table.id);
        for (medium, count) in MEDIA.into_iter().zip(&mut numbers) {
            let printed = read(medium, table);
            assert_eq!(printed.rows.len(), table.rows.len(), "{}, {medium:?}", table.id);
            match source {
                Some(source) => *count += compare(source, &Data::read(source.1), medium, &printed),
                None => {
                    let is_published = |head: &String| printed::plain(head).starts_with("published");
                    assert!(!printed.heads.iter().any(is_published), "where is {} from?", table.id);
                }
            }
        }
        met.insert(table.id.as_str());
    }
    assert!(SOURCES.iter().all(|source| met.contains(source.0)), "{met:?}");
    assert_eq!(numbers, [all_numbers(); MEDIA.len()]);
}

/// How many numbers the files have, those that name rows left out; looks that each column has its place.
fn all_numbers() -> usize {
    const LABELS: [&str; 5] = ["frame_bytes", "receive_wait_loop_iterations", "system", "note", "method"];
    let mut count = 0;
    for entry in std::fs::read_dir(Data::folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "csv") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let data = Data::read(name);
        for column in data.columns.iter().filter(|column| !LABELS.contains(&column.as_str())) {
            let places = SOURCES.iter().filter(|source| source.1 == name);
            let times = places.flat_map(|source| source.2).filter(|(known, _)| known == column).count();
            assert_eq!(times, 1, "{name}: {column} is printed in so many tables");
            count += data.column(column).iter().filter(|(_, number)| !number.is_empty()).count();
        }
    }
    count
}
