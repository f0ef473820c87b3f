//! Every published number is read back from what is printed, and compared with the text of the data files: on the terminal, on the
//! page, in Markdown and in CSV.
//!
//! Numbers are compared digit by digit, as decimals: rounding to floating point cannot hide a difference. [`SOURCES`] lists by hand
//! in which table each column of a file is.

mod decimal;
mod printed;

use std::path::{Path, PathBuf};

use capbench_judge::reproduction::Comparison;
use capbench_report::figures;
use capbench_report::formats::text::Extent;
use capbench_report::formats::{self, Format, Written, text};
use capbench_report::model::Unit;
use capbench_report::{report, save};
use capbench_results::Results;
use capbench_results::read::Run;

use super::runs;
use decimal::Decimal;
use printed::{PageField, Printed};

/// What a column of a file counts. This decides the unit in which it is printed.
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
    /// The text of the page's fields.
    Page,
    /// The exact values of the page's fields, by which scripts sort.
    PageExact,
    Markdown,
    Csv,
}

const MEDIA: [Medium; 5] = [Medium::Terminal, Medium::Page, Medium::PageExact, Medium::Markdown, Medium::Csv];

impl Kind {
    /// What a column counts, by its name in the file.
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

    /// The power of ten between a printed number and the one in the file. Files have Gbit/s, loads in percent and shares of 1. Exact
    /// values are in bit/s, and loads and shares are of 1; other media have percent.
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

    /// The units that a heading may have; in CSV the suffixes of a column's name.
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

/// Where the published columns of a table are from.
struct Source {
    /// The name of the table in a report.
    table: &'static str,
    /// The data file.
    file: &'static str,
    /// In the order of the table.
    columns: &'static [SourceColumn],
}

/// A published column.
struct SourceColumn {
    /// Its name in the data file.
    name: &'static str,
    /// A part of its heading in the report, in the form of [`printed::plain`].
    heading: &'static str,
}

/// A column with this name in the data file, and this part of its heading in a report.
const fn column(name: &'static str, heading: &'static str) -> SourceColumn {
    SourceColumn { name, heading }
}

const CESNET_1: &str = "cesnet-2008-table1-best-effort-szedata2";
const CESNET_2: &str = "cesnet-2008-table2-best-effort-pf_ring";
const CESNET_3: &str = "cesnet-2008-table3-best-effort-linux-stack";
const CESNET_4: &str = "cesnet-2008-table4-rfc2544-printed-as-szedata2";
const CESNET_5: &str = "cesnet-2008-table5-rfc2544-pf_ring";
const CESNET_6: &str = "cesnet-2008-table6-rfc2544-linux-stack";
const CESNET_7: &str = "cesnet-2008-table7-imix-load";

#[rustfmt::skip]
const SOURCES: &[Source] = &[
    Source { table: "dain-2004-45kpps", file: "dain-2004-libpcap-45kpps",
        columns: &[column("fraction_captured", "normal_libpcap")] },
    Source { table: "dain-2004-167kpps", file: "dain-2004-libpcap-vs-mmap-167kpps",
        columns: &[column("fraction_captured_libpcap", "normal_libpcap"), column("fraction_captured_mmap_libpcap", "mmap_libpcap")] },
    Source { table: "deri-2004-fraction-captured", file: "deri-2004-fraction-captured",
        columns: &[column("fraction_captured", "80_kpps")] },
    Source { table: "cesnet-2008-table1-rates-same", file: CESNET_1,
        columns: &[column("pps", "szedata2"), column("gbps", "szedata2")] },
    Source { table: "cesnet-2008-table1-loads-same", file: CESNET_1,
        columns: &[column("app_load_pct", "szedata2_app"), column("kernel_load_pct", "szedata2_kernel")] },
    Source { table: "cesnet-2008-table2-rates-same", file: CESNET_2,
        columns: &[column("same_cpu_pps", "pf_ring"), column("same_cpu_gbps", "pf_ring")] },
    Source { table: "cesnet-2008-table2-rates-other", file: CESNET_2,
        columns: &[column("other_cpu_pps", "pf_ring"), column("other_cpu_gbps", "pf_ring")] },
    Source { table: "cesnet-2008-table2-loads-same", file: CESNET_2,
        columns: &[column("same_cpu_app_load_pct", "pf_ring_app"), column("same_cpu_kernel_load_pct", "pf_ring_kernel")] },
    Source { table: "cesnet-2008-table2-loads-other", file: CESNET_2,
        columns: &[column("other_cpu_app_load_pct", "pf_ring_app"), column("other_cpu_kernel_load_pct", "pf_ring_kernel")] },
    Source { table: "cesnet-2008-table3-rates-same", file: CESNET_3,
        columns: &[column("same_cpu_pps", "libpcap"), column("same_cpu_gbps", "libpcap")] },
    Source { table: "cesnet-2008-table3-rates-other", file: CESNET_3,
        columns: &[column("other_cpu_pps", "libpcap"), column("other_cpu_gbps", "libpcap")] },
    Source { table: "cesnet-2008-table3-loads-same", file: CESNET_3,
        columns: &[column("same_cpu_app_load_pct", "libpcap_app"), column("same_cpu_kernel_load_pct", "libpcap_kernel")] },
    Source { table: "cesnet-2008-table3-loads-other", file: CESNET_3,
        columns: &[column("other_cpu_app_load_pct", "libpcap_app"), column("other_cpu_kernel_load_pct", "libpcap_kernel")] },
    Source { table: "cesnet-2008-table4-throughput-same", file: CESNET_4,
        columns: &[column("same_cpu_pps", "szedata2"), column("same_cpu_gbps", "szedata2")] },
    Source { table: "cesnet-2008-table4-throughput-other", file: CESNET_4,
        columns: &[column("other_cpu_pps", "szedata2"), column("other_cpu_gbps", "szedata2")] },
    Source { table: "cesnet-2008-table5-throughput-same", file: CESNET_5,
        columns: &[column("same_cpu_pps", "pf_ring"), column("same_cpu_gbps", "pf_ring")] },
    Source { table: "cesnet-2008-table5-throughput-other", file: CESNET_5,
        columns: &[column("other_cpu_pps", "pf_ring"), column("other_cpu_gbps", "pf_ring")] },
    Source { table: "cesnet-2008-table6-throughput-same", file: CESNET_6,
        columns: &[column("same_cpu_pps", "libpcap"), column("same_cpu_gbps", "libpcap")] },
    Source { table: "cesnet-2008-table6-throughput-other", file: CESNET_6,
        columns: &[column("other_cpu_pps", "libpcap"), column("other_cpu_gbps", "libpcap")] },
    Source { table: "cesnet-2008-table7-imix-same", file: CESNET_7,
        columns: &[column("same_cpu_app_load_pct", "app"), column("same_cpu_kernel_load_pct", "kernel")] },
    Source { table: "cesnet-2008-table7-imix-other", file: CESNET_7,
        columns: &[column("other_cpu_app_load_pct", "app"), column("other_cpu_kernel_load_pct", "kernel")] },
    Source { table: "loke-2011-tpacket-v1-vs-v3", file: "loke-2011-tpacket-v1-vs-v3",
        columns: &[column("received", "received"), column("dropped", "dropped"), column("seen_by_app", "seen_by_app"), column("queue_blocked_count", "blocked")] },
];

/// A data file, as text.
struct Data {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A row's name and its number in one column, as the file has them.
#[derive(Debug, PartialEq)]
struct PublishedNumber<'d> {
    row: &'d str,
    /// Empty if it was not published.
    number: &'d str,
}

impl Data {
    /// The folder of all data files.
    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../capbench-reproduce/src/published")
    }

    /// The data file with this name.
    fn read(name: &str) -> Self {
        let text = std::fs::read_to_string(Self::folder().join(format!("{name}.csv"))).unwrap();
        assert!(!text.contains('"'), "{name} has quoted fields");
        let mut rows = text.lines().map(|line| line.split(',').map(String::from).collect());
        Self { columns: rows.next().unwrap(), rows: rows.collect() }
    }

    /// What each row has in the column with this name.
    fn column(&self, name: &str) -> Vec<PublishedNumber<'_>> {
        let index = self.columns.iter().position(|column| column == name).unwrap();
        self.rows.iter().map(|row| PublishedNumber { row: &row[0], number: &row[index] }).collect()
    }
}

/// What `capbench report` writes and prints of a run.
struct Output {
    files: Vec<Written>,
    terminal: String,
}

impl Output {
    fn of_run(results: &Results) -> Self {
        let run = Run::new(results.clone(), Path::new("/nowhere"));
        let formats: Vec<&Format> =
            ["html", "markdown", "csv"].iter().filter_map(|name| formats::named(name)).collect();
        let files = save::files(&run, &formats).unwrap();
        Self { files, terminal: text::text(&report::report(&run), Extent::Details) }
    }

    fn file(&self, path: &str) -> &str {
        let found = self.files.iter().find(|file| file.path == Path::new(path));
        std::str::from_utf8(&found.unwrap_or_else(|| panic!("no {path}")).content).unwrap()
    }

    /// A table as a medium has it.
    fn table(&self, medium: Medium, table: &Comparison) -> Printed {
        match medium {
            Medium::Terminal => {
                let mut names = Vec::new();
                for row in &table.rows {
                    names.push(match row.at {
                        Some(number) => figures::number(number, Unit::Count),
                        None => row.label.clone(),
                    });
                }
                printed::terminal(&self.terminal, &table.caption, &names)
            }
            Medium::Page => printed::page(self.file("report.html"), &table.id, PageField::Shown),
            Medium::PageExact => printed::page(self.file("report.html"), &table.id, PageField::Exact),
            Medium::Markdown => printed::markdown(self.file("report.md"), &table.caption),
            Medium::Csv => printed::csv(self.file(&format!("tables/{}.csv", table.id))),
        }
    }
}

/// Whether a printed row is the one with this name in the file. The name on this host may be behind it: `PF_RING: packet-v3`.
fn is_row(printed: &str, published: &str) -> bool {
    let printed = printed.replace(',', "");
    printed == published || printed.starts_with(&format!("{published}: "))
}

/// The positions of published columns.
fn published_columns(table: &Printed) -> Vec<usize> {
    let mut published = Vec::new();
    for (index, head) in table.heads.iter().enumerate() {
        if printed::plain(head).starts_with("published") {
            published.push(index);
        }
    }
    published
}

/// Compares a table in a medium with its data file; returns the number of compared numbers.
fn compare_table(source: &Source, medium: Medium, table: &Printed) -> usize {
    let context = format!("{}, {medium:?}", source.table);
    let data = Data::read(source.file);
    let published = published_columns(table);
    assert_eq!(published.len(), source.columns.len(), "{context}: {:?}", table.heads);
    let mut compared = 0;
    for (index, column) in published.into_iter().zip(source.columns) {
        let kind = Kind::from_column(column.name);
        let head = &table.heads[index];
        assert!(printed::plain(head).contains(column.heading), "{context}: {head} is not {}", column.heading);
        assert!(kind.units(medium).iter().any(|unit| head.contains(unit)), "{context}: unit of {head}");
        let mut expected = data.column(column.name);
        for row in &table.rows {
            let in_file = expected.iter().position(|published| is_row(&row.name, published.row));
            let number = in_file.map_or("", |position| expected.remove(position).number);
            compared += compare_field(
                &format!("{context}: {}, {head}", row.name),
                number,
                &row.fields[index],
                kind.shift(medium),
            );
        }
        assert_eq!(expected, [], "{context}: rows of {} that are not printed", column.name);
    }
    compared
}

/// Compares a printed field with the number in a file, times a power of ten; returns how many numbers that are: 0 or 1.
fn compare_field(context: &str, number: &str, field: &str, power: i32) -> usize {
    if number.is_empty() {
        assert!(matches!(field, "" | "-"), "{context}: {field} was not published");
        return 0;
    }
    let printed = Decimal::printed(field).unwrap_or_else(|| panic!("{context}: {field} is no number"));
    let expected = Decimal::new(number, power).expect("files have numbers");
    assert_eq!(printed, expected, "{context}: {field} is printed, {number} was published");
    1
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
    let output = Output::of_run(&results);
    let tables: Vec<&Comparison> =
        results.reproductions.iter().flat_map(|reproduction| &reproduction.tables).collect();
    for source in SOURCES {
        assert!(tables.iter().any(|table| table.id == source.table), "no table {}", source.table);
    }
    for medium in MEDIA {
        let mut numbers = 0;
        for table in &tables {
            let printed = output.table(medium, table);
            assert_eq!(printed.rows.len(), table.rows.len(), "{}, {medium:?}", table.id);
            match SOURCES.iter().find(|source| source.table == table.id) {
                Some(source) => numbers += compare_table(source, medium, &printed),
                None => assert_eq!(published_columns(&printed), [0; 0], "{} has no source", table.id),
            }
        }
        assert_eq!(numbers, all_numbers(), "{medium:?}");
    }
}

/// The number of numbers in all data files, without those that name rows. Checks that each column has one source.
fn all_numbers() -> usize {
    const COLUMNS_OF_NAMES: [&str; 5] =
        ["frame_bytes", "receive_wait_loop_iterations", "system", "note", "method"];
    let mut numbers = 0;
    for entry in std::fs::read_dir(Data::folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "csv") {
            continue;
        }
        let file = path.file_stem().unwrap().to_str().unwrap();
        let data = Data::read(file);
        for column in data.columns.iter().filter(|column| !COLUMNS_OF_NAMES.contains(&column.as_str())) {
            let sources = SOURCES.iter().filter(|source| source.file == file);
            let columns = sources.flat_map(|source| source.columns).filter(|known| known.name == column);
            assert_eq!(columns.count(), 1, "{file}: tables that have {column}");
            numbers += data.column(column).iter().filter(|published| !published.number.is_empty()).count();
        }
    }
    numbers
}
