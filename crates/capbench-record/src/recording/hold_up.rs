//! Frames that wait in the ring of their capture while the writer has no room for them.

use std::time::Duration;

use capbench_capture::capture::Capture;
use capbench_capture::occupancy::Occupancy;
use capbench_model::running::TimeSource;

use super::file_recorder::FileRecorder;

/// Maximum length of one wait for the writer: the ring fills meanwhile.
const MOMENT: Duration = Duration::from_millis(1);

/// Reads between two checks of a ring that is too full, for methods that deliver few frames at once.
const TAKES: u32 = 64;

/// Decides whether to leave frames in the ring for a moment, because the writer would drop them now. A quarter of the ring stays
/// free for frames that arrive until the next check. If the ring is fuller, frames are read, and lost at the writer.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoldUp {
    /// Absent if frames cannot wait.
    takes: Option<u32>,
    unasked: u32,
}

impl HoldUp {
    pub(super) fn of(capture: &mut impl Capture) -> Self {
        // Frames that are stamped when they are read would get a time that depends on the writer.
        let have_times = matches!(capture.running().time_source, TimeSource::Kernel(_));
        let takes = if capture.packing().is_some() { TAKES } else { 1 };
        Self { takes: have_times.then_some(takes), unasked: 0 }
    }

    /// Whether the next frames should wait; waits a moment for the writer.
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
