//! The committed table, and the comparison of new counts with it.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::counter::PathName;

/// Differences up to this many instructions per packet are allowed, and in any case up to [`TOLERANCE_SHARE`].
const TOLERANCE: f64 = 0.3;
/// Differences up to this share of the table's count are allowed.
const TOLERANCE_SHARE: f64 = 0.003;

/// The first lines of the table.
const HEAD: &str = "\
# Instructions per packet, which `./check instructions` compares with. Written anew by
# CAPBENCH_WRITE_INSTRUCTIONS='why they changed' ./check instructions
";
/// The last line before the rows.
const COLUMNS: &str = "path\tframe sizes\tinstructions per packet\twhy";

/// A count.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub path: PathName,
    pub per_packet: f64,
}

/// A count that later ones are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct CommittedRow {
    pub counted: Row,
    /// Why it changed last.
    pub why: String,
}

/// What compiled and ran the code. Another one makes other counts of the same source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Release and commit.
    pub rustc: String,
    pub target: String,
    pub libc: String,
    pub valgrind: String,
}

/// The committed counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub toolchain: Toolchain,
    pub rows: Vec<CommittedRow>,
}

/// New counts next to those of the table.
#[derive(Debug)]
pub struct Comparison {
    /// A line for each path.
    pub text: String,
    /// Paths whose difference is not allowed, that the table lacks, or that are in the table only.
    pub different: Vec<String>,
}

impl Toolchain {
    /// The one on this host.
    pub fn present() -> Result<Self> {
        let rustc = output_of("rustc", &["-vV"])?;
        let release = rustc.lines().next().and_then(|line| line.strip_prefix("rustc "));
        let target = rustc.lines().find_map(|line| line.strip_prefix("host: "));
        Ok(Self {
            rustc: release.context("rustc -vV names no release")?.into(),
            target: target.context("rustc -vV names no host")?.into(),
            libc: output_of("getconf", &["GNU_LIBC_VERSION"])?,
            valgrind: output_of("valgrind", &["--version"])?,
        })
    }

    /// Why counts made with `self` cannot be compared with those of another toolchain; `None` if they can.
    fn difference_from(&self, other: &Self) -> Option<String> {
        let members = [
            ("rustc", &self.rustc, &other.rustc),
            ("target", &self.target, &other.target),
            ("libc", &self.libc, &other.libc),
            ("valgrind", &self.valgrind, &other.valgrind),
        ];
        let mut differences = Vec::new();
        for (name, here, there) in members {
            if here != there {
                differences.push(format!("{name} is {here} here and {there} in the table"));
            }
        }
        (!differences.is_empty()).then(|| differences.join(", "))
    }
}

fn output_of(program: &str, arguments: &[&str]) -> Result<String> {
    let done = Command::new(program).args(arguments).output();
    let done = done.with_context(|| format!("start {program}"))?;
    ensure!(done.status.success(), "{program} {} ended with {}", arguments.join(" "), done.status);
    Ok(String::from_utf8(done.stdout).with_context(|| format!("what {program} printed"))?.trim().into())
}

impl Table {
    /// Reads a table.
    pub fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let toolchain = Toolchain {
            rustc: member(&mut lines, "rustc")?,
            target: member(&mut lines, "target")?,
            libc: member(&mut lines, "libc")?,
            valgrind: member(&mut lines, "valgrind")?,
        };
        ensure!(lines.next() == Some(COLUMNS), "the table has no line \"{COLUMNS}\"");
        let rows = lines.map(committed_row).collect::<Result<_>>()?;
        Ok(Self { toolchain, rows })
    }

    /// The table as it is committed.
    pub fn text(&self) -> String {
        let Toolchain { rustc, target, libc, valgrind } = &self.toolchain;
        let mut text = format!(
            "{HEAD}rustc\t{rustc}\ntarget\t{target}\nlibc\t{libc}\nvalgrind\t{valgrind}\n{COLUMNS}\n"
        );
        for CommittedRow { counted: Row { path, per_packet }, why } in &self.rows {
            let _ = writeln!(text, "{}\t{}\t{per_packet:.2}\t{why}", path.path, path.sizes);
        }
        text
    }

    /// The table with new counts, made by this toolchain. A row keeps its count and its reason where the new count is within the
    /// tolerance: it did not change, and small differences do not add up over several tables.
    pub fn renewed(&self, toolchain: Toolchain, counted: Vec<Row>, why: &str) -> Self {
        let is_comparable = self.does_not_apply(&toolchain).is_none();
        let mut rows = Vec::new();
        for now in counted {
            match self.row(&now.path) {
                Some(before) if is_comparable && is_allowed(before.counted.per_packet, now.per_packet) => {
                    rows.push(before.clone());
                }
                _ => rows.push(CommittedRow { counted: now, why: why.into() }),
            }
        }
        Self { toolchain, rows }
    }

    fn row(&self, path: &PathName) -> Option<&CommittedRow> {
        self.rows.iter().find(|row| row.counted.path == *path)
    }

    /// Why the table says nothing about counts of this toolchain; `None` if it does.
    pub fn does_not_apply(&self, toolchain: &Toolchain) -> Option<String> {
        toolchain.difference_from(&self.toolchain)
    }

    /// Compares new counts with those of the table.
    pub fn compare(&self, counted: &[Row]) -> Comparison {
        let mut comparison = Comparison { text: heading(), different: Vec::new() };
        for now in counted {
            let before = self.row(&now.path).map(|row| row.counted.per_packet);
            comparison.add(&now.path, before, Some(now.per_packet));
        }
        for CommittedRow { counted: before, .. } in &self.rows {
            if !counted.iter().any(|row| row.path == before.path) {
                comparison.add(&before.path, Some(before.per_packet), None);
            }
        }
        comparison
    }
}

fn heading() -> String {
    format!(
        "{:<32} {:>5} {:>10} {:>10} {:>10}\n",
        "instructions per packet", "size", "table", "now", "difference"
    )
}

impl Comparison {
    /// Whether the counts are those of the table.
    ///
    /// # Errors
    /// They are not; the message names the paths.
    pub fn judge(&self) -> Result<()> {
        ensure!(
            self.different.is_empty(),
            "instructions per packet differ from the table: {}; if that is right: CAPBENCH_WRITE_INSTRUCTIONS='why' ./check instructions",
            self.different.join("; ")
        );
        Ok(())
    }

    fn add(&mut self, path: &PathName, before: Option<f64>, now: Option<f64>) {
        let (difference, note) = match (before, now) {
            (Some(before), Some(now)) if is_allowed(before, now) => (format!("{:+.2}", now - before), ""),
            (Some(before), Some(now)) if now > before => (format!("{:+.2}", now - before), "  MORE"),
            (Some(before), Some(now)) => (format!("{:+.2}", now - before), "  LESS"),
            (None, _) => ("-".into(), "  NOT IN THE TABLE"),
            (_, None) => ("-".into(), "  NOT COUNTED"),
        };
        let PathName { path, sizes } = path;
        if !note.is_empty() {
            self.different.push(format!("{path}, {sizes}"));
        }
        let (before, now) = (shown(before), shown(now));
        let _ = writeln!(self.text, "{path:<32} {sizes:>5} {before:>10} {now:>10} {difference:>10}{note}");
    }
}

fn shown(count: Option<f64>) -> String {
    count.map_or_else(|| "-".into(), |count| format!("{count:.2}"))
}

/// Whether a new count is within the tolerance. The table has two decimals, and a count as much room to be rounded.
fn is_allowed(before: f64, now: f64) -> bool {
    (now - before).abs() <= TOLERANCE.max(before * TOLERANCE_SHARE)
}

/// The value of the next line, which has this name.
fn member<'a>(lines: &mut impl Iterator<Item = &'a str>, name: &str) -> Result<String> {
    match lines.next().and_then(|line| line.split_once('\t')) {
        Some((found, value)) if found == name && !value.trim().is_empty() => Ok(value.into()),
        _ => bail!("the table has no line \"{name}\" with a value"),
    }
}

fn committed_row(line: &str) -> Result<CommittedRow> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [path, sizes, count, why] = cells[..] else {
        bail!("a row of the table has four cells, not so \"{line}\"");
    };
    ensure!(!why.trim().is_empty(), "a row of the table says why its count changed, not so \"{line}\"");
    let per_packet = count.parse().with_context(|| format!("the count in \"{line}\""))?;
    let path = PathName { path: path.into(), sizes: sizes.into() };
    Ok(CommittedRow { counted: Row { path, per_packet }, why: why.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(path: &str, per_packet: f64) -> Row {
        Row { path: PathName { path: path.into(), sizes: "64".into() }, per_packet }
    }

    fn table(counted: Vec<Row>) -> Table {
        let toolchain = Toolchain {
            rustc: "1.95.0 (59807616e 2026-04-14)".into(),
            target: "x86_64-unknown-linux-gnu".into(),
            libc: "glibc 2.36".into(),
            valgrind: "valgrind-3.19.0".into(),
        };
        let mut rows = Vec::new();
        for counted in counted {
            rows.push(CommittedRow { counted, why: "The first table.".into() });
        }
        Table { toolchain, rows }
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let table = table(vec![counted("classify", 305.0), counted("merge, one capture", 151.25)]);
        assert_eq!(Table::parse(&table.text()).unwrap(), table);
    }

    #[test]
    fn a_row_without_a_reason_is_refused() {
        let text = table(vec![counted("classify", 305.0)]).text().replace("The first table.", " ");
        assert!(Table::parse(&text).unwrap_err().to_string().contains("says why"));
    }

    #[test]
    fn only_rows_that_changed_get_the_new_reason() {
        let table = table(vec![counted("classify", 305.0), counted("verify", 366.0)]);
        let now = vec![counted("classify", 305.2), counted("verify", 380.0), counted("pace", 240.0)];
        let renewed = table.renewed(table.toolchain.clone(), now.clone(), "Sums are checked.");
        let rows: Vec<_> =
            renewed.rows.iter().map(|row| (row.counted.per_packet, row.why.as_str())).collect();
        let changed = [(380.0, "Sums are checked."), (240.0, "Sums are checked.")];
        assert_eq!(rows, [[(305.0, "The first table.")].as_slice(), &changed].concat());
        // Counts of another compiler are all new.
        let newer = Toolchain { rustc: "1.96.0".into(), ..table.toolchain.clone() };
        let renewed = table.renewed(newer, now, "Rust 1.96.");
        assert!(renewed.rows.iter().all(|row| row.why == "Rust 1.96."));
    }

    #[test]
    fn a_difference_is_allowed_up_to_the_larger_tolerance() {
        let table = table(vec![counted("short", 31.0), counted("long", 2000.0)]);
        let allowed = table.compare(&[counted("short", 31.29), counted("long", 1994.1)]);
        assert!(allowed.different.is_empty(), "{}", allowed.text);
        for (path, now, note) in [
            ("short", 31.31, "MORE"),
            ("short", 30.69, "LESS"),
            ("long", 2006.1, "MORE"),
            ("long", 1993.9, "LESS"),
        ] {
            let mut rows: Vec<Row> = table.rows.iter().map(|row| row.counted.clone()).collect();
            rows.iter_mut().find(|row| row.path.path == path).unwrap().per_packet = now;
            let comparison = table.compare(&rows);
            assert_eq!(comparison.different, [format!("{path}, 64")], "{}", comparison.text);
            assert_eq!(comparison.text.matches(note).count(), 1, "{}", comparison.text);
        }
    }

    #[test]
    fn a_path_that_is_on_one_side_only_is_named() {
        let table = table(vec![counted("classify", 305.0), counted("verify", 366.0)]);
        let comparison = table.compare(&[counted("classify", 305.0), counted("pace", 240.0)]);
        assert_eq!(comparison.different, ["pace, 64", "verify, 64"], "{}", comparison.text);
    }

    #[test]
    fn the_table_does_not_apply_to_another_compiler() {
        let table = table(Vec::new());
        assert_eq!(table.does_not_apply(&table.toolchain), None);
        let newer = Toolchain { rustc: "1.96.0".into(), ..table.toolchain.clone() };
        let reason = table.does_not_apply(&newer).unwrap();
        assert_eq!(reason, "rustc is 1.96.0 here and 1.95.0 (59807616e 2026-04-14) in the table");
    }
}
