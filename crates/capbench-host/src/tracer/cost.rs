//! CPU cost of the tracer on the receiving CPU.
//!
//! The kernel measures the run time of BPF programs on request (`BPF_ENABLE_STATS`) and then reads the clock twice per run.
//! This would slow trials down, so the run measures it once, on its own bed and under its own load, before the first trial. The
//! cost in a trial follows from the number of program runs, which the programs count. The time of the clock reads is measured
//! with empty programs on the same tracepoint, and subtracted. The way from a tracepoint to a program is what a dropped frame
//! takes longer with eight empty programs, by eighths. `tools/compare/tracer` measures the total: throughput with and without the
//! tracer, in turn.

use std::fmt;

/// Fewer runs do not give a reliable cost per run.
const FEWEST_RUNS: u64 = 100;

/// Programs of nothing.bpf.c.
pub const EMPTY_PROGRAMS: u64 = 8;

/// Largest share that tracing drops may take in the kernel's receive work.
pub const LARGEST_SHARE: f64 = 0.02;

/// Longest time in ns that timing a softirq may take: its two readings of a slow clock, of a microsecond each, would slow every trial
/// down. It takes 150 to 700 ns with the clock of the processor, the more the busier the host is.
const LARGEST_SOFTIRQ_NS: f64 = 2000.0;

/// Time per event, measured on this host.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct TracerCost {
    /// ns per frame that the kernel dropped (`skb:kfree_skb`).
    pub drop_ns: f64,
    /// Number of frames in the measurement.
    pub drops: u64,
    /// ns per timed run of the receive softirq, for its start and end together.
    pub softirq_ns: f64,
    /// Number of runs in the measurement.
    pub softirqs: u64,
    /// ns that the measurement of a program run takes; already subtracted from the others.
    pub measuring_ns: f64,
    /// ns from a tracepoint to its program and back, part of the others; absent if a NAPI thread received, which is not timed.
    #[serde(default)]
    pub dispatch_ns: Option<f64>,
    /// ns of the kernel's receive work for a dropped frame without the tracer of drops; absent as `dispatch_ns`.
    #[serde(default)]
    pub frame_ns: Option<f64>,
}

/// Runs of programs during one load, or the time of the receive softirq: time in ns, and number.
pub type Spent = (u64, u64);

/// Measurements of a load.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measurements {
    /// Runs for drops, with statistics.
    pub drops: Spent,
    /// Runs of all programs that time receive softirqs, with statistics.
    pub softirq_programs: Spent,
    /// Number of receive softirqs. The programs also run for other softirqs and for timers.
    pub softirqs: u64,
    /// Runs of the empty programs, with statistics.
    pub nothing: Spent,
    /// Time of the receive softirq and number of dropped frames, with the tracer alone.
    pub traced: Spent,
    /// The same with the empty programs.
    pub with_nothing: Spent,
}

impl TracerCost {
    /// Computes the cost. `None` if there were too few events.
    pub fn new(measured: &Measurements) -> Option<Self> {
        let each = |(ns, events): Spent| (events >= FEWEST_RUNS).then(|| ns as f64 / events as f64);
        let Measurements { drops, softirq_programs, softirqs, nothing, traced, with_nothing } = *measured;
        let measuring_ns = each(nothing)?;
        let per_frame = |spent: Spent| each(spent).filter(|ns| *ns > 0.0);
        let dispatch_ns = per_frame(traced)
            .zip(per_frame(with_nothing))
            .map(|(alone, with)| (with - alone).max(0.0) / EMPTY_PROGRAMS as f64);
        let of_program = dispatch_ns.unwrap_or(0.0) - measuring_ns;
        // A NAPI thread polls outside the softirq: a program that never runs costs nothing. A softirq has two programs; they also
        // run for other softirqs, which are few where frames are many.
        let softirq_ns = if softirqs == 0 { 0.0 } else { 2.0 * (each(softirq_programs)? + of_program) };
        let drop_ns = (each(drops)? + of_program).max(0.0);
        Some(Self {
            drop_ns,
            drops: drops.1,
            softirq_ns: softirq_ns.max(0.0),
            softirqs,
            measuring_ns,
            dispatch_ns,
            frame_ns: per_frame(traced).map(|ns| (ns - drop_ns).max(1.0)),
        })
    }

    /// The time in ns of these events.
    pub fn of(&self, drops: u64, softirqs: u64) -> u64 {
        (drops as f64 * self.drop_ns + softirqs as f64 * self.softirq_ns).round() as u64
    }

    /// Why no softirq is timed: that takes too long.
    pub fn no_softirqs_because(&self) -> Option<String> {
        (self.softirq_ns > LARGEST_SOFTIRQ_NS).then(|| {
            format!(
                "timing a receive softirq takes {:.0} ns here, above the limit of {LARGEST_SOFTIRQ_NS} ns, as with a slow clock; \
                 --trace does it nevertheless",
                self.softirq_ns
            )
        })
    }

    /// The part of the kernel's receive work that counting every frame as a drop takes in addition; `None` if unknown.
    pub fn share_of_drops(&self) -> Option<f64> {
        self.frame_ns.map(|frame_ns| self.drop_ns / frame_ns)
    }
}

impl fmt::Display for TracerCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.0} ns for each frame that the kernel drops ({} measured), {:.0} ns for each receive softirq ({} measured), \
             without the {:.0} ns that measuring a run takes",
            self.drop_ns, self.drops, self.softirq_ns, self.softirqs, self.measuring_ns
        )?;
        match self.dispatch_ns {
            Some(ns) => write!(f, ", and with {ns:.0} ns from a tracepoint to its program"),
            None => f.write_str(" and the way from a tracepoint to its program"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Measurements, Spent, TracerCost};

    /// With two programs for each softirq.
    fn measured(drops: Spent, (ns, softirqs): Spent, nothing: Spent) -> Measurements {
        let softirq_programs = (ns, 2 * softirqs);
        Measurements { drops, softirq_programs, softirqs, nothing, ..Measurements::default() }
    }

    #[test]
    fn a_trial_costs_what_its_events_cost() {
        let measured = measured((30_000, 1_000), (50_000, 500), (10_000, 1_000));
        let cost = TracerCost::new(&measured).unwrap();
        assert_eq!((cost.drop_ns, cost.softirq_ns), (20.0, 80.0));
        let other_kinds = Measurements { softirq_programs: (100_000, 2_000), ..measured };
        assert_eq!(TracerCost::new(&other_kinds).unwrap().softirq_ns, 80.0, "two programs of 50 less 10");
        assert_eq!((cost.of(2_000, 10), cost.share_of_drops()), (40_800, None));
        assert_eq!(
            cost.to_string(),
            "20 ns for each frame that the kernel drops (1000 measured), 80 ns for each receive softirq (500 measured), \
             without the 10 ns that measuring a run takes and the way from a tracepoint to its program"
        );
        let timed = Measurements { traced: (530_000, 1_000), with_nothing: (610_000, 1_000), ..measured };
        let cost = TracerCost::new(&timed).unwrap();
        assert_eq!((cost.dispatch_ns, cost.drop_ns, cost.softirq_ns), (Some(10.0), 30.0, 100.0));
        assert_eq!((cost.frame_ns, cost.share_of_drops()), (Some(500.0), Some(0.06)));
        assert!(cost.to_string().ends_with("and with 10 ns from a tracepoint to its program"), "{cost}");
    }

    #[test]
    fn softirqs_are_not_timed_by_a_slow_clock() {
        // Two programs of 800 ns, and two of 1200.
        let costs = [1_600_000, 2_400_000]
            .map(|ns| TracerCost::new(&measured((30_000, 1_000), (ns, 1_000), (0, 1_000))).unwrap());
        assert_eq!(costs.map(|cost| cost.softirq_ns), [1600.0, 2400.0]);
        assert_eq!(costs[0].no_softirqs_because(), None);
        let reason = costs[1].no_softirqs_because().unwrap();
        assert!(reason.starts_with("timing a receive softirq takes 2400 ns here"), "{reason}");
    }

    #[test]
    fn too_few_events_show_nothing() {
        let nothing = (10_000, 1_000);
        let cost = |drops, softirqs, nothing| TracerCost::new(&measured(drops, softirqs, nothing));
        assert_eq!(cost((3_000, 99), (50_000, 500), nothing), None);
        assert_eq!(cost((30_000, 1_000), (500, 5), nothing), None);
        assert_eq!(cost((30_000, 1_000), (50_000, 500), (10, 1)), None);
        assert_eq!(cost((30_000, 1_000), (0, 0), nothing).unwrap().of(10, 0), 200, "a thread polls");
        assert_eq!(cost((9_000, 1_000), (0, 0), nothing).unwrap().of(10, 0), 0, "never below 0");
        let noisy = Measurements {
            traced: (600_000, 1_000),
            with_nothing: (500_000, 1_000),
            ..measured((30_000, 1_000), (0, 0), nothing)
        };
        assert_eq!(TracerCost::new(&noisy).unwrap().dispatch_ns, Some(0.0), "never below 0");
    }
}
