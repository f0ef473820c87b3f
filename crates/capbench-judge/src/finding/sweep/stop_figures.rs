//! The figures that show why more members bring no more, by the cause and the trials at the first number that brings no more.

use capbench_model::members::imbalance;
use capbench_model::places::Place;
use capbench_model::trial::TrialResult;
use serde::Serialize;

use crate::limit::Limit;
use crate::sweep::outcome::{Reading, Swept};
use crate::sweep::scaling::Scaling;

/// What stops more members from bringing more, with the figures that show it. A figure is absent if a trial does not know it.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum StopFigures {
    /// Nothing: they read the whole load.
    Load,
    /// The generator: they read all that it sends.
    Generator {
        /// The rate that it sends, in packets per second.
        offered_pps: f64,
        /// Share of the time for which the busiest member is busy.
        busiest_ratio: Option<f64>,
    },
    /// The kernel's receive work, which one CPU does.
    Kernel {
        /// The CPU.
        cpu: Option<u32>,
        /// Share of the time for which it does receive work.
        kernel_ratio: Option<f64>,
        /// Share of the time for which the members are busy.
        members: MembersBusy,
    },
    /// The sharing of the frames: one member gets too large a part.
    Sharing {
        /// What one member gets in addition to an equal share, as a share of it.
        excess_ratio: Option<f64>,
        /// Share of the time for which the idlest member is busy.
        idlest_ratio: Option<f64>,
    },
    /// Several members share a CPU.
    SharedCpus {
        /// Number of CPUs.
        cpus: usize,
    },
    /// A part of the work that one member does at a time.
    Contention {
        /// What each reads, as a share of what one alone reads.
        of_one_alone: Option<f64>,
    },
    /// Work that members cause each other.
    Coherence {
        /// What each reads, as a share of what one alone reads.
        of_one_alone: Option<f64>,
    },
    /// Something that busy members share.
    Members,
    /// The figures of the trials do not decide it.
    Unknown {
        /// Share of the time for which the members are busy.
        members: MembersBusy,
        /// Share of the sent frames that was lost.
        loss_ratio: f64,
        /// Where most of them were lost.
        place: Option<Place>,
    },
}

/// Share of the time for which members are busy.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MembersBusy {
    /// The idlest of them.
    pub idlest_ratio: Option<f64>,
    /// The busiest.
    pub busiest_ratio: Option<f64>,
}

/// The figures of a cause at the number of members that brings no more.
pub(super) fn stop_figures(
    swept: &Swept<'_>,
    reading: &Reading,
    cause: Limit,
    scaling: &Scaling,
) -> StopFigures {
    let first_trial = swept.trials_of(reading).next();
    match cause {
        Limit::Load => StopFigures::Load,
        Limit::Generator => StopFigures::Generator {
            offered_pps: reading.offered_pps.median,
            busiest_ratio: members_busy(swept, reading).busiest_ratio,
        },
        Limit::Backlog => StopFigures::Kernel {
            cpu: first_trial.and_then(|trial| trial.profile.cpus.kernel),
            kernel_ratio: swept.median(reading, |trial| Some(trial.kernel_cpu_busy()?.min(1.0))),
            members: members_busy(swept, reading),
        },
        Limit::Sharing => StopFigures::Sharing {
            excess_ratio: swept.median(reading, |trial| imbalance(&trial.members)),
            idlest_ratio: members_busy(swept, reading).idlest_ratio,
        },
        Limit::SharedCpus => StopFigures::SharedCpus { cpus: first_trial.map_or(0, cpus_of_members) },
        Limit::Contention => {
            StopFigures::Contention { of_one_alone: part_of_one_alone(swept, reading, scaling) }
        }
        Limit::Coherence => {
            StopFigures::Coherence { of_one_alone: part_of_one_alone(swept, reading, scaling) }
        }
        Limit::Members => StopFigures::Members,
        _ => StopFigures::Unknown {
            members: members_busy(swept, reading),
            loss_ratio: reading.sent_loss_ratio.median,
            // The place with most lost frames is the first one.
            place: reading.lost.first().map(|most| most.place),
        },
    }
}

/// The medians over the trials of a reading.
fn members_busy(swept: &Swept<'_>, reading: &Reading) -> MembersBusy {
    MembersBusy {
        idlest_ratio: swept.median(reading, |trial| busy_share(trial, f64::min)),
        busiest_ratio: swept.median(reading, |trial| busy_share(trial, f64::max)),
    }
}

/// Share of the time for which one member of a trial is busy: with `f64::min` the idlest one, with `f64::max` the busiest. `None`
/// without members.
fn busy_share(trial: &TrialResult, select: fn(f64, f64) -> f64) -> Option<f64> {
    let busy = trial.members.iter().map(|member| trial.member_busy(member)).reduce(select)?;
    Some(busy.min(1.0))
}

/// Number of CPUs on which the members of a trial ran.
fn cpus_of_members(trial: &TrialResult) -> usize {
    let mut cpus: Vec<u32> = trial.members.iter().map(|member| member.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus.len()
}

/// What each member reads by the law, as a share of what one alone reads.
fn part_of_one_alone(swept: &Swept<'_>, reading: &Reading, scaling: &Scaling) -> Option<f64> {
    let law = scaling.law.as_ref()?.law();
    let members = swept.outcome.points.get(reading.point)?.at?;
    Some(law.rate(members) / members / law.lambda)
}
