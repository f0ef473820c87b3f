//! `recv`: one recvmsg(2) per frame, the oldest method. libpcap used it before rings.

use std::marker::PhantomData;
use std::time::Duration;

use capbench_sys::packet::{Frame, PacketSocket, ReceiveVector};

use super::socket_setup::{COMMON_OPTIONS, Polling, SOCKET_SETTINGS, bind, probe, unbound};
use crate::capture::Packing;
use crate::capture::{Batch, Capture};
use crate::context::Context;
use crate::error::{CaptureError, Result};
use crate::interface::Interface;
use crate::method::{CapturePoint, Method, VlanTags};
use crate::occupancy::Occupancy;
use crate::ring_memory;
use crate::socket_counters::Accumulator;
use crate::stats_socket::StatsSocket;
use crate::wait::Waiter;
use capbench_model::counters::Counters;
use capbench_model::counters::WaitCounts;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::{Engine, RingGeometry, Running, TimeSource};
use capbench_model::units::ByteCount;

/// The row of the table.
pub static METHOD: Method = Method {
    name: "recv",
    summary: "one recvmsg call per frame, copied from the socket's queue",
    privilege: "CAP_NET_RAW",
    options: &COMMON_OPTIONS,
    argument: None,
    settings: &SOCKET_SETTINGS,
    fanout: true,
    variants: &[],
    socket_filter: true,
    in_default: true,
    untested: None,
    capture_point: CapturePoint::stack,
    takes_frames: |_| false,
    has_queues: false,
    vlan_tags: VlanTags::Reported,
    check,
    supported: |_| probe(None),
};

/// Largest frame of a receive buffer: 64 KiB, as receive offloads produce. The odd 192 bytes keep neighbouring buffers out of
/// the same cache sets.
const LARGEST: usize = 65_536 + 192;

/// A packet socket read by receive calls of one frame each.
pub type Recv = SocketReader<OneByOne>;

/// How it receives.
#[derive(Debug)]
pub enum OneByOne {}

impl ReceiveCall for OneByOne {
    const NAME: &'static str = METHOD.name;
    const FRAMES: usize = 1;

    #[inline]
    fn receive(
        vector: &mut ReceiveVector,
        socket: &PacketSocket,
        dont_wait: bool,
    ) -> capbench_sys::Result<bool> {
        vector.receive_one(socket, dont_wait)
    }
}

/// Frames copied out of a socket's queue.
#[derive(Debug)]
pub struct Received<'a>(&'a ReceiveVector);

impl Batch for Received<'_> {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.0.frames()
    }
}

/// Checks the receive buffer size.
pub(super) fn check(spec: &MethodSpec, _: &Interface, options: &CaptureOptions) -> Result<()> {
    Polling::parse(spec, options)?;
    buffer(options).map(drop)
}

/// The receive buffer to request, in bytes.
fn buffer(options: &CaptureOptions) -> Result<u32> {
    let ring = ring_memory::checked_ring(options)?;
    match u32::try_from(ring.0) {
        Ok(bytes) if bytes <= i32::MAX as u32 / 2 => Ok(bytes),
        _ => Err(CaptureError::Option {
            option: "--ring",
            reason: format!("{ring} is more than a receive buffer can be, 1023MiB; use a method with a ring"),
        }),
    }
}

/// The differences between `recv` and `recvmmsg`.
pub trait ReceiveCall: 'static {
    /// The method's name.
    const NAME: &'static str;
    /// Maximum number of frames per call.
    const FRAMES: usize;

    /// Makes the call and returns whether frames came.
    ///
    /// # Errors
    /// The kernel's reason.
    fn receive(
        vector: &mut ReceiveVector,
        socket: &PacketSocket,
        dont_wait: bool,
    ) -> capbench_sys::Result<bool>;
}

/// A packet socket with its buffers and its waiter.
#[derive(Debug)]
pub struct SocketReader<C> {
    socket: PacketSocket,
    vector: ReceiveVector,
    statistics: Accumulator,
    waiter: Waiter,
    timeout: Duration,
    polling: Polling,
    packing: Packing,
    context: Context,
    running: Running,
    call: PhantomData<C>,
}

impl<C: ReceiveCall> SocketReader<C> {
    /// Opens it in the calling thread's namespace.
    ///
    /// # Errors
    /// Missing privilege, no such interface, or an invalid option.
    pub fn open(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        let (method, frames) = (C::NAME, C::FRAMES);
        let context = Context::new(method, interface);
        let fail = |source| context.fail(source);
        let ring = ring_memory::checked_ring(options)?;
        let (socket, filtered) = unbound(&context, interface, options)?;
        let polling = Polling::set(&context, spec, options, &socket)?;
        // The kernel doubles the requested size for its overhead (socket(7)).
        let granted = u64::from(socket.set_receive_buffer(buffer(options)?).map_err(fail)?);
        socket.set_auxiliary_data().map_err(fail)?;
        socket.set_timestamps().map_err(fail)?;
        let group = bind(&context, &socket, interface, options)?;
        let room = LARGEST.min(options.snap_length.octets() as usize);
        Ok(Self {
            socket,
            vector: ReceiveVector::new(frames, room),
            packing: Packing::new(options, frames, room),
            statistics: Accumulator::default(),
            waiter: Waiter::new(polling.spin),
            polling,
            timeout: Duration::MAX,
            running: Running {
                vlan_metadata: true,
                shortfalls: Vec::from_iter((granted < 2 * ring.0).then(|| {
                    let half = ByteCount(granted / 2);
                    format!(
                        "its receive buffer is {half} of the {ring} asked for: raise net.core.rmem_max or run as root"
                    )
                })),
                filtered,
                ..Running::new(
                    method,
                    Engine::new("AF_PACKET socket queue", group),
                    RingGeometry::ReceiveBuffer { bytes: granted, frames_per_call: frames as u32 },
                    TimeSource::kernel("software (SO_TIMESTAMPNS)"),
                )
            },
            context,
            call: PhantomData,
        })
    }
}

impl<C: ReceiveCall> Capture for SocketReader<C> {
    type Batch<'a> = Received<'a>;

    #[inline]
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Received<'_>>> {
        let Self { socket, vector, waiter, context, .. } = self;
        let mut failure = None;
        let spun = waiter.spin(|| {
            C::receive(vector, socket, true).unwrap_or_else(|error| {
                failure = Some(error);
                true
            })
        });
        if let Some(error) = failure {
            return Err(context.fail(error));
        }
        if spun {
            return Ok(Some(Received(&self.vector)));
        }
        if timeout != self.timeout {
            // To the kernel a timeout of 0 means "for ever".
            let least = timeout.max(Duration::from_millis(1));
            socket.set_receive_timeout(least).map_err(|error| context.fail(error))?;
            self.timeout = timeout;
        }
        waiter.counts.waits += 1;
        if C::receive(vector, socket, false).map_err(|error| context.fail(error))? {
            return Ok(Some(Received(&self.vector)));
        }
        waiter.counts.empty += 1;
        Ok(None)
    }

    fn packing(&mut self) -> Option<&mut Packing> {
        Some(&mut self.packing)
    }

    fn counters(&mut self) -> Result<Counters> {
        self.polling.verify(&self.socket, &mut self.running);
        self.statistics.read(&self.socket).map_err(|error| self.context.fail(error))
    }

    fn stats_socket(&self) -> Result<Option<StatsSocket>> {
        StatsSocket::of(&self.socket, &self.statistics, &self.context).map(Some)
    }

    fn fill(&mut self) -> Option<Occupancy> {
        let memory = self.socket.receive_memory().ok()?;
        Occupancy::new(memory.used, memory.of)
    }

    fn waits(&self) -> WaitCounts {
        self.waiter.counts
    }

    fn running(&self) -> &Running {
        &self.running
    }
}
