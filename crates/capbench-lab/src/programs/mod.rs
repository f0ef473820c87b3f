//! `cmd:NAME`: any capture program as the method under test.
//!
//! | module | content |
//! |---|---|
//! | `program` | the properties of a program, before it runs |
//! | `presets`, `definitions` | the programs that capbench knows, one row each, and those that a user defines |
//! | `arguments`, `report` | placeholders of a command line; counts from a program's output |
//! | `capture_file` | frames from the file that it writes, pcap or pcapng |
//! | `scratch`, `output`, `process`, `version` | its directory, its output, its process, its version |
//! | `tree`, `sockets` | the CPU time of all its processes; the packet sockets of a namespace |
//! | `unread` | what its sockets and rings still had when it had ended |
//! | `job`, `outcome` | the conditions of a trial; its result |
//! | `run` | decides when it is ready, and runs it through a trial |
//! | `quiet` | decides when it has read everything |
//!
//! A program starts in the receiving namespace, on the application's CPU. It does not take part in the trial's synchronisation:
//! its socket shows that it receives, and its inactivity shows that it has read everything.

mod arguments;
mod capture_file;
mod definitions;
mod job;
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
mod unread;
mod version;

use std::path::Path;

use capbench_capture::CaptureError;
use capbench_model::method_spec::MethodSpec;

use crate::{LabError, Result};
pub use job::{Expected, Job};
pub use program::{Count, Meaning, Program, Ready, Version};
pub use run::run;

/// The method name of programs.
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

/// Reads a program's output, for the fuzz target: the numbers are consistent.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_report(program: &Program, text: &str) {
    let report = report::Report::read(program, text);
    let lacks = report.lacks(program).len();
    assert!(lacks <= report.missing.len() && report.missing.len() <= program.counts.len());
    let said = report.said(Some(1));
    let counters = report.counters(program);
    assert!(said.received.is_none() || counters.accepted == said.received);
    report.contradictions(report.captured(), said.received);
}

#[cfg(any(test, fuzzing))]
pub(crate) use definitions::parse as parse_definitions;

impl Programs {
    /// The programs that capbench knows and those that the file at `path` defines, if there is one. A definition replaces a known
    /// program of the same name.
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

    /// Adds the program of a method that has its command line in place of a name: `cmd:./program -i {interface}`.
    ///
    /// # Errors
    /// A command line without `{interface}`, with an unknown placeholder or with quotes.
    pub fn define(&mut self, spec: &MethodSpec) -> Result<()> {
        let line = spec.argument().filter(|_| spec.name() == METHOD).unwrap_or_default();
        if line.contains([' ', '{']) && !self.rows.iter().any(|program| program.name == line) {
            let refuse = |reason| CaptureError::Spec { method: spec.to_string(), reason };
            self.rows.push(definitions::of_command_line(line).map_err(refuse)?);
        }
        Ok(())
    }

    /// All programs, in the order of tables.
    pub fn rows(&self) -> &[Program] {
        &self.rows
    }

    /// The program that `spec` names after `cmd:`.
    ///
    /// # Errors
    /// [`LabError::UnknownProgram`], which lists the known programs; a setting, since programs have none.
    pub fn find(&self, spec: &MethodSpec) -> Result<&Program> {
        let name = spec.argument().unwrap_or_default();
        let refuse = |reason| CaptureError::Spec { method: spec.to_string(), reason };
        if name.is_empty() {
            return Err(refuse(
                "write cmd:PROGRAM as `capbench methods` lists it, or 'cmd:./program -i {interface}'".into(),
            )
            .into());
        }
        if let Some(setting) = spec.all_settings().next() {
            return Err(refuse(format!("a program has no setting \"{setting}\"")).into());
        }
        self.rows.iter().find(|program| program.name == name).ok_or_else(|| {
            let known: Vec<_> = self.rows.iter().map(|program| program.name.as_str()).collect();
            LabError::UnknownProgram { name: name.into(), known: known.join(", ") }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Programs;

    #[test]
    fn a_command_line_is_found_once_defined_and_names_stay_names() {
        let mut programs = Programs::default();
        let known = programs.rows().len();
        for text in ["cmd:./prog {interface}", "cmd:./prog {interface}", "cmd:tcpdump", "recv"] {
            programs.define(&text.parse().unwrap()).unwrap();
        }
        assert_eq!(programs.rows().len(), known + 1);
        assert_eq!(
            programs.find(&"cmd:./prog {interface}".parse().unwrap()).unwrap().name,
            "./prog {interface}"
        );
        assert!(programs.define(&"cmd:./prog eth0".parse().unwrap()).is_err());
    }

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
