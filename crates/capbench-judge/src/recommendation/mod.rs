//! Which method to use on this host: a pure function of the trials and searches of a bench.
//!
//! Methods are ranked within one set-up only: the same frame size, placement and work. They are ranked by the highest load that
//! they sustain without loss. Methods whose limits are not distinguished are ranked by their CPU time per packet at one equal
//! load, and then by the privilege that they need. docs/bench.md has the rules.
//!
//! | file | what |
//! |---|---|
//! | `bounds` | the limits of one method: what its trials and its search show |
//! | `cost` | CPU time per packet at the equal load |
//! | `limiting` | what limits the rate of a row, and whether the order follows the rates |
//! | `rank` | the order of the methods of one set-up, and what is certain about it |
//! | `choice` | the best of several methods with equal limits |
//! | [`turns`] | the best method at one load, by trials in turns |
//! | `by_turns` | what the trials in turns change of the order and the conclusion |
//! | `far_behind` | methods that captured far less of a load than noise explains: they are worse |
//! | `last` | methods that come behind all others |
//! | `certain` | which method to use as far as that is certain |

mod bounds;
mod by_turns;
mod certain;
mod choice;
mod cost;
mod far_behind;
mod last;
mod limiting;
mod rank;
pub mod turns;

pub use certain::CertainChoice;

use crate::limit::Limit;
use crate::sustained::{Sustains, is_as_high, is_higher};
use crate::thresholds::{LOWER_BOUND_PRECISION, TURN_LENGTH};
use capbench_model::method_spec::MethodSpec;
use capbench_model::places::Place;
use capbench_model::saved::{SavedMethod, SavedPlacement, SavedWork};
use capbench_model::trial::{Phase, Profile, SizeLabel, TrialResult, Verdict};
use capbench_model::work::Work;
use capbench_statistics::by_key;
use serde::{Deserialize, Serialize};

use crate::search::SearchOutcome;

/// The goal of a bench's searches without any loss.
pub const LOSSLESS: &str = "lossless";
/// The goal of a bench's searches that allows up to 0.1 % loss.
pub const NEARLY_LOSSLESS: &str = "nearly-lossless";

/// Which method to use on this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Recommendation {
    /// The question that it answers.
    pub question: Question,
    /// The method to use, by the first ranking; absent if its trials name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<SavedMethod>,
    /// How certain it is that no other method is better; absent if its trials leave several methods, or name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certainty: Option<Certainty>,
    /// One ranking per set-up. The first one answers the question: it has the smallest frames, in the first placement.
    pub rankings: Vec<Ranking>,
}

/// The question that a bench answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Question {
    /// Which method sustains the highest load without loss?
    HighestRate,
    /// Which of the methods that sustain this load costs the least CPU time?
    CheapestAt {
        /// The load in frames per second.
        pps: f64,
    },
}

/// The methods of one set-up, the recommended one first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Ranking {
    /// The frame size with FCS, or the name of a mix.
    pub frame_size: SizeLabel,
    /// The placement.
    pub placement: SavedPlacement,
    /// Work per packet.
    pub work: SavedWork,
    /// The precision to which the methods of the first rank were searched, or if none was, the finest of the others. Methods whose
    /// limits differ by more than twice this share are distinguished on a quiet host. Absent if no search ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// The load at which CPU time is compared, in frames per second. Absent if no load was sustained by all that were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal_load_pps: Option<f64>,
    /// Which method is best at one load, by trials in turns. Absent if there were none, and in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<turns::Turns>,
    /// The methods, best first.
    pub methods: Vec<Ranked>,
    /// What follows from the order.
    pub conclusion: Conclusion,
}

/// One method in a ranking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Ranked {
    /// The method.
    pub method: SavedMethod,
    /// Its rank by sustained load, from 1. The limits of methods with the same rank are not distinguished.
    pub rank: u32,
    /// How certain it is that its limit is below that of the first rank. Absent for that rank, which also has the methods whose
    /// limit is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Certainty>,
    /// The highest load that it sustains without loss.
    pub lossless: Sustained,
    /// The highest load at which it loses up to 0.1 % of the frames.
    pub nearly_lossless: Sustained,
    /// CPU time per packet at the equal load; absent if it was not measured there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// What limits it without loss; the generator if no load showed its own limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<Limit>,
    /// The place that loses most frames just above its limit; absent if it lost none, or at an unknown place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_at: Option<Place>,
    /// Number of trials that support these figures.
    pub trials: u32,
    /// How many of them noise may have changed.
    pub disturbed: u32,
}

/// The highest load that a method sustains, frames per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Sustained {
    /// What is known of it.
    pub status: SustainedStatus,
    /// The highest load that it sustained; absent if it sustained none of the loads that were tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_pps: Option<f64>,
    /// The lowest load that it did not sustain; absent if no load showed its limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_pps: Option<f64>,
    /// The lowest load at which it lost more frames than the host's disturbances explain: its limit is certainly below. Equal to
    /// `upper_pps` on a quiet host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most_pps: Option<f64>,
    /// Distance of the bounds as a share of the upper one; absent unless both are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// The distance of the bounds that its search aimed at, as a share of the upper one. Absent without a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searched_to: Option<f64>,
    /// Numbers of the trials at both bounds.
    pub trials: Vec<u32>,
}

/// What is known of a sustained load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SustainedStatus {
    /// The limit is between two bounds.
    Between,
    /// No load showed the limit: generator, link or user allowed no higher one.
    AtLeast,
    /// The host disturbed the trials at the upper bound. The limit can be above it.
    Disturbed,
    /// It did not sustain the lowest load that was tried.
    NotReached,
    /// No trial shows anything.
    Unknown,
}

/// CPU time per packet at the equal load, in nanoseconds. Medians of the visits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cost {
    /// Time of the application: the middle of the interval that contains it. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_ns: Option<f64>,
    /// Half the width of the interval that contains it, by clocks and visits.
    pub app_error_ns: f64,
    /// Time of application and kernel; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_ns: Option<f64>,
    /// Half the width of the interval that contains it, by clocks and visits.
    pub total_error_ns: f64,
    /// Numbers of the trials.
    pub trials: Vec<u32>,
    /// Whether the host disturbed one of them.
    pub disturbed: bool,
}

/// What follows from the order of the methods of a set-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Conclusion {
    /// Use this method.
    Use {
        /// The method.
        method: SavedMethod,
        /// What puts it above the next one.
        because: Because,
        /// How certain it is that no method outside `equal` is better.
        certainty: Certainty,
        /// Methods whose limits and costs are known, and equal to its own within their errors.
        equal: Vec<SavedMethod>,
    },
    /// The trials leave several methods.
    OneOf {
        /// The one of them to use meanwhile: it sustains a load without loss and costs least. Absent in old files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        best: Option<SavedMethod>,
        /// All of them, the one with the highest known load first.
        methods: Vec<SavedMethod>,
        /// Methods that are worse all the same.
        worse: Vec<SavedMethod>,
    },
    /// No method sustained any load, or the load asked for, without loss.
    NoneLossless {
        /// The method that comes closest; absent if no trial shows one.
        best: Option<SavedMethod>,
        /// What limits that method.
        limit: Option<Limit>,
        /// The place that loses most of its frames.
        place: Option<Place>,
    },
    /// The generator did not send the load in question, so no method was tested at it.
    NotSent {
        /// The load that it sent, frames per second.
        sent_pps: f64,
    },
    /// No trial shows anything about a method.
    Nothing,
}

/// Why a method is recommended and not the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// No other method was measured.
    OnlyOne,
    /// It sustains the highest load, or it alone sustains the load asked for.
    Rate,
    /// Among equal rates it costs the least application time.
    ApplicationTime,
    /// Among equal rates and equal application time it costs the least CPU time in all.
    TotalTime,
    /// Among equal rates and costs it needs the least privilege.
    Privilege,
    /// Nothing distinguishes it from the methods in `equal`.
    Equal,
}

/// How certain a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// Trials in turns decide. Without them, the host disturbed up to half of the trials of the set-up, and either the intervals are further
    /// apart than the stated precision, or undisturbed trials of the cost decide.
    Certain,
    /// The same, but the intervals are closer, a trial of the cost was disturbed, or more than half of all trials.
    Likely,
}

/// The set-up in which methods are compared.
#[derive(Clone, PartialEq)]
struct Scene {
    frame_size: SizeLabel,
    placement: SavedPlacement,
    work: SavedWork,
}

impl Scene {
    /// The set-up of a trial.
    fn of_trial(trial: &TrialResult) -> Self {
        let profile = &trial.profile;
        Self {
            frame_size: profile.frame_size.clone(),
            placement: profile.placement.clone(),
            work: profile.work.clone(),
        }
    }

    fn is_of_ranking(&self, ranking: &Ranking) -> bool {
        self.frame_size == ranking.frame_size
            && self.placement == ranking.placement
            && self.work == ranking.work
    }

    /// Whether a program captures here, which has its own work.
    fn is_of_program(&self) -> bool {
        self.work == Work::OfProgram
    }
}

/// One method in one set-up.
struct Entrant<'r> {
    method: &'r SavedMethod,
    /// Its valid trials that show what it sustains: those in turns are too short.
    trials: Vec<&'r TrialResult>,
    /// Its valid trials at loads at which costs are compared.
    for_costs: Vec<&'r TrialResult>,
    /// Whether it took turns with others in short trials.
    takes_turns: bool,
    searches: Vec<&'r SearchOutcome>,
}

/// Recommends a method, by the trials and searches of a bench. `None` if there are no trials of a bench.
pub fn recommend(trials: &[TrialResult], searches: &[SearchOutcome]) -> Option<Recommendation> {
    let question = question_of_bench(trials)?;
    let mut rankings = Vec::new();
    for SceneTrials { scene, trials } in scenes_in_order(trials) {
        let entrants = entrants(&trials, searches);
        let mut ranking = rank::ranking(question, &scene, &entrants);
        if let Some(turns) = turns::judged(&trials) {
            ranking.decide_by(question, turns);
        }
        ranking.decide_far_behind(question, &entrants);
        rankings.push(ranking);
    }
    Recommendation::by_first_ranking(question, rankings)
}

/// The question that a bench with these trials answers; `None` if they are of no bench.
fn question_of_bench(trials: &[TrialResult]) -> Option<Question> {
    if let Some(trial) = trials.iter().find(|trial| trial.phase == Phase::FixedLoad) {
        return Some(Question::CheapestAt { pps: trial.intended_pps? });
    }
    let has_maximum_load = trials.iter().any(|trial| trial.phase == Phase::BestEffort);
    has_maximum_load.then_some(Question::HighestRate)
}

/// The trials of a bench in one set-up, at least one.
struct SceneTrials<'r> {
    scene: Scene,
    trials: Vec<&'r TrialResult>,
}

/// The set-ups of a bench: those in the placement of the first trial before the others, and small frames before large ones.
fn scenes_in_order(trials: &[TrialResult]) -> Vec<SceneTrials<'_>> {
    let mut of_bench: Vec<&TrialResult> = trials.iter().collect();
    of_bench.retain(|trial| {
        matches!(
            trial.phase,
            Phase::BestEffort
                | Phase::CommonLoad
                | Phase::Confirmation
                | Phase::FixedLoad
                | Phase::Search
                | Phase::Turns
        )
    });
    let Some(first) = of_bench.first() else { return Vec::new() };
    let first_placement = &first.profile.placement;
    let mut scenes = Vec::new();
    for (scene, trials) in by_key(of_bench.iter().copied(), |trial| compared_in(trial, &of_bench)) {
        scenes.push(SceneTrials { scene, trials });
    }
    // The sort is stable: equal set-ups stay in the order in which they ran.
    scenes.sort_by(|one, other| {
        let by_placement =
            (one.scene.placement != *first_placement).cmp(&(other.scene.placement != *first_placement));
        let octets = one.trials[0].profile.mean_frame_size;
        by_placement.then(octets.total_cmp(&other.trials[0].profile.mean_frame_size))
    });
    scenes
}

/// The set-up in which the method of a trial is compared. A program, which has its own work, is compared with the methods of the
/// first work.
fn compared_in(trial: &TrialResult, trials: &[&TrialResult]) -> Scene {
    let scene = Scene::of_trial(trial);
    if !scene.is_of_program() {
        return scene;
    }
    for other in trials {
        let other_scene = Scene::of_trial(other);
        let is_same_but_work =
            other_scene.frame_size == scene.frame_size && other_scene.placement == scene.placement;
        if is_same_but_work && !other_scene.is_of_program() {
            return other_scene;
        }
    }
    scene
}

/// The methods of a set-up in the order in which they ran.
fn entrants<'r>(trials: &[&'r TrialResult], searches: &'r [SearchOutcome]) -> Vec<Entrant<'r>> {
    let mut entrants = Vec::new();
    for (method, mut trials) in by_key(trials.iter().copied(), |trial| &trial.profile.method) {
        let profile = &trials[0].profile;
        let searches = searches.iter().filter(|search| is_search_of(search, profile)).collect();
        let takes_turns = trials.iter().any(|trial| trial.phase == Phase::Turns);
        trials.retain(|trial| trial.verdict != Verdict::Invalid && trial.phase != Phase::Turns);
        let mut for_costs = trials.clone();
        for_costs.retain(|trial| matches!(trial.phase, Phase::CommonLoad | Phase::FixedLoad));
        trials.retain(|trial| !(takes_turns && is_short(trial)));
        entrants.push(Entrant { method, trials, for_costs, takes_turns, searches });
    }
    entrants
}

/// Whether a trial is as short as those in turns.
fn is_short(trial: &TrialResult) -> bool {
    trial.duration_s <= TURN_LENGTH.as_secs_f64()
}

fn is_search_of(search: &SearchOutcome, profile: &Profile) -> bool {
    search.method.as_ref() == Some(&profile.method)
        && search.frame_size.as_ref() == Some(&profile.frame_size)
        && search.placement.as_ref() == Some(&profile.placement)
        && search.work.as_ref() == Some(&profile.work)
}

impl Recommendation {
    /// `None` without a ranking.
    fn by_first_ranking(question: Question, rankings: Vec<Ranking>) -> Option<Self> {
        let mut recommended = None;
        let mut certainty_of_method = None;
        match &rankings.first()?.conclusion {
            Conclusion::Use { method, certainty, .. } => {
                recommended = Some(method.clone());
                certainty_of_method = Some(*certainty);
            }
            Conclusion::OneOf { best, .. } => recommended.clone_from(best),
            Conclusion::NoneLossless { .. } | Conclusion::NotSent { .. } | Conclusion::Nothing => {}
        }
        Some(Self { question, method: recommended, certainty: certainty_of_method, rankings })
    }

    /// The ranking that answers the question.
    pub fn headline(&self) -> Option<&Ranking> {
        self.rankings.first()
    }

    /// Whether it names a method, or several equal ones, with certainty, and others were measured, too.
    pub fn is_conclusive(&self) -> bool {
        match self.headline().map(|ranking| &ranking.conclusion) {
            Some(Conclusion::Use { certainty, because, .. }) => {
                *certainty == Certainty::Certain && *because != Because::OnlyOne
            }
            _ => false,
        }
    }
}

/// Whether a method sustains a load with up to this loss in every set-up in which it was measured. One set-up in which it does not
/// decides; else one in which that is unknown.
pub fn sustains(
    trials: &[TrialResult],
    searches: &[SearchOutcome],
    method: &MethodSpec,
    pps: f64,
    loss_ratio: f64,
) -> Sustains {
    let of_method = trials.iter().filter(|trial| trial.profile.method == *method);
    let mut answer = None;
    for (_, trials) in by_key(of_method, |trial| Scene::of_trial(trial)) {
        for entrant in entrants(&trials, searches) {
            match Sustained::from_entrant(&entrant, loss_ratio).sustains(pps) {
                Sustains::No => return Sustains::No,
                Sustains::Unknown => answer = Some(Sustains::Unknown),
                Sustains::Yes => answer = answer.or(Some(Sustains::Yes)),
            }
        }
    }
    answer.unwrap_or(Sustains::Unknown)
}

impl Sustained {
    /// Whether it sustained a load, and its limit may be far above that: no load showed it, noise hides it, or none near it was tried.
    pub fn is_lower_bound(&self) -> bool {
        let is_far = match self.status {
            SustainedStatus::AtLeast | SustainedStatus::Disturbed => true,
            SustainedStatus::Between => {
                self.precision.is_none_or(|precision| precision > LOWER_BOUND_PRECISION)
            }
            SustainedStatus::NotReached | SustainedStatus::Unknown => false,
        };
        self.lower_pps.is_some() && is_far
    }

    /// Whether a load is sustained. It is unknown between the bounds, and above all loads that were tried.
    fn sustains(&self, pps: f64) -> Sustains {
        if self.lower_pps.is_some_and(|lower| is_as_high(lower, pps)) {
            return Sustains::Yes;
        }
        match self.upper_pps {
            Some(upper) if !is_higher(upper, pps) => Sustains::No,
            _ => Sustains::Unknown,
        }
    }
}

impl Ranking {
    /// The methods between which its trials do not decide.
    pub fn undecided(&self) -> &[SavedMethod] {
        match &self.conclusion {
            Conclusion::OneOf { methods, .. } => methods,
            _ => &[],
        }
    }

    /// The highest load that any of its methods sustained without loss, frames per second.
    pub fn leading_pps(&self) -> Option<f64> {
        self.methods.iter().filter_map(|ranked| ranked.lossless.lower_pps).reduce(f64::max)
    }

    /// The figures of a method.
    pub fn find<M>(&self, method: &M) -> Option<&Ranked>
    where
        SavedMethod: PartialEq<M>,
    {
        self.methods.iter().find(|ranked| ranked.method == *method)
    }
}
