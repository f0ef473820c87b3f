//! The attached program and its counters.

use std::time::{Duration, Instant};

use capbench_sys::SysError;
use capbench_sys::bpf::object::{CAPABILITIES, Loaded, Opened, object_file, probe};
use capbench_sys::bpf::{XdpLink, XdpMode, link_state};
use capbench_sys::host::InterfaceIndex;
use capbench_sys::packet::PacketSocket;

use super::METHOD;
use super::marking::{Verdict, constants};
use crate::backends::absent::Nothing;
use crate::backends::socket_setup::promiscuous;
use crate::{Capture, CaptureError, Context, Interface, Result};
use capbench_model::counters::{Counters, Loss, ONE_RING_WITHOUT, WaitCounts};
use capbench_model::direction::Direction;
use capbench_model::mark::Tally;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::places::Place;
use capbench_model::running::{Engine, Running, TimeSource};
use capbench_model::units::ByteCount;

/// Interval between two checks of the counters: no wake-up comes, because no frame reaches user space.
const STEP: Duration = Duration::from_millis(10);

/// 134 million sequence numbers.
const DEFAULT_RECORD: ByteCount = ByteCount(16 << 20);

/// Sequence numbers from 2^38 on exceed every record (`count.bpf.c`).
const LARGEST_RECORD: ByteCount = ByteCount(1 << 35);

/// The program's counters on one CPU or on all: `struct counts` of `count.bpf.c`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    marked: u64,
    duplicates: u64,
    beyond: u64,
    other: u64,
    marked_octets: u64,
    other_octets: u64,
}

impl Counts {
    fn read(octets: &[u8]) -> Option<Self> {
        let (words, _) = octets.as_chunks::<8>();
        let [marked, duplicates, beyond, other, marked_octets, other_octets] =
            words.first_chunk()?.map(u64::from_ne_bytes);
        Some(Self { marked, duplicates, beyond, other, marked_octets, other_octets })
    }

    fn plus(self, more: Self) -> Self {
        Self {
            marked: self.marked + more.marked,
            duplicates: self.duplicates + more.duplicates,
            beyond: self.beyond + more.beyond,
            other: self.other + more.other,
            marked_octets: self.marked_octets + more.marked_octets,
            other_octets: self.other_octets + more.other_octets,
        }
    }

    fn frames(self) -> u64 {
        self.marked + self.other
    }

    fn tally(self) -> Tally {
        Tally {
            marked: self.marked - self.duplicates,
            duplicates: Some(self.duplicates),
            other: self.other,
            octets: self.marked_octets + self.other_octets,
        }
    }

    /// By the names of `count.bpf.c`.
    fn named(self, of: &str) -> [(String, u64); 6] {
        [
            ("marked", self.marked),
            ("duplicates", self.duplicates),
            ("beyond_record", self.beyond),
            ("other", self.other),
            ("marked_octets", self.marked_octets),
            ("other_octets", self.other_octets),
        ]
        .map(|(name, count)| (format!("{of}{name}"), count))
    }
}

/// A program that counts. Dropping it detaches the program.
#[derive(Debug)]
pub struct XdpCount {
    // Drop order: the program goes first.
    _link: XdpLink,
    program: Loaded,
    _promiscuous: Option<PacketSocket>,
    index: InterfaceIndex,
    context: Context,
    seen: u64,
    waits: WaitCounts,
    running: Running,
}

impl XdpCount {
    /// Loads the program and attaches it in the calling thread's namespace.
    ///
    /// # Errors
    /// Missing privilege, no such interface, another XDP program on it, or a driver without native XDP: there is no fallback
    /// to generic mode.
    pub fn open(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        let context = Context::new(METHOD.name, interface);
        let fail = |source| refused(&context, spec, source);
        let record = record(spec)?;
        let mode = if spec.has("generic") { XdpMode::Generic } else { XdpMode::Driver };
        let verdict = if spec.has("pass") { Verdict::Pass } else { Verdict::Drop };
        let constants = constants(options.mark.as_ref(), verdict)
            .map_err(|reason| CaptureError::Spec { method: spec.to_string(), reason })?;
        let mut opened = Opened::read("count", object_file!("count")).map_err(fail)?;
        opened.set_constants(&constants).map_err(fail)?;
        opened.set_entries("seen", (record.0 / 8) as u32).map_err(fail)?;
        let program = opened.load().map_err(fail)?;
        let promiscuous = options.promiscuous.then(|| promiscuous(interface)).transpose();
        let promiscuous = promiscuous.map_err(|source| context.fail(source))?;
        let link = program.attach(interface.index, mode).map_err(fail)?;
        let numbers = match &options.mark {
            Some(_) => format!("{} sequence numbers ({record}) known when repeated", record.0 * 8),
            None => "all frames alike".into(),
        };
        let fate = match verdict {
            Verdict::Drop => "frames of the trial end here, others go on to the stack",
            Verdict::Pass => "all frames go on to the stack",
        };
        Ok(Self {
            running: Running::described(
                METHOD.name,
                Engine::new("XDP program", [format!("{} mode", link.mode().word())]),
                format!("{numbers}; {fate}"),
                TimeSource::None,
            ),
            _link: link,
            program,
            _promiscuous: promiscuous,
            index: interface.index,
            context,
            seen: 0,
            waits: WaitCounts::default(),
        })
    }

    /// The counters of each possible CPU of the machine.
    fn per_cpu(&self) -> Result<Vec<Counts>> {
        let fail = |source| self.context.fail(source);
        let values = self.program.per_cpu("counts", 0).map_err(fail)?;
        let counts: Option<_> = values.iter().map(|value| Counts::read(value)).collect();
        counts.ok_or_else(|| fail(SysError::argument("BPF map counts", "its values are not as expected")))
    }

    fn total(&mut self) -> Result<Counts> {
        let total = self.per_cpu()?.into_iter().fold(Counts::default(), Counts::plus);
        if total.beyond > 0 && self.running.shortfalls.is_empty() {
            self.running.shortfalls.push(
                "frames with sequence numbers beyond its record were counted as often as they came: raise +record"
                    .into(),
            );
        }
        Ok(total)
    }

    /// Checks that frames can still come.
    fn look_after(&self) -> Result<()> {
        let lost = |reason: &str| self.context.fail(SysError::argument("the interface", reason));
        match link_state(self.index) {
            Ok(state) if !state.up => Err(lost("it is down")),
            Ok(state) if state.attached.is_none() => Err(lost("another process removed its XDP program")),
            Ok(_) => Ok(()),
            Err(error) if error.errno() == Some(ENODEV) => Err(lost("it went down and away")),
            Err(error) => Err(self.context.fail(error)),
        }
    }
}

const ENODEV: i32 = 19;

impl Capture for XdpCount {
    type Batch<'a> = Nothing;

    /// Waits until frames have been counted since the last call, or until the timeout. Never returns frames.
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Nothing>> {
        let start = Instant::now();
        loop {
            std::thread::sleep(STEP.min(timeout.saturating_sub(start.elapsed())));
            self.waits.waits += 1;
            let frames = self.total()?.frames();
            if frames != self.seen {
                self.seen = frames;
                return Ok(None);
            }
            self.waits.empty += 1;
            self.look_after()?;
            if start.elapsed() >= timeout {
                return Ok(None);
            }
        }
    }

    fn counters(&mut self) -> Result<Counters> {
        let (total, per_cpu) = (self.total()?, self.per_cpu()?);
        let mut raw = total.named("").to_vec();
        for (cpu, counts) in per_cpu.iter().enumerate().filter(|(_, counts)| counts.frames() > 0) {
            raw.extend(counts.named(&format!("cpu{cpu}.")));
        }
        let nothing = |place, source: &'static str| Loss { place, count: Some(0), source: source.into() };
        Ok(Counters {
            accepted: Some(total.frames()),
            losses: vec![
                nothing(Place::Xdp, "the XDP program counts every frame that reaches it"),
                nothing(Place::Ring, "frames are counted where they arrive and never queued"),
            ],
            without: ONE_RING_WITHOUT.to_vec(),
            raw,
        })
    }

    fn tally(&mut self) -> Result<Option<Tally>> {
        self.total().map(|counts| Some(counts.tally()))
    }

    fn waits(&self) -> WaitCounts {
        self.waits
    }

    fn running(&self) -> &Running {
        &self.running
    }
}

/// Checks settings and options.
pub(super) fn check(spec: &MethodSpec, _: &Interface, options: &CaptureOptions) -> Result<()> {
    if options.direction != Direction::In {
        let reason = "an XDP program sees frames that arrive, and no others".into();
        return Err(CaptureError::Option { option: "--direction", reason });
    }
    constants(options.mark.as_ref(), Verdict::Drop)
        .map_err(|reason| CaptureError::Spec { method: spec.to_string(), reason })?;
    record(spec).map(drop)
}

/// Whether the kernel supports the program here.
pub(super) fn supported() -> std::result::Result<(), String> {
    probe("count", object_file!("count"))
}

/// Memory for the record of sequence numbers.
fn record(spec: &MethodSpec) -> Result<ByteCount> {
    let refuse = |reason: String| Err(CaptureError::Spec { method: spec.to_string(), reason });
    let Some(text) = spec.value("record") else { return Ok(DEFAULT_RECORD) };
    match text.parse::<ByteCount>() {
        Ok(size) if size.0.is_multiple_of(8) && size < LARGEST_RECORD => Ok(size),
        Ok(size) => {
            refuse(format!("+record={size}: a multiple of 8 bytes below {LARGEST_RECORD} is possible"))
        }
        Err(reason) => refuse(format!("+record: {reason}")),
    }
}

/// Distinguishes a host or interface without support from a call that failed.
#[cold]
fn refused(context: &Context, spec: &MethodSpec, source: SysError) -> CaptureError {
    match source {
        SysError::Refused { .. } => CaptureError::unsupported(spec, &context.interface, source.to_string()),
        other => context.fail_for_want_of(CAPABILITIES, other),
    }
}
