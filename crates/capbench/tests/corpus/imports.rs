//! The types of capbench that the corpus needs. No other file of it names a crate of capbench whose content may move, but for
//! `simulated`, which makes plans.

pub use capbench::exit;
pub use capbench_dataset::compare as datasets;
pub use capbench_dataset::export::Export;
pub use capbench_dataset::layout::Labels;
pub use capbench_dataset::page;
pub use capbench_judge::comparison::runs::of_runs;
pub use capbench_judge::comparison::{Comparison, Measure, Thresholds};
pub use capbench_judge::finding::bench::{
    BenchFinding, BenchVerdict, ComparedTime, CostByLoad, MethodBelow, MethodNotBelow, MethodsInTurns,
    NsRange, PausedMethod, Rivals, SustainedRate, WorseMethod,
};
pub use capbench_judge::finding::caveats::Caveat;
pub use capbench_judge::finding::comparison::{
    ComparedMethods, ComparisonFinding, ComparisonOutcome, FigureAnswer, FigureCounts, KnownChange,
};
pub use capbench_judge::finding::disturbers::{CpuUse, Disturber};
pub use capbench_judge::finding::loss_pattern::LossPatternFinding;
pub use capbench_judge::finding::noise::NoiseCause;
pub use capbench_judge::finding::rfc2544::{
    FoundThroughput, Rfc2544Answer, TestFact, TestResult, Throughput,
};
pub use capbench_judge::finding::search::{
    FoundLoad, GoalFact, LimitOfMethods, LowestLoad, MethodLoad, SearchAnswer, SearchFinding,
    SetUp as SearchedSetUp, SustainedLoads,
};
pub use capbench_judge::finding::sweep::answers::{KeptUp, LossAtHighestRate, MethodKeepsUp};
pub use capbench_judge::finding::sweep::loss::LimitFrom;
pub use capbench_judge::finding::sweep::members::{MembersGrowth, MembersRate, MembersStop};
pub use capbench_judge::finding::sweep::members_answer::Scales;
pub use capbench_judge::finding::sweep::point::{SweepPoint, SweepSeries};
pub use capbench_judge::finding::sweep::series::{KeepsUp, KeptPoints};
pub use capbench_judge::finding::sweep::stop_figures::StopFigures;
pub use capbench_judge::finding::sweep::{SweepAnswer, SweepFinding};
pub use capbench_judge::finding::trials::{Account, TrialFinding};
pub use capbench_judge::finding::unfinished::{TriedLoad, Unfinished};
pub use capbench_judge::finding::{Finding as Fact, Found, comparison};
pub use capbench_judge::limit::Limit;
pub use capbench_judge::livelock;
pub use capbench_judge::recommendation::turns::{BelowBy, Multiple};
pub use capbench_judge::recommendation::{Certainty, recommend, sustains};
pub use capbench_judge::search::{GoalResult, Held, MaximumSource, Reason, SearchOutcome};
pub use capbench_judge::sustained::buffered_frames;
pub use capbench_judge::sweep::outcome::{Reading, Series, SweepScene};
pub use capbench_judge::thresholds::REPORTED_CHANGE_OF_HOSTS;
pub use capbench_model::places::Place;
pub use capbench_model::requirement::Requirement;
pub use capbench_model::saved::SavedMethod;
pub use capbench_model::trial::{Load, Phase, SizeLabel, Trial, TrialResult, Verdict};
pub use capbench_model::work::Work;
pub use capbench_plan::search::{self, Stored};
pub use capbench_report::formats::text::{self, Extent};
pub use capbench_report::model::{Report, Sentence};
pub use capbench_report::sentences;
pub use capbench_report::{recommendation, report};
pub use capbench_results::read::{self, Run};
pub use capbench_results::{Finding, Results};
