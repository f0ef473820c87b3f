//! `pf-ring`: ntop's PF_RING through libpfring: the ring of the kernel module, or a module that drives the card directly.

pub(super) mod running;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use capbench_sys::packet::{FanoutMode, Frame, PacketSocket};
use capbench_sys::pf_ring::{Cluster, ClusterSharing, PfRing, Reading, Ring, RingOptions, Way, can_lend};
use capbench_sys::{SysError, pf_ring};
use running::Below;

use super::presence::Presence;
use super::socket_setup::promiscuous;
use super::vendor::{self, LIBRARY, Reader};
use crate::method::Sharing;
use crate::{
    Argument, Batch, Capture, CaptureError, Interface, Method, Packing, Result, SettingInfo, number_of,
};
use capbench_model::counters::{Counters, WaitCounts};
use capbench_model::direction::Direction;
use capbench_model::fanout::Fanout;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::Running;

/// The row of the table.
pub static METHOD: Method = Method {
    name: "pf-ring",
    summary: "ntop's PF_RING through libpfring: kernel ring (copied), or a module's own (+zero-copy)",
    options: &["--snaplen", "--no-promiscuous", "--spin", "--direction"],
    argument: Some(Argument {
        placeholder: "DEVICE",
        summary: "the device as PF_RING names it, eth1@2 or zc:eth1 [the interface captured on]",
    }),
    settings: &[
        SettingInfo::flag(
            ZERO_COPY,
            "reads packets where they lie; for modules that keep them until the next call (zc:)",
        ),
        SettingInfo::optional(BURST, "N", "the same, up to N packets per call by pfring_recv_burst [64]"),
        SettingInfo::valued(WATERMARK, "N", "packets that wake a waiting reader [the library's choice]"),
        LIBRARY,
    ],
    untested: Some(
        "partly, cards untested: run with the kernel module and libraries of release 8.9.0 in a virtual machine; no card \
         for zc: was available",
    ),
    // A prefix before a colon names a module that takes the card from the kernel.
    takes_frames: |spec| spec.argument().is_some_and(|device| device.contains(':')),
    fanout: Some(Sharing {
        modes: &[FanoutMode::Hash, FanoutMode::InTurn],
        because: Some("rings of a cluster share packets by flow or in turn"),
    }),
    check: |spec, interface, options| {
        let device = spec.argument().unwrap_or(&interface.name);
        reading(spec, device)?;
        if options.fanout.is_some() && device.contains(':') {
            let reason = "the kernel module shares packets among rings, and this device is another module's";
            return Err(CaptureError::Spec { method: spec.to_string(), reason: reason.into() });
        }
        watermark(spec).map(drop)
    },
    supported,
    ..Method::BASE
};

const LIBRARIES: [&str; 1] = ["libpfring.so"];
const ZERO_COPY: &str = "zero-copy";
const BURST: &str = "burst";
const WATERMARK: &str = "watermark";
const EPERM: i32 = 1;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;
const EAFNOSUPPORT: i32 = 97;
const ENETDOWN: i32 = 100;
const NO_MODULE: &str = "the kernel module pf_ring is not loaded (modprobe pf_ring)";
/// Packets per call by default.
const BURST_PACKETS: u8 = 64;

fn supported(spec: &MethodSpec) -> std::result::Result<(), String> {
    vendor::supported(spec, &LIBRARIES, PfRing::load)?;
    let needs_module =
        spec.argument().and_then(|device| device.split_once(':')).is_none_or(|(by, _)| by == "zc");
    match pf_ring::open_socket() {
        Err(error) if needs_module => Err(match error.errno() {
            Some(EAFNOSUPPORT) => NO_MODULE.into(),
            Some(EPERM) => "needs the capability CAP_NET_RAW".into(),
            _ => error.to_string(),
        }),
        _ => Ok(()),
    }
}

/// How to read packets.
fn reading(spec: &MethodSpec, device: &str) -> Result<Reading> {
    let refuse = |reason: String| Err(CaptureError::Spec { method: spec.to_string(), reason });
    let packets = number_of(spec, BURST, 1, 255)?.and_then(|packets| u8::try_from(packets).ok());
    let reading = match (spec.has(ZERO_COPY), spec.has(BURST)) {
        (false, false) => return Ok(Reading::Copied),
        (true, true) => return refuse(format!("+{BURST} is zero-copy already; leave +{ZERO_COPY} away")),
        (true, false) => Reading::InPlace,
        (false, true) => Reading::Bursts(packets.unwrap_or(BURST_PACKETS)),
    };
    if !can_lend(device) {
        return refuse(format!(
            "packets of {device} cannot be read in place: PF_RING gives their memory back before they are read; name a \
             device of a module that keeps them, as in pf-ring:zc:{device}+{ZERO_COPY}"
        ));
    }
    Ok(reading)
}

/// The number of the cluster of a group. PF_RING chooses none: this one has the process's number in it, above those that users write.
fn cluster_number(fanout: &Fanout) -> Result<Arc<u32>> {
    static CLUSTERS: AtomicU32 = AtomicU32::new(0);
    fanout.owned(|| {
        let nth = CLUSTERS.fetch_add(1, Ordering::Relaxed);
        Ok(1 << 30 | (nth % 0x100) << 22 | std::process::id() & 0x3f_ffff)
    })
}

fn watermark(spec: &MethodSpec) -> Result<Option<u16>> {
    Ok(number_of(spec, WATERMARK, 1, u16::MAX.into())?.and_then(|packets| u16::try_from(packets).ok()))
}

/// A PF_RING socket.
#[derive(Debug)]
pub struct PfRingSocket {
    reader: Reader<Ring>,
    /// The interface of the device, if known.
    presence: Option<Presence>,
    /// Keeps the interface in promiscuous mode if PF_RING does not.
    _promiscuity: Option<PacketSocket>,
    /// The number of its cluster, which the members of a group have in common.
    _cluster: Option<Arc<u32>>,
    packing: Packing,
    running: Running,
}

impl PfRingSocket {
    /// Opens it in the calling thread's namespace, for use on the calling thread only.
    ///
    /// # Errors
    /// The library, its kernel module or the device is missing, or refuses a step.
    pub fn open(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        Self::open_listed(spec, interface, options, Path::new(pf_ring::FOLDER))
    }

    /// The same, if the kernel module lists its rings in another folder.
    ///
    /// # Errors
    /// As for [`PfRingSocket::open`].
    pub fn open_listed(
        spec: &MethodSpec,
        interface: &Interface,
        options: &CaptureOptions,
        folder: &Path,
    ) -> Result<Self> {
        let device = spec.argument().unwrap_or(&interface.name);
        let reading = reading(spec, device)?;
        let number = options.fanout.as_ref().map(cluster_number).transpose()?;
        let sharing = match options.fanout.as_ref().map(Fanout::mode) {
            Some(FanoutMode::InTurn) => ClusterSharing::RoundRobin,
            _ => ClusterSharing::PerFlow,
        };
        let asked = RingOptions {
            device,
            // Frames can exceed the interface's MTU: GRO and segmentation offload produce longer ones.
            captured: options.snap_length.octets(),
            promiscuous: options.promiscuous,
            way: match options.direction {
                Direction::In => Way::In,
                Direction::Out => Way::Out,
                Direction::Both => Way::Both,
            },
            watermark: watermark(spec)?,
            reading,
            cluster: number.as_deref().map(|&number| Cluster { number, sharing }),
        };
        let library = vendor::load(spec, &LIBRARIES, PfRing::load)?;
        let ring = library.open(&asked).map_err(|source| not_opened(spec, device, source))?;
        let below = Below::of(device, interface);
        let promiscuity = match below {
            // PF_RING sets it only for a single device.
            Below::All if options.promiscuous => Some(promiscuous(interface).map_err(|source| {
                CaptureError::Call { method: METHOD.name, interface: device.into(), source }
            })?),
            _ => None,
        };
        let at_once = match reading {
            // One round of copies fits into one buffer.
            Reading::Copied | Reading::InPlace => 1,
            Reading::Bursts(most) => usize::from(most),
        };
        Ok(Self {
            running: running::running(&ring, &asked, folder, below, interface),
            presence: match below {
                Below::Interface | Below::All => Some(Presence::of(interface)),
                Below::Other | Below::Card => None,
            },
            _promiscuity: promiscuity,
            _cluster: number,
            packing: Packing::new(options, at_once, ring.captured() as usize),
            reader: Reader::new(ring, METHOD.name, device, options),
        })
    }
}

/// Why a ring was not opened, and what to do about it.
fn not_opened(spec: &MethodSpec, device: &str, source: SysError) -> CaptureError {
    let hint = match source.errno() {
        Some(EPERM) => {
            let (method, interface) = (METHOD.name, device.into());
            return CaptureError::Privilege { method, interface, capability: METHOD.privilege, source };
        }
        Some(EAFNOSUPPORT) => NO_MODULE,
        Some(EINVAL | ENODEV) => {
            "the device must be an Ethernet interface of this namespace, or, behind zc:, one with a ZC driver"
        }
        Some(ENETDOWN) => "set the interface up first (ip link set DEVICE up)",
        _ => "the kernel's log (dmesg) may say more",
    };
    vendor::not_opened(spec, device, &source, hint)
}

impl Capture for PfRingSocket {
    type Batch<'a> = Received<'a>;

    #[inline]
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Received<'_>>> {
        let found = self.reader.next(timeout)?;
        // PF_RING sends no wake-up when the interface goes; packets only stop coming.
        if !found && let Some(Err(error)) = self.presence.as_mut().map(Presence::check) {
            return Err(self.reader.fail(error));
        }
        Ok(found.then_some(Received(&self.reader.source)))
    }

    fn packing(&mut self) -> Option<&mut Packing> {
        Some(&mut self.packing)
    }

    fn counters(&mut self) -> Result<Counters> {
        let counts = self.reader.source.statistics().map_err(|error| self.reader.fail(error))?;
        let mut raw = vec![
            ("recv".into(), counts.received),
            ("drop".into(), counts.dropped),
            ("shunt".into(), counts.shunted),
            ("cut".into(), counts.cut),
        ];
        raw.extend(counts.queued.map(|queued| ("queued".into(), queued.into())));
        // `recv` counts packets read out of the ring. Packets waiting in it are added.
        let accepted = counts.received + u64::from(counts.queued.unwrap_or(0)) + counts.dropped;
        Ok(Counters::of_ring(Some(accepted), Some(counts.dropped), "pfring_stats: drop", raw))
    }

    fn waits(&self) -> WaitCounts {
        self.reader.waits()
    }

    fn running(&self) -> &Running {
        &self.running
    }
}

/// The current packets: copies, or in the ring.
#[derive(Debug)]
pub struct Received<'a>(&'a Ring);

impl Batch for Received<'_> {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.0.frames()
    }
}
