//! Frames that wait in the ring of their capture while the writer has no room for them.

use std::time::Duration;

use capbench_capture::capture::Capture;
use capbench_capture::occupancy::Occupancy;
use capbench_capture::running::TimeSource;

use super::file_recorder::FileRecorder;

/// How long one wait for the writer is, at most: the ring fills meanwhile.
const MOMENT: Duration = Duration::from_millis(1);

/// Takes between two looks at a ring that is too full, of methods that give few frames at once.
const TAKES: u32 = 64;

/// Decides whether a capture is left alone for a moment: what its ring still holds need not be dropped. A quarter of the ring
/// stays for what comes until it is looked at again; with more in it, frames are taken, and lost at the writer.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoldUp {
    /// Absent where frames cannot wait.
    takes: Option<u32>,
    unasked: u32,
}

impl HoldUp {
    pub(super) fn of(capture: &mut impl Capture) -> Self {
        // Frames that get their times when they are taken would get those of the writer.
        let have_times = matches!(capture.running().time_source, TimeSource::Kernel(_));
        let takes = if capture.packing().is_some() { TAKES } else { 1 };
        Self { takes: have_times.then_some(takes), unasked: 0 }
    }

    /// Whether the next frames had better wait; after a moment that the writer got.
    #[inline]
    pub(super) fn is_due(&mut self, capture: &mut impl Capture, recorder: &FileRecorder) -> bool {
        match self.takes {
            Some(takes) if recorder.is_short() => self.waited(takes, || capture.fill(), recorder),
            _ => false,
        }
    }

    #[cold]
    fn waited(
        &mut self,
        takes: u32,
        fill: impl FnOnce() -> Option<Occupancy>,
        recorder: &FileRecorder,
    ) -> bool {
        if self.unasked > 0 {
            self.unasked -= 1;
            return false;
        }
        if fill().is_some_and(Occupancy::has_room) {
            return recorder.stays_short(MOMENT);
        }
        self.unasked = takes - 1;
        false
    }
}
