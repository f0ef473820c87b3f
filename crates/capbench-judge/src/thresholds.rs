//! Every number that decides what trials mean, or which trial runs next. capbench-model has those that decide what one trial is
//! worth, in a table of the same form. Numbers of one claim of a publication are with it, in capbench-reproduce.
//!
//! A row: why, as its comment; name, type, value; unit; source. A source is a standard, a constant of the kernel, a
//! calculation, or what was measured (`docs/evidence`). "a choice" says what it weighs.

#[cfg(test)]
mod tests;

use std::time::Duration;

use capbench_model::thresholds::SHARED_CORE;
pub use capbench_statistics::thresholds::Threshold;
use capbench_statistics::thresholds::{FALSE_ALARMS, LEVEL};

capbench_statistics::thresholds! {
    // What limited a method.
    /// A loss from this share of the frames on lasts: it shows a limit, of a method, a member or the kernel. The cause of a smaller one can
    /// be a moment in which nobody read, and a second trial may not repeat it.
    LASTING_LOSS: f64 = 0.01, "of the frames",
        "a choice: 10 ms of a trial of a second, as long as stalls take (docs/evidence/guards.md: 4 to 14 ms)";
    /// The loss is concentrated in single moments if its density in the worst tenth of a second is this many times the
    /// average.
    MOMENTARY_LOSS_DENSITY: f64 = 5.0, "times the average",
        "a choice: half of the density of a loss that is all in one of the ten windows of a second";
    /// A CPU that is busy for this share of a trial has no time left.
    BUSY_CPU_SHARE: f64 = 0.95, "of a trial", "a choice: the rest is interrupts and the error of ticks";
    /// A member that is busy for this share of a trial and left frames waiting could not read them.
    BUSY_MEMBER_SHARE: f64 = 0.95, "of a trial", "a choice: as for a CPU (BUSY_CPU_SHARE)";
    /// The frames that the busiest member gets exceed an equal share by more than this share of it: the members are
    /// unequal.
    UNEQUAL_MEMBER_EXCESS: f64 = 0.1, "of an equal share", "a choice: such a group reads 9 % less than equal members do";
    /// What limits more than this share of the trials of a load, or of a number of members, limits them together.
    LIMITED_TRIALS: f64 = 0.5, "of the trials", "a choice: what the median trial shows, as for rates";

    // Which trials show livelock.
    /// Of two trials, the one in livelock was offered more by more than this share. Lower loads may be the same load, of which a
    /// generator sent more in one trial than in the other.
    LIVELOCK_HIGHER_LOAD: f64 = 0.1, "of the lower load",
        "a choice: twice what a generator may leave unsent of a load (UNSENT_SHARE)";
    /// Of two trials, the one in livelock delivered less by more than this share. Trials of a set-up differ by as much by chance.
    LIVELOCK_LOWER_RATE: f64 = 0.1, "of the higher rate", "docs/evidence/recorders.md: rounds on a virtual machine differ by 10 %";
    /// At a higher load of a sweep less was delivered by more than this share, if the repeats exclude chance.
    LIVELOCK_LOWER_RATE_OF_REPEATS: f64 = LIVELOCK_LOWER_RATE / 2.0, "of the higher rate",
        "a choice: half of the fall that shows livelock without repeats (LIVELOCK_LOWER_RATE)";

    // What used the CPUs of trials besides them.
    /// Besides one that used more than a trial tolerates, what used this share of a CPU is named, too.
    SMALLEST_DISTURBER: f64 = 0.02, "of a CPU", "a choice: a process that used 5 % in some trials can have used 2 % of the run";
    /// What used less than this share of a CPU in all trials together is not named, however much of it in one of them.
    SMALLEST_PART_OF_RUN: f64 = 0.01, "of a CPU", "a choice: a fifth of what one trial tolerates; it moves no figure of the run";
    /// Of up to this many processes of one name each is named with its number; more are one disturber.
    DISTURBERS_BY_NUMBER: usize = 3, "processes", "a choice: as many as a user stops one by one";
    /// A CPU with less than this part of a process's time is not named.
    SMALL_PART_OF_DISTURBER: f64 = 0.1, "of its CPU time", "a choice: a process that moved for a moment is on its main CPU";

    // Whether a load is sustained.
    /// The generator sent a load if it left no more than this share of it unsent.
    UNSENT_SHARE: f64 = 0.05, "of the load",
        "a choice: a stricter one leaves trials of a busy generator open, a laxer one judges another load";
    /// Unsent or buffered frames of a soak above this share can hide a loss that matters: its result is in doubt.
    DOUBTFUL_SOAK_SHARE: f64 = 1e-3, "of the frames",
        "a choice: below it they hide at most a loss that is called nearly lossless (NEARLY_LOSSLESS_RATIO)";
    /// Up to this share of the frames of a trial may wait when sending ends because of a stall, although the application keeps up
    /// on average. It is as fine as the resolution of usual goals.
    STALL_BACKLOG: f64 = 0.005, "of the delivered frames",
        "the width of the goals ndr and pdr (FD.io CSIT): it moves no bound by more";
    /// An application that reads at least this share of the offered load may not be the limit.
    UNSATURATED_READ_SHARE: f64 = 0.99, "of the offered load",
        "a calculation: the 10 ms for which the receiver waits at the end are 1 % of a trial of a second";
    /// A loss is one of single moments, of a stalled application and not of too high a load, if less than one window in this many lost
    /// frames.
    FEW_MOMENTS_WINDOWS: u64 = 4, "windows for each window with loss",
        "a choice: half of the share of windows from which on the loss is of the whole trial";
    /// A loss is one of a single moment if more than this share of the lost frames are consecutive.
    ONE_RUN_LOSS: f64 = 0.5, "of the lost frames", "a choice: the rest is less than this moment lost";
    /// A load is too high all the time if at least this share of the windows of a trial lost frames.
    LOSS_THROUGHOUT_WINDOWS: f64 = 0.5, "of the windows",
        "a choice: a typical window loses frames; twice the share that is a few moments (FEW_MOMENTS_WINDOWS)";
    /// From the lowest load on at which at least this share of the trials are too high all the time, losses are no events.
    OVERLOADED_TRIALS: f64 = 0.5, "of the trials", "a choice: what a typical trial of the load shows";
    /// Backlogged frames are the reason why a load is too high if they are at least this share of the missing frames.
    BACKLOGGED_MISSING: f64 = 0.5, "of the missing frames", "a choice: they are as many as all lost and unsent ones";
    /// Trials that decide a load of a bench: a loss counts if the second one repeats it.
    REPEATS_OF_LOSS: u32 = 2, "trials", "a choice: a stall spoils one trial, and seldom two in succession";
    /// The share of the trials of a load of a bench that may lose more than the goal allows.
    LOSSY_REPEATS: f64 = 0.5, "of the trials", "the goals of MLRsearch (FD.io CSIT) with an exceed ratio of 0.5";
    /// A point of a sweep that falls short in the median of its visits does so if more than this share of its trials do. Otherwise it is
    /// open.
    FAILED_POINT_TRIALS: f64 = 0.5, "of the trials", "a choice: a median alone can be moved by one of two trials";
    /// The generator sent the load of a point of a sweep if it sent that of at least this share of its trials.
    SENT_POINT_TRIALS: f64 = 0.5, "of the trials", "a choice: the median trial has the load, as for what falls short";
    /// Half a nanosecond. Durations are whole nanoseconds, so smaller differences are rounding.
    DURATION_ROUNDING_NS: f64 = 0.5, "ns", "a calculation: half of the resolution of Duration";
    /// Loss ratio of the second goal of a bench.
    NEARLY_LOSSLESS_RATIO: f64 = 0.001, "of the sent frames",
        "a choice: stricter than the 0.5 % of the goal pdr (FD.io CSIT), so that a capture is nearly complete";
    /// Loads of one rate differ by up to this share: whole frames, and the last interval.
    OFFERED_LOAD_ROUNDING: f64 = 1e-3, "of the intended load", "a calculation: one frame of a trial of 1000 frames";
    /// A precision that is coarser than this counts as this one, where limits are compared and where a longer trial confirms one: it would
    /// call all limits equal, and confirm any.
    COARSEST_PRECISION: f64 = 0.1, "of the load", "a choice: limits that are further apart than a tenth matter to every user";
    /// Precision that is assumed where no search states one: of a ranking, and of the limit that a longer trial confirms.
    ASSUMED_PRECISION: f64 = 0.05, "of the load",
        "a choice: between the width of a search (0.5 %) and what rounds on a busy host differ by (10 %)";
    /// Trials at maximum load are of one load if what was sent differs by less than this share.
    EQUAL_MAXIMUM_LOADS: f64 = 0.05, "of the sent rate",
        "a choice: as much as a generator may leave unsent of its load (UNSENT_SHARE)";
    /// A loss is the method's own in two cases. It is larger by this factor than the share of time that others took from the
    /// trial's CPUs. Or the method read less by this factor than the time that they left allows.
    OWN_LOSS_FACTOR: f64 = 2.0, "times",
        "a choice: others explain a loss of the share that they took; the rest is for the error of ticks";
    /// Other work on its core makes a thread slower by less than this factor. So it reads no more packets/s than the least time that it
    /// took per packet allows, times this.
    THREAD_SLOWDOWN: f64 = 2.0, "times", "a choice: above the 1.3 to 1.5 times of a shared core (docs/evidence/guards.md)";
    /// A trial of fewer windows (LOSS_WINDOW of model) does not show whether a loss lasted.
    LASTING_LOSS_WINDOWS: u64 = 3, "windows", "a choice: of fewer windows, one is half of the trial or all of it";

    // Which method to use, and what a packet costs.
    /// Of two rates of a generator at its limit, the lower one is at least this share of the higher one: on a virtual link the receiver
    /// slows it.
    EQUAL_GENERATOR_LIMITS: f64 = 0.75, "of the higher rate",
        "a choice: a lower one calls receivers equal that slow the generator unequally";
    /// Limits within this many times the stated precision are equal: each of two intervals is that wide.
    EQUAL_LIMITS_PRECISIONS: f64 = 2.0, "times the precision", "a calculation: two intervals of this width that touch";
    /// Limits that differ by up to this share are equal, however precise they are, and where all methods were offered one load.
    EQUAL_LIMITS_LEAST: f64 = 0.05, "of the higher limit",
        "a choice: a smaller difference matters less than the costs that decide between equal limits";
    /// Of methods whose limits are not known to be equal, those that sustained at least this share of the highest load come first.
    ABOUT_HIGHEST_LOAD: f64 = 0.75, "of the highest load",
        "a choice: as much less as a generator sends to equal methods (EQUAL_GENERATOR_LIMITS)";
    /// A generator that sent a method this many times the load that it is shown to sustain does not limit it: where frames were left unsent
    /// then, that was noise.
    SENT_ABOVE_A_LIMIT: f64 = 2.0, "times the load",
        "a choice: what a generator sends at most differs by less from trial to trial, but next to other work";
    /// A method that is ranked below another one has a higher rate if it is above the other one's by this share.
    HIGHER_RANKED_RATE: f64 = 0.01, "of the rate", "a choice: readers see from about 1 % on that printed rates are out of order";
    /// A method that captured less than this share of a load in every trial does not sustain it, however noisy the host was, if another
    /// method does.
    FAR_BEHIND_SHARE: f64 = 0.5, "of the sent frames",
        "a choice: other work that takes a whole CPU for as long as the capture leaves it half of the time";
    /// The error of a cost is at least this share, and that of a single trial is taken as this one: it does not show how much the next
    /// one differs.
    LEAST_COST_ERROR: f64 = 0.05, "of the cost", "a choice: as precise as a rate without a search (ASSUMED_PRECISION)";
    /// A cost whose error is above this share of it is only a range.
    COST_RANGE_ERROR: f64 = 0.25, "of the cost",
        "a choice: a figure that is wrong by more than a quarter misleads more than a range";
    /// Less than half a nanosecond of a packet's CPU time that is neither the application's nor the kernel's is rounding.
    UNATTRIBUTED_TIME_NS: f64 = 0.5, "ns", "a calculation: half of the last digit of printed costs";
    /// Tries at one rate that differ by more than this share of it show the host, not the generator.
    DISTURBED_TRIES_DIFFERENCE: f64 = 0.05, "of the rate", "a choice: more than the step of 3 % to the next rate (LOWERED_RATE)";
    /// A generator needs attention if it is slower by this share with a plan than without, or in one try than in
    /// another.
    SLOW_GENERATOR_SHARE: f64 = 0.2, "of the rate",
        "a choice: twice what rounds on a busy host differ by (docs/evidence/recorders.md: 10 %)";
    /// Trials of which the host disturbed more than this share are no evidence together: of a ranking, a run or a claim.
    DISTURBED_TRIALS: f64 = 0.5, "of the trials", "a choice: medians are of undisturbed trials while these are most";
    /// Noise limited trials, or explains an answer, if the host explains more than this share of their losses.
    EXPLAINED_LOSSES: f64 = 0.5, "of the trials with losses", "a choice: as for medians (DISTURBED_TRIALS)";

    // Which method is best, from trials in turns. What is "simulated" is of crates/capbench-plan/src/bench/recommendation/turns.rs.
    /// The probability of any false finding of the rounds of a set-up. It is stricter than FALSE_ALARMS: many users run a bench, and each
    /// believes its first sentence.
    TURNS_FALSE_ALARMS: f64 = 0.02, "probability",
        "a choice: of 100 benches of one method under two names, up to two name a winner; none did on simulated hosts";
    /// The part of TURNS_FALSE_ALARMS that is left for the look at the end, when no more rounds follow.
    TURNS_LAST_LOOK: f64 = 0.5, "of the probability",
        "simulated: 863 of 899 quick benches decide; 859 with an equal part for each look, and 859 with 0.8";
    /// Numbers of rounds after which they are judged. Each look gets an equal part of what the last one leaves of TURNS_FALSE_ALARMS. Each
    /// number is above the one before by a third to a half: a run is longer than it must be by as much.
    TURNS_LOOKS: [usize; 7] = [4, 6, 9, 13, 19, 28, 42], "rounds",
        "simulated: after 3 rounds, work of others in every trial of one method and none of the other looks like a difference";
    /// Methods are equal if their captured shares and their costs are shown to differ by no more than this share. One is worse from there on.
    TURNS_EQUAL: f64 = 0.1, "of the figure",
        "a choice: limits that are further apart than a tenth matter to every user (COARSEST_PRECISION)";
    /// The confidence level of each single interval of trials in turns. It is stricter than LEVEL, since they are judged several times.
    TURNS_LEVEL: f64 = 0.98, "probability",
        "simulated: at 0.95, one of 200 hosts names a method that reads an eighth less, and costs less";
    /// The level of the interval that shows that a method is not better than the named one by TURNS_EQUAL. One that is named is the best
    /// looking one, so this is seldom wrong.
    TURNS_NOT_BETTER_LEVEL: f64 = 0.9, "probability",
        "simulated: at 0.98, methods that differ by little stay undecided on a busy host";
    /// A method that costs more is worse although it may capture more by up to this share, if it costs more by as much.
    TURNS_LOSS_FOR_COST: f64 = 0.25, "of the captured frames",
        "a choice: beyond it, the lost frames matter more to a user than CPU time";
    /// A method that captures less than another one by TURNS_EQUAL looks worse at any cost if chance explains that no more often.
    TURNS_LOOKS_LIKE_LESS: f64 = 0.2, "probability",
        "a choice: the order in which methods are tried for the first place; TURNS_FALSE_ALARMS decides";
    /// Costs contain the kernel's time if more than this share of the trials know it; in those of two methods receive work that interrupts
    /// the application counts once if more than this share of the trials of each know the application's own time.
    TURNS_KNOWN_TIME: f64 = 0.5, "of the trials",
        "a choice: with it, methods are compared by all that a packet costs; a trial without it tells nothing of that";
    /// A captured share below this one counts as this one: 0 has no logarithm.
    TURNS_LEAST_CAPTURED: f64 = 1e-3, "of the intended frames",
        "a choice: a method that captures less is no better than one that captures none";

    // Contrasts, effects, scaling, and cost regimes of a sweep.
    /// The probability that chance alone shows one of the differences of a sweep: rises, falls and leads, and their effects.
    SWEEP_FALSE_ALARMS: f64 = FALSE_ALARMS, "probability", "convention (FALSE_ALARMS of capbench-statistics)";
    /// Rates of two points, or of two methods at a point, that differ by less than this share are equal.
    EQUAL_RATES: f64 = 0.01, "of the rate", "a choice: a smaller difference matters to few users, and takes many repeats to show";
    /// Up to this number of neighbouring points are compared as a block: a difference over several points needs fewer
    /// repeats.
    CONTRASTED_POINTS: usize = 3, "points",
        "a choice: a longer block needs fewer repeats, and shows less of where the difference is";
    /// More members are of no more use if each further one brings less than this share of what each brought before.
    USEFUL_MEMBERS_GAIN: f64 = 0.5, "of the gain before", "a choice: below it, most of the CPU time of another member is wasted";
    /// Minimum number of points in a row for a plateau.
    PLATEAU_POINTS: usize = 3, "points", "a choice: two points can be a part of a slope";
    /// Minimum number of points for a slope.
    SLOPE_POINTS: usize = 4, "points", "a choice: two points are always on a line, and two more can contradict it";
    /// Minimum assumed variation of repeats, as a share of the time: few repeats can agree by chance.
    REPEATS_SPREAD: f64 = 0.005, "of the time", "a choice: it keeps repeats that agree by chance from outweighing the others";
    /// Points that deviate from a line by more than this share of the time are not on it.
    OFF_LINE_SHARE: f64 = 0.02, "of the time",
        "a choice: above the spread of repeats, below the step between two regimes (PLATEAU_LEVEL_DIFFERENCE)";
    /// Points that deviate from a line by up to this many times the deviation of their repeats are on it, too.
    OFF_LINE_SPREADS: f64 = 2.0, "times the deviation of the repeats",
        "a choice: few repeats show less than their whole deviation, and one point off the line ends a straight piece";
    /// A slope within this share of the requested time equals it.
    REQUESTED_SLOPE_DIFFERENCE: f64 = 0.05, "of the requested time",
        "a choice: below the 1.08 times of work in ns on a shared core (docs/evidence/guards.md)";
    /// A plateau may rise or fall by this share of its cost. Two plateaus that differ by less, or by no more than the noise, are one.
    PLATEAU_LEVEL_DIFFERENCE: f64 = 0.08, "of the cost",
        "a choice: a shared core changes work in ns by as much (docs/evidence/guards.md: 1.08 times)";
    /// A plateau may also rise or fall by this many times the noise of its points.
    PLATEAU_DRIFT_NOISE: f64 = 2.0, "times the noise of a point", "a choice: its first and its last point may each be off by the noise";
    /// The points of a plateau may vary by this share of its cost, times the number of points: the median of more points is known
    /// better.
    PLATEAU_VARIATION: f64 = 0.1, "of the cost",
        "a choice: three points may vary by 0.3 of the cost, which is less than most steps between regimes";
    /// One more plateau must lower the sum of squared deviations by this factor times the logarithm of the number of points: twice
    /// the criterion of Schwarz.
    PLATEAU_PENALTY: f64 = 4.0, "squared deviation",
        "a calculation: twice the criterion of Schwarz, which is 2 ln n for a level and a place";
    /// The error of a fitted time of a unit of work is this many standard errors of the slope.
    SLOPE_ERROR_BOUND: f64 = 3.0, "standard errors", "a choice: normal errors exceed 3 standard errors in 0.3 % of cases";
    /// A slope above the requested time by this many standard errors shows that work was slower.
    SLOWER_SLOPE_ERRORS: f64 = 4.0, "standard errors",
        "a choice: normal errors exceed 4 standard errors upwards in 3 of 100,000 cases; all costs follow from it";

    // Comparisons of runs and hosts.
    /// The probability that chance alone shows one of the changes of a comparison, of runs, methods or hosts.
    COMPARISON_FALSE_ALARMS: f64 = FALSE_ALARMS, "probability", "convention (FALSE_ALARMS of capbench-statistics)";
    /// The confidence level of the interval of each change of a comparison.
    COMPARISON_LEVEL: f64 = LEVEL, "probability", "convention (LEVEL of capbench-statistics)";
    /// A loss is new on one side of a comparison if more than this share of its trials lose frames and none of the other side does.
    NEW_LOSS_TRIALS: f64 = 0.5, "of the trials", "a choice: the median trial of that side loses frames";
    /// A rate is the generator's if more than this share of its values may be higher, because the method lost nothing.
    GENERATOR_RATE_VALUES: f64 = 0.5, "of the values", "a choice: the median of the values may then be higher, too";
    /// A comparison asks for as many visits as decide more than this share of the figures that have too few.
    DECIDED_FIGURES: f64 = 0.5, "of the figures", "a choice: figures that differ least need many times the visits of the others";
    /// The probability that chance alone shows a change on one of the days of a dataset. Each day is a comparison, whose changes are also
    /// subject to COMPARISON_FALSE_ALARMS.
    DAYS_FALSE_ALARMS: f64 = FALSE_ALARMS, "probability", "convention (FALSE_ALARMS of capbench-statistics)";
    /// Costs at common loads that differ by more than this share are not compared: the cost of a packet depends on the load.
    EQUAL_LOADS: f64 = 0.1, "of the higher load",
        "a choice: the cost of a packet is shared by its batch; a stricter one leaves few pairs of runs";
    /// Smallest change of rates and times of two runs to report, by default.
    REPORTED_CHANGE: f64 = 0.05, "of the earlier value",
        "docs/evidence/compare.md: most pairs of equal runs exclude a change of 5 %; the user can set it";
    /// Smallest change of the loss of two runs to report, by default.
    REPORTED_LOSS_CHANGE: f64 = 0.001, "of the sent frames",
        "a choice: the loss of the second goal of a bench (NEARLY_LOSSLESS_RATIO); the user can set it";
    /// Smallest change of rates and times to report, by default. The precision of many hosts is higher than that of two
    /// runs, and a change of a few hosts is a small one of all.
    REPORTED_CHANGE_OF_HOSTS: f64 = 0.005, "of the earlier value",
        "a calculation: one host of twenty that became worse by a tenth; the user can set it";
    /// A host is named as worse from this change on. It is smaller than that of two runs: a host has several runs.
    WORSE_HOST: f64 = 0.02, "of the earlier value",
        "a choice: between the smallest change of two runs (5 %) and that of all hosts (0.5 %)";
    /// Up to this number of days from one on are compared with as many before it: a host has one run a day, and a test needs
    /// several.
    COMPARED_DAYS: usize = 3, "days on each side", "a choice: more days show smaller changes, and show them later";
    /// The last days of a dataset that are compared. Each is a test, and the more tests there are, the larger must a change be.
    LAST_DAYS: usize = 60, "days", "a choice: two months; with more days each of them needs a larger change";
    /// Figures of the host's speed that differ by less than this share are equal.
    EQUAL_HOST_SPEED: f64 = 0.05, "of the figure", "a choice: as for the cores of trials (SLOWED_CORE)";
    /// Work in nanoseconds is equal work if its iterations differ by less than this share.
    EQUAL_ITERATIONS: f64 = 0.05, "of the iterations", "a choice: as for the speed of the host (EQUAL_HOST_SPEED)";
    /// Replaces 0, which has no logarithm. It is below all measured values.
    SMALLEST_COMPARED_VALUE: f64 = 1e-9, "of the measure", "below all measured values";
    /// `examples/sql/regressions.sql` shows a change from this number of standard deviations on. Its test has no correction.
    QUERY_DEVIATIONS: f64 = 3.0, "standard deviations",
        "a calculation: chance exceeds it in 0.3 % of cases, as for each of 18 set-ups that share COMPARISON_FALSE_ALARMS";
    /// A CPU whose loop takes longer than this is not at full speed.
    SLOWED_CORE: f64 = 1.05, "times its minimum", "a choice: a third of the way to a shared core (SHARED_CORE_PACE)";
    /// Trials on cores slower than this are compared with each other only.
    SHARED_CORE_PACE: f64 = SHARED_CORE, "times its minimum", "as in the mark of a noisy trial (SHARED_CORE of capbench-model)";
    /// A CPU whose loop takes longer than this shares its core all the time.
    HELD_UP_CORE: f64 = 1.3, "times its minimum", "docs/evidence/guards.md: the least of a shared core";

    // Reproduced publications.
    /// The probability that chance alone gives the answer to a claim.
    REPRODUCTION_FALSE_ALARMS: f64 = FALSE_ALARMS, "probability", "convention (FALSE_ALARMS of capbench-statistics)";
    /// An effect is absent if half of the published size is excluded: Dain's rise is by a fifth, his ring is behind by
    /// more.
    ABSENT_EFFECT: f64 = 0.1, "of the rate", "a calculation: half of Dain's rise by a fifth";
    /// From this share of all losses, uncounted losses are more than frames that were counted at another time.
    UNCOUNTED_LOSS_SHARE: f64 = 0.01, "of all losses",
        "a choice: counters that are read 10 ms apart differ by 1 % of a trial of a second";
    /// A generator that sends less than this share of the intended frames did not reach the load.
    REPRODUCED_LOAD_SHARE: f64 = 0.99, "of the intended frames", "a choice: publications print figures of two or three digits";
    /// From this share of the sent frames, frames buffered when sending ended make a difference.
    BUFFERED_SHARE: f64 = 0.001, "of the sent frames", "a choice: below the digits that publications print of shares";

    /// Visits of each point of a reproduced publication without `--visits`: one of them may contradict the others, as one that the host
    /// disturbed does.
    REPRODUCTION_VISITS: u32 = 9, "visits",
        "a calculation: sign test, 2 x 10 x 0.5^9 = 0.039, and 2 x 9 x 0.5^8 = 0.070; each publication takes less than 15 minutes";

    /// Other visits of a point are left out (disturbed, without their load, without one of the highest loads) only if at least this many remain.
    /// Where only the load itself answers, visits without it are left out unless it is out of reach.
    ENOUGH_VISITS: u32 = 6, "visits", "a calculation: sign test, 2 x 0.5^6 = 0.031, and 2 x 0.5^5 = 0.063";
    /// Where a claim is about more packets than a method takes, this part of its visits decides: those with the highest loads.
    HIGHEST_LOADS: f64 = 0.5, "of the visits",
        "a choice: a shared host halved the generator's maximum in up to half of the visits";
    /// The part of the visits of both sides that decides which CPU time is lower, and of the short trials of a method that say what a packet
    /// costs. Noise only adds to a CPU time, and on some hosts to that of most visits.
    LEAST_DISTURBED_VISITS: f64 = 0.25, "of the visits",
        "a choice: on a shared host more than half of the visits were slow at times, and fewer than three quarters";

    /// Above this share of trials whose load was not sent, the generator of the host is too weak for a claim about that load.
    UNREACHED_LOAD: f64 = 0.5, "of the trials", "a choice: it usually does not reach it";
    /// From this number of trials on, that share shows what the generator can do.
    TRIALS_OF_UNREACHED_LOAD: usize = 6, "trials", "a choice: fewer do not show what is usual";

    // Bursts and RFC 2544.
    /// The last part of the time after the overload that must be without loss, as a share of it. A generator that is late by more
    /// left too little of it.
    RECOVERED_QUIET_SHARE: f64 = 0.1, "of the time after the overload",
        "a choice: a longer quiet part calls a late recovery none, a shorter one can lie between two losses";
    /// Trials in succession that must lose nothing.
    LOSSLESS_TRIALS_IN_SUCCESSION: usize = 2, "trials", "RFC 2544 26.3";
    /// From this share of the longest burst, a result does not show the buffer's size.
    BURST_NEAR_LIMIT: f64 = 0.95, "of the longest burst",
        "a choice: more than the resolution of a burst (SWEPT_BURST_RESOLUTION) below the limit";
    /// A burst that took longer by more than this share was sent at another rate. It is no evidence for the requested
    /// rate.
    SLOWER_BURST: f64 = 0.01, "of its time", "a choice: the size of the buffer follows from the rate, and is wrong by as much";
    /// Delay allowed for the last frame, by the burst's duration: the generator reads the clock and calls the kernel.
    BURST_END_DELAY: f64 = 0.1, "of the burst's time", "a choice: a later end shows a pause within the burst";
    /// The delay allowed for the last frame is at least this long: one call passes the shortest bursts to the kernel.
    SHORTEST_BURST_END_DELAY: Duration = Duration::from_micros(50), "time",
        "a choice: a call for 70 frames, at the 0.7 us a frame of docs/evidence/send.md";
    /// The delay allowed for the last frame is up to this long.
    LONGEST_BURST_END_DELAY: Duration = Duration::from_micros(100), "time", "a choice: two such calls";
    /// A generator that was disturbed during a burst may retry this many times per verification of losses.
    BURST_ATTEMPTS: u32 = 3, "tries", "a choice: a generator that fails three times in a row does not reach the rate";
    /// Resolution of the longest burst at each point of a sweep.
    SWEPT_BURST_RESOLUTION: f64 = 3.0, "% of its length",
        "a choice: a finer one takes more bursts at each point, and a ring changes by more between points";

    // Guards of trials.
    /// Largest difference of two clocks: crystals of links are accurate to 100 ppm each. Rates that differ by less are equal: that of a link
    /// and one on it, and the throughput and the maximum rate of a back-to-back test.
    CLOCKS_DIFFERENCE: f64 = 2e-4, "of the rate", "IEEE 802.3: 100 ppm for each clock";
    /// A disturbed trial is repeated up to this many times.
    DISTURBED_TRIAL_REPEATS: u32 = 2, "repeats", "a choice: three tries in all; the user can set it";
    /// Repeats of disturbed trials may use this share of the time: on a noisy host they are as noisy.
    REPEATS_TIME_SHARE: f64 = 0.25, "of the time of trials", "a choice: a run takes at most a quarter longer";
    /// After this many probes that are not clean the path is given up.
    PROBES: u32 = 5, "probes", "a calculation: their pauses of 0.1 to 1.6 s are 3 s together";
    /// Pause after the first probe that is not clean; each further pause is twice as long.
    PROBE_PAUSE: Duration = Duration::from_millis(100), "time", "a choice: as long as a probe";
    /// A trial overloaded the path if it lost more than this share of the sent frames; smaller losses are single
    /// losses.
    OVERLOADED_PATH_LOSS: f64 = 1e-3, "of the sent frames",
        "a choice: a path with less is called nearly lossless (NEARLY_LOSSLESS_RATIO)";
    /// Load of the first probe, packets/s. Each further one has half of it: the fifth leaves a slow set-up 16 ms per
    /// packet.
    FIRST_PROBE_LOAD: f64 = 1000.0, "packets/s", "a calculation: 1000 / 2^4 packets/s are 16 ms apart";
    /// Length of a probe.
    PROBE_LENGTH: Duration = Duration::from_millis(100), "time", "a calculation: 100 frames at FIRST_PROBE_LOAD";
    /// Share of foreign frames in a probe above which they are leftovers of an overload, not other traffic of the link.
    LEFTOVERS_SHARE: f64 = 0.1, "of the probe's frames",
        "a choice: a link's other traffic is allowed; leftovers of a ring outnumber the 100 frames of a probe";
    /// Frames in the buffer of a card count as sent, and are not yet on the wire. The link needs up to this time for them: 0.52 ms for
    /// 64 KiB at 1 Gbit/s, 0.13 ms for 160 KiB at 10 Gbit/s.
    ON_CHIP_BUFFER_S: f64 = 5e-4, "s of the link",
        "a calculation: 64 KiB, receive and transmit together (e1000, igc), at 1 Gbit/s; ixgbe: IXGBE_TXPBSIZE_MAX";
    /// Frames that a phase has more than rate times duration: the first one is sent at the very start.
    FRAMES_AT_START: f64 = 1.0, "frames", "definition of a rate";

    // What repeated searches show.
    /// The probability that chance alone puts a method above another one in the order of repeated searches.
    SEARCH_ORDER_FALSE_ALARMS: f64 = FALSE_ALARMS, "probability", "convention (FALSE_ALARMS of capbench-statistics)";
    /// The bounds of a search are distinguished if chance explains their difference with up to this probability.
    DISTINGUISHED_BOUNDS_BY_CHANCE: f64 = 1.0 - LEVEL, "probability", "convention (LEVEL of capbench-statistics)";

    // Which trial a search runs next.
    /// Number of trials at the generator's full speed. A momentarily busy host is not a limit of the generator.
    UNPACED_TRIALS: u32 = 2, "trials", "a choice: one more than a stall spoils";
    /// Maximum number of trials of the self-test: no goal benefits from their traffic.
    MAXIMUM_RATE_TRIALS: usize = UNPACED_TRIALS as usize + 2 * GENERATOR_RATE_TRIES, "trials",
        "a calculation: those without a pace (UNPACED_TRIALS), and all tries at each of two rates (GENERATOR_RATE_TRIES)";
    /// Tries of the self-test before a rate counts as one that the generator does not sustain.
    GENERATOR_RATE_TRIES: usize = 3, "tries", "a choice: a stall spoils one try, and seldom three";
    /// Equal tries (EQUAL_TRIES) before a rate counts as one that the generator does not sustain.
    EQUAL_GENERATOR_TRIES: usize = 2, "tries", "a choice: the host seldom disturbs two tries equally";
    /// Tries that differ by no more than this share are equal. Disturbances by the host are less regular.
    EQUAL_TRIES: f64 = 0.01, "of the rate", "a choice: below the step to the next rate (LOWERED_RATE)";
    /// The next rate, as a share of an unsustained one, if a try came closer than that.
    LOWERED_RATE: f64 = 0.97, "of the rate",
        "a choice: a smaller step takes more trials, a larger one gives up more of the maximum";
    /// The highest sustained rate is known if an unsustained rate is above it by no more than this share.
    MAXIMUM_RATE_PRECISION: f64 = 0.04, "of the rate",
        "a choice: a step to the next rate (LOWERED_RATE), and the difference of equal tries (EQUAL_TRIES)";
    /// A width in whole steps is at least this share of the requested one.
    STEP_WIDTH_LEAST: f64 = 0.99, "of the requested width", "a choice: a width that is narrower by more costs trials";
    /// A width in whole steps is up to this share of the requested one, so that a regular result has the goal's width.
    STEP_WIDTH_MOST: f64 = 0.999_999, "of the requested width",
        "a choice: far above the rounding of f64, far below what a user sees";
    /// Maximum length of a series of loads. All widths above 100 steps are close enough, so only widths below a millionth reach
    /// it.
    SERIES_LENGTH: i64 = 100_000_000, "steps", "a choice: it bounds the time for a series";
    /// Loads of the series, computed back from a rate, are off by less than this share of a step.
    SERIES_ROUNDING: f64 = 1e-6, "of a step", "a calculation: sums of 1e8 steps in f64 are off by 2e-8";
    /// Loads and widths read from a file may be off by this share: their last digit.
    RESUMED_VALUE_ROUNDING: f64 = 1e-9, "of the value", "a choice: a value has at least ten digits in a file";
    /// Shorter final trials of a goal get a warning.
    SHORT_FINAL_TRIAL: Duration = Duration::from_secs(60), "time", "RFC 2544 24";
    /// The gap where loss begins has priority over the gap at a sharper bend, until it is narrower than that one by this factor.
    ONSET_GAP_FACTOR: f64 = 2.0, "times the width", "a calculation: one cut of the gap into halves";
    /// Minimum size of a bend that a sweep refines, as a share of a series' range.
    SMALLEST_BEND: f64 = 0.02, "of the series' range", "a choice: a smaller one is not seen in a chart";

    // Which trial a bench runs next.
    /// First common load by what the slowest method delivered at maximum load, where it delivers less than it can
    /// sustain.
    FIRST_COMMON_LOAD: f64 = 0.7, "of the slowest rate",
        "a choice: low enough that most methods sustain it, high enough for full batches";
    /// Factor that lowers the common load after a method loses frames at it.
    LOWERED_COMMON_LOAD: f64 = 0.6, "of the common load", "a calculation: 0.6^5, after all rounds, is 8 % of the first load";
    /// Number of times the common load is lowered before the bench gives up on the group.
    COMMON_LOAD_ROUNDS: usize = 5, "rounds", "a choice: as LOWERED_COMMON_LOAD";
    /// Minimum of the common load: below it the kernel's clock is too coarse.
    LOWEST_COMMON_LOAD_PPS: f64 = 1000.0, "packets/s", "a calculation: two ticks of 10 ms are 20 us for each packet of a second";
    /// Minimum of the common load by the fastest method's rate.
    LOWEST_COMMON_LOAD: f64 = 0.02, "of the fastest rate",
        "a choice: costs at a lower load say little about the loads that users have";
    /// Length of a trial in turns.
    TURN_LENGTH: Duration = Duration::from_millis(75), "time",
        "simulated: a quick bench decides 96 of 100 hosts with a difference; 95 with 100 ms, and 94 with 60 ms";
    /// Share of the time besides trials at maximum load that methods take turns for, at most. Searches of rates get the rest.
    TURNS_TIME: f64 = 0.85, "of the time",
        "simulated: a quick bench decides as many hosts with 0.92; the rest suffices to search the rate of the best";
    /// The part of that which the methods of the first of several set-ups may take.
    TURNS_OF_FIRST_SET_UP: f64 = 0.8, "of the time for turns",
        "simulated: of hosts that mostly measure two placements, a quick bench decides 94 of 100 with a difference; 90 with 0.6";
    /// How long methods take turns at the load of `--rate`, at most.
    TURNS_AT_RATE: Duration = Duration::from_secs(20), "time", "a choice: as long as a quick bench; it ends as soon as they decide";
    /// The load at which methods take turns, by the best rate that a method is known to read.
    TURNS_LOAD: f64 = 1.08, "times the best rate",
        "simulated: at the limit of the best, others lose most of what they ever lose; far above it, the best one may collapse";
    /// The load at which methods in turns are compared by their costs, by the limit of the best one. A slower method lowers it
    /// (FIRST_COMMON_LOAD).
    TURNS_COST_LOAD: f64 = 0.4, "times the best rate",
        "measured: on hosts where others use 30 % of each CPU, methods capture half of the load that is their limit without that";
    /// Methods are compared by their costs in the first of so many rounds at the limit, until the costs are known.
    TURNS_ROUNDS_OF_COSTS: usize = 2, "rounds",
        "simulated: with a round of costs for each at the limit, fewer hosts are decided; measured: a round of costs tells more than several at the limit";
    /// The next load if a method captures all of it.
    TURNS_LOAD_STEP: f64 = 2.0, "times the load",
        "a choice: most loads are near the limit at once; a method that collapses at maximum load can sustain many times as much";
    /// The limit of the best method is known if it is missed at a load that is above it by up to this factor.
    TURNS_LOAD_PRECISION: f64 = 1.09, "times the best rate",
        "a choice: further above its limit a method that collapses may lose more than one that is slower by a tenth";
    /// Steps to the load at which methods take turns, at most.
    TURNS_LOAD_STEPS: usize = 16, "loads",
        "a calculation: seven steps of TURNS_LOAD_STEP are a factor of 100, and nine find the limit";
    /// A method captures all of a load in a trial in turns if it captures this share.
    TURNS_CAPTURED: f64 = 0.95, "of the intended frames",
        "a choice: as much as a generator may leave unsent (UNSENT_SHARE), or a pause of 4 ms in a trial of 75 ms";
    /// Rounds after which the load is raised if a method captured all of it: noise lowers what a method captures, and never raises it.
    TURNS_LOAD_ROUNDS: usize = 2, "rounds", "a choice: those before the first look";
    /// How often the load is raised because a round showed that it is too low, at most.
    TURNS_LOAD_RAISES: usize = 1, "times",
        "simulated: a quick bench decides as many hosts with 3, 94 of 100; each costs up to two rounds";
    /// Slower methods, by the fastest one's rate, are excluded: they would lower the common load too far.
    COMMON_LOAD_SLOWEST: f64 = 0.05, "of the fastest rate",
        "a choice: the common load of the others would be below a twentieth of the fastest rate";
    /// Time for which methods hold frames back although the application waits for them, as a block of a ring.
    METHOD_HOLD_TIME: Duration = Duration::from_millis(10), "time", "retire_timeout in capbench-model/src/options.rs";
    /// Trials that a search is likely to need: for the estimate before any trial ran, and where the time does not suffice for all searches.
    LIKELY_SEARCH_TRIALS: usize = 5, "trials", "a choice: an estimate, which the first search replaces";
    /// Lowest load of a search, as a share of the rate at which the method read frames at maximum load. A method that
    /// loses frames at lower loads loses them at any load.
    LOWEST_SEARCH_LOAD: f64 = 0.05, "of the read rate",
        "a choice: each halving below the read rate takes a trial; a twentieth takes five";
    /// A method below this share of the fastest one's rate gets a coarse search first.
    COARSE_SEARCH_FIRST: f64 = 0.5, "of the fastest rate", "a choice: a method at half of the rate is hardly the answer";
    /// A method was sent too little to compare it if it is this share below what another one sustains.
    UNDERSENT_SHARE: f64 = 0.1, "of the sustained load", "a choice: twice what a generator may leave unsent (UNSENT_SHARE)";
    /// Length of the trial that confirms the answer, in trials of the bench, where so much time is left.
    CONFIRMATION_LENGTH: u32 = 5, "lengths of a trial",
        "a choice: a fifth of the excess shows, and the time of one trial remains small";
    /// Highest number of trials that confirm the answer: each but the last one showed that the load was too high.
    CONFIRMATION_TRIALS: usize = 5, "trials",
        "a choice: steps of 1 % (NEXT_CONFIRMATION_LOAD) then cover the precision of a search (ASSUMED_PRECISION)";
    /// The next load after a trial that did not confirm the answer, as a share of the rate at which the method read frames in it.
    NEXT_CONFIRMATION_LOAD: f64 = 0.99, "of the read rate",
        "a choice: below the read rate by the error of that rate (UNSATURATED_READ_SHARE)";
    /// Trials of searches are longer by this factor where the time suffices, else by 2: a longer trial shows a load that is too
    /// high by less.
    LONGER_SEARCH_TRIALS: u32 = 4, "times", "a choice: a quarter of the excess shows, for four times the time";
    /// Share of the time that longer trials may use by their likely number.
    LONGER_TRIALS_TIME: f64 = 0.3, "of the time", "a choice: the rest is for the other methods and for repeats";
    /// Methods that the answer does not depend on are searched with a precision that is coarser by this factor.
    COARSEST_SEARCH: u32 = 4, "times the precision", "a choice: two halvings fewer";
    /// Capacity that is supposed of a method, as a share of the rate at which it read frames at maximum load.
    ASSUMED_CAPACITY: f64 = 1.05, "of the read rate",
        "a choice: the rate at maximum load is a little below the capacity, as overload costs time";
    /// Share of the time that planning keeps for trials that are repeated because the host disturbed them.
    REPEATS_RESERVE: f64 = 0.1, "of the time",
        "a choice: less than repeats may take (REPEATS_TIME_SHARE), as most hosts disturb few trials";
    /// Time of a trial besides sending: opening rings, draining, reading counters.
    TRIAL_OVERHEAD: Duration = Duration::from_millis(300), "time",
        "measured: 0.15 to 0.48 s, the mean of each of seven runs on a shared host of two CPUs";
    /// Time of a run besides its trials: opening the test bed, and writing the report.
    RUN_OVERHEAD: Duration = Duration::from_secs(2), "time", "measured: 1.7 to 2.7 s on a busy host of two CPUs";
    /// A run announces another time if by its trials the announced one is wrong by this factor.
    WRONG_ESTIMATE: f64 = 1.5, "times", "a choice: a user who plans a break is not misled by less";
    /// Trials after which that is asked. The first of a run is repeated if it is disturbed, and of the others one in ten.
    ESTIMATING_TRIALS: usize = 10, "trials", "a calculation: one repeat is the share that is kept for repeats (REPEATS_RESERVE)";
    /// Runs that take less time announce none, and runs of which less is to come no other.
    ANNOUNCED_TIME: Duration = Duration::from_secs(30), "time", "a choice: for less nobody does something else meanwhile";
    /// Share of the trials in which noise costs frames below the limit of a method, where an estimate supposes a noisy host.
    NOISY_TRIALS: f64 = 0.4, "of the trials",
        "measured: searches on a shared host of two CPUs lost frames in half of their trials, some of these above the limit";
    /// Share of the frames that such a trial loses at least.
    NOISY_TRIAL_LOSS: f64 = 0.02, "of the frames", "a choice: more than the goals of searches allow";
    /// Time of all trials of a bench. Opening the test bed and writing the report take the rest of 90 seconds.
    BENCH_TIME: Duration = Duration::from_secs(80), "time", "a choice: a minute and a half with all that is not measuring";
    /// Precision of the sustained rates of a bench.
    BENCH_PRECISION: f64 = 0.05, "of the rate", "a choice: half of the difference that matters to every user (COARSEST_PRECISION)";
    /// Length of a trial of a bench.
    BENCH_TRIAL: Duration = Duration::from_millis(400), "time",
        "a choice: as short as a search of its precision allows, so that more methods fit";
    /// The same of a quick one.
    QUICK_BENCH_TRIAL: Duration = Duration::from_millis(300), "time", "a choice: as BENCH_TRIAL, for a coarser precision";
    /// Precision of the sustained rates of a quick bench.
    QUICK_BENCH_PRECISION: f64 = 0.1, "of the rate", "a choice: as coarse as limits are compared (COARSEST_PRECISION)";
    /// The time of all trials of a quick bench, of 20 seconds.
    QUICK_BENCH_TIME: Duration = Duration::from_secs(17), "time",
        "measured: with it, and busy CPUs, opening the test bed and writing the report end within 20 s (docs/evidence/turns.md)";

    // What a run shows.
    /// A measured application time that fills a CPU by this factor leaves no doubt: noise of the host is part of it.
    CLEARLY_BUSY_FACTOR: f64 = 1.2, "times one CPU",
        "a choice: more than ticks and the 1.08 times of work in ns on a shared core explain";
    /// A rate that is known less precisely is only a lower bound.
    LOWER_BOUND_PRECISION: f64 = 0.25, "of the rate", "a choice: as for costs (COST_RANGE_ERROR)";
    /// Visits that an advice or a proposed command asks for: chance alone then explains a difference in fewer than 1 of 20 cases. No
    /// decision waits for them.
    ADVISED_VISITS: u32 = 6, "visits", "a calculation: sign test, 2 x 0.5^6 = 0.031, and 2 x 0.5^5 = 0.063";
    /// A comparison asks for up to this many visits to decide its figures.
    MOST_ADVISED_VISITS: usize = 48, "visits", "a choice: four times the pairs of `bench --against`, in four times its time";
    /// A ranking by searches asks for up to this many searches of each method.
    MOST_ADVISED_SEARCHES: usize = 12, "searches", "a choice: three times those that distinguish two methods far apart";
    /// A soak was cut short if more than this share of its planned time is missing.
    CUT_SOAK_SHARE: f64 = 1e-3, "of the planned time", "a choice: 3.6 s of an hour";
    /// A buffer that grows by less than this share of the growth of the ring has another limit.
    BUFFER_FOLLOWS_RING: f64 = 0.5, "of the ring's growth",
        "a choice: half way between a buffer that is the ring and one that does not depend on it";
    /// A method is not cheaper at a point of a sweep if costs differ by less than this share: the kernel's clock is coarser.
    EQUAL_SWEEP_COSTS: f64 = 0.05, "of the higher cost",
        "a choice: more than two ticks of 10 ms in a trial of a second, which are 2 %";
    /// Of pairs of method and ring within this share of the least cost, the one with the smallest ring is named.
    EQUAL_RING_COSTS: f64 = 0.05, "of the higher cost", "a choice: as for methods (EQUAL_SWEEP_COSTS)";
    /// A quantity that changes by this factor between two plateaus is reported with the change.
    CHANGED_QUANTITY_FACTOR: f64 = 1.5, "times",
        "a choice: above the 1.3 to 1.5 times of a shared core (docs/evidence/guards.md)";
    /// A place whose share of the loss changes by this much is reported with the change.
    MOVED_LOSS_SHARE: f64 = 0.25, "of the loss", "a choice: a quarter of the loss shows in a table at once";
    /// Shares of members that differ by less are equal.
    EQUAL_MEMBER_SHARES: f64 = 0.01, "of the frames", "a choice: differences that a table of whole per cents does not show";
    /// The worst 100 ms and the worst flow are facts if they lost this many times the mean share.
    NOTABLE_LOSS_FACTOR: f64 = 3.0, "times the share of the trial",
        "a choice: below the ten times of a loss that is all in one of the ten windows of a second";
    /// They must also have lost this many frames: among few frames, some flow is always unlucky.
    NOTABLE_LOST_FRAMES: u64 = 100, "frames", "a calculation: the standard deviation of 100 is 10 %";
    /// In trials of fewer windows the start cannot be distinguished from the rest.
    START_WINDOWS: u64 = 5, "windows of 100 ms", "a choice: of fewer windows, the first is a quarter of the trial or more";
    /// Loss is at the start if this share of it is in the first 100 ms.
    LOSS_AT_START: f64 = 0.9, "of the lost frames", "a choice: the rest can be of a stall";
    /// A trial lost its frames in the backlog, which a stalled CPU does not empty, if the backlog lost at least this share of them.
    STALLED_BACKLOG_LOSS: f64 = 0.5, "of the lost frames", "a choice: no other place lost more";
}
