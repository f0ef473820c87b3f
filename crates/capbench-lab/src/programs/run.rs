//! A trial with a program: start it, wait until it receives, release the sender, wait until it has read everything, and stop it.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use capbench_model::noise::ProgramNote;

use super::arguments::Values;
use super::job::{FURTHER, Job};
use super::outcome::{Outcome, Window};
use super::output::Output;
use super::process::{Process, TICK, describe};
use super::program::{Program, Ready};
use super::quiet::{Look, Stillness};
use super::scratch::Scratch;
use super::sockets::Sockets;
use super::tree::{Member, Usage};
use super::unread::OpenSockets;
use super::version;
use crate::error::ProgramFault;
use crate::receiver;
use crate::{LabError, Result};

/// Longest drain, even if it still makes progress.
const LONGEST_DRAIN: Duration = Duration::from_secs(60);
/// How long a program must be inactive to count as idle, and the time limit for that.
const SETTLED: Duration = Duration::from_millis(40);
const LONGEST_SETTLING: Duration = Duration::from_secs(1);

/// Runs it for a trial. The calling thread must not end before this returns; nothing enforces that.
///
/// # Errors
/// [`LabError::Program`]: it does not start, ends early, does not become ready, does not stop, or does not report its
/// captured frames. None of its processes is left then.
pub fn run(program: &Program, job: Job<'_>) -> Result<receiver::Outcome> {
    let failed = |reason: String| LabError::Program { program: program.name.clone(), reason };
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
    /// Octets that its files may use.
    room: u64,
    file: PathBuf,
    output: Output,
    process: Process,
    /// Sockets that were on the interface before.
    others: Sockets,
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
        let process = Process::start(executable, &arguments, directory, &output)
            .map_err(|reason| LabError::Program { program: program.name.clone(), reason })?;
        Ok(Self { program, job, scratch, room, file, output, process, others })
    }

    fn complete(mut self, engine: String) -> Result<receiver::Outcome> {
        self.wait_until_ready()?;
        let (members, idle) = self.settle()?;
        let window = self.measure(&members, idle)?;
        let Self { program, job, scratch, file, output, process, .. } = self;
        let ended = process.stop(program.stop, program.patience).map_err(|error| LabError::Program {
            program: program.name.clone(),
            reason: error.to_string(),
        })?;
        let outcome = Outcome { program, job, scratch, output: &output };
        outcome.received(engine, &file, &ended, window)
    }

    fn failed(&self, reason: String) -> LabError {
        LabError::Program { program: self.program.name.clone(), reason }
    }

    /// Polls for its socket or its output: no event announces either.
    fn wait_until_ready(&mut self) -> Result<()> {
        let begun = Instant::now();
        loop {
            let (is_ready, missing) = match &self.program.ready {
                Ready::Socket => (
                    Sockets::on(self.job.interface.index)?.has_more_than(&self.others),
                    ProgramFault::NoSocket(self.job.interface.name.clone()),
                ),
                Ready::Says(pattern) => {
                    (pattern.is_match(&self.output.text()), ProgramFault::DidNotSay(pattern.to_string()))
                }
            };
            self.check_alive(&ProgramFault::BeforeReady)?;
            if is_ready {
                return Ok(());
            }
            if begun.elapsed() >= self.program.patience {
                return Err(self.failed(format!(
                    "it was not ready within {:?}: {missing}; {}",
                    self.program.patience,
                    self.output.last_words()
                )));
            }
            thread::sleep(TICK);
        }
    }

    /// Waits until it has nothing more to do, so that its start is not part of the account. Returns its processes and its idle
    /// CPU share.
    fn settle(&mut self) -> Result<(Vec<Member>, f64)> {
        let begun = Instant::now();
        let mut members = self.process.members();
        let mut since = self.look(&members)?;
        let mut stillness = Stillness::new(0.0, since);
        loop {
            thread::sleep(TICK);
            self.check_alive(&ProgramFault::BeforeReady)?;
            let look = self.look(&members)?;
            if stillness.has_lasted(SETTLED, look) {
                return Ok((self.process.members(), 0.0));
            }
            if begun.elapsed() >= LONGEST_SETTLING {
                return Ok((self.process.members(), look.share_since(&since)));
            }
            // Its first activity is its start, not polling.
            if begun.elapsed() < LONGEST_SETTLING / 2 {
                since = look;
            }
            members = self.process.members();
        }
    }

    /// Releases the sender, and watches the program until it has read everything.
    fn measure(&mut self, members: &[Member], idle: f64) -> Result<Window> {
        let before = Usage::of(members);
        let mut notes = Vec::new();
        // A trial that was given up sets `stop`.
        let _ = self.job.ready.send(());
        while self.job.progress.sent().is_none() && !self.is_stopped() {
            thread::sleep(TICK);
            self.check_alive(&ProgramFault::WhileSending)?;
            self.check_room()?;
        }
        let finished = Instant::now();
        let members = self.process.members();
        let sockets = OpenSockets::of(&members, &Sockets::on(self.job.interface.index)?.inodes(&self.others));
        let quiet = self.job.stillness(self.program, &sockets);
        let mut stillness = Stillness::new(idle, self.look(&members)?);
        let mut cut_short = true;
        while !self.is_stopped() {
            thread::sleep(TICK);
            self.check_alive(&ProgramFault::BeforeStop)?;
            self.check_room()?;
            let look = self.look(&members)?;
            if stillness.has_lasted(quiet, look) {
                // Octets in a socket's queue are visible; those in a ring are not.
                cut_short = look.queued > 0;
                break;
            }
            if finished.elapsed() >= LONGEST_DRAIN {
                notes.push(ProgramNote::StillBusy { drain_ns: LONGEST_DRAIN.as_nanos() as u64 });
                break;
            }
        }
        let drain = finished.elapsed();
        let kernel = self.job.probe.snapshot()?;
        let (cpu_ns, switches) = Usage::of(&self.process.members()).since(&before);
        Ok(Window { cpu_ns, switches, kernel, drain, cut_short, sockets, notes })
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

    fn check_alive(&mut self, when: &ProgramFault) -> Result<()> {
        let status = self.process.status().map_err(|error| self.failed(error.to_string()))?;
        let Some(status) = status else { return Ok(()) };
        Err(self.failed(format!(
            "it ended {when}, with {}{}; {}",
            describe(status),
            if status.success() { " (a program must stay in the foreground)" } else { "" },
            self.output.last_words()
        )))
    }

    fn check_room(&self) -> Result<()> {
        let written = self.written();
        if written <= self.room {
            return Ok(());
        }
        Err(self.failed(format!(
            "it wrote {written} bytes, more than the {} that the trial's frames could take; it was ended",
            self.room
        )))
    }
}
