//! `dpdk-tx`: a port of DPDK sends (doc.dpdk.org, 22.11), on the devices of the capture method `dpdk`. Only with the feature
//! `dpdk`.
//!
//! Each thread has a transmit queue. Frames that `rte_eth_tx_burst` takes are accepted. It takes none while its ring is full;
//! they are then offered again. What the port drops later it counts (`oerrors` of `rte_eth_stats`): these frames are lost.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use capbench_sys::SysError;
use capbench_sys::dpdk::{Device, DeviceName, Eal, OpenPort, TransmitQueue, Wanted, eal};
use capbench_sys::host::interface::{flags_of, name_of};
use capbench_sys::packet::PacketSocket;

use super::{
    Finish, LAST_WAIT, Opened, Opener, SubmitCounts, Transmit, TransmitConfig, TransmitFacts, packet_sockets,
};
use crate::{Result, TrafficError};

/// Octets in front of a frame in a buffer (`RTE_PKTMBUF_HEADROOM`).
const HEAD_ROOM: usize = 128;

/// Descriptors of a transmit queue. A device may grant another number.
const DESCRIPTORS: u16 = 1024;

/// Slots of the ring of `net_af_packet`, which its driver locks in memory twice.
const RING_SLOTS: u32 = 1024;

/// A thread that sends through a queue of a port.
struct DpdkTx {
    queue: TransmitQueue,
    slot_octets: usize,
    /// Slots of equal size, as many as lengths.
    frames: Box<[u8]>,
    lengths: Box<[u16]>,
    /// The slots whose frames the port has not taken yet.
    waiting: Range<usize>,
    counts: Arc<PortCounts>,
    /// Frames that the port took from this thread in this phase.
    taken: u64,
}

/// What all queues of a port count together.
#[derive(Debug, Default)]
struct PortCounts {
    taken: AtomicU64,
    /// What one of the queues has reported, so that no other reports it again.
    reported: Mutex<Reported>,
}

#[derive(Debug, Default)]
struct Reported {
    dropped: u64,
    in_flight: u64,
}

/// Starts the port with a queue for each thread.
pub(super) fn open(config: &TransmitConfig) -> Result<Opener> {
    let (batch, threads) = (config.checked_batch()?, config.threads);
    let name = config.device.unwrap_or(DeviceName::AfPacket);
    let interface = name_of(config.interface)?;
    let refused =
        |reason: String| TrafficError::unsupported(format!("dpdk-tx:{name} on {interface}"), reason);
    name.check_interface(&interface).map_err(refused)?;
    if name == DeviceName::AfXdp {
        // With DPDK 22.11 and Linux 6.18 on a veth it reported 8,904 frames as sent, of which 128 left.
        let reason = "its driver reports frames as sent that never leave; use --transmit af-xdp-tx";
        return Err(refused(reason.into()));
    }
    let mut promiscuous = false;
    if name.is_virtual() {
        // Its drivers do not say what is missing. They set the mode on the interface; the user's stays.
        PacketSocket::open()?;
        promiscuous = flags_of(&interface)?.promiscuous();
    }
    // Ethernet header, VLAN tag and FCS are added to the MTU.
    let octets = config.largest.captured().max(1514);
    let mtu = (!name.is_virtual() && octets > 1514).then_some(octets as u32 - 14);
    let (arguments, room) = if name.is_virtual() {
        // The driver writes its header into the slot, too.
        let slot = (octets + 80).next_power_of_two().max(2048);
        let (block, bypass) = (slot.max(1 << 16), u8::from(config.qdisc_bypass));
        let ring = format!("blocksz={block},framesz={slot},framecnt={RING_SLOTS}");
        (format!("{ring},qpairs={threads},qdisc_bypass={bypass}"), slot)
    } else {
        (String::new(), (octets + 22).next_multiple_of(1024).max(2048))
    };
    let wanted = Wanted {
        mtu,
        queues: (!name.is_virtual()).then_some(1),
        // It receives nothing.
        descriptors: 64,
        room: (HEAD_ROOM + room).min(usize::from(u16::MAX)) as u16,
        burst: batch as u16,
        promiscuous,
        threads,
        transmit: Some(DESCRIPTORS),
    };
    let eal = Eal::start(name, &[])?;
    let device = Device::new(name, &interface, &[&arguments])?;
    let over = name.is_virtual().then_some(config.interface);
    let queues = OpenPort::open(eal, &device, over, &wanted).map(TransmitQueue::all_of);
    let queues = queues.map_err(|error| match error {
        // Drivers have up to a number of queues that only some of them say.
        SysError::Argument { what, reason } if threads.get() > 1 => refused(format!(
            "{what}: {reason} ({threads} transmit queues, one for each thread): use fewer threads"
        )),
        other => other.into(),
    })?;
    let queues: Mutex<Vec<_>> = Mutex::new(queues.into_iter().map(Some).collect());
    let counts = Arc::new(PortCounts::default());
    let slot_octets = config.slot_octets();
    let facts = TransmitFacts {
        batch,
        send_buffer_bytes: 0,
        qdisc_bypass: !name.is_virtual() || config.qdisc_bypass,
        ring_slots: Some(if name.is_virtual() { RING_SLOTS } else { DESCRIPTORS.into() }),
        copied_up_to: None,
        // What a driver has taken waits for no receiver on a link.
        in_flight: u32::MAX,
    };
    Ok(Arc::new(move |thread| {
        let mut queues = queues.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = queues.get_mut(usize::from(thread)).and_then(Option::take);
        let queue = queue.ok_or_else(|| SysError::argument("dpdk-tx", "this thread has a queue already"))?;
        let sender = DpdkTx {
            queue,
            slot_octets,
            frames: vec![0; batch * slot_octets].into(),
            lengths: vec![0; batch].into(),
            waiting: 0..0,
            counts: Arc::clone(&counts),
            taken: 0,
        };
        Ok(Opened { sender: Box::new(sender), facts })
    }))
}

/// Whether the driver of the default device is installed, and a packet socket can be opened.
pub(super) fn supported() -> std::result::Result<(), String> {
    eal::has_driver("net_af_packet")?;
    packet_sockets()
}

impl DpdkTx {
    fn send(&mut self) -> u64 {
        let Range { start, end } = self.waiting;
        if start == end {
            return 0;
        }
        let (frames, lengths) = (&self.frames[start * self.slot_octets..], &self.lengths[start..end]);
        let taken = self.queue.send(frames, self.slot_octets, lengths);
        self.waiting.start += usize::from(taken);
        let taken = u64::from(taken);
        self.taken += taken;
        self.counts.taken.fetch_add(taken, Ordering::Relaxed);
        taken
    }

    /// Frames that the port sent and dropped, by its counters since it was opened.
    fn completed(&self) -> Result<(u64, u64)> {
        let counters = self.queue.port().counters()?;
        let value = |name| counters.iter().find(|(known, _)| known == name).map_or(0, |(_, value)| *value);
        Ok((value("tx_good_packets"), value("tx_errors")))
    }
}

impl Transmit for DpdkTx {
    #[inline]
    fn room(&mut self) -> usize {
        // Frames that the port did not take go first.
        if self.waiting.is_empty() { self.lengths.len() } else { 0 }
    }

    #[inline]
    fn slot(&mut self, index: usize) -> &mut [u8] {
        &mut self.frames[index * self.slot_octets..][..self.slot_octets]
    }

    fn submit(&mut self, lengths: &[u16]) -> Result<SubmitCounts> {
        if !lengths.is_empty() {
            self.lengths[..lengths.len()].copy_from_slice(lengths);
            self.waiting = 0..lengths.len();
        }
        Ok(SubmitCounts { accepted: self.send(), ..SubmitCounts::default() })
    }

    fn finish(&mut self) -> Result<Finish> {
        let begun = Instant::now();
        let mut finish = Finish::default();
        while !self.waiting.is_empty() && begun.elapsed() < LAST_WAIT {
            finish.counts.accepted += self.send();
        }
        self.waiting = 0..0;
        // Drivers count a frame when the device has sent it, and frames that are not sent yet would be so in the next phase.
        let (left, dropped) = loop {
            let is_flushed = !self.queue.flush();
            let (sent, dropped) = self.completed()?;
            let left = self.counts.taken.load(Ordering::Relaxed).saturating_sub(sent + dropped);
            if (left == 0 && is_flushed) || begun.elapsed() >= LAST_WAIT {
                break (left, dropped);
            }
            std::thread::yield_now();
        };
        let mut reported = self.counts.reported.lock().unwrap_or_else(PoisonError::into_inner);
        finish.dropped = dropped.saturating_sub(reported.dropped).min(self.taken);
        reported.dropped += finish.dropped;
        finish.in_flight = left.saturating_sub(reported.in_flight).min(self.taken - finish.dropped);
        // Frames of an earlier phase may be sent by now.
        reported.in_flight = left.min(reported.in_flight + finish.in_flight);
        self.taken = 0;
        Ok(finish)
    }
}
