//! How captures of one interface share its frames: as a user writes it, and as the property of a capture that is one of them.

use std::path::PathBuf;
use std::str::FromStr;

use capbench_model::fanout::Fanout;
use capbench_sys::packet::{FanoutMode, FanoutProgram};

use crate::error::{CaptureError, Result};
use crate::filter::fanout_program_of_file;

/// The property of a capture in this group. It lacks the number of the group, which differs from run to run.
pub(crate) fn property_of_member(fanout: &Fanout) -> String {
    let program = match fanout.program() {
        Some(FanoutProgram::Classic(_)) => ", the user's program",
        Some(FanoutProgram::Loaded(_)) => ", the user's pinned program",
        None => "",
    };
    let rollover = if fanout.rollover() { ", rollover" } else { "" };
    format!("member of a fanout group ({}{program}{rollover})", fanout.mode())
}

/// A mode (`hash`), the program in a file (`bpf:FILE`), or a pinned program (`ebpf:PATH`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FanoutChoice {
    /// A mode of the kernel, or the program of capbench.
    Mode(FanoutMode),
    /// By the program in this file.
    File(PathBuf),
    /// By the program that is pinned here.
    Pinned(PathBuf),
}

impl FromStr for FanoutChoice {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.split_once(':') {
            Some(("bpf", file)) => Ok(Self::File(file.into())),
            Some(("ebpf", path)) => Ok(Self::Pinned(path.into())),
            _ => text.parse().map(Self::Mode),
        }
    }
}

impl FanoutChoice {
    /// A new group that shares frames so.
    ///
    /// # Errors
    /// [`CaptureError::Option`]: there is no such program.
    pub fn group(&self) -> Result<Fanout> {
        let program = match self {
            Self::Mode(mode) => return Ok(Fanout::new(*mode)),
            Self::File(file) => fanout_program_of_file(file)?,
            Self::Pinned(path) => FanoutProgram::pinned(path).map_err(|error| CaptureError::Option {
                option: "--fanout",
                reason: format!(
                    "ebpf:{}: {error}; a program has to be pinned there (bpftool prog pin)",
                    path.display()
                ),
            })?,
        };
        Ok(Fanout::by_program(program))
    }
}
