//! A look as text: one line, or everything in 80 columns.

use std::fmt::Write;

use capbench_model::figures::grouped;
use capbench_report::formats::text::{COLUMNS, wrapped};
use capbench_report::printable;
use capbench_why::{ClosedSockets, Look, Remedy, Socket};

use crate::status::word;

/// Most driver counters that the text shows; the JSON has all.
const MOST_COUNTERS: usize = 12;

/// Looks at one moment, a line for each interface, for logs.
pub fn lines(looks: &[Look]) -> String {
    let line = |look: &Look| {
        let received = word(look.received_per_s.map(grouped));
        let name = if looks.len() > 1 { format!("  {:<15}", look.interface) } else { String::new() };
        let verdict = printable::line(&look.verdict);
        format!("{:8.3} s{name}  {received:>11} packets/s  {verdict}\n", look.time_s)
    };
    looks.iter().map(line).collect()
}

/// Looks at one moment, for a screen: everything of one interface, or what loses packets on each of several.
pub fn now(looks: &[Look]) -> String {
    if let [look] = looks {
        return whole(look);
    }
    let mut text = String::new();
    for look in looks {
        head(&mut text, look);
        verdict(&mut text, look);
        text.push('\n');
    }
    text
}

/// The whole look: what loses packets and why, then every place, every socket and the remaining facts.
pub fn whole(look: &Look) -> String {
    let mut text = String::new();
    head(&mut text, look);
    text.push('\n');
    verdict(&mut text, look);
    text.push('\n');
    places(&mut text, look);
    sockets(&mut text, look);
    notes(&mut text, look);
    text
}

/// What loses packets, why, and what to change.
fn verdict(text: &mut String, look: &Look) {
    wrapped(text, "", "", &look.verdict);
    for advice in &look.advice {
        wrapped(text, "  why:    ", "          ", &format!("{}: {}", advice.who, advice.cause));
        wrapped(text, "  change: ", "          ", &advice.change);
        // Not wrapped, so that it can be copied.
        for command in advice.remedies.iter().filter_map(Remedy::command) {
            let _ = writeln!(text, "  do:     {command}");
        }
    }
}

fn head(text: &mut String, look: &Look) {
    let bits = |octets: u64| format!("{:.1}", octets as f64 * 8e-6 / look.seconds);
    let mut words = format!(
        "{} over {:.1} s: {} packets/s, {} Mbit/s",
        look.interface,
        look.seconds,
        word(look.received_per_s.map(grouped)),
        word(look.octets.map(bits))
    );
    if let Some(driver) = &look.driver {
        let _ = write!(words, "; driver {driver}");
    }
    if let Some(queues) = look.receive_queues {
        let _ = write!(words, ", {queues} receive queue{}", if queues == 1 { "" } else { "s" });
    }
    wrapped(text, "", "  ", &words);
}

fn places(text: &mut String, look: &Look) {
    let _ = writeln!(text, "places:\n  {:<13} {:>10} {:>10}  counter", "", "lost", "lost/s");
    for lost in &look.lost {
        let first = format!(
            "  {:<13} {:>10} {:>10}  ",
            lost.place.key(),
            word(lost.frames),
            word(lost.per_s.map(grouped)),
        );
        wrapped(text, &first, &" ".repeat(first.chars().count()), &lost.source);
    }
    let softirq = look.softnet.iter().map(|cpu| {
        let squeezed = match cpu.time_squeeze {
            0 => String::new(),
            times => format!(" (out of budget {times} times)"),
        };
        format!("CPU {} {}/s{squeezed}", cpu.cpu.number(), grouped(cpu.processed as f64 / look.seconds))
    });
    listed(text, "packets in softirq, of the whole host", softirq.collect());
    let drops = look.traced.iter().flat_map(|traced| &traced.drops);
    let drops =
        drops.map(|dropped| format!("{} {} ({})", dropped.reason, dropped.frames, dropped.stage.words()));
    listed(text, "dropped by the kernel, by reason", drops.collect());
    let counters = look.driver_counters.iter().map(|(name, count)| format!("{name} {count}"));
    let mut shown: Vec<_> = counters.take(MOST_COUNTERS).collect();
    if look.driver_counters.len() > MOST_COUNTERS {
        shown.push(format!("{} more (--json)", look.driver_counters.len() - MOST_COUNTERS));
    }
    listed(text, "driver counters that moved", shown);
}

/// A list below the places, if there is anything in it.
fn listed(text: &mut String, what: &str, words: Vec<String>) {
    if !words.is_empty() {
        wrapped(text, "  ", "    ", &format!("{what}: {}", words.join(", ")));
    }
}

fn sockets(text: &mut String, look: &Look) {
    let lists = [
        ("sockets that capture here:", &look.sockets.here, true),
        ("other capture sockets:", &look.sockets.elsewhere, false),
    ];
    if look.sockets.here.is_empty() {
        text.push_str("\nno socket that captures here is known\n");
    }
    for (heading, list, is_here) in lists {
        let closed: Vec<_> = look.sockets.closed.iter().filter(|group| group.here == is_here).collect();
        if list.is_empty() && closed.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{heading}");
        cells(text, "", ["state", "CPU %", "read/s", "lost/s", "lost", "in all"].map(Into::into));
        // Sockets of one kind, for example those of a fanout group, are described once.
        let mut described = String::new();
        for socket in list {
            let what = description(socket, is_here, look);
            if what != described {
                wrapped(text, "  ", "    ", &what);
                described = what;
            }
            row(text, socket, look.seconds);
        }
        if !closed.is_empty() {
            closed_row(text, &closed, look.seconds);
        }
    }
}

/// The closed sockets without a row. Those with a row lost more.
fn closed_row(text: &mut String, closed: &[&ClosedSockets], seconds: f64) {
    let sum = |of: fn(&ClosedSockets) -> u64| closed.iter().map(|group| of(group)).sum::<u64>();
    let (sockets, dropped, unknown) =
        (sum(|group| group.sockets), sum(|group| group.dropped), sum(|group| group.unknown));
    let is_least = unknown > 0 || closed.iter().any(|group| group.at_least);
    let (rate, least) = (|count: u64| grouped(count as f64 / seconds), if is_least { "≥" } else { "" });
    let words = format!("{sockets} more sockets that were closed, and lost less than those above");
    wrapped(text, "  ", "    ", &words);
    let values = [
        "closed".into(),
        "-".into(),
        rate(sum(|group| group.accepted)),
        rate(dropped),
        format!("{least}{dropped}"),
        "-".into(),
    ];
    cells(text, "closed sockets", values);
}

/// The kind of a socket, and where it is.
fn description(socket: &Socket, is_here: bool, look: &Look) -> String {
    let mut what = vec![socket.what(), buffer(socket)];
    if let Some(fanout) = &socket.fanout {
        let members = fanout.members.map_or_else(String::new, |members| format!(" of {members}"));
        what.push(format!("fanout {} {}{members}", fanout.id, fanout.kind));
    }
    let flags = [
        (socket.filter == Some(true), "filtered"),
        (socket.zero_copy == Some(true), "zero-copy"),
        (!socket.receives, "only sends"),
        (socket.every_interface && socket.receives, "every interface"),
    ];
    what.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, words)| words.to_string()));
    what.extend(socket.interface.iter().filter(|_| !is_here).map(|interface| format!("on {interface}")));
    if socket.namespace != look.namespace {
        what.push(format!("in network namespace {}", socket.namespace));
    }
    what.join(", ")
}

/// A line about one socket. A long process name comes on a line above.
fn row(text: &mut String, socket: &Socket, seconds: f64) {
    let rate = |number: Option<u64>| word(number.map(|number| grouped(number as f64 / seconds)));
    let process = socket.processes.first();
    let more = match socket.processes.len() {
        0 | 1 => String::new(),
        several => format!(" +{}", several - 1),
    };
    let state = match (socket.closed, process.and_then(|process| process.state)) {
        (true, _) => "closed".into(),
        (false, state) => state.map_or("-".into(), String::from),
    };
    let cpu = process.and_then(|process| process.cpu_s);
    let values = [
        state,
        cpu.map_or("-".into(), |cpu_s| format!("{:.0}", 100.0 * cpu_s / seconds)),
        // AF_XDP does not count accepted frames.
        socket.accepted.map_or("-".into(), |_| rate(socket.accepted)),
        rate(socket.dropped),
        format!("{}{}", if socket.at_least { "≥" } else { "" }, word(socket.dropped)),
        word(socket.dropped_in_all),
    ];
    cells(text, &format!("{}{more}", socket.owner()), values);
}

/// Columns of the list of sockets.
fn cells(text: &mut String, process: &str, values: [String; 6]) {
    const WIDTHS: [usize; 6] = [6, 5, 10, 10, 10, 10];
    let room = COLUMNS - WIDTHS.iter().map(|width| width + 1).sum::<usize>() - 4;
    let process = printable::line(process);
    let label = if process.chars().count() > room {
        let _ = writeln!(text, "    {process}");
        ""
    } else {
        process.as_str()
    };
    let mut line = format!("    {label:<room$}");
    for (value, width) in values.iter().zip(WIDTHS) {
        let _ = write!(line, " {value:>width$}");
    }
    let _ = writeln!(text, "{line}");
}

fn notes(text: &mut String, look: &Look) {
    let all = look.sockets.here.iter().chain(&look.sockets.elsewhere);
    let reset = all.filter(|socket| socket.at_least).map(|socket| {
        format!("{} reads its counters, which resets them: it lost at least that many", socket.owner())
    });
    let notes: Vec<_> =
        reset.chain(look.sockets.unknown.iter().cloned()).chain(look.notes.iter().cloned()).collect();
    if !notes.is_empty() {
        text.push_str("\nto know:\n");
    }
    for note in notes {
        wrapped(text, "  - ", "    ", &note);
    }
}

/// A ring as blocks × octets, a queue in octets.
fn buffer(socket: &Socket) -> String {
    match (socket.ring, socket.receive_buffer) {
        (Some(ring), _) => format!("{} × {}", ring.blocks, octets(ring.block_octets)),
        (None, Some(room)) => octets(room.into()),
        (None, None) => "buffer unknown".into(),
    }
}

fn octets(count: u64) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{} KiB", count / 1024),
        _ => format!("{} MiB", count >> 20),
    }
}

#[cfg(test)]
mod tests;
