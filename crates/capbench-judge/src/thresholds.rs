//! Every number that decides what trials mean, or which trial runs next. capbench-model has those that decide what one trial is
//! worth, in a table of the same form.
//!
//! A row: why, as its comment; name, type, value; unit; source. "chosen" is a source: no evidence for that very number is recorded.

#[cfg(test)]
mod tests;

use std::time::Duration;

pub use capbench_model::thresholds::Threshold;

capbench_model::thresholds! {
    // What limited a method.
    /// A loss from this share of the frames on lasts: it shows a limit. The cause of a smaller one can be a moment in which nobody
    /// read, and a second trial may not repeat it.
    LASTING_LOSS: f64 = 0.01, "of the frames", "chosen";
    /// The loss is concentrated in single moments if its density in the worst tenth of a second is this many times the
    /// average.
    MOMENTARY_LOSS_DENSITY: f64 = 5.0, "times the average", "chosen";
    /// A CPU that is busy for this share of a trial has no time left.
    BUSY_CPU_SHARE: f64 = 0.95, "of a trial", "chosen";
    /// The frames that the busiest member gets exceed an equal share by more than this share of it: the members are
    /// unequal.
    UNEQUAL_MEMBER_EXCESS: f64 = 0.1, "of an equal share", "chosen";
    /// Relative change of load and delivered rate that counts as livelock: repeats on a busy virtual machine differ by
    /// 10 %.
    LIVELOCK_CHANGE: f64 = 0.1, "of the rate", "repeats on a busy virtual machine";

    // Whether a load is sustained.
    /// The generator sent a load if it left no more than this share of it unsent.
    UNSENT_SHARE: f64 = 0.05, "of the load", "chosen";
    /// Up to this share of the frames of a trial may wait when sending ends because of a stall, although the application keeps up
    /// on average. It is as fine as the resolution of usual goals.
    STALL_BACKLOG: f64 = 0.005, "of the delivered frames", "resolution of usual goals";
    /// An application that reads at least this share of the offered load may not be the limit.
    UNSATURATED_READ_SHARE: f64 = 0.99, "of the offered load", "chosen";
    /// A loss is of a stalled application, and not of too high a load, if less than one window in this many lost frames.
    STALL_WINDOWS: u64 = 4, "windows for each window with loss", "chosen";
    /// Half a nanosecond. Durations are whole nanoseconds, so smaller differences are rounding.
    DURATION_ROUNDING_NS: f64 = 0.5, "ns", "resolution of durations";
    /// Loss ratio of the second goal of a bench.
    NEARLY_LOSSLESS_RATIO: f64 = 0.001, "of the sent frames", "chosen";
    /// Loads of one rate differ by up to this share: whole frames, and the last interval.
    OFFERED_LOAD_ROUNDING: f64 = 1e-3, "of the intended load", "chosen";
    /// A precision that is coarser than this counts as this one: it would call all limits equal, and confirm any.
    COARSEST_PRECISION: f64 = 0.1, "of the load", "chosen";
    /// Precision that is assumed where no search states one.
    ASSUMED_PRECISION: f64 = 0.05, "of the load", "chosen";
    /// Trials at maximum load are of one load if what was sent differs by less than this share.
    EQUAL_MAXIMUM_LOADS: f64 = 0.05, "of the sent rate", "chosen";
    /// A loss is the method's own in two cases. It is larger by this factor than the share of time that others took from the
    /// trial's CPUs. Or the method read less by this factor than the time that they left allows.
    OWN_LOSS_FACTOR: f64 = 2.0, "times", "chosen";
    /// A trial of fewer windows of 100 ms does not show whether a loss lasted.
    LASTING_LOSS_WINDOWS: u64 = 3, "windows", "chosen";

    // Which method to use, and what a packet costs.
    /// Of two rates of a generator at its limit, the lower one is at least this share of the higher one: on a virtual link the receiver
    /// slows it.
    EQUAL_GENERATOR_LIMITS: f64 = 0.75, "of the higher rate", "chosen";
    /// Limits within this many times the stated precision are equal: each of two intervals is that wide.
    EQUAL_LIMITS_PRECISIONS: f64 = 2.0, "times the precision", "chosen";
    /// A method that is ranked below another one has a higher rate if it is above the other one's by this share.
    HIGHER_RANKED_RATE: f64 = 0.01, "of the rate", "chosen";
    /// A single trial does not show how much the next one differs. On quiet hosts it is less than this share.
    SINGLE_TRIAL_COST_ERROR: f64 = 0.05, "of the cost", "quiet hosts";
    /// A cost whose error is above this share of it is only a range.
    COST_RANGE_ERROR: f64 = 0.25, "of the cost", "chosen";
    /// Tries at one rate that differ by more than this share of it show the host, not the generator.
    DISTURBED_TRIES_DIFFERENCE: f64 = 0.05, "of the rate", "chosen";
    /// A generator needs attention if it is slower by this share with a plan than without, or in one try than in
    /// another.
    SLOW_GENERATOR_SHARE: f64 = 0.2, "of the rate", "chosen";

    // Contrasts, effects, scaling, and cost regimes of a sweep.
    /// Rates of two points that differ by less than this share are equal.
    EQUAL_RATES: f64 = 0.01, "of the rate", "chosen";
    /// Up to this number of neighbouring points are compared as a block: a difference over several points needs fewer
    /// repeats.
    CONTRASTED_POINTS: usize = 3, "points", "chosen";
    /// More members are of no more use if each further one brings less than this share of what each brought before.
    USEFUL_MEMBERS_GAIN: f64 = 0.5, "of the gain before", "chosen";
    /// Minimum number of points in a row for a plateau.
    PLATEAU_POINTS: usize = 3, "points", "chosen";
    /// Minimum number of points for a slope.
    SLOPE_POINTS: usize = 4, "points", "chosen";
    /// Minimum assumed variation of repeats, as a share of the time: few repeats can agree by chance.
    REPEATS_SPREAD: f64 = 0.005, "of the time", "chosen";
    /// Points that deviate from a line by more than this share of the time are not on it.
    OFF_LINE_SHARE: f64 = 0.02, "of the time", "chosen";
    /// A slope within this share of the requested time equals it.
    REQUESTED_SLOPE_DIFFERENCE: f64 = 0.05, "of the requested time", "chosen";
    /// A plateau may rise or fall by this share of its cost, or by the noise. Two plateaus that differ by less are one.
    PLATEAU_LEVEL_DIFFERENCE: f64 = 0.08, "of the cost", "chosen";
    /// The points of a plateau may vary by this share of its cost, times the number of points: then its median is known to a
    /// quarter of the cost.
    PLATEAU_VARIATION: f64 = 0.1, "of the cost", "chosen";
    /// One more plateau must lower the sum of squared deviations by this factor times the logarithm of the number of points: twice
    /// the criterion of Schwarz.
    PLATEAU_PENALTY: f64 = 4.0, "squared deviation", "twice the criterion of Schwarz";
    /// The error of a fitted time of a unit of work is this many standard errors of the slope.
    SLOPE_ERROR_BOUND: f64 = 3.0, "standard errors", "three sigma";
    /// A slope above the requested time by this many standard errors shows that work was slower.
    SLOWER_SLOPE_ERRORS: f64 = 4.0, "standard errors", "chosen";

    // Comparisons of runs and hosts.
    /// Costs at common loads that differ by more than this share are not compared: the cost of a packet depends on the load.
    EQUAL_LOADS: f64 = 0.1, "of the higher load", "chosen";
    /// Smallest change of rates and times of two runs to report, by default.
    REPORTED_CHANGE: f64 = 0.05, "of the earlier value", "chosen";
    /// Smallest change of the loss of two runs to report, by default.
    REPORTED_LOSS_CHANGE: f64 = 0.001, "of the sent frames", "chosen";
    /// Smallest change of rates and times to report, by default. The precision of many hosts is higher than that of two
    /// runs, and a change of a few hosts is a small one of all.
    REPORTED_CHANGE_OF_HOSTS: f64 = 0.005, "of the earlier value", "chosen";
    /// A host is named as worse from this change on. It is smaller than that of two runs: a host has several runs.
    WORSE_HOST: f64 = 0.02, "of the earlier value", "chosen";
    /// Up to this number of days from one on are compared with as many before it: a host has one run a day, and a test needs
    /// several.
    COMPARED_DAYS: usize = 3, "days on each side", "chosen";
    /// The last days of a dataset that are compared. Each is a test, and the more tests there are, the larger must a change be.
    LAST_DAYS: usize = 60, "days", "chosen";
    /// Figures of the host's speed that differ by less than this share are equal.
    EQUAL_HOST_SPEED: f64 = 0.05, "of the figure", "chosen";
    /// Replaces 0, which has no logarithm. It is below all measured values.
    SMALLEST_COMPARED_VALUE: f64 = 1e-9, "of the measure", "below all measured values";
    /// A CPU whose loop takes longer than this is not at full speed.
    SLOWED_CORE: f64 = 1.05, "times its minimum", "loops on shared cores";
    /// A CPU whose loop takes longer than this shares its core all the time, which takes 1.3 to 1.5 times as long.
    HELD_UP_CORE: f64 = 1.3, "times its minimum", "loops on shared cores";

    // Reproduced publications.
    /// An effect is absent if half of the published size is excluded: Dain's rise is by a fifth, his ring is behind by
    /// more.
    ABSENT_EFFECT: f64 = 0.1, "of the rate", "half of Dain's rise";
    /// From this share of all losses, uncounted losses are more than frames that were counted at another time.
    UNCOUNTED_LOSS_SHARE: f64 = 0.01, "of all losses", "chosen";
    /// A generator that sends less than this share of the intended frames did not reach the load.
    REPRODUCED_LOAD_SHARE: f64 = 0.99, "of the intended frames", "chosen";
    /// From this share of the sent frames, frames buffered when sending ended make a difference.
    BUFFERED_SHARE: f64 = 0.001, "of the sent frames", "chosen";

    // Bursts and RFC 2544.
    /// The last part of the time after the overload that must be without loss, as a share of it. A generator that is late by more
    /// left too little of it.
    RECOVERED_QUIET_SHARE: f64 = 0.1, "of the time after the overload", "chosen";
    /// Trials in succession that must lose nothing.
    LOSSLESS_TRIALS_IN_SUCCESSION: usize = 2, "trials", "RFC 2544 26.3";
    /// From this share of the longest burst, a result does not show the buffer's size.
    BURST_NEAR_LIMIT: f64 = 0.95, "of the longest burst", "chosen";
    /// A burst that took longer by more than this share was sent at another rate. It is no evidence for the requested
    /// rate.
    SLOWER_BURST: f64 = 0.01, "of its time", "chosen";
    /// Delay allowed for the last frame, by the burst's duration: the generator reads the clock and calls the kernel.
    BURST_END_DELAY: f64 = 0.1, "of the burst's time", "chosen";
    /// The delay allowed for the last frame is at least this long: one call passes the shortest bursts to the kernel.
    SHORTEST_BURST_END_DELAY: Duration = Duration::from_micros(50), "time", "20 to 40 us on a veth pair";
    /// The delay allowed for the last frame is up to this long.
    LONGEST_BURST_END_DELAY: Duration = Duration::from_micros(100), "time", "20 to 40 us on a veth pair";
    /// A generator that was disturbed during a burst may retry this many times per verification of losses.
    BURST_ATTEMPTS: u32 = 3, "tries", "chosen";
    /// Resolution of the longest burst at each point of a sweep.
    SWEPT_BURST_RESOLUTION: f64 = 3.0, "% of its length", "chosen";

    // Guards of trials.
    /// Largest difference of two clocks: crystals of links are accurate to 100 ppm each. Rates that differ by less are equal.
    CLOCKS_DIFFERENCE: f64 = 2e-4, "of the rate", "crystals: 100 ppm each";
    /// A disturbed trial is repeated up to this many times.
    DISTURBED_TRIAL_REPEATS: u32 = 2, "repeats", "chosen";
    /// Repeats of disturbed trials may use this share of the time: on a noisy host they are as noisy.
    REPEATS_TIME_SHARE: f64 = 0.25, "of the time of trials", "chosen";
    /// After this many probes that are not clean the path is given up.
    PROBES: u32 = 5, "probes", "chosen";
    /// Pause after the first probe that is not clean; each further pause is twice as long.
    PROBE_PAUSE: Duration = Duration::from_millis(100), "time", "chosen";
    /// A trial overloaded the path if it lost more than this share of the sent frames; smaller losses are single
    /// losses.
    OVERLOADED_PATH_LOSS: f64 = 1e-3, "of the sent frames", "chosen";
    /// Load of the first probe, packets/s. Each further one has half of it: the fifth leaves a slow set-up 16 ms per
    /// packet.
    FIRST_PROBE_LOAD: f64 = 1000.0, "packets/s", "chosen";
    /// Length of a probe.
    PROBE_LENGTH: Duration = Duration::from_millis(100), "time", "chosen";
    /// Share of foreign frames in a probe above which they are leftovers of an overload, not other traffic of the link.
    LEFTOVERS_SHARE: f64 = 0.1, "of the probe's frames", "chosen";
    /// On-chip buffer of a card in seconds of its link: the 82599 has 160 KiB for 10 Gbit/s, older ones 40 KiB for 1
    /// Gbit/s.
    ON_CHIP_BUFFER_S: f64 = 5e-4, "s of the link", "data sheets: 82599";
    /// Frames that a phase has more than rate times duration: the first one is sent at the very start.
    FRAMES_AT_START: f64 = 1.0, "frames", "definition of a rate";

    // Which trial a search runs next.
    /// Number of trials at the generator's full speed. A momentarily busy host is not a limit of the generator.
    UNPACED_TRIALS: u32 = 2, "trials", "chosen";
    /// Maximum number of trials of the self-test: no goal benefits from their traffic.
    MAXIMUM_RATE_TRIALS: usize = 8, "trials", "chosen";
    /// Number of tries before a rate counts as not sustained.
    UNSUSTAINED_RATE_TRIES: usize = 3, "tries", "chosen";
    /// Tries that differ by no more than this share are equal. Disturbances by the host are less regular.
    EQUAL_TRIES: f64 = 0.01, "of the rate", "chosen";
    /// The next rate, as a share of an unsustained one, if a try came closer than that.
    LOWERED_RATE: f64 = 0.97, "of the rate", "chosen";
    /// The highest sustained rate is known if an unsustained rate is above it by no more than this share.
    MAXIMUM_RATE_PRECISION: f64 = 0.04, "of the rate", "chosen";
    /// A width in whole steps is at least this share of the requested one.
    STEP_WIDTH_LEAST: f64 = 0.99, "of the requested width", "chosen";
    /// A width in whole steps is up to this share of the requested one, so that a regular result has the goal's width.
    STEP_WIDTH_MOST: f64 = 0.999_999, "of the requested width", "chosen";
    /// Maximum length of a series of loads. All widths above 100 steps are close enough, so only widths below a millionth reach
    /// it.
    SERIES_LENGTH: i64 = 100_000_000, "steps", "chosen";
    /// Loads of the series, computed back from a rate, are off by less than this share of a step.
    SERIES_ROUNDING: f64 = 1e-6, "of a step", "rounding of floating point";
    /// Loads and widths read from a file may be off by this share: their last digit.
    RESUMED_VALUE_ROUNDING: f64 = 1e-9, "of the value", "rounding of decimals";
    /// Shorter final trials of a goal get a warning.
    SHORT_FINAL_TRIAL: Duration = Duration::from_secs(60), "time", "RFC 2544 24";
    /// The gap where loss begins has priority over the gap at a sharper bend, until it is narrower than that one by this factor.
    ONSET_GAP_FACTOR: f64 = 2.0, "times the width", "chosen";
    /// Minimum size of a bend that a sweep refines, as a share of a series' range.
    SMALLEST_BEND: f64 = 0.02, "of the series' range", "chosen";

    // Which trial a bench runs next.
    /// First common load by what the slowest method delivered at maximum load, where it delivers less than it can
    /// sustain.
    FIRST_COMMON_LOAD: f64 = 0.7, "of the slowest rate", "chosen";
    /// Factor that lowers the common load after a method loses frames at it.
    LOWERED_COMMON_LOAD: f64 = 0.6, "of the common load", "chosen";
    /// Number of times the common load is lowered before the bench gives up on the group.
    COMMON_LOAD_ROUNDS: usize = 5, "rounds", "chosen";
    /// Minimum of the common load: below it the kernel's clock is too coarse.
    LOWEST_COMMON_LOAD_PPS: f64 = 1000.0, "packets/s", "chosen";
    /// Minimum of the common load by the fastest method's rate.
    LOWEST_COMMON_LOAD: f64 = 0.02, "of the fastest rate", "chosen";
    /// Slower methods, by the fastest one's rate, are excluded: they would lower the common load too far.
    COMMON_LOAD_SLOWEST: f64 = 0.05, "of the fastest rate", "chosen";
    /// Time for which methods hold frames back although the application waits for them, as a block of a ring.
    METHOD_HOLD_TIME: Duration = Duration::from_millis(10), "time", "chosen";
    /// Trials of a search for the estimate before any trial ran.
    LIKELY_SEARCH_TRIALS: u32 = 5, "trials", "chosen";
    /// Lowest load of a search, as a share of the rate at which the method read frames at maximum load. A method that
    /// loses frames at lower loads loses them at any load.
    LOWEST_SEARCH_LOAD: f64 = 0.05, "of the read rate", "chosen";
    /// A method below this share of the fastest one's rate gets a coarse search first.
    COARSE_SEARCH_FIRST: f64 = 0.5, "of the fastest rate", "chosen";
    /// A method was sent too little to compare it if it is this share below what another one sustains.
    UNDERSENT_SHARE: f64 = 0.1, "of the sustained load", "chosen";
    /// Length of the trial that confirms the answer, in trials of the bench, where so much time is left.
    CONFIRMATION_LENGTH: u32 = 5, "lengths of a trial", "chosen";
    /// Highest number of trials that confirm the answer: each but the last one showed that the load was too high.
    CONFIRMATION_TRIALS: usize = 5, "trials", "chosen";
    /// The next load after a trial that did not confirm the answer, as a share of the rate at which the method read frames in it.
    NEXT_CONFIRMATION_LOAD: f64 = 0.99, "of the read rate", "chosen";
    /// Trials of searches are longer by this factor where the time suffices, else by 2: a longer trial shows a load that is too
    /// high by less.
    LONGER_SEARCH_TRIALS: u32 = 4, "times", "chosen";
    /// Share of the time that longer trials may use by their likely number.
    LONGER_TRIALS_TIME: f64 = 0.3, "of the time", "chosen";
    /// Methods that the answer does not depend on are searched with a precision that is coarser by this factor.
    COARSEST_SEARCH: u32 = 4, "times the precision", "chosen";
    /// Capacity that is supposed of a method, as a share of the rate at which it read frames at maximum load.
    ASSUMED_CAPACITY: f64 = 1.05, "of the read rate", "chosen";
    /// Share of the time that planning keeps for trials that are repeated because the host disturbed them.
    REPEATS_RESERVE: f64 = 0.1, "of the time", "chosen";
    /// Time of a trial besides sending: opening rings, draining, reading counters.
    TRIAL_OVERHEAD: Duration = Duration::from_millis(250), "time", "chosen";

    // What a run shows.
    /// A measured application time that fills a CPU by this factor leaves no doubt: noise of the host is part of it.
    CLEARLY_BUSY_FACTOR: f64 = 1.2, "times one CPU", "chosen";
    /// A rate that is known less precisely is only a lower bound.
    LOWER_BOUND_PRECISION: f64 = 0.25, "of the rate", "chosen";
    /// Visits with which chance alone explains a difference in fewer than 1 of 20 cases.
    DECIDING_VISITS: u32 = 6, "visits", "sign test: 2 x 0.5^6 = 0.031";
    /// Share of the frames from which on unsent or buffered frames put the result of a soak in doubt, and of the
    /// planned time from which on it was cut short.
    NOTED_SOAK_SHARE: f64 = 1e-3, "of the frames, or of the planned time", "chosen";
    /// A buffer that grows by less than this share of the growth of the ring has another limit.
    BUFFER_FOLLOWS_RING: f64 = 0.5, "of the ring's growth", "chosen";
    /// Costs that differ by less than this share are equal: the kernel's clock is coarser.
    EQUAL_SWEEP_COSTS: f64 = 0.05, "of the higher cost", "resolution of the kernel's clock";
    /// A quantity that changes by this factor between two plateaus is reported with the change.
    CHANGED_QUANTITY_FACTOR: f64 = 1.5, "times", "chosen";
    /// A place whose share of the loss changes by this much is reported with the change.
    MOVED_LOSS_SHARE: f64 = 0.25, "of the loss", "chosen";
    /// A drop of the delivered rate by less than this share of the higher rate does not count.
    FALLING_RATE: f64 = 0.05, "of the higher rate", "chosen";
    /// Shares of members that differ by less are equal.
    EQUAL_MEMBER_SHARES: f64 = 0.01, "of the frames", "chosen";
    /// The worst 100 ms and the worst flow are facts if they lost this many times the mean share.
    NOTABLE_LOSS_FACTOR: f64 = 3.0, "times the share of the trial", "chosen";
    /// They must also have lost this many frames: among few frames, some flow is always unlucky.
    NOTABLE_LOST_FRAMES: u64 = 100, "frames", "chosen";
    /// In trials of fewer windows the start cannot be distinguished from the rest.
    START_WINDOWS: u64 = 5, "windows of 100 ms", "chosen";
    /// Loss is at the start if this share of it is in the first 100 ms.
    LOSS_AT_START: f64 = 0.9, "of the lost frames", "chosen";
}
