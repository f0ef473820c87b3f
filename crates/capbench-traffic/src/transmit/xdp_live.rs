//! `xdp-live`: the kernel runs an XDP program on frames that it generates, and the program sends them (`BPF_PROG_RUN` with
//! live frames, Documentation/bpf/bpf_prog_run.rst, Linux 5.18).
//!
//! If the receiver is an XDP program, no frame ever becomes a socket buffer. So it feeds methods in the driver faster than
//! any socket could. Both ends of the link need XDP. Here the program is attached to the sending interface, as many drivers
//! require. The other end of a veth needs an XDP program, too, or generic receive offload, which gives it NAPI
//! (`veth_xdp_xmit` of drivers/net/veth.c). Frames that do not fit into a veth's queue count in `tx_dropped` of the sender.
//! Frames to a far end without XDP count nowhere, so that is an error.
//!
//! Threads run one program: an interface has one, and a detached one takes 25 ms for each batch. The kernel runs it on several
//! CPUs at once. It knows a thread by the length of the frames before it changes them.

use std::num::NonZeroU16;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use capbench_sys::SysError;
use capbench_sys::bpf::object::{CAPABILITIES, Loaded, Opened as OpenedObject, object_file};
use capbench_sys::bpf::{LiveFrames, XdpLink, XdpMode, link_state};
use capbench_sys::host::InterfaceIndex;

use crate::transmission::{Finish, MOST_BATCH, SubmitCounts};
use crate::transmit::{Opened, Opener, TransmitConfig, TransmitFacts};
use crate::{Result, TrafficError, Transmit};

/// Slots of a thread for a batch that a signal interrupted, and for the next batch.
const SLOTS: u32 = 2 * MOST_BATCH as u32;

/// Frames that the kernel passes to the driver at once. Larger batches need more pages for the same frames, and the queue of
/// a veth holds 256.
const DRIVER_BATCH: u32 = 64;

/// Minimum room of a page after headroom and the kernel's data (`bpf_prog_test_run_xdp` of net/bpf/test_run.c; depends on the
/// size of cache lines).
const LARGEST: usize = 3216;

/// The length before each frame.
const HEADER: usize = 8;

/// How long drivers of network cards need to update their counters.
const DRIVER_REFRESH: Duration = Duration::from_millis(2100);

/// A thread that sends frames with a program.
struct XdpLive {
    program: Arc<Mutex<Program>>,
    thread: u16,
    frames: LiveFrames,
    /// Frames submitted so far: the number of the next slot.
    submitted: u64,
    /// Frames that the program is known to have generated for this thread.
    made: u64,
    interface: InterfaceIndex,
    /// State at the end of the last phase: frames generated, and frames that the interface had received for sending from
    /// whichever thread.
    last: (u64, Option<u64>),
}

/// Attaches the program that all threads run.
pub(super) fn open(config: &TransmitConfig) -> Result<Opener> {
    let (largest, interface, threads) = (config.largest.captured(), config.interface, config.threads);
    if largest + usize::from(threads.get() - 1) > LARGEST {
        return Err(TrafficError::Transmit {
            what: "a frame size of",
            asked: config.largest.octets().into(),
            allowed: "xdp-live sends at most 3220 octets, FCS included, and one less for each thread but the first; \
                      packet-tx sends larger ones",
        });
    }
    let program = Program::load(interface, threads, HEADER + config.slot_octets(), largest)?;
    let program = Arc::new(Mutex::new(program));
    let last = (0, link_state(interface)?.offered);
    Ok(Arc::new(move |thread| {
        let frames = at_work(&program).object.frames(largest, thread)?;
        let facts = TransmitFacts {
            batch: MOST_BATCH,
            send_buffer_bytes: 0,
            qdisc_bypass: true,
            ring_slots: Some(SLOTS),
            copied_up_to: None,
            // The kernel allocates a page for each frame and waits for none of them.
            in_flight: u32::MAX,
        };
        let program = Arc::clone(&program);
        let sender = Box::new(XdpLive { program, thread, frames, submitted: 0, made: 0, interface, last });
        Ok(Opened { sender, facts })
    }))
}

fn at_work(program: &Mutex<Program>) -> MutexGuard<'_, Program> {
    program.lock().unwrap_or_else(PoisonError::into_inner)
}

impl XdpLive {
    /// Makes the program send the submitted frames.
    fn run(&mut self) -> Result<SubmitCounts> {
        const EINTR: i32 = 4;
        let pending = (self.submitted - self.made) as u32;
        if pending == 0 {
            return Ok(SubmitCounts::default());
        }
        let accepted = match self.frames.run(pending, DRIVER_BATCH) {
            Ok(()) => u64::from(pending),
            Err(error) => match at_work(&self.program).made(self.thread)? - self.made {
                // A signal is no failure. The frames are offered again.
                0 if error.errno() != Some(EINTR) => return Err(explained(error)),
                // Frames generated before the failure are reported first. The failure occurs again at the next run.
                some => some,
            },
        };
        self.made += accepted;
        Ok(SubmitCounts { accepted, ..SubmitCounts::default() })
    }

    /// Checks that any frames left. A driver that cannot send frames of programs drops them without counting them, and the
    /// program gets no error.
    fn check_that_some_left(&mut self) -> Result<()> {
        let (made, offered) = self.last;
        let begun = Instant::now();
        let mut state = link_state(self.interface)?;
        while state.up && self.made > made && offered.is_some() && state.offered == offered {
            if begun.elapsed() >= DRIVER_REFRESH {
                return Err(lost(
                    "no frame left the interface: its driver sends none of programs, or the far end takes none (a veth \
                     needs an XDP program or `ethtool -K IF gro on` there)",
                ));
            }
            std::thread::sleep(DRIVER_REFRESH / 20);
            state = link_state(self.interface)?;
        }
        if !state.up {
            return Err(lost("the interface went down, and frames with it that nothing counted"));
        }
        self.last = (self.made, state.offered);
        Ok(())
    }
}

#[cold]
fn lost(reason: &str) -> TrafficError {
    SysError::argument("xdp-live", reason).into()
}

impl Transmit for XdpLive {
    #[inline]
    fn room(&mut self) -> usize {
        MOST_BATCH - (self.submitted - self.made) as usize
    }

    #[inline]
    fn slot(&mut self, index: usize) -> &mut [u8] {
        self.frames.slot(self.submitted + index as u64)
    }

    fn submit(&mut self, lengths: &[u16]) -> Result<SubmitCounts> {
        for length in lengths {
            self.frames.commit(self.submitted, *length);
            self.submitted += 1;
        }
        self.run()
    }

    fn finish(&mut self) -> Result<Finish> {
        let counts = self.run()?;
        // Otherwise the next phase would send the rest first: the program reads slots by its count.
        self.submitted = self.made;
        self.check_that_some_left()?;
        Ok(Finish { counts, ..Finish::default() })
    }
}

/// The program in the kernel, on the sending interface.
struct Program {
    // Drop order: the program leaves the interface first.
    _link: XdpLink,
    object: Object,
}

impl Program {
    /// Loads it with slots of `slot_octets` octets, and attaches it.
    ///
    /// It is attached for two reasons. Many drivers send frames of programs only while they run one themselves. And for a
    /// detached program the kernel patches its dispatcher twice in every run, which takes about 25 ms
    /// (`bpf_dispatcher_change_prog` of kernel/bpf/dispatcher.c, measured with Linux 6.18).
    fn load(
        interface: InterfaceIndex,
        threads: NonZeroU16,
        slot_octets: usize,
        largest: usize,
    ) -> Result<Self> {
        let object = Object::load(interface.number(), threads, slot_octets, largest).map_err(explained)?;
        let link = object.0.attach(interface, XdpMode::Driver).map_err(explained)?;
        Ok(Self { _link: link, object })
    }

    /// Number of frames generated so far for a thread.
    fn made(&self, thread: u16) -> std::result::Result<u64, SysError> {
        // `threads` of live.bpf.c.
        const OCTETS: usize = 64;
        let variables = self.object.0.variables()?;
        let made = variables.get(usize::from(thread) * OCTETS..).and_then(|octets| octets.first_chunk());
        let made = made.map(|octets| u64::from_ne_bytes(*octets));
        made.ok_or_else(|| SysError::argument("BPF object live", "its counts have another size"))
    }
}

/// The loaded program, which need not be attached.
struct Object(Loaded);

impl Object {
    /// Loads it to send on the interface with this number.
    fn load(
        interface: u32,
        threads: NonZeroU16,
        slot_octets: usize,
        largest: usize,
    ) -> std::result::Result<Self, SysError> {
        let mut object = OpenedObject::read("live", object_file!("live"))?;
        object.set_value_size("slots", slot_octets as u32)?;
        object.set_entries("slots", SLOTS * u32::from(threads.get()))?;
        // `config` of live.bpf.c.
        let config = [interface, SLOTS, largest as u32];
        object.set_constants(&config.into_iter().flat_map(u32::to_ne_bytes).collect::<Vec<_>>())?;
        Ok(Self(object.load()?))
    }

    /// The frames that it sends for a thread.
    fn frames(&self, largest: usize, thread: u16) -> std::result::Result<LiveFrames, SysError> {
        let (program, slots) = (self.0.program_fd()?, self.0.map_fd("slots")?);
        LiveFrames::new(program.as_fd(), slots.as_fd(), largest, thread, SLOTS)
    }
}

/// Whether the kernel loads the program and runs it on frames that it generates. Tries one frame to an invalid interface, so
/// that it is sent nowhere.
pub(super) fn supported() -> std::result::Result<(), String> {
    const NOWHERE: u32 = u32::MAX;
    const OCTETS: u16 = 60;
    let why = |error: SysError| match error.errno() {
        Some(EPERM) => {
            format!("needs the capabilities {CAPABILITIES} over the host, outside a user namespace")
        }
        _ => error.to_string(),
    };
    let object = Object::load(NOWHERE, NonZeroU16::MIN, 72, OCTETS.into()).map_err(why)?;
    let mut frames = object.frames(OCTETS.into(), 0).map_err(why)?;
    frames.commit(0, OCTETS);
    frames.run(1, 1).map_err(|error| match error.errno() {
        Some(EINVAL) => {
            format!("this kernel does not run programs on live frames, as Linux 5.18 does ({error})")
        }
        _ => why(error),
    })
}

const EPERM: i32 = 1;
const EINVAL: i32 = 22;

/// Names the missing feature where the kernel returns only a general error.
fn explained(source: SysError) -> TrafficError {
    if source.errno() == Some(EPERM) {
        return TrafficError::Privilege { capability: "CAP_BPF and CAP_NET_ADMIN over the host", source };
    }
    TrafficError::Sys(source)
}
