//! Why a socket loses frames, and what to change.

use super::room::Room;
use crate::look::Advice;
use crate::look::Look;
use crate::sockets::{Method, Process, Socket};
use capbench_model::places::Place;

/// Share of one CPU from which a process has no time left.
const BUSY: f64 = 0.9;

/// Cause and change for a socket that lost frames.
pub(super) fn of_socket(look: &Look, socket: &Socket) -> Option<Advice> {
    let lost = socket.dropped.filter(|frames| *frames > 0)?;
    let who = format!("the {} of {}", socket.what(), socket.owner());
    // A stopped process does not return buffers either.
    let is_stopped = socket.processes.iter().any(Process::is_stopped);
    let (mut cause, change) = if !is_stopped
        && socket.method == Method::AfXdp
        && socket.ring_full.unwrap_or(0) < lost.div_ceil(2)
    {
        of_fill_ring(socket)
    } else {
        of_reader(look, socket)
    };
    if let Some(others) = others_of_group(look, socket) {
        cause.push_str(&others);
    }
    let at_most = socket.every_interface;
    if at_most {
        cause.push_str("; it takes frames of all interfaces, and its counter does not tell whose were lost");
    }
    Some(Advice { place: Place::Ring, lost, at_most, who, cause, change })
}

/// The losses of the other members of its fanout group, if there are any.
fn others_of_group(look: &Look, socket: &Socket) -> Option<String> {
    let group = socket.fanout.as_ref()?;
    let is_other = |other: &&Socket| {
        other.inode != socket.inode && other.fanout.as_ref().is_some_and(|its| its.id == group.id)
    };
    let others: Vec<_> = look.sockets.here.iter().filter(is_other).collect();
    let losing = others.iter().filter(|other| other.dropped > Some(0)).count();
    let (id, kind) = (group.id, &group.kind);
    match (others.len(), losing) {
        (0, _) => None,
        (_, 0) => Some(format!(
            "; the other members of its fanout group {id} ({kind}) lose nothing: the load is shared unevenly, or this              member is slower (PACKET_FANOUT_FLAG_ROLLOVER lets the others help)"
        )),
        (all, losing) => {
            Some(format!("; of {all} other members of its fanout group {id} ({kind}) {losing} lose, too"))
        }
    }
}

/// An AF_XDP socket that lost frames for another reason than a full receive ring.
fn of_fill_ring(socket: &Socket) -> (String, String) {
    if socket.fill_empty.is_some_and(|times| times > 0) {
        return (
            "its fill ring was empty: the program did not give buffers back in time".into(),
            "give buffers back sooner and in batches, or give the socket more memory (UMEM) and a longer fill ring".into(),
        );
    }
    let chunk = socket.ring.map_or(0, |ring| ring.slot_octets);
    (
        format!(
            "frames did not fit: longer than a chunk of {chunk} octets without its headroom, or from another queue"
        ),
        "use larger chunks or lower the MTU; bind a socket to every receive queue".into(),
    )
}

/// A full ring or queue: its reader was stopped, too slow, or absent for longer than the buffer lasts.
fn of_reader(look: &Look, socket: &Socket) -> (String, String) {
    let room = Room::of(socket, look);
    let lasts = room.as_ref().map_or(String::new(), |room| format!("; {room} at this rate"));
    if let Some(process) = socket.processes.iter().find(|process| process.is_stopped()) {
        let state = process.state.unwrap_or('T');
        return (
            format!("{process} is stopped (state {state}), so that nobody takes frames out{lasts}"),
            if state == 't' {
                "let the debugger continue it".into()
            } else {
                format!("`kill -CONT {}` lets it continue", process.pid)
            },
        );
    }
    let busy: f64 = socket.processes.iter().filter_map(|process| process.cpu_s).sum::<f64>() / look.seconds;
    if busy >= BUSY {
        let share = match socket.method {
            Method::AfXdp => "receive queues with a socket on each (`ethtool -L`)",
            Method::PfRing => "several rings (a PF_RING cluster)",
            _ => "several sockets (fanout, one on each CPU)",
        };
        return (
            format!(
                "{} does not keep up: it is busy ({:.0} % of a CPU){lasts}",
                socket.owner(),
                100.0 * busy
            ),
            format!(
                "make it do less for each packet, filter in the kernel, or share the load between {share}; a longer ring \
                 only delays the loss"
            ),
        );
    }
    let change = room.map_or("give it a longer ring or queue".into(), |room| room.change());
    (
        format!(
            "{} was away for longer than its buffer lasts ({:.0} % of a CPU){lasts}",
            socket.owner(),
            100.0 * busy
        ),
        format!("{change}; `ps -o stat,wchan {}` shows what it waits for", first_pid(socket)),
    )
}

fn first_pid(socket: &Socket) -> String {
    socket.processes.first().map_or("PID".into(), |process| process.pid.to_string())
}
