//! What an interface itself counted (Documentation/ABI/testing/sysfs-class-net-statistics, sysfs-class-net).

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use capbench_sys::host::SysfsView;

/// Without a new frame for so long, no frame is on its way from the interface to a socket.
const SETTLED: Duration = Duration::from_millis(50);

/// What it counted since the recording began; absent where the host does not let us look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Frames that it received (`rx_packets`).
    pub received: Option<u64>,
    /// Frames that it had no room for (`rx_missed_errors` and `rx_fifo_errors`). Many drivers count those elsewhere, and
    /// leave these at 0.
    pub missed: Option<u64>,
    /// Times that it lost its carrier (`carrier_down_count`, where it is missing every other of `carrier_changes`). Interfaces that
    /// keep their carrier while they are down leave it at 0.
    pub carrier_losses: Option<u64>,
}

impl LinkCounts {
    /// Where [`Self::missed`] comes from.
    pub(super) const MISSED: &'static str = "rx_missed_errors and rx_fifo_errors of the interface";
}

/// One reading of an interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkSample {
    pub(super) counts: LinkCounts,
    /// Frames among those received that can still be on their way to the socket, at most; absent where the kernel does not show
    /// its queues.
    pub(super) in_flight: Option<u64>,
}

/// Reads them, by files that are opened once: later the process may no longer be allowed to open any.
#[derive(Debug)]
pub(super) struct Link {
    received: Option<File>,
    missed: Option<[File; 2]>,
    carrier: Option<(File, CarrierCounter)>,
    before: LinkCounts,
    /// Frames that the socket had accepted by then: the interface received them, too.
    accepted_before: u64,
    /// The number of received frames, and since when it is that.
    steady: Cell<(Option<u64>, Instant)>,
}

/// A file that counts how often an interface lost its carrier.
#[derive(Clone, Copy, Debug)]
struct CarrierCounter {
    name: &'static str,
    /// Steps of one loss and of the return after it.
    steps: u64,
}

/// The first is there since Linux 4.16.
const CARRIER_COUNTERS: [CarrierCounter; 2] = [
    CarrierCounter { name: "carrier_down_count", steps: 1 },
    CarrierCounter { name: "carrier_changes", steps: 2 },
];

impl CarrierCounter {
    /// Losses of an interface that had its carrier so many steps ago: the first of them was a loss.
    fn losses(self, steps: u64) -> u64 {
        steps.div_ceil(self.steps)
    }
}

impl Link {
    /// Of an interface of the calling thread's namespace, whose frames go to a socket that has accepted so many of them.
    pub(super) fn of(interface: &str, accepted: u64) -> Self {
        let view = SysfsView::of_current_namespace().ok();
        let file = |name: &str| view.as_ref()?.file(&format!("class/net/{interface}/{name}")).ok();
        let missed = file("statistics/rx_missed_errors").zip(file("statistics/rx_fifo_errors"));
        let mut link = Self {
            received: file("statistics/rx_packets"),
            missed: missed.map(|(missed, fifo)| [missed, fifo]),
            carrier: CARRIER_COUNTERS.into_iter().find_map(|counter| Some((file(counter.name)?, counter))),
            before: LinkCounts::default(),
            accepted_before: accepted,
            steady: Cell::new((None, Instant::now())),
        };
        link.before = link.now();
        link
    }

    /// What was counted since the beginning.
    pub(super) fn read(&self) -> LinkCounts {
        let (now, before) = (self.now(), self.before);
        LinkCounts {
            received: self.with_accepted(now.received),
            missed: since(now.missed, before.missed),
            carrier_losses: since(now.carrier_losses, before.carrier_losses)
                .zip(self.carrier.as_ref())
                .map(|(steps, (_, counter))| counter.losses(steps)),
        }
    }

    /// Frames received since the beginning, by a reading of the counter.
    fn with_accepted(&self, received: Option<u64>) -> Option<u64> {
        since(received, self.before.received).map(|frames| frames + self.accepted_before)
    }

    /// What [`Self::read`] says, with what may not have reached the socket yet.
    pub(super) fn sample(&self) -> LinkSample {
        let counts = self.read();
        let is_settled = self.is_settled(counts.received);
        let look =
            || in_flight(&std::fs::read_to_string("/proc/thread-self/net/softnet_stat").ok()?, is_settled);
        // The kernel adds two queues without a lock: one look can miss frames that move from one to the other.
        let in_flight = look().zip(look()).map(|(one, other)| one.max(other));
        LinkSample { counts, in_flight }
    }

    /// Looks whether frames come. To be called several times in a second.
    pub(super) fn look(&self) {
        self.is_settled(self.with_accepted(self.received.as_ref().and_then(number)));
    }

    /// Whether it has received just so many frames for a while.
    fn is_settled(&self, received: Option<u64>) -> bool {
        let (known, since) = self.steady.get();
        if known != received {
            self.steady.set((received, Instant::now()));
            return false;
        }
        since.elapsed() >= SETTLED
    }

    /// The counters as they are; of the carrier, the steps.
    fn now(&self) -> LinkCounts {
        let sum = |files: &[File]| files.iter().map(number).sum::<Option<u64>>();
        LinkCounts {
            received: self.received.as_ref().and_then(number),
            missed: self.missed.as_ref().and_then(|files| sum(files)),
            carrier_losses: self.carrier.as_ref().and_then(|(file, _)| number(file)),
        }
    }
}

fn since(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(before?))
}

/// The number in a file; `None` when its interface is gone.
fn number(file: &File) -> Option<u64> {
    let mut text = [0; 32];
    let length = file.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text[..length]).ok()?.trim().parse().ok()
}

/// Frames that wait in the backlogs of all CPUs, as `/proc/net/softnet_stat` has it since Linux 5.7, and one more per CPU, which
/// may be under way there, unless the interface `is_settled`.
fn in_flight(softnet: &str, is_settled: bool) -> Option<u64> {
    const BACKLOG: usize = 11;
    softnet.lines().try_fold(0, |sum, line| {
        let waiting = u64::from_str_radix(line.split_ascii_whitespace().nth(BACKLOG)?, 16).ok()?;
        Some(sum + waiting + u64::from(!is_settled))
    })
}

#[cfg(test)]
mod tests {
    use super::{CARRIER_COUNTERS, in_flight};

    #[test]
    fn each_carrier_counter_counts_losses() {
        let [down_count, changes] = CARRIER_COUNTERS;
        assert_eq!([0, 1, 2, 3, 60].map(|steps| changes.losses(steps)), [0, 1, 1, 2, 30]);
        assert_eq!(down_count.losses(30), 30);
    }

    #[test]
    fn what_waits_on_any_cpu_is_in_flight_and_kernels_that_hide_it_are_known() {
        let line = |waiting: &str| format!("00003039 0 0 0 0 0 0 0 0 0 0 {waiting} 00000000 0 0\n");
        let text = line("00000010") + &line("0000000a");
        assert_eq!((in_flight(&text, true), in_flight(&text, false)), (Some(26), Some(28)));
        assert_eq!(in_flight("00003039 0 0 0 0 0 0 0 0 0 0\n", true), None);
    }
}
