//! Frames that counters of the interface have next to lost ones, and that captures have: they are named, and are no loss.

use capbench_host::links::LinkDeltas;

use super::{Captured, transmit};
use crate::traced::Traced;

/// Notes about these frames.
pub(crate) fn notes(link: &LinkDeltas, traced: Option<&Traced>) -> Vec<String> {
    let unhandled = Captured {
        frames: traced.map(|traced| traced.unhandled),
        note: "frames that no protocol of this host handles are counted in rx_dropped after the capture point: captures have \
               them",
    };
    let of_inactive_member = Captured {
        frames: link.rx_nohandler,
        note: "frames that an inactive member of a bond or team does not pass on are counted in rx_nohandler after the \
               capture point: captures on the member have them",
    };
    let mut notes = Vec::new();
    for Captured { frames, note } in [unhandled, of_inactive_member, transmit::captured(link)] {
        if let Some(frames) = frames.filter(|frames| *frames > 0) {
            notes.push(format!("{frames} {note}"));
        }
    }
    notes
}
