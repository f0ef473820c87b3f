//! The capture through DPDK itself.
//!
//! DPDK cannot wait: this thread polls for frames during the whole timeout and is always busy.
//!
//! Losses are recorded where they are known. DPDK 22.11 does not report the ring losses of `net_af_packet`; the statistics of
//! its packet socket do. `rx_nombuf` is among the raw counters and no loss: the drivers used here leave such frames in their
//! ring. The driver `net_af_packet` puts its sockets into a fanout group of its process and interface: two captures of one
//! process on one interface would share its frames. Members have queues of one port, and what only the port counts is counted by
//! the one with its first queue.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use capbench_sys::SysError;
use capbench_sys::dpdk::{Burst, DeviceName, DriverSockets, Port, eal};
use capbench_sys::packet::Frame;
use capbench_sys::xdp::XdpStatistics;

use super::super::addressee::addressee;
use super::super::presence::Presence;
use super::losses::{of_hardware, of_queues, of_xdp};
use super::shared::Shared;
use super::{METHOD, Request, check, cut_unseen, ring};
use crate::fanout_choice::property_of_member;
use crate::{Accumulator, Batch, Capture, Context, Interface, Packing, Result};
use capbench_model::counters::{Counters, WaitCounts};
use capbench_model::fanout::Fanout;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::{Engine, Running, TimeSource};

/// A port of DPDK, or a member's queues of it.
#[derive(Debug)]
pub struct Dpdk {
    port: Port,
    _shared: Arc<Shared>,
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
        let (snap, own) = (self.snap, self.burst.hardware_address());
        self.burst.frames().map(move |frame| Frame {
            data: &frame.data[..frame.data.len().min(snap)],
            packet_type: addressee(frame.data, &own),
            ..frame
        })
    }
}

impl Dpdk {
    /// Opens it in the calling thread's namespace. The first one of a process starts DPDK's environment layer.
    ///
    /// # Errors
    /// Missing privilege, an interface that is missing or down, an invalid option, or an error of DPDK.
    pub fn open(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        let context = Context::new(METHOD.name, interface);
        check(spec, interface, options)?;
        let request = Request::parse(spec)?;
        let open = || Shared::open(spec, &request, interface, options, &context);
        let fanout = options.fanout.as_ref();
        let shared = fanout.map_or_else(|| open().map(Arc::new), |fanout| fanout.owned(open))?;
        let port = shared.next_queues(spec, fanout, &context)?;
        let mut running = running(&port, &shared, fanout).map_err(|source| context.fail(source))?;
        if request.device == DeviceName::AfPacket {
            let frame = ring(&request, interface, options)?.frame;
            running.shortfalls.extend(cut_unseen(frame, interface));
        }
        Ok(Self {
            running,
            port,
            _shared: shared,
            below: request.device.is_virtual().then(|| Presence::of(interface)),
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
        let (own, all) = (self.port.own_queues(), self.port.queues());
        let mut counters = match self.port.sockets() {
            DriverSockets::Packet(sockets) => {
                let mut counters = Counters::default();
                for socket in of_own(sockets, own) {
                    counters = self.statistics.read(socket).map_err(fail)?;
                }
                counters
            }
            DriverSockets::Xdp(sockets) if !sockets.is_empty() => {
                let mut sum = XdpStatistics::OF_NONE;
                for socket in of_own(sockets, own) {
                    sum = sum.plus(socket.socket().statistics().map_err(fail)?);
                }
                of_xdp(&sum)
            }
            _ if self.below.is_none() => of_hardware(&port, own, all),
            _ => Counters::default(),
        };
        counters.raw.extend(of_queues(port, own));
        Ok(counters)
    }

    fn waits(&self) -> WaitCounts {
        self.counts
    }

    fn running(&self) -> &Running {
        &self.running
    }
}

/// Those of a capture's queues, among the sockets of all.
fn of_own<'s, T>(sockets: &'s [T], own: &Range<u16>) -> &'s [T] {
    &sockets[usize::from(own.start)..usize::from(own.end)]
}

/// Describes the open capture.
fn running(port: &Port, shared: &Shared, fanout: Option<&Fanout>) -> std::result::Result<Running, SysError> {
    let Shared { device, wanted, filtered, .. } = shared;
    let (own, (descriptors, buffers)) = (port.own_queues(), port.sizes());
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
        Some(format!("driver {}{mode}", port.driver())),
        fanout.map(property_of_member),
        port.has_rss().then(|| "RSS by addresses and ports".into()),
        // Its sockets have PACKET_FANOUT_FLAG_ROLLOVER.
        (port.driver() == "net_af_packet" && port.queues() > 1)
            .then(|| "a queue by the flow's hash, another one while its ring is full".into()),
        Some(format!("polled without sleeping; EAL {}", port.eal().arguments())),
    ];
    let sizes = format!(
        "bursts of {}, {} queue{} of {} descriptors, {} buffers of {} octets{}{}",
        wanted.burst,
        own.len(),
        if own.len() == 1 { "" } else { "s" },
        descriptors,
        buffers,
        wanted.room,
        if device.arguments.is_empty() { "" } else { "; " },
        device.arguments
    );
    Ok(Running {
        vlan_metadata: port.vlan_stripped(),
        shortfalls: Vec::from_iter((!found).then(|| {
            format!("what its ring lost is unknown: the socket of the driver {} was not found", port.driver())
        })),
        filtered: *filtered,
        ..Running::described(
            METHOD.name,
            Engine::new(eal::version(), properties.into_iter().flatten()),
            sizes,
            TimeSource::user_space("one clock read per burst"),
        )
    })
}
