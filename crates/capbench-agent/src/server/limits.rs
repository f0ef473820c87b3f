//! Limits of what a controller asks for, besides those of the command line: no number makes an agent wait for ever, or fill the
//! memory.

use std::time::Duration;

use capbench_frames::stamp::Stamp;
use capbench_frames::stamp::StreamId;
use capbench_lab::live::messages::{Arm, FinishReceiving, PrepareReceiving};
use capbench_model::thresholds::START_SPREAD;
use capbench_model::trial::Load;

use super::Called;
use crate::error::RefusedCall;
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
    check(planned(arm) <= longest, RefusedCall::TooLong { longest })
}

/// Whether the receive side ends within a known time and memory.
pub(super) fn check_receiving(asked: &PrepareReceiving) -> Called<()> {
    let (streams, setup) = (asked.streams, &asked.setup);
    let is_possible = (1..=StreamId::COUNT).contains(&streams);
    check(is_possible, RefusedCall::Streams { streams, most: StreamId::COUNT })?;
    let quiet = setup.quiet;
    check(quiet <= LONGEST_QUIET, RefusedCall::Quiet { quiet, longest: LONGEST_QUIET })?;
    let batch = setup.capture.retire_timeout.max(setup.capture.spin);
    check(batch <= LONGEST_BATCH, RefusedCall::Batch { batch, longest: LONGEST_BATCH })
}

/// Whether the armed trial can have sent this.
pub(super) fn check_sent(finish: &FinishReceiving, arm: &Arm, streams: u16) -> Called<()> {
    let all = &finish.sent;
    check(all.len() <= usize::from(streams), RefusedCall::MoreStreams { sent: all.len(), streams })?;
    // Each generator rounds its part of the load.
    let intended =
        arm.load.intended(arm.duration).map_or(u64::MAX, |frames| frames.saturating_add(streams.into()));
    let latest = planned(arm).saturating_add(LATENESS);
    for sent in all {
        let stream = sent.stream.0;
        let frames = sent.frames;
        let end_ns = sent.end_ns;
        check(u16::from(stream) < streams, RefusedCall::NoStream { stream, streams })?;
        let most = intended.min(Stamp::LAST_SEQUENCE + 1);
        check(frames <= most, RefusedCall::MoreFrames { stream, frames })?;
        check(u128::from(end_ns) <= latest.as_nanos(), RefusedCall::Late { stream, end_ns })?;
    }
    Ok(())
}

fn check(is_right: bool, refused: RefusedCall<'_>) -> Called<()> {
    if is_right { Ok(()) } else { Err(Refusal::new(Kind::Usage, refused)) }
}
