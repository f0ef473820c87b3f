//! Writes frames and statistics to the output, each frame with its drop count.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use capbench_model::completeness::must_be_known;
use capbench_model::counters::Counters;
use capbench_model::places::Place;
use capbench_model::units::{ByteCount, SnapLength};
use capbench_sys::host::clock::realtime_ns;
use capbench_sys::packet::{Block, Frame};

use super::board::{CaptureBoard, InterfaceBoard, Reading};
use super::link::LinkCounts;
use super::plan::Plan;
use crate::error::Result;
use crate::file::{
    Booking, EarlierFiles, Encoder, FileFormat, HashAlgorithm, InterfaceDescription, InterfaceStatistics,
    LengthCounts, Lengths, LostAt, PacketFacts, RecordingPart, check_buffer, link_type_of, verbatim,
};
use crate::own_places;
use crate::writing::{EncodeRecord, FileEnds, NoRoom, Origin, Output, Recorded, WriteOptions, WriterGauge};

/// First and last records of a file: the statistics as last read.
#[derive(Debug)]
struct Ends {
    encoder: Encoder,
    statistics: Vec<InterfaceStatistics>,
    boards: Vec<(Arc<InterfaceBoard>, Vec<Arc<CaptureBoard>>)>,
    /// Absent while the first file is being opened.
    gauge: Option<WriterGauge>,
    /// Whether there are worker queues, which can lose frames.
    has_workers: bool,
    /// When the recording ended.
    end_ns: Option<u64>,
    /// Packets until the limit.
    left: u64,
    limit: u64,
    began_ns: u64,
    earlier_files: EarlierFiles,
}

impl FileEnds for Ends {
    fn header(&mut self, out: &mut Vec<u8>) {
        let Self { began_ns, earlier_files, .. } = *self;
        let part = RecordingPart { began_ns, packets_before: self.limit - self.left, earlier_files };
        out.extend(self.encoder.header_with_comment(&part.to_string()));
    }

    fn trailer(&mut self, out: &mut Vec<u8>) {
        self.take_statistics();
        for statistics in &self.statistics {
            out.extend(self.encoder.statistics(statistics).unwrap_or_default());
        }
    }
}

impl Ends {
    fn take_statistics(&mut self) {
        let Self { boards, gauge, statistics, has_workers, end_ns, .. } = self;
        let written = gauge.as_ref().map(WriterGauge::read).unwrap_or_default();
        for (number, ((board, captures), statistics)) in boards.iter().zip(statistics).enumerate() {
            let readings: Vec<_> = captures.iter().map(|capture| capture.reading()).collect();
            let counters = Counters::sum(readings.iter().map(|reading| &reading.counters));
            let link = readings.first().map_or_else(LinkCounts::default, |reading| reading.link);
            let went_down =
                link.went_down(captures.iter().map(|capture| capture.went_down.load(Relaxed)).max());
            let mut counted = Reading::losses(&readings);
            // An unknown count of the stack is listed where it must be known.
            counted.retain(|loss| {
                loss.place != Place::Stack || loss.count.is_some() || must_be_known(loss.place, went_down > 0)
            });
            let mut losses: Vec<_> = LostAt::of(&counted).collect();
            if *has_workers {
                let lost = captures.iter().map(|capture| capture.gaps.frames()).sum();
                let place = own_places::WORKERS.key().into();
                losses.push(LostAt { place, booking: Booking::Own, count: Some(lost) });
            }
            losses.push(LostAt {
                place: own_places::WRITER.key().into(),
                booking: Booking::Own,
                count: Some(written.interfaces.get(number).map_or(0, |packets| packets.lost())),
            });
            let read_ns = readings.iter().map(|reading| reading.time_ns).max();
            statistics.time_ns = end_ns.or(read_ns).unwrap_or(statistics.time_ns);
            statistics.end_ns = *end_ns;
            statistics.received = link.received;
            statistics.accepted = counters.accepted;
            statistics.delivered = Some(match end_ns {
                Some(_) => captures.iter().map(|capture| capture.delivered.load(Relaxed)).sum(),
                None => readings.iter().map(|reading| reading.delivered).sum(),
            });
            statistics.book(&losses);
            statistics.note_cut(&board.lengths());
            if end_ns.is_some() && captures.iter().all(|capture| capture.is_shut()) {
                statistics.note_closed();
            }
        }
    }
}

#[derive(Debug, Default)]
struct InterfaceState {
    board: Arc<InterfaceBoard>,
    /// Drops that its next frame reports.
    pending_drops: u64,
    reported: u64,
    /// Of the packets passed to the output.
    lengths: LengthCounts,
    past: u64,
}

impl InterfaceState {
    /// Counts a frame that the output refused. Returns whether the recording has ended.
    #[cold]
    fn refused(&mut self, refusal: NoRoom, output: &Output) -> bool {
        match refusal {
            NoRoom::Full | NoRoom::TooLong => self.pending_drops += 1,
            // If the last file is complete, the output does not count these packets. If writing failed, it does.
            NoRoom::Ended => self.past += u64::from(output.is_complete()),
        }
        refusal == NoRoom::Ended
    }
}

/// The record of a frame that is not encoded yet.
#[derive(Debug)]
pub struct FrameToEncode<'a> {
    /// The encoder of its file.
    pub encoder: &'a Encoder,
    /// The frame.
    pub frame: &'a Frame<'a>,
    /// What is recorded beside its octets.
    pub facts: PacketFacts,
}

impl EncodeRecord for FrameToEncode<'_> {
    #[inline(always)]
    fn encode(&self, room: &mut [u8]) -> Option<usize> {
        self.encoder.encode(self.frame, &self.facts, room)
    }
}

#[derive(Debug)]
pub(super) struct FileRecorder {
    encoder: Encoder,
    ends: Ends,
    output: Output,
    interfaces: Vec<InterfaceState>,
    has_ended: bool,
    packet_buffered: bool,
    hash: HashAlgorithm,
    /// Empty buffers that the next batch of a capture may need: the size of a block, which exceeds the batches of most methods.
    batch: usize,
    /// Whether a block can have frames that are longer than a file keeps, and that the user did not ask to cut.
    may_be_too_long: bool,
}

impl FileRecorder {
    /// Opens the first file. `descriptions` and `boards` are those of the interfaces, in the order of the plan.
    pub(super) fn open(
        plan: &Plan,
        descriptions: &[InterfaceDescription],
        boards: &[(Arc<InterfaceBoard>, Vec<Arc<CaptureBoard>>)],
    ) -> Result<Self> {
        let link_types = plan.sources.iter().map(|source| link_type_of(source.interface.layer));
        let encoder = match plan.format {
            // All sources have the same link type: the plan was checked.
            FileFormat::Pcap => {
                Encoder::pcap(link_type_of(plan.sources[0].interface.layer), plan.snap_length)
            }
            FileFormat::Pcapng | FileFormat::Verbatim => {
                let interfaces = link_types.zip(descriptions);
                Encoder::pcapng_of_links(&plan.section, interfaces, plan.snap_length, plan.hash)?
            }
        };
        let encoder = match plan.format {
            FileFormat::Pcapng => encoder.without_flags_of_received(),
            FileFormat::Verbatim => encoder.verbatim(),
            FileFormat::Pcap => encoder,
        };
        check_buffer(plan.write.buffer, &encoder)?;
        let now = realtime_ns();
        let statistics = (0..plan.sources.len() as u32).map(|interface| InterfaceStatistics {
            interface,
            time_ns: now,
            start_ns: Some(now),
            ..InterfaceStatistics::default()
        });
        let mut ends = Ends {
            encoder: encoder.clone(),
            statistics: statistics.collect(),
            boards: boards.to_vec(),
            gauge: None,
            has_workers: plan.workers.is_some(),
            end_ns: None,
            left: plan.packets.unwrap_or(u64::MAX),
            limit: plan.packets.unwrap_or(u64::MAX),
            began_ns: now,
            earlier_files: plan.write.earlier_files(),
        };
        let mut options = WriteOptions { interfaces: plan.sources.len(), ..plan.write.clone() };
        if plan.format == FileFormat::Verbatim {
            // Data that waits for the writer occupies the ring.
            options.gather = options.gather.min(ByteCount(plan.sources[0].options.ring.0 / 4));
        }
        let output = Output::open(&options, encoder.extent(), now, &mut ends)?;
        ends.gauge = Some(output.gauge());
        let blocks = plan.sources.iter().map(|source| source.options.block);
        let batch = output.buffers_for(blocks.max().unwrap_or(ByteCount(1)));
        let state = |(board, _): &(Arc<InterfaceBoard>, _)| InterfaceState {
            board: Arc::clone(board),
            ..InterfaceState::default()
        };
        Ok(Self {
            encoder,
            ends,
            output,
            interfaces: boards.iter().map(state).collect(),
            has_ended: false,
            may_be_too_long: plan.sources[0].interface.largest_frame > SnapLength::EVERYTHING.octets()
                && !plan.snap_length.cuts(),
            packet_buffered: plan.packet_buffered || options.is_standard_output(),
            hash: plan.hash,
            batch,
        })
    }

    /// When the first file was begun, ns since the epoch.
    pub(super) fn began_ns(&self) -> u64 {
        self.ends.began_ns
    }

    pub(super) fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// A reader of the writer's counters, for any thread.
    pub(super) fn gauge(&self) -> WriterGauge {
        self.output.gauge()
    }

    /// Notes `frames` lost before the next frame of the interface.
    pub(super) fn lost(&mut self, interface: u32, frames: u64) {
        self.interfaces[interface as usize].pending_drops += frames;
    }

    #[inline(always)]
    pub(super) fn packet(&mut self, interface: u32, queue: Option<u32>, frame: &Frame<'_>) {
        let lengths = self.encoder.lengths(frame);
        self.put(interface, frame.time_ns, lengths, |encoder, dropped| FrameToEncode {
            encoder,
            frame,
            facts: PacketFacts { interface, queue, dropped },
        });
    }

    /// Records a frame whose octets are its record, encoded by [`FileRecorder::encoder`] without a drop count.
    #[inline]
    pub(super) fn record(&mut self, interface: u32, frame: &Frame<'_>) {
        let lengths = self.encoder.lengths_in(frame.data).unwrap_or_default();
        self.put(interface, frame.time_ns, lengths, |encoder, dropped| {
            move |room: &mut [u8]| match dropped {
                Some(dropped) => encoder.with_drop_count(frame.data, dropped, room),
                None => {
                    room.get_mut(..frame.data.len())?.copy_from_slice(frame.data);
                    Some(frame.data.len())
                }
            }
        });
    }

    /// Records a frame. `record` is given the drops that it has to report.
    #[inline(always)]
    fn put<'a, R: EncodeRecord>(
        &'a mut self,
        interface: u32,
        time_ns: u64,
        lengths: Lengths,
        record: impl FnOnce(&'a Encoder, Option<u64>) -> R,
    ) {
        let Self { encoder, ends, output, interfaces, has_ended, .. } = self;
        let state = &mut interfaces[interface as usize];
        if ends.left == 0 {
            state.past += 1;
            return;
        }
        let pending_drops = state.pending_drops;
        let dropped = (pending_drops > 0).then_some(pending_drops);
        let origin = Origin { interface, time_ns };
        match output.packet(origin, ends, record(encoder, dropped)) {
            Ok(()) => {
                state.reported += pending_drops;
                state.pending_drops = 0;
                state.lengths.add(lengths, encoder.snap_length());
                ends.left -= 1;
            }
            Err(refusal) => *has_ended |= state.refused(refusal, output),
        }
    }

    /// Records a ring block straight from the ring; all its frames belong to interface 0.
    /// Errors: The block, if it cannot be in the file as a whole: the caller then records its frames one by one. So it is with a
    /// frame that the kernel cut because it is longer than a block: it fills its block to the last octet (tpacket_rcv), or because no file keeps more octets. The frames
    /// of blocks recorded here are as long as the filter left them.
    pub(super) fn block(&mut self, mut block: Block, first_ns: u64) -> std::result::Result<(), Block> {
        let frames = block.len() as u64;
        if frames > self.ends.left {
            return Err(block);
        }
        let is_too_long = |frame: Frame<'_>| frame.wire_length > SnapLength::EVERYTHING.octets();
        if self.may_be_too_long && block.frames().any(is_too_long) {
            return Err(block);
        }
        let padding = verbatim::padding((self.output.file_bytes() % verbatim::PAGE as u64) as usize);
        if !padding.is_empty() && self.output.record(&padding).is_err() {
            return Err(block);
        }
        let times = (first_ns, block.closed_ns().max(first_ns));
        let state = &mut self.interfaces[0];
        let Some(length) = verbatim::enclose(&mut block, state.pending_drops, self.hash) else {
            return Err(block);
        };
        self.output.block(block, length, times)?;
        state.reported += state.pending_drops;
        state.pending_drops = 0;
        self.ends.left -= frames;
        Ok(())
    }

    /// Whether the requested number of packets is recorded.
    pub(super) fn is_full(&self) -> bool {
        self.ends.left == 0
    }

    /// Whether the writer has no room for a batch.
    #[inline]
    pub(super) fn is_short(&self) -> bool {
        self.output.is_short_of(self.batch)
    }

    /// As `is_short`, after waiting up to `timeout` for room.
    pub(super) fn stays_short(&self, timeout: Duration) -> bool {
        self.output.stays_short_of(self.batch, timeout)
    }

    /// Whether the recording accepts no more packets.
    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        self.ends.left == 0 || self.has_ended || self.output.has_ended()
    }

    /// Publishes counts on the board. With `packet_buffered`, also flushes to readers. Call it after every few packets, and when
    /// there are none.
    #[inline]
    pub(super) fn publish_and_flush(&mut self) {
        if self.packet_buffered {
            self.output.flush_if_idle();
        }
        self.publish();
    }

    /// Ends a file whose interval is over. Call it when there are no packets.
    pub(super) fn end_interval(&mut self) {
        self.output.end_interval(realtime_ns(), &mut self.ends);
    }

    pub(super) fn flush(&mut self) {
        self.output.flush();
    }

    /// Publishes the counts of this thread on the board.
    pub(super) fn publish(&self) {
        for InterfaceState { board, pending_drops, reported, lengths, past } in &self.interfaces {
            board.pending_drops.store(*pending_drops, Relaxed);
            board.reported.store(*reported, Relaxed);
            board.set_lengths(lengths);
            board.past.store(*past, Relaxed);
        }
    }

    /// Writes the current counters of all interfaces to the file.
    pub(super) fn statistics(&mut self) {
        self.publish();
        self.ends.take_statistics();
        for statistics in &self.ends.statistics {
            let Some(record) = self.encoder.statistics(statistics) else { continue };
            // If there is no room, the next statistics contain these counts anyway.
            let _ = self.output.record(&record);
        }
        self.output.flush_if_idle();
    }

    /// Ends the file with the current counters, and waits until everything is written.
    pub(super) fn finish(mut self) -> Recorded {
        self.publish();
        self.ends.end_ns = Some(realtime_ns());
        self.output.finish(&mut self.ends)
    }
}
