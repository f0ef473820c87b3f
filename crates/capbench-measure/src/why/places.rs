//! The places along a receive path where frames can be lost, as the kernel counts them for one interface.

use serde::Serialize;

use super::sockets::Sockets;
use crate::accounts::softnet::SoftnetDelta;
use crate::links::LinkStats;

/// A place, in the order in which frames pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Damaged on the link.
    Link,
    /// The NIC had nowhere to put them.
    Nic,
    /// An XDP program.
    Xdp,
    /// The backlog of a CPU.
    Backlog,
    /// The driver or the stack: rx_dropped of the interface, without what the backlog accounts for.
    Stack,
    /// The interface was not to receive, as a slave of a bond that is not active.
    NoHandler,
    /// The ring or queue of a socket.
    Socket,
}

impl Place {
    /// Its name in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Nic => "NIC",
            Self::Xdp => "XDP program",
            Self::Backlog => "backlog",
            Self::Stack => "driver, stack",
            Self::NoHandler => "no handler",
            Self::Socket => "sockets",
        }
    }
}

/// Frames that one place lost in an interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lost {
    /// Where.
    pub place: Place,
    /// How many; absent where it is not counted.
    pub frames: Option<u64>,
    /// The same for each second.
    pub per_s: Option<f64>,
    /// Whether it is the host's number, of which this interface's share is not known.
    pub of_whole_host: bool,
    /// What says so.
    pub source: String,
}

/// What each place lost. Where several counters of a driver may count the same frame, the largest is taken.
pub(super) fn losses(
    link: &LinkStats,
    softnet: &[SoftnetDelta],
    xdp: Option<&str>,
    sockets: &Sockets,
    seconds: f64,
) -> Vec<Lost> {
    let lost = |place, frames, source: &str| Lost {
        place,
        frames,
        per_s: None,
        of_whole_host: false,
        source: source.into(),
    };
    let largest = |counters: &[(u64, &str)]| {
        let (frames, _) = *counters.iter().max_by_key(|(count, _)| *count).unwrap_or(&(0, ""));
        let named: Vec<_> =
            counters.iter().filter(|(count, _)| *count > 0 || frames == 0).map(|(_, name)| *name).collect();
        (frames, named.join(", "))
    };
    let (damaged, damaged_by) = largest(&[(
        link.rx_crc_errors + link.rx_frame_errors + link.rx_length_errors,
        "rx_crc_errors, rx_frame_errors, rx_length_errors",
    )]);
    let (missed, missed_by) = largest(&[
        (link.rx_missed_errors, "rx_missed_errors"),
        (link.rx_fifo_errors, "rx_fifo_errors"),
        (link.rx_over_errors, "rx_over_errors"),
    ]);
    let mut all =
        vec![lost(Place::Link, Some(damaged), &damaged_by), lost(Place::Nic, Some(missed), &missed_by)];
    if let Some(program) = xdp {
        all.push(lost(Place::Xdp, None, &format!("{program}; the kernel does not count what it drops")));
    }
    // A frame that the backlog refuses counts in rx_dropped, too (net/core/dev.c, enqueue_to_backlog).
    let refused: u64 = softnet.iter().map(|cpu| cpu.dropped).sum();
    let ours = refused.min(link.rx_dropped);
    let cpus: Vec<_> =
        softnet.iter().filter(|cpu| cpu.dropped > 0).map(|cpu| cpu.cpu.number().to_string()).collect();
    let source = if cpus.is_empty() {
        "dropped of /proc/net/softnet_stat".into()
    } else {
        format!("dropped of /proc/net/softnet_stat, CPU {}", cpus.join(", "))
    };
    let (frames, of_whole_host) = if refused > ours { (refused, true) } else { (ours, false) };
    all.push(Lost { place: Place::Backlog, frames: Some(frames), per_s: None, of_whole_host, source });
    all.push(lost(Place::Stack, Some(link.rx_dropped - ours), "rx_dropped"));
    all.push(lost(Place::NoHandler, Some(link.rx_nohandler), "rx_nohandler"));
    let dropped: Option<u64> = match sockets.unknown {
        Some(_) => None,
        None => sockets.here.iter().map(|socket| socket.dropped).sum(),
    };
    all.push(lost(Place::Socket, dropped, "the sockets' own counters"));
    for lost in &mut all {
        lost.per_s = lost.frames.map(|frames| frames as f64 / seconds);
    }
    all
}

#[cfg(test)]
mod tests {
    use capbench_sys::host::CpuId;

    use super::*;

    fn cpu(number: u32, dropped: u64) -> SoftnetDelta {
        SoftnetDelta {
            cpu: CpuId::new(number),
            processed: 100,
            dropped,
            time_squeeze: 0,
            received_rps: None,
            flow_limit: None,
        }
    }

    fn at(all: &[Lost], place: Place) -> &Lost {
        all.iter().find(|lost| lost.place == place).unwrap()
    }

    #[test]
    fn a_frame_that_the_backlog_refused_is_booked_once() {
        let link = LinkStats { rx_dropped: 12, ..LinkStats::default() };
        let all = losses(&link, &[cpu(0, 0), cpu(1, 10)], None, &Sockets::default(), 1.0);
        assert_eq!(at(&all, Place::Backlog).frames, Some(10));
        assert!(at(&all, Place::Backlog).source.ends_with("CPU 1"));
        assert_eq!(at(&all, Place::Stack).frames, Some(2));
        // The host's others lost more than this interface can have.
        let all = losses(&link, &[cpu(0, 40)], None, &Sockets::default(), 1.0);
        assert!(at(&all, Place::Backlog).of_whole_host && at(&all, Place::Stack).frames == Some(0));
    }

    #[test]
    fn a_frame_that_two_counters_of_a_nic_count_is_one() {
        let link =
            LinkStats { rx_missed_errors: 5, rx_fifo_errors: 5, rx_crc_errors: 1, ..LinkStats::default() };
        let all = losses(&link, &[], Some("program 7"), &Sockets::default(), 2.0);
        assert_eq!((at(&all, Place::Nic).frames, at(&all, Place::Nic).per_s), (Some(5), Some(2.5)));
        assert_eq!(at(&all, Place::Nic).source, "rx_missed_errors, rx_fifo_errors");
        assert_eq!((at(&all, Place::Link).frames, at(&all, Place::Xdp).frames), (Some(1), None));
        assert_eq!(at(&all, Place::Socket).frames, Some(0));
    }
}
