//! Transmit methods: one file each, one row each in [`METHODS`].

mod af_xdp_tx;
mod chosen;
#[cfg(feature = "dpdk")]
mod dpdk_tx;
mod packet_tx;
mod sendmmsg;
mod sendto;
pub mod stand_in;
#[cfg(feature = "bpf")]
mod xdp_live;

use std::fmt;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::{Duration, Instant};

use capbench_frames::FrameSource;
use capbench_frames::head::HEAD_ROOM;
use capbench_frames::units::FrameSize;
use capbench_sys::SysError;
use capbench_sys::dpdk::DeviceName;
use capbench_sys::host::{InterfaceIndex, LinkLayer};
use capbench_sys::packet::{PacketSocket, Protocol};

use crate::transmission::{Finish, MOST_BATCH, SubmitCounts};
use crate::{Result, SendJob, SendReport, TrafficError, Transmit, pacer};

pub use af_xdp_tx::AfXdpTx;
pub use chosen::{Chosen, method};
pub use packet_tx::PacketTx;
pub use sendmmsg::Sendmmsg;
pub use sendto::Sendto;

/// Maximum number of slots of a transmit ring: 16 MiB of small frames.
const MOST_SLOTS: u32 = 1 << 16;

/// Maximum send buffer to request, in bytes.
const MOST_SEND_BUFFER: u32 = 1 << 28;

/// How long the end of a phase waits for frames in the ring: on a busy host the kernel's thread that frees them may not run for
/// hundreds of milliseconds.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Linux's default for `net.core.netdev_max_backlog`.
const DEFAULT_BACKLOG: u32 = 1000;

/// Number of frames that a CPU's backlog accepts from one sender on this host.
fn host_backlog() -> Option<u32> {
    std::fs::read_to_string("/proc/sys/net/core/netdev_max_backlog")
        .ok()
        .and_then(|text| text.trim().parse().ok())
}

/// More frames than a backlog can hold: its input queue and the part in processing (`process_backlog` of net/core/dev.c moves
/// the whole input queue at once).
fn outrun(backlog: u32) -> u32 {
    backlog.saturating_add(1).saturating_mul(2)
}

/// The kernel's charge to a send buffer for a frame (`skb->truesize`). It is an allocation of a power of two for data with
/// headroom and `struct skb_shared_info`, plus `struct sk_buff`. An estimate; kernels differ.
fn true_size(size: FrameSize) -> u32 {
    (size.captured() as u32 + 384).next_power_of_two() + 256
}

/// Runs whole sending phases. Dynamic dispatch is once per phase, never per frame.
pub trait Sender: Send {
    /// Sends the frames of a job: [`pacer::run`].
    ///
    /// # Errors
    /// As [`pacer::run`].
    fn send(&mut self, job: &SendJob<'_>) -> Result<SendReport>;
}

impl<T: Transmit + Send> Sender for T {
    fn send(&mut self, job: &SendJob<'_>) -> Result<SendReport> {
        pacer::run(job, self)
    }
}

/// What to do with a frame that the kernel refuses (`ENOBUFS`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Continue with the next frame. Correct on a veth, which has dropped the frame in the receiver's backlog: a wire does
    /// not wait for its receiver either.
    Lose,
    /// Offer it again. Correct on a network card, whose queue was full and which has not sent it.
    Repeat,
}

/// How often in a row a frame is offered again before it counts as lost.
const MOST_REPEATS: u32 = 10_000;

/// How long a sender that repeats refused frames goes on while the kernel accepts none. A queue that is full empties earlier.
const LONGEST_REFUSAL: Duration = Duration::from_secs(1);

/// Counts refusals and decides on each.
#[derive(Debug)]
struct Refusals {
    policy: Refusal,
    in_a_row: u32,
    /// When the first frame since the last accepted one was refused [`MOST_REPEATS`] times.
    since: Option<Instant>,
    /// Whether the kernel has accepted no frame for [`LONGEST_REFUSAL`].
    has_given_up: bool,
}

impl Refusals {
    fn new(policy: Refusal) -> Self {
        Self { policy, in_a_row: 0, since: None, has_given_up: false }
    }

    /// Records that the kernel accepted frames.
    #[inline]
    fn note_accepted(&mut self) {
        self.in_a_row = 0;
        self.since = None;
    }

    /// Records that the kernel refused a frame, after it accepted others in the same call if there was `progress`. Returns
    /// whether to continue with the next frame.
    fn note(&mut self, progress: bool, counts: &mut SubmitCounts) -> bool {
        if self.policy == Refusal::Repeat && !self.is_one_too_many(progress) {
            counts.refused_repeated += 1;
            return false;
        }
        counts.refused_lost += 1;
        true
    }

    /// Records a refusal of a frame that is to be repeated. Returns whether it was refused often enough. The clock is read only then.
    fn is_one_too_many(&mut self, progress: bool) -> bool {
        if progress {
            self.note_accepted();
        }
        self.in_a_row += 1;
        if self.in_a_row <= MOST_REPEATS {
            return false;
        }
        self.in_a_row = 0;
        let since = *self.since.get_or_insert_with(Instant::now);
        self.has_given_up |= since.elapsed() >= LONGEST_REFUSAL;
        true
    }

    /// Fails if the kernel has accepted no frame for so long that it will not accept one.
    #[inline]
    fn check(&self) -> Result<()> {
        if self.has_given_up { Err(TrafficError::Refused { time: LONGEST_REFUSAL }) } else { Ok(()) }
    }
}

/// Settings of a transmit method.
#[derive(Debug, Clone, Copy)]
pub struct TransmitConfig {
    /// The sending interface.
    pub interface: InterfaceIndex,
    /// What the frames begin with: without Ethernet they are IP packets.
    pub layer: LinkLayer,
    /// Number of threads that send together. Methods that choose a transmit queue give each thread its own.
    pub threads: NonZeroU16,
    /// The device of DPDK that sends; `None`: the default one. Only of `dpdk-tx`.
    pub device: Option<DeviceName>,
    /// The largest frame.
    pub largest: FrameSize,
    /// Octets from the destination address to the end of the stamp. A ring copies these instead of referring to them.
    pub head_octets: usize,
    /// Maximum number of frames per call.
    pub batch: usize,
    /// Send buffer to request, in bytes of the kernel's accounting.
    pub send_buffer_bytes: u32,
    /// Whether to bypass the queueing discipline (`PACKET_QDISC_BYPASS`).
    pub qdisc_bypass: bool,
    /// Slots of a transmit ring.
    pub ring_slots: u32,
    /// What to do with refused frames.
    pub refusal: Refusal,
    /// Number of frames that the receiver's backlog can hold (`net.core.netdev_max_backlog`). `None` if it cannot be read, as
    /// in containers.
    pub backlog: Option<u32>,
}

impl TransmitConfig {
    /// The fastest known settings for these frames: batches of 64, and no queueing discipline. More frames can be in flight than
    /// fit into the receiver's backlog, so the receiver cannot slow the sender.
    pub fn for_frames<'a>(
        interface: InterfaceIndex,
        frames: impl Into<FrameSource<'a>>,
        refusal: Refusal,
    ) -> Self {
        let frames = frames.into();
        let backlog = host_backlog();
        let batch = 64;
        let in_flight = outrun(backlog.unwrap_or(DEFAULT_BACKLOG))
            .saturating_add(2 * batch as u32)
            .next_power_of_two()
            .min(MOST_SLOTS);
        let largest = frames.largest();
        Self {
            interface,
            layer: LinkLayer::Ethernet,
            threads: NonZeroU16::MIN,
            device: None,
            largest,
            head_octets: frames.head_octets(),
            batch,
            // The kernel doubles the requested size.
            send_buffer_bytes: (in_flight.saturating_mul(true_size(largest)) / 2).min(MOST_SEND_BUFFER),
            qdisc_bypass: true,
            ring_slots: in_flight,
            refusal,
            backlog,
        }
    }

    /// Number of frames that a send buffer allows in flight.
    fn in_flight(&self, granted_bytes: u32) -> u32 {
        granted_bytes / true_size(self.largest)
    }

    /// Octets of a slot: the largest frame or the longest head, rounded up to cache lines.
    fn slot_octets(&self) -> usize {
        self.largest.captured().max(HEAD_ROOM).next_multiple_of(64)
    }

    /// The batch size, if a transmit method supports it.
    fn checked_batch(&self) -> Result<usize> {
        if (1..=MOST_BATCH).contains(&self.batch) {
            Ok(self.batch)
        } else {
            let asked = self.batch as u64;
            Err(TrafficError::Transmit { what: "a batch of frames", asked, allowed: "1 to 256" })
        }
    }

    /// A configured but unbound socket for sending, and the send buffer that the kernel granted.
    fn socket(&self) -> Result<(PacketSocket, u32)> {
        let socket = PacketSocket::open_on(self.layer)?;
        socket.set_qdisc_bypass(self.qdisc_bypass)?;
        let granted = socket.set_send_buffer(self.send_buffer_bytes)?;
        Ok((socket, granted))
    }

    /// Binds a socket to send on the interface and to receive nothing.
    fn bind(&self, socket: &PacketSocket) -> Result<()> {
        Ok(socket.bind(self.interface, Protocol::Nothing)?)
    }
}

/// The settings in effect, for the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransmitFacts {
    /// Maximum number of frames per call.
    pub batch: usize,
    /// Send buffer that the kernel granted, in bytes of its accounting (it doubles the requested size, socket(7)).
    pub send_buffer_bytes: u32,
    /// Whether frames bypass the queueing discipline.
    pub qdisc_bypass: bool,
    /// Slots of the transmit ring; `None` without a ring.
    pub ring_slots: Option<u32>,
    /// Frames up to this length are copied in one piece instead of attached as pages. `None` if the method always copies.
    pub copied_up_to: Option<usize>,
    /// Number of frames that can be in flight to the receiver. `u32::MAX` without a limit.
    pub in_flight: u32,
}

impl fmt::Display for TransmitFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batches of {}, send buffer {} octets", self.batch, self.send_buffer_bytes)?;
        if let Some(slots) = self.ring_slots {
            write!(f, ", ring of {slots} slots")?;
        }
        match self.in_flight {
            u32::MAX => f.write_str(", any number of frames on their way")?,
            frames => write!(f, ", up to {frames} frames on their way")?,
        }
        f.write_str(if self.qdisc_bypass { ", past the queueing discipline" } else { "" })
    }
}

impl TransmitFacts {
    /// Whether more frames can be in flight than the receiver's backlog is known to hold. Otherwise a slow receiver can slow
    /// the sender, and the offered load depends on it.
    pub fn outruns(&self, config: &TransmitConfig) -> bool {
        config.backlog.is_some_and(|backlog| self.in_flight > outrun(backlog))
    }
}

/// An open transmit method.
pub struct Opened {
    /// Runs sending phases.
    pub sender: Box<dyn Sender>,
    /// The settings in effect.
    pub facts: TransmitFacts,
}

/// Opens a method for one of its threads, by the thread's number, and on that thread. It keeps what the threads share.
pub type Opener = Arc<dyn Fn(u16) -> Result<Opened> + Send + Sync>;

/// For methods whose threads share nothing.
fn each(config: &TransmitConfig, open: fn(&TransmitConfig, u16) -> Result<Opened>) -> Result<Opener> {
    let config = *config;
    Ok(Arc::new(move |thread| open(&config, thread)))
}

/// A row of the table of transmit methods.
#[derive(Debug, Clone, Copy)]
pub struct TransmitMethod {
    /// The name that selects it.
    pub name: &'static str,
    /// One line on how it works.
    pub summary: &'static str,
    /// Whether it supports `+qdisc` after its name, to use the queueing discipline.
    pub takes_qdisc: bool,
    /// Whether it supports a device of DPDK after its name, as in `dpdk-tx:net_af_xdp`.
    pub takes_device: bool,
    /// Whether it sends IP packets on links without Ethernet ([`LinkLayer::Ip`]). It has to report the protocol of each to the kernel.
    pub sends_ip_packets: bool,
    /// Opens what its threads share on an interface with this configuration. The rest is opened for each thread.
    ///
    /// # Errors
    /// A refused setting, no privilege (CAP_NET_RAW), or no such interface.
    pub open: fn(&TransmitConfig) -> Result<Opener>,
    /// Whether this process and kernel support it, in the network namespace that is to send; otherwise one line with the
    /// reason. Sends nothing. Limits of the interface show only when it is opened.
    pub supported: fn() -> std::result::Result<(), String>,
    /// Whether its frames go to the queue of the far end's NAPI context instead of its receive path. A veth has such a queue
    /// only with an XDP program or with generic receive offload (`veth_xdp_xmit` of drivers/net/veth.c).
    pub needs_far_napi: bool,
}

/// Whether a packet socket can be opened.
fn packet_sockets() -> std::result::Result<(), String> {
    PacketSocket::open().map(drop).map_err(|error| missing(&error, "AF_PACKET (CONFIG_PACKET)"))
}

/// Why no socket of a family can be opened. It needs CAP_NET_RAW and kernel support.
fn missing(error: &SysError, family: &str) -> String {
    const EPERM: i32 = 1;
    const EAFNOSUPPORT: i32 = 97;
    match error.errno() {
        Some(EPERM) => "needs the capability CAP_NET_RAW".into(),
        Some(EAFNOSUPPORT) => format!("this kernel was built without {family}"),
        _ => error.to_string(),
    }
}

#[cfg(not(feature = "bpf"))]
const WITHOUT_BPF: &str = "built without the feature bpf; other transmit methods need no BPF program";

#[cfg(not(feature = "dpdk"))]
const WITHOUT_DPDK: &str =
    "built without the feature dpdk; it needs libdpdk-dev: cargo build --features dpdk";

/// All transmit methods: those for every link, fastest first, then the one that needs XDP at both ends, and DPDK.
pub const METHODS: &[TransmitMethod] = &[
    TransmitMethod {
        name: "packet-tx",
        summary: "AF_PACKET transmit ring (PACKET_TX_RING, TPACKET_V2), small frames copied, large ones attached",
        takes_qdisc: true,
        takes_device: false,
        sends_ip_packets: false,
        open: |config| each(config, PacketTx::open),
        supported: packet_sockets,
        needs_far_napi: false,
    },
    TransmitMethod {
        name: "af-xdp-tx",
        summary: "AF_XDP transmit ring in copy mode: frames of up to 4100 octets, no BPF program needed",
        takes_qdisc: false,
        takes_device: false,
        sends_ip_packets: false,
        open: |config| each(config, AfXdpTx::open),
        supported: AfXdpTx::supported,
        needs_far_napi: false,
    },
    TransmitMethod {
        name: "sendmmsg",
        summary: "AF_PACKET socket, sendmmsg(2): many frames a call",
        takes_qdisc: true,
        takes_device: false,
        sends_ip_packets: true,
        open: |config| each(config, Sendmmsg::open),
        supported: packet_sockets,
        needs_far_napi: false,
    },
    TransmitMethod {
        name: "sendto",
        summary: "AF_PACKET socket, send(2): one frame a call",
        takes_qdisc: true,
        takes_device: false,
        sends_ip_packets: true,
        open: |config| each(config, Sendto::open),
        supported: packet_sockets,
        needs_far_napi: false,
    },
    TransmitMethod {
        name: "xdp-live",
        summary: "BPF_PROG_RUN: frames made by an XDP program in the kernel, no socket buffers; root only",
        takes_qdisc: false,
        takes_device: false,
        sends_ip_packets: false,
        #[cfg(feature = "bpf")]
        open: xdp_live::open,
        #[cfg(feature = "bpf")]
        supported: xdp_live::supported,
        #[cfg(not(feature = "bpf"))]
        open: |_| Err(TrafficError::unsupported("xdp-live", WITHOUT_BPF)),
        #[cfg(not(feature = "bpf"))]
        supported: || Err(WITHOUT_BPF.into()),
        needs_far_napi: true,
    },
    TransmitMethod {
        name: "dpdk-tx",
        summary: "a port of DPDK: its driver net_af_packet over the interface, or dpdk-tx:PCI-ADDRESS",
        takes_qdisc: true,
        takes_device: true,
        sends_ip_packets: false,
        #[cfg(feature = "dpdk")]
        open: dpdk_tx::open,
        #[cfg(feature = "dpdk")]
        supported: dpdk_tx::supported,
        #[cfg(not(feature = "dpdk"))]
        open: |_| Err(TrafficError::unsupported("dpdk-tx", WITHOUT_DPDK)),
        #[cfg(not(feature = "dpdk"))]
        supported: || Err(WITHOUT_DPDK.into()),
        needs_far_napi: false,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use capbench_frames::TransmitSpec;

    #[test]
    fn refused_frames_are_lost_or_repeated_and_never_for_ever() {
        let mut counts = SubmitCounts::default();
        assert!(Refusals::new(Refusal::Lose).note(false, &mut counts));
        assert_eq!((counts.refused_lost, counts.refused_repeated), (1, 0));
        let mut refusals = Refusals::new(Refusal::Repeat);
        let repeats = (0..).take_while(|_| !refusals.note(false, &mut counts)).count();
        assert_eq!((repeats, counts.refused_lost), (MOST_REPEATS as usize, 2));
        assert!(refusals.check().is_ok(), "it was short");
    }

    #[test]
    fn a_sender_gives_up_where_nothing_was_accepted_for_long() {
        let mut counts = SubmitCounts::default();
        let long_ago = Instant::now().checked_sub(LONGEST_REFUSAL).unwrap();
        let refused = |refusals: &mut Refusals, counts: &mut SubmitCounts| {
            while !refusals.note(false, counts) {}
            refusals.check().is_err()
        };
        let waiting = || Refusals { since: Some(long_ago), ..Refusals::new(Refusal::Repeat) };
        let mut refusals = waiting();
        assert!(refused(&mut refusals, &mut counts));
        assert_eq!(
            (counts.refused_repeated, counts.refused_lost),
            (u64::from(MOST_REPEATS), 1),
            "it is counted"
        );
        let mut accepted = waiting();
        accepted.note_accepted();
        assert!(!refused(&mut accepted, &mut counts));
        let error = refusals.check().unwrap_err().to_string();
        assert!(error.contains("every frame for 1 s"), "{error}");
    }

    #[test]
    fn the_estimate_of_the_charge_is_that_of_linux_6() {
        assert_eq!(true_size(FrameSize::LEAST), 768);
        assert_eq!(true_size(FrameSize::new(1518).unwrap()), 2304);
        assert_eq!(outrun(1000), 2002);
    }

    #[test]
    fn methods_are_found_by_name() {
        fn found(text: &str) -> crate::Result<Chosen> {
            method(&text.parse().unwrap())
        }
        for name in ["packet-tx", "packet-tx+qdisc", "sendto+qdisc+threads=2", "af-xdp-tx+threads=256"] {
            assert_eq!(found(name).unwrap().to_string(), name);
        }
        let error = found("af-xdp-tx+qdisc").unwrap_err().to_string();
        assert!(
            error.ends_with("there are: packet-tx+qdisc, sendmmsg+qdisc, sendto+qdisc, dpdk-tx+qdisc"),
            "{error}"
        );
        for name in ["dpdk-tx:net_af_xdp+threads=2", "dpdk-tx:0000:0a:00.1", "dpdk-tx:net_af_packet+qdisc"] {
            assert_eq!(found(name).unwrap().to_string(), name);
        }
        let error = found("dpdk-tx:net_tap").unwrap_err().to_string();
        assert!(
            error.ends_with(
                "'net_tap'; there are: net_af_packet, net_af_xdp or a PCI address like 0000:03:00.0"
            )
        );
        assert!(found("packet-tx:net_af_packet").unwrap_err().to_string().ends_with("there are: dpdk-tx"));
        for name in ["packet-tx+threads=0", "packet-tx+threads=257", "packet-tx+threads=two"] {
            let error = name.parse::<TransmitSpec>().unwrap_err();
            assert!(
                error.starts_with("there is no number of threads '") && error.ends_with("1 to 256"),
                "{error}"
            );
        }
        let error = found("pktgen").unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no transmit method 'pktgen'; there are: packet-tx, af-xdp-tx, sendmmsg, sendto, xdp-live, dpdk-tx"
        );
    }
}
