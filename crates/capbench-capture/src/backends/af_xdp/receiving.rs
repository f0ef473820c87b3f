//! The sockets, the program that feeds them, and the frames.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use capbench_sys::bpf::XdpMode;
use capbench_sys::bpf::object::{object_file, probe};
use capbench_sys::host::interface::hardware_address;
use capbench_sys::packet::{Frame, PacketSocket};
use capbench_sys::xdp::{
    BindOptions, CopyMode, FrameBatch, OwnedFrame, Receiver, ReceiverConfig, XdpSocket, XdpStatistics,
};

use super::super::addressee::addressee;
use super::super::socket_setup::promiscuous;
use super::METHOD;
use super::accounting::Counted;
use super::passing::Passing;
use super::plan::Plan;
use super::polling::Polling;
use super::redirecting::Redirecting;
use super::refusal::Refusal;
use crate::fanout_choice::property_of_member;
use crate::{Batch, Capture, Context, Interface, Occupancy, Packing, Result, Waiter};
use capbench_model::counters::{Counters, WaitCounts};
use capbench_model::fanout::Fanout;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::{Engine, RingGeometry, Running, TimeSource};

/// Checks settings and options, and whether each member can have a queue.
pub(super) fn check(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<()> {
    let plan = Plan::new(spec, interface, options)?;
    let Some(members) = options.fanout.as_ref().and_then(Fanout::members) else { return Ok(()) };
    let context = Context::new(METHOD.name, interface);
    let refusal = Refusal { context: &context, spec };
    let queues = refusal.queues(&plan, interface)?.len() as u32;
    if u32::from(members.get()) > queues { Err(refusal.more_members_than(queues)) } else { Ok(()) }
}

/// AF_XDP sockets on the queues of an interface, or on a member's. Dropping the last member takes the program off the interface.
#[derive(Debug)]
pub struct AfXdp {
    // Drop order: the program goes first, so that no frame is redirected to a closed socket. While other members keep it, the kernel
    // takes a closed socket out of its map, and the program counts the frames of that queue as passed.
    redirecting: Arc<Redirecting>,
    receiver: Receiver,
    mode: XdpMode,
    /// How it shares the frames of the interface, if it is a member.
    shared: Option<String>,
    passing: Option<Passing>,
    _promiscuous: Option<PacketSocket>,
    queues: Vec<u32>,
    polling: Option<Polling>,
    need_wakeup: bool,
    zero_copy: Option<bool>,
    address: [u8; 6],
    snap: usize,
    waiter: Waiter,
    packing: Packing,
    context: Context,
    running: Running,
}

impl AfXdp {
    /// Binds sockets and attaches the program in the calling thread's namespace.
    ///
    /// # Errors
    /// Missing privilege, no such interface or queue, another XDP program or AF_XDP socket on it, or a driver without the
    /// requested mode: there is no fallback.
    pub fn open(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        let context = Context::new(METHOD.name, interface);
        let refusal = Refusal { context: &context, spec };
        let plan = Plan::new(spec, interface, options)?;
        let available = refusal.queues(&plan, interface)?;
        let load = || Redirecting::load(available.iter().max().map_or(1, |last| last + 1));
        let (redirecting, queues) = match &options.fanout {
            None => (Arc::new(load().map_err(|e| refusal.of_bpf(e))?), available),
            Some(fanout) => {
                let redirecting = fanout.owned(load).map_err(|e| refusal.of_bpf(e))?;
                let own = redirecting.shares.next(fanout.members());
                let own = own.ok_or_else(|| refusal.more_members_than(redirecting.shares.queues()))?;
                (redirecting, own.collect())
            }
        };
        let sizes = plan.sizes(queues.len() as u32)?;
        let passing = plan.pass.then(|| Passing::open(interface.index)).transpose();
        let passing = passing.map_err(|e| refusal.of_bpf(e))?;
        let address = hardware_address(&interface.name).map_err(|e| context.fail(e))?;
        let promiscuous = options.promiscuous.then(|| promiscuous(interface)).transpose();
        let promiscuous = promiscuous.map_err(|e| context.fail(e))?;
        let config = ReceiverConfig {
            interface: interface.index,
            queues: &queues,
            chunk_size: plan.chunk_size,
            received: sizes.received,
            fill: sizes.fill,
            spare: sizes.spare,
            batch: sizes.batch,
            bind: BindOptions { mode: plan.copy, need_wakeup: plan.need_wakeup },
            busy_poll: plan.busy_poll,
        };
        let receiver =
            Receiver::open(&config).map_err(|e| refusal.of_sockets(&plan, options.fanout.is_some(), e))?;
        redirecting.redirect(&queues, &receiver).map_err(|e| context.fail(e))?;
        // The last step: frames arrive from here on.
        let mode = redirecting.attach(interface.index, plan.mode);
        let mode = mode.map_err(|e| refusal.of_attaching(interface, e))?;
        let zero_copy = receiver.zero_copy().map_err(|e| context.fail(e))?;
        if plan.copy == CopyMode::ZeroCopy && zero_copy == Some(false) {
            return Err(refusal.because("the kernel copies frames all the same".into()));
        }
        let umem = receiver.geometry();
        let ring = RingGeometry::Umem {
            first_queue: queues.iter().copied().min().unwrap_or(0),
            last_queue: queues.iter().copied().max().unwrap_or(0),
            receive_entries: sizes.received,
            fill_entries: sizes.fill,
            buffers: umem.chunks(),
            buffer_bytes: umem.chunk_size().into(),
            bytes: umem.bytes(),
        };
        // The kernel provides no time to XDP; some drivers could, to a program that requests it.
        let times = TimeSource::user_space("one clock reading per batch");
        let mut capture = Self {
            running: Running::new(METHOD.name, Engine::default(), ring, times),
            redirecting,
            receiver,
            mode,
            shared: options.fanout.as_ref().map(property_of_member),
            passing,
            _promiscuous: promiscuous,
            queues,
            polling: plan.busy_poll.map(Polling::new),
            need_wakeup: plan.need_wakeup,
            zero_copy,
            address,
            snap: options.snap_length.octets() as usize,
            waiter: Waiter::new(plan.spin),
            packing: Packing::new(options, sizes.batch as usize, plan.chunk_size as usize),
            context,
        };
        capture.running.engine = capture.engine();
        Ok(capture)
    }

    /// The engine and what is known of it now.
    fn engine(&self) -> Engine {
        let copying = match self.zero_copy {
            Some(true) => "zero-copy",
            Some(false) => "copy",
            None => "copy or zero-copy (this kernel does not say)",
        };
        let properties = [
            Some(format!("{} mode", self.mode.word())),
            Some(copying.into()),
            self.shared.clone(),
            self.need_wakeup.then(|| "need-wakeup".into()),
            self.polling.as_ref().map(Polling::words),
            self.passing.is_some().then(|| "frames passed on to the stack".into()),
        ];
        Engine::new("AF_XDP", properties.into_iter().flatten())
    }

    /// The frames that the program redirected to this capture's sockets, and those that it left to the stack. Of members the one with
    /// the first queue counts the latter.
    fn redirected_and_passed(&self) -> Result<(u64, u64)> {
        let counts = |queue| self.redirecting.counts(queue).map_err(|source| self.context.fail(source));
        let mut sum = (0, 0);
        for &queue in &self.queues {
            sum.0 += counts(queue)?.redirected;
        }
        if self.shared.is_none() || self.queues.contains(&0) {
            for queue in 0..self.redirecting.shares.queues() {
                sum.1 += counts(queue)?.passed;
            }
        }
        Ok(sum)
    }

    /// Updates the description of busy polling and of frames passed on, which are known only after the first frames.
    fn update_running(&mut self) {
        let mut shortfalls = Vec::new();
        if let Some(polling) = &mut self.polling {
            polling.look(self.receiver.napis().collect(), self.receiver.frames_read());
            shortfalls.extend(polling.shortfall());
        }
        shortfalls.extend(self.passing.as_ref().and_then(Passing::shortfall));
        self.running.engine = self.engine();
        self.running.shortfalls = shortfalls;
    }
}

impl Capture for AfXdp {
    type Batch<'a> = Received<'a>;

    #[inline]
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Received<'_>>> {
        let Self { receiver, waiter, context, .. } = self;
        if !receiver.is_ready().map_err(|error| context.fail(error))? {
            // A failure while spinning occurs again below.
            let found = waiter.spin(|| receiver.is_ready().unwrap_or(true))
                || waiter
                    .sleep(|| receiver.wait(timeout).and_then(|_| receiver.is_ready()))
                    .map_err(|error| context.fail(error))?;
            if !found {
                return Ok(None);
            }
        }
        let Some((port, frames)) = receiver.take() else { return Ok(None) };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Some(Received {
            frames,
            queue: self.queues[port],
            passing: self.passing.as_mut(),
            address: self.address,
            snap: self.snap,
            time_ns: now.as_nanos() as u64,
        }))
    }

    fn packing(&mut self) -> Option<&mut Packing> {
        Some(&mut self.packing)
    }

    fn counters(&mut self) -> Result<Counters> {
        self.update_running();
        let (redirected, passed) = self.redirected_and_passed()?;
        let sockets =
            self.receiver.statistics().try_fold(XdpStatistics::OF_NONE, |sum, more| Ok(sum.plus(more?)));
        let sockets = sockets.map_err(|error| self.context.fail(error))?;
        let mut counters =
            Counted { redirected, passed, sockets, copies: self.zero_copy != Some(true) }.counters();
        for (queue, frames) in self.queues.iter().zip(self.receiver.frames_read()) {
            counters.raw.push((format!("queue{queue}.taken"), frames));
        }
        if self.receiver.impossible() > 0 {
            counters.raw.push(("impossible_descs".into(), self.receiver.impossible()));
        }
        if let Some(passing) = &self.passing {
            counters.raw.push(("passed_on".into(), passing.passed));
            counters.raw.push(("pass_failed".into(), passing.failed));
        }
        Ok(counters)
    }

    fn fill(&mut self) -> Option<Occupancy> {
        Occupancy::fullest(self.receiver.waiting().map(|(frames, of)| Occupancy::new(frames, of)))
    }

    fn waits(&self) -> WaitCounts {
        self.waiter.counts
    }

    fn running(&self) -> &Running {
        &self.running
    }
}

/// Frames of one queue, in the UMEM.
#[derive(Debug)]
pub struct Received<'a> {
    frames: FrameBatch<'a>,
    queue: u32,
    passing: Option<&'a mut Passing>,
    address: [u8; 6],
    snap: usize,
    time_ns: u64,
}

impl Received<'_> {
    /// Keeps frame `index` beyond the batch. It can move to another thread. `None` if there is no such frame.
    pub fn keep(&self, index: usize) -> Option<OwnedFrame> {
        self.frames.keep(index)
    }
}

impl Batch for Received<'_> {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.frames.frames().map(|data| Frame {
            data: &data[..data.len().min(self.snap)],
            wire_length: data.len() as u32,
            time_ns: self.time_ns,
            vlan: None,
            packet_type: addressee(data, &self.address),
            hash: None,
            status: 0,
        })
    }

    #[inline]
    fn queue(&self) -> Option<u32> {
        Some(self.queue)
    }
}

impl Drop for Received<'_> {
    #[inline]
    fn drop(&mut self) {
        let Some(passing) = &mut self.passing else { return };
        for frame in self.frames.frames() {
            passing.pass(frame, self.queue);
        }
    }
}

/// Whether the kernel supports sockets and program here.
pub(super) fn supported() -> std::result::Result<(), String> {
    XdpSocket::open().map_err(|error| match error.errno() {
        Some(EPERM) => "needs the capability CAP_NET_RAW".to_string(),
        Some(EAFNOSUPPORT) => "this kernel was built without AF_XDP (CONFIG_XDP_SOCKETS)".to_string(),
        _ => error.to_string(),
    })?;
    probe("redirect", object_file!("redirect"))
}

const EPERM: i32 = 1;
const EAFNOSUPPORT: i32 = 97;
