"""The types of results.json. Made of docs/results.schema.json by write-types: do not edit."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict


class Across(TypedDict):
    """A figure over all trials."""

    max_ns: int
    """The maximum."""
    median_ns: int
    """Its median, the lower one of two."""
    min_ns: int
    """The minimum."""


Allowance: TypeAlias = Literal['time', 'traffic']
"""What a user limits."""


Answer: TypeAlias = Literal['holds', 'changed', 'cannot_be_told', 'not_testable']
"""The answer to a claim."""


class AttachedProgram(TypedDict):
    """An XDP program on an interface."""

    attached: str
    """`driver`, `generic`, `hardware` or `several`."""
    interface: str
    """The interface."""


class Attempt(TypedDict):
    """A discarded attempt at a trial."""

    method: str
    """Its method."""
    trial: int
    """Its number."""


AxisKind: TypeAlias = Literal['work', 'size', 'ring', 'placement', 'load', 'coalesce', 'members']
"""The varied parameter."""


BacklogPart: TypeAlias = Literal['no_backlog', 'receiver_without_driver', 'receiver_beyond_sender', 'receiver', 'sender', 'unreadable', 'no_link_statistics']
"""How the trial's part of what the backlogs of the host dropped is known (`dropped` of /proc/net/softnet_stat)."""


class Backlogged(TypedDict):
    """Frames that were still in buffers when sending ended. A longer trial loses them."""

    frames: int
    """These frames, summed over all high-loss trials of the load."""
    of: int
    """All frames that made these trials high-loss: backlogged, lost and unsent ones."""


Because: TypeAlias = Literal['only_one', 'rate', 'application_time', 'total_time', 'privilege', 'equal']
"""Why a method is recommended and not the next one."""


class BeforeAndAfter(TypedDict):
    """A quantity in two neighbouring regimes."""

    after: float
    """In the second one."""
    before: float
    """In the first one."""


class BeforeCountersRefused(TypedDict):
    """The kernel reported them to the generator (`ENOBUFS`)."""

    refused: int


BelowBy: TypeAlias = Literal['loss', 'cost', 'application_cost']
"""The figure by which a method is below another one."""


class Benchmark(TypedDict):
    """The benchmark of RFC 9004 section 6 over all searches."""

    average_frames: float
    """Mean length in frames: the benchmark."""
    corrected_buffer_s: float
    """Seconds that the buffer lasts: the same, minus what was read from it meanwhile."""
    implied_buffer_s: float
    """Seconds that the mean length lasts at the theoretical rate."""
    max_frames: int
    """The longest."""
    min_frames: int
    """The shortest."""
    offered_percent: float | None
    """The lowest rate of the longest bursts, in percent of the theoretical rate. Below 99 it is not a burst."""
    stdev_frames: float | None
    """Standard deviation in frames; absent with a single search."""


class BlindCard(TypedDict):
    """A card whose counters do not show what it loses."""

    because: NotRequired[str]
    """Why, as the table of drivers has it; absent if the card has no counter for it."""
    driver: NotRequired[str]
    """Its driver; absent if it is unknown."""


class BoundsDistinction(TypedDict):
    """Whether chance explains the difference between a goal's bounds."""

    by_chance: float
    """The probability of shares of high-loss trials at least this far apart if both bounds have the same share (Fisher's exact test, one-sided). The real probability is higher, because the same trials selected the bounds."""
    nearest: NotRequired[list[float]]
    """If the bounds are not distinguished: the nearest loads around them that are, lower one first; absent if there are none."""


Bucket = TypedDict(
    'Bucket',
    {
        'count': int,
        'from': int,
    },
)


class BufferGrowthAtEveryStep(TypedDict):
    """At every step."""

    what: Literal['at_every_step']


class Buffered(TypedDict):
    """Trials that lost nothing, at loads above the rate at which frames were read."""

    behind_s: float
    """Seconds for which the application kept reading after sending ended, in the trial where that was longest."""
    from_pps: float
    """The lowest load of such a trial, frames per second."""
    taken_pps: float
    """The highest rate at which frames were read in any of them."""
    to_pps: float
    """The highest."""
    trials: list[int]
    """Their numbers."""


BurstEnd: TypeAlias = Literal['found', 'none-held', 'never-fills', 'at-limit', 'generator-limited', 'invalid', 'not-run']
"""How a search for a burst ended."""


class Cache(TypedDict):
    """Identical caches of one kind."""

    count: int
    """Number of these caches in the host."""
    kind: str
    """`Data`, `Instruction` or `Unified`."""
    level: int
    """1 is nearest to the CPU."""
    line_bytes: NotRequired[int]
    """Cache line size in bytes."""
    shared_by_cpus: NotRequired[int]
    """Largest number of CPUs that share one."""
    size_bytes: NotRequired[int]
    """Size of each cache in bytes."""
    ways: NotRequired[int]
    """Associativity: lines in which an address can be cached."""


class CardCounter(TypedDict):
    """A counter of a card or its driver."""

    counter: str
    """The counter, as the table of drivers has it."""
    is_bound_by_failed_redirects: NotRequired[bool]
    """Whether it counts only as far as the tracer saw redirects fail."""
    meaning: str
    """What it counts, as the table of drivers has it."""


class Cell(TypedDict):
    """A cell."""

    at_least: NotRequired[bool]
    """Whether the value is a minimum: the load, or the generator, was the limit."""
    high: NotRequired[float]
    """Upper limit."""
    low: NotRequired[float]
    """Lower limit of the interval of several visits."""
    mark: NotRequired[str]
    """A letter that a note of the table explains."""
    trials: NotRequired[list[int]]
    """Trials that support it."""
    value: float | None
    """The published number, or the median of the measured values; absent if there is none."""


Certainty: TypeAlias = Literal['certain', 'likely']
"""How certain a statement is."""


ChanceToSuffice: TypeAlias = Literal['hardly', 'hardly_below_maximum', 'perhaps']
"""How likely an allowance suffices."""


class Change(TypedDict):
    """The change of a figure: relative to the earlier value; for shares, the difference."""

    high: NotRequired[float]
    """Upper limit of the change."""
    low: NotRequired[float]
    """Lower limit of the change, at the confidence level of comparisons; absent if there are too few trials."""
    middle: float
    """The change that makes both sides equal (Hodges and Lehmann), between the limits."""


class ClaimEvidenceCannotRun(TypedDict):
    """The claim needs a method that cannot run here."""

    because: str
    """Why it cannot."""
    method: str
    """The method."""
    what: Literal['cannot_run']


class ClaimEvidenceLoadNotReached(TypedDict):
    """The generator did not reach the load of the publication."""

    all_trials: int
    """All trials."""
    trials: int
    """Trials in which it did not."""
    what: Literal['load_not_reached']
    withdraws: bool
    """Whether this withdraws the answer."""


class ClaimEvidenceSlowCpus(TypedDict):
    """A CPU ran slower than its best."""

    all_trials: int
    """All trials."""
    trials: int
    """Trials in which one did."""
    what: Literal['slow_cpus']


class ClaimEvidenceDisturbed(TypedDict):
    """The host disturbed trials."""

    all_trials: int
    """All trials."""
    trials: int
    """Disturbed trials."""
    what: Literal['disturbed']
    withdraws: bool
    """Whether this withdraws the answer."""


class ClaimEvidenceVisits(TypedDict):
    """Visits of each point."""

    chance: NotRequired[float]
    """The probability that chance alone does this; absent if it is unknown."""
    visits: int
    """How many."""
    what: Literal['visits']


class ClaimValueWords(TypedDict):
    """Words of the publication's file, or the label of a place or method."""

    what: Literal['words']
    words: str
    """The words."""


class ClaimValueUnmeasured(TypedDict):
    """A figure that no trial shows."""

    what: Literal['unmeasured']


class ClaimValueLeastShare(TypedDict):
    """The smallest of several captured shares."""

    share: float
    """The share of the sent frames."""
    what: Literal['least_share']


class ClaimValueWorkTime(TypedDict):
    """The time that the work of a packet takes on the publication's host."""

    ns: float
    """The time in nanoseconds."""
    what: Literal['work_time']


class ClaimValuePlaces(TypedDict):
    """The selected places."""

    labels: list[str]
    """Their labels."""
    what: Literal['places']


class ClaimValueBuffered(TypedDict):
    """Buffers contained more than a few of the sent frames when sending ended."""

    share: float
    """The largest share of the sent frames."""
    what: Literal['buffered']


class ClaimValueGeneratorSlowed(TypedDict):
    """The receiver's work slowed the generator in some of the trials."""

    what: Literal['generator_slowed']


class ClaimValueNothing(TypedDict):
    """A note whose condition is not met."""

    what: Literal['nothing']


Clock: TypeAlias = Literal['planned_send_time', 'generator_time', 'arrival_time']
"""Meaning of a frame's time."""


ClockClass: TypeAlias = Literal['none', 'relative', 'absolute']
"""What the clocks of a trial's hosts allowed to be known."""


class ClockDrift(TypedDict):
    """Changes of the clocks between two moments, relative to CLOCK_MONOTONIC."""

    realtime_step_ns: int
    """Step of CLOCK_REALTIME, in nanoseconds. Negative if it was set back."""
    slew_ppm: float
    """How much faster CLOCK_MONOTONIC ran than the hardware clock, in ppm: the correction by NTP."""
    suspended_ns: int
    """Duration of system suspend, in nanoseconds."""


class CoarserBounds(TypedDict):
    """Bounds of a target that requires less trial time than the goal."""

    lower_pps: float
    """The load that the lower bound offered, frames per second."""
    relative_width: float
    """Their distance as a share of the upper one."""
    seconds_per_load: float
    """Maximum trial time that decides a load, in seconds."""
    upper_pps: float
    """The intended load of the upper bound, frames per second."""


ComparedTime: TypeAlias = Literal['application', 'total']
"""The CPU time by which methods are compared."""


class ComparisonNoteFileWarning(TypedDict):
    """The file of a run is not as capbench writes it."""

    text: str
    """What its reader says of it, with the name of the run."""
    what: Literal['file_warning']


class ComparisonNoteOtherWork(TypedDict):
    """Work of one name was other work in the two runs."""

    iterations_now: float
    """The same in the later run."""
    iterations_then: float
    """Iterations of the wait loop for each frame in the earlier run."""
    what: Literal['other_work']
    work: str
    """The work."""


class ComparisonNoteNoisyRuns(TypedDict):
    """Trials of the compared runs of a dataset are noisy."""

    all_trials: int
    """Trials of the runs."""
    noisy_trials: int
    """How many are."""
    what: Literal['noisy_runs']


class ComparisonNoteHostSpeed(TypedDict):
    """The host itself is faster or slower."""

    verify_ns_now: float
    """The same in the later run."""
    verify_ns_then: float
    """Time to verify a frame in the earlier run, in nanoseconds."""
    what: Literal['host_speed']


class ComparisonOutcomeDisturbed(TypedDict):
    """Nothing: the host disturbed most trials of a run."""

    known: Literal['disturbed']


class ComparisonOutcomeDamaged(TypedDict):
    """Nothing: the file of a run was damaged or changed."""

    known: Literal['damaged']


class ComparisonOutcomeTooFewRuns(TypedDict):
    """Nothing: there are too few runs of the same hosts."""

    known: Literal['too_few_runs']


class ComparisonOutcomeTooFewTrials(TypedDict):
    """Nothing: there are too few trials."""

    known: Literal['too_few_trials']
    left_out: NotRequired[int]
    """Trials that were left out."""
    visits: NotRequired[int]
    """How many visits can decide most of the figures; absent if unknown."""


class ComparisonOutcomeJudged(TypedDict):
    """Numbers of figures by what is known of them."""

    below_threshold: int
    """Figures that changed by less than the threshold."""
    better: int
    """Figures that are better."""
    is_one_run: NotRequired[bool]
    """Whether the methods took turns in one run."""
    known: Literal['judged']
    may_be_worse: int
    """Figures that show no difference, but may be worse."""
    more_trials_decide: bool
    """Whether more trials decide the figures with too few. Of runs of hosts, more runs do."""
    not_worse: int
    """Figures that show no difference, and are not worse by more than the threshold."""
    too_few_trials: int
    """Figures with too few trials."""
    visits: NotRequired[int]
    """How many visits can decide most of them, more than there were; absent if unknown."""
    worse: int
    """Figures that are worse."""


ComparisonOutcome: TypeAlias = ComparisonOutcomeDisturbed | ComparisonOutcomeDamaged | ComparisonOutcomeTooFewRuns | ComparisonOutcomeTooFewTrials | ComparisonOutcomeJudged
"""What follows from a comparison."""


class ConclusionUse(TypedDict):
    """Use this method."""

    answer: Literal['use']
    because: Because
    """What puts it above the next one."""
    certainty: Certainty
    """How certain it is that no method outside `equal` is better."""
    equal: list[str]
    """Methods whose limits and costs are known, and equal to its own within their errors."""
    method: str
    """The method."""


class ConclusionOneOf(TypedDict):
    """The trials leave several methods."""

    answer: Literal['one_of']
    best: NotRequired[str]
    """The one of them to use meanwhile: it sustains a load without loss and costs least. Absent in old files."""
    methods: list[str]
    """All of them, the one with the highest known load first."""
    worse: list[str]
    """Methods that are worse all the same."""


class ConclusionNotSent(TypedDict):
    """The generator did not send the load in question, so no method was tested at it."""

    answer: Literal['not_sent']
    sent_pps: float
    """The load that it sent, frames per second."""


class ConclusionNothing(TypedDict):
    """No trial shows anything about a method."""

    answer: Literal['nothing']


class Constant(TypedDict):
    """A constant with its interval."""

    high: NotRequired[float]
    """Its upper end."""
    low: NotRequired[float]
    """The interval's lower end. Absent if a point had one visit only."""
    value: float
    """Its value."""


class Contradiction(TypedDict):
    """A throughput, and a trial of another test that lost frames at or below it."""

    at_pps: float
    """Its load, frames per second."""
    loss_ratio: float
    """The share of frames that the trial lost."""
    throughput_pps: float
    """The throughput, frames per second."""
    trials: list[int]
    """The trials of both."""


class CoreClock(TypedDict):
    """Time per iteration of a loop whose operations wait for each other, which leaves most units of the core idle, in nanoseconds: the median of its runs."""

    after_ns: float
    """Right after the trial."""
    before_ns: float
    """Right before the trial."""
    fastest_ns: float
    """The fastest time that the run had measured by then."""


class CoreSpeed(TypedDict):
    """Time per iteration of a loop that keeps a core's arithmetic units busy, while all CPUs of the trial run it, in nanoseconds of the thread's CPU time. Files of versions without `clock` have nanoseconds that passed."""

    after_ns: float
    """Right after the trial."""
    before_ns: float
    """Right before the trial."""
    clock: NotRequired[CoreClock]
    """Another loop, which a lowered clock slows down and a shared core hardly. Absent in files of versions that did not measure it."""
    fastest_ns: float
    """The fastest time that the run had measured by then."""
    taken_share: NotRequired[float]
    """Share of the CPU, from 0 to 1, that other threads of the host had while its speed was measured, before or after the trial, whichever is larger. Absent in files of versions that did not measure it."""


class Cost(TypedDict):
    """CPU time per packet at the equal load, in nanoseconds. Medians of the visits."""

    app_error_ns: float
    """Half the width of the interval that contains it, by clocks and visits."""
    app_ns: NotRequired[float]
    """Time of the application: the middle of the interval that contains it. Absent if unknown."""
    disturbed: bool
    """Whether the host disturbed one of them."""
    total_error_ns: float
    """Half the width of the interval that contains it, by clocks and visits."""
    total_ns: NotRequired[float]
    """Time of application and kernel; absent if unknown."""
    trials: list[int]
    """Numbers of the trials."""


class CostParts(TypedDict):
    """The two deciding costs: the kernel's, for every frame that arrives, and the application's, only for delivered frames. A ring reduces the latter and can raise the former."""

    app_ns_per_packet: float
    """The application's time for a delivered frame, work included, nanoseconds."""
    kernel_ns_per_packet: float
    """The kernel's time for a frame that arrives, nanoseconds."""


class CountOfProgramCaptured(TypedDict):
    """As it reports them."""

    captured: int


class CountOfProgramInFile(TypedDict):
    """Those in its file."""

    in_file: int


CountOfProgram: TypeAlias = CountOfProgramCaptured | CountOfProgramInFile
"""Frames that a program captured."""


class WithOthers(TypedDict):
    up_to: int
    """The sum of the counters."""


class CountedFramesWithOthers(TypedDict):
    """Counters have other frames, too, and such frames came: this many are an upper bound."""

    with_others: WithOthers


CountedFrames: TypeAlias = Literal['losses'] | Literal['only_trial'] | CountedFramesWithOthers
"""Whether counters count the trial's losses only."""


CpuId: TypeAlias = int
"""The kernel's number of a logical CPU (`/proc/cpuinfo`, from 0)."""


class CpuUser(TypedDict):
    """The time of a process on a CPU."""

    comm: str
    """Its name (comm), up to 64 characters. Processes choose their names: it may have any characters."""
    cpu: int
    """The CPU on which these of its threads ran last."""
    is_kernel_thread: NotRequired[bool]
    """Whether it is a thread of the kernel."""
    pid: int
    """Its number, as the reader sees it."""
    run_ns: int
    """CPU time of these threads in the window, in nanoseconds. A thread that moved was on other CPUs for a part of it."""


class Cpus(TypedDict):
    """The CPUs of a trial."""

    application: int
    """Where the application ran."""
    generator: int
    """Where the generator ran."""
    kernel: int | None
    """Where the kernel was to do its receive work."""


class CrossingCosts(TypedDict):
    """The costs of two methods at the point at which one overtakes the other."""

    first: CostParts
    """Of the method that was ahead first."""
    kernel_pays_for_lost: bool
    """Whether they explain the crossing: the first one costs the application less and the kernel more, and the kernel pays for lost frames, too."""
    other: CostParts
    """Of the other one."""


class Departed(TypedDict):
    """When the frames of a trial had left for the link. The last frame leaves later than the generator passes it to the kernel."""

    after_s: float
    """Seconds from the start of sending until all frames but `under_way` had left."""
    under_way: int
    """Frames that may still have been in queues."""


class DisturbedTrials(TypedDict):
    """Trials that the host disturbed, among all that decide the bounds."""

    disturbed: int
    """Disturbed trials."""
    trials: int
    """All trials."""


class DisturberProcess(TypedDict):
    """A process."""

    comm: str
    """Its name (comm), which it chose."""
    pid: int
    """Its number."""
    what: Literal['process']


class DisturberProcesses(TypedDict):
    """Several processes of one name, which are counted for each CPU."""

    comm: str
    """Their name."""
    processes: int
    """How many, on all CPUs."""
    what: Literal['processes']


class DisturberKernelThread(TypedDict):
    """A thread of the kernel."""

    comm: str
    """Its name."""
    what: Literal['kernel_thread']


class DisturberHypervisor(TypedDict):
    """The hypervisor, which ran something else."""

    what: Literal['hypervisor']


class DisturberQuota(TypedDict):
    """The CPU quota of a control group, which stopped capbench."""

    what: Literal['quota']


class Duration(TypedDict):
    nanos: int
    """Nanoseconds besides, below a billion."""
    secs: int
    """Whole seconds."""


class Emptying(TypedDict):
    """How long the application went on reading frames after sending ended."""

    after_s: float
    """Seconds from when the application saw the end of sending, after its current batch, until it read the last frame."""
    holds_s: float
    """Seconds for which the method may delay a frame although the application waits for it."""


class EndComplete(TypedDict):
    """Every goal has its final result."""

    how: Literal['complete']


class EndStopped(TypedDict):
    """The user stopped it, or its process ended and this is its intermediate outcome."""

    how: Literal['stopped']


class EndTimeUp(TypedDict):
    """The time allowed was used up."""

    how: Literal['time_up']


class EndTrafficUp(TypedDict):
    """The traffic allowed was used up."""

    how: Literal['traffic_up']


class EndInvalid(TypedDict):
    """A trial is invalid, and was invalid again when repeated."""

    because: NotRequired[str]
    """Why; empty in results of early versions."""
    how: Literal['invalid']
    trials: list[int]
    """Its number."""


class EndAboveLineRate(TypedDict):
    """A trial shows a rate above the capacity of the link: counts or clock are wrong."""

    how: Literal['above_line_rate']
    trial: int
    """The trial."""


class EndFailed(TypedDict):
    """A trial could not be run."""

    how: Literal['failed']
    reason: str
    """Why, in one line."""


End: TypeAlias = EndComplete | EndStopped | EndTimeUp | EndTrafficUp | EndInvalid | EndAboveLineRate | EndFailed
"""How a search ended."""


class EndedComplete(TypedDict):
    """It completed."""

    how: Literal['complete']


class EndedStopped(TypedDict):
    """The user stopped it."""

    how: Literal['stopped']


class EndedNotRun(TypedDict):
    """A trial could not run; the observer got the reason."""

    how: Literal['not_run']


class EndedInvalid(TypedDict):
    """A trial is invalid, and was invalid again when repeated."""

    because: NotRequired[str]
    """Why; empty in results of early versions."""
    how: Literal['invalid']
    trials: list[int]
    """Its number: one."""


Ended: TypeAlias = EndedComplete | EndedStopped | EndedNotRun | EndedInvalid
"""How a test ended. The outcome contains all measurements up to then."""


class Engine(TypedDict):
    """What receives the frames, as detected."""

    name: str
    """A mechanism of the kernel, or a library or program with its version."""
    properties: NotRequired[list[str]]
    """Its properties, for example the mode of XDP."""


class Estimate(TypedDict):
    """Repeats of one quantity."""

    high: NotRequired[float]
    """Its upper end."""
    level: NotRequired[float]
    """Lower bound of the probability that the interval contains the true median."""
    low: NotRequired[float]
    """The interval's lower end. Absent with one repeat."""
    median: float
    """The median."""
    repeats: int
    """Number of repeats."""


class Evidence(TypedDict):
    """How likely chance alone causes a difference somewhere among all comparisons of a question."""

    by_chance: float
    """The probability after the correction."""
    comparisons: int
    """Number of comparisons made."""


class FactLossPatternAtStart(TypedDict):
    """The method loses frames when it starts, not because it is too slow."""

    about: Literal['loss_pattern']
    lost: int
    """Lost frames of the trial."""
    method: str
    """Its method."""
    share: float
    """Share of the lost frames that were lost in the first 100 ms."""
    trial: int
    """The trial."""
    what: Literal['at_start']


class FactLossPatternWorstWindow(TypedDict):
    """One interval of 100 ms lost far more than the mean."""

    about: Literal['loss_pattern']
    bursts: int
    """Bursts of loss in the trial."""
    from_ns: int
    """When the interval began, in nanoseconds of the trial."""
    longest_burst: int
    """Frames that the longest burst lost."""
    loss_ratio: float
    """Share of its frames that were lost."""
    method: str
    """Its method."""
    trial: int
    """The trial."""
    trial_loss_ratio: float
    """Share of all frames of the trial that were lost."""
    what: Literal['worst_window']


class FactLossPatternWorstFlow(TypedDict):
    """One flow lost far more than all together."""

    about: Literal['loss_pattern']
    flow: int
    """The flow."""
    flows: int
    """All flows."""
    loss_ratio: float
    """Share of its frames that were lost."""
    lossy_flows: int
    """Flows that lost frames."""
    method: str
    """Its method."""
    trial: int
    """The trial."""
    trial_loss_ratio: float
    """Share of all frames of the trial that were lost."""
    what: Literal['worst_flow']


class FactLossPatternUnmarkedLoss(TypedDict):
    """Frames are missing at places that the ring did not mark."""

    about: Literal['loss_pattern']
    method: str
    """Its method."""
    ring_drops: int
    """Frames that the ring counted as lost."""
    trial: int
    """The trial."""
    what: Literal['unmarked_loss']
    without_mark: int
    """How many of them are missing without a mark."""


class FactLossPatternRingLossConfirmed(TypedDict):
    """Every frame that a ring counted as lost is missing where the ring marked a loss, or at a trial's end."""

    about: Literal['loss_pattern']
    bursts: int
    """Places that they marked."""
    ring_drops: int
    """Frames that rings counted as lost."""
    what: Literal['ring_loss_confirmed']


class FactSoakAnswerDoubts(TypedDict):
    """Why the result does not show a sustained load."""

    about: Literal['soak_answer']
    buffered_ratio: NotRequired[float]
    """Share of the sent frames that was delivered only because the generator pauses, if it matters."""
    invalid_segments: int
    """Segments whose ledger contradicts itself."""
    unexplained: NotRequired[int]
    """Frames that no counter explains, unless there are none."""
    unsent_ratio: NotRequired[float]
    """Share of the intended frames that was not sent, if it matters."""
    what: Literal['doubts']


class FactSoakWorstSegment(TypedDict):
    """The segment that lost most."""

    about: Literal['soak']
    from_s: float
    """Its start, in seconds of sending since the soak began."""
    lost: int
    """Its lost frames."""
    sent: int
    """Its sent frames."""
    what: Literal['worst_segment']
    worst_100ms_lost: int | None
    """Most frames that were lost within 100 ms; absent if frames were not inspected one by one."""


class FactSoakStoredBursts(TypedDict):
    """Bursts of loss are stored with their time."""

    about: Literal['soak']
    bursts: int
    """All bursts."""
    stored: int
    """Stored ones."""
    what: Literal['stored_bursts']


class FactSoakBuffered(TypedDict):
    """Frames were delivered only because the generator paused between segments."""

    about: Literal['soak']
    behind_s: float
    """Longest time that the application was behind, in seconds."""
    buffered_segments: int
    """Segments at whose end frames were in buffers."""
    frames: int
    """The frames that were delivered only because of that."""
    ratio: float
    """Share of the sent frames."""
    segments: int
    """All segments."""
    sent: int
    """Sent frames."""
    what: Literal['buffered']


class FactSoakFewUnsent(TypedDict):
    """The generator left frames unsent, too few to matter."""

    about: Literal['soak']
    intended: int
    """Intended frames."""
    unsent: int
    """Unsent frames."""
    what: Literal['few_unsent']


class FactSoakAllExplained(TypedDict):
    """Counters explain every packet."""

    about: Literal['soak']
    what: Literal['all_explained']


class FactSoakUnexplained(TypedDict):
    """The account contradicts itself."""

    about: Literal['soak']
    invalid_segments: int
    """Segments whose ledger contradicts itself."""
    packets: int
    """Packets that no counter explains; below 0 if counters show more than was lost."""
    what: Literal['unexplained']


class FactSoakFurtherNoise(TypedDict):
    """Noise for reasons that are not stored."""

    about: Literal['soak']
    reports: int
    """Reports of such reasons."""
    stored_reasons: int
    """Stored reasons."""
    what: Literal['further_noise']


class FactReproductionAnswerSummary(TypedDict):
    """How many claims have which answer."""

    about: Literal['reproduction_answer']
    changed: int
    """Claims that do not hold here."""
    claims: int
    """All claims."""
    hold: int
    """Claims that hold here."""
    not_testable: int
    """Claims that cannot be tested here."""
    publications: list[str]
    """Keys of the publications."""
    undecided: int
    """Claims that the measurements do not decide."""
    what: Literal['summary']


class FactReproductionAnswerMoreVisits(TypedDict):
    """More visits can decide claims that are open."""

    about: Literal['reproduction_answer']
    needed: int
    """The visits that can exclude chance."""
    seconds: float
    """The time of a run with that many visits, in seconds."""
    visits: int
    """The visits that these claims have."""
    what: Literal['more_visits']


class FactReproductionAnswerUnfinished(TypedDict):
    """Not all trials were run."""

    about: Literal['reproduction_answer']
    publications: list[str]
    """Keys of the publications."""
    what: Literal['unfinished']


class FactTrialsInvalid(TypedDict):
    """Trials are invalid for this reason."""

    about: Literal['trials']
    all_trials: int
    """Trials of the run."""
    invalid_trials: int
    """How many are invalid."""
    methods: list[str]
    """Methods of the invalid ones."""
    reason: str
    """The reason."""
    what: Literal['invalid']


class FactTrialsSentUnverified(TypedDict):
    """Only the generator knows how many frames it sent."""

    about: Literal['trials']
    reason: str
    """Why capbench did not verify it."""
    what: Literal['sent_unverified']


class FactTrialsUnexplained(TypedDict):
    """No counter explains where packets of a trial are."""

    about: Literal['trials']
    method: str
    """Its method."""
    packets: int
    """Packets that no counter explains; negative if counters explain too many."""
    trial: int
    """The trial."""
    what: Literal['unexplained']


class FactTrialsProgramReports(TypedDict):
    """The sums of what a program reports, next to what was measured."""

    about: Literal['trials']
    captured: NotRequired[int]
    """Frames that it reports as captured; absent if it did not report it of each trial, as the next three."""
    delivered: int
    """Frames of its trials that were delivered."""
    dropped: NotRequired[int]
    """Frames that it reports as dropped."""
    in_files: NotRequired[int]
    """Frames in its capture files."""
    method: str
    """The program."""
    received: NotRequired[int]
    """Frames that it reports as received."""
    sent: int
    """Frames of its trials that were sent."""
    trials: int
    """How many trials it reported."""
    what: Literal['program_reports']


class FactTrialsMethodUnverified(TypedDict):
    """Only the method itself has seen its frames."""

    about: Literal['trials']
    method: str
    """The method."""
    reason: str
    """Why capbench did not verify them."""
    what: Literal['method_unverified']


class FactTrialsTracerCost(TypedDict):
    """What the tracer itself took, at most."""

    about: Literal['trials']
    cpu_ratio: float
    """Its share of the CPU that does the kernel's receive work."""
    ns_per_packet: float
    """Its time per packet."""
    what: Literal['tracer_cost']


class FactBenchVerdictEveryTrialInvalid(TypedDict):
    """No method can be named, because every trial is invalid."""

    about: Literal['bench']
    what: Literal['verdict']
    reason: str
    """Why the first one is."""
    verdict: Literal['every_trial_invalid']


class FactBenchVerdictOneOf(TypedDict):
    """The trials leave several methods, and show of none what it sustains."""

    about: Literal['bench']
    what: Literal['verdict']
    methods: list[str]
    """The methods."""
    verdict: Literal['one_of']


class FactBenchVerdictNotSent(TypedDict):
    """The generator did not send the load."""

    about: Literal['bench']
    what: Literal['verdict']
    asked_pps: float
    """The load in packets per second."""
    sent_pps: float
    """What it sent, in packets per second."""
    verdict: Literal['not_sent']


class FactBenchSettle(TypedDict):
    """A command decides between the methods that the trials leave."""

    about: Literal['bench']
    command: list[str]
    """Words of the command, without the program."""
    takes_s: NotRequired[float]
    """How long it takes, in seconds; absent if unknown."""
    what: Literal['settle']


class FactBenchCannotSettle(TypedDict):
    """A longer run of the same kind does not decide between the methods that the trials leave."""

    about: Literal['bench']
    methods: list[str]
    """The methods."""
    rounds: int
    """The number of rounds that it would have."""
    what: Literal['cannot_settle']


class FactBenchFindHighest(TypedDict):
    """A command finds the highest rate that the methods sustain."""

    about: Literal['bench']
    command: list[str]
    """Words of the command, without the program."""
    what: Literal['find_highest']


class FactBenchUnknown(TypedDict):
    """No trial shows what these methods sustain."""

    about: Literal['bench']
    methods: list[str]
    """The methods."""
    what: Literal['unknown']


class FactBenchWorse(TypedDict):
    """Methods are worse although the best one is not decided."""

    about: Literal['bench']
    certainly_less: list[str]
    """Methods that certainly sustain less."""
    costlier: list[str]
    """Methods that cost more at about the same rate."""
    probably_less: list[str]
    """Methods that probably sustain less."""
    what: Literal['worse']


class FactBenchCostsEqual(TypedDict):
    """The methods cannot be distinguished by their CPU time."""

    about: Literal['bench']
    at_pps: NotRequired[float]
    """The load at which it is compared, in packets per second."""
    time: ComparedTime
    """Which time is compared."""
    what: Literal['costs_equal']


class FactCaveatOneWayAbsolute(TypedDict):
    """One-way times have an error."""

    about: Literal['caveat']
    error_ns: NotRequired[int]
    """The largest error; absent if the hosts state none."""
    what: Literal['one_way_absolute']


class FactCaveatOneWayUnknown(TypedDict):
    """No one-way time is known."""

    about: Literal['caveat']
    reason: NotRequired[str]
    """Why, if a trial states it."""
    what: Literal['one_way_unknown']


FilterSource: TypeAlias = Literal['no_filter', 'difference', 'difference_in_doubt', 'difference_with_stack', 'unknown']
"""How it is known what a socket filter dropped."""


class FirstPlace(TypedDict):
    """Whether repeated searches show which of several methods sustains most."""

    is_distinguished: bool
    """Whether the first method is above the second one by more than chance explains."""
    needed_searches: NotRequired[int]
    """How many searches of each method show it, if there are too few, and if further ones are like these."""


class FlowLoss(TypedDict):
    """The loss of a flow."""

    flow: int
    """Its number."""
    lost: int
    """Sent frames that were lost."""
    sent: int
    """Frames sent in it."""


class FlowSharing(TypedDict):
    """Whether the frames of a flow stay together."""

    flows: int
    """Flows of which frames came."""
    split: int
    """Flows whose frames came to more than one member. 0 if the fanout keeps flows together."""
    split_frames: int
    """Frames of these flows that did not come to the member that got most of the flow."""


class FoundLoadRegular(TypedDict):
    """A regular result."""

    known: Literal['regular']
    pps: float
    """The load."""


class FoundLoadAtLeast(TypedDict):
    """The load is sustained, and no higher one is decided."""

    known: Literal['at_least']
    pps: float
    """The load."""


class FoundLoadBetween(TypedDict):
    """Only both bounds are known."""

    known: Literal['between']
    lower_pps: float
    """The lower bound."""
    upper_pps: float
    """The upper bound."""


class FoundLoadBetweenByFewTrials(TypedDict):
    """Both bounds are known by fewer trials than the goal asks for."""

    known: Literal['between_by_few_trials']
    lower_pps: float
    """The lower bound."""
    upper_pps: float
    """The upper bound."""


class FoundLoadBelow(TypedDict):
    """Only a load that is not sustained is known."""

    known: Literal['below']
    pps: float
    """The load."""


class FoundLoadRepeated(TypedDict):
    """The lower bounds of several searches."""

    at_least: int
    """Searches without an upper bound of the method: the median is at least that."""
    is_end_open: NotRequired[bool]
    """Whether the interval ends at a load of a search without an upper bound, so that its true end can be higher."""
    known: Literal['repeated']
    lower_pps: Estimate
    """Their median, with its interval."""
    searches: int
    """Searches."""
    without: int
    """Searches without a lower bound, which no figure includes."""


class FoundThroughputRegular(TypedDict):
    """A regular result."""

    known: Literal['regular']
    pps: float
    """The throughput."""


class FoundThroughputNotSettled(TypedDict):
    """The search did not settle it."""

    known: Literal['not_settled']
    pps: float
    """The load that was sustained."""


class FrameEndsConsumed(TypedDict):
    """Those of tc do not."""

    by: Literal['consumed']


class FrameEndsDropped(TypedDict):
    """All that the network stack does not need: nothing consumes them."""

    by: Literal['dropped']


class FrameEndsNotConsumed(TypedDict):
    """The same: tc cannot consume them."""

    because: str
    """Why."""
    by: Literal['not_consumed']


FrameEnds: TypeAlias = FrameEndsConsumed | FrameEndsDropped | FrameEndsNotConsumed
"""Which frames count as dropped behind the capture point."""


class FreeCpus(TypedDict):
    """A CPU for each task. The tasks that shared a CPU share one again."""

    application: int
    """For the application."""
    generator: int
    """For the generator."""
    kernel: int
    """For the kernel's receive work."""


class Frequency(TypedDict):
    """How the frequencies of CPUs are chosen (Documentation/admin-guide/pm/cpufreq.rst)."""

    drivers: list[str]
    """Drivers in use, one unless CPUs differ."""
    energy_preferences: NotRequired[list[str]]
    """Hints to CPUs that choose their frequency themselves (`energy_performance_preference`)."""
    governors: list[str]
    """Governors in use."""
    least_mhz: NotRequired[int]
    """Lowest frequency that can be set, in MHz."""
    most_mhz: NotRequired[int]
    """Highest frequency that can be set, in MHz."""
    turbo: NotRequired[bool]
    """Whether CPUs may exceed that frequency for a while (turbo, boost)."""


class GeneratorFactsMethod(TypedDict):
    """A transmit method of capbench."""

    batch: int
    """Most frames of a call."""
    in_flight: NotRequired[int]
    """Most frames on their way to the receiver; absent without a limit."""
    kind: Literal['method']
    qdisc_bypass: bool
    """Whether frames bypass the queueing discipline."""
    ring_slots: NotRequired[int]
    """Slots of the transmit ring; absent without one."""
    send_buffer_bytes: int
    """Send buffer that the kernel granted, in octets of its accounting (it doubles the requested size, socket(7))."""


class GeneratorFactsOtg(TypedDict):
    """A generator that the Open Traffic Generator API drives."""

    api: NotRequired[str]
    """The version of its API; absent if it states none."""
    kind: Literal['otg']
    version: NotRequired[str]
    """Its version; absent if it states none."""


GeneratorFacts: TypeAlias = GeneratorFactsMethod | GeneratorFactsOtg
"""How a generator ran, as found."""


GeneratorLimits: TypeAlias = Literal['everywhere', 'where_it_keeps_up']
"""Where the generator is the limit."""


class GoalFactStalls(TypedDict):
    """Loss at the upper bound is from single moments, not from too high a load."""

    lossy_windows: int
    """Intervals of 100 ms with a loss."""
    what: Literal['stalls']
    windows: int
    """All intervals of 100 ms."""


class Held(TypedDict):
    """A sustained load, and the goal that decides it."""

    at_least: bool
    """Whether no higher load showed the path's limit: the maximum is sustained, or the generator left frames unsent."""
    by: str
    """The goal whose attributes decide."""
    pps: float | None
    """Offered load of the lower bound; absent if the trials decide no load."""
    seconds: float
    """Seconds of trials at `pps`."""
    trials: list[int]
    """Their numbers."""
    upper_pps: NotRequired[float]
    """Intended load of the upper bound: the lowest unsustained load. Absent if the trials decide no load."""


class HiddenPidNamespace(TypedDict):
    """capbench runs in a PID namespace, as in a container: processes outside it have no number there (pid_namespaces(7))."""

    why: Literal['pid_namespace']


class HiddenMountedHidepid(TypedDict):
    """/proc shows no processes of other users (hidepid of proc(5))."""

    why: Literal['mounted_hidepid']


class HiddenRefused(TypedDict):
    """The kernel refused to show the times of some threads."""

    why: Literal['refused']


class HiddenNoAccount(TypedDict):
    """The kernel keeps no times of threads."""

    why: Literal['no_account']


class HiddenTooMany(TypedDict):
    """There are more threads than are read."""

    why: Literal['too_many']


class HiddenNoProc(TypedDict):
    """/proc cannot be read."""

    why: Literal['no_proc']


Hidden: TypeAlias = HiddenPidNamespace | HiddenMountedHidepid | HiddenRefused | HiddenNoAccount | HiddenTooMany | HiddenNoProc
"""Why processes may be invisible to capbench."""


class HighLoss(TypedDict):
    """High-loss trials among the full-length ones of a load."""

    high: float
    """The upper limit."""
    low: float
    """The lower limit of the share of such trials (Clopper and Pearson, level 0.95)."""
    of: int
    """All full-length trials."""
    trials: int
    """High-loss trials."""


class HostFactPath(TypedDict):
    """A fact of a group, by its path in the results file."""

    path: str


HostFact: TypeAlias = Literal['capbench_version'] | Literal['kernel_release'] | Literal['kernel_version'] | Literal['machine'] | Literal['cpu_model'] | Literal['cpus_online'] | Literal['cpus_allowed'] | Literal['virtual_machine'] | Literal['irq_accounting'] | Literal['memory_bytes'] | Literal['in_user_namespace'] | Literal['missing_capabilities'] | Literal['netdev_max_backlog'] | Literal['rmem_max_bytes'] | HostFactPath
"""A fact about a host that is compared."""


class HostOfGenerator(TypedDict):
    """Where a generator runs."""

    cpu: NotRequired[int]
    """Its CPU; absent if the generator decides that itself."""
    location: str
    """Its location."""


class HugePages(TypedDict):
    """A pool of huge pages."""

    free_pages: NotRequired[int]
    """Pages that were free at the start of the run."""
    page_bytes: int
    """Page size in bytes."""
    pages: NotRequired[int]
    """Reserved pages."""


class IdleState(TypedDict):
    """A state in which an idle CPU sleeps."""

    disabled: NotRequired[bool]
    """Whether the state is disabled."""
    exit_latency_us: NotRequired[int]
    """Microseconds until the CPU runs again after an interrupt."""
    name: str
    """Its name: `POLL`, `C1`, `C6`."""


class Interrupt(TypedDict):
    """An interrupt of an interface."""

    allowed_cpus: NotRequired[str]
    """CPUs allowed for it, as a list."""
    effective_cpus: NotRequired[str]
    """CPUs that receive it."""
    name: NotRequired[str]
    """The driver's name of it: `eth0-TxRx-0`."""
    numa_node: NotRequired[int]
    """NUMA node of its memory in the kernel. Absent if there is only one node."""
    number: int
    """The kernel's number of it, which can change at the next boot."""


class Interval(TypedDict):
    """A part of a soak: one segment, or several in succession."""

    app_ns_per_packet: float | None
    """Mean CPU time of the application per frame; absent if unknown."""
    began_unix_s: float
    """The same as a time of day, seconds since the epoch."""
    behind_s: NotRequired[float]
    """Longest time that the application was behind at the end of a segment, seconds."""
    buffered: NotRequired[int]
    """Segments at whose end the buffers contained more frames than batches explain."""
    corrupt: int
    """Frames damaged."""
    delivered: int
    """Distinct frames that the application received intact."""
    disturbed: int
    """Segments that the host disturbed."""
    drain_s: float
    """The following pause of the generator, until every frame was accounted for."""
    duplicates: int
    """Duplicate frames."""
    foreign: int
    """Frames of other senders."""
    from_s: float
    """Its start, in seconds of sending since the soak began."""
    intended: int
    """Frames to send."""
    invalid: int
    """Segments whose ledger contradicts itself."""
    latest_ns: int | None
    """Maximum lateness of a frame of the generator, in nanoseconds."""
    lossy: int
    """Segments that lost frames."""
    lost: dict[str, int]
    """Lost frames by place."""
    reordered: int
    """Frames that arrived after a later one."""
    resident_bytes: int | None
    """Resident memory of the process at its end, in bytes; absent if the system does not report it."""
    segments: int
    """Number of segments."""
    sending_s: float
    """Time of sending."""
    sent: int
    """Frames passed to the kernel."""
    truncated: int
    """Frames cut short."""
    unexplained: int
    """Sent frames that no place in the ledger accounts for."""
    untaken: NotRequired[int]
    """Frames delivered only because the buffer had room until the generator paused. Without pauses they would be lost in the end."""
    worst_100ms_lost: int | None
    """Most frames that were lost within 100 ms; absent if frames were not inspected one by one."""


IntervalMethod: TypeAlias = Literal['order_statistics']
"""What the interval around a median is."""


class InvalidTrial(TypedDict):
    """A trial that is invalid, and why."""

    because: str
    """Why it is invalid."""
    trial: NotRequired[int]
    """Its number; absent in files of earlier versions, whose reason names it."""


class IrqAccounting(TypedDict):
    """How the kernel accounts CPU time. `None` means that the configuration could not be read."""

    excluded_from_threads: bool | None
    """Whether a thread's CPU time excludes interrupts and softirqs that ran during it (CONFIG_IRQ_TIME_ACCOUNTING). Otherwise the interrupted thread is charged for them. A kernel built with it has it off on x86 with `tsc=noirqtime` or an unstable TSC."""
    hz: int | None
    """Timer ticks per second (CONFIG_HZ)."""
    measured_at_context_changes: bool | None
    """Whether times in `/proc/stat` are measured at each context change instead of sampled at the timer tick (CONFIG_VIRT_CPU_ACCOUNTING_GEN; in effect only on CPUs of `nohz_full`)."""


Judgement: TypeAlias = Literal['regression', 'improvement', 'below_threshold', 'not_shown', 'too_few_visits']
"""The judgement of a change."""


class KeptPointsNowhere(TypedDict):
    """No point."""

    keeps_up: Literal['nowhere']


class KeptPointsEverywhere(TypedDict):
    """All of them."""

    keeps_up: Literal['everywhere']


class KeptPointsUpTo(TypedDict):
    """All up to this one."""

    at: NotRequired[float]
    """Its coordinate on the axis; absent for names."""
    index: int
    """Its index, from 0."""
    keeps_up: Literal['up_to']
    label: str
    """Its name in reports."""


class KeptPointsFrom(TypedDict):
    """All from this one on."""

    at: NotRequired[float]
    """Its coordinate on the axis; absent for names."""
    index: int
    """Its index, from 0."""
    keeps_up: Literal['from']
    label: str
    """Its name in reports."""


class Kernel(TypedDict):
    """Build and boot settings of the running kernel."""

    clocksource: NotRequired[str]
    """The clock source: `tsc`, `kvm-clock` and others."""
    clocksources: NotRequired[list[str]]
    """The available clock sources."""
    command_line: NotRequired[list[str]]
    """Words of its command line that matter for capturing, in order (`/proc/cmdline`)."""
    options: NotRequired[dict[str, str]]
    """Build options that matter for capturing, without `CONFIG_`: `y`, `m`, a value, or `n` if the configuration says that it is off. Options that it does not mention are left out. Absent if it cannot be read (`/proc/config.gz`, `/boot/config-RELEASE`)."""
    preemption: NotRequired[str]
    """The preemption model, if it can be chosen at run time (`sched/preempt` in debugfs, for root)."""


KernelClock: TypeAlias = Literal['traced_softirqs', 'every_softirq', 'measured_interrupts', 'ticks', 'ticks_in_step']
"""A clock of interrupts."""


class KernelTimeSource(TypedDict):
    """What the kernel's receive time was measured by."""

    clock: KernelClock
    """The clock of interrupts."""
    napi_threads: NotRequired[bool]
    """Whether the run time of NAPI threads is a part of it."""


class KernelWork(TypedDict):
    """The kernel's receive work."""

    busy_ratio: float
    """Its share of a CPU."""
    ns_per_packet: float
    """For each frame that it lets through, nanoseconds."""


class KernelWorkSetting(TypedDict):
    """What moves the kernel's receive work to its CPU."""

    by: str
    """The settings."""
    read_back: NotRequired[list[int]]
    """The CPUs that the kernel states afterwards; empty if it states none."""


Kind: TypeAlias = Literal['bench', 'search', 'sweep', 'rfc2544', 'soak', 'reproduce']
"""What a run measures."""


KnownChangeWorse = TypedDict(
    'KnownChangeWorse',
    {
        'is': Literal['worse']
    },
)


KnownChangeBetter = TypedDict(
    'KnownChangeBetter',
    {
        'is': Literal['better']
    },
)


KnownChangeInSome = TypedDict(
    'KnownChangeInSome',
    {
        'better': int,
        'is': Literal['in_some'],
        'worse': int,
    },
)


KnownChangeLossless = TypedDict(
    'KnownChangeLossless',
    {
        'is': Literal['lossless']
    },
)


KnownChangeEqual = TypedDict(
    'KnownChangeEqual',
    {
        'is': Literal['equal']
    },
)


KnownChangeNotShown = TypedDict(
    'KnownChangeNotShown',
    {
        'is': Literal['not_shown']
    },
)


KnownChangeTooFewTrials = TypedDict(
    'KnownChangeTooFewTrials',
    {
        'is': Literal['too_few_trials']
    },
)


KnownChange: TypeAlias = KnownChangeWorse | KnownChangeBetter | KnownChangeInSome | KnownChangeLossless | KnownChangeEqual | KnownChangeNotShown | KnownChangeTooFewTrials
"""What is known of the change of a figure."""


class KnownSkewRemoved(TypedDict):
    """It was removed from the delays."""

    error_ppm: float
    """How uncertain it is."""
    known: Literal['removed']
    ppm: float
    """The difference."""


class KnownSkewImplausible(TypedDict):
    """It was not removed: clocks do not differ that much."""

    known: Literal['implausible']
    ppm: float
    """The difference."""


class KnownSkewBelow(TypedDict):
    """It was not removed: it is within its uncertainty."""

    error_ppm: float
    """How uncertain it is."""
    known: Literal['below']


class KnownSkewUnknown(TypedDict):
    """There are too few frames to know it."""

    known: Literal['unknown']


KnownSkew: TypeAlias = KnownSkewRemoved | KnownSkewImplausible | KnownSkewBelow | KnownSkewUnknown
"""The difference of two clocks' rates."""


class LastPointLossless(TypedDict):
    """No frame is lost."""

    at: NotRequired[float]
    """Its coordinate on the axis; absent for names."""
    index: int
    """Its index, from 0."""
    label: str
    """Its name in reports."""
    what: Literal['lossless']


class LatenessSummary(TypedDict):
    """Percentiles of the lateness in nanoseconds, for a results file."""

    max_ns: int
    """Lateness of the latest frame."""
    p50_ns: int
    """Median: half of the frames were up to this late."""
    p99_ns: int
    """99 % of the frames were up to this late."""


class LeftOut(TypedDict):
    """Trials that were not compared."""

    because: str
    """Why."""
    of: str
    """The set-up, method or run of these trials."""
    trials: int
    """Number of trials."""


class Leg(TypedDict):
    """A part of the way of a frame, such as that from the kernel to the application, over all trials. Times are in nanoseconds."""

    mean_ns: float
    """Mean of the means."""
    pdv: Across
    """Packet delay variation of the trials."""
    typical: Across
    """Typical latency: over the trials' medians."""
    worst: Across
    """Worst latency: over the trials' 99.9th percentiles."""


class LimitLoad(TypedDict):
    """Nothing: the whole load was read."""

    what: Literal['load']


class LimitGenerator(TypedDict):
    """The generator: all that it sent was read."""

    what: Literal['generator']


class LimitNoise(TypedDict):
    """Noise of the host: frames were lost in few moments, or no more than others took of the time."""

    what: Literal['noise']


class LimitNic(TypedDict):
    """The link, the NIC or its driver."""

    what: Literal['nic']


class LimitBacklog(TypedDict):
    """The kernel's receive work."""

    what: Literal['backlog']


class LimitRing(TypedDict):
    """The ring's size."""

    what: Literal['ring']


class LimitRingOrApplication(TypedDict):
    """The ring's size or the application's speed."""

    what: Literal['ring_or_application']


class LimitApplication(TypedDict):
    """The application's speed."""

    what: Literal['application']


class LimitSharing(TypedDict):
    """The sharing of the frames: one member gets too large a part, while others have time left."""

    what: Literal['sharing']


class LimitSharedCpus(TypedDict):
    """All members, several of which share a CPU."""

    what: Literal['shared_cpus']


class LimitMembers(TypedDict):
    """All members, each on a CPU, or something that busy members share."""

    what: Literal['members']


class LimitContention(TypedDict):
    """A part of the work that one member does at a time: a lock, the memory's bandwidth."""

    what: Literal['contention']


class LimitCoherence(TypedDict):
    """Work that members cause each other: more of them read less."""

    what: Literal['coherence']


class LimitUnknown(TypedDict):
    """The figures of the trials do not decide it."""

    what: Literal['unknown']


class LimitBasis(TypedDict):
    """What a limit is based on."""

    comparisons: int
    """Number of comparisons."""
    level: float
    """The confidence level for all comparisons together."""
    points: int
    """Neighbouring points that are compared together."""


LimitName: TypeAlias = Literal['load', 'generator', 'kernel', 'sharing', 'shared_cpus', 'contention', 'coherence', 'members', 'unknown']
"""The name of a limit."""


class LimitedSearches(TypedDict):
    """Searches of methods, and those of them that one limit has."""

    all: int
    """All of them; in older files only those with an upper bound."""
    limited: int
    """Those that it limits."""


class LinkSourceDifference(TypedDict):
    """The difference: the card's counters show nothing."""

    difference: BlindCard


class LinkSourceBlind(TypedDict):
    """Unknown: the card's counters show nothing, and there is no difference."""

    blind: BlindCard


class Livelock(TypedDict):
    """The trial of the same set-up that delivered most. The livelocked trial was offered more and delivered less."""

    against: int
    """Number of that trial."""
    delivered_pps: float
    """Its delivered rate in packets per second."""
    offered_pps: float
    """Its offered load in packets per second."""


class LoadDependsSmallBuffers(TypedDict):
    """The generator's buffers are smaller than the backlog."""

    what: Literal['small_buffers']


class LoadDependsEarlier(TypedDict):
    """What a file of an earlier version says."""

    text: str
    """The text."""
    what: Literal['earlier']


class Burst3(TypedDict):
    frames: int
    """Number of frames."""


class LoadShapeBurst(TypedDict):
    """`Load::Burst`."""

    burst: Burst3


class Step1(TypedDict):
    after_pps: float
    """Frames per second after the change."""
    at_s: float
    """Time of the change, in seconds since the start."""
    before_pps: float
    """Frames per second before the change."""


class LoadShapeStep(TypedDict):
    """`Load::Step`."""

    step: Step1


LoadShape: TypeAlias = LoadShapeBurst | LoadShapeStep
"""A load that is not a constant rate, as stored."""


class Longest(TypedDict):
    """The longest burst of loss."""

    frames: int
    """Frames."""
    ns: int
    """Time from the first of them to the next received frame."""


class LossAtHighestRateLost(TypedDict):
    """Frames were lost in most visits."""

    known: Literal['lost']
    loss_ratio: float
    """Share of the sent frames."""


class LossAtHighestRateBuffersFilled(TypedDict):
    """No frame was lost, while the buffers filled."""

    known: Literal['buffers_filled']


class LossAtHighestRateNothing(TypedDict):
    """No frame was lost in any visit."""

    known: Literal['nothing']


class LossAtHighestRateNothingInMostVisits(TypedDict):
    """No frame was lost in most visits."""

    known: Literal['nothing_in_most_visits']


LossAtHighestRate: TypeAlias = LossAtHighestRateLost | LossAtHighestRateBuffersFilled | LossAtHighestRateNothing | LossAtHighestRateNothingInMostVisits
"""The loss at the highest rate."""


class LossAtLoad(TypedDict):
    """The loss at a load."""

    load_percent: float
    """The load, in percent of the maximum rate."""
    loss_ratio: float
    """The share of the frames that was lost."""


class LossEvent(TypedDict):
    """Consecutive lost frames."""

    at_s: float
    """Planned time of the first, in seconds of sending since the soak began."""
    frames: int
    """Number of frames."""
    length_s: float
    """Time until the next received frame."""
    unix_s: float
    """The same as a time of day, seconds since the epoch."""


class LossEvents(TypedDict):
    """Loss at loads below overload. Overload begins at the lowest load at which at least half of the trials lose frames in most 100 ms windows, or did not receive frames as fast as they arrived."""

    at_least: bool
    """Whether there may have been more events, in lossy trials that were not inspected."""
    events: int
    """Number of 100 ms windows with a loss. The loss of one stall of the host falls in one or two of them. A lossy trial that was not inspected counts as one. Early versions counted bursts, and only up to the lower bound of NDR."""
    longest: NotRequired[Longest]
    """The longest run of consecutive lost frames and its duration; absent if nothing was lost, or no trial was inspected."""
    lossy_trials: int
    """Trials among them that lost frames."""
    per_second: float
    """Events per second."""
    per_second_limits: NotRequired[list[float]]
    """Confidence limits of that rate if events are independent: exact, at level 0.95. Without an event the second limit is the upper limit of the rate. Absent in results of early versions."""
    seconds: float
    """Seconds of those trials."""
    set_aside: NotRequired[int]
    """Attempts that were retried because the host disturbed them. They decide no load; here they count. 0 in early versions."""
    set_aside_lossy: NotRequired[int]
    """Retried attempts that lost frames."""
    trials: int
    """Number of these trials."""
    up_to_pps: float
    """The highest intended load of the trials that were evaluated."""


class LossInTime(TypedDict):
    """Lost frames of each interval of a trial; all intervals have the same length."""

    length_ns: int
    """Length of an interval in nanoseconds: 100 ms in the first minute; it doubles whenever 600 intervals are full."""
    lost: list[int]
    """Frames lost in each interval, from the beginning of the trial to its end; their sum is all lost frames."""


class LossNumbers(TypedDict):
    """The numbers of a search, computed only from its trials."""

    loss_events: LossEvents | None
    """How often frames were lost at loads below overload."""
    ndr: Held
    """The no-drop rate: frames may be lost only in a share of the time, set by the goal's exceed ratio."""
    pdr: Held
    """The partial-drop rate."""
    strict_lossless: Held
    """The highest load below all lossy ones. Its value as evidence depends on its seconds."""


class LossOfGenerator(TypedDict):
    """Lost frames of one generator."""

    frames: int
    """Its lost frames."""
    location: str
    """The location of its interface."""


LossesByReason: TypeAlias = dict[str, int]
"""Numbers of frames by drop reason."""


class LossesOfGeneratorsUnknown(TypedDict):
    """Unknown, because the frames were not examined one by one."""

    known: Literal['unknown']


class LossesOfGeneratorsNone(TypedDict):
    """None of them lost a frame."""

    known: Literal['none']


class LossesOfGeneratorsByGenerator(TypedDict):
    """These lost frames."""

    known: Literal['by_generator']
    lost: list[LossOfGenerator]
    """The generators that lost frames, most first."""


LossesOfGenerators: TypeAlias = LossesOfGeneratorsUnknown | LossesOfGeneratorsNone | LossesOfGeneratorsByGenerator
"""Whose frames were lost, of several generators."""


class LostMeanwhile(TypedDict):
    """Losses of trials that lost most of their frames in the softirq backlog, while a CPU stalled."""

    lost_frames: int
    """Frames that these trials lost."""
    while_stalled_frames: int
    """How many of them were sent while the CPU stalled: a lower bound."""


class LowestLoad(TypedDict):
    """The lowest load of a search, of which a trial lost frames or has unsent ones."""

    clean: int
    """Those of them that sent and delivered every frame."""
    pps: float
    """The load."""
    trials: int
    """Its trials."""


class Machine(TypedDict):
    """The machine as its firmware describes it. Serial numbers are not kept."""

    board: NotRequired[str]
    """The model of its mainboard."""
    container: NotRequired[str]
    """The container of this process, for example `docker`. Absent if none was detected."""
    firmware: NotRequired[str]
    """Version of its firmware."""
    firmware_date: NotRequired[str]
    """Date of its firmware."""
    hypervisor: NotRequired[str]
    """The hypervisor, for example `kvm` or `xen`. Absent if none was detected."""
    product: NotRequired[str]
    """Its model: `product_name` of DMI, or of the device tree."""
    vendor: NotRequired[str]
    """Its vendor (`sys_vendor` of DMI)."""


class MarkedLoss(TypedDict):
    """Loss marks (`TP_STATUS_LOSING`) compared with the missing numbers. A full ring marks what it delivers next, and everything after it until its counters are read. TPACKET_V3 loses frames only between blocks, and marks blocks; V1 and V2 mark frames. So a burst that the ring lost ends at a mark, and a burst that ends elsewhere was lost elsewhere. A mark without a burst proves nothing: the counters were read too late to clear it."""

    blocks: int | None
    """Blocks read; absent if frames are marked."""
    bursts: int
    """Bursts that end at a mark."""
    bursts_elsewhere: int
    """Bursts that end without a mark, except those at the end of the trial."""
    cleared: int
    """Bursts among these whose mark was cleared by a counter read while the kernel was about to set it: up to one per read, if the counters cover it."""
    drops_without_mark: int | None
    """Ring drops that are neither before a mark nor after the last received frame. Then marks and counter contradict each other, or the ring lost frames that did not belong to the trial."""
    frames: int
    """Frames of the bursts that end at a mark."""
    frames_beyond_drops: int | None
    """Frames before marks that the ring did not count: they were lost elsewhere, next to frames that the ring counted."""
    frames_elsewhere: int
    """Frames of the bursts that end without a mark."""
    marked_blocks: int | None
    """Blocks with a mark."""
    readings: int
    """Number of counter reads because of a mark."""
    ring_drops: int | None
    """Frames lost in the ring, by its own counter."""


MaximumSource: TypeAlias = Literal['generator', 'generator_and_receiver', 'line_rate', 'given']
"""The origin of a maximum load."""


Measure: TypeAlias = Literal['delivered_rate', 'loss_ratio', 'throughput', 'total_cost', 'application_cost', 'median_latency', 'worst_latency']
"""A figure of a trial, or of a search."""


class MembersBusy(TypedDict):
    """Share of the time for which members are busy."""

    busiest_ratio: float | None
    """The busiest."""
    idlest_ratio: float | None
    """The idlest of them."""


class MethodCost(TypedDict):
    """A method and its CPU time per packet."""

    least_ns_per_packet: float
    """The least of the points, nanoseconds."""
    method: str
    """The method."""
    most_ns_per_packet: float
    """The most, nanoseconds."""


class MethodNotBelow(TypedDict):
    """A method that is not shown to be worse than the first one."""

    captured_ratio: float
    """Share of the frames that it captured, by the rounds in which the first ran, too, scaled to the share of the first in all rounds."""
    method: str
    """The method."""


class Moderation(TypedDict):
    """Interrupt moderation (`ethtool -c`)."""

    receive_adaptive: bool
    """Whether the driver adapts these to the traffic."""
    receive_frames: int
    """Number of received frames that trigger it; 0: no limit."""
    receive_us: int
    """Delay of the interrupt after a received frame, in microseconds."""
    transmit_adaptive: bool
    """Whether the driver adapts these to the traffic."""
    transmit_frames: int
    """Number of sent frames that trigger it; 0: no limit."""
    transmit_us: int
    """Delay of the interrupt after a sent frame, in microseconds."""


class Moderation2Fixed(TypedDict):
    """By this many microseconds; 0 means no delay. Some drivers round, and e1000e uses 1, 3 and 4 for special modes."""

    fixed: int


Moderation2: TypeAlias = Moderation2Fixed | Literal['adaptive']
"""How to delay receive interrupts."""


class Moments(TypedDict):
    """The times of the losses, in windows of 100 ms."""

    longest_frames: int
    """The longest run of consecutive lost frames."""
    longest_ns: int
    """Time from the first of them to the next received frame."""
    lossy_windows: int
    """Windows with a loss."""
    windows: int
    """All windows."""


class MostMissedBuffered(TypedDict):
    """They waited in its buffers when sending ended: a longer trial loses them."""

    how: Literal['buffered']


class Multiple(TypedDict):
    """A multiple of a figure of the first method, by the rounds in which both ran."""

    high: NotRequired[float]
    """Upper end of its interval."""
    low: NotRequired[float]
    """Lower end of its interval, at a level of 98 %. Absent with one round."""
    middle: float
    """The multiple that makes both equal."""


class NeededMeasured(TypedDict):
    """The fewest that read all of it in every trial."""

    members: int
    """Their number."""
    what: Literal['measured']


class NeededByLaw(TypedDict):
    """The fewest by the law; no measured number read all of it."""

    members: int
    """Their number."""
    what: Literal['by_law']


class NeededNoNumber(TypedDict):
    """No number is enough by the law."""

    most_pps: float
    """The highest rate by the law, in frames per second."""
    what: Literal['no_number']


class NeededUnknown(TypedDict):
    """No measured number read all of it, and there is no law."""

    what: Literal['unknown']


Needed: TypeAlias = NeededMeasured | NeededByLaw | NeededNoNumber | NeededUnknown
"""How many members a load needs."""


class NoAnswerBecauseNotSent(TypedDict):
    """The generator sent less than the load."""

    asked_pps: float
    """The load in packets per second."""
    sent_pps: float
    """What it sent, in packets per second."""
    what: Literal['not_sent']


class NoAnswerBecauseNotSustained(TypedDict):
    """No method sustained the load."""

    asked_pps: float
    """The load in packets per second."""
    what: Literal['not_sustained']


class NoAnswerBecauseNoneSustained(TypedDict):
    """No method sustained any of the tried loads."""

    what: Literal['none_sustained']


NoAnswerBecause: TypeAlias = NoAnswerBecauseNotSent | NoAnswerBecauseNotSustained | NoAnswerBecauseNoneSustained
"""What disturbed trials do not show."""


class NoiseGeneratorsAbsent(TypedDict):
    """Generators took no part in the trial, as the user allows."""

    absent: int
    """How many took no part."""
    all: int
    """How many the run has."""
    reasons: list[str]
    """The messages of their errors."""
    what: Literal['generators_absent']


class NoiseKernelElsewhere(TypedDict):
    """Another CPU than the placement's received packets of the trial or of the host."""

    what: Literal['kernel_elsewhere']


class NoiseLeftInTransmitRing(TypedDict):
    """Frames were left in the transmit ring when the trial ended."""

    what: Literal['left_in_transmit_ring']


class NoiseKernelWorkInApplicationTime(TypedDict):
    """The application's time includes receive work of the kernel."""

    what: Literal['kernel_work_in_application_time']


class NoiseUnevenStart(TypedDict):
    """The generators began at different times."""

    what: Literal['uneven_start']


class NoiseSlowCpu(TypedDict):
    """A CPU ran slower than its best, in files of versions that did not measure why: it shares its core, or its clock was lowered."""

    what: Literal['slow_cpu']


class NoiseSharedCore(TypedDict):
    """A CPU ran slower than its best because another guest or hardware thread used its core."""

    what: Literal['shared_core']


class NoiseLoweredClock(TypedDict):
    """A CPU ran slower than its best because its clock was lowered."""

    what: Literal['lowered_clock']


class NoiseStall(TypedDict):
    """A CPU stalled for longer than the backlog lasts."""

    what: Literal['stall']


class NoiseForeignLoad(TypedDict):
    """Other work ran on the trial's CPUs."""

    what: Literal['foreign_load']


class NoiseForeignLoadOnSharedCpu(TypedDict):
    """Other work kept the CPU busy that the application and the kernel share, so the cost is unknown."""

    what: Literal['foreign_load_on_shared_cpu']


class NoisePaused(TypedDict):
    """Pause frames made a sender wait."""

    counters: list[str]
    """The counters that show it."""
    what: Literal['paused']


class NoiseSuspend(TypedDict):
    """The host was suspended."""

    what: Literal['suspend']


class NoiseClockSpeed(TypedDict):
    """The host's clock ran at another speed than its hardware."""

    what: Literal['clock_speed']


class NoiseClockSet(TypedDict):
    """The host's clock was set."""

    what: Literal['clock_set']


class NoiseKeptBack(TypedDict):
    """The hypervisor kept back or dropped packets, of the trial or of the host."""

    counter: str
    """The card's counter of them."""
    packets: int
    """How many packets."""
    what: Literal['kept_back']


class NoiseSteal(TypedDict):
    """The hypervisor took CPU time away (steal)."""

    what: Literal['steal']


class NoiseThrottled(TypedDict):
    """The CPU quota of a control group stopped capbench."""

    what: Literal['throttled']


class NoiseMissedByTracer(TypedDict):
    """The kernel kept receive softirqs from the tracer."""

    what: Literal['missed_by_tracer']


class NoiseConnectionLost(TypedDict):
    """The connection to a generator was lost after sending."""

    location: str
    """Where the generator is."""
    what: Literal['connection_lost']


class NoiseForeignFramesSent(TypedDict):
    """The port of a generator sent frames that do not belong to the trial."""

    frames: int
    """How many frames."""
    location: str
    """Where the generator is."""
    what: Literal['foreign_frames_sent']


class NoiseGeneratorWarning(TypedDict):
    """A generator reported a warning."""

    location: str
    """Where the generator is."""
    warning: str
    """Its words."""
    what: Literal['generator_warning']


class NoiseProgramIgnoresOption(TypedDict):
    """It does not have an option that the user set."""

    program: str
    """The program."""
    what: Literal['program']
    flag: str
    """The option."""
    note: Literal['ignores_option']


class NoiseProgramStillBusy(TypedDict):
    """It was still busy when the longest drain was over."""

    program: str
    """The program."""
    what: Literal['program']
    drain_ns: int
    """The longest drain."""
    note: Literal['still_busy']


class NoiseProgramStoppedLate(TypedDict):
    """A signal did not stop it."""

    program: str
    """The program."""
    what: Literal['program']
    note: Literal['stopped_late']
    signal: str
    """The signal."""
    waited_ns: int
    """How long it was waited for."""


class NoiseProgramUnusualEnd(TypedDict):
    """It did not end as stopped programs do."""

    program: str
    """The program."""
    what: Literal['program']
    note: Literal['unusual_end']
    status: str
    """Its exit status or signal."""


class NoiseProgramLeftProcesses(TypedDict):
    """It left processes behind, which were killed."""

    program: str
    """The program."""
    what: Literal['program']
    note: Literal['left_processes']
    processes: int
    """How many."""


class NoiseProgramNotReported(TypedDict):
    """It did not report counts."""

    program: str
    """The program."""
    what: Literal['program']
    counts: list[str]
    """The names of the counts."""
    note: Literal['not_reported']
    output: str
    """The end of its output."""


class NoiseProgramCapturedUnlikeFile(TypedDict):
    """It reports another number of captured frames than its file has."""

    program: str
    """The program."""
    what: Literal['program']
    captured: int
    """Captured frames that it reports."""
    in_file: int
    """Frames in its file."""
    note: Literal['captured_unlike_file']


class NoiseProgramDroppedUnlikeReceived(TypedDict):
    """It reports more dropped frames than received ones, or their difference is not what it captured."""

    program: str
    """The program."""
    what: Literal['program']
    against: NotRequired[CountOfProgram]
    """What their difference contradicts; absent if it is below 0."""
    dropped: int
    """Dropped frames that it reports."""
    note: Literal['dropped_unlike_received']
    received: int
    """Received frames that it reports."""


class NoiseProgramMoreThanThereWere(TypedDict):
    """It reports more frames than there were."""

    program: str
    """The program."""
    what: Literal['program']
    at_most: int
    """Upper bound."""
    note: Literal['more_than_there_were']
    received: int
    """Frames that reached it, as it reports."""


class NoiseProgramLastRecordCut(TypedDict):
    """The last record of its file is not whole."""

    program: str
    """The program."""
    what: Literal['program']
    note: Literal['last_record_cut']


class NoiseProgramMissingAtEnd(TypedDict):
    """It does not account for the last frames."""

    program: str
    """The program."""
    what: Literal['program']
    frames: int
    """How many, or more."""
    in_file: bool
    """Whether its file lacks them."""
    note: Literal['missing_at_end']
    waited_ns: int
    """How long it was waited for further frames."""


class NoiseShortfall(TypedDict):
    """The capture method does not run as the user asked."""

    what: Literal['shortfall']
    words: str
    """The method's words."""


class NoiseInvalid(TypedDict):
    """A discarded attempt was invalid."""

    because: str
    """Why."""
    what: Literal['invalid']


class NoiseCauseSlowCpu(TypedDict):
    """A CPU ran slower than its best, and nobody measured why."""

    what: Literal['slow_cpu']


class NoiseCauseSharedCore(TypedDict):
    """Another guest or hardware thread used a CPU's core."""

    what: Literal['shared_core']


class NoiseCauseLoweredClock(TypedDict):
    """A CPU's clock was lowered."""

    what: Literal['lowered_clock']


class NoiseCauseMissedByTracer(TypedDict):
    """The tracer missed some receive work of the kernel."""

    what: Literal['missed_by_tracer']


class NoiseCauseSteal(TypedDict):
    """The hypervisor took CPU time away."""

    what: Literal['steal']


class NoiseCauseThrottled(TypedDict):
    """The CPU quota of a control group stopped capbench."""

    what: Literal['throttled']


class NoiseCauseForeignLoad(TypedDict):
    """Other work ran on the CPUs of the trial."""

    what: Literal['foreign_load']


class NoiseCauseStall(TypedDict):
    """A CPU stalled."""

    what: Literal['stall']


class NoiseCauseClock(TypedDict):
    """The host's clock was changed."""

    what: Literal['clock']


class NoiseCauseSuspend(TypedDict):
    """The host was suspended."""

    what: Literal['suspend']


class NoiseCauseKernelElsewhere(TypedDict):
    """The kernel's receive work ran on another CPU than the chosen one."""

    what: Literal['kernel_elsewhere']


class NsRange(TypedDict):
    """Bounds of a time; equal if its error is small."""

    high_ns: float
    """Upper bound."""
    low_ns: float
    """Lower bound."""


class NumaNode(TypedDict):
    """A NUMA node with its CPUs."""

    cpus: NotRequired[str]
    """Its CPUs as a list such as `0-15,32-47`. Empty if it has only memory."""
    distances: NotRequired[list[int]]
    """Distances to the memory of each node, in order. 10 is the distance to itself."""
    node: int
    """The kernel's number."""


class OddFrames(TypedDict):
    """Frames that arrived otherwise than they were sent. Facts about trials and about soaks count them."""

    corrupt: int
    """Damaged frames."""
    duplicates: int
    """Repeated frames."""
    foreign: int
    """Frames of other senders, or of another trial."""
    reordered: int
    """Frames that arrived after a later one."""
    truncated: int
    """Frames cut short."""


class Others(TypedDict):
    """Other programs at the start of the run."""

    irqbalance_running: NotRequired[bool]
    """Whether irqbalance runs, which moves interrupts between CPUs. Absent if other processes are not visible."""
    packet_sockets: NotRequired[int]
    """Packet sockets in the host's network namespace, without those of capbench (`/proc/net/packet`). Each socket for all protocols adds cost to every packet of its interface. Those on the run's interfaces are recorded with these."""
    packet_sockets_of_all_protocols: NotRequired[int]
    """Sockets among them for all protocols (ETH_P_ALL)."""
    xdp_programs: NotRequired[list[AttachedProgram]]
    """Interfaces of that namespace with an XDP program, and where it is attached."""


class PacketSockets(TypedDict):
    """Packet sockets that receive from an interface (`/proc/net/packet`), without those of other network namespaces and of capbench."""

    of_all_protocols: int
    """Sockets for all protocols (ETH_P_ALL), as of tcpdump and other captures."""
    of_one_protocol: int
    """Sockets for one protocol, as of lldpd."""


PartOfBench: TypeAlias = Literal['trials', 'searches', 'everything']
"""A part of what a bench measures of a set-up."""


class PartOfCpu(TypedDict):
    """The part of a CPU that an application has."""

    costs_ns: list[float]
    """What a packet costs of its own time in each regime, nanoseconds."""
    cpu_share: float
    """Its share of the CPU's time."""


class PathSourceBlindCard(TypedDict):
    """The counters of the receiving card do not show what it loses."""

    blind_card: BlindCard


PathSource: TypeAlias = Literal['nothing_between'] | Literal['difference'] | Literal['not_compared'] | Literal['not_each_once'] | Literal['foreign_frames'] | Literal['contradicted'] | Literal['card_counts_others'] | PathSourceBlindCard
"""Where the count of losses between the interfaces comes from, or why there is none."""


class PauseFrames(TypedDict):
    """Settings of pause frames, which make a sender wait instead of a receiver losing frames (`ethtool -a`)."""

    negotiated: bool
    """Whether both ends negotiate it."""
    obeys: bool
    """Whether the interface waits on received pause frames."""
    sends: bool
    """Whether it sends pause frames."""


class PausedMethod(TypedDict):
    """A method with losses in pauses of the host."""

    largest_loss_ratio: float
    """The largest share of the sent frames that one of them lost."""
    lossy_trials: int
    """How many of them lost frames."""
    method: str
    """The method."""
    trials: int
    """How many trials ran at loads up to the highest that it is said to sustain."""


Percent: TypeAlias = float
"""A share in percent: finite, above 0."""


Phase: TypeAlias = Literal['best-effort', 'common-load', 'confirmation', 'turns', 'fixed-load', 'search', 'self-test', 'soak', 'probe', 'set-aside', 'sweep', 'latency', 'frame-loss', 'back-to-back', 'recovery']
"""The purpose of a trial."""


Place: TypeAlias = Literal['unsent', 'transmit', 'link_queue', 'path', 'link', 'driver', 'backlog', 'xdp', 'stack', 'filter', 'fill_ring', 'ring', 'method_queue', 'application_queue', 'unread', 'truncated', 'corrupt']
"""A place on a frame's path where it can be lost, in the order of the path."""


class PlaceShare(TypedDict):
    """The part of a loss at one place."""

    place: Place
    """The place."""
    share: float
    """Its share of all lost frames."""


class PointRecord(TypedDict):
    """A point."""

    at: NotRequired[float]
    """Its coordinate on the axis; absent for names."""
    label: str
    """Its name in reports."""
    refined: NotRequired[bool]
    """Whether it was added because the curve bends there."""


PointUnit: TypeAlias = Literal['ns', 'iterations', 'octets', 'bytes', 'packets/s', 'us', 'members']
"""The unit of the points of an axis."""


Position: TypeAlias = Literal['start', 'steady', 'end']
"""A part of a trial."""


Pps: TypeAlias = float
"""Frames per second: finite, above 0."""


class Program(TypedDict):
    """The build of the program. Absent values were unknown at build time."""

    features: NotRequired[list[str]]
    """Its features: `bpf`, `dpdk`; of older versions `parquet`."""
    git_commit: NotRequired[str]
    """The commit, if it was built from a repository. `-dirty` follows if the source had uncommitted changes."""
    profile: NotRequired[str]
    """The profile: `release` or `debug`."""
    rustc: NotRequired[str]
    """The compiler: `rustc 1.88.0 (6b00bc388 2025-06-23)`."""
    source_hash: NotRequired[str]
    """A hash of the source (64 bits of FNV-1a, hexadecimal). It distinguishes builds of uncommitted changes."""
    target: NotRequired[str]
    """The target: `x86_64-unknown-linux-gnu`."""


class Reported(TypedDict):
    count: str
    """The name of its count."""
    program: str
    """The program."""


class ProgramCountReported(TypedDict):
    """The program reported it."""

    reported: Reported


class NotReported(TypedDict):
    count: str
    """The name of its count."""
    program: str
    """The program."""


class ProgramCountNotReported(TypedDict):
    """The program did not report it."""

    not_reported: NotReported


class NoCount(TypedDict):
    program: str
    """The program."""


class ProgramCountNoCount(TypedDict):
    """The program has no such count."""

    no_count: NoCount


ProgramCount: TypeAlias = ProgramCountReported | ProgramCountNotReported | ProgramCountNoCount | Literal['socket_statistics']
"""Where the count of a loss of a program under test comes from."""


class ProgramReport(TypedDict):
    """Counts that a program under test reported for its trial, and the count of its capture file. Absent: not reported."""

    captured: int | None
    """Frames that it reports as captured."""
    dropped: int | None
    """Frames that it reports as dropped because it had no room."""
    in_file: int | None
    """Frames of any kind in its capture file; absent if it writes none."""
    received: int | None
    """Frames that it reports as received, dropped ones included."""


Quantity: TypeAlias = Literal['name', 'captured', 'packets_per_second', 'bits_per_second', 'load', 'nanoseconds_per_packet', 'count', 'frame_bytes', 'iterations', 'nanoseconds', 'slots']
"""The quantity of a column."""


class QuestionHighestRate(TypedDict):
    """Which method sustains the highest load without loss?"""

    what: Literal['highest_rate']


class QuestionCheapestAt(TypedDict):
    """Which of the methods that sustain this load costs the least CPU time?"""

    pps: float
    """The load in frames per second."""
    what: Literal['cheapest_at']


Question: TypeAlias = QuestionHighestRate | QuestionCheapestAt
"""The question that a bench answers."""


class QueueFindingSameCpu(TypedDict):
    """More queues interrupt one CPU than need to."""

    cpu: int
    """The CPU."""
    of: int
    """How many receive queues there are."""
    queues: list[int]
    """Its queues."""
    what: Literal['same_cpu']


class QueueFindingSameCore(TypedDict):
    """Queues interrupt different CPUs that are threads of one core."""

    cpus: list[int]
    """These CPUs."""
    of: int
    """How many receive queues there are."""
    queues: list[int]
    """Their queues."""
    what: Literal['same_core']


class QueueFindingRemoteNode(TypedDict):
    """A queue interrupts a CPU far from the card."""

    card_node: int
    """The card's NUMA node."""
    cpu: int
    """The CPU."""
    node: int
    """Its NUMA node."""
    queue: int
    """The queue."""
    what: Literal['remote_node']


class QueueFindingUnusedQueues(TypedDict):
    """The table of RSS leaves queues out."""

    of: int
    """How many receive queues there are."""
    used: int
    """Queues in the table."""
    what: Literal['unused_queues']


class QueueFindingPreferred(TypedDict):
    """The table of RSS prefers a queue."""

    entries: int
    """Its entries."""
    of: int
    """Entries of the table."""
    queue: int
    """The queue."""
    what: Literal['preferred']


class QueueFindingNoTable(TypedDict):
    """There are several queues, and the driver reports no table."""

    queues: int
    """How many receive queues there are."""
    what: Literal['no_table']


class QueueFindingAsymmetricKey(TypedDict):
    """The two directions of a connection have different hashes."""

    what: Literal['asymmetric_key']


class QueueFindingUnknownInterrupts(TypedDict):
    """The interrupts of some queues are not known."""

    queues: list[int]
    """These queues."""
    what: Literal['unknown_interrupts']


QueueFinding: TypeAlias = QueueFindingSameCpu | QueueFindingSameCore | QueueFindingRemoteNode | QueueFindingUnusedQueues | QueueFindingPreferred | QueueFindingNoTable | QueueFindingAsymmetricKey | QueueFindingUnknownInterrupts
"""What is known about the queues of an interface and affects a capture."""


QueueLength: TypeAlias = int
"""Capacity of an application's queue in frames."""


class QueueLoss(TypedDict):
    """The loss of a queue."""

    delivered: int
    """Frames that came through it."""
    lost: int
    """Lost frames of flows that come through it."""
    queue: int
    """Its number."""


class Queues(TypedDict):
    """The driver's numbers of queues (`ethtool -l`)."""

    combined: int
    """Combined queues: pairs with one interrupt."""
    most_combined: int
    """Limit of combined queues."""
    most_receive: int
    """Limit of receive-only queues."""
    most_transmit: int
    """Limit of transmit-only queues."""
    receive: int
    """Receive-only queues."""
    transmit: int
    """Transmit-only queues."""


class RankedMethod(TypedDict):
    """A method in a ranking."""

    above_next: bool | None
    """Whether it is above the next method by more than chance explains; absent with too few searches, and for the last method."""
    least_pps: float
    """The lowest lower bound of its searches."""
    median_pps: NotRequired[float]
    """The median of the lower bounds of several searches, by which they are ordered; absent of a single one, and in files of versions that did not write it."""
    method: str
    """The method."""
    most_pps: float | None
    """The highest upper bound of its searches; absent if a search found no limit of the method."""


Ratio: TypeAlias = float
"""A ratio from 0 to below 1. Written as `0.005` or `0.5%`."""


class ReasonMaximumLoad(TypedDict):
    """The maximum load is sustained."""

    limit: MaximumSource
    """The origin of that limit."""
    why: Literal['maximum_load']


class ReasonGeneratorFellShort(TypedDict):
    """At the upper bound the generator left frames unsent. The path did not lose too many of the sent frames."""

    why: Literal['generator_fell_short']


class ReasonGeneratorAndReceiverFellShort(TypedDict):
    """The same on a path where the offered load depends on the receiver: the receiver may have slowed down the generator."""

    why: Literal['generator_and_receiver_fell_short']


class ReasonLeastLoadNotHeld(TypedDict):
    """The minimum load of the search is not sustained."""

    why: Literal['least_load_not_held']


class ReasonLeastLoadNotSent(TypedDict):
    """The generator left frames unsent at the minimum load of the search, and the path did not lose too many of the sent frames."""

    why: Literal['least_load_not_sent']


class ReasonEnded(TypedDict):
    """The search ended before the bounds were close enough."""

    end: End
    """How it ended."""
    why: Literal['ended']


Reason: TypeAlias = ReasonMaximumLoad | ReasonGeneratorFellShort | ReasonGeneratorAndReceiverFellShort | ReasonLeastLoadNotHeld | ReasonLeastLoadNotSent | ReasonEnded
"""Why a result is not regular."""


class ReceiveQueue(TypedDict):
    """A receive queue."""

    queue: int
    """Its number."""
    rps_cpus: NotRequired[str]
    """CPUs that process its packets (receive packet steering), as a list such as `0-3`. Empty without steering."""
    rps_flows: NotRequired[int]
    """Size of the flow table that steers packets to the application's CPU (receive flow steering). 0 without it."""


Recorded: TypeAlias = str
"""A histogram of nanoseconds, stored as the text that tools of HdrHistogram exchange: format V2, deflated, in base64."""


class Recovery2Recovered(TypedDict):
    """Frames were lost, and then none."""

    after_s: float
    """From the change of the rate to the last lost frame, in seconds; 0 if none was lost after the change."""
    how: Literal['recovered']


class Recovery2NothingLost(TypedDict):
    """No frame was lost: there was no overload."""

    how: Literal['nothing_lost']


class Recovery2NotRecovered(TypedDict):
    """Frames were lost until the end, or nearly."""

    at_least_s: float
    """From the change of the rate to the last lost frame, in seconds."""
    how: Literal['not_recovered']


class Recovery2Unknown(TypedDict):
    """The trial does not show it."""

    because: str
    """Why."""
    how: Literal['unknown']


Recovery2: TypeAlias = Recovery2Recovered | Recovery2NothingLost | Recovery2NotRecovered | Recovery2Unknown
"""The result of an overload."""


RelationToFirstFirst = TypedDict(
    'RelationToFirstFirst',
    {
        'is': Literal['first']
    },
)


RelationToFirstBelow = TypedDict(
    'RelationToFirstBelow',
    {
        'by': BelowBy,
        'factor': Multiple,
        'is': Literal['below'],
    },
)


RelationToFirstEqual = TypedDict(
    'RelationToFirstEqual',
    {
        'is': Literal['equal']
    },
)


RelationToFirstOpen = TypedDict(
    'RelationToFirstOpen',
    {
        'is': Literal['open'],
        'may_be_better': bool,
    },
)


RelationToFirst: TypeAlias = RelationToFirstFirst | RelationToFirstBelow | RelationToFirstEqual | RelationToFirstOpen
"""What rounds show of a method, by the first one."""


class Repetition(TypedDict):
    """One overload and the time after it."""

    generator_late_ns: int | None
    """Maximum lateness of the generator, in nanoseconds: the uncertainty of the recovery time."""
    recovery: Recovery2
    """Its result."""
    trial: int
    """Number of the trial."""


Resource: TypeAlias = Literal['link', 'kernel_receive_work', 'application_queue', 'room_in_ring', 'unexplained']
"""A resource that limits bursts."""


class RingAnswerNoRing(TypedDict):
    """The method has no ring."""

    known: Literal['no_ring']


class RingAnswerNoSocket(TypedDict):
    """No method without a ring was measured."""

    known: Literal['no_socket']


class RingGeometryReceiveBuffer(TypedDict):
    """The receive buffer of a socket."""

    bytes: int
    """Memory for frames and what the kernel keeps with each."""
    frames_per_call: int
    """Most frames that one call returns."""
    kind: Literal['receive_buffer']


class RingGeometrySlots(TypedDict):
    """A ring of slots, each with one frame."""

    bytes: int
    """Size of the ring."""
    kind: Literal['slots']
    slot_bytes: int
    """Size of a slot."""
    slots: int
    """Number of slots."""


class RingGeometryBlocks(TypedDict):
    """A ring of blocks, each with many frames."""

    block_bytes: int
    """Size of a block."""
    blocks: int
    """Number of blocks."""
    bytes: int
    """Size of the ring."""
    kind: Literal['blocks']
    retire_ms: int
    """Time after which the kernel passes a block that is not full."""


class RingGeometryUmem(TypedDict):
    """Rings of AF_XDP: entries of each queue, and the buffers of all."""

    buffer_bytes: int
    """Size of a buffer."""
    buffers: int
    """Buffers of all queues."""
    bytes: int
    """Memory of all buffers."""
    fill_entries: int
    """Entries of the fill ring of a queue."""
    first_queue: int
    """First receive queue."""
    kind: Literal['umem']
    last_queue: int
    """Last receive queue."""
    receive_entries: int
    """Entries of the receive ring of a queue."""


class RingGeometryDescribed(TypedDict):
    """Buffers of a library or a card, as it describes them."""

    kind: Literal['described']
    sizes: str
    """The description."""


class Rings(TypedDict):
    """Descriptors in each ring (`ethtool -g`)."""

    most_receive_descriptors: int
    """Size limit of a receive ring."""
    most_transmit_descriptors: int
    """Size limit of a transmit ring."""
    receive_descriptors: int
    """Size of a receive ring."""
    transmit_descriptors: int
    """Size of a transmit ring."""


class RiseAnswerHardlyAnyLoss(TypedDict):
    """The rate cannot rise with the work, because hardly a packet is lost."""

    is_clean: bool
    """Whether no packet is lost in any visit."""
    known: Literal['hardly_any_loss']
    up_to: str
    """The last point."""


class RiseAnswerUndecided(TypedDict):
    """The visits are too few to decide whether the rate rises."""

    known: Literal['undecided']
    points: int
    """Number of points."""
    visits: int
    """Visits of each point."""


class RivalsCost(TypedDict):
    """At the load that was asked for."""

    by: Literal['cost']
    may_cost_less: list[str]
    """Methods that sustain it, and may cost less."""
    may_sustain_it: list[str]
    """Methods that may sustain it."""


class RivalsRate(TypedDict):
    """Where the highest rate was asked for."""

    by: Literal['rate']
    may_sustain_more: list[str]
    """Methods that may sustain more."""


class RivalsTurns(TypedDict):
    """Where the methods took turns."""

    by: Literal['turns']
    may_be_as_good: list[str]
    """Methods that may be as good, and are not better by enough to matter."""
    may_be_better: list[str]
    """Methods that may be better."""


Rivals: TypeAlias = RivalsCost | RivalsRate | RivalsTurns
"""Methods that may be better than the one to use meanwhile."""


Role: TypeAlias = Literal['transmit', 'receive']
"""The role of an interface."""


class Row(TypedDict):
    """A row."""

    at: NotRequired[float]
    """Its coordinate on an axis; absent for names."""
    cells: list[Cell]
    """One cell per column, in their order."""
    label: str
    """Its label."""


class RowHeader(TypedDict):
    """The subject of the rows of a table."""

    heading: str
    """The heading."""
    quantity: Quantity
    """The quantity of the row labels."""


RunSide: TypeAlias = Literal['A', 'B']
"""One of the two compared runs."""


class RunsDifferenceHost(TypedDict):
    """A fact about the host."""

    fact: HostFact
    """The fact."""
    now: str
    """The later value."""
    of: Literal['host']
    then: str
    """The earlier value."""


class ScalabilityFit(TypedDict):
    """The law through measured rates. The intervals hold 95 % of the fits through 1,000 resamplings of the visits (bootstrap)."""

    kappa: Constant
    """κ: coherence."""
    lambda_pps: Constant
    """λ: the rate of one worker, per second."""
    largest_error: float
    """The largest difference between a median and the law, as a share of the median."""
    peak: NotRequired[float]
    """The number of workers with the highest rate; absent if more workers never have a lower rate."""
    sigma: Constant
    """σ: contention."""


class ScalesNeeds(TypedDict):
    """This many members read the load."""

    members: int
    """Their number."""
    what: Literal['needs']


class SearchNeed(TypedDict):
    """What a search takes, by an estimate."""

    time_s: float
    """Time of the whole search, in seconds."""
    traffic_s: float
    """Time of sending, in seconds."""
    trials: int
    """Number of trials."""


class SearchWarningUnequalDurations(TypedDict):
    """Goals have different trial durations, so they share few trials."""

    what: Literal['unequal_durations']


class SearchWarningShortTrials(TypedDict):
    """Trials of a goal are shorter than RFC 2544 asks for."""

    duration_ns: int
    """The duration of its trials."""
    goal: str
    """The goal."""
    what: Literal['short_trials']


class SearchWarningMayNotSuffice(TypedDict):
    """The allowed time or traffic may not suffice."""

    allowed_s: float
    """The allowed time in seconds."""
    chance: ChanceToSuffice
    """How likely that suffices."""
    need: SearchNeed
    """What the goals can need."""
    of: Allowance
    """What is allowed: time of the search, or of sending."""
    what: Literal['may_not_suffice']


class SearchWarningUnusedTrials(TypedDict):
    """Stored trials are of no use to the search."""

    trials: int
    """How many."""
    what: Literal['unused_trials']


class SearchWarningUnsentFrames(TypedDict):
    """The generator left frames unsent, which count as lost."""

    all_trials: int
    """Trials of the search, without the self-test."""
    trials: list[int]
    """The numbers of the trials."""
    what: Literal['unsent_frames']


class SearchWarningLastReadUnknown(TypedDict):
    """Trials do not show when the last frame was read."""

    all_trials: int
    """Trials of the search, without the self-test."""
    trials: int
    """How many."""
    what: Literal['last_read_unknown']


class SearchWarningSelfTestUnpaced(TypedDict):
    """The generator sent different rates without a plan: the host disturbed it."""

    offered_pps: list[float]
    """What each try sent, in packets per second."""
    what: Literal['self_test_unpaced']


class SearchWarningSelfTestByPlan(TypedDict):
    """The generator sent less by plan than without one."""

    paced_pps: float
    """By plan, in packets per second."""
    unpaced_pps: float
    """Without a plan, in packets per second."""
    what: Literal['self_test_by_plan']


class Searched(TypedDict):
    """One search for the longest burst without loss."""

    end: NotRequired[BurstEnd]
    """How it ended; `found` in results of early versions."""
    frames: int
    """The longest burst without loss; 0 if the shortest one lost frames."""
    offered_pps: float | None
    """The rate at which the longest burst was sent, frames per second."""
    step_frames: int | None
    """The next tried length minus this one: the resolution of the result. Absent if the limit was reached without loss."""
    trials: list[int]
    """Numbers of its trials."""


SelfTestCause: TypeAlias = Literal['host', 'not_at_first', 'not_sustained']
"""Why the generator did not send a rate of its plan at once."""


class SentShares(TypedDict):
    """Shares of the intended frames that the generator sent: the least and the most that a method got, each by the median of its rounds."""

    least: float
    """Of the method that got least."""
    most: float
    """Of the method that got most."""


class Setup(TypedDict):
    """A set-up with its load. Absent fields may differ, or do not apply."""

    capture: NotRequired[str]
    """Ring, blocks and other granted capture settings; present if a run has several values in set-ups that are otherwise equal: their median would represent none of them."""
    frame_size: NotRequired[str]
    """The frame size, or the name of a mix."""
    load: NotRequired[str]
    """The load in words: a rate, maximum load, the common load of a bench, a goal of a search, a point of a sweep."""
    method: NotRequired[str]
    """The capture method."""
    placement: NotRequired[str]
    """The placement."""
    traffic: NotRequired[str]
    """Headers and flows."""
    transmit: NotRequired[str]
    """The transmit method."""
    work: NotRequired[str]
    """Work per packet."""


class SharesOfMembersEqual(TypedDict):
    """They got equal shares."""

    known: Literal['equal']


class Sharing(TypedDict):
    """Distribution of received frames to queues (`ethtool -x`, `ethtool -n rx-flow-hash`)."""

    entries_by_queue: NotRequired[list[int]]
    """Entries of each queue, from queue 0 to the last one in the table. Absent in results of earlier versions."""
    function: str
    """Hash function: `toeplitz`, `xor`, `crc32`, `other`."""
    queues_in_table: int
    """Queues in the table."""
    symmetric_key: NotRequired[bool]
    """Whether both directions of a connection have the same hash because the key repeats itself; `None` without a key."""
    table_entries: int
    """Entries of the table from hash to queue."""
    udp4_by_addresses: NotRequired[bool]
    """Whether the hash includes the addresses of UDP over IPv4."""
    udp4_by_ports: NotRequired[bool]
    """Whether it includes the ports. Otherwise all flows between two hosts share a queue."""


class Side(TypedDict):
    """One side of a contrast."""

    lossy: NotRequired[int]
    """Trials that lost sent frames, if the figure is loss."""
    median: NotRequired[float]
    """Their median; absent if several set-ups are compared together."""
    trials: list[int]
    """The trials, in the order in which they ran."""


Side2: TypeAlias = Literal['published', 'here', 'given']
"""The origin of a column's numbers."""


SizeLabel: TypeAlias = int | str
"""A frame size, or the name of a mix of sizes."""


class Skew(TypedDict):
    """The difference of two clocks' rates, as the delays of a generator's frames show it."""

    error_ppm: float | None
    """How uncertain that is; absent if there are too few frames to say it."""
    ppm: float
    """By how many parts per million the smallest delays grew during the trial."""
    removed: bool
    """Whether it was removed from the delays. It was not if it is within its uncertainty, and if clocks cannot differ that much: then a queue filled or emptied."""
    stream: int
    """The generator's stream."""


class SlowedWork(TypedDict):
    """Work that takes longer than alone, because the kernel works on the same CPU."""

    of_alone: NotRequired[PartOfCpu]
    """The application's part of the CPU; absent if the time of a unit alone is unknown."""
    unit_ns: float
    """Time of a unit of work there, nanoseconds."""


class SoakSetUp(TypedDict):
    """What a soak measured."""

    frame_size: SizeLabel
    """The frame size."""
    method: str
    """The method."""
    placement: str
    """The placement."""
    work: str
    """The work per packet."""


class SocketAnswerHardlyAnyLoss(TypedDict):
    """The ring cannot be behind, because hardly a packet is lost with either method."""

    is_clean: bool
    """Whether no packet is lost in any visit."""
    known: Literal['hardly_any_loss']


class Unreadable(TypedDict):
    error: str
    """The message of the error."""


class SocketsUnknownUnreadable(TypedDict):
    """They cannot be read."""

    unreadable: Unreadable


SocketsUnknown: TypeAlias = Literal['no_packet_socket'] | Literal['not_visible'] | SocketsUnknownUnreadable
"""Why it is unknown what is in the sockets of a program."""


class LinkQueue(TypedDict):
    left: NotRequired[int]
    """Frames more that were still in it at the end, computed."""


class SourceLinkQueue(TypedDict):
    """`tx_dropped` and `tx_errors` of the sender: frames that the queue in front of a veth's NAPI poll refused."""

    link_queue: LinkQueue


class SourcePath(TypedDict):
    """The path between the interfaces."""

    path: PathSource


class NotTraced(TypedDict):
    because: NotRequired[str]
    """Why; absent if nobody wanted it."""


class SourceNotTraced(TypedDict):
    """The tracer of drop reasons did not run."""

    not_traced: NotTraced


class SourceFilter(TypedDict):
    """The socket filter."""

    filter: FilterSource


class Queue(TypedDict):
    left: int
    """Frames that were still in it at the end."""
    length: QueueLength
    """Its capacity in frames."""
    refused: int
    """Frames that it had no room for."""


class SourceQueue(TypedDict):
    """Frames that the application's queue had no room for, or still had."""

    queue: Queue


class Unverified(TypedDict):
    because: str
    """Why."""


class SourceUnverified(TypedDict):
    """Frames were not verified."""

    unverified: Unverified


class Spread(TypedDict):
    """The distribution of a quantity."""

    buckets: list[Bucket]
    """Number of values between two powers of two; without empty buckets."""
    count: int
    """Number of values."""
    max: int | None
    """The largest value, exactly."""
    p50: int | None
    """Median: half of the values are less than or equal to this, with a resolution of 1 %; absent without values."""
    p99: int | None
    """99 % of the values are less than or equal to this, with a resolution of 1 %."""
    total: int
    """Their sum."""


class Stall(TypedDict):
    """A stall: the CPU ran no work of the trial and no interrupt. The hypervisor preempted it, or interrupts were off."""

    at_least_ns: int
    """Lower bound of its duration: the delay of the CPU's timer tick."""
    at_most_ns: int
    """Upper bound of its duration: the time since the CPU was last seen running."""
    until_ns: int
    """End of the stall, in nanoseconds since sending began."""


class StartSpread(TypedDict):
    """How far apart generators began."""

    ns: int
    """The time between the first and the last beginning."""
    sending_ratio: float
    """The same as a share of the sending time."""


class StatementText(TypedDict):
    """What a command says of its plan; or the text of a file of an earlier version."""

    text: str
    """The text."""
    what: Literal['text']


class StatementResumed(TypedDict):
    """The run was interrupted and went on later."""

    after_trials: int
    """Trials before the interruption."""
    at: str
    """When it went on (RFC 3339, UTC)."""
    what: Literal['resumed']


class StatementNotMeasured(TypedDict):
    """A bench left something out to end in time."""

    frame_size: SizeLabel
    """The frame size."""
    part: PartOfBench
    """Which part of the set-up."""
    placement: str
    """The placement."""
    what: Literal['not_measured']


class StatementVirtualLink(TypedDict):
    """The link is a veth pair."""

    what: Literal['virtual_link']


class StatementSimulatedPath(TypedDict):
    """No network was used."""

    what: Literal['simulated_path']


class StatementMembersShareCpus(TypedDict):
    """A method has more threads than CPUs."""

    cpus: int
    """The CPUs."""
    method: str
    """The method."""
    what: Literal['members_share_cpus']


class StatementNotTraced(TypedDict):
    """There is no tracer."""

    because: str
    """Why."""
    what: Literal['not_traced']


class StatementGuards(TypedDict):
    """What guards did with disturbed trials and overloads."""

    most_probes: int
    """Most probes after an overload."""
    most_repeats: int
    """Most attempts of a trial that are discarded."""
    probes: int
    """Probes after overloads."""
    repeat_ratio: float
    """Share of the trials' time that repeats may add."""
    repeats: int
    """Discarded attempts."""
    what: Literal['guards']


class StatementGeneratorAbsent(TypedDict):
    """The run went on without a generator."""

    error: str
    """The message of the error."""
    what: Literal['generator_absent']


class StatementOtherBuild(TypedDict):
    """An agent is of another build than the controller."""

    location: str
    """Where the agent is."""
    what: Literal['other_build']


class StatementCableCheck(TypedDict):
    """What the check of the cable found."""

    foreign: int
    """Frames of other senders."""
    generators: int
    """Generators that sent."""
    lost: int
    """Frames that the receiving interface lost in itself."""
    pauses: int
    """Pause frames on all interfaces."""
    sent: int
    """Their frames."""
    what: Literal['cable_check']


class StatementCountedByAgents(TypedDict):
    """Which agents counted."""

    receiver: str
    """Where the receiver is."""
    senders: str
    """Where the senders are."""
    what: Literal['counted_by_agents']


class StatementSentUnverified(TypedDict):
    """What a generator sent is its own count."""

    location: str
    """Where the generator is."""
    what: Literal['sent_unverified']


class StatementAgentThreadsNotMoved(TypedDict):
    """The threads of an agent may run on CPUs that are measured."""

    error: str
    """The message of the error."""
    what: Literal['agent_threads_not_moved']


class StatementAgentThreadsOnMeasuredCpus(TypedDict):
    """The trials measure every CPU that an agent may use, so the agent's threads run there, too."""

    what: Literal['agent_threads_on_measured_cpus']


class StatementConnectionInterruptsUnknown(TypedDict):
    """Interrupts of the connection to an agent may go to CPUs that are measured."""

    because: str
    """Why it is unknown."""
    what: Literal['connection_interrupts_unknown']


class StatementConnectionInterruptsOnMeasuredCpus(TypedDict):
    """Interrupts of the connection to an agent go to CPUs that are measured."""

    cpus: list[int]
    """The CPUs."""
    interface: str
    """The interface of the connection."""
    what: Literal['connection_interrupts_on_measured_cpus']


Status: TypeAlias = Literal['regular', 'at_least', 'irregular']
"""The quality of a goal's result."""


class Step(TypedDict):
    """A constant rate that changes once."""

    after: Pps
    """The rate after the change."""
    at: Duration
    """Time of the change, since the start."""
    before: Pps
    """The rate before the change."""


class Stop(TypedDict):
    """Where more members stop to bring more."""

    after: int
    """Up to this number of members the rate grows."""
    cause: LimitName
    """The cause."""
    next: int
    """The next number, whose trials show the cause."""


class StopFiguresLoad(TypedDict):
    """Nothing: they read the whole load."""

    what: Literal['load']


class StopFiguresGenerator(TypedDict):
    """The generator: they read all that it sends."""

    busiest_ratio: float | None
    """Share of the time for which the busiest member is busy."""
    offered_pps: float
    """The rate that it sends, in packets per second."""
    what: Literal['generator']


class StopFiguresKernel(TypedDict):
    """The kernel's receive work, which one CPU does."""

    cpu: int | None
    """The CPU."""
    kernel_ratio: float | None
    """Share of the time for which it does receive work."""
    members: MembersBusy
    """Share of the time for which the members are busy."""
    what: Literal['kernel']


class StopFiguresSharing(TypedDict):
    """The sharing of the frames: one member gets too large a part."""

    excess_ratio: float | None
    """What one member gets in addition to an equal share, as a share of it."""
    idlest_ratio: float | None
    """Share of the time for which the idlest member is busy."""
    what: Literal['sharing']


class StopFiguresSharedCpus(TypedDict):
    """Several members share a CPU."""

    cpus: int
    """Number of CPUs."""
    what: Literal['shared_cpus']


class StopFiguresContention(TypedDict):
    """A part of the work that one member does at a time."""

    of_one_alone: float | None
    """What each reads, as a share of what one alone reads."""
    what: Literal['contention']


class StopFiguresCoherence(TypedDict):
    """Work that members cause each other."""

    of_one_alone: float | None
    """What each reads, as a share of what one alone reads."""
    what: Literal['coherence']


class StopFiguresMembers(TypedDict):
    """Something that busy members share."""

    what: Literal['members']


class StopFiguresUnknown(TypedDict):
    """The figures of the trials do not decide it."""

    loss_ratio: float
    """Share of the sent frames that was lost."""
    members: MembersBusy
    """Share of the time for which the members are busy."""
    place: Place | None
    """Where most of them were lost."""
    what: Literal['unknown']


StopFigures: TypeAlias = StopFiguresLoad | StopFiguresGenerator | StopFiguresKernel | StopFiguresSharing | StopFiguresSharedCpus | StopFiguresContention | StopFiguresCoherence | StopFiguresMembers | StopFiguresUnknown
"""What stops more members from bringing more, with the figures that show it. A figure is absent if a trial does not know it."""


Strategy: TypeAlias = Literal['mlr', 'binary']
"""How loads are chosen for a goal."""


class SubjectFrames(TypedDict):
    """Frames of a size in a placement."""

    frame_size: SizeLabel
    """The size of the frames."""
    of: Literal['frames']
    placement: str
    """The placement."""


class SubjectSeries(TypedDict):
    """Placement and load of methods of a sweep."""

    load: NotRequired[str]
    """The load in words; absent if it is the axis."""
    of: Literal['series']
    placement: NotRequired[str]
    """The placement; absent if it is the axis."""


class SubjectPublication(TypedDict):
    """A publication."""

    key: str
    """Its key."""
    of: Literal['publication']


Subject: TypeAlias = SubjectFrames | SubjectSeries | SubjectPublication
"""What a fact concerns, if not the whole run."""


class SupportedClaim(TypedDict):
    """A claim, and the trials that support its answer."""

    claim: str
    """The claim."""
    trials: list[int]
    """The trials."""


SustainedPart = TypedDict(
    'SustainedPart',
    {
        'from': str,
        'pps': float,
        'ratio': float,
        'to': NotRequired[str],
    },
)


class SustainedRateAsked(TypedDict):
    """The load that was asked for."""

    known: Literal['asked']
    pps: float
    """The load in packets per second."""


class SustainedRateSent(TypedDict):
    """A little less than the load that was asked for: all that the generator sent of it."""

    asked_pps: float
    """The load in packets per second."""
    known: Literal['sent']
    sent_pps: float
    """What was sent of it, in packets per second."""


class SustainedRateLimit(TypedDict):
    """A rate, and none that is much higher."""

    known: Literal['limit']
    pps: float
    """The rate in packets per second."""
    precision_ratio: float
    """Distance of its bounds as a share of the upper one."""


class SustainedRateAtLeast(TypedDict):
    """A rate, and perhaps a higher one."""

    known: Literal['at_least']
    pps: float
    """The rate in packets per second."""


class SustainedRateNone(TypedDict):
    """No load."""

    known: Literal['none']


class SustainedRateUnknown(TypedDict):
    """No trial shows it, or its trials are not in the ranking."""

    known: Literal['unknown']


class SustainedRateUnknownAt(TypedDict):
    """No trial shows whether it sustains the load that was asked for."""

    asked_pps: float
    """The load in packets per second."""
    known: Literal['unknown_at']


SustainedRate: TypeAlias = SustainedRateAsked | SustainedRateSent | SustainedRateLimit | SustainedRateAtLeast | SustainedRateNone | SustainedRateUnknown | SustainedRateUnknownAt
"""What a method sustains without loss."""


SustainedStatus: TypeAlias = Literal['between', 'at_least', 'disturbed', 'not_reached', 'unknown']
"""What is known of a sustained load."""


class SweepPoint(TypedDict):
    """A point of a sweep."""

    at: NotRequired[float]
    """Its coordinate on the axis; absent for names."""
    index: int
    """Its index, from 0."""
    label: str
    """Its name in reports."""


class SweepScene(TypedDict):
    """What series share that are compared with each other."""

    load: NotRequired[str]
    """The load in words; absent if it is the axis."""
    placement: NotRequired[str]
    """The placement; absent if it is the axis."""


class SweepSeries(TypedDict):
    """A method over the axis."""

    method: str
    """The method."""
    scene: SweepScene
    """Its placement and load."""


class TableNotePublication(TypedDict):
    """A note of the publication's file."""

    what: Literal['publication']
    words: str
    """The words of the file."""


class TableNoteCannotRun(TypedDict):
    """A method of the table cannot run here."""

    because: str
    """Why it cannot."""
    method: str
    """The method."""
    what: Literal['cannot_run']


class TableNoteAboveLineRate(TypedDict):
    """A published rate is above the line rate."""

    what: Literal['above_line_rate']


class TableNoteLoadNotReached(TypedDict):
    """The generator sent less than the load of the publication."""

    what: Literal['load_not_reached']


class TableNoteBuffered(TypedDict):
    """When sending ended, buffers contained more than this share of the sent frames."""

    above: float
    """The share."""
    what: Literal['buffered']


class TableNoteLoadNotReachedAndBuffered(TypedDict):
    """Both: the load was not reached, and buffers contained more than this share."""

    above: float
    """The share."""
    what: Literal['load_not_reached_and_buffered']


TableNote: TypeAlias = TableNotePublication | TableNoteCannotRun | TableNoteAboveLineRate | TableNoteLoadNotReached | TableNoteBuffered | TableNoteLoadNotReachedAndBuffered
"""A note below a table: a known flaw, or what a mark of its numbers means."""


class TaskHosts(TypedDict):
    """Generators on other hosts than the receiver."""

    generators: list[HostOfGenerator]
    """The generators."""
    receiver: str
    """The location of the receiver."""


class TestFactNoneLost(TypedDict):
    """No frame is lost at the highest load."""

    at_percent: float
    """The highest load, in percent of the maximum rate."""
    maximum_pps: float
    """The maximum rate, frames per second."""
    what: Literal['none_lost']
    worst: NotRequired[LossAtLoad]
    """The lower load that lost the largest share of its frames; absent if none lost frames."""


class TestFactSomeLost(TypedDict):
    """Frames are lost at the highest load."""

    highest: LossAtLoad
    """The loss at the highest load."""
    lossless_percent: NotRequired[float]
    """The highest load that the generator reached and that lost nothing, in percent of the maximum rate."""
    maximum_pps: float
    """The maximum rate, frames per second."""
    what: Literal['some_lost']


class TestFactBursts(TypedDict):
    """The longest burst that loses nothing."""

    average_frames: float
    """The mean length of the longest bursts, in frames."""
    buffer_s: float
    """The time that the buffers store, in seconds."""
    invalid_because: NotRequired[str]
    """Why the result is not valid; absent if it is."""
    what: Literal['bursts']


class TestFactRecoversAfter(TypedDict):
    """How long frames are still lost after an overload."""

    average_s: float
    """The mean time to the last lost frame, in seconds."""
    overload_pps: float
    """The overload, frames per second."""
    what: Literal['recovers_after']


class TestFactRecoveryUnknown(TypedDict):
    """No overload shows whether the method recovers."""

    overloads: int
    """Number of overloads."""
    what: Literal['recovery_unknown']


class TestFactRecoveredFrom(TypedDict):
    """From how many overloads the method recovered."""

    overloads: int
    """All overloads."""
    recovered: int
    """Overloads from which it recovered."""
    unknown: int
    """Overloads that do not show it."""
    what: Literal['recovered_from']


class TestSetUp(TypedDict):
    """What a test tested."""

    frame_size: SizeLabel
    """The frame size."""
    method: str
    """The method."""
    placement: str
    """The placement."""


class TestedLatency(TypedDict):
    """RFC 2544 26.2."""

    frame_size: SizeLabel
    """The frame size."""
    method: str
    """The method."""
    placement: str
    """The placement."""
    throughput_status: NotRequired[Status]
    """The quality of the throughput on which it depends; absent if the user gave the throughput."""
    trials: list[int]
    """Numbers of its trials, in the order in which they ran."""
    work: str
    """The work per packet."""
    duration_s: float
    """Length of a trial in seconds."""
    ended: Ended
    """How it ended."""
    from_s: float
    """Start of recording, in seconds."""
    lossy: list[int]
    """Numbers of the trials that lost frames: their rate was above the throughput, and their latency is that of full buffers."""
    rate_pps: Pps
    """The rate, frames per second."""
    relative_to_kernel: NotRequired[Leg]
    """Between two hosts: from planned send time to the kernel's timestamp, less its minimum; absent unless every trial has it."""
    relative_total: NotRequired[Leg]
    """Between two hosts: from planned send time to delivery, less its minimum; absent unless every trial has it."""
    repetitions: int
    """Number of trials in these figures."""
    test: Literal['latency']
    to_application: Leg | None
    """From the kernel's timestamp to delivery; absent unless every trial has it."""
    to_kernel: Leg | None
    """From planned send time to the kernel's timestamp; absent unless every trial has it."""
    total: Leg | None
    """From planned send time to delivery; absent unless every trial has it."""


class Thresholds(TypedDict):
    """Minimum changes to report."""

    loss: float
    """Minimum change of loss, in lost frames per sent frame. Loss where there was none before is always reported."""
    relative: float
    """Minimum change of rates and times, relative to the earlier value."""


class Throttled(TypedDict):
    """What a CPU quota of control groups did to capbench in a window (`cpu.stat`, cgroups(7))."""

    periods: int
    """Periods in which the group had used up its quota."""
    stopped_ns: int
    """How long its threads could not run, in nanoseconds, summed over CPUs."""


TimeOfThread: TypeAlias = Literal['work', 'application']
"""What takes the time of a thread."""


class TimeSourceKernel(TypedDict):
    """The kernel: `CLOCK_REALTIME` when the frame was in its receive path."""

    clock: Literal['kernel']
    how: str


class TimeSourceUnknown(TypedDict):
    """An adapter or a library, with an unknown clock."""

    clock: Literal['unknown']
    how: str


class TimeSourceUserSpace(TypedDict):
    """User space: when the method returned the batch."""

    clock: Literal['user_space']
    how: str


class TimeSourceNone(TypedDict):
    """Frames have no times."""

    clock: Literal['none']


TimeSource: TypeAlias = TimeSourceKernel | TimeSourceUnknown | TimeSourceUserSpace | TimeSourceNone
"""Source of the frame times, with a description."""


class TooFewSearches(TypedDict):
    """Searches of each method."""

    needed: int
    """How many of each method decide the order."""
    searches: int
    """The searches of the method with the fewest."""


class TracedCostMeasured(TypedDict):
    """It was measured."""

    known: Literal['measured']
    times: str
    """The times for each event, in the words of the tracer."""


class TracedCostUnknown(TypedDict):
    """It could not be measured."""

    because: str
    """Why."""
    known: Literal['unknown']


class TracedCostNotMeasured(TypedDict):
    """It has not been measured yet."""

    known: Literal['not_measured']


TracedCost: TypeAlias = TracedCostMeasured | TracedCostUnknown | TracedCostNotMeasured
"""What the tracer itself costs."""


class TracedDropsNone(TypedDict):
    """None."""

    because: str
    """Why."""
    seen: Literal['none']


class TracedDropsByReason(TypedDict):
    """Those with the kernel's reasons."""

    seen: Literal['by_reason']


class TracedDropsByFunction(TypedDict):
    """Those by the kernel's functions: the kernel has no reasons."""

    seen: Literal['by_function']


TracedDrops: TypeAlias = TracedDropsNone | TracedDropsByReason | TracedDropsByFunction
"""Which drops the tracer sees."""


class InDriver(TypedDict):
    failed: int
    """Exceptions and failed redirects."""


class TracedXdpInDriver(TypedDict):
    """A program ran in the driver, where the tracer sees only what failed."""

    in_driver: InDriver


class TrafficControl(TypedDict):
    """A queueing discipline of an interface."""

    discipline: str
    """Its kind: `noqueue`, `mq`, `fq_codel`, `clsact`."""
    filters: NotRequired[list[str]]
    """Its filters for both directions, each by its kind, a BPF program with its name. Only those of `clsact` and `ingress`."""


TransmitCounters: TypeAlias = Literal['link_statistics', 'less_backlog', 'far_queue_only']
"""Counters of the sending interface."""


class TransmitQueue(TypedDict):
    """A transmit queue."""

    queue: int
    """Its number."""
    xps_cpus: NotRequired[str]
    """CPUs that send on it (transmit packet steering), as a list. Empty if not set."""


class TrialConditions(TypedDict):
    """The conditions of the trials of a reproduction."""

    length_range_s: NotRequired[list[float]]
    """The shortest and the longest trial, seconds; absent without a trial."""
    quiet_s: float
    """How long a trial waited for missing frames, seconds."""
    scale: float
    """Length of trials, as a share of the published length."""
    search_width: float
    """The distance of the bounds of searches, as a share of the upper one."""
    visits: int
    """Visits of each point."""


TrialFact: TypeAlias = Literal['engine', 'capture', 'generator', 'cpus', 'length', 'load_independent']
"""A fact about a trial that is not part of its set-up and must still be equal."""


class TriedLoad(TypedDict):
    """The load of a trial."""

    method: str
    """Its method."""
    offered_pps: float
    """Its offered load in packets per second."""
    trial: int
    """The trial."""


class Try(TypedDict):
    """A trial of the self-test."""

    asked_pps: float | None
    """Frames per second that the plan requested; absent if there was no plan."""
    held: bool
    """Whether the generator sent everything requested."""
    offered_pps: float
    """Frames per second that were sent."""
    trial: int
    """Its number."""


Undecided: TypeAlias = Literal['not_measured', 'one_visit', 'buffered', 'visits_disagree', 'load_not_reached']
"""Why visits meet neither a limit nor its contrary."""


UnequalBecause: TypeAlias = Literal['one_flow', 'one_queue']
"""Why one member got more than others."""


class UnfitTooFewNumbers(TypedDict):
    """Too few different numbers of workers."""

    numbers: int
    """How many there are."""
    what: Literal['too_few_numbers']


class UnfitOffTheLaw(TypedDict):
    """The rates do not follow the law."""

    error: float
    """The largest difference between a median and the law, as a share of the median."""
    what: Literal['off_the_law']


Unfit: TypeAlias = UnfitTooFewNumbers | UnfitOffTheLaw
"""Why there is no law through some rates."""


class UnknownBecauseNotMeasured(TypedDict):
    """A trial of it could not run."""

    reason: Literal['not_measured']
    text: str
    """Why, in one line."""


class UnknownBecauseInvalid(TypedDict):
    """Each of its trials is invalid."""

    reason: Literal['invalid']
    text: str
    """Why the first one is."""


class UnknownBecauseNotSent(TypedDict):
    """The generator sent too little of the load that was asked for."""

    reason: Literal['not_sent']
    sent_pps: float
    """What it sent, in packets per second."""


class UnknownBecauseDisturbed(TypedDict):
    """Trials lost frames, and the host disturbed them."""

    disturbed: int
    """Trials that the host disturbed."""
    reason: Literal['disturbed']
    trials: int
    """Its trials."""


UnknownBecause: TypeAlias = UnknownBecauseNotMeasured | UnknownBecauseInvalid | UnknownBecauseNotSent | UnknownBecauseDisturbed
"""Why nothing is known of what a program sustains."""


class UnknownProgram(TypedDict):
    """A program, and why nothing is known of what it sustains."""

    because: UnknownBecause
    """Why."""
    method: str
    """The program."""


class UnreadSourceSocketsUnknown(TypedDict):
    """Unknown: the sockets of a program cannot be read."""

    sockets_unknown: SocketsUnknown


UnreadSource: TypeAlias = Literal['drained'] | Literal['sockets_of_program'] | Literal['difference'] | Literal['cut_short'] | UnreadSourceSocketsUnknown
"""How it is known which frames the application did not read."""


Verdict: TypeAlias = Literal['lossless', 'lossy', 'generator_limited', 'invalid']
"""How a trial ended."""


class VerifiedFile(TypedDict):
    """A capture file whose frames were verified after the trial."""

    format: str
    """The name of its format."""
    is_on_disk: bool
    """Whether a disk had it, and not memory."""


Way: TypeAlias = Literal['whole', 'less_fastest', 'kernel_to_application']
"""From where to where a latency is."""


class WidthRelative(TypedDict):
    """As a share of the upper bound."""

    relative: Ratio


class WidthOfMaximum(TypedDict):
    """As a share of the maximum load of the search. Only for `Strategy::Binary`."""

    of_maximum: Ratio


Width: TypeAlias = WidthRelative | WidthOfMaximum
"""The maximum distance between the bounds of a regular result."""


class Window(TypedDict):
    """An interval of time and its frames."""

    from_ns: int
    """Its beginning, nanoseconds since the trial started."""
    length_ns: int
    """Its length: 100 ms, or the whole of a shorter trial in steps of 10 ms."""
    lost: int
    """Frames sent in it that were lost."""
    sent: int
    """Frames sent in it."""


class WorseMethod(TypedDict):
    """A method that is worse than the one to use."""

    at_pps: NotRequired[float]
    """The load at which it captures less, in packets per second; absent if a cost shows it."""
    by: BelowBy
    """The figure that shows it."""
    factor: float
    """How much better the method to use is in this figure, as a multiple."""
    method: str
    """The method."""


class XdpProgram(TypedDict):
    """An XDP program on an interface."""

    attached: str
    """Where it runs: `driver`, `generic`, `hardware`, `several`."""
    id: NotRequired[int]
    """The kernel's id of it."""
    program: NotRequired[str]
    """Its name; absent without CAP_SYS_ADMIN."""


class BacklogOfCpu(TypedDict):
    """What the backlog of a CPU dropped, frames of the trial or not."""

    cpu: CpuId
    """The CPU."""
    dropped: int
    """Its drops."""


class BacklogSource(TypedDict):
    """Where the count of the backlogs comes from."""

    cpus: NotRequired[list[BacklogOfCpu]]
    """The CPUs of the host whose backlogs dropped, frames of the trial or not."""
    part: BacklogPart
    """How the trial's part of the host's drops is known."""


class BeforeCountersTraced(TypedDict):
    """The tracer saw them."""

    traced: LossesByReason


BeforeCounters: TypeAlias = BeforeCountersTraced | BeforeCountersRefused
"""Losses in front of the counters of the sending interface."""


class BoundsByChance(TypedDict):
    """Bounds that can differ by chance."""

    lower: HighLoss
    """High-loss trials at the lower bound."""
    nearest_pps: list[float] | None
    """The nearest loads around them that are distinguished, lower one first, frames per second; absent if there are none."""
    probability: float
    """The probability that chance makes this difference."""
    upper: HighLoss
    """High-loss trials at the upper bound."""


class BufferedAtPoint(TypedDict):
    """A point at which the application reads frames more slowly than they arrive, and buffers hold the rest."""

    offered_pps: float
    """The offered load, in frames per second."""
    point: SweepPoint
    """The point."""
    read_pps: float
    """The rate at which the application reads, in frames per second."""


class Burst(TypedDict):
    """Consecutive lost frames."""

    first: int
    """Number of the first lost frame, from 0."""
    frames: int
    """Number of lost frames."""
    from_ns: int
    """Time of the first lost frame."""
    marked: bool | None
    """Whether the method marked the place; absent if it has no marks, or if no received frame could have the mark."""
    position: Position
    """The part of the trial in which it began."""
    to_ns: int
    """Time of the next received frame; the end of sending if there is none."""


class BurstAtPoint(TypedDict):
    """The longest burst without loss at a point."""

    deviation_frames: NotRequired[float]
    """The standard deviation, in frames."""
    drain_corrected_buffer_s: NotRequired[float]
    """How long the buffer lasts, less what was delivered meanwhile, seconds."""
    mean_frames: float
    """Its mean length over the searches, in frames."""
    point: SweepPoint
    """The point."""


class CardCounters(TypedDict):
    """The counters of a place."""

    counted: NotRequired[CountedFrames]
    """What they count."""
    counters: list[CardCounter]
    """Those that counted something; all, if none did."""


class ClaimValueFigure(TypedDict):
    """A measured figure."""

    quantity: Quantity
    """Its quantity."""
    value: float
    """Its value."""
    what: Literal['figure']


class ClaimValueUndecided(TypedDict):
    """Why a point does not decide the claim."""

    what: Literal['undecided']
    why: Undecided
    """The reason."""


class Column(TypedDict):
    """A column."""

    method: str
    """The method, by its name in the publication, or here."""
    quantity: Quantity
    """Its quantity."""
    side: Side2
    """Its origin."""
    what: str
    """What the column shows."""


class ComparedRates(TypedDict):
    """Rates of a ring and a method without one at the same points."""

    ring: SustainedPart
    """What the ring sustains."""
    socket: SustainedPart
    """What the other method sustains."""


class Comparison2(TypedDict):
    """A published table next to the measured values."""

    caption: str
    """What the table shows."""
    columns: list[Column]
    """Columns, published and measured ones."""
    curves: NotRequired[Quantity]
    """The quantity of its curves, if it has curves: columns of this quantity over the rows."""
    id: str
    """Identifier, unique in its run, of letters, digits and `-`."""
    note_facts: NotRequired[list[TableNote]]
    """The same as facts: known flaws, explanations of marks. Absent in files of versions that did not write them."""
    notes: list[str]
    """Notes below the table in words, for readers of the file. The report makes them when the reproduction is saved."""
    rows: list[Row]
    """Rows, with one cell per column."""
    rows_are: RowHeader
    """The subject of the rows."""


class ComparisonNoteIncomplete(TypedDict):
    """A run was not finished."""

    run: RunSide
    """Which run."""
    what: Literal['incomplete']


class ComparisonNoteResumed(TypedDict):
    """A run was interrupted and went on later."""

    after_trials: int
    """Trials before the interruption."""
    at: str
    """When it went on (RFC 3339, UTC)."""
    run: RunSide
    """Which run."""
    what: Literal['resumed']


class ComparisonNoteNoisy(TypedDict):
    """Trials of a run are noisy."""

    all_trials: int
    """Trials of the run."""
    noisy_trials: int
    """How many are."""
    run: RunSide
    """Which run."""
    what: Literal['noisy']


class ComparisonNoteSoak(TypedDict):
    """A run is a soak, whose segments are not compared."""

    run: RunSide
    """Which run."""
    what: Literal['soak']


ComparisonNote: TypeAlias = ComparisonNoteFileWarning | ComparisonNoteOtherWork | ComparisonNoteIncomplete | ComparisonNoteResumed | ComparisonNoteNoisy | ComparisonNoteNoisyRuns | ComparisonNoteSoak | ComparisonNoteHostSpeed
"""Something to know before the figures."""


class Contrast(TypedDict):
    """One figure on both sides."""

    by_chance: NotRequired[float]
    """The probability that chance alone distributes the figures over both sides at least this unevenly; absent if there are too few figures."""
    change: Change
    """The change."""
    corrected: NotRequired[float]
    """This probability, corrected after Holm for all tests; absent if the figure could not be tested."""
    judgement: Judgement
    """The judgement."""
    measure: Measure
    """The figure."""
    now: Side
    """The current side."""
    setup: Setup
    """The compared set-up, or the common properties of several."""
    setups: int
    """Number of set-ups."""
    then: Side
    """The earlier side."""


class CostAtPoint(TypedDict):
    """The cost of a packet at a point."""

    cost_ns: float
    """Wall time besides the work, nanoseconds."""
    point: SweepPoint
    """The point."""


class CostByLoad(TypedDict):
    """The CPU time per packet of a method at two loads, each as a multiple of that of the first method."""

    method: str
    """The method."""
    relative_cost: Multiple
    """At the load at which CPU times are compared."""
    relative_cost_at_limit: Multiple
    """At the load of the rounds."""


CostChange = TypedDict(
    'CostChange',
    {
        'backlog_share': NotRequired[BeforeAndAfter],
        'evidence': Evidence,
        'frames_per_batch': NotRequired[BeforeAndAfter],
        'from': SweepPoint,
        'ring_share': NotRequired[BeforeAndAfter],
        'to': SweepPoint,
        'wakeups_per_packet': NotRequired[BeforeAndAfter],
    },
)


CostRegime = TypedDict(
    'CostRegime',
    {
        'cost_ns': float,
        'from': SweepPoint,
        'least_ns': float,
        'most_ns': float,
        'to': SweepPoint,
    },
)


class CpuAccount(TypedDict):
    """CPU time of a trial. Absent if the platform cannot measure it."""

    app_charged_ns: int | None
    """Run time that the scheduler charged to the application thread."""
    app_ns: int | None
    """Run time of the application thread, without the softirq work that interrupted it."""
    app_ns_per_packet: float | None
    """Application time per frame read, verification included; a lower bound if `split_is_sampled`."""
    app_ns_per_packet_at_most: float | None
    """Upper bound of the application time per frame read; differs only if `split_is_sampled`."""
    batches: int
    """Batches that the method delivered."""
    busy_cores: float | None
    """Busy CPUs of the whole host while frames were sent, the generator's included."""
    empty_waits: int
    """Waits that ended without a frame."""
    frames_per_batch: float | None
    """Frames per batch, mean."""
    frames_per_wakeup: float | None
    """Frames per voluntary context switch, mean: the batch per wake-up. Absent if the application never slept."""
    involuntary_switches: int | None
    """Context switches of the application thread because others ran."""
    kernel_ns: int | None
    """Softirq, interrupt and NAPI-thread time on the CPU that does the kernel's receive work."""
    kernel_ns_per_packet: float | None
    """The kernel's receive work per frame that reached the capture point."""
    kernel_resolution_ns: int | None
    """Resolution of `kernel_ns`."""
    kernel_source: NotRequired[str]
    """Source of `kernel_ns`: timing of the receive softirq at its beginning and end, or ticks of /proc/stat."""
    kernel_source_fact: NotRequired[KernelTimeSource]
    """The same as a fact. Absent if nothing is known of it, and in files of versions that did not write it."""
    softirqs_timed: NotRequired[bool]
    """Whether the tracer timed every receive softirq during the trial. If not, it had no program at softirqs. Absent without a tracer, and in files of versions that did not write it."""
    split_is_sampled: bool
    """Whether only a range is known for the application's time. Either it shares a CPU with the kernel's receive work, and the kernel only samples at the timer tick which of the two runs: their sum is exact. Or other work ran there, which the kernel's work may have interrupted instead."""
    steal_ratio: float | None
    """Share of the host's CPU time that the hypervisor stole while frames were sent."""
    total_ns: int | None
    """Application and kernel time together."""
    total_ns_per_packet: float | None
    """Application and kernel together per frame that reached the capture point: the busy time of their CPU if they share one and it is long enough for its ticks, else the sum of the two. Absent if other work ran on the CPU, and it is not known how much."""
    tracer_ns: NotRequired[int]
    """Time of the tracer's own programs."""
    tracer_ns_per_packet: NotRequired[float]
    """Time of the tracer's own programs per frame that reached the capture point. Part of the kernel's time, or of the generator's if the generator's CPU does the kernel's work. Absent without a tracer."""
    verify_ns_per_packet: float
    """Cost of verifying a frame on this CPU, measured before the run; part of `app_ns_per_packet`."""
    voluntary_switches: int | None
    """Context switches of the application thread because it waited."""
    wait_ns_per_iteration: NotRequired[float]
    """Time of one iteration of the wait loop on the idle application CPU, measured before the run; absent if the work is not such a loop."""
    waits: int
    """System calls that could sleep until frames arrived."""


class CpuDisturbance(TypedDict):
    """Disturbances of one CPU."""

    cpu: int
    """Its number."""
    foreign_ns: int
    """Time of other work in the window: a lower bound. Where the kernel charges interrupts to the running thread, some of it counts as the trial's time."""
    pace: NotRequired[CoreSpeed]
    """Its speed right before and after the trial. Absent if not measured, as between the segments of a soak."""
    stalls: NotRequired[list[Stall]]
    """The last 64 stalls while frames were sent. Absent if not monitored."""
    steal_ns: int
    """Time that the hypervisor stole while frames were sent (steal). Counted in ticks, so it can be off by one tick."""
    unaccounted_ns: NotRequired[int]
    """Time of the window that the kernel's CPU accounting does not report. That accounting is sampled and counts ticks."""
    window_ns: int
    """Observation window of the threads on it, in nanoseconds of CLOCK_MONOTONIC: while frames were sent, and on CPUs other than the generator's until all frames were read."""


class CpuTasks(TypedDict):
    """What each CPU of a trial does."""

    application: int
    """The application's CPU."""
    generator: int
    """The generator's CPU, or that of its first thread."""
    hosts: NotRequired[TaskHosts]
    """The hosts; absent if generator and receiver share one."""
    is_undriven: NotRequired[bool]
    """Whether the kernel receives nothing, because it does not drive the device."""
    kernel: int
    """The CPU of the kernel's receive work, or the first of them."""
    kernels: NotRequired[list[int]]
    """The CPUs over which the receive work of several queues is spread; empty if there is one."""
    more_generators: NotRequired[list[int]]
    """The CPUs of the generator's other threads."""


class Delays(TypedDict):
    """The distribution of delays, in nanoseconds. Minimum, mean and maximum are exact, quantiles have a resolution of 0.1 %."""

    below_zero: int
    """Frames with a computed delay below zero, because clocks are read or synchronised with an error. Between two hosts they are as they are; on one host they count as 0."""
    frames: int
    """Number of frames."""
    histogram: Recorded
    """All delays."""
    histogram_from_ns: NotRequired[int]
    """What to add to each value of `histogram`: the shortest delay if it is negative."""
    max_ns: int
    """The longest delay."""
    mean_ns: float
    """Mean delay."""
    min_ns: int
    """The shortest delay."""
    p50_ns: int
    """Delay not exceeded by half of the frames: typical latency of RFC 8219 7.2."""
    p90_ns: int
    """Delay not exceeded by 90 % of the frames."""
    p99_9_ns: int
    """Delay not exceeded by 99.9 % of the frames: worst-case latency of RFC 8219 7.2."""
    p99_ns: int
    """Delay not exceeded by 99 % of the frames."""
    pdv_ns: int
    """Packet delay variation of RFC 8219 7.3.1 (RFC 5481 4.2): `p99_9_ns - min_ns`."""


class DisturberUnnamed(TypedDict):
    """No process that capbench saw. It started and ended within a trial, or it is hidden."""

    hidden: list[Hidden]
    """Why processes may be hidden; empty if all can be seen."""
    what: Literal['unnamed']


Disturber: TypeAlias = DisturberProcess | DisturberProcesses | DisturberKernelThread | DisturberUnnamed | DisturberHypervisor | DisturberQuota
"""Something that uses CPU time."""


class Disturbers(TypedDict):
    """What ran on the CPUs of a trial besides the trial, on one host, between two readings."""

    hidden: NotRequired[list[Hidden]]
    """Why processes may have been there that are not listed; empty if every process of the host can be seen."""
    idle_cpus: NotRequired[list[int]]
    """CPUs that capbench may use, that share no core with a CPU of the trial, and that were idle."""
    processes: list[CpuUser]
    """Processes that used a CPU of the trial, the largest time first: up to 16, each with at least 1 % of the window."""
    reader_pid: int
    """The process that read them."""
    reading_ns: int
    """Duration of both readings together in nanoseconds. Neither is within the trial."""
    threads: int
    """Threads in the second reading."""
    throttled: NotRequired[Throttled]
    """How often the CPU quota of a control group stopped capbench. Absent if it has none."""
    window_begin_ns: NotRequired[int]
    """When the first reading began, in nanoseconds of CLOCK_MONOTONIC, by which logs of the host find the trial. Absent in files of versions that did not write it."""
    window_ns: int
    """Time between the readings in nanoseconds of CLOCK_MONOTONIC: the reference of the processes' shares."""


class Doubts(TypedDict):
    """Reasons to doubt that the tracer saw all losses of the receiving interface."""

    missed: NotRequired[int]
    """Events of the whole host that the tracer missed."""
    unplaced: NotRequired[LossesByReason]
    """Drops at an unknown place, which count nowhere."""
    unseen: NotRequired[int]
    """Frames that ended on the interface without the tracer seeing it."""


class EndedSearches(TypedDict):
    """Searches for a burst with the same end."""

    end: BurstEnd
    """How they ended."""
    invalid: NotRequired[InvalidTrial]
    """The invalid trial that ended the first of them, if one did."""
    points: list[SweepPoint]
    """The points with such a search."""


class Excluded(TypedDict):
    """What the visits exclude."""

    above_ratio: float
    """An increase above this share of the smaller rate; 0 for any."""
    basis: LimitBasis
    """What that is based on."""


class FactSweepAnswerHighestRate(TypedDict):
    """The highest rate that a method reads."""

    about: Literal['sweep_answer']
    loss: LossAtHighestRate
    """What happened to the other frames."""
    method: str
    """The method."""
    point: SweepPoint
    """The point."""
    read_pps: float
    """The rate, in packets per second."""
    scene: NotRequired[SweepScene]
    """Its placement and load; absent if all methods of the run share them."""
    visits: int
    """Number of visits of the point."""
    what: Literal['highest_rate']


class FactSweepLimitedByKernel(TypedDict):
    """The kernel's receive work is the limit."""

    about: Literal['sweep']
    first: SweepPoint
    """The first of them."""
    kernel: NotRequired[KernelWork]
    """The kernel's receive work there; absent if it is unknown."""
    last: SweepPoint
    """The last of them."""
    loss_ratio: float
    """The largest share of the sent frames that was lost at one of them."""
    place: NotRequired[Place]
    """Where that point lost most frames; absent if no counter reports it."""
    points: int
    """Number of such points."""
    read_pps: float
    """The rate at which the application read there, in packets per second."""
    series: SweepSeries
    """The method."""
    what: Literal['limited_by_kernel']


class FactSweepPacketCost(TypedDict):
    """What a packet costs besides the work."""

    about: Literal['sweep']
    changes: list[CostChange]
    """The change between every two neighbouring regimes."""
    first: CostAtPoint
    """The cost at the first point at which the application is the limit."""
    is_upper_limit: NotRequired[bool]
    """Whether others used the CPUs of most of these trials. They took a part of the wall time, so that a packet costs less."""
    last: CostAtPoint
    """The cost at the last such point."""
    regimes: list[CostRegime]
    """Ranges of points with the same cost, in the order of the axis."""
    series: SweepSeries
    """The method."""
    slowed_work: NotRequired[SlowedWork]
    """How long a unit of work takes there; absent without a regime, and if work takes as long as requested."""
    what: Literal['packet_cost']


class FactSweepNoCost(TypedDict):
    """The points do not show what a packet costs."""

    about: Literal['sweep']
    points: int
    """Number of points at which the application is the limit."""
    series: SweepSeries
    """The method."""
    what: Literal['no_cost']


class FactSweepLivelock(TypedDict):
    """More load delivers fewer packets."""

    about: Literal['sweep']
    evidence: Evidence
    """Whether chance explains the difference."""
    lowest: SweepPoint
    """The later point with the lowest delivered rate."""
    lowest_pps: float
    """The delivered rate there, in packets per second."""
    peak: SweepPoint
    """The point with the highest delivered rate."""
    peak_pps: float
    """The delivered rate there, in packets per second."""
    series: SweepSeries
    """The method."""
    what: Literal['livelock']


class FactSweepMembersNeeded(TypedDict):
    """How many members the load needs."""

    about: Literal['sweep']
    load_pps: float
    """The load, in packets per second."""
    needed: Needed
    """The number."""
    other_limit: NotRequired[LimitName]
    """A limit besides the members, which the law does not know; absent if there is none."""
    series: SweepSeries
    """The method."""
    what: Literal['members_needed']


class FactSweepMembersLaw(TypedDict):
    """The law of the members' rates."""

    about: Literal['sweep']
    law: NotRequired[ScalabilityFit]
    """The law; absent if none fits."""
    no_law_because: NotRequired[Unfit]
    """Why there is no law."""
    series: SweepSeries
    """The method."""
    what: Literal['members_law']


class FactSweepCrossing(TypedDict):
    """One method overtakes another."""

    about: Literal['sweep']
    ahead_evidence: Evidence
    """Whether chance explains that."""
    ahead_up_to: SweepPoint
    """Up to this point the first one is ahead."""
    behind_evidence: Evidence
    """Whether chance explains that."""
    behind_from: SweepPoint
    """From this point on the other one is ahead."""
    costs: NotRequired[CrossingCosts]
    """The costs of both at this point; absent if one is unknown."""
    loss_ratio: float
    """The larger share of sent frames that one of them lost at this point."""
    other: str
    """The other one."""
    series: SweepSeries
    """The method that is ahead first."""
    what: Literal['crossing']


FactSweepCheapestAtPoints = TypedDict(
    'FactSweepCheapestAtPoints',
    {
        'about': Literal['sweep'],
        'cheapest': list[MethodCost],
        'evidence': NotRequired[Evidence],
        'from': SweepPoint,
        'is_only_one': bool,
        'scene': SweepScene,
        'to': SweepPoint,
        'what': Literal['cheapest_at_points'],
    },
)


class FactSearchRepeated(TypedDict):
    """The results of a set-up that was searched several times."""

    about: Literal['search']
    at_least: int
    """Searches with an "at least" result."""
    coarser: int
    """Searches whose lower bound is that of a coarser target."""
    frame_size: SizeLabel
    """The frame size."""
    goal: str
    """The goal's name."""
    is_end_open: NotRequired[bool]
    """Whether the interval ends at a load of a search with an "at least" result, so that its true end can be higher."""
    least_pps: float
    """The lowest of them."""
    lower_pps: Estimate
    """The lower bounds of the goal, or of a coarser target if a search ended early, frames per second, with an interval."""
    method: str
    """The method."""
    most_pps: float
    """The highest."""
    placement: str
    """The placement."""
    regular: int
    """Regular searches."""
    searches: int
    """Number of searches."""
    trials: list[int]
    """The trials of the lower bounds."""
    what: Literal['repeated']
    without: int
    """Searches without a lower bound, which no figure includes."""
    work: str
    """The work per packet."""


class FactSoakAnswerLoss(TypedDict):
    """What was lost of what was sent."""

    about: Literal['soak_answer']
    cut_from_s: NotRequired[float]
    """The planned time of sending, in seconds, if the soak was cut short."""
    intended_pps: float
    """The intended load, frames per second."""
    loss_ratio: float
    """Lost frames as a share of the sent ones."""
    lost: int
    """Lost frames."""
    sending_s: float
    """Time of sending, in seconds."""
    sent: int
    """Sent frames."""
    set_up: NotRequired[SoakSetUp]
    """What was measured; absent without a trial."""
    what: Literal['loss']


class FactSoakOddFrames(TypedDict):
    """Frames arrived otherwise than they were sent."""

    about: Literal['soak']
    frames: OddFrames
    """How many, by kind."""
    what: Literal['odd_frames']


class FactReproductionAnswerClaims(TypedDict):
    """The claims with an answer."""

    about: Literal['reproduction_answer']
    answer: Answer
    """The answer."""
    claims: list[SupportedClaim]
    """The claims, at least one."""
    what: Literal['claims']


class FactTrialsGeneratorsTogether(TypedDict):
    """Several generators sent together."""

    about: Literal['trials']
    generators: int
    """The largest number of generators."""
    losses: LossesOfGenerators
    """Whose frames were lost."""
    start_spread: NotRequired[StartSpread]
    """How far apart they began, in the worst trial; absent if unknown."""
    what: Literal['generators_together']


class FactTrialsLivelock(TypedDict):
    """A set-up delivers less at a higher load."""

    about: Literal['trials']
    best: Livelock
    """The trial of the same set-up that delivered most."""
    delivered_pps: float
    """Its delivered rate in packets per second."""
    frame_size: SizeLabel
    """Its frames."""
    method: str
    """Its method."""
    offered_pps: float
    """Its offered load in packets per second."""
    placement: str
    """Its placement."""
    trial: int
    """The trial that delivered least."""
    what: Literal['livelock']
    work: str
    """Its work per packet."""


class FactTrialsOddFrames(TypedDict):
    """Frames arrived otherwise than they were sent."""

    about: Literal['trials']
    frames: OddFrames
    """How many, by kind."""
    method: str
    """Its method."""
    trial: int
    """The trial."""
    what: Literal['odd_frames']


class FactTrialsStalled(TypedDict):
    """A CPU stalled."""

    about: Literal['trials']
    at_least_ns: int
    """Largest lower bound of a stall."""
    at_most_ns: int
    """Upper bound of the longest stall."""
    cpu: int
    """The CPU."""
    lost_meanwhile: NotRequired[LostMeanwhile]
    """Frames lost in the softirq backlog meanwhile; absent if none was."""
    stalls: int
    """How often it stalled."""
    trials: int
    """In how many trials it stalled."""
    what: Literal['stalled']


class FactQueues(TypedDict):
    """The queues of an interface that captured."""

    about: Literal['queues']
    against: list[QueueFinding]
    """What speaks against capture."""
    interface: str
    """The interface."""


class FactBenchVerdictNoAnswer(TypedDict):
    """The sound trials do not show that a method sustains a load: the host disturbed those with losses, or the generator did not send the load."""

    about: Literal['bench']
    what: Literal['verdict']
    because: NoAnswerBecause
    """What the trials do not show."""
    noisy_trials: int
    """How many trials the host disturbed."""
    place: NotRequired[Place]
    """Where most frames were lost; absent if none was."""
    trials: int
    """Trials that are not invalid."""
    verdict: Literal['no_answer']


class FactBenchVerdictNoTime(TypedDict):
    """No method sustains the load, because one thread has no time for it."""

    about: Literal['bench']
    what: Literal['verdict']
    asked_pps: float
    """The load in packets per second."""
    ns_per_packet: float
    """CPU time per packet."""
    time_of: TimeOfThread
    """What takes the time."""
    verdict: Literal['no_time']


class FactBenchVerdictUse(TypedDict):
    """Use this method."""

    about: Literal['bench']
    what: Literal['verdict']
    app_time: NotRequired[NsRange]
    """Application time per packet; absent if unknown."""
    certainty: Certainty
    """How certain it is that none is better. The only method is certain."""
    equal: list[str]
    """Methods that are equal."""
    equal_within_ratio: NotRequired[float]
    """By how much their figures differ at most, as trials in turns show; absent if these did not compare each of them with the method."""
    may_be_as_good: NotRequired[list[str]]
    """Methods that trials in turns do not show to be equal or worse. None is better by enough to matter."""
    method: str
    """The method."""
    sustains: SustainedRate
    """What it sustains."""
    verdict: Literal['use']
    without_pauses: bool
    """Whether losses in pauses of the host are not counted."""
    worse: NotRequired[list[WorseMethod]]
    """Methods that trials in turns show to be worse, best first."""


class FactBenchVerdictUseMeanwhile(TypedDict):
    """The trials leave several methods; use this one meanwhile."""

    about: Literal['bench']
    what: Literal['verdict']
    app_time: NotRequired[NsRange]
    """Application time per packet; absent if unknown."""
    method: str
    """The method."""
    rivals: Rivals
    """The others."""
    sustains: SustainedRate
    """What it sustains."""
    verdict: Literal['use_meanwhile']
    without_pauses: bool
    """Whether losses in pauses of the host are not counted."""
    worse: NotRequired[list[WorseMethod]]
    """Methods that trials in turns show to be worse, best first."""


class FactBenchVerdictNoneLossless(TypedDict):
    """No method sustains the load, or any."""

    about: Literal['bench']
    what: Literal['verdict']
    asked_pps: NotRequired[float]
    """The load in packets per second; absent if any load was asked for."""
    closest: NotRequired[str]
    """The method that comes closest; absent if no trial shows one."""
    equal: NotRequired[list[str]]
    """Methods that are equal to that one in trials in turns."""
    equal_within_ratio: NotRequired[float]
    """By how much their figures differ at most; absent if rounds did not compare each of them with the closest one."""
    is_some_unknown: bool
    """Whether of some method no trial shows what it sustains."""
    may_be_as_good: NotRequired[list[str]]
    """Methods that trials in turns do not show to be equal or worse."""
    place: NotRequired[Place]
    """Where it loses most frames."""
    sent: NotRequired[SentShares]
    """How much of the load was sent; absent if all of it, if it is not known, and in older files."""
    verdict: Literal['none_lossless']
    worse: NotRequired[list[WorseMethod]]
    """Methods that trials in turns show to be worse than that one, best first."""


class FactBenchProgramsUnknown(TypedDict):
    """Nothing is known of what these programs sustain."""

    about: Literal['bench']
    programs: list[UnknownProgram]
    """The programs, with the reason."""
    what: Literal['programs_unknown']


class FactBenchPaused(TypedDict):
    """The host stopped the capture thread for a moment."""

    about: Literal['bench']
    methods: list[PausedMethod]
    """The methods with losses in such moments."""
    what: Literal['paused']


class FactBenchCostsDiffer(TypedDict):
    """The methods with the least and the most CPU time."""

    about: Literal['bench']
    at_pps: NotRequired[float]
    """The load at which it is compared, in packets per second."""
    cheapest: list[str]
    """The methods with the least."""
    cheapest_time: NsRange
    """Their time per packet."""
    dearest: str
    """The method with the most, of the others."""
    dearest_time: NsRange
    """Its time per packet."""
    time: ComparedTime
    """Which time is compared."""
    undecided: NotRequired[list[str]]
    """Methods whose time is not known well enough to be in one of both groups."""
    what: Literal['costs_differ']


class FactComparisonNote(TypedDict):
    """Something to read before the figures."""

    about: Literal['comparison']
    note: ComparisonNote
    """The note."""
    what: Literal['note']


class FactUnfinished(TypedDict):
    """A run without conclusions."""

    about: Literal['unfinished']
    is_stopped: NotRequired[bool]
    """Whether the run was stopped before its end."""
    lossless: NotRequired[TriedLoad]
    """The highest load without loss; absent if there was none."""
    lossy: NotRequired[TriedLoad]
    """The lowest load with loss; absent if there was none."""
    trials: int
    """Trials of the run."""


class FactCaveatOneWayRelative(TypedDict):
    """One-way times are known relative to the fastest frame only."""

    about: Literal['caveat']
    reason: NotRequired[str]
    """Why more is not known, if a trial states it."""
    skew: NotRequired[KnownSkew]
    """The difference of the two clocks' rates; absent if the delays do not have it."""
    what: Literal['one_way_relative']


class FigureAnswer(TypedDict):
    """The answer to one question."""

    change: Change
    """The change with its interval, over all set-ups of the figure."""
    known: KnownChange
    """What is known of its change."""
    measure: Measure
    """The figure."""


class FoundLoadClean(TypedDict):
    """The search did not decide a load, but no trial up to this one lost a frame."""

    known: Literal['clean']
    pps: float
    """The load."""
    reason: NotRequired[Reason]
    """Why the search decided no load."""
    seconds: float
    """Seconds of trials at it."""
    upper_pps: NotRequired[float]
    """A load that is not sustained; absent if none is known."""


class FoundLoadUndecided(TypedDict):
    """No bound is known."""

    known: Literal['undecided']
    reason: NotRequired[Reason]
    """Why."""


FoundLoad: TypeAlias = FoundLoadRegular | FoundLoadAtLeast | FoundLoadBetween | FoundLoadBetweenByFewTrials | FoundLoadBelow | FoundLoadClean | FoundLoadRepeated | FoundLoadUndecided
"""What a search found for a goal, frames per second."""


class FoundThroughputAtLeast(TypedDict):
    """The throughput may be higher."""

    known: Literal['at_least']
    pps: float
    """The load that was sustained."""
    reason: NotRequired[Reason]
    """Why no more is known."""


class FullResource(TypedDict):
    """What is full before the ring is."""

    place: Place
    """Where the shortest lossy bursts lost most frames."""
    resource: Resource
    """The resource."""
    share: float
    """Share of the lost frames that was lost there."""


class Goal(TypedDict):
    """A search goal with all its attributes."""

    duration_sum_s: float
    """Goal Duration Sum: the maximum trial time that decides a load."""
    exceed_ratio: Ratio
    """Goal Exceed Ratio: the allowed share of the time in high-loss trials."""
    final_trial_duration_s: float
    """Goal Final Trial Duration."""
    initial_trial_duration_s: float
    """Goal Initial Trial Duration: length of the first trials. `Strategy::Binary` ignores it."""
    loss_ratio: Ratio
    """Goal Loss Ratio: a trial that loses more is a high-loss trial."""
    name: str
    """The user's name for it."""
    preceding_targets: int
    """Number of coarser targets before the goal itself. `Strategy::Binary` ignores it."""
    strategy: Strategy
    """How loads are chosen."""
    width: Width
    """Goal Width."""


class GoalFactDoubts(TypedDict):
    """The bounds are in doubt."""

    by_chance: BoundsByChance | None
    """The bounds can differ by chance; absent if the trials distinguish them."""
    disturbed: DisturbedTrials | None
    """The host disturbed trials that decide the bounds; absent if it disturbed none."""
    what: Literal['doubts']


class HiddenByBuffers(TypedDict):
    """Points without loss where buffers hide, for the length of a trial, that frames arrive faster than they are read."""

    first: BufferedAtPoint
    """The first of them."""
    points: list[SweepPoint]
    """The points."""
    reaches_end: bool
    """Whether they are all points from the first of them on."""


class Idle(TypedDict):
    """How idle CPUs sleep (Documentation/admin-guide/pm/cpuidle.rst)."""

    driver: NotRequired[str]
    """Driver in use: `intel_idle`, `acpi_idle`, `haltpoll`; `none` if CPUs are only halted."""
    governor: NotRequired[str]
    """Governor in use: `menu`, `teo`, `haltpoll`."""
    states: NotRequired[list[IdleState]]
    """States of the first CPU, lightest sleep first."""


class InTurns(TypedDict):
    """A method in turns with others."""

    captured: Estimate
    """Share of the frames that it captured: the median of the rounds."""
    is_decided: NotRequired[bool]
    """Whether they show how it compares with the first; of the first, that no other method is better by enough to matter. Absent in older files."""
    method: str
    """The method."""
    relation: RelationToFirst
    """What the rounds show of it."""
    relative_captured: NotRequired[Multiple]
    """The same share as a multiple of that of the first method. Absent for the first, if unknown, and in older files."""
    relative_cost: NotRequired[Multiple]
    """CPU time per packet, application and kernel, as a multiple of that of the first method. Absent for the first, and if unknown."""
    relative_cost_at_limit: NotRequired[Multiple]
    """The same multiple at the load of the rounds, if it is shown to be the other way round there: which of the two methods costs less depends on the load. Absent otherwise, and in older files."""
    rounds: int
    """Rounds in which it has a valid trial. No more are run once it is known to be below another method."""


class KeptPointsOnly(TypedDict):
    """Some of them."""

    keeps_up: Literal['only']
    points: list[SweepPoint]
    """The points at which the method keeps up."""


KeptPoints: TypeAlias = KeptPointsNowhere | KeptPointsEverywhere | KeptPointsUpTo | KeptPointsFrom | KeptPointsOnly
"""Points at which a method keeps up."""


class LargestRise(TypedDict):
    """A rise from some points to others."""

    evidence: Evidence
    """The evidence."""
    high: SustainedPart
    """What is sustained with more work."""
    low: SustainedPart
    """What is sustained with less work."""


class LastPointLoses(TypedDict):
    """Frames are lost."""

    loss_ratio: float
    """Share of the sent frames that was lost: the median of the visits."""
    places: list[PlaceShare]
    """Where they were lost, most first; empty if no counter reports it."""
    point: SweepPoint
    """The point."""
    what: Literal['loses']


class LastPointBuffers(TypedDict):
    """Only buffers prevent loss."""

    offered_pps: float
    """The offered load, in frames per second."""
    point: SweepPoint
    """The point."""
    read_pps: float
    """The rate at which the application reads, in frames per second."""
    what: Literal['buffers']


LastPoint: TypeAlias = LastPointLoses | LastPointBuffers | LastPointLossless
"""The result at the last point."""


class LeftOutOfBench(TypedDict):
    """What a bench left out."""

    frame_size: SizeLabel
    """The frame size."""
    part: PartOfBench
    """Which part of the set-up."""
    placement: str
    """The placement."""


class LimitElsewhere(TypedDict):
    """A place that does not identify the cause."""

    place: Place
    """The place."""
    what: Literal['elsewhere']


Limit: TypeAlias = LimitLoad | LimitGenerator | LimitNoise | LimitNic | LimitBacklog | LimitRing | LimitRingOrApplication | LimitApplication | LimitSharing | LimitSharedCpus | LimitMembers | LimitContention | LimitCoherence | LimitElsewhere | LimitUnknown
"""The limiting component."""


LimitFrom = TypedDict(
    'LimitFrom',
    {
        'from': SweepPoint,
        'limit': Limit,
    },
)


class LimitOfMethods(TypedDict):
    """A limit, and the methods that it limits."""

    limit: Limit
    """The limit."""
    methods: list[str | None]
    """The methods, each once; absent for a search without a trial."""
    searches: NotRequired[LimitedSearches]
    """How many of the searches of these methods it limits; absent in files of versions that did not count them."""
    trials: list[int]
    """The trials of the upper bounds of the searches that it limits; of a search that sustains all that is sent, of its lower bound."""


class CardAndDifference(TypedDict):
    by_card: int
    """Frames that they have."""
    card: CardCounters
    """The counters."""
    more: int
    """Frames that only the difference has."""


class LinkSourceCardAndDifference(TypedDict):
    """Counters of the card, and frames of the difference that they do not have."""

    card_and_difference: CardAndDifference


LinkSource: TypeAlias = Literal['link_statistics'] | LinkSourceCardAndDifference | LinkSourceDifference | LinkSourceBlind
"""Where the count of losses of the receiving card comes from, if not from its counters alone. The difference is that of `tx_packets` of the sender and `rx_packets` of the receiver."""


class LoadRate(TypedDict):
    """Frames at a constant rate."""

    rate: Pps


class Burst1(TypedDict):
    frames: int
    """Number of frames."""
    rate: Pps
    """The rate in frames per second."""


class LoadBurst(TypedDict):
    """A number of frames at a constant rate, from idle (RFC 2544 26.4). The trial's duration is that of the burst."""

    burst: Burst1


class LoadStep(TypedDict):
    """Frames at a constant rate that changes once (RFC 2544 26.5)."""

    step: Step


Load: TypeAlias = LoadRate | Literal['maximum'] | LoadBurst | LoadStep
"""The intended load of a trial."""


class LoadDependsSharedCpus(TypedDict):
    """The generator shares a CPU with the receiver."""

    application: int
    """The application's CPU."""
    generator: int
    """The generator's CPU, or that of its first thread."""
    hosts: NotRequired[TaskHosts]
    """The hosts; absent if generator and receiver share one."""
    is_undriven: NotRequired[bool]
    """Whether the kernel receives nothing, because it does not drive the device."""
    kernel: int
    """The CPU of the kernel's receive work, or the first of them."""
    kernels: NotRequired[list[int]]
    """The CPUs over which the receive work of several queues is spread; empty if there is one."""
    more_generators: NotRequired[list[int]]
    """The CPUs of the generator's other threads."""
    what: Literal['shared_cpus']


LoadDepends: TypeAlias = LoadDependsSharedCpus | LoadDependsSmallBuffers | LoadDependsEarlier
"""Why the offered load depends on the receiver."""


class LossAtPoint(TypedDict):
    """The loss at a point."""

    loss_ratio: float
    """Share of the sent frames that was lost: the median of the visits."""
    places: list[PlaceShare]
    """Where they were lost, most first; empty if no counter reports it."""
    point: SweepPoint
    """The point."""


class LossByFlow(TypedDict):
    """Loss by flow. A flow's count is exact for received and lost frames: a frame's number determines its flow."""

    flows: int
    """Number of flows with sent frames."""
    lossy_flows: int
    """Number of flows that lost frames."""
    lost: Spread
    """Distribution of the lost frames per lossy flow."""
    worst: list[FlowLoss]
    """The flows that lost most, up to eight."""


class LossByQueue(TypedDict):
    """Loss by receive queue, for methods that know the queue of a frame. A lost frame is assigned to the queue of its flow, if all sampled frames of the flow (the last one of each batch) came through one queue."""

    lost_elsewhere: int
    """Lost frames of flows that were not sampled, or that came through several queues."""
    queues: list[QueueLoss]
    """The queues of received frames."""


LossEnds = TypedDict(
    'LossEnds',
    {
        'from': SweepPoint,
        'keeps_up_from': NotRequired[SweepPoint],
        'only_by_buffers': NotRequired[BufferedAtPoint],
    },
)


class LossPattern(TypedDict):
    """When and how frames of a trial were lost."""

    after_last: int
    """Frames lost after the last received one."""
    before_first: int
    """Frames lost before the first received one."""
    bursts: Spread
    """Consecutive frames lost per burst."""
    clock: Clock
    """Meaning of the times."""
    damaged: int
    """Damaged and truncated frames that arrived; they are among the lost ones."""
    flows: LossByFlow | None
    """Loss by flow; absent if there was only one."""
    gaps: Spread
    """Frames received between two bursts."""
    gaps_ns: Spread
    """Time between two bursts in nanoseconds."""
    in_time: NotRequired[LossInTime]
    """Lost frames over time; absent if none was lost, and in results of versions that did not store it."""
    last_lost: NotRequired[int | None]
    """Number of the last lost frame, from 0; absent if none was lost."""
    longest: list[Burst]
    """The longest bursts, up to eight, in descending order."""
    lossy_windows: int
    """Number of windows with loss."""
    lost: int
    """Sent frames that never arrived, or arrived damaged."""
    lost_at_end: int
    """Frames lost in the last 100 ms, if that is not also the start."""
    lost_at_start: int
    """Frames lost in the first 100 ms."""
    lost_steadily: int
    """Frames lost between start and end."""
    marks: MarkedLoss | None
    """The method's own loss marks; absent if it has none."""
    queues: LossByQueue | None
    """Loss by receive queue; absent if the method does not know the queue of a frame."""
    sent: int
    """Frames passed to the kernel."""
    windows: int
    """Number of 100 ms windows from the beginning, including the last partial one."""
    worst_window: Window | None
    """The 100 ms window that lost most frames; absent if none was lost."""


class LossPoint(TypedDict):
    """A point of the curve."""

    delivered: int
    """Frames delivered."""
    generator_limited: NotRequired[bool]
    """Whether the generator left frames unsent, so that the point does not represent this load."""
    intended: int
    """Frames to send."""
    load_percent: float
    """Intended load in percent of the maximum rate."""
    loss_percent: float
    """`(sent - delivered) * 100 / sent`."""
    offered_percent: float
    """Offered load in percent of the maximum rate; lower than the intended load if the generator fell short."""
    sent: int
    """Frames sent."""
    trial: int
    """Number of the trial."""
    verdict: Verdict
    """How its trial ended."""


LossSource: TypeAlias = str | ProgramCount
"""The counter of a loss."""


class LostAt(TypedDict):
    """Frames lost at a place."""

    frames: int
    """How many."""
    place: Place
    """The place."""


class MaximumRate(TypedDict):
    """The highest rate of a test: the line rate (RFC 2544 appendix B), or the generator's maximum on a link without a rate."""

    pps: Pps
    """Frames per second."""
    source: MaximumSource
    """Its origin."""


class MeanBurst(TypedDict):
    """The mean of the longest bursts without loss at a point."""

    frames: float
    """Its length in frames."""
    lasts_s: NotRequired[float]
    """Its duration, seconds."""
    point: SweepPoint
    """The point."""


class MemberLoss(TypedDict):
    """Frames that a member lost at one place."""

    frames: int | None
    """Number of frames; absent if the method does not report it."""
    place: Place
    """The place."""


class MembersRate(TypedDict):
    """The rate that a number of members reads."""

    point: SweepPoint
    """The number of members."""
    pps: float
    """The rate, in packets per second."""


class MembersStop(TypedDict):
    """Where more members stop to bring more."""

    cause: StopFigures
    """The cause, with its figures."""
    next: MembersRate
    """The next number of members."""


class Memory(TypedDict):
    """The memory of the host, except its total size."""

    available_bytes: NotRequired[int]
    """Bytes that could be allocated without swapping at the start of the run."""
    huge_pages: NotRequired[list[HugePages]]
    """Pools of huge pages. Empty if the kernel has none."""
    numa_nodes: NotRequired[list[NumaNode]]
    """NUMA nodes: memory that is nearer to some CPUs than to others. One node on hosts without NUMA."""
    swap_bytes: NotRequired[int]
    """Swap space in bytes."""
    transparent_huge_pages: NotRequired[str]
    """Which memory gets transparent huge pages: `always`, `madvise`, `never`."""
    transparent_huge_pages_defrag: NotRequired[str]
    """Which allocations wait for a huge page: `always`, `defer`, `defer+madvise`, `madvise`, `never`."""


class MethodLoad(TypedDict):
    """The load that a method sustains."""

    load: FoundLoad
    """What the search found."""
    method: NotRequired[str]
    """The method; absent if no trial was run."""
    trials: list[int]
    """The trials."""


class MostMissedLost(TypedDict):
    """They were lost."""

    how: Literal['lost']
    place: Place
    """The place that lost most."""


MostMissed: TypeAlias = MostMissedLost | MostMissedBuffered
"""Where most of the frames were that a method did not capture."""


class NotMeasured(TypedDict):
    """A set-up that could not be measured."""

    frame_size: SizeLabel | None
    """The frame size; absent if it concerns all."""
    load: NotRequired[Load]
    """The load of the trial that could not run; absent if it concerns all, and in older files, whose `reason` begins with it."""
    method: str
    """The method."""
    placement: str | None
    """The placement; absent if it concerns all."""
    reason: str
    """The reason, in one line."""
    test: NotRequired[str]
    """The RFC 2544 test that it concerns, as in `rfc2544`; absent if it concerns the run."""


class NotMeasuredBecause(TypedDict):
    """Set-ups that could not be measured, for one reason."""

    reason: str
    """The reason."""
    set_ups: list[NotMeasured]
    """The set-ups."""


class Overload(TypedDict):
    """A trial at maximum load of the same set-up. No self-test runs then: the generator's rate there is the maximum load of the search, unless the user gives one."""

    load_depends: bool
    """Whether the offered load depended on the receiver."""
    offered_pps: Pps
    """The offered load in frames per second."""
    read_pps: Pps
    """The rate at which the method read frames, in frames per second."""
    trial: int
    """Its number."""


class OverloadLoss(TypedDict):
    """The loss of a method at maximum load."""

    loss_ratio: float
    """Share of the sent frames that it lost."""
    method: str
    """The method."""
    offered_pps: float
    """The offered load in packets per second."""
    place: NotRequired[Place]
    """Where it lost most of them; absent if unknown."""


class PathInterface(TypedDict):
    """An interface that a run found or created. Absent values are not reported by its driver or the kernel."""

    bus_address: NotRequired[str]
    """Its bus address: `0000:3b:00.0`."""
    deferred_interrupt_polls: NotRequired[int]
    """Empty polls before its interrupts are enabled again (`napi_defer_hard_irqs`)."""
    device_id: NotRequired[str]
    """Vendor and device numbers on its bus: `8086:1572` on PCI, `1af4:0001` of a virtio card."""
    driver: NotRequired[str]
    """The kernel's name of its driver."""
    driver_switches: NotRequired[dict[str, bool]]
    """The driver's private flags, and whether they are on (`ethtool --show-priv-flags`)."""
    driver_version: NotRequired[str]
    """Version of the driver. For a driver of the kernel tree it is the kernel's version."""
    duplex: NotRequired[str]
    """`full` or `half`."""
    firmware: NotRequired[str]
    """Version of its firmware."""
    gro_flush_timeout_ns: NotRequired[int]
    """Nanoseconds after which a timer polls it while its interrupts are deferred (`gro_flush_timeout`)."""
    interrupts: NotRequired[list[Interrupt]]
    """Its interrupts and their CPUs. Absent for virtual interfaces, which have none."""
    made_by_capbench: bool
    """Whether the run created it: an end of a veth pair, which is removed after the run."""
    moderation: NotRequired[Moderation]
    """How interrupts are delayed."""
    mtu_bytes: NotRequired[int]
    """Largest payload of a frame in bytes."""
    name: str
    """Its name."""
    numa_node: NotRequired[int]
    """The nearest NUMA node. Absent if there is only one node."""
    offloads_on: NotRequired[list[str]]
    """Enabled offloads and other features, by their names in `ethtool -k` or in the kernel."""
    packet_sockets: NotRequired[PacketSockets]
    """Packet sockets that received from it before the run."""
    pause_frames: NotRequired[PauseFrames]
    """Its pause frame settings."""
    pci_link_lanes: NotRequired[int]
    """Current number of lanes of that link."""
    pci_link_speed: NotRequired[str]
    """Current speed of its PCI Express link: `8.0 GT/s PCIe`."""
    placements: list[str]
    """The placements for which these facts hold. capbench's test bed is set up for each placement; the host's interfaces stay unchanged."""
    queues: NotRequired[Queues]
    """Queues as the driver counts them."""
    receive_queues: NotRequired[list[ReceiveQueue]]
    """Receive queues and their settings."""
    rings: NotRequired[Rings]
    """Rings between driver and card."""
    role: Role
    """Its role."""
    sharing: NotRequired[Sharing]
    """How received frames are distributed to queues (RSS)."""
    speed_mbit_per_s: NotRequired[int]
    """Speed of the link in Mbit/s. On a virtual interface it may limit nothing."""
    threaded_napi: NotRequired[bool]
    """Whether threads poll it, instead of the receive softirq."""
    traffic_control: NotRequired[list[TrafficControl]]
    """Queueing disciplines and their filters, including BPF programs of tc. Programs attached as tcx links (Linux 6.6) are not listed."""
    transmit_queue_packets: NotRequired[int]
    """Packets that its queueing discipline holds, if that discipline has no other limit (`txqueuelen`)."""
    transmit_queues: NotRequired[list[TransmitQueue]]
    """Transmit queues and their settings."""
    xdp_program: NotRequired[XdpProgram]
    """An XDP program attached before the run. Absent if there was none, or if it could not be queried."""


class Relative(TypedDict):
    """One-way times between two hosts, less their minimum (RFC 5481 4.2)."""

    one_in: int
    """One frame in so many is in these figures, chosen at random."""
    skew: list[Skew]
    """The difference of the clocks' rates, for each generator."""
    to_kernel: Delays | None
    """From planned send time to the kernel's timestamp."""
    total: Delays | None
    """From planned send time to delivery."""


class Repeated(TypedDict):
    """The results of a set-up's searches for one goal."""

    at_least: int
    """Searches with an "at least" result."""
    coarser: int
    """Searches whose lower bound is that of a coarser target."""
    frame_size: SizeLabel
    """The frame size."""
    goal: str
    """The goal's name."""
    is_end_open: NotRequired[bool]
    """Whether the interval ends at a load of a search with an "at least" result, so that its true end can be higher."""
    least_pps: float
    """The lowest of them."""
    lower_pps: Estimate
    """The lower bounds of the goal, or of a coarser target if a search ended early, frames per second, with an interval."""
    method: str
    """The method."""
    most_pps: float
    """The highest."""
    placement: str
    """The placement."""
    regular: int
    """Regular searches."""
    searches: int
    """Number of searches."""
    trials: list[int]
    """The trials of the lower bounds."""
    without: int
    """Searches without a lower bound, which no figure includes."""
    work: str
    """The work per packet."""


class RingAhead(TypedDict):
    """Points at which a ring sustains more."""

    evidence: Evidence
    """The evidence."""
    rates: ComparedRates
    """What both sustain there."""


class RingCost(TypedDict):
    """A method with a ring, and its CPU time per packet."""

    method: str
    """The method."""
    ns_per_packet: float
    """CPU time of application and kernel per packet, nanoseconds."""
    ring: SweepPoint
    """The ring."""


class RingGeometryProgram(TypedDict):
    """Those of a program, chosen by its command line. `{interface}` in it is the name of the interface."""

    command: str
    """The command line; in files of older versions also what follows."""
    file: NotRequired[VerifiedFile]
    """The file that it wrote; absent if it only counts frames."""
    interface: str
    """Name of the interface."""
    kind: Literal['program']
    remark: NotRequired[str]
    """A remark on its results, which its definition has."""


RingGeometry: TypeAlias = RingGeometryReceiveBuffer | RingGeometrySlots | RingGeometryBlocks | RingGeometryUmem | RingGeometryDescribed | RingGeometryProgram
"""Buffers of a capture as granted, sizes in bytes."""


class RiseAnswerAppears(TypedDict):
    """The rate rises with the work."""

    known: Literal['appears']
    rise: LargestRise
    """The largest rise."""


class RiseAnswerDoesNotAppear(TypedDict):
    """The rate does not rise by more than the visits exclude."""

    excluded: Excluded
    """What is excluded."""
    known: Literal['does_not_appear']
    largest: NotRequired[LargestRise]
    """The largest rise, which chance explains; absent if there is none."""


RiseAnswer: TypeAlias = RiseAnswerHardlyAnyLoss | RiseAnswerAppears | RiseAnswerUndecided | RiseAnswerDoesNotAppear
"""Whether more work per packet leads to more packets."""


class RunsDifferenceTrials(TypedDict):
    """A fact about trials of equal set-ups."""

    fact: TrialFact
    """The fact."""
    methods: list[str | None]
    """The methods; absent for one that may differ."""
    now: list[str]
    """The later values; empty for an unknown one."""
    of: Literal['trials']
    then: list[str]
    """The earlier values; empty for an unknown one."""


RunsDifference: TypeAlias = RunsDifferenceHost | RunsDifferenceTrials
"""Something other than the measured figures in which two runs differ."""


class ScalesNeedsByLaw(TypedDict):
    """This many members would read the load by the law."""

    members: int
    """Their number."""
    other_limit: NotRequired[Limit]
    """A limit besides the members."""
    what: Literal['needs_by_law']


class ScalesNoNumberIsEnough(TypedDict):
    """No number of members reads the load."""

    limit: NotRequired[Limit]
    """What stops them."""
    what: Literal['no_number_is_enough']


class ScalesLessThanLoad(TypedDict):
    """No measured number reads the load."""

    last: MembersRate
    """What the last number reads."""
    limit: NotRequired[Limit]
    """What stops them."""
    what: Literal['less_than_load']


class ScalesNotAtAll(TypedDict):
    """The rate does not grow from one member to the next number."""

    limit: Limit
    """What stops them."""
    next: MembersRate
    """What the next number reads."""
    one: MembersRate
    """What one reads."""
    what: Literal['not_at_all']


class ScalesUpTo(TypedDict):
    """The rate grows up to a number."""

    best: MembersRate
    """What that number reads."""
    limit: Limit
    """What stops more of them."""
    what: Literal['up_to']


class ScalesUpToLast(TypedDict):
    """The rate grows up to the last number."""

    last: MembersRate
    """What that number reads."""
    what: Literal['up_to_last']


Scales: TypeAlias = ScalesNeeds | ScalesNeedsByLaw | ScalesNoNumberIsEnough | ScalesLessThanLoad | ScalesNotAtAll | ScalesUpTo | ScalesUpToLast
"""How a method scales. The first four are answers about a requested rate, the others about maximum load."""


class Scaling(TypedDict):
    """How the rate of a method grows with its members."""

    law: NotRequired[ScalabilityFit]
    """The Universal Scalability Law through the readings that the members limited, each on a CPU of its own; absent if these readings have none."""
    limits: list[LimitName]
    """What limited the members at each reading, in the order of the readings."""
    load_pps: float
    """The load for which members are counted, in frames per second: the one that the user asked for, or the highest offered load."""
    needed: Needed
    """How many members it needs."""
    no_law_because: NotRequired[Unfit]
    """Why there is no law."""
    stop: NotRequired[Stop]
    """Where more members stop to bring more; absent if they do up to the last number."""


class SearchPlan(TypedDict):
    """A search: its goals and its limits. All other properties of its trials are constant and not part of the plan."""

    burst_frames: int
    """Number of frames that the traffic sends at once; 1 if it is evenly spaced."""
    goals: list[Goal]
    """The goals, which share one set of trials."""
    least_pps: Pps
    """The minimum load of the search."""
    line_rate_pps: Pps | None
    """The maximum load of the link, if it has a speed."""
    maximum_pps: Pps | None
    """The maximum load of the search. If absent, the self-test determines the generator's maximum."""
    overload: NotRequired[Overload]
    """A trial at maximum load that ran before the search; absent if none did."""
    quiet_s: NotRequired[float]
    """How long a trial waits for missing frames, as in its set-up. Only the estimate uses it."""
    self_test_s: float
    """Length of the self-test's trials."""
    starts_at_pps: NotRequired[Pps]
    """The load of the first trial after that one; absent if it is the rate that the method delivered there."""
    time_allowed_s: float | None
    """Time allowed for trials, including drains. A trial does not begin if its sending alone would exceed the remaining time."""
    traffic_allowed_s: NotRequired[float]
    """Sending time allowed for trials, without drains and other overhead. A trial does not begin if it would exceed the rest."""


class SearchWarningWidthBelowLoss(TypedDict):
    """The width of a goal is below the loss ratio of another one, which RFC 9971 advises against."""

    goal: str
    """The goal."""
    loss_ratio: Ratio
    """The loss ratio of the other goal."""
    what: Literal['width_below_loss']
    width: Width
    """Its width."""


class SearchWarningLoadDepends(TypedDict):
    """The offered load depends on the receiver."""

    because: LoadDepends
    """Why."""
    what: Literal['load_depends']


class SearchWarningSelfTestRate(TypedDict):
    """The generator did not send a rate of its plan at once."""

    cause: SelfTestCause
    """What is known of the reason."""
    offered_pps: list[float]
    """What each try sent, in packets per second."""
    planned_pps: float
    """The rate of the plan in packets per second."""
    what: Literal['self_test_rate']


SearchWarning: TypeAlias = SearchWarningWidthBelowLoss | SearchWarningUnequalDurations | SearchWarningShortTrials | SearchWarningMayNotSuffice | SearchWarningUnusedTrials | SearchWarningLoadDepends | SearchWarningUnsentFrames | SearchWarningLastReadUnknown | SearchWarningSelfTestRate | SearchWarningSelfTestUnpaced | SearchWarningSelfTestByPlan
"""A doubt about a search."""


class SearchedSetUp(TypedDict):
    """What a search measured, as far as known."""

    frame_size: NotRequired[SizeLabel]
    """The frame size."""
    method: NotRequired[str]
    """The method."""
    nth: NotRequired[int]
    """The number of the search among those of this set-up, if there are several."""
    placement: NotRequired[str]
    """The placement."""
    work: NotRequired[str]
    """The work per packet."""


class SelfTest(TypedDict):
    """The capability of the generator."""

    held: bool
    """Whether the generator sent everything at that rate. If not, the maximum load is the rate of its best try by plan."""
    paced_pps: float
    """Frames per second in the best try at the rate that became the maximum load."""
    tries: NotRequired[list[Try]]
    """Every trial, in order. They are not evidence for any goal."""
    unpaced_pps: float
    """Frames per second without a plan, in the best try."""


class SetUp(TypedDict):
    """What trials must have in common for a comparison of their methods."""

    frame_size: SizeLabel
    """The frame size with FCS, or the name of a mix."""
    placement: str
    """The placement."""
    work: str
    """Work per packet."""


class SharesOfMembersUnequal(TypedDict):
    """They did not."""

    busiest_excess_ratio: float
    """By which share of an equal share the busiest member got more."""
    cause: NotRequired[UnequalBecause]
    """Why, if the frames show it."""
    known: Literal['unequal']


SharesOfMembers: TypeAlias = SharesOfMembersEqual | SharesOfMembersUnequal
"""How evenly members shared the frames."""


class SocketAnswerRingBehind(TypedDict):
    """The ring captures less."""

    evidence: Evidence
    """The evidence."""
    known: Literal['ring_behind']
    rates: ComparedRates
    """What both sustain there."""


class SocketAnswerUndecided(TypedDict):
    """The visits are too few to exclude that the ring is behind."""

    known: Literal['undecided']
    ring_ahead: NotRequired[RingAhead]
    """Where the ring sustains more; absent if it nowhere does."""
    visits: int
    """Visits of each point."""


class SocketAnswerRingAhead(TypedDict):
    """The ring sustains more."""

    ahead: RingAhead
    """Where."""
    excluded: Excluded
    """What is excluded."""
    known: Literal['ring_ahead']


class SocketAnswerAlike(TypedDict):
    """The two do not differ by more than chance explains."""

    excluded: Excluded
    """What is excluded."""
    known: Literal['alike']
    worst: ComparedRates | None
    """Where the ring is furthest behind."""


SocketAnswer: TypeAlias = SocketAnswerHardlyAnyLoss | SocketAnswerRingBehind | SocketAnswerUndecided | SocketAnswerRingAhead | SocketAnswerAlike
"""Whether a ring captures less than one method without a ring."""


class SourceMethod(TypedDict):
    """A counter of the method, or why it has none."""

    method: LossSource


class SourceLink(TypedDict):
    """The receiving card, if not by its counters alone."""

    link: LinkSource


class SourceCard(TypedDict):
    """Counters of the receiving card or its driver."""

    card: CardCounters


class SourceBacklog(TypedDict):
    """The backlogs of the kernel."""

    backlog: BacklogSource


class SourceUnread(TypedDict):
    """Frames that the application did not read."""

    unread: UnreadSource


class StatementPlacement(TypedDict):
    """Which CPUs do what in a placement."""

    cpus: CpuTasks
    """What each CPU does."""
    is_decided_elsewhere: bool
    """Whether the driver or a method's name decides how the kernel's receive work reaches its CPU."""
    placement: str
    """The placement."""
    set_by: NotRequired[KernelWorkSetting]
    """What moves the kernel's receive work to its CPU; absent if nothing was set."""
    what: Literal['placement']


class StatementGeneratorThreads(TypedDict):
    """Which CPUs several threads of the generator use."""

    cpus: CpuTasks
    """What each CPU does."""
    what: Literal['generator_threads']


class StatementTraced(TypedDict):
    """What the tracer sees."""

    cost: TracedCost
    """What it costs."""
    drops: TracedDrops
    """Which drops."""
    frame_ends: FrameEnds
    """Which frames count as dropped behind the capture point."""
    no_softirqs_because: NotRequired[str]
    """Why it does not time the receive softirq; absent if it does."""
    what: Literal['traced']


class Sustained(TypedDict):
    """The highest load that a method sustains, frames per second."""

    at_most_pps: NotRequired[float]
    """The lowest load at which it lost more frames than the host's disturbances explain: its limit is certainly below. Equal to `upper_pps` on a quiet host."""
    lower_pps: NotRequired[float]
    """The highest load that it sustained; absent if it sustained none of the loads that were tried."""
    precision: NotRequired[float]
    """Distance of the bounds as a share of the upper one; absent unless both are known."""
    searched_to: NotRequired[float]
    """The distance of the bounds that its search aimed at, as a share of the upper one. Absent without a search."""
    status: SustainedStatus
    """What is known of it."""
    trials: list[int]
    """Numbers of the trials at both bounds."""
    upper_pps: NotRequired[float]
    """The lowest load that it did not sustain; absent if no load showed its limit."""


class TestFactLatency(TypedDict):
    """How long frames take."""

    lossy_trials: int
    """Trials that lost frames."""
    rate_pps: float
    """The rate, frames per second."""
    trials: int
    """All trials."""
    typical_ns: int
    """The median over the trials of their medians, nanoseconds."""
    way: Way
    """From where to where."""
    what: Literal['latency']
    worst_ns: int
    """The median over the trials of their 99.9th percentiles, nanoseconds."""


TestFact: TypeAlias = TestFactLatency | TestFactNoneLost | TestFactSomeLost | TestFactBursts | TestFactRecoversAfter | TestFactRecoveryUnknown | TestFactRecoveredFrom
"""The result of a test."""


class TestResult(TypedDict):
    """The result of a test, and what it tested."""

    fact: TestFact
    """The result."""
    set_up: NotRequired[TestSetUp]
    """What it tested, if the tests of the run have several set-ups."""
    trials: list[int]
    """Its trials."""


class TestedFrameLoss(TypedDict):
    """RFC 2544 26.3."""

    frame_size: SizeLabel
    """The frame size."""
    method: str
    """The method."""
    placement: str
    """The placement."""
    throughput_status: NotRequired[Status]
    """The quality of the throughput on which it depends; absent if the user gave the throughput."""
    trials: list[int]
    """Numbers of its trials, in the order in which they ran."""
    work: str
    """The work per packet."""
    duration_s: float
    """Length of a trial in seconds."""
    ended: Ended
    """How it ended."""
    ends_without_loss: bool
    """Whether the last two trials sent everything and lost nothing, as the standard requires. If not, no lower load was left."""
    maximum: MaximumRate
    """The rate of which loads are shares: 100 %."""
    points: list[LossPoint]
    """The curve, the highest load first."""
    step_percent: Percent
    """Difference of successive loads, as a share of the maximum rate."""
    test: Literal['frame-loss']


class TestedBackToBack(TypedDict):
    """RFC 2544 26.4, RFC 9004."""

    frame_size: SizeLabel
    """The frame size."""
    method: str
    """The method."""
    placement: str
    """The placement."""
    throughput_status: NotRequired[Status]
    """The quality of the throughput on which it depends; absent if the user gave the throughput."""
    trials: list[int]
    """Numbers of its trials, in the order in which they ran."""
    work: str
    """The work per packet."""
    benchmark: Benchmark | None
    """The benchmark computed from them; absent without a search."""
    depletion_s: float
    """Minimum idle time of the path between bursts, in seconds."""
    ended: Ended
    """How it ended."""
    invalid_because: NotRequired[str]
    """Why the benchmark is invalid; absent if it is valid."""
    limit_frames: int
    """The maximum length of a burst."""
    maximum: MaximumRate
    """The rate of a burst: the theoretical rate of the formulas."""
    resolution_percent: Percent
    """The resolution of the length, as a share of it."""
    searches: list[Searched]
    """Each completed search."""
    test: Literal['back-to-back']
    throughput_pps: Pps
    """The highest rate without loss, frames per second."""
    verifications: int
    """How many times a lossy length was tried again."""


class TestedRecovery(TypedDict):
    """RFC 2544 26.5."""

    frame_size: SizeLabel
    """The frame size."""
    method: str
    """The method."""
    placement: str
    """The placement."""
    throughput_status: NotRequired[Status]
    """The quality of the throughput on which it depends; absent if the user gave the throughput."""
    trials: list[int]
    """Numbers of its trials, in the order in which they ran."""
    work: str
    """The work per packet."""
    after_pps: Pps
    """The rate after it, frames per second."""
    average_s: float | None
    """Mean of the recovery times; absent unless every repetition has one."""
    ended: Ended
    """How it ended."""
    maximum: MaximumRate
    """The maximum rate."""
    observed_s: float
    """Duration of that rate, in seconds."""
    overload_pps: Pps
    """The overload, frames per second."""
    overloaded_s: float
    """Duration of the overload, in seconds."""
    repetitions: list[Repetition]
    """Each repetition."""
    test: Literal['recovery']
    throughput_pps: Pps
    """The highest rate without loss, frames per second."""


Tested: TypeAlias = TestedLatency | TestedFrameLoss | TestedBackToBack | TestedRecovery
"""A test with its set-up. Its trials are in the list of all trials."""


class TracedCount(TypedDict):
    """Losses that the tracer counted at a place."""

    doubts: NotRequired[Doubts]
    """Why there may be more."""
    lost: NotRequired[LossesByReason]
    """Those that it saw."""


class Generic(TypedDict):
    """Losses that the tracer counted at a place."""

    doubts: NotRequired[Doubts]
    """Why there may be more."""
    failed: NotRequired[int]
    """Those among them that were exceptions or failed redirects."""
    lost: NotRequired[LossesByReason]
    """Those that it saw."""


class TracedXdpGeneric(TypedDict):
    """The tracer saw the drops of generic XDP."""

    generic: Generic
    """Losses that the tracer counted at a place."""


TracedXdp: TypeAlias = TracedXdpGeneric | Literal['not_attached'] | TracedXdpInDriver | Literal['unknown']
"""What is known of losses in XDP that the method does not count."""


class TransmitSource(TypedDict):
    """What the counters of the sending interface count, and what they miss."""

    before: NotRequired[BeforeCounters]
    """Losses in front of the counters; absent if none is known."""
    counters: TransmitCounters
    """Which counters."""
    unplaced: NotRequired[LossesByReason]
    """Drops at an unknown place, which do not count."""


class Turns(TypedDict):
    """What rounds of short trials at one load show. Methods that only count frames take no part."""

    cost_load_pps: NotRequired[float]
    """The load at which CPU times are compared, frames per second. Absent in older files, where it is the same."""
    judged_rounds: int
    """Number of rounds after which they were judged last; 0 if there were too few."""
    load_pps: float
    """The load in frames per second."""
    methods: list[InTurns]
    """The methods, best first."""
    rounds: int
    """Number of rounds."""
    sent: NotRequired[SentShares]
    """How much of the load was sent. Absent in older files."""


class UnsettledGoal(TypedDict):
    """A goal with a bound, but without a regular result."""

    at_least_pps: NotRequired[float]
    """The load that is sustained at least, frames per second; absent if the result is not even that."""
    goal: str
    """The goal's name."""
    reason: NotRequired[Reason]
    """Why it is not settled."""
    set_up: SearchedSetUp
    """The set-up."""
    trials: list[int]
    """The trials of the lower bound."""


class AgainstSocket(TypedDict):
    """The answer for a ring and a method without one."""

    answer: SocketAnswer
    """The answer."""
    socket: str
    """The method without a ring."""


class BetterElsewhere(TypedDict):
    """A method that is better in another set-up."""

    method: str
    """The method."""
    set_up: SetUp
    """The set-up."""


BufferGrowthStops = TypedDict(
    'BufferGrowthStops',
    {
        'from': SweepPoint,
        'full': NotRequired[FullResource],
        'what': Literal['stops'],
    },
)


BufferGrowth: TypeAlias = BufferGrowthAtEveryStep | BufferGrowthStops
"""Whether the buffer grows with the ring."""


class Burst2(TypedDict):
    """One search for the longest burst without loss. It begins with an overload: a trial at the rate of the bursts that is long enough to fill the buffer."""

    because: NotRequired[str]
    """The invalid trial that ended the search in words, for readers of the file. The report makes them when the sweep is saved."""
    because_fact: NotRequired[InvalidTrial]
    """The same as a fact. Absent in files of versions that did not write it."""
    burst_pps: float
    """The rate of the burst."""
    drained_pps: float
    """The rate at which the application read frames in the overload, once its buffer was full."""
    end: BurstEnd
    """How it ended."""
    frames: int | None
    """Frames of the longest burst without loss. If `end` is `at-limit`, the longest burst has at least that length."""
    lost: NotRequired[list[LostAt]]
    """Where the shortest burst that lost frames lost them, most first."""
    trials: list[int]
    """Trials of the search, the overload first."""


class BurstRange(TypedDict):
    """The shortest and the longest burst without loss of a method over the axis."""

    longest: NotRequired[MeanBurst]
    """The longest; absent if only one point has a burst."""
    points_without: int
    """Number of points at which none was found."""
    shortest: MeanBurst
    """The shortest of the points."""


class CaptureFacts(TypedDict):
    """What captured the frames of a trial, as results keep it."""

    engine: Engine
    """What received the frames."""
    moderation: NotRequired[Moderation2]
    """Interrupt moderation of the interface, as the driver granted it; absent if the set-up asks for none."""
    ring: RingGeometry
    """Buffers as granted."""
    shortfalls: NotRequired[list[str]]
    """Requested properties that the capture did not get."""
    time_source: NotRequired[TimeSource]
    """Source of the timestamps; absent for programs."""


class ClaimValueLosses(TypedDict):
    """Where frames were lost."""

    losses: list[LostAt]
    """The places with their frames."""
    what: Literal['losses']


class ComparedMethods(TypedDict):
    """A comparison of two methods."""

    answers: NotRequired[list[FigureAnswer]]
    """Whether it delivers more, loses less and is cheaper. Absent in files of versions that did not write them."""
    now: str
    """The compared method."""
    outcome: ComparisonOutcome
    """What follows."""
    then: str
    """The reference."""


class Comparison(TypedDict):
    """The result of a comparison."""

    contrasts: list[Contrast]
    """All contrasts: set-up by set-up, then several set-ups together."""
    damaged: NotRequired[bool]
    """Whether a run's file is not as written: cut off, damaged, or with ledgers that do not sum up. It may hide a regression."""
    difference_facts: NotRequired[list[RunsDifference]]
    """The same as facts."""
    differences: list[str]
    """Differences of the two other than the measured figures, in words, which the report makes."""
    disturbed: NotRequired[bool]
    """Whether the host disturbed most trials of a run, unless they took turns. It may then cause differences that no test detects."""
    false_alarms: float
    """The probability of a false statement in the whole comparison."""
    hosts: NotRequired[int]
    """The number of hosts, if runs of a dataset were compared: a host with one set-up is a stratum, and the median of a run is a figure. The numbers of trials are then places of runs in the dataset."""
    left_out: list[LeftOut]
    """Trials that were not compared, with the reason."""
    note_facts: NotRequired[list[ComparisonNote]]
    """The same as facts."""
    notes: list[str]
    """Notes to read before the figures, in words, which the report makes."""
    now: str
    """The compared run or method."""
    only_now: list[Setup]
    """Set-ups that only the later run has."""
    only_then: list[Setup]
    """Set-ups that only the earlier run has."""
    paired: bool
    """Whether trials were compared in pairs that ran one after the other."""
    tested: int
    """Number of tested contrasts, for which the probabilities are corrected."""
    then: str
    """The reference: the earlier run, or a method."""
    thresholds: Thresholds
    """The minimum changes to report."""
    visits_needed: NotRequired[int]
    """Visits per set-up and side that decide most of the contrasts of single set-ups with too few trials, if further trials are like those that ran; absent if none has too few, or if no reasonable number of visits does."""


class ConclusionNoneLossless(TypedDict):
    """No method sustained any load, or the load asked for, without loss."""

    answer: Literal['none_lossless']
    best: str | None
    """The method that comes closest; absent if no trial shows one."""
    limit: Limit | None
    """What limits that method."""
    place: Place | None
    """The place that loses most of its frames."""


Conclusion: TypeAlias = ConclusionUse | ConclusionOneOf | ConclusionNoneLossless | ConclusionNotSent | ConclusionNothing
"""What follows from the order of the methods of a set-up."""


class Cpu(TypedDict):
    """The processors of the host. Absent values are unknown, or do not exist on the architecture."""

    core_threads: NotRequired[list[str]]
    """CPUs that are threads of one core, a list such as `2,18` for each core with several. Empty if each core has one."""
    cores: NotRequired[int]
    """Cores with online CPUs, in all sockets."""
    family: NotRequired[str]
    """Family on x86, architecture on Arm."""
    frequency: NotRequired[Frequency]
    """How frequencies are chosen. Absent if the host does not control them, as in most virtual machines."""
    idle: NotRequired[Idle]
    """How idle CPUs sleep. Absent if the host does not control it."""
    isolated_cpus: NotRequired[str]
    """CPUs excluded from the scheduler (`isolcpus=`), as a list such as `2-7`. Empty if there are none."""
    least_mhz_now: NotRequired[int]
    """Current frequency of the slowest CPU, in MHz."""
    microcode: NotRequired[str]
    """Version of the microcode (x86)."""
    model: NotRequired[str]
    """Model number on x86, part number on Arm."""
    most_mhz_now: NotRequired[int]
    """Current frequency of the fastest CPU, in MHz."""
    quota_us_per_s: NotRequired[int]
    """Limit of the process's CPU time, in microseconds per second, set by a control group (`cpu.max`, as in containers). Absent without a limit."""
    smt_control: NotRequired[str]
    """The SMT setting: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`."""
    smt_in_use: NotRequired[bool]
    """Whether more than one thread of a core is in use (simultaneous multithreading)."""
    sockets: NotRequired[int]
    """Sockets with online CPUs."""
    stepping: NotRequired[str]
    """Stepping on x86, revision on Arm."""
    tickless_cpus: NotRequired[str]
    """CPUs whose tick stops while one thread runs (`nohz_full=`), as a list. Absent if the kernel does not support it."""
    vendor: NotRequired[str]
    """Their vendor, as in `/proc/cpuinfo`: `GenuineIntel`, `AuthenticAMD`, on Arm a number (`0x41`)."""


class CpuUse(TypedDict):
    """What one disturber used."""

    by: Disturber
    """What it is."""
    cpus: list[int]
    """The CPUs of trials that it used."""
    location: NotRequired[str]
    """The generator on whose host it ran; absent on the receiver's host."""
    share: float
    """Its CPU time divided by the time from the first to the last trial in which it was seen, without the time between trials. 1 is a whole CPU."""
    total_ns: int
    """Its CPU time in these trials."""
    trials: int
    """Trials in which it was seen."""


class Disturbance(TypedDict):
    """Disturbances by the host during a trial."""

    backlog_lasts_ns: NotRequired[int]
    """How long the kernel's backlog can hold the offered frames, in nanoseconds: it overflows if a CPU stalls for longer. Absent at maximum load, where the path has no backlog, and where the backlog's size is unknown."""
    clocks: ClockDrift
    """Steps and slew of the clocks."""
    cpus: list[CpuDisturbance]
    """The CPUs of generator, kernel and application, each once."""
    disturbers: NotRequired[Disturbers]
    """The processes that used these CPUs besides the trial. Absent in files of versions that did not read them."""
    sending_ns: NotRequired[int]
    """Duration of sending, in nanoseconds of CLOCK_MONOTONIC: the reference of all shares."""
    start_spread_ns: NotRequired[int]
    """How far apart the generators began, in nanoseconds of the receiver's clock. Absent with one generator, and where frames were not examined one by one."""
    tick_ns: int
    """The unit of steal and of the kernel's other CPU times, in nanoseconds."""


class EffectMoreWorkMorePackets(TypedDict):
    """Dain's first effect: more work per packet, more packets."""

    answer: RiseAnswer
    """The answer."""
    which: Literal['more_work_more_packets']


class FactSweepLossBegins(TypedDict):
    """Loss begins at a point."""

    about: Literal['sweep']
    ends: NotRequired[LossEnds]
    """Where loss ends again; absent if it does not."""
    first_buffered: NotRequired[BufferedAtPoint]
    """The first point at which the method does not keep up, if only buffers prevent loss there."""
    first_loss: LossAtPoint
    """The first point with loss."""
    keeps_up_to: NotRequired[SweepPoint]
    """The last point before it at which the method keeps up, or at none the last without loss; absent if there is none."""
    last: NotRequired[LastPoint]
    """The last point; absent if it is the first one with loss."""
    limits: list[LimitFrom]
    """What limits the method, from which points on."""
    series: SweepSeries
    """The method."""
    what: Literal['loss_begins']


class FactSweepLossAtNamedPoints(TypedDict):
    """Frames are lost at points without an order."""

    about: Literal['sweep']
    hidden: NotRequired[HiddenByBuffers]
    """Points at which only buffers prevent loss."""
    lossy: list[LossAtPoint]
    """The points with loss."""
    series: SweepSeries
    """The method."""
    what: Literal['loss_at_named_points']


class FactSweepHardlyAnyLoss(TypedDict):
    """No frame is lost, or only in a minority of the visits."""

    about: Literal['sweep']
    generator_limits: NotRequired[GeneratorLimits]
    """Where the generator is the limit; absent if it is at no point."""
    hidden: NotRequired[HiddenByBuffers]
    """Points at which only buffers prevent loss."""
    limits: list[LimitFrom]
    """What limits the method, from which points on."""
    lossy: list[SweepPoint]
    """The points with loss in some visits."""
    series: SweepSeries
    """The method."""
    what: Literal['hardly_any_loss']


class FactSweepLongestBursts(TypedDict):
    """The longest bursts without loss."""

    about: Literal['sweep']
    first: NotRequired[BurstAtPoint]
    """At the first point at which a burst was found; absent if none was."""
    growth: NotRequired[BufferGrowth]
    """Whether they grow with the ring; absent if the points are no rings, or do not show it."""
    last: NotRequired[BurstAtPoint]
    """At the last such point; absent if it is the same."""
    series: SweepSeries
    """The method."""
    what: Literal['longest_bursts']
    without_burst: list[EndedSearches]
    """Searches that ended without a longest burst."""


class FactSweepMembersGrowth(TypedDict):
    """How the rate grows with members."""

    about: Literal['sweep']
    best: MembersRate
    """The rate with the number up to which it grows: the last number if it grows up to that."""
    first: MembersRate
    """The rate with the smallest number of members."""
    numbers: int
    """Numbers of members that were measured."""
    series: SweepSeries
    """The method."""
    stop: NotRequired[MembersStop]
    """Where more members stop to bring more; absent if they do up to the last number."""
    what: Literal['members_growth']


class FactSweepCheapestRing(TypedDict):
    """The cheapest pair of method and ring."""

    about: Literal['sweep']
    cheapest: RingCost
    """The cheapest of them."""
    evidence: NotRequired[Evidence]
    """The weakest evidence that its method is cheaper than the others; absent if one cannot be distinguished."""
    not_distinguished: list[str]
    """Methods that cannot be distinguished from it."""
    pairs: int
    """Number of pairs that keep up without loss."""
    scene: SweepScene
    """Placement and load of the compared methods."""
    smallest_alike: NotRequired[RingCost]
    """The pair with the smallest ring of those that cost the same; absent if it is the cheapest."""
    what: Literal['cheapest_ring']


class FactSearchAnswerSustained(TypedDict):
    """What the methods of the first set-up sustain by the first goal."""

    about: Literal['search_answer']
    first_place: NotRequired[FirstPlace]
    """Whether repeated searches show that the first method sustains most; absent without them."""
    loss_ratio: float
    """The share of frames that the goal allows to be lost."""
    methods: list[MethodLoad]
    """The methods, highest first, at least one."""
    other_set_ups: int
    """Number of other set-ups."""
    set_up: SearchedSetUp
    """The set-up; its method and number are absent."""
    what: Literal['sustained']


class FactSearchAnswerLimits(TypedDict):
    """What limits, from where the next load lost frames."""

    about: Literal['search_answer']
    limits: list[LimitOfMethods]
    """Each limit."""
    what: Literal['limits']


class FactSearchAnswerUnsettled(TypedDict):
    """Goals with a bound, but without a regular result."""

    about: Literal['search_answer']
    goals: list[UnsettledGoal]
    """Each goal of each set-up."""
    what: Literal['unsettled']


class FactSearchAnswerRepeated(TypedDict):
    """Results of set-ups that were searched several times."""

    about: Literal['search_answer']
    results: list[Repeated]
    """Each set-up and goal."""
    what: Literal['repeated']


class FactSearchRanking(TypedDict):
    """The order of several methods by one goal."""

    about: Literal['search']
    goal: str
    """The goal's name."""
    methods: list[RankedMethod]
    """The methods, highest first."""
    set_up: SearchedSetUp
    """What the methods are compared in; its method and number are absent."""
    too_few_searches: TooFewSearches | None
    """With too few searches of each method, chance can explain any order: how many there are, and how many decide it."""
    what: Literal['ranking']


class FactSearchNumbers(TypedDict):
    """The numbers that belong together: without loss, NDR, PDR, and how often frames are lost."""

    about: Literal['search']
    loss_events: LossEvents | None
    """How often frames were lost; absent if the trials do not show it."""
    lowest_load: NotRequired[LowestLoad]
    """If no load is without a loss: the lowest that was tried. Absent if trials are not saved."""
    ndr: Held
    """The no-drop rate."""
    pdr: Held
    """The partial-drop rate."""
    set_up: SearchedSetUp
    """What the search measured."""
    strict_lossless: Held
    """The highest load without a loss."""
    what: Literal['numbers']


class FactSearchBounds(TypedDict):
    """The bounds of a goal."""

    about: Literal['search']
    conditional_throughput_pps: float | None
    """The rate forwarded at the lower bound; absent if it is not below the lower bound."""
    goal: str
    """The goal's name."""
    lower_pps: float | None
    """The load that the lower bound offered; absent without a lower bound."""
    reason: Reason | None
    """Why the result is not regular; absent if it is."""
    set_up: SearchedSetUp
    """What the search measured."""
    so_far: CoarserBounds | None
    """Bounds of a coarser target, if the search ended before the goal had both."""
    status: Status
    """The quality of the result."""
    upper_pps: float | None
    """The intended load of the upper bound; absent without an upper bound."""
    what: Literal['bounds']


class FactSearchNoBounds(TypedDict):
    """A goal without any bound."""

    about: Literal['search']
    goal: str
    """The goal's name."""
    reason: Reason
    """Why."""
    set_up: SearchedSetUp
    """What the search measured."""
    what: Literal['no_bounds']


class FactSearchMaximumLoad(TypedDict):
    """The highest load of the search, after a self-test of the generator."""

    about: Literal['search']
    load_pps: float
    """The load."""
    set_up: SearchedSetUp
    """What the search measured."""
    source: MaximumSource
    """Its origin."""
    sustained: bool
    """Whether the generator sent everything at that load."""
    unpaced_pps: float
    """What it sent without a plan."""
    what: Literal['maximum_load']


class FactSearchBuffered(TypedDict):
    """Trials lost nothing only because buffers had room."""

    about: Literal['search']
    buffered: Buffered
    """The trials."""
    set_up: SearchedSetUp
    """What the search measured."""
    what: Literal['buffered']


class FactSearchIncomplete(TypedDict):
    """The search is incomplete."""

    about: Literal['search']
    end: End
    """How it ended."""
    set_up: SearchedSetUp
    """What the search measured."""
    what: Literal['incomplete']


class FactRfc2544AnswerNotRepeatable(TypedDict):
    """A throughput at or below which other trials of the run lost frames."""

    about: Literal['rfc2544_answer']
    contradiction: Contradiction
    """The throughput, and the trial."""
    set_up: SearchedSetUp
    """The set-up."""
    what: Literal['not_repeatable']


class FactRfc2544AnswerLoss(TypedDict):
    """Frame loss rate and back-to-back frames."""

    about: Literal['rfc2544_answer']
    tests: list[TestResult]
    """Each test."""
    what: Literal['loss']


class FactRfc2544AnswerTime(TypedDict):
    """Latency and system recovery."""

    about: Literal['rfc2544_answer']
    tests: list[TestResult]
    """Each test."""
    what: Literal['time']


class FactSoakAnswerWhenLost(TypedDict):
    """When and where frames were lost."""

    about: Literal['soak_answer']
    bursts: NotRequired[int]
    """Bursts of loss; absent if frames were not inspected one by one."""
    largest: NotRequired[LossEvent]
    """The largest burst that is stored."""
    lossy_segments: int
    """Segments with loss."""
    places: list[LostAt]
    """The places with their lost frames, most first."""
    segments: int
    """All segments."""
    what: Literal['when_lost']


class FactTrialsAccountedFor(TypedDict):
    """Every packet is accounted for."""

    about: Literal['trials']
    buffered_frames: int
    """Frames that waited in buffers when sending ended."""
    is_sent_unverified: bool
    """Whether only generators counted some of them."""
    lost: list[LostAt]
    """Lost frames by place, most first."""
    sent_frames: int
    """Sent frames."""
    trials: int
    """Trials of the run."""
    what: Literal['accounted_for']


class FactTrialsMembersShared(TypedDict):
    """Several members of a method shared the frames."""

    about: Literal['trials']
    flow_sharing: NotRequired[FlowSharing]
    """Whether flows stayed together, in the worst trial; absent if frames were not examined one by one."""
    members: int
    """The largest number of members."""
    method: str
    """The method."""
    shares: SharesOfMembers
    """How evenly they shared them, in the worst trial."""
    what: Literal['members_shared']


class FactTrialsLoadDepends(TypedDict):
    """The offered load of a placement depends on the receiver."""

    about: Literal['trials']
    because: LoadDepends
    """Why it does."""
    placement: str
    """The placement."""
    what: Literal['load_depends']


class FactBenchOverload(TypedDict):
    """What the methods lose at maximum load."""

    about: Literal['bench']
    behind: list[str]
    """Methods that lose nothing, but leave frames in buffers."""
    least: NotRequired[OverloadLoss]
    """The one that loses the smallest share, if all lose frames."""
    lossless: list[str]
    """Methods that lose nothing."""
    most: OverloadLoss
    """The one that loses the largest share."""
    what: Literal['overload']


class FactBenchOtherSetUps(TypedDict):
    """Whether the best method is best in other set-ups, too."""

    about: Literal['bench']
    alike: int
    """In how many other set-ups the method is best, equal to the best, or may be best."""
    better: list[BetterElsewhere]
    """The best method of each of the remaining set-ups."""
    method: str
    """Its best method."""
    others: int
    """How many other set-ups there are."""
    set_up: SetUp
    """The set-up of the verdict."""
    what: Literal['other_set_ups']


class FactComparisonOfRuns(TypedDict):
    """What a comparison of two runs shows."""

    about: Literal['comparison']
    answers: NotRequired[list[FigureAnswer]]
    """Whether it delivers more, loses less and is cheaper, by the trials as they are: a host that disturbed them may be the cause. None if the file is damaged. Absent in files of versions that did not write them."""
    outcome: ComparisonOutcome
    """What follows."""
    what: Literal['of_runs']


class FactComparisonOfMethods(TypedDict):
    """What comparisons of methods that took turns show."""

    about: Literal['comparison']
    compared: list[ComparedMethods]
    """Each comparison."""
    what: Literal['of_methods']


class FactComparisonRunsDiffer(TypedDict):
    """The runs differ in something that could be the reason of a change."""

    about: Literal['comparison']
    difference: RunsDifference
    """The difference."""
    what: Literal['runs_differ']


class FactCaveatDisturbers(TypedDict):
    """What used the CPUs of trials besides them."""

    about: Literal['caveat']
    all_trials: int
    """Trials of the run whose hosts were read."""
    free_cpus: NotRequired[FreeCpus]
    """CPUs for the tasks of a trial that nothing else used; absent if there are too few."""
    used: list[CpuUse]
    """Each with its share, the largest time first."""
    what: Literal['disturbers']


class FactCaveatNotMeasured(TypedDict):
    """Set-ups that could not be measured."""

    about: Literal['caveat']
    by_reason: list[NotMeasuredBecause]
    """The set-ups, by reason."""
    what: Literal['not_measured']


class FactCaveatLeftOut(TypedDict):
    """What a bench left out to end in time."""

    about: Literal['caveat']
    parts: list[LeftOutOfBench]
    """One part of each set-up: the one that includes the others."""
    what: Literal['left_out']


class FoundThroughputNothing(TypedDict):
    """No load is known to be sustained."""

    known: Literal['nothing']
    limit: NotRequired[Limit]
    """What limits the lowest load."""
    reason: NotRequired[Reason]
    """Why."""


FoundThroughput: TypeAlias = FoundThroughputNothing | FoundThroughputRegular | FoundThroughputAtLeast | FoundThroughputNotSettled
"""What a search for the throughput found, frames per second."""


class Generator(TypedDict):
    """What one generator did whose interface was named by a location, and what came of it. Counts that nobody reported are absent."""

    cpu: NotRequired[int | None]
    """Its CPU, on its host."""
    cpu_ns: NotRequired[int | None]
    """CPU time of its thread in nanoseconds."""
    delivered: NotRequired[int | None]
    """Its frames that reached the application intact, counted once each."""
    disturbers: NotRequired[Disturbers]
    """The processes that used its CPUs besides it, on its host. Absent if that is the receiver's host, and in files of versions that did not read them."""
    duplicates: NotRequired[int | None]
    """Repetitions of its frames."""
    failure: NotRequired[str]
    """Why it did not report, if it ended while it sent. The sums of the trial then count the frames that it sent at least."""
    intended: NotRequired[int | None]
    """Frames that it should send."""
    lateness: NotRequired[LatenessSummary]
    """Lateness of its frames; absent if nothing was planned."""
    location: str
    """The location of its interface, as the user named it."""
    loss_shape: NotRequired[LossPattern]
    """When and how its frames were lost; absent if it was the only generator, as the trial has it then. `damaged` counts those of all generators: nobody knows whose a damaged frame was."""
    lost: NotRequired[int | None]
    """Its sent frames that did not."""
    reordered: NotRequired[int | None]
    """Its frames that arrived after a later one of it."""
    sent: NotRequired[int | None]
    """Frames that it passed to its kernel."""
    start_ns: NotRequired[int | None]
    """When it began, in nanoseconds after the first of the generators, by the receiver's clock: its first frame that came, less that frame's planned time."""
    stream: int
    """The stream in its frames' stamps."""
    unsent: NotRequired[int | None]
    """Frames that it did not send before the phase ended."""
    unverified_because: NotRequired[str]
    """Why capbench did not verify how many frames it sent; absent if capbench counted them."""


class KeepsUp(TypedDict):
    """Where a method keeps up."""

    open: NotRequired[list[SweepPoint]]
    """Points at which it does not keep up in the median of the visits, but did in at least half of them."""
    points: KeptPoints
    """The points at which it neither loses frames nor only buffers them, and the load was sent."""
    unsent_points: int
    """Number of points without loss at which the generator did not send the load."""


class Latency(TypedDict):
    """The delay of a trial's frames."""

    absent_because: NotRequired[str]
    """Why a part of it is absent; absent if all parts exist."""
    clock: Clock
    """Meaning of planned times."""
    clock_error_ns: int | None
    """Largest error of `to_kernel` and `to_application`, with opposite signs, because their clocks cannot be read at once. Between two hosts: the largest error of `to_kernel` and `total`, as the hosts state it."""
    from_ns: int
    """Frames planned earlier than this are excluded, in nanoseconds since the start."""
    relative: NotRequired[Relative]
    """Between two hosts: the same one-way times less their minimum, without the difference of the clocks' rates."""
    to_application: Delays | None
    """From the kernel's timestamp to delivery."""
    to_kernel: Delays | None
    """From planned send time to the kernel's timestamp. Between two hosts only if their clocks are synchronised well enough."""
    total: Delays | None
    """From planned send time to delivery. Between two hosts only if their clocks are synchronised well enough."""


class Losses(TypedDict):
    """The losses of all trials of one load."""

    lost: list[LostAt]
    """The places of the losses, most first."""
    moments: NotRequired[Moments]
    """The times of the losses; absent if frames were not inspected one by one."""
    most_of_a_trial: float
    """The highest loss of a single trial, as a share of its sent frames."""


class MaximumLoad(TypedDict):
    """The maximum load."""

    load_pps: Pps
    """Frames per second."""
    self_test: SelfTest | None
    """The generator's self-test; absent if the user gave the load, and if a trial at maximum load ran before the search."""
    source: MaximumSource
    """Its origin."""


class Member(TypedDict):
    """What one member of a trial did: the ledger of its socket, and its time. What reached its socket is what it read, and what its socket lost."""

    accepted: NotRequired[int]
    """Frames that reached its socket, those that were lost there included; absent if the method does not report them."""
    cpu: int
    """Its CPU."""
    cpu_ns: int
    """CPU time of its thread in nanoseconds."""
    delivered: int
    """Frames of the trial among them, intact, that it read first."""
    lost: NotRequired[list[MemberLoss]]
    """Frames that its own ring or queue lost, by place; absent if the method does not report them."""
    read: int
    """All frames that it read."""
    reordered: int
    """Frames of the trial that it read after a later one of their stream."""


class MembersAnswer(TypedDict):
    """How a method scales, or how many members its load needs."""

    load_pps: float
    """The load, in packets per second."""
    method: str
    """The method."""
    scales: Scales
    """The answer."""
    trials: list[int]
    """Numbers of its trials."""


class MethodBelow(TypedDict):
    """A method that is worse than the first one."""

    by: BelowBy
    """The figure that shows it."""
    captured_ratio: float
    """Share of the frames that it captured, by the rounds in which the first ran, too, scaled to the share of the first in all rounds."""
    cost_ratio: NotRequired[float]
    """The same multiple by the costs of the ranking's methods, if these agree about which is higher; absent if the kernel's time is unknown, and in older files."""
    method: str
    """The method."""
    most_missed: NotRequired[MostMissed]
    """Where most of the frames were that it did not capture; absent if it captured all, and in older files."""
    relative_cost: NotRequired[Multiple]
    """Its CPU time per packet as a multiple of that of the first by the rounds in which both ran; absent if unknown."""


class MethodBursts(TypedDict):
    """The longest bursts without loss of a method."""

    method: str
    """The method."""
    range: BurstRange
    """The shortest and the longest of them over the axis."""
    scene: SweepScene
    """Its placement and load."""
    trials: list[int]
    """Numbers of its trials."""


class MethodKeepsUp(TypedDict):
    """Where one method keeps up."""

    keeps_up: KeepsUp
    """The points."""
    method: str
    """The method."""
    scene: SweepScene
    """Its placement and load."""
    trials: list[int]
    """Numbers of its trials."""


class Ranked(TypedDict):
    """One method in a ranking."""

    below: NotRequired[Certainty]
    """How certain it is that its limit is below that of the first rank. Absent for that rank, which also has the methods whose limit is unknown."""
    cost: NotRequired[Cost]
    """CPU time per packet at the equal load; absent if it was not measured there."""
    disturbed: int
    """How many of them noise may have changed."""
    limited_by: NotRequired[Limit]
    """What limits it without loss; the generator if no load showed its own limit."""
    lossless: Sustained
    """The highest load that it sustains without loss."""
    lost_at: NotRequired[Place]
    """The place that loses most frames just above its limit; absent if it lost none, or at an unknown place."""
    method: str
    """The method."""
    nearly_lossless: Sustained
    """The highest load at which it loses up to 0.1 % of the frames."""
    rank: int
    """Its rank by sustained load, from 1. The limits of methods with the same rank are not distinguished."""
    trials: int
    """Number of trials that support these figures."""


class Ranking(TypedDict):
    """The methods of one set-up, the recommended one first."""

    conclusion: Conclusion
    """What follows from the order."""
    equal_load_pps: NotRequired[float]
    """The load at which CPU time is compared, in frames per second. Absent if no load was sustained by all that were measured."""
    frame_size: SizeLabel
    """The frame size with FCS, or the name of a mix."""
    methods: list[Ranked]
    """The methods, best first."""
    placement: str
    """The placement."""
    precision: NotRequired[float]
    """The precision to which the methods of the first rank were searched, or if none was, the finest of the others. Methods whose limits differ by more than twice this share are distinguished on a quiet host. Absent if no search ran."""
    turns: NotRequired[Turns]
    """Which method is best at one load, by trials in turns. Absent if there were none, and in older files."""
    work: str
    """Work per packet."""


class Recommendation(TypedDict):
    """Which method to use on this host."""

    certainty: NotRequired[Certainty]
    """How certain it is that no other method is better; absent if its trials leave several methods, or name none."""
    method: NotRequired[str]
    """The method to use, by the first ranking; absent if its trials name none."""
    question: Question
    """The question that it answers."""
    rankings: list[Ranking]
    """One ranking per set-up. The first one answers the question: it has the smallest frames, in the first placement."""


class RingAnswerAgainst(TypedDict):
    """Against methods without a ring."""

    known: Literal['against']
    sockets: list[AgainstSocket]
    """An answer for each."""


RingAnswer: TypeAlias = RingAnswerNoRing | RingAnswerNoSocket | RingAnswerAgainst
"""Whether a ring captures less than a socket's queue once packets are lost."""


class SourceTransmit(TypedDict):
    """Counters of the sending interface."""

    transmit: TransmitSource


class SourceXdp(TypedDict):
    """XDP in front of the method."""

    xdp: TracedXdp


class CardAndXdp(TypedDict):
    card: CardCounters
    """Counters of the driver."""
    xdp: TracedXdp
    """What the tracer saw."""


class SourceCardAndXdp(TypedDict):
    """The same, as both count a part: the driver, and the tracer behind it."""

    card_and_xdp: CardAndXdp


class SourceStack(TypedDict):
    """What the tracer saw in the network stack."""

    stack: TracedCount


Source: TypeAlias = SourceMethod | Literal['not_in_method'] | Literal['method_reports_none'] | Literal['generator'] | SourceTransmit | Literal['no_link_queue'] | SourceLinkQueue | SourcePath | SourceLink | SourceCard | Literal['veth_has_no_queue'] | Literal['receive_drops_have_captured'] | SourceBacklog | SourceXdp | SourceCardAndXdp | SourceStack | SourceNotTraced | SourceFilter | Literal['no_queue'] | SourceQueue | SourceUnread | Literal['verification'] | SourceUnverified
"""Where a count of the ledger comes from, or why there is none. It belongs to one place of the ledger."""


class Throughput(TypedDict):
    """The throughput of a set-up."""

    found: FoundThroughput
    """What the search found."""
    set_up: SearchedSetUp
    """The set-up."""
    trials: list[int]
    """The trials of the lower bound."""


class BackToBack(TypedDict):
    """All searches at one point. The figures are those of the searches that found a longest burst. A search that reached the limit of lengths did not, so it is left out."""

    corrected_buffer_s: NotRequired[float | None]
    """What early versions called `drain_corrected_buffer_s`."""
    deviation_frames: float | None
    """Standard deviation of their lengths, in frames."""
    drain_corrected_buffer_s: NotRequired[float | None]
    """How long the buffer lasts without the frames that were read from it meanwhile: `implied x (1 - drained / burst rate)`, seconds."""
    implied_buffer_s: float | None
    """`mean_frames` divided by the rate of the burst, seconds."""
    least_frames: int | None
    """The shortest of the longest bursts, in frames."""
    mean_frames: float | None
    """Mean length of the longest bursts, in frames: the benchmark."""
    most_frames: int | None
    """The longest of them, in frames."""
    searches: list[Burst2]
    """The searches."""


class Bound(TypedDict):
    """A load that is sustained, or is not."""

    achieved_pps: float
    """The lowest offered load of the trials that count for it: a lower bound is valid up to this load."""
    disturbed: NotRequired[list[int]]
    """Trials that the host disturbed. They count, because repeats were used up, or because a slow CPU causes none."""
    high_loss: NotRequired[HighLoss]
    """High-loss trials among its full-length ones, which lost or left unsent more than allowed. Absent in the first versions."""
    intended_pps: float
    """Intended load, frames per second."""
    losses: NotRequired[Losses]
    """The losses of these trials; absent if they lost nothing."""
    seconds: float
    """Seconds of trials at this load."""
    trials: list[int]
    """Their numbers."""
    untaken: NotRequired[Backlogged]
    """Frames that high-loss trials delivered only because the buffer had room; absent if there were none."""


class EffectRingBehindSocket(TypedDict):
    """Dain's second effect: a ring captures less than a socket's queue once packets are lost."""

    answer: RingAnswer
    """The answer."""
    which: Literal['ring_behind_socket']


Effect: TypeAlias = EffectMoreWorkMorePackets | EffectRingBehindSocket
"""Whether an effect appears, with one method of a sweep of work."""


class Entry(TypedDict):
    """One line of the ledger."""

    count: int | None
    """Number of frames. `None` if no counter here reports it."""
    place: Place
    """The place."""
    source: str
    """The counter, or why there is none, in words, for readers of the file. The report makes them when the trial is saved."""
    source_fact: NotRequired[Source]
    """The same as a fact. Absent in files of versions that did not write it, and of a fact that this version does not know."""


class FactSweepAnswerScales(TypedDict):
    """How methods scale, or how many members a load needs."""

    about: Literal['sweep_answer']
    methods: list[MembersAnswer]
    """The methods, at least one."""
    what: Literal['scales']


class FactSweepAnswerKeepsUp(TypedDict):
    """At which points methods keep up."""

    about: Literal['sweep_answer']
    methods: list[MethodKeepsUp]
    """The methods, those that keep up at most points first."""
    shared_scene: NotRequired[SweepScene]
    """Placement and load, if all methods share them."""
    what: Literal['keeps_up']


class FactSweepAnswerLongestBursts(TypedDict):
    """The longest bursts without loss."""

    about: Literal['sweep_answer']
    methods: list[MethodBursts]
    """The methods, at least one."""
    what: Literal['longest_bursts']


class FactSweepEffect(TypedDict):
    """Whether one of Dain's two effects appears."""

    about: Literal['sweep']
    effect: Effect
    """Whether the effect appears."""
    series: SweepSeries
    """The method."""
    what: Literal['effect']


class FactRfc2544AnswerThroughput(TypedDict):
    """The throughput of each set-up."""

    about: Literal['rfc2544_answer']
    set_ups: list[Throughput]
    """Each set-up."""
    what: Literal['throughput']


class FactBenchInTurns(TypedDict):
    """How the other methods compare with the first one where all took turns at one load."""

    about: Literal['bench']
    below: list[MethodBelow]
    """Methods that are worse."""
    captured_ratio: float
    """Share of the frames that it captured, the median of the rounds."""
    cost_load_pps: NotRequired[float]
    """The load at which CPU times are compared, in packets per second; absent if it is the same, or unknown."""
    costs_by_load: NotRequired[list[CostByLoad]]
    """Methods of which it depends on the load whether they cost less than the first."""
    equal: list[MethodNotBelow]
    """Methods that are equal to the first."""
    fewest_rounds: NotRequired[int]
    """The fewest rounds in which one of the methods ran: one that is known to be worse leaves. Absent if all ran in each, and in older files."""
    first: str
    """The first method."""
    is_of_sent: NotRequired[bool]
    """Whether shares are of what a method was sent, and that is not all of the load. Where the receiver can hold the generator up, unsent frames count as missed."""
    load_pps: float
    """The load in packets per second."""
    may_be_as_good: list[MethodNotBelow]
    """Methods that may be as good as the first, or worse."""
    may_be_better: list[MethodNotBelow]
    """Methods that may also be better."""
    rounds: int
    """Number of rounds."""
    sent: NotRequired[SentShares]
    """How much of the load was sent; absent if all of it was, and if unknown."""
    what: Literal['in_turns']


class GoalFactLosses(TypedDict):
    """What the upper bound lost, and what limits it."""

    at_pps: float
    """The intended load of the upper bound, frames per second."""
    backlogged: Backlogged | None
    """Frames in buffers when sending ended, which count as lost; absent if there were none."""
    limit: Limit | None
    """What limits; absent if unknown."""
    losses: Losses | None
    """What its trials lost; absent if they lost nothing."""
    what: Literal['losses']


GoalFact: TypeAlias = GoalFactLosses | GoalFactDoubts | GoalFactStalls
"""What one or several goals of a search show."""


class Reading(TypedDict):
    """One method at one point."""

    back_to_back: NotRequired[BackToBack]
    """Searches for the longest burst, if the user requested them."""
    delivered_pps: Estimate
    """Offered load times the delivered share."""
    invalid: NotRequired[list[int]]
    """Trials that contradict themselves and do not count."""
    lossless: int
    """Trials that lost none of the sent frames."""
    lost: NotRequired[list[LostAt]]
    """Where frames were lost, in all trials together, most first."""
    offered_pps: Estimate
    """Offered load, frames per second."""
    point: int
    """Index of the point, from 0."""
    sent_loss_ratio: Estimate
    """Share of the sent frames that was lost."""
    taken_pps: Estimate
    """The rate at which the application read frames as long as there were any; too high by up to one batch. Above the sustainable rate, `delivered_pps` also counts frames that were only buffered."""
    total_ns_per_packet: NotRequired[Estimate]
    """CPU time of application and kernel per received frame; absent if a trial does not know it."""
    trials: list[int]
    """Trials that count, in the order in which they ran. For bursts, the overload."""


class Series(TypedDict):
    """One method over the axis."""

    load: NotRequired[str]
    """The load in words; absent if it is the axis."""
    method: str
    """The method."""
    placement: NotRequired[str]
    """The placement; absent if it is the axis."""
    readings: list[Reading]
    """The readings, in the order of the axis, without points that could not be measured."""
    scaling: NotRequired[Scaling]
    """How the rate grows with the number of members; absent if the points are no such numbers."""
    unit_ns: NotRequired[float]
    """Time of one unit of work on an idle application CPU, ns; absent if it is unknown, or if the points are not work."""


class SoFar(TypedDict):
    """Bounds by a coarser target of the search, which requires less trial time than the goal."""

    duration_sum_s: float
    """Maximum trial time that decides a load."""
    lower: Bound
    """Its Relevant Lower Bound."""
    relative_width: float
    """Their distance as a share of the upper one."""
    trial_duration_s: float
    """Length of its full-length trials."""
    upper: Bound
    """Its Relevant Upper Bound."""


class SweepOutcome(TypedDict):
    """The outcome of a sweep: the varied parameter, and the readings of each method at each point. It refers to trials by number."""

    axis: AxisKind
    """The varied parameter."""
    interval: str
    """The same in words."""
    interval_method: NotRequired[IntervalMethod]
    """What the intervals around medians are; absent in files of older versions."""
    points: list[PointRecord]
    """The points, in the order of the axis."""
    quiet_s: float
    """How long trials waited for missing frames, seconds."""
    repeats: int
    """Planned number of visits per point."""
    seed: int
    """The seed of the order."""
    series: list[Series]
    """One series per method, placement and load."""
    stopped: bool
    """Whether it ended early: the user stopped it, or its process ended. Then points have fewer repeats, or none."""
    unit: NotRequired[PointUnit]
    """Unit of the points; absent if they are names."""


class ClaimEvidenceEffect(TypedDict):
    """Whether one of Dain's effects appears."""

    effect: Effect
    """The effect."""
    method: str
    """The method."""
    what: Literal['effect']


class FactSearchGoals(TypedDict):
    """What goals have in common."""

    about: Literal['search']
    goals: list[str]
    """Names of the goals."""
    set_up: SearchedSetUp
    """What the search measured."""
    shows: GoalFact
    """What they have in common."""
    what: Literal['goals']


class GoalResult(TypedDict):
    """The result of a search for one goal."""

    apart: NotRequired[BoundsDistinction]
    """Whether the trials distinguish its bounds; absent unless both are known."""
    conditional_throughput_pps: float | None
    """Conditional Throughput: the rate forwarded at the lower bound in the worst trial that counts. Absent for "at least"."""
    goal: Goal
    """The goal with all its attributes."""
    limit: NotRequired[Limit]
    """What limits it, by the trials at the upper bound, or without one the generator if it sends no more; absent if nothing shows it."""
    lower: Bound | None
    """Relevant Lower Bound."""
    reason: Reason | None
    """Why it is not regular; absent if it is."""
    relative_width: float | None
    """Distance of the bounds as a share of the upper one."""
    so_far: NotRequired[SoFar]
    """If the search ended before the goal had both bounds: those of the finest coarser target that has both."""
    status: Status
    """The quality of the result."""
    upper: Bound | None
    """Relevant Upper Bound."""


class SearchOutcome(TypedDict):
    """A search and its outcome. Its trials are in the list of all trials."""

    buffered: NotRequired[Buffered]
    """Trials that lost nothing at loads above the rate at which frames were read; absent if there are none."""
    ended: End
    """How the search ended."""
    frame_size: SizeLabel | None
    """Their frame size."""
    goals: list[GoalResult]
    """A result for each goal."""
    maximum: MaximumLoad | None
    """The highest load of the search, and its origin; absent if it was not determined."""
    method: str | None
    """The method of its trials; this and the next fields are absent if no trial was run."""
    nth: NotRequired[int]
    """The number of this search among those of this set-up, from 1; absent if there is only one."""
    numbers: LossNumbers
    """Strict, NDR, PDR and loss events."""
    placement: str | None
    """Their placement."""
    plan: SearchPlan
    """The plan of the search. A resumed search needs it."""
    sending_s: float
    """Seconds of traffic."""
    spent_s: float
    """Total seconds, including drains."""
    trials: list[int]
    """Numbers of its trials, in the order in which they were requested."""
    warning_facts: NotRequired[list[SearchWarning]]
    """The same as facts. Absent in files of versions that did not write them."""
    warnings: list[str]
    """Warnings about the result in words, for readers of the file. The report makes them when the search is saved."""
    work: str | None
    """Their work per packet."""


class Results(TypedDict):
    """What a run saves. Null, or absent where that is allowed, is unknown; it is not 0. Units are in the names of members, or in their descriptions. `schema_version` is raised when a reader of older documents would misunderstand newer ones; a later version of capbench can add members without that, and brings its own schema."""

    answers: NotRequired[list[Finding]]
    """What answers the question of the run, the verdict first. Absent in files of versions that did not write it."""
    caveats: NotRequired[list[Finding]]
    """How noisy the run is, and what could not be measured. Absent in files of versions that did not write it."""
    command: list[str]
    """The command, word by word."""
    comparisons: NotRequired[list[Comparison]]
    """Comparisons of methods with the reference method that alternated with them."""
    complete: bool
    """Whether the run completed."""
    environment: Environment
    """The host."""
    exit_code: NotRequired[int]
    """The exit code that follows from the results, once the run ended; 128 + N when signal N stopped it. Absent while it runs, for a run that was killed, and for runs of earlier versions."""
    findings: list[Finding]
    """Findings from these results."""
    host_id: NotRequired[str]
    """Identifies the host of `environment`: a keyed hash of its machine-id(5). Absent if it has none, or as `run_id`."""
    kind: NotRequired[Kind]
    """What the run measured; absent in files of versions that did not write it."""
    not_measured: NotRequired[list[NotMeasured]]
    """Set-ups that the user requested and that could not be measured."""
    recommended: NotRequired[Recommendation]
    """Which method to use, by the trials and searches of a bench. Absent for other runs, for benches of earlier versions, and for a bench whose trials show nothing."""
    reproductions: NotRequired[list[Reproduction]]
    """Repeated experiments of publications, with the published tables next to the measured ones."""
    rfc2544: NotRequired[list[Tested]]
    """Outcomes of RFC 2544 tests other than throughput. Their trials are in `trials`."""
    run_id: NotRequired[str]
    """Identifies the run: a UUID of version 7. Absent in files of versions that did not write it."""
    schema_version: Literal[1]
    """`SCHEMA_VERSION` of the writer."""
    searches: NotRequired[list[SearchOutcome]]
    """Outcomes of searches. Their trials are in `trials`."""
    soak: NotRequired[SoakRecord]
    """The record of a soak, instead of trials."""
    started_unix_s: int
    """When the run started, seconds since the epoch."""
    statement_facts: NotRequired[list[Statement]]
    """The same as facts. Absent in files of versions that did not write them."""
    statements: list[str]
    """Statements of the run about itself: how the test bed was made, and which durations are shorter than the standards require. In words, for readers of the file: the report makes them when the run is saved."""
    sweeps: NotRequired[list[SweepOutcome]]
    """One sweep per varied parameter. Their trials are in `trials`."""
    trials: list[TrialResult]
    """The trials, in the order in which they ran."""


class ClaimEvidenceFigures(TypedDict):
    """The publication's words, with the measured figures."""

    text: str
    """The publication's words. Names of values are in braces."""
    values: NotRequired[dict[str, ClaimValue]]
    """The value of each name."""
    what: Literal['figures']


ClaimEvidence: TypeAlias = ClaimEvidenceFigures | ClaimEvidenceCannotRun | ClaimEvidenceEffect | ClaimEvidenceLoadNotReached | ClaimEvidenceSlowCpus | ClaimEvidenceDisturbed | ClaimEvidenceVisits
"""A part of the evidence for an answer."""


class ClaimText(TypedDict):
    """A text of a claim."""

    text: str
    """The publication's words. Names of values are in braces."""
    values: NotRequired[dict[str, ClaimValue]]
    """The value of each name."""


class ClaimValueText(TypedDict):
    """Another text of the claim."""

    text: str
    """The publication's words. Names of values are in braces."""
    values: NotRequired[dict[str, ClaimValue]]
    """The value of each name."""
    what: Literal['text']


class ClaimValueTexts(TypedDict):
    """A text of the claim for each of several places."""

    joined_by: str
    """What is between two of them."""
    texts: list[ClaimText]
    """The texts."""
    what: Literal['texts']


ClaimValue: TypeAlias = ClaimValueWords | ClaimValueFigure | ClaimValueUnmeasured | ClaimValueLeastShare | ClaimValueWorkTime | ClaimValuePlaces | ClaimValueLosses | ClaimValueUndecided | ClaimValueBuffered | ClaimValueGeneratorSlowed | ClaimValueNothing | ClaimValueText | ClaimValueTexts
"""What a name in a text of a claim stands for."""


class Environment(TypedDict):
    """Facts about the host and the process, as written into the results. An absent or null value could not be determined. An absent group was not collected by the version that wrote it."""

    caches: NotRequired[list[Cache]]
    """Their caches."""
    capbench_version: str
    """Version of capbench."""
    cpu: NotRequired[Cpu]
    """The processors."""
    cpu_model: str | None
    """Model of the first CPU (`/proc/cpuinfo`)."""
    cpus_allowed: int
    """CPUs that this process may use."""
    cpus_online: int
    """Online CPUs."""
    hardware: NotRequired[Machine]
    """The machine as its firmware describes it, and its hypervisor or container."""
    hosts: NotRequired[list[RunHost]]
    """The hosts of a run whose interfaces were named by locations, with the facts about each. The other facts are then those of the host that receives. Empty if both interfaces were of capbench's own process."""
    in_user_namespace: bool
    """Whether the process is in a separate user namespace, without access to the host."""
    interfaces: NotRequired[list[PathInterface]]
    """The interfaces of the run."""
    irq_accounting: IrqAccounting
    """How the kernel accounts CPU time of interrupts."""
    kernel: NotRequired[Kernel]
    """Build and boot settings of the kernel."""
    kernel_release: str | None
    """Release of the kernel, as `uname -r` shows it."""
    kernel_version: str | None
    """Build of the kernel, as `uname -v` shows it."""
    machine: str
    """Machine architecture that capbench was built for, for example `x86_64`."""
    memory: NotRequired[Memory]
    """Memory: nodes, huge pages."""
    memory_bytes: int
    """Memory of the host in bytes."""
    missing_capabilities: list[str]
    """Capabilities that capbench can use and the process lacks."""
    mitigations: NotRequired[dict[str, str]]
    """CPU vulnerabilities and the kernel's mitigations, in the kernel's words."""
    netdev_max_backlog: int | None
    """Packets that a CPU's backlog holds (`net.core.netdev_max_backlog`)."""
    others: NotRequired[Others]
    """Other programs on this host that read packets or move interrupts."""
    program: NotRequired[Program]
    """Its build."""
    rmem_max_bytes: int | None
    """Largest receive buffer of a socket in bytes without CAP_NET_ADMIN (`net.core.rmem_max`)."""
    sysctls: NotRequired[dict[str, str]]
    """Kernel settings by name (sysctl(8)), with the kernel's values."""
    uid: int
    """Effective user id, in the user namespace of the process."""
    virtual_machine: bool | None
    """Whether the CPU reports that it is virtual (flag `hypervisor`, x86 only)."""


class FactSoakNoisy(TypedDict):
    """Segments are noisy."""

    about: Literal['soak']
    noise: Noise
    """The reason."""
    segments: int
    """How many segments."""
    what: Literal['noisy']


class FactReproductionClaim(TypedDict):
    """The answer to a claim."""

    about: Literal['reproduction']
    answer: Answer
    """The answer."""
    claim: str
    """The claim."""
    evidence: list[ClaimEvidence]
    """The evidence."""
    publication: str
    """The publication's key."""
    what: Literal['claim']


class FactTrialsRetried(TypedDict):
    """Attempts at trials were discarded and repeated."""

    about: Literal['trials']
    attempts: list[Attempt]
    """The attempts."""
    noise: Noise
    """What disturbed them."""
    what: Literal['retried']


class FactTrialsNoisy(TypedDict):
    """Trials are noisy for this reason."""

    about: Literal['trials']
    all_trials: int
    """Trials of the run."""
    methods: list[str]
    """Methods of the noisy ones."""
    noise: Noise
    """The reason."""
    noisy_trials: int
    """How many trials are noisy for it."""
    what: Literal['noisy']


class FactCaveatNoisyTrials(TypedDict):
    """Trials are noisy."""

    about: Literal['caveat']
    all_trials: int
    """Trials of the run."""
    cause: NoiseCause
    """The most frequent cause."""
    lowers_rates: bool
    """Whether rates can be higher without that cause."""
    noisy_trials: int
    """Noisy trials, for any cause."""
    what: Literal['noisy_trials']
    with_cause: int
    """Those with that cause."""


class FactCaveatNoisySegments(TypedDict):
    """Segments of a soak are noisy."""

    about: Literal['caveat']
    all_segments: int
    """Segments of the soak."""
    cause: NoiseCause
    """The most frequent cause."""
    noisy_segments: int
    """Segments that are noisy for it."""
    what: Literal['noisy_segments']


Fact: TypeAlias = FactLossPatternAtStart | FactLossPatternWorstWindow | FactLossPatternWorstFlow | FactLossPatternUnmarkedLoss | FactLossPatternRingLossConfirmed | FactSweepAnswerScales | FactSweepAnswerKeepsUp | FactSweepAnswerLongestBursts | FactSweepAnswerHighestRate | FactSweepLossBegins | FactSweepLossAtNamedPoints | FactSweepHardlyAnyLoss | FactSweepLimitedByKernel | FactSweepPacketCost | FactSweepNoCost | FactSweepLivelock | FactSweepLongestBursts | FactSweepMembersGrowth | FactSweepMembersNeeded | FactSweepMembersLaw | FactSweepEffect | FactSweepCrossing | FactSweepCheapestAtPoints | FactSweepCheapestRing | FactSearchAnswerSustained | FactSearchAnswerLimits | FactSearchAnswerUnsettled | FactSearchAnswerRepeated | FactSearchRanking | FactSearchRepeated | FactSearchGoals | FactSearchNumbers | FactSearchBounds | FactSearchNoBounds | FactSearchMaximumLoad | FactSearchBuffered | FactSearchIncomplete | FactRfc2544AnswerNotRepeatable | FactRfc2544AnswerThroughput | FactRfc2544AnswerLoss | FactRfc2544AnswerTime | FactSoakAnswerLoss | FactSoakAnswerWhenLost | FactSoakAnswerDoubts | FactSoakWorstSegment | FactSoakStoredBursts | FactSoakBuffered | FactSoakFewUnsent | FactSoakAllExplained | FactSoakUnexplained | FactSoakOddFrames | FactSoakNoisy | FactSoakFurtherNoise | FactReproductionAnswerSummary | FactReproductionAnswerMoreVisits | FactReproductionAnswerClaims | FactReproductionAnswerUnfinished | FactReproductionClaim | FactTrialsInvalid | FactTrialsSentUnverified | FactTrialsAccountedFor | FactTrialsUnexplained | FactTrialsGeneratorsTogether | FactTrialsMembersShared | FactTrialsLivelock | FactTrialsLoadDepends | FactTrialsOddFrames | FactTrialsProgramReports | FactTrialsMethodUnverified | FactTrialsStalled | FactTrialsRetried | FactTrialsTracerCost | FactTrialsNoisy | FactQueues | FactBenchVerdictEveryTrialInvalid | FactBenchVerdictNoAnswer | FactBenchVerdictNoTime | FactBenchVerdictUse | FactBenchVerdictOneOf | FactBenchVerdictUseMeanwhile | FactBenchVerdictNoneLossless | FactBenchVerdictNotSent | FactBenchInTurns | FactBenchSettle | FactBenchCannotSettle | FactBenchFindHighest | FactBenchProgramsUnknown | FactBenchUnknown | FactBenchPaused | FactBenchWorse | FactBenchOverload | FactBenchCostsEqual | FactBenchCostsDiffer | FactBenchOtherSetUps | FactComparisonOfRuns | FactComparisonOfMethods | FactComparisonRunsDiffer | FactComparisonNote | FactUnfinished | FactCaveatNoisyTrials | FactCaveatNoisySegments | FactCaveatDisturbers | FactCaveatOneWayAbsolute | FactCaveatOneWayRelative | FactCaveatOneWayUnknown | FactCaveatNotMeasured | FactCaveatLeftOut
"""One fact of a run."""


class Finding(TypedDict):
    """A sentence and its evidence. A reader of capbench skips it, and judges the measurements again."""

    fact: NotRequired[Fact]
    """What it says, as data. Absent in files of versions that did not write it."""
    scene: NotRequired[str]
    """What it concerns, if not the whole run: frame size and placement, placement and load, or a publication."""
    subject: NotRequired[Subject]
    """The same as data. Absent in files of versions that did not write it."""
    text: str
    """The sentence."""
    trials: list[int]
    """Numbers of the trials that support it."""


class Guarding(TypedDict):
    """Actions of guards before a trial was accepted."""

    attempt: int
    """Number of the accepted attempt, from 1."""
    recovery: NotRequired[Recovery]
    """Recovery between an overload and this trial; absent if no overload came before it."""
    set_aside: NotRequired[list[Retried]]
    """Discarded attempts before it, with their disturbances."""


class Judgement2(TypedDict):
    """A claim of the publication, and its answer."""

    answer: Answer
    """The answer."""
    chance: NotRequired[float]
    """The probability that chance alone puts all these visits on one side, or, where some visits contradict the others, the level of the test that decides all the same. Absent if the answer does not follow from that."""
    claim: str
    """The claim."""
    evidence: NotRequired[list[ClaimEvidence]]
    """The evidence. Absent in files of versions that did not write it."""
    text: str
    """The evidence in words, for readers of the file. The report makes them when the reproduction is saved."""
    trials: list[int]
    """Trials that support it."""
    visits: NotRequired[int]
    """Visits that support it: the minimum over its points; absent if nothing was measured."""


class NoiseEarlier(TypedDict):
    """A reason of an earlier version, which stated it as text."""

    same_as: NotRequired[Noise]
    """The reason of this version that means the same; absent if none does."""
    text: str
    """The text."""
    what: Literal['earlier']


Noise: TypeAlias = NoiseGeneratorsAbsent | NoiseKernelElsewhere | NoiseLeftInTransmitRing | NoiseKernelWorkInApplicationTime | NoiseUnevenStart | NoiseSlowCpu | NoiseSharedCore | NoiseLoweredClock | NoiseStall | NoiseForeignLoad | NoiseForeignLoadOnSharedCpu | NoisePaused | NoiseSuspend | NoiseClockSpeed | NoiseClockSet | NoiseKeptBack | NoiseSteal | NoiseThrottled | NoiseMissedByTracer | NoiseConnectionLost | NoiseForeignFramesSent | NoiseGeneratorWarning | NoiseProgramIgnoresOption | NoiseProgramStillBusy | NoiseProgramStoppedLate | NoiseProgramUnusualEnd | NoiseProgramLeftProcesses | NoiseProgramNotReported | NoiseProgramCapturedUnlikeFile | NoiseProgramDroppedUnlikeReceived | NoiseProgramMoreThanThereWere | NoiseProgramLastRecordCut | NoiseProgramMissingAtEnd | NoiseShortfall | NoiseInvalid | NoiseEarlier
"""A reason for care with a trial, in the order in which reports list them."""


class NoiseCauseOther(TypedDict):
    """Something else."""

    noise: Noise
    """The reason."""
    what: Literal['other']


NoiseCause: TypeAlias = NoiseCauseSlowCpu | NoiseCauseSharedCore | NoiseCauseLoweredClock | NoiseCauseMissedByTracer | NoiseCauseSteal | NoiseCauseThrottled | NoiseCauseForeignLoad | NoiseCauseStall | NoiseCauseClock | NoiseCauseSuspend | NoiseCauseKernelElsewhere | NoiseCauseOther
"""What made trials noisy."""


class NoisySegments(TypedDict):
    """A reason of noise, and the segments that have it."""

    noise: Noise
    """The reason."""
    segments: int
    """How many segments."""


class Recovery(TypedDict):
    """Findings at low load after an overload."""

    after: int
    """Number of the trial that overloaded the path."""
    probes: list[TrialResult]
    """The probes in order."""
    recovered: bool
    """Whether the last probe was clean."""


class Reproduction(TypedDict):
    """A repeated experiment."""

    complete: bool
    """Whether it completed."""
    conditions: NotRequired[TrialConditions]
    """The conditions of its trials. Absent in files of versions that did not write them."""
    findings: list[Judgement2]
    """Claims that hold, have changed, are inconclusive, or cannot be tested."""
    here: list[str]
    """How this run measured: the words of the publication's file, then those of `conditions`, which the report makes when the reproduction is saved."""
    key: str
    """The publication."""
    source: str
    """Where it was published."""
    tables: list[Comparison2]
    """Tables."""
    then: str
    """How the publication measured."""
    title: str
    """Its authors and its subject."""
    trials: list[int]
    """Its trials."""


class Retried(TypedDict):
    """A discarded attempt."""

    because: list[str]
    """Its disturbances in words, for readers of the file. The report makes them when the trial is saved."""
    because_facts: NotRequired[list[Noise]]
    """Its disturbances as facts. Absent in files of versions that did not write them."""
    trial: TrialResult
    """The attempt."""


class RunHost(TypedDict):
    """A host of a run over locations."""

    environment: Environment
    """The facts about it."""
    host_id: NotRequired[str]
    """Identifies the host: a hash of its machine-id(5); absent if it has none."""
    location: str
    """The location of its interface, as the user named it."""
    role: Role
    """What it did."""


class SoakRecord(TypedDict):
    """A soak."""

    bursts: int
    """Number of bursts."""
    events: list[LossEvent]
    """The largest bursts of loss, by time."""
    further_noise: NotRequired[int]
    """Number of reports of other reasons, after the maximum number was stored."""
    intended_pps: float
    """Intended load."""
    intervals: list[Interval]
    """Intervals, earliest first, with equal numbers of segments except the last."""
    kept: list[TrialResult]
    """The complete trials of the first segment and of the one that lost most."""
    ledger: list[Entry]
    """The ledger of the total. A place that was unknown in one segment is unknown."""
    noise: dict[str, int]
    """Noise reasons in words, with the number of segments that reported each, for readers of the file. The report makes the words when the record is saved."""
    noise_facts: NotRequired[list[NoisySegments]]
    """Noise reasons in the order of reports, with the number of segments that reported each. Absent in files of versions that did not write it."""
    planned_s: float
    """Planned time of sending."""
    segment_s: float
    """Intended length of a segment."""
    segments: int
    """Completed segments."""
    segments_per_interval: int
    """Number of segments per interval."""
    whole: Interval | None
    """The total of all segments."""
    worst: Interval | None
    """The segment that lost most; absent if no segment lost frames."""


class StatementOfAgent(TypedDict):
    """A statement of an agent."""

    location: str
    """Where the agent is."""
    statement: Statement
    """The statement."""
    what: Literal['of_agent']


Statement: TypeAlias = StatementText | StatementResumed | StatementNotMeasured | StatementVirtualLink | StatementSimulatedPath | StatementPlacement | StatementGeneratorThreads | StatementMembersShareCpus | StatementTraced | StatementNotTraced | StatementGuards | StatementGeneratorAbsent | StatementOtherBuild | StatementCableCheck | StatementCountedByAgents | StatementSentUnverified | StatementAgentThreadsNotMoved | StatementAgentThreadsOnMeasuredCpus | StatementConnectionInterruptsUnknown | StatementConnectionInterruptsOnMeasuredCpus | StatementOfAgent
"""A statement of a run about itself."""


class TrialResult(TypedDict):
    """One trial as stored: counts first, then ratios computed from them."""

    capture: NotRequired[CaptureFacts]
    """What captured the frames; absent on a simulated path."""
    clock_class: NotRequired[ClockClass]
    """What the clocks of two hosts allowed to be known of one-way times; absent if sender and receiver had one clock."""
    clock_error_ns: NotRequired[int]
    """The largest error of one-way times between two hosts, as these state it, in nanoseconds; absent if they state none."""
    corrupt: int
    """Damaged frames."""
    counters: dict[str, int]
    """Counter differences over the trial, by name."""
    cpu: CpuAccount
    """CPU time."""
    cpus: Cpus
    """Its CPUs."""
    delivered: int
    """Frames that reached the application intact, counted once each."""
    delivered_pps: float
    """Offered load times the share delivered."""
    departed: NotRequired[Departed]
    """When the trial's frames had left for the link; absent if unknown, or if the link has no speed."""
    disturbance: NotRequired[Disturbance]
    """Disturbances by the host that the trial did not cause."""
    drain_s: float
    """Seconds from the end of sending until the application had read everything or frames stopped arriving."""
    duplicates: int
    """Repeated frames."""
    duration_s: float
    """Intended length of the sending phase in seconds."""
    emptying: NotRequired[Emptying]
    """How long the application went on reading frames after sending ended; absent if nobody saw when it read the last one."""
    flow_sharing: NotRequired[FlowSharing]
    """Whether the members got whole flows; absent if frames were not examined one by one."""
    foreign: int
    """Frames that do not belong to this trial."""
    frame_size: SizeLabel
    """The frame size with FCS, or the name of a mix."""
    generator: str
    """The generator as it ran."""
    generator_facts: NotRequired[list[GeneratorFacts]]
    """The same as facts, each way once. Absent in files of versions that did not write it."""
    generators: NotRequired[list[Generator]]
    """The account of each generator in another process or on another host; empty if the generator was in capbench's own process."""
    guarding: NotRequired[Guarding]
    """Actions of guards before the trial was accepted; absent if there were none."""
    intended: int
    """Frames that the generator should send."""
    intended_pps: float | None
    """Intended load in frames per second; absent if it is not a constant rate."""
    invalid_because: NotRequired[str]
    """Why the trial is invalid; absent if it is valid."""
    kernel_work_share: float | None
    """Share of the kernel's receive work that ran on the CPU chosen for it."""
    latency: NotRequired[Latency]
    """The delay of the frames; absent if it was not recorded."""
    lateness: LatenessSummary | None
    """Lateness of the generator, of several the largest of each figure; absent at maximum load, which has no plan."""
    ledger: list[Entry]
    """Lost frames by place."""
    line_rate_pps: NotRequired[float]
    """Highest rate of frames of this size on the link, in frames per second; absent if it has no speed, as virtual links."""
    livelock: NotRequired[Livelock]
    """A trial of the same set-up that delivered more at a lower load; absent if there is none."""
    load: NotRequired[LoadShape]
    """Shape of a load that is neither a constant rate nor maximum load."""
    load_depends: NotRequired[LoadDepends]
    """Why the offered load depends on the receiver; absent if it does not, and in files of older versions."""
    load_depends_because: str | None
    """The same in words."""
    load_independent: bool
    """Whether the offered load is independent of the receiver."""
    loss_ratio: float
    """1 - delivered / intended: unsent frames count as lost."""
    loss_shape: NotRequired[LossPattern]
    """When frames were lost and how many in a row; absent if frames were not examined one by one, and with several generators: `generators` has it for each."""
    mean_frame_size: float
    """Mean frame size in octets, FCS included."""
    members: NotRequired[list[Member]]
    """The account of each member; empty if the method had one thread."""
    method: str
    """The capture method."""
    noise: list[str]
    """In words, for readers of the file. The report makes them when the trial is saved."""
    noise_facts: NotRequired[list[Noise]]
    """As facts. Absent in files of versions that did not write them."""
    number: int
    """Running number within its run, from 1."""
    offered_pps: float
    """Offered load in frames per second: sent frames divided by the length of the sending phase."""
    phase: Phase
    """The purpose of the trial."""
    placement: str
    """Name of the placement."""
    reordered: int
    """Frames that arrived after a later one."""
    report: NotRequired[ProgramReport]
    """The counts that the program under test reported; absent for methods of capbench."""
    search: NotRequired[int]
    """Number of the search of its set-up to which the trial belongs, from 1; absent if there was one or none."""
    sending_s: float
    """Actual length of the sending phase in seconds."""
    sent: int
    """Frames passed to the kernel."""
    taken_on_trust: NotRequired[str]
    """Why capbench did not verify the trial's frames one by one; absent if it did."""
    traffic: str
    """Headers, flows and the sequence of sizes, as text."""
    transmit: str
    """The transmit method."""
    truncated: int
    """Truncated frames."""
    unexplained: int
    """Sent frames that no place explains."""
    verdict: Verdict
    """The trial's verdict."""
    work: str
    """Work per packet."""
