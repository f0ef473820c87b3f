//! The account of a recording as data: what `record --json` prints. `docs/record.schema.json` is its schema.

use capbench_capture::Occupancy;
use capbench_sys::host::clock;
use schemars::JsonSchema;
use serde::Serialize;

use super::ledger::rows_of;
use super::{Account, End, InterfaceAccount};

/// Version of [`Document`].
pub const SCHEMA_VERSION: u32 = 1;

/// The account of a recording.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document {
    /// Increases when a reader of older documents would misunderstand newer ones.
    schema_version: u32,
    /// Why the recording ended.
    end: Ending,
    /// Wall-clock time at the start, in nanoseconds since 1970.
    began_unix_ns: u64,
    /// Wall-clock time of this account, in nanoseconds since 1970.
    unix_ns: u64,
    /// The same moment by CLOCK_MONOTONIC, in nanoseconds.
    monotonic_ns: u64,
    /// Length of the recording in seconds.
    duration_s: f64,
    /// Packets in the files.
    written: u64,
    /// Packets lost at a known place.
    lost: u64,
    /// Packets that never were in a file on the disk: lost at a known place, or unexplained.
    missing: u64,
    /// Packets that are not whole in the file, though -s allows more octets; after failed writes also such packets that are in no
    /// file.
    cut: u64,
    /// `missing` and `cut` as a share of the accepted packets and those lost before the method: 1 is all. `--max-loss` limits it.
    /// After failed writes an upper limit: a cut packet that is in no file counts in both.
    loss_ratio: f64,
    /// Packets in files that the ring (-W) replaced, or that --keep-files or --keep-free removed. They are not lost.
    removed: u64,
    /// `removed` as a share of the same packets as `loss_ratio`.
    removed_ratio: f64,
    /// Number of files.
    files: u64,
    /// Octets of the files before compression.
    bytes: u64,
    /// Octets of the files as stored.
    stored_bytes: u64,
    /// Write buffers.
    buffers: u64,
    /// Most write buffers in use at a time.
    most_buffers_in_use: u64,
    /// Time of the longest write in seconds.
    longest_write_s: f64,
    /// Whether `written` means on the disk; false with --no-sync.
    synced: bool,
    /// Old files that --keep-files or --keep-free removed.
    deleted_files: u64,
    /// Their octets on the disk.
    deleted_bytes: u64,
    /// The merge of several captures; null if there was one capture.
    merge: Option<MergeDocument>,
    /// The account of each interface.
    interfaces: Vec<InterfaceDocument>,
}

/// Why a recording ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Ending {
    /// A signal, or --duration.
    Asked,
    /// -c packets were captured.
    Packets,
    /// -W files were written.
    Files,
    /// The program that reads the output ended.
    ReaderGone,
    /// A capture or the output failed.
    Failed,
}

/// The merge of several captures into one stream in the order of time.
#[derive(Debug, Serialize, JsonSchema)]
struct MergeDocument {
    /// Batches written before every interface had packets as late, because memory or time was up.
    forced: u64,
    /// Most batches that waited at a time.
    most_held_batches: u64,
    /// Most octets that waited at a time.
    most_held_octets: u64,
    /// How often a clock was set back.
    clock_set_back: u64,
    /// How often a clock was set forward.
    clock_set_forward: u64,
}

/// The account of an interface. Null is unknown; it is not 0.
#[derive(Debug, Serialize, JsonSchema)]
struct InterfaceDocument {
    /// Its name.
    interface: String,
    /// The capture method.
    method: String,
    /// Captures that share its packets.
    members: usize,
    /// Packets that the interface received.
    received: Option<u64>,
    /// Packets that the method accepted, lost ones included.
    accepted: Option<u64>,
    /// Packets lost in the interface.
    lost_by_interface: Option<u64>,
    /// Packets that an XDP program took in front of the method. Also null if no program was seen: with a program the ledger has
    /// a row of it.
    lost_by_xdp: Option<u64>,
    /// Packets lost between the interface and the method.
    lost_by_stack: Option<u64>,
    /// Packets lost in the ring or queue of the method.
    lost_by_kernel: Option<u64>,
    /// Packets that capbench read from the method.
    taken: u64,
    /// Packets lost in the queues of workers.
    lost_in_queues: Option<u64>,
    /// Packets that a filter run by capbench left out; null if the kernel filters, or nothing does.
    filtered: Option<u64>,
    /// Packets that came after the limit was reached.
    past_end: u64,
    /// Packets in the files.
    written: u64,
    /// Packets without a free write buffer, or after a failed write.
    refused_by_writer: u64,
    /// Packets whose write failed.
    unwritten: u64,
    /// Packets in files for which the disk reported an error.
    not_known_on_disk: u64,
    /// Packets in files that the ring (-W) replaced.
    overwritten: u64,
    /// Packets in old files that --keep-files or --keep-free removed.
    deleted: u64,
    /// Written packets that are not yet known to be on the disk.
    not_yet_on_disk: u64,
    /// Packets read that are in no other count; at the end other than 0 is a defect of capbench.
    in_hand: i64,
    /// Packets accepted that are neither read nor lost at a known place; null if a count is unknown.
    unexplained: Option<i64>,
    /// Packets that are not whole in the file, though -s allows more octets; after failed writes also such packets that are in no
    /// file.
    cut: u64,
    /// Their octets that are not in the file.
    cut_octets: u64,
    /// Octets of the packets passed to the writer, on the wire without FCS; null for verbatim files. In the file are these less
    /// `cut_octets` and `snapped_octets`.
    octets: Option<u64>,
    /// Octets behind the snap length that was asked for; null for verbatim files.
    snapped_octets: Option<u64>,
    /// Fill level of the ring in the last second, as a part of 1.
    ring_fill: Option<f64>,
    /// Highest fill level of the ring, as a part of 1.
    ring_fullest: Option<f64>,
    /// Lost packets that the file reports with the packet that follows; null if the format cannot.
    drops_told: Option<u64>,
    /// Lost packets after the last packet, which only the statistics of the file report.
    drops_behind_last: u64,
    /// Packets written out of time order by the merge; null without a merge.
    late: Option<u64>,
    /// By how many nanoseconds up to; null if none is late.
    latest_ns: Option<u64>,
    /// How often the interface went down.
    went_down: u64,
    /// The ledger as `record` prints it.
    ledger: Vec<RowDocument>,
}

/// A row of the ledger.
#[derive(Debug, Serialize, JsonSchema)]
struct RowDocument {
    /// What is counted.
    place: String,
    /// Packets; null is unknown.
    count: Option<i64>,
    /// The counter, or how it is computed.
    source: String,
}

impl Document {
    /// The account of a recording that ended so.
    pub fn new(account: &Account, end: End) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            end: match end {
                End::Asked => Ending::Asked,
                End::Packets => Ending::Packets,
                End::Files => Ending::Files,
                End::ReaderGone => Ending::ReaderGone,
                End::Failed => Ending::Failed,
            },
            began_unix_ns: account.began_ns,
            unix_ns: clock::realtime_ns(),
            monotonic_ns: clock::monotonic_ns(),
            duration_s: account.time.as_secs_f64(),
            written: account.written(),
            lost: account.lost(),
            missing: account.missing(),
            cut: account.interfaces.iter().map(|interface| interface.cut).sum(),
            loss_ratio: account.loss_ratio(),
            removed: account.removed(),
            removed_ratio: account.removed_ratio(),
            files: account.writer.files,
            bytes: account.writer.bytes,
            stored_bytes: account.writer.stored_bytes,
            buffers: account.writer.pool,
            most_buffers_in_use: account.writer.most_in_use,
            longest_write_s: account.writer.longest_write.as_secs_f64(),
            synced: account.writer.syncs,
            deleted_files: account.writer.deleted_files,
            deleted_bytes: account.writer.deleted_bytes,
            merge: account.merge.as_ref().map(|tally| MergeDocument {
                forced: tally.forced,
                most_held_batches: tally.most_held_batches,
                most_held_octets: tally.most_held_octets,
                clock_set_back: tally.clock_set_back,
                clock_set_forward: tally.clock_set_forward,
            }),
            interfaces: account.interfaces.iter().map(InterfaceDocument::of).collect(),
        }
    }
}

impl InterfaceDocument {
    fn of(interface: &InterfaceAccount) -> Self {
        let row = |(place, count, source)| RowDocument { place, count, source };
        Self {
            interface: interface.name.clone(),
            method: interface.method.to_string(),
            members: interface.members,
            received: interface.received,
            accepted: interface.accepted,
            lost_by_interface: interface.lost_by_interface(),
            lost_by_xdp: interface.lost_by_xdp(),
            lost_by_stack: interface.lost_by_stack(),
            lost_by_kernel: interface.lost_by_kernel(),
            taken: interface.delivered,
            lost_in_queues: interface.lost_in_queues(),
            filtered: interface.filtered,
            past_end: interface.past_end,
            written: interface.output.written,
            refused_by_writer: interface.output.refused,
            unwritten: interface.output.unwritten,
            not_known_on_disk: interface.output.sync_failed,
            overwritten: interface.output.overwritten,
            deleted: interface.output.deleted,
            not_yet_on_disk: interface.output.unsynced,
            in_hand: interface.in_hand(),
            unexplained: interface.unexplained(),
            cut: interface.cut,
            cut_octets: interface.cut_octets,
            octets: interface.octets,
            snapped_octets: interface.snapped_octets,
            ring_fill: interface.fill.map(Occupancy::share),
            ring_fullest: interface.fullest.map(Occupancy::share),
            drops_told: interface.reported,
            drops_behind_last: interface.behind_last,
            late: interface.merged.map(|merged| merged.late),
            latest_ns: interface.merged.and_then(|merged| merged.latest_ns),
            went_down: interface.went_down,
            ledger: rows_of(interface, false).into_iter().map(row).collect(),
        }
    }
}
