//! Options of a recording: sources, format, output.

use capbench_capture::backends::packet_v3;
use capbench_capture::interface::Interface;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::{ByteCount, SnapLength};
use capbench_sys::host::CpuId;

use crate::error::{RecordError, Result};
use crate::file::reading::LARGEST_RECORD;
use crate::file::{FileFormat, HashAlgorithm, InterfaceDescription, SectionDescription, link_type_name};
use crate::worker_pool::{self, WhenFull};
use crate::writing::WriteOptions;

/// A recording.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The captured interfaces, at least one. A pcapng file numbers them in this order.
    pub sources: Vec<Source>,
    /// The files' format. Classic pcap does not distinguish interfaces and cannot store losses.
    pub format: FileFormat,
    /// Origin of the files: the pcapng section header.
    pub section: SectionDescription,
    /// Maximum octets of each frame in the file.
    pub snap_length: SnapLength,
    /// The algorithm of flow hashes.
    pub hash: HashAlgorithm,
    /// How files are written. The recording sets [`WriteOptions::interfaces`].
    pub write: WriteOptions,
    /// The recording ends after this many packets.
    pub packets: Option<u64>,
    /// Flush each packet to readers of the file as soon as the writer is idle.
    pub packet_buffered: bool,
    /// Threads that filter and encode, between the captures and the merge. Without them, the thread of a single capture encodes,
    /// or the merging thread if there are several captures.
    pub workers: Option<Workers>,
    /// CPUs of the threads, in order: captures, workers, merge. If there are fewer CPUs than threads, they repeat. If empty, the
    /// scheduler chooses.
    pub cpus: Vec<CpuId>,
}

/// An interface of a recording, and how its frames are captured.
#[derive(Clone, Debug)]
pub struct Source {
    /// The interface, in the namespace of the thread that opens the recording.
    pub interface: Interface,
    /// The method.
    pub method: MethodSpec,
    /// Its options. If the method cannot run the filter, the recorder runs it on the delivered frames.
    pub options: CaptureOptions,
    /// How many captures share the interface's frames, by [`CaptureOptions::fanout`].
    pub members: usize,
    /// Description of the interface in the file. The recorder adds the properties of the running capture.
    pub description: InterfaceDescription,
}

/// Workers of a recording, and their queues. Results are recorded in the order of batches, so a file is in the time order of its
/// capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    /// Number of workers.
    pub count: usize,
    /// Batches that may wait per worker, in addition to the one that it processes. `None`: as many as leave half of each ring to
    /// the kernel, up to 8.
    pub queue: Option<usize>,
    /// What happens to a batch when its queue is full.
    pub when_full: WhenFull,
}

impl Workers {
    /// Default queue length, if the ring is large enough.
    const QUEUE: usize = 8;

    /// The plan of the worker pool, for captures that can deliver `batches` batches before they need one back.
    /// Errors: [`RecordError::Option`]: the workers would hold the whole ring before a queue is full.
    pub(super) fn pool(&self, batches: usize) -> Result<worker_pool::Plan> {
        let Self { count, queue, when_full } = *self;
        let roomy = (batches / 2 / count.max(1)).saturating_sub(1).clamp(1, Self::QUEUE);
        let plan = worker_pool::Plan { workers: count, queue: queue.unwrap_or(roomy), when_full };
        plan.check()?;
        if plan.most_held() < batches {
            return Ok(plan);
        }
        Err(RecordError::Option {
            option: if queue.is_some() { "--worker-queue" } else { "--workers" },
            reason: format!(
                "with {count} workers and queues of {} batches, up to {} batches wait; a ring of {batches} batches is full before. Ask for fewer workers or shorter queues, a larger --ring or a smaller --block",
                plan.queue,
                plan.most_held()
            ),
        })
    }
}

impl Plan {
    /// Checks what can be checked before the captures are open: sources, format and output.
    ///
    /// # Errors
    /// [`RecordError::Option`]: no interface, or one twice; what the format or the output cannot do.
    pub fn check(&self) -> Result<()> {
        self.write.check()?;
        let refuse = |reason: String| Err(RecordError::Option { option: "-i", reason });
        if self.sources.is_empty() {
            return refuse("nothing to record from".into());
        }
        for (at, source) in self.sources.iter().enumerate() {
            let is_same = |other: &Source| other.interface.index == source.interface.index;
            if self.sources[..at].iter().any(is_same) {
                return refuse(format!(
                    "{} twice; several captures of one interface share its frames by --fanout and --members",
                    source.interface.name
                ));
            }
        }
        match self.format {
            FileFormat::Pcapng => Ok(()),
            FileFormat::Verbatim => self.check_verbatim(),
            FileFormat::Pcap => self.check_pcap(),
        }
    }

    /// # Errors
    /// [`RecordError::Option`]: interfaces of different link types, of which the format stores only one.
    fn check_pcap(&self) -> Result<()> {
        let first = &self.sources[0].interface;
        let differs = |source: &&Source| source.interface.layer != first.layer;
        let Some(Source { interface: other, .. }) = self.sources.iter().find(differs) else { return Ok(()) };
        let words =
            |interface: &Interface| format!("{} has {}", interface.name, link_type_name(interface.layer));
        Err(RecordError::Option {
            option: "--format pcap",
            reason: format!(
                "it has one link type for all packets; {}, {}: record pcapng, or each to its own file",
                words(first),
                words(other)
            ),
        })
    }

    /// # Errors
    /// [`RecordError::Option`]: not a single packet-v3 capture, workers, blocks above [`LARGEST_RECORD`], or a big-endian host.
    fn check_verbatim(&self) -> Result<()> {
        let refuse = |reason: String| Err(RecordError::Option { option: "--format verbatim", reason });
        if self.captures() != 1 {
            return refuse("it is for one capture; record several interfaces, or members, as pcapng".into());
        }
        if self.workers.is_some() {
            return refuse("it leaves nothing for --workers to encode".into());
        }
        for Source { method, options, .. } in &self.sources {
            if method.name() != packet_v3::METHOD.name {
                return refuse(format!("{method} has no blocks; give --method packet-v3"));
            }
            if options.block.0 > LARGEST_RECORD as u64 {
                return refuse(format!(
                    "blocks can have up to {} (--block)",
                    ByteCount(LARGEST_RECORD as u64)
                ));
            }
        }
        if cfg!(target_endian = "big") {
            return refuse("it is little-endian, and this host is not; record pcapng".into());
        }
        Ok(())
    }

    /// Number of captures of all interfaces.
    pub(super) fn captures(&self) -> usize {
        self.sources.iter().map(|source| source.members).sum()
    }

    /// The CPU of the thread with this number.
    pub(super) fn cpu_of(&self, thread: usize) -> Option<CpuId> {
        self.cpus.get(thread % self.cpus.len().max(1)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::Workers;
    use crate::worker_pool::WhenFull;

    #[test]
    fn queues_leave_half_of_a_ring_and_never_take_all_of_it() {
        let queue = |count, queue, batches| {
            let workers = Workers { count, queue, when_full: WhenFull::Drop };
            workers.pool(batches).map(|plan| plan.queue).map_err(|error| error.to_string())
        };
        assert_eq!([64, 36, 18, 12, 8, 5].map(|batches| queue(2, None, batches)), [8, 8, 3, 2, 1, 1].map(Ok));
        assert_eq!(queue(1, Some(62), 64), Ok(62));
        for (refused, named) in [
            (queue(2, None, 4), "--workers"),
            (queue(1, Some(63), 64), "--worker-queue"),
            (queue(0, None, 9), "at least one"),
        ] {
            assert!(refused.as_ref().is_err_and(|text| text.contains(named)), "{refused:?}");
        }
    }
}
