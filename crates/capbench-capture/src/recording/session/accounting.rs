//! What became of every packet of a recording, put together from what its threads tell.

use std::sync::atomic::Ordering::Relaxed;

use super::Session;
use crate::counters::{Counters, Loss, LossPlace};
use crate::file::FileFormat;
use crate::fill::Fill;
use crate::merge::{MergeTally, PortTally};
use crate::recording::account::{Account, InterfaceAccount};
use crate::recording::link::LinkCounts;
use crate::writing::WriterCounts;

/// The account so far; `merge` when it is over.
pub(super) fn account(session: &Session, written: &WriterCounts, merge: Option<MergeTally>) -> Account {
    let interfaces = session.plan.sources.iter().enumerate().map(|(number, source)| {
        let (lane, captures) = &session.lanes[number];
        let is_here = |(port, (source, _)): (usize, &(usize, _))| (*source == number).then_some(port);
        let ports: Vec<_> = session.captures.iter().enumerate().filter_map(is_here).collect();
        let counters: Vec<_> = captures.iter().map(|capture| capture.counters()).collect();
        let counters = Counters::sum(&counters);
        let link = captures.first().map_or_else(LinkCounts::default, |capture| capture.link());
        let mut losses = counters.losses;
        if !losses.iter().any(|loss| loss.place == LossPlace::Link) {
            let source = LinkCounts::MISSED.into();
            losses.insert(0, Loss { place: LossPlace::Link, count: link.missed, source });
        }
        InterfaceAccount {
            name: source.interface.name.clone(),
            method: source.method.to_string(),
            members: source.members,
            received: link.received,
            accepted: counters.accepted,
            losses,
            taken: captures.iter().map(|capture| capture.taken.load(Relaxed)).sum(),
            queues: session.workers.as_ref().map_or_else(Vec::new, |workers| workers.losses_of(&ports)),
            filtered: session.filters_here[number].then(|| lane.filtered.load(Relaxed)),
            past_end: lane.past.load(Relaxed),
            output: written.interfaces.get(number).copied().unwrap_or_default(),
            octets: (session.plan.format != FileFormat::Verbatim).then(|| lane.octets.load(Relaxed)),
            fill: Fill::fullest(captures.iter().map(|capture| capture.fills().lately())),
            fullest: Fill::fullest(captures.iter().map(|capture| capture.fills().ever())),
            told: (session.plan.format != FileFormat::Pcap).then(|| lane.told.load(Relaxed)),
            behind_last: lane.untold.load(Relaxed),
            merged: merge.as_ref().map(|tally| together(session, tally, number)),
            went_down: captures.iter().map(|capture| capture.went_down.load(Relaxed)).max().unwrap_or(0),
            is_down: captures.iter().any(|capture| capture.is_down()),
        }
    });
    Account {
        interfaces: interfaces.collect(),
        began_ns: session.began_ns,
        time: session.start.elapsed(),
        files: written.files,
        bytes: written.bytes,
        stored_bytes: written.stored_bytes,
        buffers: written.pool,
        buffers_in_use: written.in_use,
        most_buffers_in_use: written.most_in_use,
        longest_write: written.longest_write,
        merge,
    }
}

/// What the merge counted of the captures of an interface.
fn together(session: &Session, tally: &MergeTally, number: usize) -> PortTally {
    let of_interface = session.captures.iter().zip(&tally.ports).filter(|((source, _), _)| *source == number);
    of_interface.fold(PortTally::default(), |sum, (_, port)| PortTally {
        frames: sum.frames + port.frames,
        late: sum.late + port.late,
        latest_ns: sum.latest_ns.max(port.latest_ns),
        unsorted_batches: sum.unsorted_batches + port.unsorted_batches,
    })
}
