//! Builds the account of a recording from the counters of its threads.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use capbench_capture::occupancy::Occupancy;
use capbench_model::counters::Counters;
use capbench_model::places::Place;
use capbench_model::saved::Saved;

use super::Session;
use crate::file::FileFormat;
use crate::merge::{MergeTally, PortTally};
use crate::recording::account::{Account, InterfaceAccount};
use crate::recording::board::{CaptureBoard, Reading};
use crate::recording::link::LinkCounts;
use crate::writing::WriterCounts;

/// A requested account: the state behind the captures at the request. Its counters are read later.
#[derive(Debug)]
pub struct AccountRequest {
    account: Account,
    /// The number of each capture's last reading, by interface.
    readings: Vec<Vec<u64>>,
}

impl AccountRequest {
    fn of(session: &Session) -> Self {
        let numbers =
            |captures: &[Arc<CaptureBoard>]| captures.iter().map(|one| one.reading().number).collect();
        let readings = session.lanes.iter().map(|(_, captures)| numbers(captures)).collect();
        Self { account: session.account(), readings }
    }

    /// The account, with counters that every capture read after the request; `None` until then. Each place was counted before the
    /// places in front of it, so no frame is missing.
    fn answer(&self, session: &Session) -> Option<Account> {
        let mut account = self.account.clone();
        for ((interface, (_, captures)), before) in
            account.interfaces.iter_mut().zip(&session.lanes).zip(&self.readings)
        {
            let readings: Vec<_> = captures.iter().map(|capture| capture.reading()).collect();
            if readings.iter().zip(before).any(|(reading, before)| reading.number <= *before) {
                return None;
            }
            read_into(interface, &readings);
            interface.delivered = readings.iter().map(|reading| reading.delivered).sum();
        }
        Some(account)
    }
}

/// Adds the captures' counters to the account of their interface.
fn read_into(interface: &mut InterfaceAccount, readings: &[Reading]) {
    let counters = Counters::sum(readings.iter().map(|reading| &reading.counters));
    let link = readings.first().map_or_else(LinkCounts::default, |reading| reading.link);
    interface.received = link.received;
    interface.accepted = counters.accepted;
    interface.losses = Reading::losses(readings);
    if let Some(reading) = readings.first() {
        interface.taken_by_xdp = reading.unreached.iter().find(|loss| loss.place == Place::Xdp).cloned();
        interface.may_be_more_by_xdp = reading.may_be_more_by_xdp;
    }
    interface.went_down = link.went_down(Some(interface.went_down));
}

impl Session {
    /// State so far. The numbers are read one after the other; kernel counters are as of their last reading.
    pub fn account(&self) -> Account {
        self.account_of(&self.gauge.read(), None)
    }

    /// Requests a consistent account: its counters are read after this call. Does not wait.
    pub fn request_account(&self) -> AccountRequest {
        let request = AccountRequest::of(self);
        self.requests.statistics();
        request
    }

    /// The requested account, once the counters of all captures were read. An overloaded capture reads them within three seconds.
    pub fn requested_account(&self, request: &AccountRequest) -> Option<Account> {
        request.answer(self)
    }

    /// The account so far; `merge` is present at the end.
    pub(super) fn account_of(&self, written: &WriterCounts, merge: Option<MergeTally>) -> Account {
        let interfaces = self.plan.sources.iter().enumerate().map(|(number, source)| {
            let (lane, captures) = &self.lanes[number];
            let is_here = |(port, (source, _)): (usize, &(usize, _))| (*source == number).then_some(port);
            let ports: Vec<_> = self.captures.iter().enumerate().filter_map(is_here).collect();
            let readings: Vec<_> = captures.iter().map(|capture| capture.reading()).collect();
            let lengths = lane.lengths();
            let knows_each_length = self.plan.format != FileFormat::Verbatim;
            let mut interface = InterfaceAccount {
                name: source.interface.name.clone(),
                method: Saved::Known(source.method.clone()),
                members: source.members,
                delivered: captures.iter().map(|capture| capture.delivered.load(Relaxed)).sum(),
                queues: self.workers.as_ref().map_or_else(Vec::new, |workers| workers.losses_of(&ports)),
                filtered: self.filters_here[number].then(|| lane.filtered.load(Relaxed)),
                past_end: lane.past.load(Relaxed),
                output: written.interfaces.get(number).copied().unwrap_or_default(),
                cut: lengths.cut_packets,
                cut_octets: lengths.cut,
                octets: knows_each_length.then_some(lengths.original),
                snapped_octets: knows_each_length.then_some(lengths.snapped),
                fill: Occupancy::fullest(captures.iter().map(|capture| capture.fills().lately())),
                fullest: Occupancy::fullest(captures.iter().map(|capture| capture.fills().ever())),
                reported: (self.plan.format != FileFormat::Pcap).then(|| lane.reported.load(Relaxed)),
                behind_last: lane.pending_drops.load(Relaxed),
                merged: merge.as_ref().map(|tally| together(self, tally, number)),
                went_down: captures.iter().map(|capture| capture.went_down.load(Relaxed)).max().unwrap_or(0),
                is_down: captures.iter().any(|capture| capture.is_down()),
                was_shut: captures.iter().all(|capture| capture.is_shut()),
                ..InterfaceAccount::default()
            };
            read_into(&mut interface, &readings);
            interface
        });
        Account {
            interfaces: interfaces.collect(),
            began_ns: self.began_ns,
            time: self.start.elapsed(),
            writer: written.clone(),
            merge,
        }
    }
}

/// The merge's counters for the captures of an interface together.
fn together(session: &Session, tally: &MergeTally, number: usize) -> PortTally {
    let of_interface = session.captures.iter().zip(&tally.ports).filter(|((source, _), _)| *source == number);
    of_interface.fold(PortTally::default(), |sum, (_, port)| PortTally {
        frames: sum.frames + port.frames,
        late: sum.late + port.late,
        latest_ns: sum.latest_ns.max(port.latest_ns),
        unsorted_batches: sum.unsorted_batches + port.unsorted_batches,
    })
}
