//! The numbers that decide what one trial is worth. capbench-judge has those that decide what trials mean, in a table of the same
//! form.

#[cfg(test)]
mod tests;

use std::time::Duration;

capbench_statistics::thresholds! {
    // What a trial is worth.
    /// Unsent frames worth up to this much time are rounding of the clock, not a weak generator.
    UNSENT_ROUNDING: Duration = Duration::from_micros(10), "time at the intended rate",
        "FD.io CSIT, TrafficGenerator.py: 10 us of missing packets are tolerated";
    /// Parts of a CPU's time may exceed their sum by this factor, because their windows begin and end at other moments.
    CPU_PARTS_EXCESS: f64 = 1.05, "times the sum",
        "a choice: windows that begin 25 ms apart in a trial of a second, at both ends";
    /// Losses within this time are of one moment. The names of saved members and the words of reports have it, too.
    LOSS_WINDOW: Duration = Duration::from_millis(100), "time",
        "a choice: longer than a thread waits for its CPU, and short compared with a trial of a second";
    /// Foreign work of up to this share of a CPU's busy time leaves the account of application and kernel on that CPU valid.
    FOREIGN_WORK_IN_ACCOUNT: f64 = 0.05, "of the busy time", "a choice: the cost of a packet is wrong by as much";
    /// The busy time of a CPU, in ticks, is its total if the error of two ticks is up to this share of it; else the sum of exact parts is.
    TICKS_IN_TOTAL: f64 = 0.05, "of the busy time", "a choice: as much as foreign work may (FOREIGN_WORK_IN_ACCOUNT)";
    /// A CPU that was idle for this share of a trial is free for a part of another one.
    IDLE_CPU_SHARE: f64 = 0.9, "of a trial", "a choice: the rest is interrupts, short tasks and the error of ticks";
    /// With less than this share of the kernel's receive work on the chosen CPU, the work did not follow the placement.
    PLACED_RECEIVE_WORK: f64 = 0.9, "of the receive work", "a choice: other CPUs also receive the control traffic of the host";
    /// The tracer missed receive work if it did not see this share of the runs, and more than those at the ends.
    MISSED_RUNS_SHARE: f64 = 0.01, "of the runs", "a choice: the traced time is too small by as much";
    /// Runs of receive work that the tracer and the kernel's counter count on different sides of a reading.
    MISSED_RUNS_AT_ENDS: u64 = 3, "runs", "a calculation: one that runs at the end, and one between the readings at either end";

    // What disturbs a trial.
    /// Steal above this share of a CPU's time spoils a trial, if it is SPOILING_STEAL_TICKS as well. With ticks of 10 ms those decide alone
    /// in trials of up to 2 s: a smaller share here changes only longer ones.
    SPOILING_STEAL: f64 = 0.01, "of the sending time", "a choice: it costs at most as much as a loss that lasts (1 %)";
    /// Steal spoils a trial from this number of ticks on, if it is above SPOILING_STEAL as well: one tick is a large share of a short trial
    /// and proves nothing.
    SPOILING_STEAL_TICKS: u64 = 2, "ticks", "a calculation: the first that one misplaced tick does not explain";
    /// Other work above this share of a CPU's time spoils a trial, if it is SPOILING_FOREIGN_TICKS as well, and so does a CPU quota. With ticks of 10 ms those decide
    /// alone in trials of up to 0.8 s.
    SPOILING_FOREIGN_WORK: f64 = 0.05, "of the sending time",
        "a choice: a stricter one marks nearly all trials of a desktop, a laxer one costs a rate";
    /// Other work spoils a trial from this number of ticks on, if it is above SPOILING_FOREIGN_WORK as well: most of its inputs are counted
    /// in ticks, which can be off by one at each end and for each thread of the trial.
    SPOILING_FOREIGN_TICKS: u64 = 4, "ticks", "a calculation: one tick at both ends, for the CPU and for a thread of the trial";
    /// Listed processes spoil a trial from this number of ticks on, if they are above SPOILING_FOREIGN_WORK as well: the kernel brings the
    /// time of a thread that runs up to date once a tick.
    SPOILING_PROCESS_TICKS: u64 = 2, "ticks", "a calculation: one tick at both ends; update_curr() of kernel/sched/fair.c";
    /// A step of CLOCK_REALTIME, or a suspend. It is far above the error of reading the clocks one by one (microseconds), and far
    /// below any real step (chrony and ntpd slew below about 100 ms).
    CLOCK_STEP_NS: u64 = 1_000_000, "ns", "a choice: docs/evidence/guards.md has an error of reading of 10 ns";
    /// NTP slews by up to this rate. More means that the clock that paces the trial is being adjusted, and rates are off by as much.
    CLOCK_SLEW_PPM: f64 = 500.0, "ppm", "adjtimex(2); MAXFREQ in include/linux/timex.h of the kernel";
    /// Upper bound of the error of reading two clocks in turn. Over a short trial this looks like a slew.
    CLOCK_READING_NS: f64 = 50_000.0, "ns",
        "a choice: 5000 times the error that docs/evidence/guards.md has, for a host that interrupts the reading";
    /// A CPU whose loop takes longer than this shares its core for a part of the time, or its clock was lowered. Turbo clocks differ
    /// by less with the number of busy cores. Comparisons put trials above it among those of another pace.
    SHARED_CORE: f64 = 1.15, "times its minimum",
        "a choice: half way to the least of a shared core, which is 1.3 (docs/evidence/guards.md)";
    /// Generators that begin further apart than this share of the sending time spoil a trial: its load is not the planned one at
    /// both ends.
    START_SPREAD: f64 = 0.01, "of the sending time",
        "a choice: the loads at both ends differ by as much as a loss that lasts (1 %)";

    // Clocks of two hosts.
    /// A distribution of delays is stated if its median is at least this many times the clocks' error.
    MEDIAN_OVER_CLOCK_ERROR: i64 = 10, "times the error", "a choice: the median is then right to a tenth";
    /// Rates of two clocks that differ by more are no property of clocks.
    CLOCK_RATES_DIFFERENCE_PPM: f64 = 1000.0, "ppm",
        "a choice: above crystals of 100 ppm each and a slew of 500 ppm (adjtimex(2))";

    // Hosts.
    /// The memory of a host may differ by this share and still be the same: kernels reserve more or less of it at boot.
    EQUAL_MEMORY: f64 = 0.01, "of the memory", "a choice: smaller than any module of memory, larger than what a kernel reserves";
}
