//! `recv`: one recvmsg(2) per frame, the oldest method, which libpcap used before rings; and `recvmmsg`: many frames per call.

use std::time::Duration;

use capbench_sys::packet::{Frame, PacketSocket, ReceiveVector};

use super::socket_setup::{Polling, SOCKET, bind, probe, unbound};
use crate::{
    Accumulator, Batch, Capture, CaptureError, Context, Interface, Method, Occupancy, Packing, Result,
    StatsSocket, Waiter, ring_memory,
};
use capbench_model::counters::{Counters, WaitCounts};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::{Engine, RingGeometry, Running, TimeSource};
use capbench_model::units::ByteCount;

/// The row of `recv`.
pub static RECV: Method = Method {
    name: "recv",
    summary: "one recvmsg call per frame, copied from the socket's queue",
    check,
    supported: |_| probe(None),
    reads_by_calls: true,
    ..SOCKET
};

/// The row of `recvmmsg`.
pub static RECVMMSG: Method = Method {
    name: "recvmmsg",
    summary: "up to 64 frames per recvmmsg call, copied from the socket's queue",
    check,
    supported: |_| probe(None),
    reads_by_calls: true,
    ..SOCKET
};

/// Frames per call of `recvmmsg`: enough to amortise the call's cost, few enough to stay in the first-level cache.
const MANY: usize = 64;

/// Least room of a receive buffer: 64 KiB, as receive offloads produce. The odd 192 bytes keep neighbouring buffers out of the
/// same cache sets.
const LEAST_ROOM: usize = 65_536 + ODD;
const ODD: usize = 192;

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
fn check(spec: &MethodSpec, _: &Interface, options: &CaptureOptions) -> Result<()> {
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

/// A packet socket with its buffers and its waiter.
#[derive(Debug)]
pub struct Recv {
    reader: Reader,
    statistics: Accumulator,
    waiter: Waiter,
    timeout: Duration,
    polling: Polling,
    packing: Packing,
    context: Context,
    running: Running,
}

/// The socket and the buffers of a call.
#[derive(Debug)]
struct Reader {
    socket: PacketSocket,
    vector: ReceiveVector,
    frames: usize,
}

impl Reader {
    /// Makes the call and returns whether frames came.
    #[inline]
    fn receive(&mut self, dont_wait: bool) -> capbench_sys::Result<bool> {
        match self.frames {
            1 => self.vector.receive_one(&self.socket, dont_wait),
            _ => self.vector.receive_many(&self.socket, dont_wait).map(|frames| frames > 0),
        }
    }
}

impl Recv {
    /// Opens it in the calling thread's namespace.
    ///
    /// # Errors
    /// Missing privilege, no such interface, or an invalid option.
    pub fn open(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        let (method, frames) = match spec.name() == RECVMMSG.name {
            true => (RECVMMSG.name, MANY),
            false => (RECV.name, 1),
        };
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
        let room = LEAST_ROOM.max(interface.largest_frame as usize + ODD);
        let room = room.min(options.snap_length.octets() as usize);
        Ok(Self {
            reader: Reader { socket, vector: ReceiveVector::new(frames, room), frames },
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
        })
    }
}

impl Capture for Recv {
    type Batch<'a> = Received<'a>;

    #[inline]
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Received<'_>>> {
        let Self { reader, waiter, context, .. } = self;
        let mut failure = None;
        let spun = waiter.spin(|| {
            reader.receive(true).unwrap_or_else(|error| {
                failure = Some(error);
                true
            })
        });
        if let Some(error) = failure {
            return Err(context.fail(error));
        }
        if spun {
            return Ok(Some(Received(&self.reader.vector)));
        }
        if timeout != self.timeout {
            // To the kernel a timeout of 0 means "for ever".
            let least = timeout.max(Duration::from_millis(1));
            reader.socket.set_receive_timeout(least).map_err(|error| context.fail(error))?;
            self.timeout = timeout;
        }
        waiter.counts.waits += 1;
        if reader.receive(false).map_err(|error| context.fail(error))? {
            return Ok(Some(Received(&self.reader.vector)));
        }
        waiter.counts.empty += 1;
        Ok(None)
    }

    fn packing(&mut self) -> Option<&mut Packing> {
        Some(&mut self.packing)
    }

    fn counters(&mut self) -> Result<Counters> {
        self.polling.verify(&self.reader.socket, &mut self.running);
        self.statistics.read(&self.reader.socket).map_err(|error| self.context.fail(error))
    }

    fn stats_socket(&self) -> Result<Option<StatsSocket>> {
        StatsSocket::of(&self.reader.socket, &self.statistics, &self.context).map(Some)
    }

    fn fill(&mut self) -> Option<Occupancy> {
        let memory = self.reader.socket.receive_memory().ok()?;
        Occupancy::new(memory.used, memory.of)
    }

    fn waits(&self) -> WaitCounts {
        self.waiter.counts
    }

    fn running(&self) -> &Running {
        &self.running
    }
}
