//! The networks, the senders and the programs of a mix.

use capbench_sys::host::SysfsView;

use super::mix::{Crowded, Hook, Kind, Mix, OF_HOOK, OF_XDP, Program};
use crate::support::why::number_before;
use crate::support::{Namespaces, Place, Running, Setting, capbench, eventually, program, run};

const BACKLOG: &str = "/proc/sys/net/core/netdev_max_backlog";

/// Passes frames to the kernel one by one; prints how many of them it refused (ENOBUFS).
const SEND: &str = "\
import errno, socket, sys
interface, ethertype, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((interface, 0))
frame = bytes.fromhex('020000000009020000000001') + ethertype.to_bytes(2, 'big') + bytes.fromhex('000588cc') + bytes(46)
refused = 0
for _ in range(count):
    try:
        s.send(frame)
    except OSError as error:
        if error.errno != errno.ENOBUFS:
            raise
        refused += 1
print(refused)
";

/// Two pairs of interfaces; the watched one is `right`, the other one `right1`.
pub struct Bed {
    pub spaces: Namespaces,
    _programs: Vec<Running>,
}

impl Bed {
    pub fn make(mix: &Mix) -> Self {
        let spaces = Namespaces::make();
        spaces.add_pairs(1);
        spaces.right.ip("link set lo up");
        let mut programs = Vec::new();
        match mix.hook {
            Some(Hook::Empty) => spaces.right.run("tc", "qdisc add dev right clsact"),
            Some(Hook::Tc) => programs.extend(dropping(&spaces.right, "tc", OF_HOOK)),
            Some(Hook::Nft) => drop_by_nft(&spaces.right),
            None => {}
        }
        if mix.has_xdp {
            programs.extend(dropping(&spaces.right, "xdp", OF_XDP));
        }
        Self { spaces, _programs: programs }
    }

    /// Sends frames to the watched interface. The result is how many of them the kernel refused.
    pub fn send(&self, ethertype: u16, frames: u64, crowded: Option<Crowded>) -> u64 {
        let Some(crowded) = crowded else { return self.send_on("left", ethertype, frames) };
        // CPU 1 does the receive work of what CPU 0 sends, and finds two frames at most.
        let receiving = match crowded {
            Crowded::This => "right",
            Crowded::Other => "right1",
        };
        self.set_rps(receiving, "2");
        let setting = Setting::change(BACKLOG, "2");
        let refused = match crowded {
            Crowded::This => self.send_on("left", ethertype, frames),
            Crowded::Other => {
                self.send_on("left1", ethertype, frames);
                0
            }
        };
        drop(setting);
        self.set_rps(receiving, "0");
        match crowded {
            Crowded::This => refused,
            Crowded::Other => self.send_on("left", ethertype, frames),
        }
    }

    fn send_on(&self, interface: &str, ethertype: u16, frames: u64) -> u64 {
        let mut command = program("taskset -c 0 python3 -c");
        command.args([SEND, interface, &ethertype.to_string(), &frames.to_string()]);
        run(&self.spaces.left, command).success().out.trim().parse().unwrap()
    }

    fn set_rps(&self, interface: &str, cpus: &str) {
        let path = format!("class/net/{interface}/queues/rx-0/rps_cpus");
        self.spaces.right.inside(|| SysfsView::of_current_namespace()?.write(&path, cpus)).unwrap();
    }

    /// Takes the watched interface down and up again.
    pub fn down_and_up(&self) {
        self.spaces.right.ip("link set dev right down");
        self.spaces.right.ip("link set dev right up");
        for (place, name) in [(&self.spaces.left, "left"), (&self.spaces.right, "right")] {
            eventually("the pair has carrier", || {
                place.ip(&format!("-o link show dev {name}")).contains("LOWER_UP")
            });
        }
    }
}

/// A program that drops an EtherType; none where the kernel does not take it.
fn dropping(place: &Place, kind: &str, ethertype: u16) -> Option<Running> {
    let mut command = program("python3");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/support/drop.py");
    command.args([script, kind, place.interface, &ethertype.to_string()]);
    let mut running = Running::start(place, command);
    if running.says(&format!("{kind} drops")) {
        return Some(running);
    }
    println!("this kernel takes no such program: {}", running.end().errors);
    None
}

fn drop_by_nft(place: &Place) {
    for line in [
        "add table netdev t".to_string(),
        format!(
            "add chain netdev t c {{ type filter hook ingress device {} priority 0 ; }}",
            place.interface
        ),
        format!("add rule netdev t c ether type {OF_HOOK} drop"),
    ] {
        place.run("nft", &line);
    }
}

/// A program that captures at the watched interface.
pub struct Capturing {
    program: Program,
    running: Running,
}

/// What a program reported at its end.
#[derive(Debug)]
pub struct Report {
    pub program: Program,
    pub pid: u32,
    /// Frames that reached its socket, those that found it full included.
    pub received: u64,
    pub dropped: u64,
}

impl Capturing {
    /// Starts those of a mix that start before this step.
    pub fn start(place: &Place, mix: &Mix, step: usize) -> Vec<Self> {
        let those = mix.programs.iter().filter(|program| program.starts_at == step);
        those.map(|program| Self::start_one(place, *program)).collect()
    }

    fn start_one(place: &Place, program: Program) -> Self {
        let command = match program.kind {
            Kind::Tcpdump => crate::support::program("tcpdump -B 64 -Z root -i right -w /dev/null"),
            Kind::Record(method) => {
                let mut command = capbench("record -i right --ring 256KiB -w /dev/null --method");
                command.arg(method);
                command
            }
        };
        let mut running = Running::start(place, command);
        running.wait_for("listening on right");
        if program.is_stopped {
            running.signal("STOP");
        }
        Self { program, running }
    }

    pub fn end(self) -> Report {
        let Self { program, running } = self;
        running.signal("CONT");
        running.signal("INT");
        let pid = running.pid();
        let said = running.end().success().errors;
        Report {
            program,
            pid,
            received: number_before(&said, "received by filter"),
            dropped: number_before(&said, "dropped by kernel"),
        }
    }
}
