//! Limits of what a controller asks for, besides those of the command line: no number makes an agent wait for ever, or fill the
//! memory.

use std::time::Duration;

use capbench_frames::stamp::Stamp;
use capbench_frames::stamp::StreamId;
use capbench_lab::live::messages::{Arm, FinishReceiving, PrepareReceiving};
use capbench_model::thresholds::START_SPREAD;
use capbench_model::trial::Load;

use super::Called;
use crate::message::{Kind, Refusal};

/// The longest waits for frames that a set-up may ask for. RFC 2544 waits 2 s.
const LONGEST_QUIET: Duration = Duration::from_secs(600);
const LONGEST_BATCH: Duration = Duration::from_secs(60);

/// The longest wait before the first frame that a controller may ask for.
pub(super) const HEAD_START: Duration = Duration::from_secs(1);

/// The longest wait for generators that began later.
const LONGEST_SPREAD: Duration = Duration::from_secs(1);

/// How much later another generator of the trial may begin without spoiling it.
pub(super) fn spread(arm: &Arm) -> Duration {
    planned(arm).mul_f64(START_SPREAD).min(LONGEST_SPREAD)
}

/// A generator without a plan ends up to this late: its CPU may be taken away.
const LATENESS: Duration = Duration::from_secs(60);

/// How long an armed trial sends by its plan: a burst, as long as its frames take.
pub(super) fn planned(arm: &Arm) -> Duration {
    let burst_ns = match arm.load {
        Load::Burst { frames, .. } => arm.schedule().planned_ns(frames.get()),
        Load::Rate(_) | Load::Maximum | Load::Step(_) => None,
    };
    arm.duration.max(Duration::from_nanos(burst_ns.unwrap_or(0)))
}

/// Whether the stamp of a frame can express the plan.
pub(super) fn check_plan(arm: &Arm) -> Called<()> {
    let longest = Duration::from_nanos(Stamp::LAST_PLANNED_NS);
    check(planned(arm) <= longest, || format!("arm: a trial of over {} hours", longest.as_secs() / 3600))
}

/// Whether the receive side ends within a known time and memory.
pub(super) fn check_receiving(asked: &PrepareReceiving) -> Called<()> {
    let (streams, setup) = (asked.streams, &asked.setup);
    check((1..=StreamId::COUNT).contains(&streams), || {
        format!("prepare: {streams} streams; there are 1 to {}", StreamId::COUNT)
    })?;
    check(setup.quiet <= LONGEST_QUIET, || {
        format!("prepare: waiting {:?} for missing frames; {LONGEST_QUIET:?} is the longest", setup.quiet)
    })?;
    let batch = setup.capture.retire_timeout.max(setup.capture.spin);
    check(batch <= LONGEST_BATCH, || {
        format!("prepare: waiting {batch:?} for a batch; {LONGEST_BATCH:?} is the longest")
    })
}

/// Whether the armed trial can have sent this.
pub(super) fn check_sent(finish: &FinishReceiving, arm: &Arm, streams: u16) -> Called<()> {
    let all = &finish.sent;
    check(all.len() <= usize::from(streams), || {
        format!("finish: {} streams of a trial with {streams}", all.len())
    })?;
    // Each generator rounds its part of the load.
    let intended =
        arm.load.intended(arm.duration).map_or(u64::MAX, |frames| frames.saturating_add(streams.into()));
    let latest = planned(arm).saturating_add(LATENESS);
    for sent in all {
        check(u16::from(sent.stream.0) < streams, || {
            format!("finish: stream {} of {streams}", sent.stream.0)
        })?;
        check(sent.frames <= intended.min(Stamp::LAST_SEQUENCE + 1), || {
            format!("finish: stream {} sent {} frames, more than its plan", sent.stream.0, sent.frames)
        })?;
        check(u128::from(sent.end_ns) <= latest.as_nanos(), || {
            format!("finish: stream {} ended after {} ns, later than its plan", sent.stream.0, sent.end_ns)
        })?;
    }
    Ok(())
}

fn check(is_right: bool, what: impl FnOnce() -> String) -> Called<()> {
    if is_right { Ok(()) } else { Err(Refusal::new(Kind::Usage, what())) }
}
