//! Network namespaces for tests, and the programs that work in them.
//!
//! The namespaces have no names: descriptors hold them, so that they end with the test process, however it ends, and two
//! test runs cannot meet. A program started from a thread that is in a namespace runs there.

use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use capbench_sys::host::capability::{self, Capability};
use capbench_sys::host::{NetNamespace, SysfsView, namespace};

use crate::HostLimit;

/// How long anything may take that happens at once on an idle host: also where others keep every CPU busy.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The Ethernet address of the left end.
pub const LEFT_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// The Ethernet address of the right end.
pub const RIGHT_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// The programs that tests start, with the package that has each.
const PROGRAMS: [(&str, &str); 31] = [
    ("bash", "bash"),
    ("capinfos", "wireshark-common"),
    ("cc", "gcc"),
    ("chrt", "util-linux"),
    ("date", "coreutils"),
    ("dumpcap", "wireshark-common"),
    ("ethtool", "ethtool"),
    ("install", "coreutils"),
    ("ip", "iproute2"),
    ("man", "man-db"),
    ("mkfifo", "coreutils"),
    ("mount", "mount"),
    ("netsniff-ng", "netsniff-ng"),
    ("nft", "nftables"),
    ("prlimit", "util-linux"),
    ("python3", "python3"),
    ("script", "bsdutils"),
    ("setcap", "libcap2-bin"),
    ("setpriv", "util-linux"),
    ("ssh", "openssh-client"),
    ("ssh-keygen", "openssh-client"),
    ("sshd", "openssh-server"),
    ("sh", "dash"),
    ("taskset", "util-linux"),
    ("tc", "iproute2"),
    ("tcpdump", "tcpdump"),
    ("tcpreplay", "tcpreplay"),
    ("tracestats", "libtrace-tools"),
    ("trafgen", "netsniff-ng"),
    ("tshark", "tshark"),
    ("unshare", "util-linux"),
];

/// A program that capbench's authors did not write, with arguments: all separated by blanks.
///
/// # Panics
/// Where it is not installed: a test that needs it has not shown anything then.
pub fn program(line: &str) -> Command {
    let (name, arguments) = line.split_once(' ').unwrap_or((line, ""));
    let (_, package) =
        PROGRAMS.into_iter().find(|(known, _)| *known == name).expect("the table lists every program");
    let path = std::env::var("PATH").unwrap_or_default();
    // Where Debian keeps programs for root, which an ordinary user's PATH leaves out.
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    match folders.map(|folder| folder.join(name)).find(|file| file.is_file()) {
        Some(file) => {
            let mut command = Command::new(file);
            command.args(arguments.split_whitespace());
            command
        }
        None => panic!("{name} is not installed: it is in the package {package}, which tools/setup installs"),
    }
}

/// What a test needs that works on networks: the capabilities of root, outside of user namespaces. `None`, with the reason
/// printed, where it has not.
pub fn privileges() -> Option<()> {
    let needed = [Capability::NetAdmin, Capability::NetRaw, Capability::SysAdmin];
    let missing = capability::effective().unwrap().missing(&needed);
    let initial = namespace::in_initial_user_namespace().unwrap();
    let thread = thread::current();
    let test = thread.name().unwrap_or_default();
    if !missing.is_empty() {
        crate::missing(format_args!("{test}: {missing:?}, which root has"));
    } else if !initial {
        crate::missing(format_args!("{test}: root on the host, outside of user namespaces"));
    }
    (missing.is_empty() && initial).then_some(())
}

/// What a test needs that makes a bed as an ordinary user: user namespaces for `nobody`. `None`, with the reason printed, where the
/// kernel refuses them: in a chroot, by `user.max_user_namespaces`, by a security module. unshare(1) is asked, not capbench.
pub fn user_namespaces_of_nobody() -> Option<()> {
    let mut command = program("setpriv --reuid 65534 --regid 65534 --clear-groups");
    command.args(["unshare", "--user", "--map-root-user", "--net", "true"]);
    let ended = command.output().expect("setpriv can be started");
    if !ended.status.success() {
        crate::cannot_have(HostLimit::UserNamespaces, lossy(&ended.stderr).trim());
    }
    ended.status.success().then_some(())
}

/// Waits for something that no event announces.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// No packet is longer than the usual MTU, so that rings of slots have many of them.
const NOT_LONGER: &str = "gso_max_size 1500 gro_max_size 1500";

/// Two network namespaces and a silent veth pair between them: no addresses, no ARP, no IPv6.
pub struct Namespaces {
    /// Has the interface `left`.
    pub left: Place,
    /// Has the interface `right`.
    pub right: Place,
}

/// A network namespace and its end of the pair.
pub struct Place {
    namespace: NetNamespace,
    /// The name of the interface.
    pub interface: &'static str,
}

impl Namespaces {
    /// Makes them; both ends are up.
    pub fn make() -> Self {
        Self::with_queues(1)
    }

    /// The same with this many transmit and receive queues at both ends.
    pub fn with_queues(queues: u32) -> Self {
        let spaces = Self { left: Place::new("left"), right: Place::new("right") };
        spaces.left.add_pair(queues, &format!(" netns {}", spaces.right.path()));
        spaces.left.set_up("left");
        spaces.right.set_up("right");
        spaces.left.wait_for_carrier("left");
        spaces.right.wait_for_carrier("right");
        spaces
    }

    /// Adds pairs `left1` and `right1`, `left2` and `right2`, and so on.
    pub fn add_pairs(&self, count: u32) {
        for number in 1..=count {
            let (left, right) = (format!("left{number}"), format!("right{number}"));
            let peer = format!("peer name {right} {NOT_LONGER} netns {}", self.right.path());
            self.left.ip(&format!("link add name {left} {NOT_LONGER} type veth {peer}"));
            self.left.set_up(&left);
            self.right.set_up(&right);
            self.right.wait_for_carrier(&right);
        }
    }
}

impl Place {
    /// A separate namespace for an interface that will be called so.
    pub fn new(interface: &'static str) -> Self {
        let made = thread::spawn(|| {
            let namespace = namespace::unshare_net().unwrap();
            for which in ["all", "default"] {
                let file = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
                // A kernel without IPv6 has no such file, and is silent already.
                if let Err(error) = std::fs::write(&file, "1") {
                    assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{file}: {error}");
                }
            }
            namespace
        });
        Self { namespace: made.join().unwrap(), interface }
    }

    /// A namespace with both ends of a silent pair, `left` and `right`; its counters are those of `left`.
    pub fn with_pair() -> Self {
        let place = Self::new("left");
        place.add_pair(1, "");
        for end in ["left", "right"] {
            place.set_up(end);
        }
        for end in ["left", "right"] {
            place.wait_for_carrier(end);
        }
        place
    }

    /// How ip(8) can call the namespace, instead of by a name.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.namespace.as_fd().as_raw_fd())
    }

    fn add_pair(&self, queues: u32, peer: &str) {
        let [left, right] = [LEFT_MAC, RIGHT_MAC].map(text);
        let queues = format!("numtxqueues {queues} numrxqueues {queues}");
        self.ip(&format!(
            "link add name left address {left} {NOT_LONGER} {queues} type veth peer name right address {right} {NOT_LONGER} {queues}{peer}"
        ));
    }

    fn set_up(&self, interface: &str) {
        self.ip(&format!("link set dev {interface} arp off up"));
    }

    fn wait_for_carrier(&self, interface: &str) {
        let has_carrier = || self.ip(&format!("-o link show dev {interface}")).contains("LOWER_UP");
        eventually("a veth pair has carrier", has_carrier);
    }

    /// Runs `work` on a thread inside the namespace.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.namespace.enter().unwrap();
                work()
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Starts a program inside the namespace.
    pub fn spawn(&self, command: &mut Command) -> Child {
        self.inside(|| command.spawn()).unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// Runs a program inside the namespace to its end.
    pub fn output(&self, command: &mut Command) -> Output {
        self.inside(|| command.output()).unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// Runs ip(8) inside the namespace; what it prints.
    pub fn ip(&self, arguments: &str) -> String {
        let output = self.output(program("ip").args(arguments.split(' ')));
        let (text, errors) = (lossy(&output.stdout), lossy(&output.stderr));
        assert!(output.status.success(), "ip {arguments}: {errors}");
        text
    }

    /// Frames that the interface has received.
    pub fn received(&self) -> u64 {
        self.counter(1)
    }

    /// Frames that the interface has sent.
    pub fn sent(&self) -> u64 {
        self.counter(9)
    }

    /// Frames that the interface counts as dropped on receipt.
    pub fn dropped(&self) -> u64 {
        self.counter(3)
    }

    /// Frames that the interface counts as dropped when sent.
    pub fn dropped_on_transmit(&self) -> u64 {
        self.counter(11)
    }

    /// Writes a setting of the interface, by its file below /sys/class/net.
    pub fn set(&self, file: &str, value: &str) {
        let path = format!("class/net/{}/{file}", self.interface);
        self.inside(|| SysfsView::of_current_namespace()?.write(&path, value)).unwrap();
    }

    /// Runs a program inside the namespace, which has to succeed.
    pub fn run(&self, name: &str, arguments: &str) {
        let output = self.output(program(name).args(arguments.split(' ')));
        assert!(output.status.success(), "{name} {arguments}: {}", lossy(&output.stderr));
    }

    /// A column of /proc/net/dev, which shows the namespace of the thread that opens it.
    fn counter(&self, column: usize) -> u64 {
        let text = self.inside(|| std::fs::read_to_string("/proc/thread-self/net/dev")).unwrap();
        let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{}:", self.interface)));
        line.unwrap().split_whitespace().nth(column).unwrap().parse().unwrap()
    }
}

/// The bytes as text.
pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn text(mac: [u8; 6]) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}
