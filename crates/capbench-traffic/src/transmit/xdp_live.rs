//! `xdp-live`: the kernel runs an XDP program on frames that it generates, and the program sends them (`BPF_PROG_RUN` with
//! live frames, Documentation/bpf/bpf_prog_run.rst, Linux 5.18).
//!
//! If the receiver is an XDP program, no frame ever becomes a socket buffer. So it feeds methods in the driver faster than
//! any socket could. Both ends of the link need XDP. Here the program is attached to the sending interface, as many drivers
//! require. The other end of a veth needs an XDP program, too, or generic receive offload, which gives it NAPI
//! (`veth_xdp_xmit` of drivers/net/veth.c). Frames that do not fit into a veth's queue count in `tx_dropped` of the sender.
//! Frames to a far end without XDP count nowhere, so that is an error.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use capbench_sys::SysError;
use capbench_sys::bpf::object::{CAPABILITIES, Loaded, Opened as OpenedObject, object_file};
use capbench_sys::bpf::{LiveFrames, XdpLink, XdpMode, link_state};
use capbench_sys::host::InterfaceIndex;

use crate::transmission::{Finish, MOST_BATCH, SubmitCounts};
use crate::transmit::{Opened, TransmitConfig, TransmitFacts};
use crate::{Result, TrafficError, Transmit};

/// Slots for a batch that a signal interrupted, and for the next batch.
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

/// A program that sends frames.
struct XdpLive {
    program: Program,
    frames: LiveFrames,
    /// Frames submitted so far: the number of the next slot.
    submitted: u64,
    /// Frames that the program is known to have generated.
    made: u64,
    interface: InterfaceIndex,
    /// State at the end of the last phase: frames generated, and frames that the interface had received for sending.
    last: (u64, Option<u64>),
}

/// Opens it.
pub(super) fn open(config: &TransmitConfig) -> Result<Opened> {
    let largest = config.largest.captured();
    if largest > LARGEST {
        return Err(TrafficError::Transmit {
            what: "a frame size of",
            asked: config.largest.octets().into(),
            allowed: "xdp-live sends at most 3220 octets, FCS included; packet-tx sends larger ones",
        });
    }
    let slot_octets = HEADER + config.slot_octets();
    let (program, frames) = Program::load(config.interface, SLOTS, slot_octets, largest)?;
    let facts = TransmitFacts {
        batch: MOST_BATCH,
        send_buffer_bytes: 0,
        qdisc_bypass: true,
        ring_slots: Some(SLOTS),
        copied_up_to: None,
        // The kernel allocates a page for each frame and waits for none of them.
        in_flight: u32::MAX,
    };
    let interface = config.interface;
    let last = (0, link_state(interface)?.offered);
    Ok(Opened {
        sender: Box::new(XdpLive { program, frames, submitted: 0, made: 0, interface, last }),
        facts,
    })
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
            Err(error) => match self.program.made()? - self.made {
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
        Ok(Finish { counts, in_flight: 0 })
    }
}

/// The program in the kernel, on the sending interface.
struct Program {
    // Drop order: the program leaves the interface first.
    _link: XdpLink,
    object: Loaded,
}

impl Program {
    /// Loads it with slots of `slot_octets` octets, attaches it, and returns the slots.
    ///
    /// It is attached for two reasons. Many drivers send frames of programs only while they run one themselves. And for a
    /// detached program the kernel patches its dispatcher twice in every run, which takes about 25 ms
    /// (`bpf_dispatcher_change_prog` of kernel/bpf/dispatcher.c, measured with Linux 6.18).
    fn load(
        interface: InterfaceIndex,
        slots: u32,
        slot_octets: usize,
        largest: usize,
    ) -> Result<(Self, LiveFrames)> {
        let (object, frames) = load(interface.number(), slots, slot_octets, largest).map_err(explained)?;
        let link = object.attach(interface, XdpMode::Driver).map_err(explained)?;
        Ok((Self { _link: link, object }, frames))
    }

    /// Number of frames generated so far.
    fn made(&self) -> std::result::Result<u64, SysError> {
        let variables = self.object.variables()?;
        let made = variables.first_chunk().map(|octets| u64::from_ne_bytes(*octets));
        made.ok_or_else(|| SysError::argument("BPF object live", "its count has another size"))
    }
}

/// Loads it without attaching it, to send on the interface with this number.
fn load(
    interface: u32,
    slots: u32,
    slot_octets: usize,
    largest: usize,
) -> std::result::Result<(Loaded, LiveFrames), SysError> {
    let mut object = OpenedObject::read("live", object_file!("live"))?;
    object.set_value_size("slots", slot_octets as u32)?;
    object.set_entries("slots", slots)?;
    // `config` of live.bpf.c.
    let config = [interface, slots, largest as u32];
    object.set_constants(&config.into_iter().flat_map(u32::to_ne_bytes).collect::<Vec<_>>())?;
    let object = object.load()?;
    let frames = LiveFrames::new(object.program_fd()?.as_fd(), object.map_fd("slots")?.as_fd(), largest)?;
    Ok((object, frames))
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
    let (_object, mut frames) = load(NOWHERE, 1, 72, OCTETS.into()).map_err(why)?;
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
