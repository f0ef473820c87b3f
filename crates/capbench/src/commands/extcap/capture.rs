//! Captures into the pipe that Wireshark reads, until it goes away or says so.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use capbench_capture::file::{
    Encoder, HashAlgorithm, InterfaceDescription, InterfaceFilter, InterfaceStatistics, LostAt, PacketFacts,
    PcapngEncoder, SectionDescription,
};
use capbench_capture::filter::{Beside, FilterText, Optimise, SoftwareFilter, Tags};
use capbench_capture::writing::{
    Ending, FileEnds, NoRoom, Origin, Output, Record, WriteOptions, WriterGauge,
};
use capbench_capture::{
    Capture, CaptureError, CaptureOptions, Counters, Filter, Frame, Interface, MethodSpec, SnapLength, Taker,
    Visitor, methods, open_with,
};
use capbench_sys::host::clock;
use capbench_sys::host::filesystem::NONBLOCK;

use crate::exit::Exit;
use crate::stop::Stop;

/// How long one wait for frames lasts; bounds how late the end comes.
const TICK: Duration = Duration::from_millis(50);
/// How often counters go into the pipe, which also shows whether anybody reads it.
const STATISTICS: Duration = Duration::from_secs(1);
/// How long frames are taken that the method still holds at the end.
const LAST_LOOK: Duration = Duration::from_millis(200);
/// How long until it is looked again whether the pipe has a reader: no event tells.
const READER: Duration = Duration::from_millis(10);

/// Captures from an interface into the file, a pipe mostly, until nobody reads it any more or the user stops it.
pub fn capture_to(
    path: &Path,
    interface: &Interface,
    method: &MethodSpec,
    mut options: CaptureOptions,
    filter: Option<&str>,
    stop: &Stop,
) -> Result<Exit> {
    let snap = options.snap_length;
    let compile = |text: &str| FilterText::of_expression(text)?.compile(interface, snap, Optimise::Yes);
    let filter = filter.map(compile).transpose()?;
    let mut software = None;
    if methods::find(method)?.socket_filter {
        options.filter.clone_from(&filter);
    } else if let Some(filter) = &filter {
        // A filter that runs here has to see whole frames.
        options.snap_length = SnapLength::EVERYTHING;
        software = Some(filter.clone());
    }
    let recorder = Recorder { path, interface, filter, software, snap, stop };
    open_with(method, interface, &options, recorder)?
}

/// Records whichever method it is given.
struct Recorder<'a> {
    path: &'a Path,
    interface: &'a Interface,
    filter: Option<Filter>,
    software: Option<Filter>,
    snap: SnapLength,
    stop: &'a Stop,
}

impl Visitor for Recorder<'_> {
    type Output = Result<Exit>;

    fn visit<C: Capture>(self, mut capture: C) -> Result<Exit> {
        let Self { path, interface, software, snap, stop, .. } = &self;
        let running = capture.running();
        let beside = Beside::tags(Tags::found(running, &interface.name));
        let software = software.as_ref().map(|filter| filter.in_software(*snap, &beside)).transpose()?;
        let mut description = self.description();
        description.explain(running);
        let section = SectionDescription {
            application: Some(format!("capbench {}", env!("CARGO_PKG_VERSION"))),
            ..SectionDescription::default()
        };
        let encoder = PcapngEncoder::new(&section, &[description], *snap, HashAlgorithm::default())?;
        let Some(held) = pipe_with_reader(path, stop)? else { return Ok(Exit::Done) };
        let mut ends = Ends { header: encoder.header(), trailer: Vec::new() };
        let start_ns = clock::realtime_ns();
        let output = Output::open(&WriteOptions::new(*path), extent, start_ns, &mut ends)?;
        drop(held);
        let gauge = output.gauge();
        let mut laying = Laying { output, ends, encoder, software, delivered: 0, refused: 0 };
        let mut failure = take_all(&mut capture, &mut laying, start_ns, stop);
        match capture.counters() {
            Ok(counters) => {
                let last = laying.statistics(start_ns, &counters, &gauge, true);
                laying.ends.trailer = laying.encoder.statistics(&last).unwrap_or_default();
            }
            Err(error) => failure = failure.or(Some(error)),
        }
        let Laying { output, mut ends, .. } = laying;
        match output.finish(&mut ends).ending {
            Ending::Failed(error) => Err(error.into()),
            Ending::Finished | Ending::FileLimit | Ending::ReaderGone => {
                failure.map_or(Ok(Exit::Done), |error| Err(error.into()))
            }
        }
    }
}

impl Recorder<'_> {
    fn description(&self) -> InterfaceDescription {
        let filter = self.filter.as_ref().map(|filter| match filter.expression() {
            Some(expression) => InterfaceFilter::Expression(expression.text.clone()),
            None => InterfaceFilter::Program(filter.program().to_vec()),
        });
        InterfaceDescription {
            name: Some(self.interface.name.clone()),
            filter,
            ..InterfaceDescription::default()
        }
    }
}

/// Takes frames until the end, and then those that the method still holds. What made it fail, if anything did.
fn take_all<C: Capture>(
    capture: &mut C,
    laying: &mut Laying,
    start_ns: u64,
    stop: &Stop,
) -> Option<CaptureError> {
    let gauge = laying.output.gauge();
    let mut next = Instant::now() + STATISTICS;
    let mut failure = None;
    while failure.is_none() && !stop.is_wanted() && !laying.output.has_ended() {
        failure = capture.take_with(TICK, laying).err();
        if failure.is_none() && Instant::now() >= next {
            next += STATISTICS;
            match capture.counters() {
                Ok(counters) => laying.tell(start_ns, &counters, &gauge),
                Err(error) => failure = Some(error),
            }
        }
        laying.output.flush_if_idle();
    }
    let until = Instant::now() + LAST_LOOK;
    while Instant::now() < until && !laying.output.has_ended() {
        match capture.take_with(TICK, laying) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return failure.or(Some(error)),
        }
    }
    failure
}

/// The pipe, once somebody reads it: opened then, it does not wait, and while this lives the reader sees no end. `None` when
/// the user stops it before.
///
/// Opening a pipe waits for its reader, and a signal does not end that: so it is tried again and again.
fn pipe_with_reader(path: &Path, stop: &Stop) -> Result<Option<File>> {
    // ENXIO (open(2)).
    const NO_READER: i32 = 6;
    let mut how = OpenOptions::new();
    how.write(true).create(true).truncate(false).custom_flags(NONBLOCK);
    loop {
        match how.open(path) {
            Ok(pipe) => return Ok(Some(pipe)),
            Err(error) if error.raw_os_error() == Some(NO_READER) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(error).with_context(|| format!("--fifo {}: cannot open it", path.display()));
            }
        }
        if stop.is_wanted() {
            return Ok(None);
        }
        thread::sleep(READER);
    }
}

fn extent(octets: &[u8]) -> Option<Record> {
    let extent = PcapngEncoder::extent(octets)?;
    Some(Record { length: extent.length, packet_of: extent.packet_of, packets: extent.frames })
}

/// What the file begins and ends with.
struct Ends {
    header: Vec<u8>,
    trailer: Vec<u8>,
}

impl FileEnds for Ends {
    fn header(&mut self, out: &mut Vec<u8>) {
        out.extend(&self.header);
    }

    fn trailer(&mut self, out: &mut Vec<u8>) {
        out.extend(&self.trailer);
    }
}

/// Lays frames into the output.
struct Laying {
    output: Output,
    ends: Ends,
    encoder: PcapngEncoder,
    software: Option<SoftwareFilter>,
    /// Frames that the output took.
    delivered: u64,
    /// Frames since the last one that it took, for which it had no room.
    refused: u64,
}

impl Taker for Laying {
    fn take(&mut self, frame: &Frame<'_>) {
        let mut frame = *frame;
        if let Some(filter) = &mut self.software {
            let Some(kept) = filter.pass(&frame) else { return };
            frame.data = &frame.data[..frame.data.len().min(kept.octets() as usize)];
        }
        let dropped = (self.refused > 0).then_some(self.refused);
        let facts = PacketFacts { dropped, ..PacketFacts::default() };
        let origin = Origin { interface: 0, time_ns: frame.time_ns };
        let encoder = &self.encoder;
        match self.output.packet(origin, &mut self.ends, |room| encoder.encode(&frame, &facts, room)) {
            Ok(()) => {
                self.delivered += 1;
                self.refused = 0;
            }
            Err(NoRoom::Full | NoRoom::TooLong) => self.refused += 1,
            Err(NoRoom::Ended) => {}
        }
    }
}

impl Laying {
    /// Counters up to now.
    fn statistics(
        &self,
        start_ns: u64,
        counters: &Counters,
        gauge: &WriterGauge,
        is_last: bool,
    ) -> InterfaceStatistics {
        let now_ns = clock::realtime_ns();
        let passed = self.software.as_ref().map(SoftwareFilter::passed);
        let mut statistics = InterfaceStatistics {
            time_ns: now_ns,
            start_ns: Some(start_ns),
            end_ns: is_last.then_some(now_ns),
            accepted: passed.or(counters.accepted),
            delivered: Some(self.delivered),
            ..InterfaceStatistics::default()
        };
        let mut counters = counters.clone();
        counters.losses.push(gauge.read().loss());
        statistics.book(&LostAt::of(&counters).collect::<Vec<_>>());
        statistics
    }

    /// Writes them. Where there is no room they wait for the next time, or the end.
    fn tell(&mut self, start_ns: u64, counters: &Counters, gauge: &WriterGauge) {
        let statistics = self.statistics(start_ns, counters, gauge, false);
        if let Some(record) = self.encoder.statistics(&statistics) {
            let _ = self.output.record(&record);
        }
    }
}
