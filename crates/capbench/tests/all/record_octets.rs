//! Where the octets of a recording are. Whatever the method, MTU, offloads, snap length and traffic: octets in the file, octets that
//! are cut, octets behind the snap length and octets of lost packets are together those that arrived, by a socket of the test and,
//! where nothing joins or splits frames, by the sender.
//!
//! `CAPBENCH_OCTETS` is the number of cases and `CAPBENCH_OCTETS_SEED` the seed, which is printed. Each case is drawn from the seed
//! and its number only; `CAPBENCH_OCTETS_ONLY` runs one of them.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use capbench_record::file::{CaptureReader, Record};
use capbench_sys::host::interface::index_of;
use capbench_sys::packet::{PacketSocket, Protocol, ReceiveVector};
use capbench_testing::stacks::Draw;

use crate::support::{Namespaces, Recording, eventually, privileges, program, scratch_of_root};

/// The port of the test's own packets.
const PORT: u16 = 7777;
/// Octets that identify a packet together with its length: its headers.
const HEAD: usize = 80;
/// No file has more octets of a packet.
const MOST_IN_FILE: u32 = 262_144;

/// packet-v3 twice: it also records blocks as they are.
const METHODS: [&str; 8] =
    ["packet-v1", "packet-v2", "packet-v3", "packet-v3", "recv", "recvmmsg", "libpcap", "libpcap+immediate"];
/// Captures that share the packets, or threads behind them; none.
const THREADS: [&str; 3] = ["", "--fanout lb --members 2", "--workers 2 --worker-wait"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Traffic {
    Tcp {
        octets: usize,
    },
    Udp {
        datagrams: usize,
        payload: usize,
    },
    /// Datagrams that the sender passes to the kernel as one (UDP_SEGMENT).
    UdpSegments {
        payload: usize,
        segments: usize,
    },
}

#[derive(Clone, Copy, Debug)]
struct Case {
    method: &'static str,
    mtu: u32,
    is_ipv6: bool,
    traffic: Traffic,
    /// Whether the sender's interface takes long segments of TCP, and of UDP.
    tso: bool,
    udp_segmentation: bool,
    gro: bool,
    /// `gso_max_size` and `gro_max_size` of both interfaces.
    limit: u32,
    snap: Option<u32>,
    /// Slots or blocks that are smaller than the frames that can come.
    small: &'static str,
    /// Blocks of the ring as they are.
    is_verbatim: bool,
    /// Several captures share the packets, or threads behind them encode records.
    threads: &'static str,
    /// Whether the recorder, with a small ring, stands still while packets come.
    stands_still: bool,
}

/// One of these.
fn one_of<T: Copy>(draw: &mut Draw, all: &[T]) -> T {
    all[draw.below(all.len() as u64) as usize]
}

impl Case {
    fn new(seed: u64, number: u64) -> Self {
        let mut draw = Draw(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        let mtu = one_of(&mut draw, &[1280, 1500, 4000, 9000]);
        let is_ipv6 = draw.below(2) == 0;
        let method = one_of(&mut draw, &METHODS);
        let is_verbatim = method == "packet-v3" && draw.below(2) == 0;
        let stands_still = draw.below(4) == 0;
        // A small ring has fewer batches than workers need.
        let threads = if stands_still { &THREADS[..2] } else { &THREADS };
        let has_threads = method.starts_with("packet-") && !is_verbatim;
        // Of an IP packet with the largest headers.
        let most = mtu as usize - 48;
        let traffic = match draw.below(4) {
            0 => Traffic::Udp {
                datagrams: one_of(&mut draw, &[1, 50, 300]),
                payload: one_of(&mut draw, &[1, 100, 1200, most]),
            },
            1 => Traffic::UdpSegments {
                payload: one_of(&mut draw, &[500, 1200]),
                segments: one_of(&mut draw, &[2, 20, 50]),
            },
            _ => Traffic::Tcp { octets: one_of(&mut draw, &[2000, 100_000, 2_000_000, 4_000_000]) },
        };
        Self {
            method,
            mtu,
            is_ipv6,
            traffic,
            tso: draw.below(2) == 0,
            udp_segmentation: draw.below(2) == 0,
            gro: draw.below(2) == 0,
            limit: one_of(&mut draw, &[65_536, 65_536, 130_000, 185_000, 400_000]),
            snap: one_of(&mut draw, &[None, None, Some(96), Some(1000), Some(3000), Some(100_000)]),
            small: match (method, draw.below(4) == 0) {
                ("packet-v1" | "packet-v2", true) => "--frame 2048",
                ("packet-v3", true) => "--block 32KiB",
                _ => "",
            },
            stands_still,
            is_verbatim,
            threads: if has_threads { one_of(&mut draw, threads) } else { "" },
        }
    }

    /// Whether packets may be longer than the method can deliver or a file can have: other builds of libpcap decide about slots
    /// and blocks themselves.
    fn may_cut(&self) -> bool {
        let is_big = self.limit > 65_536;
        !self.small.is_empty() || self.limit > MOST_IN_FILE || self.method.starts_with("libpcap") && is_big
    }

    /// Whether each packet arrives as the sender's program or its kernel made it, one frame each.
    fn is_plain(&self) -> bool {
        !self.gro && matches!(self.traffic, Traffic::Udp { .. })
    }

    fn apply(&self, spaces: &Namespaces) {
        let Self { mtu, limit, .. } = self;
        let on = |is_on| if is_on { "on" } else { "off" };
        for (place, end) in [(&spaces.left, "left"), (&spaces.right, "right")] {
            place.ip(&format!("link set dev {end} mtu {mtu} gso_max_size {limit} gro_max_size {limit}"));
        }
        let (tso, segmentation) = (on(self.tso), on(self.udp_segmentation));
        spaces.left.run("ethtool", &format!("-K left tso {tso} tx-udp-segmentation {segmentation}"));
        spaces.right.run("ethtool", &format!("-K right gro {}", on(self.gro)));
    }

    fn arguments(&self) -> String {
        let Self { method, small, threads, .. } = self;
        let format = if self.is_verbatim { "verbatim" } else { "pcapng" };
        let ring = if self.stands_still { "--ring 512KiB" } else { "--ring 64MiB" };
        let snap = self.snap.map_or_else(String::new, |snap| format!("-s {snap}"));
        format!("--method {method} -Q in --max-loss 0 {ring} {snap} {small} {threads} --format {format}")
    }

    /// The address of the receiver.
    fn address(&self) -> (&'static str, u16) {
        (if self.is_ipv6 { "fd77::2" } else { "10.77.0.2" }, PORT)
    }

    /// Sends the packets and waits until all have arrived. What it returns keeps the connection open; `None` if datagrams were lost
    /// on the way to the interface.
    fn send(&self, spaces: &Namespaces, witness: &Witness) -> Option<Vec<TcpStream>> {
        match self.traffic {
            Traffic::Tcp { octets } => return Some(self.send_tcp(spaces, octets)),
            Traffic::Udp { datagrams, payload } => {
                let sender = spaces.left.inside(|| UdpSocket::bind((self.any(), 0))).unwrap();
                for sent in 1..=datagrams {
                    assert_eq!(sender.send_to(&vec![7; payload], self.address()).unwrap(), payload);
                    // The queues of the kernel are shorter than a burst can be.
                    if (sent % 100 == 0 || sent == datagrams)
                        && !witness.sees(spaces, (sent * payload) as u64)
                    {
                        return None;
                    }
                }
            }
            Traffic::UdpSegments { payload, segments } => {
                let (address, port) = self.address();
                let script = format!(
                    "import socket\ns = socket.socket(socket.{}, socket.SOCK_DGRAM)\ns.setsockopt(17, 103, {payload})\n\
                     s.sendto(b'x' * {}, ('{address}', {port}))",
                    if self.is_ipv6 { "AF_INET6" } else { "AF_INET" },
                    payload * segments
                );
                let ended = spaces.left.output(program("python3 -c").arg(script));
                assert!(ended.status.success(), "{ended:?}");
                if !witness.sees(spaces, (payload * segments) as u64) {
                    return None;
                }
            }
        }
        Some(Vec::new())
    }

    fn send_tcp(&self, spaces: &Namespaces, octets: usize) -> Vec<TcpStream> {
        let listener = spaces.right.inside(|| TcpListener::bind(self.address())).unwrap();
        let receiver = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            stream.read_exact(&mut vec![0; octets]).unwrap();
            stream
        });
        let mut sender = spaces.left.inside(|| TcpStream::connect(self.address())).unwrap();
        sender.write_all(&vec![7; octets]).unwrap();
        let receiver = receiver.join().unwrap();
        // The sender repeats what nobody has acknowledged.
        eventually("everything is acknowledged", || {
            let file = if self.is_ipv6 { "tcp6" } else { "tcp" };
            let file = format!("/proc/thread-self/net/{file}");
            let text = spaces.left.inside(|| std::fs::read_to_string(file)).unwrap();
            // State 01 is ESTABLISHED; the fifth column begins with the octets that wait to be sent or acknowledged.
            let mut open = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            open.all(|line| line.get(3) != Some(&"01") || line[4].starts_with("00000000:"))
        });
        vec![sender, receiver]
    }

    fn any(&self) -> &'static str {
        if self.is_ipv6 { "::" } else { "0.0.0.0" }
    }
}

/// A packet by its length on the wire and its first octets.
type Key = (u32, Vec<u8>);

/// Octets of payload, if the packet is one of the test.
fn payload_of((original, head): &Key) -> Option<u32> {
    let byte = |at: usize| head.get(at).copied();
    let (kind, transport) = match (byte(12)?, byte(13)?) {
        (0x08, 0x00) => (byte(23)?, 14 + usize::from(byte(14)? & 15) * 4),
        // A hop-by-hop header has the length of a packet that is longer than 64 KiB.
        (0x86, 0xdd) if byte(20)? == 0 => (byte(54)?, 54 + (usize::from(byte(55)?) + 1) * 8),
        (0x86, 0xdd) => (byte(20)?, 54),
        _ => return None,
    };
    let header = match kind {
        6 => usize::from(byte(transport + 12)? >> 4) * 4,
        17 => 8,
        _ => return None,
    };
    let is_ours = head.get(transport + 2..transport + 4)? == PORT.to_be_bytes();
    is_ours.then(|| original - (transport + header) as u32)
}

/// A socket at the receiver that sees every packet that arrives.
struct Witness {
    /// Packets that were lost on the way to the interface before.
    dropped: u64,
    payload: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<HashMap<Key, u64>>,
}

impl Witness {
    fn start(spaces: &Namespaces) -> Self {
        const LONGEST: usize = 600_000;
        let socket = spaces.right.inside(|| {
            let socket = PacketSocket::open().unwrap();
            socket.set_receive_buffer(256 << 20).unwrap();
            socket.set_receive_timeout(Duration::from_millis(10)).unwrap();
            socket.ignore_outgoing().unwrap();
            socket.bind(index_of("right").unwrap(), Protocol::All).unwrap();
            socket
        });
        let (payload, ends) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (payload_seen, is_over) = (Arc::clone(&payload), Arc::clone(&ends));
        let thread = thread::spawn(move || {
            let mut vector = ReceiveVector::new(16, LONGEST);
            let mut seen = HashMap::new();
            loop {
                // The order matters: what arrived before the end is read after it.
                let was_over = is_over.load(Relaxed);
                if vector.receive_many(&socket, false).unwrap() == 0 && was_over {
                    break;
                }
                for frame in vector.frames() {
                    let key = (frame.wire_length, frame.data[..frame.data.len().min(HEAD)].to_vec());
                    payload_seen.fetch_add(payload_of(&key).unwrap_or(0).into(), Relaxed);
                    *seen.entry(key).or_insert(0) += 1;
                }
            }
            assert_eq!(socket.take_statistics().unwrap().drops, 0, "the socket of the test lost packets");
            seen
        });
        Self { dropped: dropped(spaces), payload, ends, thread }
    }

    /// Waits for so many octets of payload. `false` if packets were lost instead: a busy host's backlog is full at times.
    fn sees(&self, spaces: &Namespaces, payload: u64) -> bool {
        let is_there = || self.payload.load(Relaxed) >= payload;
        eventually("the packets arrive", || is_there() || dropped(spaces) > self.dropped);
        is_there()
    }

    fn end(self) -> HashMap<Key, u64> {
        self.ends.store(true, Relaxed);
        self.thread.join().unwrap()
    }
}

/// Packets lost between the two ends.
fn dropped(spaces: &Namespaces) -> u64 {
    spaces.right.dropped() + spaces.left.dropped_on_transmit()
}

/// Sums over packets.
#[derive(Debug, Default, PartialEq, Eq)]
struct Octets {
    original: u64,
    in_file: u64,
    cut: u64,
    cut_packets: u64,
    snapped: u64,
}

impl Octets {
    fn add(&mut self, original: u32, captured: usize, snap: Option<u32>) {
        let wanted = snap.map_or(original, |snap| original.min(snap));
        self.original += u64::from(original);
        self.in_file += captured as u64;
        self.cut += u64::from(wanted) - captured as u64;
        self.cut_packets += u64::from(captured < wanted as usize);
        self.snapped += u64::from(original - wanted);
    }
}

/// Records a case, and checks where its octets are. Returns them, and how many packets the recorder lost; `None` if datagrams were
/// lost before they arrived.
fn check(case: &Case, spaces: &Namespaces, folder: &Path) -> Option<(Octets, u64)> {
    case.apply(spaces);
    let file = folder.join("case");
    let recording = Recording::start(&spaces.right, &file, &case.arguments());
    let witness = Witness::start(spaces);
    if case.stands_still {
        recording.running.signal("STOP");
    }
    let connection = case.send(spaces, &witness);
    let mut arrived = witness.end();
    recording.running.signal("CONT");
    recording.running.signal("INT");
    let ended = recording.running.end();
    drop(connection?);
    let document = ended.json();
    let interface = &document["interfaces"][0];

    let own = |arrived: &HashMap<Key, u64>| -> (u64, u64) {
        let own = arrived.iter().filter(|(key, _)| payload_of(key).is_some());
        own.fold((0, 0), |(packets, octets), ((original, _), count)| {
            (packets + count, octets + count * u64::from(*original))
        })
    };
    let (packets, all_octets) = own(&arrived);
    assert!(packets > 0, "the test's packets are not recognised");
    if case.is_plain()
        && let Traffic::Udp { datagrams, payload } = case.traffic
    {
        let frame = payload + if case.is_ipv6 { 62 } else { 42 };
        assert_eq!(all_octets, (datagrams * frame) as u64, "by the sender");
    }

    let octets = std::fs::read(&file).unwrap();
    let mut reader = CaptureReader::new(&octets[..]).unwrap();
    let (mut all, mut ours) = (Octets::default(), Octets::default());
    while let Some(record) = reader.next_record().unwrap() {
        let Record::Packet(packet) = record else { continue };
        let original = packet.original_length;
        let key = (original, packet.data[..packet.data.len().min(HEAD)].to_vec());
        all.add(original, packet.data.len(), case.snap);
        if payload_of(&key).is_some() {
            ours.add(original, packet.data.len(), case.snap);
            let known = arrived.get_mut(&key).filter(|count| **count > 0);
            *known.unwrap_or_else(|| panic!("a packet of {original} octets did not arrive")) -= 1;
        }
    }
    let (lost, lost_octets) = own(&arrived);
    assert_eq!(ours.in_file + ours.cut + ours.snapped + lost_octets, all_octets, "{ours:?}, {lost} lost");
    let said = |member: &str| interface[member].as_u64().unwrap();
    assert_eq!((said("cut_octets"), said("cut")), (all.cut, all.cut_packets), "{document:#}");
    // The recorder does not look at the frames of blocks.
    let sums = (interface["octets"].as_u64(), interface["snapped_octets"].as_u64());
    let expected = (!case.is_verbatim).then_some(all.original).zip(Some(all.snapped)).unzip();
    assert_eq!(sums, expected, "{document:#}");
    // Other packets than those of the test are few, and may be lost, too. libpcap also counts lost packets of the other direction.
    let others: u64 =
        arrived.iter().filter(|(key, _)| payload_of(key).is_none()).map(|(_, count)| count).sum();
    let most = if case.method.starts_with("libpcap") { u64::MAX } else { lost + others };
    assert!((lost..=most).contains(&said("lost_by_kernel")), "{lost} and {others}: {document:#}");
    assert!(all.cut == 0 || case.may_cut(), "{document:#}\n{}", ended.errors);
    let is_short = all.cut > 0 || said("lost_by_kernel") > 0;
    assert_eq!(ended.code, Some(if is_short { 3 } else { 0 }), "{}", ended.errors);
    Some((ours, lost))
}

/// A variable of the environment that is a number.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

fn cases(usual: u64) {
    let Some(folder) = scratch_of_root() else { return };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let seed = number("CAPBENCH_OCTETS_SEED").unwrap_or(now);
    println!("CAPBENCH_OCTETS_SEED={seed}");
    let spaces = Namespaces::make();
    for (place, end, address) in [(&spaces.left, "left", 1), (&spaces.right, "right", 2)] {
        place.inside(|| std::fs::write(format!("/proc/sys/net/ipv6/conf/{end}/disable_ipv6"), "0")).unwrap();
        place.ip(&format!("link set dev {end} arp on"));
        place.ip(&format!("address add 10.77.0.{address}/24 dev {end}"));
        place.ip(&format!("address add fd77::{address}/64 dev {end} nodad"));
    }
    let numbers = match number("CAPBENCH_OCTETS_ONLY") {
        Some(only) => only..only + 1,
        None => 0..number("CAPBENCH_OCTETS").unwrap_or(usual),
    };
    let (mut sums, mut all_lost, mut with_cuts) = (Octets::default(), 0, 0);
    for number in numbers.clone() {
        let case = Case::new(seed, number);
        println!("case {number}: {case:?}");
        let attempts = (0..5).find_map(|_| check(&case, &spaces, folder.path()));
        let Some((octets, lost)) = attempts else {
            capbench_testing::busy(format_args!("case {number}: the host lost packets on the way"));
            continue;
        };
        println!("case {number}: {octets:?}, {lost} packets lost");
        with_cuts += u64::from(octets.cut > 0);
        sums.original += octets.original;
        sums.in_file += octets.in_file;
        sums.cut += octets.cut;
        sums.cut_packets += octets.cut_packets;
        sums.snapped += octets.snapped;
        all_lost += lost;
    }
    println!("{} cases, {with_cuts} with cut packets: {sums:?}, {all_lost} packets lost", numbers.count());
}

#[test]
fn root_octets_in_the_file_cut_snapped_and_lost_are_those_that_arrived() {
    if privileges().is_some() {
        cases(12);
    }
}

#[test]
fn root_lengthy_octets_of_200_cases_are_those_that_arrived() {
    if privileges().is_some() {
        cases(200);
    }
}
