//! What became of every packet, in words and as data.

use capbench_capture::recording::{Account, End, InterfaceAccount};
use capbench_capture::{Fill, Loss};
use serde_json::{Value, json};

use crate::status::{in_a_word, in_words};
use crate::table::Table;

/// tcpdump's three lines, which scripts read: sums over all interfaces, and `unknown` where one of them cannot tell.
pub fn closing(account: &Account) -> String {
    let known = |of: fn(&InterfaceAccount) -> Option<u64>| {
        let sum = account.interfaces.iter().map(of).sum::<Option<u64>>();
        sum.map_or_else(|| "unknown".to_string(), |sum| sum.to_string())
    };
    format!(
        "{} packets captured\n{} packets received by filter\n{} packets dropped by kernel\n",
        account.interfaces.iter().map(InterfaceAccount::captured).sum::<u64>(),
        known(|interface| interface.accepted),
        known(InterfaceAccount::lost_by_kernel),
    )
}

/// Whether it is known of every interface how many packets were lost.
pub fn knows_losses(account: &Account) -> bool {
    account.interfaces.iter().all(|interface| interface.lost_by_kernel().is_some())
}

/// Share of the accepted packets that are in no file, as far as is known.
pub fn loss_ratio(account: &Account) -> f64 {
    let accepted = |interface: &InterfaceAccount| interface.accepted.unwrap_or(interface.taken);
    let accepted: u64 = account.interfaces.iter().map(accepted).sum();
    if accepted == 0 { 0.0 } else { account.lost() as f64 / accepted as f64 }
}

/// The ledger of every interface.
pub fn text(account: &Account) -> String {
    let mut text = String::new();
    for interface in &account.interfaces {
        let members = match interface.members {
            1 => String::new(),
            several => format!(", {several} captures"),
        };
        text.push_str(&format!("\n{} ({}{members})\n{}", interface.name, interface.method, rows(interface)));
        text.push_str(&format!(
            "how full the ring was at most: {}; in the last second: {}\n",
            in_words(interface.fullest),
            in_words(interface.fill)
        ));
        if let Some(told) = interface.told {
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
            text.push_str(&format!("it went down {} times\n", interface.went_down));
        }
    }
    if let Some(merge) = &account.merge {
        text.push_str(&format!(
            "\nheld by the merge: at most {} batches of {} bytes; put out before every interface had come as far: {}",
            merge.most_held_batches, merge.most_held_octets, merge.forced
        ));
    }
    text.push_str(&format!(
        "\n{} bytes in {} file{}; at most {} of {} buffers in use, longest write {:.1} ms\n",
        account.bytes,
        account.files,
        if account.files == 1 { "" } else { "s" },
        account.most_buffers_in_use,
        account.buffers,
        account.longest_write.as_secs_f64() * 1e3,
    ));
    text
}

/// A row of a ledger.
struct Row {
    place: String,
    count: Option<i64>,
    source: String,
}

fn all_rows(interface: &InterfaceAccount) -> Vec<Row> {
    let row = |place: &str, count: Option<i64>, source: &str| Row {
        place: place.into(),
        count,
        source: source.into(),
    };
    let number = |count: u64| i64::try_from(count).ok();
    let mut rows = vec![
        row("received by the interface", interface.received.and_then(number), "rx_packets of the interface"),
        row("accepted", interface.accepted.and_then(number), "the method's counter; lost ones included"),
    ];
    let of_loss = |loss: &Loss| Row {
        place: format!("lost: {}", in_a_word(loss.place)),
        count: loss.count.and_then(number),
        source: loss.source.clone().into_owned(),
    };
    rows.extend(interface.losses.iter().map(of_loss));
    rows.push(row("taken", number(interface.taken), "packets that the method gave"));
    rows.extend(interface.queues.iter().map(of_loss));
    if let Some(filtered) = interface.filtered {
        rows.push(row("left out by the filter", number(filtered), "the filter, run by capbench"));
    }
    let output = interface.output;
    rows.extend([
        row("past the end", number(interface.past_end), "packets that came when the limit was reached"),
        row("written", number(output.written), "the writer"),
        row(
            "lost: writer, no room",
            number(output.refused),
            "packets without a free buffer, or behind a failed write",
        ),
        row("lost: writer, unwritten", number(output.unwritten), "packets that could not be written"),
        row("in hand", Some(interface.in_hand()), "taken less all of those"),
        row("unexplained", interface.unexplained(), "accepted less lost in front of capbench less taken"),
    ]);
    rows
}

fn rows(interface: &InterfaceAccount) -> String {
    let mut table = Table::new(&["packets", "count", "source"]);
    for Row { place, count, source } in all_rows(interface) {
        table.row(vec![place, count.map_or_else(|| "unknown".into(), |count| count.to_string()), source]);
    }
    table.to_string()
}

/// The account as one JSON document. What is unknown is null.
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
        "loss_ratio": loss_ratio(account),
        "files": account.files,
        "bytes": account.bytes,
        "stored_bytes": account.stored_bytes,
        "buffers": account.buffers,
        "most_buffers_in_use": account.most_buffers_in_use,
        "longest_write_s": account.longest_write.as_secs_f64(),
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
    let ledger = all_rows(interface)
        .into_iter()
        .map(|row| json!({ "place": row.place, "count": row.count, "source": row.source }));
    json!({
        "interface": interface.name,
        "method": interface.method,
        "members": interface.members,
        "accepted": interface.accepted,
        "lost_by_interface": interface.lost_by_interface(),
        "lost_by_kernel": interface.lost_by_kernel(),
        "taken": interface.taken,
        "lost_in_queues": interface.lost_in_queues(),
        "filtered": interface.filtered,
        "past_end": interface.past_end,
        "written": interface.output.written,
        "refused_by_writer": interface.output.refused,
        "unwritten": interface.output.unwritten,
        "in_hand": interface.in_hand(),
        "unexplained": interface.unexplained(),
        "octets": interface.octets,
        "ring_fill": interface.fill.map(Fill::share),
        "ring_fullest": interface.fullest.map(Fill::share),
        "drops_told": interface.told,
        "drops_behind_last": interface.behind_last,
        "late": interface.merged.map(|merged| merged.late),
        "latest_ns": interface.merged.and_then(|merged| merged.latest_ns),
        "went_down": interface.went_down,
        "ledger": ledger.collect::<Vec<_>>(),
    })
}
