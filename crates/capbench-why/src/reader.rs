//! Why a program did not read its ring or queue in time: it was stopped, slept, waited for a CPU, or is too slow even with one.

use capbench_model::figures::grouped;

use crate::judgement::Judgement;
use crate::look::Look;
use crate::remedy::Remedy;
use crate::scheduling::{Reading, in_words};
use crate::sockets::{Method, Process, Socket};

/// Share of one CPU from which a process has no time left.
const BUSY: f64 = 0.9;

/// Share of the time for which a thread waits for a CPU, from which that is a cause of loss.
const STARVED: f64 = 0.1;

/// A full ring or queue.
pub(crate) fn judge(look: &Look, socket: &Socket) -> Judgement {
    let room = Room::of(socket, look);
    let lasts = room.as_ref().map_or(String::new(), |room| format!("; {room} at this rate"));
    if let Some(process) = socket.processes.iter().find(|process| process.is_stopped()) {
        return stopped(process, &lasts);
    }
    let first = socket.processes.first().map(|process| process.pid);
    let scheduled = &look.facts.scheduled;
    let reading = first.filter(|_| scheduled.covers(look.seconds)).and_then(|pid| scheduled.reader(pid));
    let by_ticks = socket.processes.iter().filter_map(|process| process.cpu_s).sum::<f64>() / look.seconds;
    let ran = reading.map_or(by_ticks, |reading| reading.ran);
    if ran >= BUSY {
        return too_slow(look, socket, ran, reading, &lasts);
    }
    match reading.filter(|reading| reading.waited >= STARVED) {
        Some(reading) => starved(look, socket, reading, &lasts),
        None => away(socket, room.as_ref(), reading, by_ticks, &lasts),
    }
}

fn stopped(process: &Process, lasts: &str) -> Judgement {
    let state = process.state.unwrap_or('T');
    let cause = format!("{process} is stopped (state {state}), so it reads no frames{lasts}");
    if state == 't' {
        return Judgement::words(cause, "let the debugger continue it");
    }
    Judgement {
        cause,
        change: "let it continue".into(),
        remedies: vec![Remedy::Continue { pid: process.pid }],
    }
}

/// It has a CPU all the time, and that is not enough.
fn too_slow(look: &Look, socket: &Socket, ran: f64, reading: Option<Reading>, lasts: &str) -> Judgement {
    let capacity = reading.and_then(|reading| Capacity::of(look, socket, reading));
    let capacity = capacity.map_or(String::new(), |capacity| format!("; it processes {capacity}"));
    Judgement::words(
        format!(
            "{} does not keep up: it is busy ({:.0} % of a CPU){capacity}{lasts}",
            socket.owner(),
            100.0 * ran
        ),
        less_work(socket),
    )
}

fn less_work(socket: &Socket) -> String {
    let share = match socket.method {
        Method::AfXdp => "receive queues with a socket on each (`ethtool -L`)",
        Method::PfRing => "several rings (a PF_RING cluster)",
        _ => "several sockets (fanout, one on each CPU)",
    };
    format!(
        "make it do less for each packet, filter in the kernel, or share the load between {share}; a longer ring only delays \
         the loss"
    )
}

/// It could run, and others had its CPU.
fn starved(look: &Look, socket: &Socket, reading: Reading, lasts: &str) -> Judgement {
    let pid = socket.processes.first().map(|process| process.pid);
    let users = reading.cpu.map(|cpu| look.facts.scheduled.users_of(cpu, pid)).unwrap_or_default();
    let cpu = reading.cpu.map_or_else(|| "a CPU".into(), |cpu| format!("CPU {cpu}"));
    let by_whom = in_words(&users).map_or(String::new(), |users| format!(", which {users}"));
    let capacity = Capacity::of(look, socket, reading);
    let is_too_slow = capacity.as_ref().is_some_and(|capacity| !capacity.suffices());
    let alone = match &capacity {
        Some(capacity) if is_too_slow => format!("; even alone it processes {capacity}"),
        Some(capacity) => format!("; alone it processes {capacity}"),
        None => String::new(),
    };
    let cause = format!(
        "{} waited {:.0} % of the time for {cpu}{by_whom}; it ran {:.0} %{alone}{lasts}",
        socket.owner(),
        100.0 * reading.waited,
        100.0 * reading.ran
    );
    if is_too_slow {
        let change = format!("a priority or a CPU to itself does not suffice: {}", less_work(socket));
        return Judgement::words(cause, change);
    }
    let free = reading.cpu.and_then(|cpu| look.facts.idle_cpu(cpu));
    match (pid, free) {
        (Some(pid), Some(cpu)) => Judgement {
            cause,
            change: format!("let it run on CPU {cpu}, which was less than half used"),
            remedies: vec![Remedy::MoveProgram { pid, cpu }],
        },
        (Some(pid), None) => Judgement {
            cause,
            change: "let it run before the others, or move them to other CPUs".into(),
            remedies: vec![Remedy::Priority { pid }],
        },
        (None, _) => Judgement::words(cause, "give it a CPU to itself"),
    }
}

/// It slept while its buffer filled.
fn away(
    socket: &Socket,
    room: Option<&Room>,
    reading: Option<Reading>,
    by_ticks: f64,
    lasts: &str,
) -> Judgement {
    let figures = match reading {
        Some(Reading { ran, waited, .. }) => format!(
            "ran {:.0} %, waited {:.0} % of the time for a CPU, slept the rest",
            100.0 * ran,
            100.0 * waited
        ),
        None => {
            format!("ran {:.0} %; whether it slept or waited for a CPU is not known", 100.0 * by_ticks)
        }
    };
    let cause = format!("{} was away for longer than its buffer lasts ({figures}){lasts}", socket.owner());
    let (change, remedies) = room.map_or_else(
        || ("give it a longer ring or queue".into(), Vec::new()),
        |room| room.change(socket.processes.first()),
    );
    let waits = socket.processes.first().map_or(String::new(), |process| {
        format!("; `ps -o stat,wchan {}` shows what it waits for", process.pid)
    });
    Judgement { cause, change: change + &waits, remedies }
}

/// What a program can process with a CPU to itself, by the CPU time that it took for each frame.
struct Capacity {
    /// Frames per second.
    alone: f64,
    /// Offered frames per second.
    offered: f64,
}

impl Capacity {
    /// Absent where the CPU time of the thread is not that of this socket alone.
    fn of(look: &Look, socket: &Socket, reading: Reading) -> Option<Self> {
        let pid = socket.processes.first()?.pid;
        let has_it = |other: &&Socket| other.processes.iter().any(|process| process.pid == pid);
        let is_its = |other: &Socket| other.receives && !other.closed;
        let sockets = look.sockets.all().filter(has_it).filter(|other| is_its(other)).count();
        let accepted = socket.accepted.filter(|frames| *frames > 0 && reading.run_s > 0.0)?;
        let offered = (accepted + socket.dropped?) as f64 / look.seconds;
        let alone = accepted as f64 / reading.run_s;
        (sockets == 1 && !socket.at_least).then_some(Self { alone, offered })
    }

    fn suffices(&self) -> bool {
        self.alone >= self.offered
    }
}

impl std::fmt::Display for Capacity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (alone, offered) = (grouped(self.alone.min(self.offered)), grouped(self.offered));
        write!(f, "{alone} of {offered} packets/s")
    }
}

/// How long a reader should be able to pause, in seconds: longer than a scheduler usually makes it wait.
const ENOUGH_S: f64 = 0.1;

/// A socket's buffer and the rate that fills it.
#[derive(Debug, Clone, PartialEq)]
struct Room {
    /// Octets of the whole buffer.
    octets: f64,
    /// Frames of the current length that fit.
    frames: f64,
    /// Offered frames per second.
    rate: f64,
    method: Method,
}

impl Room {
    /// The buffer of a socket; `None` if its size is unknown or no frames are offered.
    fn of(socket: &Socket, look: &Look) -> Option<Self> {
        let length = match look.octets.zip(look.received) {
            Some((octets, received)) if received > 0 => octets as f64 / received as f64,
            _ => 64.0,
        };
        let offered = socket.accepted.or(look.received)? + socket.dropped.unwrap_or(0);
        let rate = offered as f64 / look.seconds;
        let (octets, frames) = match (socket.method, socket.ring) {
            (Method::PacketV3, Some(ring)) => {
                // Each frame is preceded by its header and the sender's address, 82 octets.
                let octets = f64::from(ring.blocks) * ring.block_octets as f64;
                (octets, octets / (length + 82.0))
            }
            (Method::PfRing, Some(ring)) => {
                // Each frame is preceded by the module's header, with padding about 56 octets.
                let octets = ring.block_octets as f64;
                (octets, octets / (length + 56.0))
            }
            (_, Some(ring)) => (f64::from(ring.slots) * f64::from(ring.slot_octets), f64::from(ring.slots)),
            (_, None) => {
                // The kernel's charge for a frame: its data in a block of 2^n octets, and 256 octets of overhead.
                let charged = ((length as u64 + 384).next_power_of_two() + 256) as f64;
                let octets = f64::from(socket.receive_buffer?);
                (octets, octets / charged)
            }
        };
        (rate > 0.0 && frames > 0.0).then_some(Self { octets, frames, rate, method: socket.method })
    }

    /// How long the buffer lasts in seconds.
    fn seconds(&self) -> f64 {
        self.frames / self.rate
    }

    /// The recommended change for a buffer of this process.
    fn change(&self, process: Option<&Process>) -> (String, Vec<Remedy>) {
        if self.seconds() >= ENOUGH_S {
            return ("see why its reader is away for so long".into(), Vec::new());
        }
        let mebibytes = (self.octets * ENOUGH_S / self.seconds() / f64::from(1 << 20)).ceil().max(1.0);
        let name = process.and_then(|process| process.name.as_deref());
        // A ring counts in KiB with tcpdump and in MiB with dumpcap.
        let remedy = match (self.method, name) {
            (Method::PacketV1 | Method::PacketV2 | Method::PacketV3, Some("tcpdump")) => {
                Some(Remedy::LargerBuffer {
                    program: "tcpdump",
                    flag: format!("-B {:.0}", mebibytes * 1024.0),
                })
            }
            (Method::PacketV1 | Method::PacketV2 | Method::PacketV3, Some("dumpcap")) => {
                Some(Remedy::LargerBuffer { program: "dumpcap", flag: format!("-B {mebibytes:.0}") })
            }
            _ => None,
        };
        let how = match (&remedy, self.method) {
            (Some(Remedy::LargerBuffer { program, flag }), _) => format!("start {program} with `{flag}`"),
            (_, Method::Recv) => "SO_RCVBUF, below net.core.rmem_max".into(),
            (_, Method::AfXdp) => "a longer receive ring and as many more chunks".into(),
            (_, Method::PfRing) => {
                "min_num_slots of the module pf_ring, before the program opens its ring".into()
            }
            _ => "tcpdump -B, dumpcap -B, or the program's own setting".to_owned(),
        };
        let change = format!("make its buffer larger: 100 ms at this rate take {mebibytes:.0} MiB ({how})");
        (change, remedy.into_iter().collect())
    }
}

impl std::fmt::Display for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = self.seconds() * 1e3;
        let digits = if ms < 10.0 { 1 } else { 0 };
        write!(f, "its buffer of {:.0} KiB lasts about {ms:.digits$} ms", self.octets / 1024.0)
    }
}
