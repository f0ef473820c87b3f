//! The ledger of a recording: a row for each place, and what is lost.

use capbench_model::completeness::is_lacking;
use capbench_model::counters::Loss;
use capbench_model::places::Place;

use super::account::{Account, InterfaceAccount};

/// A row of a ledger: place, count, source.
pub type Row = (String, Option<i64>, String);

/// The rows of an interface of a running or ended recording.
pub fn rows_of(interface: &InterfaceAccount, is_running: bool) -> Vec<Row> {
    let row = |place: &str, count: Option<i64>, source: &str| (place.to_string(), count, source.to_string());
    let number = |count: u64| i64::try_from(count).ok();
    let output = interface.output;
    let mut rows = vec![
        row("received by the interface", interface.received.and_then(number), "rx_packets of the interface"),
        row("accepted", interface.accepted.and_then(number), "the method's counter; lost ones included"),
    ];
    let of_loss = |loss: &Loss| {
        row(&format!("lost: {}", in_a_word(loss.place)), loss.count.and_then(number), loss.source.counter())
    };
    rows.extend(interface.losses.iter().map(of_loss));
    rows.push(row("read", number(interface.delivered), "packets that capbench read from the method"));
    rows.extend(interface.queues.iter().map(of_loss));
    if let Some(filtered) = interface.filtered {
        rows.push(row("left out by the filter", number(filtered), "the filter, run by capbench"));
    }
    rows.extend([
        row("past the end", number(interface.past_end), "packets that came after the limit was reached"),
        row("written", number(output.written), "packets in the files"),
        row(
            "lost: writer, no room",
            number(output.refused),
            "no buffer was free, or an earlier write failed",
        ),
        row("lost: writer, unwritten", number(output.unwritten), "the write failed"),
        row(
            "written, not known to be on disk",
            number(output.sync_failed),
            "packets in files for which the disk reported an error",
        ),
        row("overwritten", number(output.overwritten), "packets in files that the ring (-W) replaced"),
        row(
            "deleted: retention",
            number(output.deleted),
            "packets in old files that --keep-files or --keep-free removed",
        ),
        row("in capbench", Some(interface.in_hand()), "read, and in no other row: still in buffers"),
    ]);
    let rest = interface.unexplained();
    // While frames arrive, the ring holds some accepted frames. A rest at the end has no explanation.
    let waiting = rest.filter(|rest| is_running && *rest > 0);
    if waiting.is_some() {
        rows.push(row("in the ring", waiting, "accepted less lost before capbench less read: not read yet"));
    }
    let rest = if waiting.is_some() { Some(0) } else { rest };
    rows.push(row("unexplained", rest, "accepted less lost before capbench less read"));
    let source = format!(
        "packets that are not whole in the file, though -s allows more octets; {} of their octets are missing",
        interface.cut_octets
    );
    rows.push(row("cut", number(interface.cut), &source));
    rows
}

/// Share of the packets that never were in a file or are cut in it, as far as known; after failed writes, cut packets that could
/// not be written may count twice. 1 is all packets that were accepted or lost
/// before the method.
pub fn loss_ratio(account: &Account) -> f64 {
    share(account, account.interfaces.iter().map(InterfaceAccount::missing_or_cut).sum())
}

/// Packets that were in files which a ring of files replaced, or which were removed as old. The user asked for that: they are not
/// lost.
pub fn removed(account: &Account) -> u64 {
    account.interfaces.iter().map(|interface| interface.output.overwritten + interface.output.deleted).sum()
}

/// Share of the packets that were in such files.
pub fn removed_ratio(account: &Account) -> f64 {
    share(account, removed(account))
}

fn share(account: &Account, packets: u64) -> f64 {
    let expected = expected(account);
    if expected == 0 { 0.0 } else { packets as f64 / expected as f64 }
}

/// Packets that never were in a file on the disk: lost at a known place, or unexplained.
pub fn missing(account: &Account) -> u64 {
    account.interfaces.iter().map(InterfaceAccount::missing).sum()
}

/// Packets that were accepted, or lost before the method.
pub fn expected(account: &Account) -> u64 {
    let mut packets = 0;
    for interface in &account.interfaces {
        let (mut accepted_and_lost, mut lost_before) = (0, 0);
        for loss in interface.losses.iter().filter(|loss| is_lacking(loss.place)) {
            let sum = if loss.place.is_accepted() { &mut accepted_and_lost } else { &mut lost_before };
            *sum += loss.count.unwrap_or(0);
        }
        packets += interface.accepted.unwrap_or(interface.delivered + accepted_and_lost) + lost_before;
    }
    packets
}

/// The name of a place in one or two words.
pub fn in_a_word(place: Place) -> &'static str {
    if place == Place::Link { "interface" } else { place.key() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use crate::writing::{PacketCounts, WriterCounts};

    #[test]
    fn a_share_is_of_what_was_read_and_lost_where_nothing_else_is_counted() {
        let uncounted = InterfaceAccount {
            losses: vec![Loss { place: Place::Ring, count: Some(48), source: "".into() }],
            delivered: 4,
            output: PacketCounts { written: 4, ..PacketCounts::default() },
            ..InterfaceAccount::default()
        };
        let account = Account {
            interfaces: vec![uncounted],
            began_ns: 0,
            time: Duration::ZERO,
            writer: WriterCounts::default(),
            merge: None,
        };
        assert_eq!((expected(&account), loss_ratio(&account)), (52, 48.0 / 52.0));
        // What the user asked to have removed was recorded.
        let mut ring = account;
        ring.interfaces[0].losses[0].count = Some(0);
        ring.interfaces[0].output =
            PacketCounts { written: 1, overwritten: 2, deleted: 1, ..Default::default() };
        assert_eq!((loss_ratio(&ring), removed(&ring), removed_ratio(&ring)), (0.0, 3, 0.75));
    }

    #[test]
    fn packets_that_wait_in_the_ring_are_unexplained_only_at_the_end() {
        let waiting = InterfaceAccount {
            accepted: Some(4734),
            losses: vec![Loss { place: Place::Ring, count: Some(0), source: "".into() }],
            delivered: 4531,
            output: PacketCounts { written: 4531, ..PacketCounts::default() },
            was_shut: true,
            ..InterfaceAccount::default()
        };
        let count = |is_running: bool, place: &str| {
            let rows = rows_of(&waiting, is_running);
            rows.iter().find(|(known, ..)| known == place).and_then(|(_, count, _)| *count)
        };
        assert_eq!((count(true, "in the ring"), count(true, "unexplained")), (Some(203), Some(0)));
        assert_eq!((count(false, "in the ring"), count(false, "unexplained")), (None, Some(203)));
    }
}
