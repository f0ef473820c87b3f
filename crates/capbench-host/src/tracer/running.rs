//! The attached tracer.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use capbench_sys::SysError;
use capbench_sys::bpf::object::{Loaded, Opened, Traces, object_file};
use capbench_sys::bpf::statistics::{Runs, measure_run_times};
use capbench_sys::host::{CpuId, clock, namespace};

use super::cost::{LARGEST_SHARE, Measurements, Spent, TracerCost};
use super::kernel_types::{KERNEL_TYPES, KernelTypes};
use super::reasons::ReasonNames;
use super::symbols::Symbols;
use super::{DropKind, InterfaceTrace, MOST_WATCHED, NetRxTime, Scope, Stall, Unavailable};
use crate::{HostError, Result};

/// MOST_REASONS of drops.bpf.c.
const MOST_REASONS: usize = 256;

/// Detects CPU stalls. A future kernel may trace timers differently.
const TIMER_TRACEPOINT: &str = "hrtimer_expire_entry";
/// STALLS of softirq.bpf.c.
const STALLS: u64 = 64;
/// Offset of `ticks` in `struct work` of softirq.bpf.c.
const TICKS: usize = 7;

/// Tracepoints that not every kernel has.
const OPTIONAL: [&str; 3] = ["xdp_exception", "xdp_redirect_err", "xdp_redirect_map_err"];

/// Programs on tracepoints; dropping this detaches them.
#[derive(Debug)]
pub struct Tracer {
    // Fields are dropped in this order: the programs leave their tracepoints first.
    /// Or why drops are not traced now.
    drop_traces: Switched,
    /// Attached while trials time the receive softirq; or why none may.
    softirq_traces: Mutex<std::result::Result<Option<Traces>, String>>,
    _timer_traces: Option<Traces>,
    drops: Loaded,
    /// `None` if only drops are traced.
    softirq: Option<Loaded>,
    reasons: Option<ReasonNames>,
    symbols: Symbols,
    /// Whether the programs know the threads that capture.
    knows_captures: bool,
    /// The measured cost, or why it could not be measured.
    cost: OnceLock<std::result::Result<TracerCost, String>>,
}

impl Tracer {
    /// Loads and attaches all programs, and watches these interfaces.
    ///
    /// # Errors
    /// [`Unavailable`] if the kernel does not describe its types, the process lacks CAP_BPF or CAP_PERFMON on the host, or the
    /// kernel refuses a program.
    pub fn start(scopes: &[Scope]) -> std::result::Result<Self, Unavailable> {
        Self::start_on(Path::new(KERNEL_TYPES), scopes, true)
    }

    /// The same, with the kernel's type description in another file. Without the softirq's programs the time in the receive
    /// softirq is unknown and costs nothing.
    pub fn start_on(
        types: &Path,
        scopes: &[Scope],
        with_softirq: bool,
    ) -> std::result::Result<Self, Unavailable> {
        if !types.exists() {
            let reason = format!(
                "the kernel does not describe its types: there is no {} (CONFIG_DEBUG_INFO_BTF)",
                types.display()
            );
            return Err(Unavailable { reason });
        }
        Self::load(types, scopes, with_softirq).map_err(|error| Unavailable { reason: reason(&error) })
    }

    fn load(types: &Path, scopes: &[Scope], with_softirq: bool) -> std::result::Result<Self, SysError> {
        let types = KernelTypes::read(types)?;
        // The enumeration and the tracepoint's argument exist since the same version (Linux 5.17).
        let reasons = ReasonNames::find(|name| types.enumeration(name));
        let unspecified = reasons.as_ref().and_then(ReasonNames::unspecified).unwrap_or(u32::MAX);
        let mut drops = Opened::read("drops", object_file!("drops"))?;
        // `kernel` of drops.bpf.c.
        let constants = [u32::from(reasons.is_some()), unspecified].map(u32::to_ne_bytes);
        drops.set_constants(constants.as_flattened())?;
        for tracepoint in OPTIONAL.into_iter().filter(|name| !types.has_tracepoint(name)) {
            drops.leave_out(tracepoint);
        }
        let has_timers = types.has_tracepoint(TIMER_TRACEPOINT);
        drop(types);
        let drops = drops.load()?;
        set_watched(&drops, scopes)?;
        let drop_traces = Mutex::new(Ok(drops.attach_traces(|_| true)?));
        let mut softirq = None;
        let mut softirq_traces = Err("it was not asked for".to_string());
        let mut timer_traces = None;
        // Elsewhere the kernel numbers this process otherwise.
        let knows_captures = namespace::in_initial_pid_namespace().unwrap_or(false);
        if with_softirq {
            let mut opened = Opened::read("softirq", object_file!("softirq"))?;
            if !has_timers {
                opened.leave_out(TIMER_TRACEPOINT);
            }
            // `process` of softirq.bpf.c.
            let process = if knows_captures { std::process::id() } else { 0 };
            opened.set_constants(&process.to_ne_bytes())?;
            let loaded = opened.load()?;
            // Shows that the kernel accepts them; a trial attaches them when it begins.
            drop(loaded.attach_traces(is_of_softirq)?);
            softirq_traces = Ok(None);
            timer_traces = Some(loaded.attach_traces(|name| !is_of_softirq(name))?);
            softirq = Some(loaded);
        }
        Ok(Self {
            drop_traces,
            softirq_traces: Mutex::new(softirq_traces),
            _timer_traces: timer_traces,
            drops,
            softirq,
            reasons,
            symbols: Symbols::default(),
            knows_captures,
            cost: OnceLock::new(),
        })
    }

    /// Watches these interfaces, up to [`MOST_WATCHED`], instead of the previous ones. Counts continue.
    ///
    /// # Errors
    /// More interfaces than this limit.
    pub fn watch(&self, scopes: &[Scope]) -> Result<()> {
        Ok(set_watched(&self.drops, scopes)?)
    }

    /// The counts of each interface, in the order of the arguments.
    pub fn snapshot(&self) -> Result<Vec<InterfaceTrace>> {
        let mut traces: Vec<_> =
            (0..MOST_WATCHED as u32).map(|which| self.by_reason(which)).collect::<Result<_>>()?;
        for (key, values) in self.drops.all_per_cpu("places")? {
            // `struct place` of drops.bpf.c.
            let (address, [reason, which]) = (word(&key, 0), [8, 12].map(|at| half_word(&key, at)));
            let count = values.iter().map(|value| word(value, 0)).sum();
            let Some(trace) = traces.get_mut(which as usize) else { continue };
            let names = self.reasons.as_ref();
            let reason =
                names.filter(|names| names.unspecified() != Some(reason)).map(|names| names.name(reason));
            let kind = DropKind { reason, function: self.symbols.function(address) };
            match trace.drops.iter_mut().find(|(known, _)| *known == kind) {
                // Several places in one function.
                Some((_, known)) => *known += count,
                None => trace.drops.push((kind, count)),
            }
        }
        Ok(traces)
    }

    fn by_reason(&self, which: u32) -> Result<InterfaceTrace> {
        let values = self.drops.per_cpu("counts", which)?;
        // `struct counts` of drops.bpf.c.
        let sum = |at: usize| values.iter().map(|value| word(value, at)).sum::<u64>();
        let named = |number: usize| {
            let reason = self.reasons.as_ref().map(|names| names.name(number as u32));
            (DropKind { reason, function: None }, sum(number))
        };
        // The last one: more places without a reason than there is room for.
        let beyond = (DropKind { reason: None, function: None }, sum(MOST_REASONS + 2));
        let drops = (0..MOST_REASONS).map(named).chain([beyond]).filter(|(_, count)| *count > 0).collect();
        let (xdp_exceptions, xdp_redirect_errors) = (sum(MOST_REASONS), sum(MOST_REASONS + 1));
        let missed = self.drops.runs(None).passed_by;
        Ok(InterfaceTrace { drops, xdp_exceptions, xdp_redirect_errors, missed, ..InterfaceTrace::default() })
    }

    /// The receive softirq of a CPU so far; `None` if it is not timed now or cannot be read.
    pub fn net_rx(&self, cpu: CpuId) -> Option<NetRxTime> {
        if !self.times_softirqs() {
            return None;
        }
        self.net_rx_of_all().into_iter().nth(cpu.number() as usize)
    }

    /// The receive softirq of every possible CPU; empty if it cannot be read.
    fn net_rx_of_all(&self) -> Vec<NetRxTime> {
        let mut times = Vec::new();
        let values = self.softirq.as_ref().and_then(|softirq| softirq.per_cpu("work", 0).ok());
        for value in values.unwrap_or_default() {
            // `struct work` of softirq.bpf.c.
            times.push(NetRxTime {
                runs: word(&value, 0),
                total_ns: word(&value, 1),
                in_processes_ns: word(&value, 2),
                in_napi_ns: word(&value, 3),
                in_capture_ns: self.knows_captures.then(|| word(&value, 4)),
                resolution_ns: 0,
            });
        }
        times
    }

    /// The last 64 stalls of a CPU between two moments of CLOCK_MONOTONIC, in order. `None` if its timer tick was never seen,
    /// because the CPU was idle or the kernel has another timer.
    pub fn stalls(&self, cpu: CpuId, from_ns: u64, to_ns: u64) -> Option<Vec<Stall>> {
        let values = self.softirq.as_ref()?.per_cpu("work", 0).ok()?;
        let value = values.get(cpu.number() as usize)?;
        let (ticks, count) = (word(value, TICKS), word(value, TICKS + 1));
        let kept = count.saturating_sub(STALLS)..count;
        let stall = |number: u64| {
            let at = TICKS + 2 + 3 * (number % STALLS) as usize;
            Stall {
                until_ns: word(value, at),
                at_least_ns: word(value, at + 1),
                at_most_ns: word(value, at + 2),
            }
        };
        let within = |stall: &Stall| (from_ns..=to_ns).contains(&stall.until_ns);
        (ticks > 0).then(|| kept.map(stall).filter(within).collect())
    }

    /// Measures the tracer's cost while `load` causes events. Measures once; later calls do nothing.
    ///
    /// # Errors
    /// Errors of the load. If the kernel does not measure, the cost stays unknown.
    pub fn measure_cost<E: From<HostError>>(
        &self,
        mut load: impl FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if self.cost.get().is_some() {
            return Ok(());
        }
        self.time_softirqs(true)?;
        let nothing = Opened::read("nothing", object_file!("nothing")).and_then(Opened::load);
        let measured = match nothing.and_then(|nothing| Ok((measure_run_times()?, nothing))) {
            Ok((statistics, nothing)) => {
                drop(statistics);
                let mut rounds = [Rounds::default(); 2];
                for _ in 0..ROUNDS {
                    rounds[0].add(self.receive_time(&mut load)?);
                    let attached = nothing.attach_traces(|_| true).map_err(HostError::from)?;
                    rounds[1].add(self.receive_time(&mut load)?);
                    drop(attached);
                }
                let [traced, with_nothing] = rounds.map(|rounds| rounds.least);
                let attached = nothing.attach_traces(|_| true).map_err(HostError::from)?;
                let statistics = measure_run_times().map_err(HostError::from)?;
                let begun = self.spent();
                load()?;
                self.until_quiet()?;
                let spent = self.spent();
                drop((statistics, attached));
                let nothing = nothing.runs(None);
                let measured = Measurements {
                    drops: since(spent.drops, begun.drops),
                    softirq_programs: since(spent.softirq_programs, begun.softirq_programs),
                    softirqs: spent.softirqs - begun.softirqs,
                    nothing: (nothing.ns, nothing.count),
                    traced,
                    with_nothing,
                };
                TracerCost::new(&measured)
                    .ok_or_else(|| "too few frames were dropped to measure it".to_string())
            }
            Err(error) => Err(reason(&error)),
        };
        let _ = self.cost.set(measured);
        Ok(())
    }

    /// Time of the receive softirq on all CPUs during a load, and the frames that the kernel dropped.
    fn receive_time<E: From<HostError>>(
        &self,
        load: &mut impl FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<Spent, E> {
        let read = || -> Result<_> {
            let drops =
                self.snapshot()?.iter().flat_map(|trace| &trace.drops).map(|(_, count)| count).sum::<u64>();
            Ok((self.net_rx_of_all(), drops))
        };
        let begun = read()?;
        load()?;
        self.until_quiet()?;
        let (now, drops) = read()?;
        let time = now.iter().zip(&begun.0).map(|(now, then)| now.since(then).total_ns);
        Ok((time.sum(), drops.saturating_sub(begun.1)))
    }

    /// Traces drops, unless every frame of the next trials `ends_as_drop` and this costs more than [`LARGEST_SHARE`] of the kernel's
    /// receive work, and times softirqs, unless the clock is slow. Call it after the cost was measured: it stays so for all trials,
    /// because times with and without the tracer could not be compared.
    ///
    /// # Errors
    /// The kernel refuses to attach the programs again.
    pub fn limit_cost(&self, ends_as_drop: bool) -> Result<()> {
        let share = self.cost().filter(|_| ends_as_drop).and_then(|cost| cost.share_of_drops());
        let traces = &self.drop_traces;
        match share.filter(|share| *share > LARGEST_SHARE) {
            Some(share) => {
                *locked(traces) = Err(format!(
                    "counting every frame that the kernel drops would take {:.1} % more of its receive work here, above the limit of \
                     {:.0} %; --trace does it nevertheless",
                    100.0 * share,
                    100.0 * LARGEST_SHARE
                ));
            }
            None => attach(traces, || self.drops.attach_traces(|_| true))?,
        }
        if let Some(because) = self.cost().and_then(|cost| cost.no_softirqs_because()) {
            *locked(&self.softirq_traces) = Err(because);
        }
        Ok(())
    }

    /// Times every receive softirq from now on, or none: then no program is attached to them. Where timing them takes too much it
    /// stays off.
    ///
    /// # Errors
    /// The kernel refuses to attach the programs again.
    pub fn time_softirqs(&self, is_wanted: bool) -> Result<()> {
        let Some(softirq) = &self.softirq else { return Ok(()) };
        let mut traces = locked(&self.softirq_traces);
        let Ok(attached) = &mut *traces else { return Ok(()) };
        if attached.is_some() == is_wanted {
            return Ok(());
        }
        *attached = None;
        if is_wanted {
            // `attached` of softirq.bpf.c.
            softirq.set_variables(&clock::monotonic_ns().to_ne_bytes())?;
            *attached = Some(softirq.attach_traces(is_of_softirq)?);
        }
        Ok(())
    }

    /// Whether receive softirqs are timed now.
    pub fn times_softirqs(&self) -> bool {
        matches!(&*locked(&self.softirq_traces), Ok(Some(_)))
    }

    /// Traces drops at any cost.
    ///
    /// # Errors
    /// As for [`Self::limit_cost`].
    pub fn trace_drops(&self) -> Result<()> {
        attach(&self.drop_traces, || self.drops.attach_traces(|_| true))
    }

    /// Why drops are not traced now.
    pub fn no_drops_because(&self) -> Option<String> {
        locked(&self.drop_traces).as_ref().err().cloned()
    }

    /// Why no trial can time the receive softirq.
    pub fn no_softirqs_because(&self) -> Option<String> {
        locked(&self.softirq_traces).as_ref().err().cloned()
    }

    /// The measured cost of the tracer.
    pub fn cost(&self) -> Option<TracerCost> {
        self.cost.get()?.as_ref().ok().copied()
    }

    /// Why the cost is unknown.
    pub fn no_cost_because(&self) -> Option<&str> {
        self.cost.get()?.as_ref().err().map(String::as_str)
    }

    /// What the programs did so far.
    fn spent(&self) -> Measurements {
        let spent = |runs: Runs| (runs.ns, runs.count);
        Measurements {
            drops: spent(self.drops.runs(Some("kfree_skb"))),
            softirq_programs: self.softirq.as_ref().map_or((0, 0), |softirq| spent(softirq.runs(None))),
            softirqs: self.net_rx_of_all().iter().map(|net_rx| net_rx.runs).sum(),
            ..Measurements::default()
        }
    }

    /// Waits until no event is counted for a moment, so that frames left in queues do not affect the next measurement.
    fn until_quiet(&self) -> Result<()> {
        const MOMENT: Duration = Duration::from_millis(5);
        const LONGEST: Duration = Duration::from_millis(200);
        let start = Instant::now();
        let mut seen = self.snapshot()?;
        while start.elapsed() < LONGEST {
            std::thread::sleep(MOMENT);
            let now = self.snapshot()?;
            if now == seen {
                break;
            }
            seen = now;
        }
        Ok(())
    }

    /// Whether this kernel gives reasons for drops (Linux 5.17).
    pub fn gives_reasons(&self) -> bool {
        self.reasons.is_some()
    }
}

/// Whether a program of softirq.bpf.c is on a softirq's tracepoint.
fn is_of_softirq(program: &str) -> bool {
    program.starts_with("softirq_")
}

/// Attached programs, or why they are not attached now.
type Switched = Mutex<std::result::Result<Traces, String>>;

/// Attaches programs that are not attached.
fn attach(traces: &Switched, attached: impl FnOnce() -> std::result::Result<Traces, SysError>) -> Result<()> {
    let mut traces = locked(traces);
    if traces.is_err() {
        *traces = Ok(attached()?);
    }
    Ok(())
}

fn locked<T>(traces: &Mutex<T>) -> MutexGuard<'_, T> {
    traces.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often the time of the receive softirq is measured, with and without empty programs in turn.
const ROUNDS: usize = 2;

/// The measurement with the least time per frame: other work of the host only adds to it.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    least: Spent,
}

impl Rounds {
    fn add(&mut self, (ns, frames): Spent) {
        let (least_ns, of) = self.least;
        // By products: neither number of frames may be a divisor.
        if of == 0 || u128::from(ns) * u128::from(of) < u128::from(least_ns) * u128::from(frames) {
            self.least = (ns, frames);
        }
    }
}

/// Time and number since an earlier reading.
fn since(now: Spent, then: Spent) -> Spent {
    (now.0.saturating_sub(then.0), now.1.saturating_sub(then.1))
}

/// Fills `watched` of drops.bpf.c.
fn set_watched(drops: &Loaded, scopes: &[Scope]) -> std::result::Result<(), SysError> {
    if scopes.len() > MOST_WATCHED {
        return Err(SysError::argument(
            "the tracer",
            format!("watches up to {MOST_WATCHED} interfaces, not {}", scopes.len()),
        ));
    }
    let mut watched = [0; MOST_WATCHED * 8];
    for (slot, scope) in watched.chunks_exact_mut(8).zip(scopes) {
        slot[..4].copy_from_slice(&scope.interface.number().to_ne_bytes());
        // Namespace numbers have 32 bits in the kernel, too (`struct ns_common`).
        slot[4..].copy_from_slice(&(scope.namespace as u32).to_ne_bytes());
    }
    drops.set_variables(&watched)
}

/// A word of a value; 0 beyond its end.
fn word(octets: &[u8], at: usize) -> u64 {
    octets.get(at * 8..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_ne_bytes(*word))
}

/// Half a word at an octet; 0 beyond its end.
fn half_word(octets: &[u8], at: usize) -> u32 {
    octets.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_ne_bytes(*word))
}

/// Why there is no tracer, in words.
fn reason(error: &SysError) -> String {
    const EPERM: i32 = 1;
    match error.errno() {
        Some(EPERM) => {
            "tracing needs the capabilities CAP_BPF and CAP_PERFMON over the host, outside a user \
                        namespace: run it as root"
                .into()
        }
        _ => error.to_string(),
    }
}
