//! A soak: one load for minutes to days, in segments on one open capture.
//!
//! Between two segments the generator pauses until every frame is accounted for. So each segment has a separate balanced ledger,
//! and 32-bit counters are read long before they overflow. A pause also empties the buffers, so an application that is slightly
//! too slow never fills them. Therefore the record includes how far it was behind at the end of each segment. The size of the
//! stored data is bounded for any duration: see [`capbench_judge::soak`].

#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use capbench_frames::rates::Pps;

use crate::{Observer, Result};
use capbench_judge::soak::record::SoakRecord;
use capbench_judge::soak::segment::Segment;
use capbench_model::TrialError;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::trial::{Load, Phase, TrialResult};

/// The plan of a soak.
#[derive(Clone, Debug)]
pub struct SoakPlan {
    /// The set-up.
    pub setup: Setup,
    /// The load.
    pub rate: Pps,
    /// Total time of sending, all segments together.
    pub length: Duration,
    /// Length of a segment. Each segment is a line of the report and has a ledger.
    pub interval: Duration,
}

/// The outcome of a soak.
#[derive(Debug)]
pub struct SoakOutcome {
    /// All data of the soak.
    pub record: SoakRecord,
    /// Whether the user stopped it.
    pub stopped: bool,
    /// The error that ended it early.
    pub failure: Option<TrialError>,
}

impl SoakPlan {
    /// Number of segments.
    pub fn segments(&self) -> u64 {
        self.length.as_nanos().div_ceil(self.interval.as_nanos().max(1)) as u64
    }

    /// Runs the soak. Fails when no segment could be measured, or the record cannot be saved; the outcome has a later failure.
    pub fn run(&self, laboratory: &mut dyn Laboratory, observer: &mut dyn Observer) -> Result<SoakOutcome> {
        let mut record = SoakRecord::new(self.rate, self.length, self.interval);
        let mut prepared = laboratory.prepare(&self.setup)?;
        let mut held = prepared.keep_open()?;
        let mut left = self.length;
        while !left.is_zero() && !observer.stopping() {
            let duration = left.min(self.interval);
            let began = SystemTime::now();
            let mut trial = match held.run(Load::Rate(self.rate), duration) {
                Ok(trial) => trial,
                Err(error) if record.segments == 0 => return Err(error.into()),
                Err(error) => return Ok(SoakOutcome { record, stopped: false, failure: Some(error) }),
            };
            trial.phase = Phase::Soak;
            if observer.stopping() {
                cut(&mut trial);
                if trial.sent == 0 {
                    break;
                }
            }
            let began_unix_s = began.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
            let number = record.segments + 1;
            let segment = Segment { number, began_unix_s, resident_bytes: resident_bytes(), trial };
            let interval = record.add(segment.clone());
            observer.segment(&segment, &interval, &record)?;
            left = left.saturating_sub(duration);
        }
        Ok(SoakOutcome { record, stopped: observer.stopping(), failure: None })
    }
}

/// Frames that the user's stop kept from being sent no longer count as intended.
fn cut(trial: &mut TrialResult) {
    trial.intended = trial.sent;
    trial.duration_s = trial.sending_s;
    trial.loss_ratio = trial.sent_loss_ratio();
    for entry in &mut trial.ledger {
        if entry.place == capbench_model::places::Place::Unsent {
            entry.count = entry.count.map(|_| 0);
        }
    }
}

/// Resident memory of this process (`VmRSS` of proc_pid_status(5)).
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}
