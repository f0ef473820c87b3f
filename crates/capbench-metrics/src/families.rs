//! Every metric in one table: its name, its kind, its labels and its meaning. `docs/metrics.md` lists them, and a test compares
//! the two.

/// What a metric's value does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, from 0 at the start of the process.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Counts of samples by their size.
    Histogram,
}

/// Description of a metric.
#[derive(Debug)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// Its meaning in one sentence.
    pub help: &'static str,
}

/// Declares the metrics with their rows.
macro_rules! families {
    ($($family:ident $name:literal $kind:ident $labels:expr, $help:literal;)+) => {
        /// A metric.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Family {
            $(#[doc = $help] $family,)+
        }

        /// Every metric, in the order of [`Family`].
        pub const ALL: &[Family] = &[$(Family::$family),+];

        const TABLE: &[About] =
            &[$(About { name: $name, kind: Kind::$kind, labels: $labels, help: $help }),+];
    };
}

const INTERFACE: &[&str] = &["interface"];
const PLACE: &[&str] = &["interface", "place"];
const SOCKET: &[&str] = &["interface", "program", "method", "group"];

families! {
    Received "capbench_received_frames_total" Counter INTERFACE,
        "Frames that arrived: at the interface (why), at the capture (count, record), at the receiver (soak)";
    Lost "capbench_lost_frames_total" Counter PLACE,
        "Frames lost, each counted once and at one place; at ring once for each socket that lost it";
    PlaceUnknown "capbench_place_unknown" Gauge PLACE,
        "1 while not all losses of this place can be counted";
    Windows "capbench_windows_total" Counter INTERFACE,
        "Windows of 100 ms that were looked at";
    LossyWindows "capbench_lossy_windows_total" Counter PLACE,
        "Windows of 100 ms in which this place lost frames";
    SocketDelivered "capbench_socket_delivered_frames_total" Counter SOCKET,
        "Frames that sockets put into their buffers, read at 10 Hz because owners reset the kernel's counters";
    SocketLost "capbench_socket_lost_frames_total" Counter SOCKET,
        "Frames that sockets lost because their buffers were full, read at 10 Hz because owners reset the kernel's counters";
    SocketResets "capbench_socket_statistics_resets_total" Counter SOCKET,
        "Times that owners were seen to read, and so to reset, the kernel's counters of their sockets";
    RingUsed "capbench_ring_used_ratio" Histogram INTERFACE,
        "Share of the capture's own ring that was in use, sampled at 10 Hz";
    Recorded "capbench_recorded_frames_total" Counter INTERFACE,
        "Frames written to files";
    RecordedBytes "capbench_recorded_bytes_total" Counter INTERFACE,
        "Octets of the packets captured for files";
    Cut "capbench_cut_frames_total" Counter INTERFACE,
        "Frames that are not whole in files, though the snap length allows more octets";
    CutBytes "capbench_cut_bytes_total" Counter INTERFACE,
        "Octets of cut frames that are in no file";
    Refused "capbench_refused_frames_total" Counter INTERFACE,
        "Frames that were not written because the output was too slow or failed";
    LastWrite "capbench_recorder_last_write_timestamp_seconds" Gauge INTERFACE,
        "When the number of written frames last grew, in seconds since 1970";
    Throughput "capbench_throughput_frames_per_second" Gauge &["method", "frame_size", "placement", "goal"],
        "Result of the last run: the highest load that met the goal";
    RunTimestamp "capbench_run_timestamp_seconds" Gauge &[],
        "When the last run ended, in seconds since 1970";
    RunExitCode "capbench_run_exit_code" Gauge &[],
        "Exit code of the last run";
    BuildInfo "capbench_build_info" Gauge &["version"],
        "1; the version is a label";
    ScrapeDuration "capbench_scrape_duration_seconds" Gauge &[],
        "How long capbench took to write the metrics of the scrape before this one";
}

impl Family {
    /// Its row.
    pub fn about(self) -> &'static About {
        &TABLE[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_the_kind() {
        for family in ALL {
            let About { name, kind, help, .. } = family.about();
            assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
            assert!(name.starts_with("capbench_") && !help.ends_with('.'), "{name}");
        }
    }

    #[test]
    fn the_page_lists_every_metric_with_its_labels() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
        let page = std::fs::read_to_string(page).unwrap();
        for family in ALL {
            let About { name, kind, labels, .. } = family.about();
            let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
            let row = row.unwrap_or_else(|| panic!("docs/metrics.md has no row of {name}"));
            let kind = format!("{kind:?}").to_lowercase();
            assert!(row.contains(&kind), "{row}");
            assert!(labels.iter().all(|label| row.contains(label)), "{row}");
        }
    }
}
