//! The ledger: what happened to every packet, as text and as data.

use capbench_capture::Occupancy;
use capbench_model::counters::Loss;
use capbench_model::places::Place;
use capbench_record::recording::{Account, End, InterfaceAccount};
use capbench_report::formats::text::columns;
use serde_json::{Value, json};

use crate::status::{in_a_word, word};

/// tcpdump's closing lines, which scripts read: three, and a fourth where the interface lost packets.
pub fn closing(account: &Account) -> String {
    counts(account).into_iter().map(|line| line + "\n").collect()
}

/// The same in one line, as tcpdump prints it on a signal.
pub fn in_a_line(account: &Account) -> String {
    counts(account).join(", ")
}

/// Sums over all interfaces; `unknown` if one interface does not report a count.
fn counts(account: &Account) -> Vec<String> {
    let known = |of: fn(&InterfaceAccount) -> Option<u64>| {
        word(account.interfaces.iter().map(of).sum::<Option<u64>>())
    };
    let captured: u64 = account.interfaces.iter().map(InterfaceAccount::captured).sum();
    let at_interface = account.interfaces.iter().flat_map(|interface| &interface.losses);
    let at_interface: u64 =
        at_interface.filter(|loss| loss.place == Place::Link).filter_map(|loss| loss.count).sum();
    let mut lines = vec![
        format!("{captured} packets captured"),
        format!("{} packets received by filter", known(|interface| interface.accepted)),
        format!("{} packets dropped by kernel", known(InterfaceAccount::lost_by_kernel)),
    ];
    if at_interface > 0 {
        lines.push(format!("{at_interface} packets dropped by interface"));
    }
    lines
}

/// Why the number of lost packets is unknown for some interface.
pub fn unknown_losses(account: &Account) -> Option<String> {
    let interface = account.interfaces.iter().find(|interface| !interface.knows_missing())?;
    let InterfaceAccount { name, method, .. } = interface;
    Some(match (interface.lost_by_kernel(), interface.unknown_after_down()) {
        (None, _) => format!("{method} on {name} does not count how many packets it lost"),
        (_, Some(reason)) => format!(
            "{name} went down {}, and how many packets came before its socket was attached again is {reason}",
            times(interface.went_down)
        ),
        (Some(_), None) => format!(
            "{} packets of {name} are unexplained; {method} cannot stop packets at the end, so they may have come after it",
            interface.unexplained().unwrap_or(0)
        ),
    })
}

/// Share of the packets that are in no file, as far as known. 1 is all packets that were accepted or lost before the method.
pub fn loss_ratio(account: &Account) -> f64 {
    let expected = expected(account);
    if expected == 0 { 0.0 } else { missing(account) as f64 / expected as f64 }
}

fn times(count: u64) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

fn missing(account: &Account) -> u64 {
    account.interfaces.iter().map(InterfaceAccount::missing).sum()
}

fn expected(account: &Account) -> u64 {
    let of = |interface: &InterfaceAccount| {
        interface.accepted.unwrap_or(interface.delivered) + interface.lost_by_stack().unwrap_or(0)
    };
    account.interfaces.iter().map(of).sum()
}

/// How many packets are in no file, and where they were lost.
pub fn losses_in_words(account: &Account) -> String {
    let place = |interface: &InterfaceAccount, place: &str, count: u64| {
        (count > 0).then(|| format!("{}: {place} {count}", interface.name))
    };
    let of_interface = |interface: &InterfaceAccount| -> Vec<String> {
        let is_missing = |loss: &&Loss| loss.place.is_accepted() || loss.place == Place::Stack;
        let counted = interface.losses.iter().filter(is_missing).chain(&interface.queues);
        let counted = counted.filter_map(|loss| place(interface, in_a_word(loss.place), loss.count?));
        let unexplained = interface.missing() - interface.lost();
        counted
            .chain(place(interface, "writer", interface.output.lost()))
            .chain(place(interface, "unexplained", unexplained))
            .collect()
    };
    let places: Vec<_> = account.interfaces.iter().flat_map(of_interface).collect();
    format!("{} of {} packets are in no file ({})", missing(account), expected(account), places.join(", "))
}

/// The ledger of every interface of a running or ended recording.
pub fn text(account: &Account, is_running: bool) -> String {
    let mut text = String::new();
    for interface in &account.interfaces {
        let members = match interface.members {
            1 => String::new(),
            several => format!(", {several} captures"),
        };
        text.push_str(&format!(
            "\n{} ({}{members})\n{}",
            interface.name,
            interface.method,
            rows(interface, is_running)
        ));
        text.push_str(&format!(
            "how full the ring was at most: {}; in the last second: {}\n",
            word(interface.fullest),
            word(interface.fill)
        ));
        if let Some(told) = interface.reported {
            text.push_str(&format!(
                "lost packets told in the file before the packet that follows: {told}; behind the last packet: {}\n",
                interface.behind_last
            ));
        }
        if let Some(merged) = interface.merged.filter(|merged| merged.late > 0) {
            let behind = merged.latest_ns.unwrap_or(0) as f64 / 1e6;
            text.push_str(&format!("late in the merge: {}, by {behind:.3} ms at most\n", merged.late));
        }
        if interface.went_down > 0 {
            text.push_str(&format!("it went down {}\n", times(interface.went_down)));
        }
        let (captured, written) = (interface.captured(), interface.output.written);
        if written < captured {
            text.push_str(&format!("of {captured} captured packets {written} are in files\n"));
        }
    }
    if let Some(merge) = &account.merge {
        text.push_str(&format!(
            "\nheld by the merge: at most {} batches of {} bytes; put out before every interface had come as far: {}",
            merge.most_held_batches, merge.most_held_octets, merge.forced
        ));
    }
    text.push_str(&format!(
        "\n{} of {} captured packets, {} bytes in {} file{}; at most {} of {} buffers in use, longest write {:.1} ms\n",
        account.written(),
        account.interfaces.iter().map(InterfaceAccount::captured).sum::<u64>(),
        account.writer.bytes,
        account.writer.files,
        if account.writer.files == 1 { "" } else { "s" },
        account.writer.most_in_use,
        account.writer.pool,
        account.writer.longest_write.as_secs_f64() * 1e3,
    ));
    if account.writer.deleted_files > 0 {
        text.push_str(&format!(
            "old files of this recording removed: {}, {} bytes on the disk\n",
            account.writer.deleted_files, account.writer.deleted_bytes
        ));
    }
    let unsynced: u64 = account.interfaces.iter().map(|interface| interface.output.unsynced).sum();
    if unsynced > 0 {
        let when =
            if account.writer.syncs { "not yet known to be on the disk" } else { "not synced (--no-sync)" };
        text.push_str(&format!("{when}: {unsynced} of the written packets\n"));
    }
    text
}

/// A row of a ledger: place, count, source.
type Row = (String, Option<i64>, String);

fn all_rows(interface: &InterfaceAccount, is_running: bool) -> Vec<Row> {
    let row = |place: &str, count: Option<i64>, source: &str| (place.to_string(), count, source.to_string());
    let number = |count: u64| i64::try_from(count).ok();
    let output = interface.output;
    let mut rows = vec![
        row("received by the interface", interface.received.and_then(number), "rx_packets of the interface"),
        row("accepted", interface.accepted.and_then(number), "the method's counter; lost ones included"),
    ];
    let of_loss = |loss: &Loss| {
        row(&format!("lost: {}", in_a_word(loss.place)), loss.count.and_then(number), &loss.source)
    };
    rows.extend(interface.losses.iter().map(of_loss));
    rows.push(row("taken", number(interface.delivered), "packets that the method gave"));
    rows.extend(interface.queues.iter().map(of_loss));
    if let Some(filtered) = interface.filtered {
        rows.push(row("left out by the filter", number(filtered), "the filter, run by capbench"));
    }
    rows.extend([
        row("past the end", number(interface.past_end), "packets that came when the limit was reached"),
        row("written", number(output.written), "packets in the files"),
        row(
            "lost: writer, no room",
            number(output.refused),
            "packets without a free buffer, or behind a failed write",
        ),
        row("lost: writer, unwritten", number(output.unwritten), "packets that could not be written"),
        row(
            "written, not known to be on disk",
            number(output.sync_failed),
            "packets of files of which the disk reported an error",
        ),
        row("overwritten", number(output.overwritten), "packets of files that the ring (-W) has replaced"),
        row(
            "deleted: retention",
            number(output.deleted),
            "packets of old files that --keep-files or --keep-free has removed",
        ),
        row("in hand", Some(interface.in_hand()), "taken less all of those"),
    ]);
    let rest = interface.unexplained();
    // While frames arrive, the ring holds some accepted frames. A rest at the end has no explanation.
    let waiting = rest.filter(|rest| is_running && *rest > 0);
    if waiting.is_some() {
        rows.push(row(
            "in the ring",
            waiting,
            "accepted less lost in front of capbench less taken: not read yet",
        ));
    }
    let rest = if waiting.is_some() { Some(0) } else { rest };
    rows.push(row("unexplained", rest, "accepted less lost in front of capbench less taken"));
    if let Some(cut) = interface.cut {
        let source = "of those taken, packets longer than the ring's buckets; their end is missing";
        rows.push(row("cut", number(cut), source));
    }
    rows
}

fn rows(interface: &InterfaceAccount, is_running: bool) -> String {
    let fields = |(place, count, source): Row| vec![place, word(count), source];
    let rows: Vec<_> = all_rows(interface, is_running).into_iter().map(fields).collect();
    columns(&["packets", "count", "source"], &rows)
}

/// The account as one JSON document. Unknown numbers are null.
pub fn document(account: &Account, end: End) -> Value {
    let end = match end {
        End::Asked => "asked",
        End::Packets => "packets",
        End::Files => "files",
        End::ReaderGone => "reader_gone",
        End::Failed => "failed",
    };
    json!({
        "schema_version": 1,
        "end": end,
        "duration_s": account.time.as_secs_f64(),
        "written": account.written(),
        "lost": account.lost(),
        "missing": missing(account),
        "loss_ratio": loss_ratio(account),
        "files": account.writer.files,
        "bytes": account.writer.bytes,
        "stored_bytes": account.writer.stored_bytes,
        "buffers": account.writer.pool,
        "most_buffers_in_use": account.writer.most_in_use,
        "longest_write_s": account.writer.longest_write.as_secs_f64(),
        "synced": account.writer.syncs,
        "deleted_files": account.writer.deleted_files,
        "deleted_bytes": account.writer.deleted_bytes,
        "merge": account.merge.as_ref().map(|tally| json!({
            "forced": tally.forced,
            "most_held_batches": tally.most_held_batches,
            "most_held_octets": tally.most_held_octets,
            "clock_set_back": tally.clock_set_back,
            "clock_set_forward": tally.clock_set_forward,
        })),
        "interfaces": account.interfaces.iter().map(of_interface).collect::<Vec<_>>(),
    })
}

fn of_interface(interface: &InterfaceAccount) -> Value {
    let ledger = all_rows(interface, false)
        .into_iter()
        .map(|(place, count, source)| json!({ "place": place, "count": count, "source": source }));
    json!({
        "interface": interface.name,
        "method": interface.method,
        "members": interface.members,
        "received": interface.received,
        "accepted": interface.accepted,
        "lost_by_interface": interface.lost_by_interface(),
        "lost_by_stack": interface.lost_by_stack(),
        "lost_by_kernel": interface.lost_by_kernel(),
        "taken": interface.delivered,
        "lost_in_queues": interface.lost_in_queues(),
        "filtered": interface.filtered,
        "past_end": interface.past_end,
        "written": interface.output.written,
        "refused_by_writer": interface.output.refused,
        "unwritten": interface.output.unwritten,
        "not_known_on_disk": interface.output.sync_failed,
        "overwritten": interface.output.overwritten,
        "deleted": interface.output.deleted,
        "not_yet_on_disk": interface.output.unsynced,
        "in_hand": interface.in_hand(),
        "unexplained": interface.unexplained(),
        "cut": interface.cut,
        "octets": interface.octets,
        "ring_fill": interface.fill.map(Occupancy::share),
        "ring_fullest": interface.fullest.map(Occupancy::share),
        "drops_told": interface.reported,
        "drops_behind_last": interface.behind_last,
        "late": interface.merged.map(|merged| merged.late),
        "latest_ns": interface.merged.and_then(|merged| merged.latest_ns),
        "went_down": interface.went_down,
        "ledger": ledger.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_record::writing::{PacketCounts, WriterCounts};

    use super::*;

    fn interface(
        name: &str,
        accepted: u64,
        losses: &[(Place, Option<u64>)],
        delivered: u64,
    ) -> InterfaceAccount {
        let loss = |&(place, count): &(Place, Option<u64>)| Loss { place, count, source: "".into() };
        InterfaceAccount {
            name: name.into(),
            method: "packet-v3".into(),
            members: 1,
            accepted: Some(accepted),
            losses: losses.iter().map(loss).collect(),
            delivered,
            output: PacketCounts { written: delivered, ..PacketCounts::default() },
            was_shut: true,
            ..InterfaceAccount::default()
        }
    }

    fn account(interfaces: Vec<InterfaceAccount>) -> Account {
        Account {
            interfaces,
            began_ns: 0,
            time: Duration::ZERO,
            writer: WriterCounts { files: 1, syncs: true, ..WriterCounts::default() },
            merge: None,
        }
    }

    #[test]
    fn losses_have_places_and_unexplained_packets_are_missing() {
        let flapped = interface("a", 573, &[(Place::Stack, Some(427)), (Place::Ring, Some(3))], 558);
        let quiet = interface("b", 1000, &[(Place::Stack, None), (Place::Ring, Some(0))], 1000);
        let account = account(vec![flapped, quiet]);
        assert_eq!(loss_ratio(&account), 442.0 / 2000.0);
        assert_eq!(
            losses_in_words(&account),
            "442 of 2000 packets are in no file (a: stack 427, a: ring 3, a: unexplained 12)"
        );
        assert_eq!(unknown_losses(&account), None);
    }

    #[test]
    fn what_may_have_come_after_the_end_is_no_loss_and_no_proof_of_none() {
        let open = InterfaceAccount { was_shut: false, ..interface("a", 20, &[(Place::Ring, Some(0))], 15) };
        let account = account(vec![open]);
        assert_eq!(loss_ratio(&account), 0.0);
        let reason = unknown_losses(&account).unwrap();
        assert!(reason.starts_with("5 packets of a are unexplained; packet-v3 cannot stop"), "{reason}");
    }

    #[test]
    fn three_numbers_are_three_lines_or_one_and_those_in_no_file_are_said() {
        let output = PacketCounts { written: 3565, unwritten: 966, ..PacketCounts::default() };
        let full = InterfaceAccount { output, ..interface("a", 4531, &[(Place::Ring, Some(0))], 4531) };
        let account = account(vec![full]);
        assert_eq!(
            closing(&account),
            "4531 packets captured\n4531 packets received by filter\n0 packets dropped by kernel\n"
        );
        assert_eq!(
            in_a_line(&account),
            "4531 packets captured, 4531 packets received by filter, 0 packets dropped by kernel"
        );
        let lossy =
            self::account(vec![interface("a", 9, &[(Place::Link, Some(4)), (Place::Ring, Some(0))], 9)]);
        assert!(closing(&lossy).ends_with("0 packets dropped by kernel\n4 packets dropped by interface\n"));
        assert!(text(&account, false).contains("\nof 4531 captured packets 3565 are in files\n"));
    }

    #[test]
    fn packets_that_wait_in_the_ring_are_unexplained_only_at_the_end() {
        let waiting = interface("a", 4734, &[(Place::Ring, Some(0))], 4531);
        let count = |is_running: bool, place: &str| {
            let rows = all_rows(&waiting, is_running);
            rows.iter().find(|(known, ..)| known == place).and_then(|(_, count, _)| *count)
        };
        assert_eq!((count(true, "in the ring"), count(true, "unexplained")), (Some(203), Some(0)));
        assert_eq!((count(false, "in the ring"), count(false, "unexplained")), (None, Some(203)));
    }
}
