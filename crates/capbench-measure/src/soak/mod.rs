//! A soak: one load for minutes to days, in segments on one open capture.
//!
//! Between two segments the generator pauses until every frame is accounted for, so that each has a ledger of its own
//! that balances, and counters of 32 bits are read long before they overflow. A pause also empties the buffers, so that an
//! application which is a little too slow never fills them: how far it was behind at the end of each segment is part of
//! the record. What is stored has a bound that does not
//! depend on how long it lasts: see [`record`]. What ended since the record was last saved is in [`segment`]'s file.

pub mod record;
pub mod segment;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use capbench_frames::rates::Pps;

use crate::error::{MeasureError, Result};
use crate::laboratory::{Laboratory, Setup};
use crate::session;
use crate::trial::{Load, Phase, TrialResult};
use record::{Interval, SoakRecord};
use segment::Segment;

/// What a soak runs.
#[derive(Clone, Debug)]
pub struct SoakPlan {
    /// The set-up.
    pub setup: Setup,
    /// The load.
    pub rate: Pps,
    /// How long frames are sent, all segments together.
    pub length: Duration,
    /// Length of a segment: a line of the report, and a ledger of its own.
    pub interval: Duration,
}

/// Follows a soak while it runs, and can stop it.
pub trait Observer: session::Observer {
    /// A segment ended, which `record` has as this interval; saving is the observer's business.
    ///
    /// # Errors
    /// When it cannot be saved, which ends the soak.
    fn segment(&mut self, segment: &Segment, interval: &Interval, record: &SoakRecord) -> Result<()>;
}

/// How a soak came out.
#[derive(Debug)]
pub struct SoakOutcome {
    /// Everything about it.
    pub record: SoakRecord,
    /// Whether the user stopped it.
    pub stopped: bool,
    /// What ended it before its time.
    pub failure: Option<MeasureError>,
}

impl SoakPlan {
    /// Number of segments.
    pub fn segments(&self) -> u64 {
        self.length.as_nanos().div_ceil(self.interval.as_nanos().max(1)) as u64
    }

    /// Runs it.
    ///
    /// # Errors
    /// When nothing of it could be measured, or it cannot be saved. What fails later ends it, and is in the outcome.
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
                Err(error) if record.segments == 0 => return Err(error),
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
            let segment = Segment::ended(record.segments + 1, began_unix_s, trial);
            let interval = record.add(segment.clone());
            observer.segment(&segment, &interval, &record)?;
            left = left.saturating_sub(duration);
        }
        Ok(SoakOutcome { record, stopped: observer.stopping(), failure: None })
    }
}

/// What the user's stop kept from being sent was not meant to be any more.
fn cut(trial: &mut TrialResult) {
    trial.intended = trial.sent;
    trial.duration_s = trial.sending_s;
    trial.loss_ratio = trial.sent_loss_ratio();
    for entry in &mut trial.ledger {
        if entry.place == capbench_model::ledger::Place::Unsent {
            entry.count = entry.count.map(|_| 0);
        }
    }
}
