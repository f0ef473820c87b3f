//! The interface's own counters (Documentation/ABI/testing/sysfs-class-net-statistics, sysfs-class-net).

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use capbench_sys::host::SysfsView;

/// After this time without a new frame, no frame is on its way from the interface to a socket.
const SETTLED: Duration = Duration::from_millis(50);

/// Counters since the recording began; absent if the host denies reading them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Frames received (`rx_packets`).
    pub received: Option<u64>,
    /// Frames dropped without room ([`MISSED_COUNTERS`]). Many drivers count those elsewhere, and leave these at 0.
    pub missed: Option<u64>,
    /// Carrier losses (`carrier_down_count`; where that is missing, half of `carrier_changes`). Interfaces that keep their
    /// carrier while they are down leave it at 0.
    pub carrier_losses: Option<u64>,
}

impl LinkCounts {
    /// Source of [`Self::missed`].
    pub(super) const MISSED: &'static str =
        "the largest of rx_missed_errors, rx_fifo_errors and rx_over_errors of the interface";

    /// How often the interface went down or lost its carrier. The captures saw it go down `seen` times; the carrier's counter also
    /// has losses that ended before a capture looked.
    pub(super) fn went_down(&self, seen: Option<u64>) -> u64 {
        match self.carrier_losses {
            Some(losses @ 1..) => losses,
            _ => seen.unwrap_or(0),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LinkSample {
    pub(super) counts: LinkCounts,
    /// Maximum number of received frames that can still be on their way to the socket; absent if the kernel does not show its
    /// queues.
    pub(super) in_flight: Option<u64>,
}

/// Counters of frames that were dropped without room. Drivers report one loss in one of them, and some in two: the largest counts
/// (linux/if_link.h, `struct rtnl_link_stats64`).
const MISSED_COUNTERS: [&str; 3] = ["rx_missed_errors", "rx_fifo_errors", "rx_over_errors"];

/// Reads the counters from files opened once: later the process may lose the permission to open them.
#[derive(Debug)]
pub(super) struct Link {
    received: Option<File>,
    missed: [Option<File>; 3],
    carrier: Option<(File, CarrierCounter)>,
    before: Values,
    /// Frames that the socket had accepted before the first reading. The interface received them, too.
    accepted_before: u64,
    /// The number of received frames, and since when it is unchanged.
    steady: Cell<(Option<u64>, Instant)>,
}

/// What the files contain.
#[derive(Clone, Copy, Debug, Default)]
struct Values {
    received: Option<u64>,
    missed: [Option<u64>; 3],
    carrier_steps: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct CarrierCounter {
    name: &'static str,
    /// Steps per loss, including the return after it.
    steps: u64,
}

/// `carrier_down_count`, the first, exists since Linux 4.16.
const CARRIER_COUNTERS: [CarrierCounter; 2] = [
    CarrierCounter { name: "carrier_down_count", steps: 1 },
    CarrierCounter { name: "carrier_changes", steps: 2 },
];

impl CarrierCounter {
    /// Carrier losses after this many steps. The first step is a loss.
    fn losses(self, steps: u64) -> u64 {
        steps.div_ceil(self.steps)
    }
}

impl Link {
    /// For an interface in the calling thread's namespace, whose frames go to a socket that has accepted `accepted` frames.
    pub(super) fn of(interface: &str, accepted: u64) -> Self {
        let view = SysfsView::of_current_namespace().ok();
        let file = |name: &str| view.as_ref()?.file(&format!("class/net/{interface}/{name}")).ok();
        let mut link = Self {
            received: file("statistics/rx_packets"),
            missed: MISSED_COUNTERS.map(|name| file(&format!("statistics/{name}"))),
            carrier: CARRIER_COUNTERS.into_iter().find_map(|counter| Some((file(counter.name)?, counter))),
            before: Values::default(),
            accepted_before: accepted,
            steady: Cell::new((None, Instant::now())),
        };
        link.before = link.now();
        link
    }

    pub(super) fn read(&self) -> LinkCounts {
        let (now, before) = (self.now(), self.before);
        LinkCounts {
            received: self.with_accepted(now.received),
            missed: largest_since(now.missed, before.missed),
            carrier_losses: since(now.carrier_steps, before.carrier_steps)
                .zip(self.carrier.as_ref())
                .map(|(steps, (_, counter))| counter.losses(steps)),
        }
    }

    /// Frames received since the beginning, for this value of the counter.
    fn with_accepted(&self, received: Option<u64>) -> Option<u64> {
        since(received, self.before.received).map(|frames| frames + self.accepted_before)
    }

    /// The counts of [`Self::read`], with the frames that may not have reached the socket yet.
    pub(super) fn sample(&self) -> LinkSample {
        let counts = self.read();
        let is_settled = self.is_settled(counts.received);
        let look =
            || in_flight(&std::fs::read_to_string("/proc/thread-self/net/softnet_stat").ok()?, is_settled);
        // The kernel adds two queues without a lock: one reading can miss frames that move between them.
        let in_flight = look().zip(look()).map(|(one, other)| one.max(other));
        LinkSample { counts, in_flight }
    }

    /// Checks whether frames arrive. Call it several times a second.
    pub(super) fn look(&self) {
        self.is_settled(self.with_accepted(self.received.as_ref().and_then(number)));
    }

    /// Whether the number of received frames was unchanged for [`SETTLED`].
    fn is_settled(&self, received: Option<u64>) -> bool {
        let (known, since) = self.steady.get();
        if known != received {
            self.steady.set((received, Instant::now()));
            return false;
        }
        since.elapsed() >= SETTLED
    }

    fn now(&self) -> Values {
        Values {
            received: self.received.as_ref().and_then(number),
            missed: self.missed.each_ref().map(|file| file.as_ref().and_then(number)),
            carrier_steps: self.carrier.as_ref().and_then(|(file, _)| number(file)),
        }
    }
}

fn since(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(before?))
}

/// The largest increase of several counters of one loss; `None` if one of them is unknown.
fn largest_since(now: [Option<u64>; 3], before: [Option<u64>; 3]) -> Option<u64> {
    let mut largest = 0;
    for (now, before) in now.into_iter().zip(before) {
        largest = largest.max(since(now, before)?);
    }
    Some(largest)
}

/// The number in a file; `None` if its interface is gone.
fn number(file: &File) -> Option<u64> {
    let mut text = [0; 32];
    let length = file.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text[..length]).ok()?.trim().parse().ok()
}

/// Frames in the backlogs of all CPUs, from `/proc/net/softnet_stat` since Linux 5.7. Unless the interface `is_settled`, adds one
/// per CPU for a frame in progress.
fn in_flight(softnet: &str, is_settled: bool) -> Option<u64> {
    const BACKLOG: usize = 11;
    softnet.lines().try_fold(0, |sum, line| {
        let waiting = u64::from_str_radix(line.split_ascii_whitespace().nth(BACKLOG)?, 16).ok()?;
        Some(sum + waiting + u64::from(!is_settled))
    })
}

#[cfg(test)]
mod tests {
    use super::{CARRIER_COUNTERS, in_flight, largest_since};

    #[test]
    fn a_loss_that_a_driver_counts_twice_is_one_loss() {
        let counted = |missed, fifo| largest_since([missed, fifo, Some(0)], [Some(10), Some(3), Some(0)]);
        assert_eq!(counted(Some(15), Some(8)), Some(5), "five frames in both");
        assert_eq!(counted(Some(15), Some(3)), Some(5));
        assert_eq!(counted(Some(10), Some(8)), Some(5));
        assert_eq!(counted(Some(15), None), None, "absent is not 0");
    }

    #[test]
    fn each_carrier_counter_counts_losses() {
        let [down_count, changes] = CARRIER_COUNTERS;
        assert_eq!([0, 1, 2, 3, 60].map(|steps| changes.losses(steps)), [0, 1, 1, 2, 30]);
        assert_eq!(down_count.losses(30), 30);
    }

    #[test]
    fn backlogs_of_all_cpus_count_as_in_flight_if_the_kernel_shows_them() {
        let line = |waiting: &str| format!("00003039 0 0 0 0 0 0 0 0 0 0 {waiting} 00000000 0 0\n");
        let text = line("00000010") + &line("0000000a");
        assert_eq!((in_flight(&text, true), in_flight(&text, false)), (Some(26), Some(28)));
        assert_eq!(in_flight("00003039 0 0 0 0 0 0 0 0 0 0\n", true), None);
    }
}
