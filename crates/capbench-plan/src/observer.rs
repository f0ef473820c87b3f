//! What follows a run while it measures.

use capbench_judge::reproduction::{LeftOut, Reproduction};
use capbench_judge::rfc2544::{NotTested, Tested};
use capbench_judge::search::SearchOutcome;
use capbench_judge::soak::record::{Interval, SoakRecord};
use capbench_judge::soak::segment::Segment;
use capbench_judge::sweep::SweepOutcome;
use capbench_model::TrialError;
use capbench_model::laboratory::Setup;
use capbench_model::trial::{Load, TrialResult};

use crate::Result;

/// Follows a run, and can stop it. Every run reports its trials; each kind of run reports more. The observer saves what it keeps. Where
/// it must not lose what it is given, the method returns a result: an error ends the run.
pub trait Observer {
    /// A trial begins.
    fn starts(&mut self, _what: &str) {}
    /// A trial ended.
    fn ends(&mut self, _result: &TrialResult) -> Result<()> {
        Ok(())
    }
    /// A set-up could not be measured; the others continue.
    fn skips(&mut self, _setup: &Setup, _load: Load, _why: &TrialError) {}
    /// Whether the user wants to stop.
    fn stopping(&self) -> bool {
        false
    }
    /// Whether the observer keeps intermediate outcomes of a search. They are computed after each trial only if it does.
    fn keeps_searches(&self) -> bool {
        false
    }
    /// The intermediate outcome of the running search: its outcome if it were stopped now.
    fn searching(&mut self, _so_far: SearchOutcome) {}
    /// A search that is part of a larger plan has ended, for any reason.
    fn searched(&mut self, _outcome: SearchOutcome) -> Result<()> {
        Ok(())
    }
    /// The outcome of a sweep so far: when it begins, after each point, and at its end. Before its end it is marked as stopped, so
    /// that a copy that is saved now is right if nothing follows.
    fn swept(&mut self, _so_far: SweepOutcome) {}
    /// A segment of a soak ended, which `record` contains as this interval.
    fn segment(&mut self, _segment: &Segment, _interval: &Interval, _record: &SoakRecord) -> Result<()> {
        Ok(())
    }
    /// A test of RFC 2544 has ended, for any reason.
    fn tested(&mut self, _tested: Tested) -> Result<()> {
        Ok(())
    }
    /// A test of RFC 2544, by its name in results, is meaningless here, and is skipped.
    fn passes_over(&mut self, _setup: &Setup, _test: &'static str, _because: NotTested) {}
    /// A method of a reproduction is unavailable here; the others continue.
    fn leaves_out(&mut self, _left: &LeftOut) {}
    /// The outcome of a reproduction so far. It replaces the previous outcome of this publication.
    fn reproduced(&mut self, _so_far: Reproduction) -> Result<()> {
        Ok(())
    }
}

impl Observer for () {}
