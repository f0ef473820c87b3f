//! Drives the program: writes frames into slots. Each batch is one run.

use std::time::{Duration, Instant};

use capbench_sys::SysError;
use capbench_sys::bpf::{LiveFrames, link_state};
use capbench_sys::host::InterfaceIndex;

use super::program::{Program, explained};
use crate::transmission::{Finish, Handed, MOST_BATCH};
use crate::{Opened, Result, TrafficError, Transmit, TransmitConfig, TransmitFacts};

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
pub(super) struct XdpLive {
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
pub(in super::super) fn open(config: &TransmitConfig) -> Result<Opened> {
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
    let last = (0, link_state(interface)?.given);
    Ok(Opened {
        sender: Box::new(XdpLive { program, frames, submitted: 0, made: 0, interface, last }),
        facts,
    })
}

impl XdpLive {
    /// Makes the program send the submitted frames.
    fn run(&mut self) -> Result<Handed> {
        const EINTR: i32 = 4;
        let pending = (self.submitted - self.made) as u32;
        if pending == 0 {
            return Ok(Handed::default());
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
        Ok(Handed { accepted, ..Handed::default() })
    }
}

impl XdpLive {
    /// Checks that any frames left. A driver that cannot send frames of programs drops them without counting them, and the
    /// program gets no error.
    fn check_that_some_left(&mut self) -> Result<()> {
        let (made, given) = self.last;
        let begun = Instant::now();
        let mut state = link_state(self.interface)?;
        while state.up && self.made > made && given.is_some() && state.given == given {
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
        self.last = (self.made, state.given);
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

    fn submit(&mut self, lengths: &[u16]) -> Result<Handed> {
        for length in lengths {
            self.frames.commit(self.submitted, *length);
            self.submitted += 1;
        }
        self.run()
    }

    fn finish(&mut self) -> Result<Finish> {
        let handed = self.run()?;
        // Otherwise the next phase would send the rest first: the program reads slots by its count.
        let withdrawn = self.submitted - self.made;
        self.submitted = self.made;
        self.check_that_some_left()?;
        Ok(Finish { handed, withdrawn, in_flight: 0 })
    }
}
