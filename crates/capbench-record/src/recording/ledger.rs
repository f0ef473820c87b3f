//! The rows of a recording's ledger, one for each place.

use capbench_model::counters::Loss;
use capbench_model::places::Place;

use super::account::InterfaceAccount;

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

/// The name of a place in one or two words.
pub fn in_a_word(place: Place) -> &'static str {
    if place == Place::Link { "interface" } else { place.key() }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::writing::PacketCounts;

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
