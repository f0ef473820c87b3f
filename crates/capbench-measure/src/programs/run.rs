//! A trial with a program: start it, see that it receives, let the sender go, see that it has read everything, stop it, and
//! count what it captured.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::{Duration, Instant};

use capbench_capture::{CaptureOptions, Interface, WaitCounts};
use capbench_traffic::plan::FlowOrder;
use capbench_traffic::recognise::Recogniser;

use super::arguments::Values;
use super::capture_file::{self, Summary};
use super::output::Output;
use super::process::{Ended, Process, TICK, describe};
use super::program::{Program, Ready};
use super::quiet::{Look, Stillness};
use super::report::Report;
use super::scratch::Scratch;
use super::sockets::Sockets;
use super::tree::{Member, Usage};
use super::version;
use crate::accounts::kernel_work::{KernelWorkProbe, KernelWorkSnapshot};
use crate::accounts::threads::ThreadTimes;
use crate::error::{MeasureError, Result};
use crate::receiver::{Progress, Received, Verifier};
use crate::trial::{Arrivals, Load};

/// A drain that still makes progress after this time is ended all the same.
const LONGEST_DRAIN: Duration = Duration::from_secs(60);
/// How long a program has to stand still before it counts as idle, and how long that is waited for at most.
const SETTLED: Duration = Duration::from_millis(40);
const LONGEST_SETTLING: Duration = Duration::from_secs(1);
/// More frames than a generator on a veth pair sends in a second today; for the room that maximum load may need.
const MOST_PPS: f64 = 3e6;
/// What a capture file has around each frame: header of record or block, options, padding.
const RECORD: u64 = 48;
/// A program may print and write so much beside its frames.
const FURTHER: u64 = 64 << 20;

/// How much will be sent, so that there is room for it.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Frames at most, about.
    pub frames: u64,
    /// Mean octets of a frame.
    pub octets: f64,
}

impl Expected {
    /// What a load may bring in a duration, in frames of this mean size.
    pub fn of(load: Load, duration: Duration, octets: f64) -> Self {
        let frames = load.pps().unwrap_or(MOST_PPS) * duration.as_secs_f64();
        Self { frames: frames.ceil() as u64, octets }
    }

    fn bytes(self, options: &CaptureOptions) -> u64 {
        let octets = self.octets.min(f64::from(options.snap_length.octets())).ceil() as u64;
        self.frames.saturating_mul(octets + RECORD).saturating_add(FURTHER)
    }
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
    /// The order of their flows.
    pub flows: FlowOrder,
    /// How much will be sent.
    pub expected: Expected,
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

/// Runs it for a trial. The calling thread must not end before this returns, which nothing makes it do.
///
/// # Errors
/// [`MeasureError::Program`]: it cannot be started, ends early, does not become ready, does not stop, or does not tell what
/// it captured. Nothing of it is left then.
pub fn run(program: &Program, job: Job<'_>) -> Result<Received> {
    let failed = |reason: String| MeasureError::Program { program: program.name.clone(), reason };
    let executable = program.executable().map_err(failed)?;
    let room = job.expected.bytes(job.capture);
    let scratch = Scratch::with_room(if program.writes_file() { room } else { FURTHER }).map_err(failed)?;
    let engine = version::ask(program, &executable, scratch.path());
    let trial = Running::start(program, &job, &scratch, &executable, room)?;
    trial.complete(engine)
}

/// A program that was started for a trial.
struct Running<'a> {
    program: &'a Program,
    job: &'a Job<'a>,
    scratch: &'a Scratch,
    /// What its files may take.
    room: u64,
    file: PathBuf,
    output: Output,
    process: Process,
    /// Sockets that were on the interface before.
    others: Sockets,
}

/// What was measured while it ran.
struct Window {
    cpu_ns: u64,
    switches: ThreadTimes,
    kernel: KernelWorkSnapshot,
    drain: Duration,
    notes: Vec<String>,
}

impl<'a> Running<'a> {
    fn start(
        program: &'a Program,
        job: &'a Job<'a>,
        scratch: &'a Scratch,
        executable: &Path,
        room: u64,
    ) -> Result<Self> {
        let directory = scratch.path();
        let file = directory.join("capture");
        let values = Values::new(job.interface, job.capture, directory, &file);
        let further = if job.capture.promiscuous { &[][..] } else { &program.not_promiscuous };
        let arguments: Vec<String> =
            program.command[1..].iter().chain(further).map(|argument| values.fill(argument)).collect();
        let others = Sockets::on(job.interface.index)?;
        let output = Output::new(directory, "trial");
        let process = Process::start(executable, &arguments, directory, &output).map_err(|error| {
            let reason = format!("{} cannot be started: {error}", executable.display());
            MeasureError::Program { program: program.name.clone(), reason }
        })?;
        Ok(Self { program, job, scratch, room, file, output, process, others })
    }

    fn complete(mut self, engine: String) -> Result<Received> {
        self.wait_until_ready()?;
        let (members, idle) = self.settle()?;
        let window = self.measure(&members, idle)?;
        let Self { program, job, scratch, file, output, process, .. } = self;
        let ended = process.stop(program.stop, program.patience).map_err(|error| MeasureError::Program {
            program: program.name.clone(),
            reason: error.to_string(),
        })?;
        let outcome = Outcome { program, job, scratch, output: &output };
        let received = outcome.received(&file, &ended, window)?;
        Ok(Received { engine, ..received })
    }

    fn failed(&self, reason: String) -> MeasureError {
        MeasureError::Program { program: self.program.name.clone(), reason }
    }

    /// Looks for its socket or its words. An idle loop: nothing tells when either comes.
    fn wait_until_ready(&mut self) -> Result<()> {
        let begun = Instant::now();
        loop {
            let (is_ready, missing) = match &self.program.ready {
                Ready::Socket => (
                    Sockets::on(self.job.interface.index)?.has_more_than(&self.others),
                    format!("it has no packet socket on {}", self.job.interface.name),
                ),
                Ready::Says(pattern) => {
                    (pattern.is_match(&self.output.text()), format!("it did not say \"{pattern}\""))
                }
            };
            self.check_alive("before it could receive")?;
            if is_ready {
                return Ok(());
            }
            if begun.elapsed() >= self.program.patience {
                return Err(self.failed(format!(
                    "was not ready within {:?}: {missing}; {}",
                    self.program.patience,
                    self.output.last_words()
                )));
            }
            thread::sleep(TICK);
        }
    }

    /// Waits until it has nothing more to do, so that its start is no part of the account; its processes, and the CPU share
    /// that it takes when it is idle.
    fn settle(&mut self) -> Result<(Vec<Member>, f64)> {
        let begun = Instant::now();
        let mut members = self.process.members();
        let mut since = self.look(&members)?;
        let mut stillness = Stillness::new(0.0, since);
        loop {
            thread::sleep(TICK);
            self.check_alive("before it could receive")?;
            let look = self.look(&members)?;
            if stillness.has_lasted(SETTLED, look) {
                return Ok((self.process.members(), 0.0));
            }
            if begun.elapsed() >= LONGEST_SETTLING {
                return Ok((self.process.members(), look.share_since(&since)));
            }
            // What it does at first is its start, and no polling.
            if begun.elapsed() < LONGEST_SETTLING / 2 {
                since = look;
            }
            members = self.process.members();
        }
    }

    /// Lets the sender go, and watches the program until it has read everything.
    fn measure(&mut self, members: &[Member], idle: f64) -> Result<Window> {
        let before = Usage::of(members);
        let mut notes = Vec::new();
        // A trial that has been given up says so by `stop`.
        let _ = self.job.ready.send(());
        // Acquire: pairs with the Release store of the sender's side.
        while !self.job.progress.finished.load(Ordering::Acquire) && !self.is_stopped() {
            thread::sleep(TICK);
            self.check_alive("while frames were sent")?;
            self.check_room()?;
        }
        let finished = Instant::now();
        let quiet = self.job.quiet.max(self.program.holds.mul_f64(1.1) + Duration::from_millis(50));
        let members = self.process.members();
        let mut stillness = Stillness::new(idle, self.look(&members)?);
        while !self.is_stopped() {
            thread::sleep(TICK);
            self.check_alive("before it was stopped")?;
            self.check_room()?;
            if stillness.has_lasted(quiet, self.look(&members)?) {
                break;
            }
            if finished.elapsed() >= LONGEST_DRAIN {
                notes.push(format!(
                    "{} was still busy after {LONGEST_DRAIN:?}, and was stopped",
                    self.program.name
                ));
                break;
            }
        }
        let drain = finished.elapsed();
        let kernel = self.job.probe.snapshot()?;
        let (cpu_ns, switches) = Usage::of(&self.process.members()).since(&before);
        Ok(Window { cpu_ns, switches, kernel, drain, notes })
    }

    fn is_stopped(&self) -> bool {
        self.job.stop.load(Ordering::Relaxed)
    }

    fn look(&self, members: &[Member]) -> Result<Look> {
        Ok(Look {
            at: Instant::now(),
            cpu_ns: Usage::cpu_ns_of(members),
            written: self.written(),
            queued: Sockets::on(self.job.interface.index)?.queued(&self.others),
            can_go_on: Usage::can_go_on(members),
        })
    }

    fn written(&self) -> u64 {
        self.output.octets() + self.file.metadata().map_or(0, |data| data.len())
    }

    fn check_alive(&mut self, when: &str) -> Result<()> {
        let status = self.process.status().map_err(|error| self.failed(error.to_string()))?;
        let Some(status) = status else { return Ok(()) };
        let background = if status.success() { " (a program must stay in the foreground)" } else { "" };
        Err(self.failed(format!(
            "ended {when}, with {}{background}; {}",
            describe(status),
            self.output.last_words()
        )))
    }

    fn check_room(&self) -> Result<()> {
        let written = self.written();
        if written <= self.room {
            return Ok(());
        }
        Err(self.failed(format!(
            "wrote {written} bytes, more than the {} that the trial's frames could take; it was ended",
            self.room
        )))
    }
}

/// A program that has ended, and where it left its traces.
struct Outcome<'a> {
    program: &'a Program,
    job: &'a Job<'a>,
    scratch: &'a Scratch,
    output: &'a Output,
}

impl Outcome<'_> {
    fn failed(&self, reason: String) -> MeasureError {
        MeasureError::Program { program: self.program.name.clone(), reason }
    }

    fn received(self, file: &Path, ended: &Ended, window: Window) -> Result<Received> {
        let name = &self.program.name;
        let mut notes = window.notes;
        if ended.unheeded.len() > 1 {
            return Err(self.failed(format!(
                "did not stop: {} and {} did not end it, so it was killed; {}",
                ended.unheeded[0],
                ended.unheeded[1],
                self.output.last_words()
            )));
        }
        if let Some(signal) = ended.unheeded.first() {
            notes.push(format!(
                "{name} did not stop at {signal} within {:?}, only at SIGTERM",
                self.program.patience
            ));
        }
        if !ended.is_usual() {
            notes.push(format!("{name} ended with {} when it was stopped", describe(ended.status)));
        }
        if ended.left > 0 {
            notes.push(format!("{name} left processes behind ({}), which were killed", ended.left));
        }
        let report = Report::read(self.program, &self.output.text());
        let (arrivals, record, running, taken_on_trust) = match self.program.writes_file() {
            true => {
                let (verifier, summary) = self.verify(file)?;
                notes.extend(self.set_against(&report, &summary));
                (verifier.arrivals(), verifier.into_record(), self.running(Some(&summary)), None)
            }
            false => (
                self.believe(&report)?,
                None,
                self.running(None),
                Some("it only counts frames: they are as it says, and what they contained is unknown".into()),
            ),
        };
        let lacks = report.lacks(self.program);
        if !lacks.is_empty() {
            notes.push(format!(
                "{name} did not report \"{}\"; {}",
                lacks.join("\", \""),
                self.output.last_words()
            ));
        }
        notes.extend(self.program.unheeded(self.job.capture));
        Ok(Received {
            arrivals,
            counters: report.counters(self.program),
            batches: 0,
            waits: WaitCounts::default(),
            cpu_ns: window.cpu_ns,
            kernel: window.kernel,
            switches: Some(window.switches),
            drain: window.drain,
            engine: String::new(),
            running,
            taken_on_trust,
            record,
            filtered: false,
            notes,
        })
    }

    /// Looks at every frame in its file.
    fn verify(&self, file: &Path) -> Result<(Verifier, Summary)> {
        // libpcap puts a tag that the kernel took out back into the frame; other programs may leave it out.
        let mut verifier = Verifier::recording(self.job.recogniser.clone(), self.job.flows, false);
        let summary = capture_file::read(file, |frame| verifier.note(frame)).map_err(|reason| {
            self.failed(format!("its capture file {reason}; {}", self.output.last_words()))
        })?;
        Ok((verifier, summary))
    }

    /// Takes the program's word.
    fn believe(&self, report: &Report) -> Result<Arrivals> {
        let captured = report.captured().ok_or_else(|| {
            self.failed(format!("did not report how many frames it captured; {}", self.output.last_words()))
        })?;
        Ok(Arrivals { read: captured, delivered: captured, ..Arrivals::default() })
    }

    /// What it says against what its file has.
    fn set_against(&self, report: &Report, summary: &Summary) -> Vec<String> {
        let name = &self.program.name;
        let mut notes = Vec::new();
        if summary.ends_early {
            notes.push(format!("the last record of {name}'s file is not whole"));
        }
        if let Some(captured) = report.captured().filter(|captured| *captured != summary.frames) {
            notes.push(format!("{name} says {captured} captured, its file has {} frames", summary.frames));
        }
        notes
    }

    /// The command as it ran, without names that only the trial had.
    fn running(&self, summary: Option<&Summary>) -> String {
        let values =
            Values::new(self.job.interface, self.job.capture, Path::new("{directory}"), Path::new("{file}"));
        let further = if self.job.capture.promiscuous { &[][..] } else { &self.program.not_promiscuous };
        let words: Vec<_> =
            self.program.command.iter().chain(further).map(|word| values.fill(word)).collect();
        let file = summary.map_or(String::new(), |summary| {
            let where_to = if self.scratch.is_on_disk { "on disk" } else { "in memory" };
            format!("; {} file {where_to}, every frame verified afterwards", summary.format)
        });
        let remark = self.program.remark.map_or(String::new(), |remark| format!("; {remark}"));
        format!("{}{file}{remark}", words.join(" "))
    }
}
