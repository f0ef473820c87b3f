//! The ledger: what happened to every packet, as text and as data.

use capbench_model::completeness::UnknownLoss;
use capbench_model::places::Place;
use capbench_record::recording::ledger::{Row, in_a_word, rows_of};
use capbench_record::recording::{Account, InterfaceAccount, Missing};
use capbench_report::formats::text::columns;

use crate::status::word;

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
    account.interfaces.iter().find_map(|interface| Some(unknown_loss(interface, interface.unknown_loss()?)))
}

fn unknown_loss(interface: &InterfaceAccount, unknown: UnknownLoss) -> String {
    let InterfaceAccount { name, method, .. } = interface;
    match unknown {
        UnknownLoss::At(Place::Xdp) => {
            format!("{name}: {}", interface.source_of(Place::Xdp).unwrap_or_default())
        }
        UnknownLoss::At(Place::Stack) => format!(
            "{name} went down {}; packets that came before its socket was attached again: {}",
            times(interface.went_down),
            interface.source_of(Place::Stack).unwrap_or_default()
        ),
        UnknownLoss::At(_) | UnknownLoss::NoCounter => {
            format!("{method} on {name} does not count how many packets it lost")
        }
        UnknownLoss::Unexplained(packets) => format!(
            "{packets} packets of {name} are unexplained; {method} cannot stop packets at the end, so they may have come after the end"
        ),
    }
}

fn times(count: u64) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

/// How many packets are lost, where, and how many are cut in the file.
pub fn losses_in_words(account: &Account) -> String {
    let mut places = Vec::new();
    for interface in &account.interfaces {
        for (kind, packets) in interface.missing_by_kind() {
            let place = match kind {
                Missing::At(place) => in_a_word(place),
                Missing::AtWriter => "writer",
                Missing::NotKnownOnDisk => "not known to be on disk",
                Missing::Unexplained => "unexplained",
            };
            places.push(format!("{}: {place} {packets}", interface.name));
        }
    }
    let (missing, expected) = (account.missing(), account.expected());
    let cut: u64 = account.interfaces.iter().map(InterfaceAccount::cut_in_files).sum();
    let octets: u64 = account.interfaces.iter().map(|interface| interface.cut_octets).sum();
    match (missing, cut) {
        (_, 0) => format!("{missing} of {expected} packets are lost ({})", places.join(", ")),
        (0, _) => {
            format!("{cut} of {expected} packets are cut in the file: {octets} octets of them are missing")
        }
        _ => {
            let is_known = account.interfaces.iter().all(InterfaceAccount::knows_cut_in_files);
            let limit = if is_known { "" } else { "up to " };
            format!(
                "{missing} of {expected} packets are lost ({}), and {limit}{cut} of the others are cut: {limit}{octets} octets of \
                 them are missing",
                places.join(", ")
            )
        }
    }
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
            "highest ring fill: {}; in the last second: {}\n",
            word(interface.fullest),
            word(interface.fill)
        ));
        if let Some(reported) = interface.reported {
            text.push_str(&format!(
                "losses reported in the file with the packet that follows: {reported}; lost after the last packet: {}\n",
                interface.behind_last
            ));
        }
        if let Some(merged) = interface.merged.filter(|merged| merged.late > 0) {
            let behind = merged.latest_ns.unwrap_or(0) as f64 / 1e6;
            text.push_str(&format!(
                "written out of time order by the merge: {}, by up to {behind:.3} ms\n",
                merged.late
            ));
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
            "\nmerge: up to {} batches of {} bytes waited for other interfaces; {} were written without waiting longer",
            merge.most_held_batches, merge.most_held_octets, merge.forced
        ));
    }
    text.push_str(&format!(
        "\n{} of {} captured packets, {} bytes in {} file{}; up to {} of {} buffers in use, longest write {:.1} ms\n",
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

fn rows(interface: &InterfaceAccount, is_running: bool) -> String {
    let fields = |(place, count, source): Row| vec![place, word(count), source];
    let rows: Vec<_> = rows_of(interface, is_running).into_iter().map(fields).collect();
    columns(&["packets", "count", "source"], &rows)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_record::writing::{PacketCounts, WriterCounts};

    use super::*;
    use capbench_model::counters::Loss;

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
        assert_eq!(account.loss_ratio(), 442.0 / 2000.0);
        assert_eq!(
            losses_in_words(&account),
            "442 of 2000 packets are lost (a: stack 427, a: ring 3, a: unexplained 12)"
        );
        assert_eq!(unknown_losses(&account), None);
    }

    #[test]
    fn packets_that_are_cut_count_as_lost_for_the_limit() {
        let cut = InterfaceAccount {
            cut: 171,
            cut_octets: 10_140_000,
            ..interface("a", 243, &[(Place::Ring, Some(0))], 243)
        };
        let whole = account(vec![cut.clone()]);
        assert_eq!((whole.loss_ratio(), whole.missing()), (171.0 / 243.0, 0));
        assert_eq!(
            losses_in_words(&whole),
            "171 of 243 packets are cut in the file: 10140000 octets of them are missing"
        );
        assert!(text(&whole, false).contains("10140000 of their octets are missing"));
        let output = PacketCounts { written: 100, unwritten: 143, ..PacketCounts::default() };
        let both = account(vec![InterfaceAccount { output, ..cut }]);
        assert_eq!(both.loss_ratio(), 1.0, "no more than all packets are lost or cut");
        assert_eq!(
            losses_in_words(&both),
            "143 of 243 packets are lost (a: writer 143), and up to 100 of the others are cut: up to 10140000 octets of them are \
             missing"
        );
        let output = PacketCounts { written: 100, refused: 143, ..PacketCounts::default() };
        let refused = account(vec![InterfaceAccount { cut: 40, output, ..both.interfaces[0].clone() }]);
        assert_eq!(refused.loss_ratio(), 183.0 / 243.0);
        let words = losses_in_words(&refused);
        assert!(words.contains("(a: writer 143), and 40 of the others are cut: 10140000 octets"), "{words}");
        let output = PacketCounts { unwritten: 100, sync_failed: 143, ..PacketCounts::default() };
        let unknown = account(vec![InterfaceAccount { output, ..refused.interfaces[0].clone() }]);
        assert_eq!(unknown.loss_ratio(), 1.0);
        let words = losses_in_words(&unknown);
        assert_eq!(words, "243 of 243 packets are lost (a: writer 100, a: not known to be on disk 143)");
    }

    #[test]
    fn what_may_have_come_after_the_end_is_no_loss_and_no_proof_of_none() {
        let open = InterfaceAccount { was_shut: false, ..interface("a", 20, &[(Place::Ring, Some(0))], 15) };
        let account = account(vec![open]);
        assert_eq!(account.loss_ratio(), 0.0);
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
}
