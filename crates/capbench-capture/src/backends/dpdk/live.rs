//! The capture through DPDK itself.
//!
//! DPDK cannot wait: this thread polls for frames during the whole timeout and is always busy.
//!
//! Losses are recorded where they are known. DPDK 22.11 does not report the ring losses of `net_af_packet`; the statistics of
//! its packet socket do. `rx_nombuf` is among the raw counters and no loss: the drivers used here leave such frames in their
//! ring. The driver `net_af_packet` puts its socket into a fanout group of its process and interface: two captures of one
//! process on one interface would share its frames.

use std::time::{Duration, Instant};

use capbench_sys::SysError;
use capbench_sys::dpdk::{Burst, Device, DriverSockets, Port, Wanted, eal};
use capbench_sys::packet::{Frame, PacketSocket};
use capbench_sys::xdp::XdpStatistics;

use super::super::presence::{Presence, flags_if_up};
use super::super::socket_setup::promiscuous;
use super::losses::{of_hardware, of_xdp};
use super::prepare::{plan, start, too_much_to_lock};
use super::{METHOD, Request, check};
use crate::filter::Keep;
use crate::{Accumulator, Batch, Capture, Context, Interface, Packing, Result, filter};
use capbench_model::counters::{Counters, WaitCounts};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::{Engine, Running, TimeSource};
use capbench_model::units::SnapLength;

/// A port of DPDK.
#[derive(Debug)]
pub struct Dpdk {
    port: Port,
    /// Keeps the interface in promiscuous mode until the process ends.
    _promiscuity: Option<PacketSocket>,
    /// The interface of a virtual device.
    below: Option<Presence>,
    statistics: Accumulator,
    snap: usize,
    counts: WaitCounts,
    packing: Packing,
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
    /// Missing privilege, an interface that is missing or down, an invalid option, or an error of DPDK.
    pub fn open(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        let context = Context::new(METHOD.name, interface);
        let fail = |source| context.fail(source);
        check(spec, interface, options)?;
        let request = Request::parse(spec)?;
        let is_virtual = request.device.is_virtual();
        let mut user_promiscuous = false;
        if is_virtual {
            // Checked before DPDK starts, because its drivers do not say what is missing.
            PacketSocket::open().map_err(fail)?;
            user_promiscuous = flags_if_up(interface).map_err(fail)?.promiscuous();
        }
        let (device, wanted) = plan(&request, interface, options, user_promiscuous, &context)?;
        let eal = start(spec, &context, &device, options)?;
        let index = is_virtual.then_some(interface.index);
        let port = Port::open(eal, &device, index, &wanted).map_err(|source| {
            too_much_to_lock(spec, &request, interface, options, &source).unwrap_or_else(|| fail(source))
        })?;
        let mut filtered = false;
        if let DriverSockets::Packet(sockets) = port.sockets() {
            let program = filter::program(Keep::NoOutgoing, SnapLength::EVERYTHING, None).unwrap_or_default();
            sockets.iter().try_for_each(|socket| socket.attach_filter(&program)).map_err(fail)?;
            filtered = true;
        }
        let promiscuity =
            (is_virtual && options.promiscuous).then(|| promiscuous(interface)).transpose().map_err(fail)?;
        Ok(Self {
            running: running(&port, &device, &wanted, filtered).map_err(fail)?,
            port,
            _promiscuity: promiscuity,
            below: is_virtual.then(|| Presence::of(interface)),
            statistics: Accumulator::default(),
            snap: options.snap_length.octets() as usize,
            counts: WaitCounts::default(),
            // The length of an mbuf's data is a 16-bit number.
            packing: Packing::new(options, usize::from(request.burst), usize::from(u16::MAX)),
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
            // The drivers do not report that their interface is gone; frames only stop coming.
            None => match below.as_mut().map(Presence::check) {
                Some(Err(error)) => Err(context.fail(error)),
                _ => Ok(None),
            },
        }
    }

    fn packing(&mut self) -> Option<&mut Packing> {
        Some(&mut self.packing)
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
                let mut sum = XdpStatistics::OF_NONE;
                for socket in sockets {
                    sum = sum.plus(socket.socket().statistics().map_err(fail)?);
                }
                of_xdp(&sum)
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

/// Describes the open capture.
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
                .map(|socket| socket.socket().zero_copy())
                .collect::<std::result::Result<Option<Vec<_>>, _>>()?;
            match zero_copy.map(|each| each.into_iter().all(|zero_copy| zero_copy)) {
                Some(true) => " in zero-copy mode",
                Some(false) => " in copy mode",
                None => " in a mode that this kernel does not report",
            }
        }
        _ => "",
    };
    let found = !(matches!(port.sockets(), DriverSockets::None) && device.name.is_virtual());
    let properties = [
        format!("driver {}{mode}", port.driver()),
        format!("polled without sleeping; EAL {}", port.eal().arguments()),
    ];
    let sizes = format!(
        "bursts of {}, {} queue{} of {} descriptors, {} buffers of {} octets{}{}",
        wanted.burst,
        port.queues(),
        if port.queues() == 1 { "" } else { "s" },
        port.descriptors(),
        port.buffers(),
        wanted.room,
        if device.arguments.is_empty() { "" } else { "; " },
        device.arguments
    );
    Ok(Running {
        vlan_metadata: port.vlan_stripped(),
        shortfalls: Vec::from_iter((!found).then(|| {
            format!("what its ring lost is unknown: the socket of the driver {} was not found", port.driver())
        })),
        filtered,
        ..Running::described(
            METHOD.name,
            Engine::new(eal::version(), properties),
            sizes,
            TimeSource::user_space("one clock read per burst"),
        )
    })
}
