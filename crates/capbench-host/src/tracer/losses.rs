//! The tracer's part of the ledger: sums of drops, as [`super::reasons`] books them.

use super::InterfaceTrace;
use super::reasons::{Booking, booking_of, stage_of};
use capbench_model::environment::interface::Role;
use capbench_model::traced_losses::TracedLosses;

/// Sorts the counts of both sides during a trial.
pub fn by_place(transmit: &InterfaceTrace, receive: &InterfaceTrace, xdp_is_generic: bool) -> TracedLosses {
    let mut losses = TracedLosses {
        xdp_failures: receive.xdp_exceptions + receive.xdp_redirect_errors,
        failed_redirects: receive.xdp_redirect_errors,
        missed: receive.missed,
        xdp_is_generic,
        consumed: receive.consumed,
        after: receive.consumed,
        ..TracedLosses::default()
    };
    add(&mut losses, transmit, Role::Transmit);
    add(&mut losses, receive, Role::Receive);
    if losses.consumed > 0 {
        losses.counters.insert("trace.receive.consumed".into(), losses.consumed);
    }
    if losses.missed > 0 {
        losses.counters.insert("trace.missed".into(), losses.missed);
    }
    losses
}

/// Adds the counts of one side.
fn add(losses: &mut TracedLosses, trace: &InterfaceTrace, role: Role) {
    let side = match role {
        Role::Transmit => "transmit",
        Role::Receive => "receive",
    };
    for (kind, count) in &trace.drops {
        losses.counters.insert(format!("trace.{side}.drop.{kind}"), *count);
        losses.drops += count;
        match booking_of(stage_of(kind), role) {
            Booking::Lost(place) => losses.add(place, kind.to_string(), *count),
            Booking::Captured => losses.after += count,
            Booking::Unplaced => {
                let unplaced = match role {
                    Role::Transmit => &mut losses.unplaced_transmit,
                    Role::Receive => &mut losses.unplaced,
                };
                unplaced.add(kind.to_string(), *count);
            }
            Booking::NotBooked => {}
        }
    }
    for (name, count) in
        [("xdp_exception", trace.xdp_exceptions), ("xdp_redirect_err", trace.xdp_redirect_errors)]
    {
        if count > 0 {
            losses.counters.insert(format!("trace.{side}.{name}"), count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::DropKind;
    use super::*;
    use capbench_model::places::Place;
    use capbench_model::traced_losses::{Doubts, LossesByReason, TracedCount, TracedXdp};

    fn lost(reason: &str, frames: u64) -> LossesByReason {
        let mut losses = LossesByReason::default();
        losses.add(reason.into(), frames);
        losses
    }

    fn trace(drops: &[(&str, u64)]) -> InterfaceTrace {
        let kind = |name: &str| DropKind { reason: Some(name.into()), function: None };
        let drops = drops.iter().map(|(name, count)| (kind(name), *count)).collect();
        InterfaceTrace { drops, ..InterfaceTrace::default() }
    }

    #[test]
    fn drops_go_to_their_places_and_captured_frames_to_none() {
        let sent = trace(&[("QDISC_DROP", 3), ("OTHERHOST", 9), ("NEWER", 4)]);
        let received =
            trace(&[("OTHERHOST", 1000), ("PFMEMALLOC", 2), ("XDP", 5), ("NEW", 1), ("CPU_BACKLOG", 8)]);
        let losses = by_place(&sent, &received, true);
        for (place, frames) in [(Place::Transmit, 3), (Place::Stack, 2), (Place::Xdp, 5), (Place::Backlog, 8)]
        {
            assert_eq!(losses.lost_at(place).total(), frames, "{place:?}");
        }
        assert_eq!(losses.unplaced_transmit, lost("NEWER", 4));
        let doubts = Doubts { unplaced: lost("NEW", 1), ..Doubts::default() };
        assert_eq!(losses.in_stack(0), TracedCount { lost: lost("PFMEMALLOC", 2), doubts });
        assert_eq!(losses.counters["trace.receive.drop.OTHERHOST"], 1000);
        let consumed = InterfaceTrace { consumed: 7, ..InterfaceTrace::default() };
        let losses = by_place(&trace(&[]), &consumed, false);
        assert_eq!((losses.after, losses.consumed, losses.drops), (7, 7, 0));
        assert_eq!(losses.counters["trace.receive.consumed"], 7);
    }

    #[test]
    fn a_blind_tracer_makes_no_loss_unknown_and_seen_losses_a_lower_bound() {
        let seen = TracedLosses { after: 1000, ..TracedLosses::default() };
        let count = |losses: &TracedLosses, unseen| losses.in_stack(unseen).count();
        assert_eq!(count(&seen, 0), Some(0));
        assert_eq!(count(&seen, 3), None, "three ends were not seen");
        assert_eq!(count(&TracedLosses { missed: 1, ..seen.clone() }, 0), None);
        let unplaced = by_place(&trace(&[]), &trace(&[("NEW", 1), ("OTHERHOST", 1000)]), false);
        assert_eq!(count(&unplaced, 0), None);
        let lost = by_place(&trace(&[]), &trace(&[("PFMEMALLOC", 2)]), false);
        let seen = TracedLosses { missed: 3, ..lost }.in_stack(0);
        assert_eq!((seen.count(), seen.doubts.missed), (Some(2), 3), "a lower bound");
    }

    #[test]
    fn xdp_in_the_driver_drops_unseen() {
        let quiet = TracedLosses::default();
        let xdp = |traced: Option<&TracedLosses>, attached| TracedLosses::xdp(traced, attached, 0).count();
        assert_eq!(xdp(Some(&quiet), Some(true)), None);
        assert_eq!(xdp(Some(&TracedLosses { xdp_is_generic: true, ..quiet.clone() }), Some(true)), Some(0));
        assert_eq!((xdp(Some(&quiet), Some(false)), xdp(None, Some(false))), (Some(0), Some(0)));
        assert_eq!((xdp(None, Some(true)), xdp(None, None), xdp(Some(&quiet), None)), (None, None, None));
        let dropping = by_place(&trace(&[]), &trace(&[("XDP", 5)]), true);
        let seen = TracedCount { lost: lost("XDP", 5), doubts: Doubts::default() };
        let xdp = TracedLosses::xdp(Some(&dropping), Some(true), 0);
        assert_eq!(xdp, TracedXdp::Generic { seen, failed: 0 });
    }

    #[test]
    fn drops_of_generic_xdp_are_as_uncertain_as_those_of_the_stack() {
        let generic = |drops: &[_]| by_place(&trace(&[]), &trace(drops), true);
        let xdp = |losses: &TracedLosses, unseen| TracedLosses::xdp(Some(losses), Some(true), unseen);
        let dropping = generic(&[("XDP", 5), ("OTHERHOST", 7)]);
        assert_eq!((dropping.ended(), xdp(&dropping, 0).count()), (12, Some(5)));
        let doubts = Doubts { unseen: 2, ..Doubts::default() };
        let seen = TracedCount { lost: lost("XDP", 5), doubts };
        assert_eq!(seen.count(), Some(5), "a lower bound");
        assert_eq!(xdp(&dropping, 2), TracedXdp::Generic { seen, failed: 0 });
        assert_eq!(xdp(&generic(&[]), 2).count(), None);
        assert_eq!(xdp(&TracedLosses { missed: 1, ..generic(&[]) }, 0).count(), None);
        let detached = TracedLosses::xdp(Some(&generic(&[])), Some(false), 2);
        assert_eq!(detached, TracedXdp::NotAttached, "no program, no drops of one");
    }
}
