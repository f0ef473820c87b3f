//! The processes of a run: this one, the capbench that started it as an agent, and all that these started.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::stat::{TaskStat, of_process};

/// Longest chain of parents that is followed. Its files are read one by one, so a chain can seem to have a circle.
const LONGEST_CHAIN: usize = 64;

/// Which processes belong to the run. It reads each process once.
pub(super) struct Family {
    proc: PathBuf,
    reader: u32,
    root: u32,
    known: BTreeMap<u32, Option<TaskStat>>,
}

impl Family {
    /// The family of this process. Its root is the first ancestor that runs the same program, or the process itself.
    pub(super) fn of_this_process(proc: &Path) -> Self {
        // The number that this /proc has for the process, whose namespace can be another one.
        let reader = fs::read_link(proc.join("self")).ok().and_then(|own| own.to_str()?.parse().ok());
        let reader = reader.unwrap_or_else(std::process::id);
        let mut family = Self { proc: proc.into(), reader, root: reader, known: BTreeMap::new() };
        let program = family.program_of(reader);
        for ancestor in family.chain(reader) {
            if program.is_some() && family.program_of(ancestor) == program {
                family.root = ancestor;
            }
        }
        family
    }

    /// The number of this process.
    pub(super) fn reader(&self) -> u32 {
        self.reader
    }

    /// Whether a process belongs to the run.
    pub(super) fn has(&mut self, pid: u32) -> bool {
        pid == self.root || self.chain(pid).contains(&self.root)
    }

    /// What is known of a process; `None` if it has ended or is hidden.
    pub(super) fn stat(&mut self, pid: u32) -> Option<TaskStat> {
        let proc = &self.proc;
        self.known.entry(pid).or_insert_with(|| of_process(proc, pid)).clone()
    }

    /// The parent of a process, its parent, and so on.
    fn chain(&mut self, pid: u32) -> Vec<u32> {
        let mut chain = Vec::new();
        let mut next = pid;
        while let Some(stat) = self.stat(next) {
            if stat.parent == 0 || chain.len() == LONGEST_CHAIN {
                break;
            }
            chain.push(stat.parent);
            next = stat.parent;
        }
        chain
    }

    /// The file that a process runs, by device and inode; `None` if that is hidden.
    fn program_of(&self, pid: u32) -> Option<(u64, u64)> {
        let program = fs::metadata(self.proc.join(format!("{pid}/exe"))).ok()?;
        Some((program.dev(), program.ino()))
    }
}
