//! `cmd:`: capture programs of others as what is under test.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use capbench_capture::{CaptureOptions, Interface, MethodSpec};
use capbench_traffic::recognise::Recogniser;

use crate::accounts::kernel_work::KernelWorkProbe;

use crate::error::{MeasureError, Result};
use crate::receiver::{Progress, Received};
use crate::subject::Listed;

/// The name that a method's text begins with.
pub const METHOD: &str = "cmd";

/// The command line's options that programs heed.
pub const OPTIONS: &[&str] = &["--ring", "--snaplen"];

/// What is known of a program.
#[derive(Debug)]
pub struct Preset {
    /// The name behind `cmd:`.
    pub name: &'static str,
}

/// Programs that capbench knows.
pub const PRESETS: &[Preset] = &[];

/// The presets, as a list of methods has them.
pub fn list() -> Vec<Listed> {
    Vec::new()
}

/// A program under test.
#[derive(Clone, Debug)]
pub struct Program {
    /// As the user wrote it.
    pub spec: MethodSpec,
}

/// What a program is run with in a trial.
#[derive(Debug)]
pub struct Job<'a> {
    /// Where to capture; the calling thread is in its namespace and on the application's CPU.
    pub interface: &'a Interface,
    /// How to capture.
    pub capture: &'a CaptureOptions,
    /// Knows the trial's frames.
    pub recogniser: Recogniser,
    /// News from the sender.
    pub progress: &'a Progress,
    /// The user wants to stop.
    pub stop: &'a AtomicBool,
    /// Told once the program can receive.
    pub ready: SyncSender<()>,
    /// Reads the kernel's account.
    pub probe: KernelWorkProbe,
    /// How long nothing may come before a trial that still misses frames is over.
    pub quiet: Duration,
}

impl Program {
    /// Whether it can run here, or why not.
    ///
    /// # Errors
    /// The reason, and what to do.
    pub fn supported(&self) -> std::result::Result<(), String> {
        Err("no program is known".into())
    }
}

/// Runs it for a trial.
///
/// # Errors
/// A program that cannot be started, ends early, hangs, or does not report.
pub fn run(program: &Program, _: Job<'_>) -> Result<Received> {
    find(&program.spec).map(|_| unreachable!("no program is known"))
}

/// The program that `spec` names.
///
/// # Errors
/// None of this name.
pub fn find(spec: &MethodSpec) -> Result<Program> {
    Err(MeasureError::Unsupported { what: spec.to_string(), reason: "no program is known".into() })
}
