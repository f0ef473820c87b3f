//! Makes the result of a trial from what a program left when it ended.

use std::path::Path;
use std::time::Duration;

use capbench_capture::Interface;
use capbench_host::accounts::kernel_work::KernelWorkSnapshot;
use capbench_host::accounts::threads::ThreadTimes;
use capbench_model::counters::{Counters, WaitCounts};
use capbench_model::evidence::UnreadFrames;
use capbench_model::noise::{Noise, ProgramNote};
use capbench_model::reasons::{NoDelays, Unverified};
use capbench_model::running::{CaptureFacts, Engine, RingGeometry, VerifiedFile};

use super::arguments::Values;
use super::capture_file::{self, Summary};
use super::job::Job;
use super::output::Output;
use super::process::{Ended, describe};
use super::program::Program;
use super::report::Report;
use super::scratch::Scratch;
use super::unread::OpenSockets;
use crate::receiver::{self, Progress, Received, Verifier};
use crate::{LabError, Result};
use capbench_model::arrivals::{Arrivals, StreamArrivals};
use capbench_model::latency::Latency;
use capbench_model::loss_pattern::LossRecord;

/// A program that has ended, and its files and output.
pub(super) struct Outcome<'a> {
    pub(super) program: &'a Program,
    pub(super) job: &'a Job<'a>,
    pub(super) scratch: &'a Scratch,
    pub(super) output: &'a Output,
}

/// Measurements during its run.
pub(super) struct Window {
    pub(super) cpu_ns: u64,
    pub(super) switches: ThreadTimes,
    pub(super) kernel: KernelWorkSnapshot,
    pub(super) drain: Duration,
    /// Whether frames may still have waited for it when it was stopped.
    pub(super) cut_short: bool,
    /// Its sockets, open although it has ended.
    pub(super) sockets: OpenSockets,
    pub(super) notes: Vec<ProgramNote>,
}

/// Result of verifying every frame of its file.
struct Verified {
    arrivals: Arrivals,
    streams: Vec<StreamArrivals>,
    /// Highest number of the trial's frames in it, plus 1.
    reached: u64,
    summary: Summary,
    record: Option<LossRecord>,
}

impl Outcome<'_> {
    fn failed(&self, reason: String) -> LabError {
        LabError::Program { program: self.program.name.clone(), reason }
    }

    pub(super) fn received(
        self,
        engine: String,
        file: &Path,
        ended: &Ended,
        window: Window,
    ) -> Result<receiver::Outcome> {
        let mut notes = window.notes;
        notes.extend(self.ending(ended)?);
        let report = Report::read(self.program, &self.output.text());
        let mut verified = self.program.writes_file().then(|| self.verify(file)).transpose()?;
        notes.extend(self.set_against(&report, verified.as_ref()));
        let arrivals = match &verified {
            Some(verified) => verified.arrivals,
            None => self.believe(&report)?,
        };
        let lacks = report.lacks(self.program);
        if !lacks.is_empty() {
            let counts = lacks.into_iter().map(String::from).collect();
            notes.push(ProgramNote::NotReported { counts, output: self.output.last_words() });
        }
        let (counters, unread) = self.counters(&report, &window.sockets, arrivals.read);
        let known = lost_or_unread(&report, &counters, &unread);
        notes.extend(self.missing_tail(&report, verified.as_ref(), &window.sockets, known));
        notes.extend(self.program.ignored(self.job.capture));
        let record = verified.as_mut().and_then(|verified| verified.record.take());
        let summary = verified.as_ref().map(|verified| &verified.summary);
        let received = Received {
            members: Vec::new(),
            flow_sharing: None,
            queue: None,
            arrivals,
            streams: verified.as_ref().map_or(Vec::new(), |verified| verified.streams.clone()),
            counters,
            batches: 0,
            waits: WaitCounts::default(),
            cpu_ns: window.cpu_ns,
            switches: Some(window.switches),
            drain: window.drain,
            // Inactivity is detected much later, and a program that still works may do other work.
            emptying: None,
            cut_short: window.cut_short,
            unread: Some(unread),
            capture: CaptureFacts {
                engine: Engine::new(engine, []),
                ring: self.command(summary),
                time_source: None,
                moderation: None,
                shortfalls: Vec::new(),
            },
            unverified_because: summary.is_none().then(|| Unverified::ProgramCounts.to_string()),
            latency: self
                .job
                .latency
                .map(|recording| Latency::unknown(recording, &NoDelays::Program.to_string())),
            report: Some(report.said(summary.map(|summary| summary.frames))),
            filtered: false,
            notes: notes.into_iter().map(|note| self.noise(note)).collect(),
            // It verified none during the trial.
            verify_ns: 0.0,
            call_ns: None,
            iteration_ns: None,
        };
        Ok(receiver::Outcome { received, kernel: window.kernel, record, times: None })
    }

    /// What it reported, and what its sockets had when it had ended. `read` are the frames that it read.
    fn counters(&self, report: &Report, sockets: &OpenSockets, read: u64) -> (Counters, UnreadFrames) {
        let mut counters = report.counters(self.program);
        match sockets.left_over() {
            Ok(left) => {
                left.complete(&mut counters, read);
                let unread = left.frames(&counters, read);
                (counters, unread)
            }
            Err(reason) => (counters, UnreadFrames::Unknown(reason)),
        }
    }

    /// Notes on how it ended.
    fn ending(&self, ended: &Ended) -> Result<Vec<ProgramNote>> {
        let mut notes = Vec::new();
        if ended.unheeded.len() > 1 {
            return Err(self.failed(format!(
                "it did not stop: {} and {} did not end it, so it was killed; {}",
                ended.unheeded[0],
                ended.unheeded[1],
                self.output.last_words()
            )));
        }
        if let Some(signal) = ended.unheeded.first() {
            let waited_ns = self.program.patience.as_nanos() as u64;
            notes.push(ProgramNote::StoppedLate { signal: signal.to_string(), waited_ns });
        }
        if !ended.is_usual() {
            notes.push(ProgramNote::UnusualEnd { status: describe(ended.status) });
        }
        if ended.left > 0 {
            notes.push(ProgramNote::LeftProcesses { processes: ended.left as u64 });
        }
        Ok(notes)
    }

    /// Verifies every frame in its file.
    fn verify(&self, file: &Path) -> Result<Verified> {
        // libpcap reinserts a VLAN tag that the kernel removed into the frame; other programs may omit it.
        let mut verifier = Verifier::recording(self.job.recogniser.clone(), self.job.streams, false);
        let summary = capture_file::read(file, |frame| verifier.note(frame)).map_err(|reason| {
            self.failed(format!("its capture file {reason}; {}", self.output.last_words()))
        })?;
        let (arrivals, streams) = (verifier.arrivals(), verifier.streams());
        let reached = verifier.reached();
        Ok(Verified { arrivals, streams, reached, summary, record: verifier.into_record() })
    }

    /// Uses the program's own counts.
    fn believe(&self, report: &Report) -> Result<Arrivals> {
        let captured = report.captured().ok_or_else(|| {
            self.failed(format!(
                "it did not report how many frames it captured when it was ended with {}, as \"99 packets captured\" does; {}",
                self.program.stop,
                self.output.last_words()
            ))
        })?;
        Ok(Arrivals { read: captured, delivered: captured, ..Arrivals::default() })
    }

    /// Frames that were sent; unknown if the trial was given up, or a generator did not report its own.
    fn sent(&self) -> Option<u64> {
        self.job.progress.sent().filter(|sent| *sent != Progress::UNKNOWN)
    }

    /// Compares its report with its file, and with the frames that it could capture.
    fn set_against(&self, report: &Report, verified: Option<&Verified>) -> Vec<ProgramNote> {
        let Some(Verified { arrivals, summary, .. }) = verified else {
            return report.contradictions(None, None);
        };
        // Its file also contains frames of others, except those that it dropped.
        let others = summary.frames.saturating_sub(arrivals.delivered) + report.all_dropped().unwrap_or(0);
        let mut notes = report.contradictions(Some(summary.frames), self.sent().map(|sent| sent + others));
        if summary.ends_early {
            notes.push(ProgramNote::LastRecordCut);
        }
        notes
    }

    /// Frames that a user-defined program does not account for: it may have had too little time. `known` are lost or unread at a
    /// known place.
    fn missing_tail(
        &self,
        report: &Report,
        verified: Option<&Verified>,
        sockets: &OpenSockets,
        known: u64,
    ) -> Option<ProgramNote> {
        if self.program.source.is_some() {
            return None;
        }
        let reached = match verified {
            // The truncated file explains more.
            Some(verified) if verified.summary.ends_early => return None,
            Some(verified) => verified.reached,
            None => report.captured()?,
        };
        let missing = self.sent()?.checked_sub(reached + known).filter(|missing| *missing > 0)?;
        let waited_ns = self.job.stillness(self.program, sockets).as_nanos() as u64;
        Some(ProgramNote::MissingAtEnd { frames: missing, in_file: verified.is_some(), waited_ns })
    }

    fn noise(&self, note: ProgramNote) -> Noise {
        Noise::Program { program: self.program.name.clone(), note }
    }

    /// The command as it ran, without names that only this trial used.
    fn command(&self, summary: Option<&Summary>) -> RingGeometry {
        let any = Interface { name: "{interface}".into(), ..self.job.interface.clone() };
        let values = Values::new(&any, self.job.capture, Path::new("{directory}"), Path::new("{file}"));
        let further = if self.job.capture.promiscuous { &[][..] } else { &self.program.not_promiscuous };
        let words: Vec<_> =
            self.program.command.iter().chain(further).map(|word| values.fill(word)).collect();
        RingGeometry::Program {
            command: words.join(" "),
            interface: self.job.interface.name.clone(),
            file: summary.map(|summary| VerifiedFile {
                format: summary.format.into(),
                is_on_disk: self.scratch.is_on_disk,
            }),
            remark: self.program.remark.clone(),
        }
    }
}

/// Frames that its sockets dropped or still had, or that it said it lost.
fn lost_or_unread(report: &Report, counters: &Counters, unread: &UnreadFrames) -> u64 {
    let dropped = counters.dropped().or(report.all_dropped()).unwrap_or(0);
    match unread {
        UnreadFrames::Counted(unread) => dropped.saturating_add(*unread),
        UnreadFrames::Unknown(_) => dropped,
    }
}
