//! Runs this program under callgrind (Valgrind), and reads how many instructions each path executed.
//!
//! The counts are the same in every run, in every folder and on every host with the same toolchain:
//! - only instructions of the thread that does the work count, not those of the kernel, and no cache or time is simulated;
//! - the program gets no variables of the environment and the same name, since both move its stack;
//! - Valgrind gives the program the same addresses in each run;
//! - Valgrind shows the program one of a few CPU models, by what the host's CPU can do, and libc chooses its copying functions by it.
//!   [`PLAIN_LIBC`] makes it choose those that every x86-64 CPU has.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::counter::PathName;
use crate::inputs::PACKETS;
use crate::table::Row;

/// CPU features that libc does not use (the GNU C library, "Hardware Capability Tunables").
const PLAIN_LIBC: &str =
    "glibc.cpu.hwcaps=-AVX2,-AVX_Fast_Unaligned_Load,-AVX512F,-AVX512VL,-SSSE3,-SSE4_1,-ERMS,-FSRM";

/// The argument by which this program does the work of every path and prints their names.
pub const RUN: &str = "run";

/// What callgrind writes in front of a text of [`crate::counter`].
const REQUEST: &str = "desc: Trigger: Client Request: ";

/// Instructions per packet of every path.
pub fn measure() -> Result<Vec<Row>> {
    let folder = tempfile::tempdir().context("make a folder for callgrind's files")?;
    let program = folder.path().join("paths");
    let this = env::current_exe().context("find this program")?;
    fs::copy(&this, &program).with_context(|| format!("copy {}", this.display()))?;
    let done = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--instr-atstart=no",
            "--separate-threads=yes",
            "--callgrind-out-file=counts",
            "--quiet",
            "./paths",
            RUN,
        ])
        .current_dir(folder.path())
        .env_clear()
        .env("GLIBC_TUNABLES", PLAIN_LIBC)
        .stdin(Stdio::null())
        .output()
        .context("start valgrind (tools/setup audit installs it)")?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "valgrind ended with {}: {}", done.status, said.trim());
    let paths = names(&String::from_utf8_lossy(&done.stdout))?;
    let counts = counts_in(folder.path())?;
    let mut rows = Vec::new();
    for (number, path) in paths.into_iter().enumerate() {
        let Some(instructions) = counts.get(&number) else {
            bail!("callgrind wrote no count of \"{} {}\"", path.path, path.sizes);
        };
        rows.push(Row { path, per_packet: *instructions as f64 / PACKETS as f64 });
    }
    Ok(rows)
}

/// The paths that the program printed.
fn names(printed: &str) -> Result<Vec<PathName>> {
    let mut names = Vec::new();
    for line in printed.lines() {
        let (path, sizes) = line.split_once('\t').with_context(|| format!("no path: {line}"))?;
        names.push(PathName { path: path.into(), sizes: sizes.into() });
    }
    Ok(names)
}

/// Instructions by the number of the path, from all files of callgrind in a folder.
fn counts_in(folder: &Path) -> Result<BTreeMap<usize, u64>> {
    let mut counts = BTreeMap::new();
    for entry in fs::read_dir(folder).context("list callgrind's files")? {
        let file = entry.context("list callgrind's files")?.path();
        if !file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("counts")) {
            continue;
        }
        let text = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
        if let Some(number) = value(&text, REQUEST) {
            let total = value(&text, "totals: ").context("callgrind's file has no line \"totals:\"")?;
            counts.insert(number as usize, total);
        }
    }
    Ok(counts)
}

/// The number behind these words, if a line begins with them.
fn value(text: &str, words: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(words)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_by_the_number_of_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let part =
            "# callgrind format\npart: 2\ndesc: Trigger: Client Request: 1\n\nevents: Ir\ntotals: 30240\n";
        fs::write(folder.path().join("counts.2"), part).unwrap();
        fs::write(folder.path().join("counts"), "desc: Trigger: Program termination\ntotals: 7\n").unwrap();
        fs::write(folder.path().join("paths"), [0xff]).unwrap();
        assert_eq!(counts_in(folder.path()).unwrap(), BTreeMap::from([(1, 30_240)]));
    }

    #[test]
    fn names_are_what_the_program_prints() {
        let names = names("encode pcap\timix\n").unwrap();
        assert_eq!(names, [PathName { path: "encode pcap".into(), sizes: "imix".into() }]);
    }
}
