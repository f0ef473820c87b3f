//! `capbench why`: where an interface loses packets now, why most likely, and what to change.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Result;
use capbench_measure::MeasureError;
use capbench_measure::why::{Look, Socket, Watch};

use crate::cli::why::WhyFlags;
use crate::exit::{Exit, print};
use crate::stop::Stop;
use crate::summary::{thousands, wrapped};
use crate::table::Table;

/// From one look to the next.
const INTERVAL: Duration = Duration::from_secs(1);

/// How late the end may come after a signal.
const TICK: Duration = Duration::from_millis(50);

/// Begins a terminal's screen anew: cursor home, clear behind it (ECMA-48).
const NEW_SCREEN: &str = "\x1b[H\x1b[2J";

/// Runs the command.
pub fn run(flags: &WhyFlags) -> Result<Exit> {
    let mut watch = Watch::new(&flags.interface)?;
    let stop = Stop::install()?;
    let limit = flags.duration.unwrap_or(if flags.once { INTERVAL } else { Duration::MAX });
    let is_screen = !flags.json && std::io::stdout().is_terminal();
    let (mut next, mut looks) = (if flags.once { limit } else { INTERVAL.min(limit) }, 0_u32);
    loop {
        while watch.elapsed() < next && !stop.is_wanted() {
            std::thread::sleep(TICK.min(next.saturating_sub(watch.elapsed())));
        }
        let look = match watch.look() {
            Ok(look) => look,
            Err(error @ MeasureError::Interface { .. }) if looks > 0 && !flags.json && !flags.once => {
                print(&format!("\n{}", as_text(&watch.overall())))?;
                return Err(error.into());
            }
            Err(error) => return Err(error.into()),
        };
        looks += 1;
        let over = stop.is_wanted() || watch.elapsed() >= limit;
        if !flags.once {
            print(&match (flags.json, is_screen) {
                (true, _) => serde_json::to_string(&look)? + "\n",
                (false, true) => format!("{NEW_SCREEN}{}", as_text(&look)),
                (false, false) => line(&look),
            })?;
        }
        if over {
            break;
        }
        next = (next + INTERVAL).min(limit);
    }
    let overall = watch.overall();
    match (flags.json, flags.once) {
        (true, true) => print(&(serde_json::to_string_pretty(&overall)? + "\n"))?,
        (true, false) => {}
        (false, true) => print(&as_text(&overall))?,
        (false, false) => print(&format!("\n{}", as_text(&overall)))?,
    }
    Ok(match stop.signal() {
        // Being interrupted is how watching without a limit ends.
        signal if signal != 0 && (flags.duration.is_some() || flags.once) => Exit::Stopped(signal),
        _ => Exit::Done,
    })
}

/// A look in one line, for logs.
fn line(look: &Look) -> String {
    let rate = |count: u64| thousands(count as f64 / look.seconds);
    format!("{:8.3} s  {:>11} packets/s  {}\n", look.time_s, rate(look.received), look.verdict)
}

/// A look with everything.
fn as_text(look: &Look) -> String {
    let rate = |count: u64| thousands(count as f64 / look.seconds);
    let mut text =
        format!("{} over {:.1} s: {} packets/s\n\n", look.interface, look.seconds, rate(look.received));
    let mut places = Table::new(&["place", "lost", "lost/s", "source"]);
    for lost in &look.lost {
        let count = |number: Option<String>| number.unwrap_or_else(|| "-".into());
        places.row(vec![
            lost.place.word().into(),
            count(lost.frames.map(|frames| frames.to_string())),
            count(lost.frames.map(rate)),
            lost.source.clone(),
        ]);
    }
    let _ = writeln!(text, "{places}");
    if look.sockets.here.is_empty() {
        text.push_str("no socket that captures here is known\n");
    } else {
        let mut sockets =
            Table::new(&["socket", "process", "state", "CPU %", "buffer", "taken", "lost", "lost in all"]);
        for socket in &look.sockets.here {
            sockets.row(row(socket, look.seconds));
        }
        let _ = write!(text, "{sockets}");
    }
    text.push('\n');
    for socket in look.sockets.here.iter().filter(|socket| socket.at_least) {
        let words = format!(
            "{} read its counters meanwhile, which resets them: it lost at least so many",
            socket.owner()
        );
        wrapped(&mut text, "  - ", "    ", &words);
    }
    if let Some(unknown) = &look.sockets.unknown {
        wrapped(&mut text, "  - ", "    ", unknown);
    }
    for note in &look.notes {
        wrapped(&mut text, "  - ", "    ", note);
    }
    text.push('\n');
    wrapped(&mut text, "", "", &look.verdict);
    for advice in &look.advice {
        wrapped(&mut text, "  why:    ", "          ", &format!("{}: {}", advice.who, advice.cause));
        wrapped(&mut text, "  change: ", "          ", &advice.change);
    }
    text
}

fn row(socket: &Socket, seconds: f64) -> Vec<String> {
    let count = |number: Option<u64>| number.map_or("-".into(), |number| number.to_string());
    let process = socket.processes.first();
    let mut what = socket.what();
    if let Some(fanout) = &socket.fanout {
        let _ = write!(what, ", fanout {} {}", fanout.id, fanout.kind);
    }
    if socket.filter == Some(true) {
        what.push_str(", filtered");
    }
    if socket.every_interface {
        what.push_str(", every interface");
    }
    if socket.zero_copy == Some(true) {
        what.push_str(", zero-copy");
    }
    let more = match socket.processes.len() {
        0 | 1 => String::new(),
        several => format!(" +{}", several - 1),
    };
    vec![
        what,
        format!("{}{more}", socket.owner()),
        process.and_then(|process| process.state).map_or("-".into(), String::from),
        process
            .and_then(|process| process.cpu_s)
            .map_or("-".into(), |cpu_s| format!("{:.0}", 100.0 * cpu_s / seconds)),
        buffer(socket),
        count(socket.accepted),
        count(socket.dropped),
        count(socket.dropped_in_all),
    ]
}

/// A ring as blocks × octets, a queue as its octets.
fn buffer(socket: &Socket) -> String {
    match (socket.ring, socket.receive_buffer) {
        (Some(ring), _) => format!("{} × {}", ring.blocks, octets(ring.block_octets)),
        (None, Some(room)) => octets(room.into()),
        (None, None) => "-".into(),
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
mod tests {
    use super::octets;

    #[test]
    fn octets_have_the_unit_that_fits() {
        assert_eq!([octets(64), octets(65_536), octets(4 << 20)], ["64 B", "64 KiB", "4 MiB"]);
    }
}
