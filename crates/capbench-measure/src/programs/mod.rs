//! `cmd:NAME`: any capture program as the method under test.
//!
//! | module | what |
//! |---|---|
//! | `program` | what there is to know about a program before it runs |
//! | `presets`, `definitions` | programs that capbench knows, one row each, and those that a user defines |
//! | `arguments`, `report` | placeholders of a command line; counts out of what a program prints |
//! | `capture_file` | frames out of the file that it writes, pcap or pcapng |
//! | `scratch`, `output`, `process`, `version` | where it writes, what it says, how it is started and ended |
//! | `tree`, `sockets` | the CPU time of all its processes; the packet sockets of a namespace |
//! | `run`, `quiet`, `outcome` | a trial with it, when it has read everything, and what comes of it |
//!
//! A program is started in the receiving namespace, on the application's CPU. It has no part in the trial's clockwork: that
//! it receives is seen from its socket, that it has read everything from its standing still.

mod arguments;
mod capture_file;
mod definitions;
mod outcome;
mod output;
mod presets;
mod process;
mod program;
mod quiet;
mod report;
mod run;
mod scratch;
mod sockets;
mod tree;
mod version;

use std::path::Path;

use capbench_capture::{CaptureError, MethodSpec};

use crate::error::{MeasureError, Result};
pub use program::{Count, Meaning, Program, Ready, Version};
pub use run::{Expected, Job, run};

/// The name that a method's text begins with.
pub const METHOD: &str = "cmd";

/// The programs that can be measured: those that capbench knows, and those that the user defined.
#[derive(Clone, Debug)]
pub struct Programs {
    rows: Vec<Program>,
}

impl Default for Programs {
    fn default() -> Self {
        Self { rows: presets::all() }
    }
}

/// Reads what a program printed, for the fuzz target: the numbers agree with each other.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_report(program: &Program, text: &str) {
    let report = report::Report::read(program, text);
    let lacks = report.lacks(program).len();
    assert!(lacks <= report.missing.len() && report.missing.len() <= program.counts.len());
    let said = report.said(Some(1));
    let counters = report.counters(program);
    assert!(said.received.is_none() || counters.accepted == said.received);
    report.contradictions(&program.name, report.captured(), said.received);
}

#[cfg(any(test, fuzzing))]
pub(crate) use definitions::parse as parse_definitions;

impl Programs {
    /// Those that capbench knows and those that the file at `path` defines, if there is one. A program of a name that is
    /// known already takes that one's place.
    ///
    /// # Errors
    /// A file that cannot be read or does not define programs.
    pub fn with_file(path: Option<&Path>) -> Result<Self> {
        let mut programs = Self::default();
        for program in path.map(definitions::read).transpose()?.unwrap_or_default() {
            match programs.rows.iter_mut().find(|known| known.name == program.name) {
                Some(known) => *known = program,
                None => programs.rows.push(program),
            }
        }
        Ok(programs)
    }

    /// All of them, in the order of tables.
    pub fn rows(&self) -> &[Program] {
        &self.rows
    }

    /// The program that `spec` names behind `cmd:`.
    ///
    /// # Errors
    /// [`MeasureError::UnknownProgram`], which lists those that there are; a setting, of which programs have none.
    pub fn find(&self, spec: &MethodSpec) -> Result<&Program> {
        let name = spec.argument().unwrap_or_default();
        let refuse = |reason| CaptureError::Spec { method: spec.to_string(), reason };
        if name.is_empty() {
            return Err(
                refuse("write cmd:PROGRAM; `capbench methods` lists those that there are".into()).into()
            );
        }
        if let Some(setting) = spec.settings().first() {
            return Err(refuse(format!("a program has no setting \"{}\"", setting.name)).into());
        }
        self.rows.iter().find(|program| program.name == name).ok_or_else(|| {
            let known: Vec<_> = self.rows.iter().map(|program| program.name.as_str()).collect();
            MeasureError::UnknownProgram { name: name.into(), known: known.join(", ") }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Programs;

    #[test]
    fn an_unknown_program_is_answered_with_those_there_are() {
        let programs = Programs::default();
        let error = programs.find(&"cmd:wireshark".parse().unwrap()).unwrap_err().to_string();
        for name in ["\"wireshark\"", "tcpdump", "dumpcap", "netsniff-ng", "suricata", "--programs"] {
            assert!(error.contains(name), "{error}");
        }
        assert_eq!(programs.find(&"cmd:tracestats-int".parse().unwrap()).unwrap().name, "tracestats-int");
        for spec in ["cmd", "cmd:tcpdump+fast"] {
            assert!(programs.find(&spec.parse().unwrap()).unwrap_err().to_string().contains(spec), "{spec}");
        }
    }
}
