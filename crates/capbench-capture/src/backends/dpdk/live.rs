//! The capture through DPDK itself.
//!
//! DPDK has no way to wait: this thread looks for frames as long as it may wait, and is busy all the time.
//!
//! Losses are booked where they can be known. Of `net_af_packet` DPDK 22.11 does not tell what its ring lost; the
//! statistics of its packet socket do. `rx_nombuf` is among the raw counters and not a loss: the drivers used here
//! leave such frames in their ring. The driver `net_af_packet` puts its socket into a fanout group of its process and
//! interface: two captures of one process on one interface would share its frames.

use std::time::{Duration, Instant};

use capbench_sys::SysError;
use capbench_sys::dpdk::{
    Burst, Device, DriverSockets, Eal, EalArguments, Port, Wanted, XdpStatistics, eal, interface_argument,
};
use capbench_sys::host::capability::{self, Capability};
use capbench_sys::host::{identity, interface as interfaces, memory, namespace};
use capbench_sys::packet::{Frame, PacketSocket};

use super::super::socket_setup::{Context, probe};
use super::{DeviceName, METHOD, Wish, check, ring};
use crate::capture::{Batch, Capture, Running};
use crate::counters::{Accumulator, Counters, Loss, LossPlace};
use crate::error::{CaptureError, Result};
use crate::filter::{self, Keep};
use crate::options::{ByteCount, CaptureOptions, Interface, SnapLength};
use crate::spec::MethodSpec;
use crate::wait::WaitCounts;

/// A port of DPDK.
#[derive(Debug)]
pub struct Dpdk {
    port: Port,
    /// Holds the interface in promiscuous mode, in a way that ends with the process.
    _promiscuity: Option<PacketSocket>,
    /// The interface below a virtual device.
    below: Option<String>,
    statistics: Accumulator,
    snap: usize,
    counts: WaitCounts,
    context: Context,
    running: Running,
}

/// Frames of a burst.
#[derive(Debug)]
pub struct Received<'a> {
    burst: Burst<'a>,
    snap: usize,
}

impl Batch for Received<'_> {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        let snap = self.snap;
        self.burst
            .frames()
            .map(move |frame| Frame { data: &frame.data[..frame.data.len().min(snap)], ..frame })
    }
}

impl Dpdk {
    /// Opens it in the calling thread's namespace. The first one of a process starts DPDK's environment layer.
    ///
    /// # Errors
    /// Missing privilege, an interface that is down or not there, an option that cannot be, or what DPDK says.
    pub fn open(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        let context = Context::new(METHOD.name, interface);
        let fail = |source| context.fail(source);
        check(spec, interface, options)?;
        let wish = Wish::parse(spec)?;
        let is_virtual = !matches!(wish.device, DeviceName::Pci(_));
        let mut user_promiscuous = false;
        if is_virtual {
            // Before DPDK starts, whose drivers say little of what they miss.
            PacketSocket::open().map_err(fail)?;
            user_promiscuous = is_up(&interface.name).map_err(fail)?.promiscuous();
        }
        let (device, wanted) = plan(&wish, interface, options, user_promiscuous, &context)?;
        let eal = start(spec, &context, &device, options)?;
        let index = is_virtual.then_some(interface.index);
        let port = Port::open(eal, &device, index, &wanted).map_err(|source| {
            too_much_to_lock(spec, &wish, interface, options, &source).unwrap_or_else(|| fail(source))
        })?;
        let mut filtered = false;
        if let DriverSockets::Packet(sockets) = port.sockets() {
            let program = filter::program(Keep::NoOutgoing, SnapLength::EVERYTHING).unwrap_or_default();
            sockets.iter().try_for_each(|socket| socket.attach_filter(&program)).map_err(fail)?;
            filtered = true;
        }
        let promiscuity = (is_virtual && options.promiscuous)
            .then(|| {
                PacketSocket::open()
                    .and_then(|socket| socket.set_promiscuous(interface.index).map(|()| socket))
            })
            .transpose()
            .map_err(fail)?;
        Ok(Self {
            running: running(&port, &device, &wanted, filtered).map_err(fail)?,
            port,
            _promiscuity: promiscuity,
            below: is_virtual.then(|| interface.name.clone()),
            statistics: Accumulator::default(),
            snap: options.snap_length.octets() as usize,
            counts: WaitCounts::default(),
            context,
        })
    }
}

impl Capture for Dpdk {
    type Batch<'a> = Received<'a>;

    #[inline]
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Received<'_>>> {
        let Self { port, below, snap, counts, context, .. } = self;
        let mut start = None;
        let burst = port.receive(|| match start {
            None => {
                start = Some(Instant::now());
                !timeout.is_zero()
            }
            Some(start) => start.elapsed() < timeout,
        });
        match burst {
            Some(burst) => {
                counts.spun += u64::from(start.is_some());
                Ok(Some(Received { burst, snap: *snap }))
            }
            // The drivers do not tell that their interface is gone; frames just stop coming.
            None => match below.as_deref().map(is_up) {
                Some(Err(error)) => Err(context.fail(error)),
                _ => Ok(None),
            },
        }
    }

    fn counters(&mut self) -> Result<Counters> {
        let fail = |source| self.context.fail(source);
        let port = self.port.counters().map_err(fail)?;
        let mut counters = match self.port.sockets() {
            DriverSockets::Packet(sockets) => {
                let mut counters = Counters::default();
                for socket in sockets {
                    counters = self.statistics.read(socket).map_err(fail)?;
                }
                counters
            }
            DriverSockets::Xdp(sockets) if !sockets.is_empty() => {
                let mut sum = XdpStatistics::default();
                for socket in sockets {
                    let one = socket.statistics().map_err(fail)?;
                    sum.dropped += one.dropped;
                    sum.ring_full += one.ring_full;
                    sum.fill_ring_empty += one.fill_ring_empty;
                }
                of_xdp(sum)
            }
            _ if self.below.is_none() => of_hardware(&port),
            _ => Counters::default(),
        };
        counters.raw.extend(port);
        Ok(counters)
    }

    fn waits(&self) -> WaitCounts {
        self.counts
    }

    fn running(&self) -> &Running {
        &self.running
    }
}

/// What AF_XDP's socket counted. How many frames reached it is not among that: those that wait in its ring are not.
fn of_xdp(sum: XdpStatistics) -> Counters {
    let loss = |place, count, source: &'static str| Loss { place, count: Some(count), source: source.into() };
    Counters {
        accepted: None,
        losses: vec![
            loss(
                LossPlace::FillRing,
                sum.dropped,
                "XDP_STATISTICS: rx_dropped (no buffer, or a frame larger than one)",
            ),
            loss(LossPlace::Ring, sum.ring_full, "XDP_STATISTICS: rx_ring_full"),
        ],
        raw: vec![
            ("rx_dropped".into(), sum.dropped),
            ("rx_ring_full".into(), sum.ring_full),
            ("rx_fill_ring_empty_descs".into(), sum.fill_ring_empty),
        ],
    }
}

/// What the counters that every driver has say (`rte_eth_stats`): frames received, frames that the hardware had no
/// descriptor for, and frames that it found in error.
fn of_hardware(port: &[(String, u64)]) -> Counters {
    let value = |name| port.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    let lost = value("rx_missed_errors").zip(value("rx_errors")).map(|(missed, errors)| missed + errors);
    Counters {
        accepted: value("rx_good_packets"),
        losses: vec![Loss {
            place: LossPlace::Link,
            count: lost,
            source: "rte_eth_stats: imissed + ierrors".into(),
        }],
        raw: Vec::new(),
    }
}

/// The device, and what its port is to be.
fn plan(
    wish: &Wish,
    interface: &Interface,
    options: &CaptureOptions,
    user_promiscuous: bool,
    context: &Context,
) -> Result<(Device, Wanted)> {
    // Frames lie in one buffer each, behind DPDK's head room of 128 octets.
    const HEAD_ROOM: u16 = 128;
    let usual = Wanted {
        mtu: None,
        queues: None,
        // One burst; the driver's own ring is elsewhere.
        descriptors: wish.burst,
        room: HEAD_ROOM + 2048,
        burst: wish.burst,
        // Virtual devices would change their interface for good; what the user has set stays.
        promiscuous: user_promiscuous,
    };
    let over = |driver: &str, arguments: &str| -> Result<Device> {
        let parts =
            [&interface_argument(&interface.name).map_err(|e| context.fail(e))?, arguments, &wish.arguments];
        let given: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Ok(Device::Virtual { driver: driver.into(), arguments: given.join(",") })
    };
    Ok(match &wish.device {
        DeviceName::AfPacket => {
            let ring = ring(wish, interface, options)?;
            (over("net_af_packet", &ring.arguments)?, Wanted { room: HEAD_ROOM + ring.frame, ..usual })
        }
        DeviceName::AfXdp => {
            // A buffer has to lie in a page, with DPDK's and XDP's head room.
            let room = if interface.mtu <= 1500 { usual.room } else { 4096 - 64 - HEAD_ROOM };
            (over("net_af_xdp", "")?, Wanted { descriptors: wish.descriptors.unwrap_or(2048), room, ..usual })
        }
        DeviceName::Pci(address) => {
            // Ethernet's header, a VLAN tag and the FCS come on top.
            let octets = (interface.mtu.clamp(1500, 60_000) + 22).next_multiple_of(1024) as u16;
            let wanted = Wanted {
                mtu: (interface.name != "lo" && interface.mtu > 1500).then_some(interface.mtu),
                queues: Some(1),
                descriptors: wish.descriptors.unwrap_or(4096),
                room: HEAD_ROOM + octets.max(2048),
                promiscuous: options.promiscuous,
                ..usual
            };
            (Device::Pci { address: address.clone(), arguments: wish.arguments.clone() }, wanted)
        }
    })
}

/// Whether the likely reason why `net_af_packet` failed is that it locks its rings in memory, more than this process
/// may; its own words for it are "Resource temporarily unavailable".
fn too_much_to_lock(
    spec: &MethodSpec,
    wish: &Wish,
    interface: &Interface,
    options: &CaptureOptions,
    source: &SysError,
) -> Option<CaptureError> {
    if wish.device != DeviceName::AfPacket || !source.to_string().contains("mmap failed") {
        return None;
    }
    let (locked, limit) = (ring(wish, interface, options).ok()?.locked?, memory::lock_limit().ok()?);
    (locked > limit).then(|| CaptureError::Unsupported {
        method: spec.to_string(),
        interface: interface.name.clone(),
        reason: format!(
            "its driver locks {} of rings in memory, and this process may lock {}: ask for a smaller --ring, raise \
             ulimit -l or run as root ({source})",
            ByteCount(locked),
            ByteCount(limit)
        ),
    })
}

/// Starts DPDK, or finds it started.
fn start(
    spec: &MethodSpec,
    context: &Context,
    device: &Device,
    options: &CaptureOptions,
) -> Result<&'static Eal> {
    let started = eal::first_cpu()
        .and_then(|cpu| EalArguments::new(device.kind(), &options.eal_arguments, cpu))
        .and_then(Eal::start);
    started.map_err(|error| match error {
        SysError::Argument { what, reason } if !options.eal_arguments.is_empty() => {
            CaptureError::Option { option: "--eal", reason: format!("{what}: {reason}") }
        }
        error => CaptureError::Unsupported {
            method: spec.to_string(),
            interface: context.interface.clone(),
            reason: error.to_string(),
        },
    })
}

/// What really runs.
fn running(
    port: &Port,
    device: &Device,
    wanted: &Wanted,
    filtered: bool,
) -> std::result::Result<Running, SysError> {
    let mode = match port.sockets() {
        DriverSockets::Xdp(sockets) if !sockets.is_empty() => {
            let zero_copy = sockets
                .iter()
                .map(|socket| socket.zero_copy())
                .collect::<std::result::Result<Vec<_>, _>>()?;
            if zero_copy.iter().all(|zero_copy| *zero_copy) { " in zero-copy mode" } else { " in copy mode" }
        }
        _ => "",
    };
    let found = !matches!((port.sockets(), device), (DriverSockets::None, Device::Virtual { .. }));
    Ok(Running {
        method: METHOD.name,
        engine: format!(
            "{}, driver {}{mode}, polled without sleeping; EAL {}",
            eal::version(),
            port.driver(),
            port.eal().arguments()
        ),
        geometry: format!(
            "bursts of {}, {} queue{} of {} descriptors, {} buffers of {} octets{}{}",
            wanted.burst,
            port.queues(),
            if port.queues() == 1 { "" } else { "s" },
            port.descriptors(),
            port.buffers(),
            wanted.room,
            if device.arguments().is_empty() { "" } else { "; " },
            device.arguments()
        ),
        time_source: "user space, one clock read per burst",
        vlan_metadata: port.vlan_stripped(),
        shortfall: (!found).then(|| {
            format!("what its ring lost is unknown: the socket of the driver {} was not found", port.driver())
        }),
        filtered,
    })
}

/// The interface's flags, or an error where it is down or gone.
fn is_up(name: &str) -> std::result::Result<interfaces::InterfaceFlags, SysError> {
    const ENETDOWN: i32 = 100;
    let flags = interfaces::flags_of(name)?;
    if flags.up() {
        return Ok(flags);
    }
    let source = std::io::Error::from_raw_os_error(ENETDOWN);
    Err(SysError::Call { what: format!("interface {name}"), source })
}

/// Whether the device can be had in the calling thread's namespace, as far as that shows without starting DPDK.
pub(super) fn supported(wish: &Wish) -> std::result::Result<(), String> {
    if let Some(driver) = wish.device.driver() {
        eal::has_driver(driver)?;
    }
    match &wish.device {
        DeviceName::AfPacket => probe(None),
        DeviceName::AfXdp => {
            let wanted = [Capability::NetAdmin, Capability::NetRaw, Capability::Bpf];
            let missing = capability::effective().map_err(|error| error.to_string())?.missing(&wanted);
            let names: Vec<&str> = missing.iter().map(|capability| capability.name()).collect();
            if !names.is_empty() {
                return Err(format!("needs {}", names.join(", ")));
            }
            match namespace::in_initial_user_namespace() {
                Ok(true) => Ok(()),
                Ok(false) => {
                    Err("loading XDP programs needs root on the host, not in a user namespace only".into())
                }
                Err(error) => Err(error.to_string()),
            }
        }
        DeviceName::Pci(address) => {
            if !std::path::Path::new("/sys/bus/pci/devices").join(address).exists() {
                return Err(format!("there is no PCI device {address}"));
            }
            if identity::effective().uid == 0 { Ok(()) } else { Err("needs root".into()) }
        }
    }
}
