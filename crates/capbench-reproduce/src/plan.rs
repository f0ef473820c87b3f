//! Steps as defined in the file of a publication, and their plans on this host.

use std::str::FromStr;
use std::time::Duration;

use capbench_frames::layout::{Flows, FrameLayout};
use capbench_frames::rates::Pps;
use capbench_frames::sizes::Sizes;
use capbench_frames::units::FrameSize;
use capbench_model::method_spec::MethodSpec;
use capbench_model::units::ByteCount;
use serde::Deserialize;

use crate::conditions::Conditions;
use crate::step::{Action, Case, Frequency, Step};
use capbench_judge::reproduction::measured::StepFacts;
use capbench_judge::search::{Goal, Ratio, SearchPlan, Strategy, Width};
use capbench_model::laboratory::Setup;
use capbench_model::placement::PlacementChoice;
use capbench_model::softirqs::SoftirqTiming;
use capbench_model::trial::Load;
use capbench_model::work::WorkModel;
use capbench_plan::sweep::{Axis, Point, Probe, RingSize, SweepPlan};
use capbench_plan::{PlanError, Result};

/// A step of an experiment: its methods in its placements at its points with its loads.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StepPlan {
    pub(crate) name: String,
    summary: String,
    pub(crate) does: Does,
    methods: Vec<String>,
    /// `same` if empty.
    placements: Vec<String>,
    vary: Vary,
    pub(crate) points: Vec<u32>,
    /// The points below a scale of [`crate::Scale::is_full`], if fewer are used there.
    coarse_points: Vec<u32>,
    /// Whether every method is measured at a point before the next point.
    by_point: bool,
    /// Packets/s; `wire`, the rate that fills a link of 1 Gbit/s; or `maximum`, the generator's maximum.
    loads: Vec<String>,
    /// Length of a trial, if `packets` does not define it.
    length_s: f64,
    packets: Option<f64>,
    least_s: Option<f64>,
    /// Divisor of the requested visits; 1 if absent.
    visits_divided_by: Option<u32>,
    /// Factor of the requested visits; 1 if absent.
    visits_times: Option<u32>,
    /// Methods that no claim about the step needs.
    seldom_methods: Vec<String>,
    /// Points that a claim needs at which a little noise changes much. Seldom visited methods are not visited more often there.
    often_points: Vec<u32>,
    sizes: Option<String>,
    flows: Option<u32>,
    frames_of_dain: bool,
    /// Time of a loop on the publication's host, in nanoseconds.
    pub(crate) loop_ns: f64,
    loops: Option<u32>,
    /// Slots of the ring, each of [`SLOT`].
    slots: Option<u32>,
    /// A ring of this number of 1 MiB blocks.
    blocks: Option<u64>,
    /// Whether a claim is about CPU time at maximum load: where others use the CPUs, only timed softirqs show it.
    times_softirqs: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Does {
    #[default]
    Trials,
    Sweep,
    /// Searches for the throughput of RFC 2544, up to the rate that fills a link of 1 Gbit/s.
    Search,
}

/// The parameter that the points vary.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Vary {
    /// Frame sizes in octets.
    #[default]
    Size,
    Loops,
    /// Work per packet: the time of this number of loops.
    LoopTime,
    Slots,
}

const SLOT: ByteCount = ByteCount(2048);
const BLOCK: u64 = 1 << 20;

impl StepPlan {
    /// The points at the scale of these conditions.
    pub(crate) fn points_at(&self, conditions: &Conditions) -> &[u32] {
        if conditions.scale.is_full() || self.coarse_points.is_empty() {
            &self.points
        } else {
            &self.coarse_points
        }
    }

    /// What judges of claims need to know of it.
    pub(crate) fn facts(&self, conditions: &Conditions) -> StepFacts {
        StepFacts {
            name: self.name.clone(),
            points: self.points.clone(),
            points_here: self.points_at(conditions).to_vec(),
            is_search: self.does == Does::Search,
            loop_ns: self.loop_ns,
        }
    }

    pub(crate) fn step(&self, conditions: &Conditions) -> Result<Step> {
        let times = self.visits_times.unwrap_or(1);
        let visits = (times * conditions.visits).div_ceil(self.visits_divided_by.unwrap_or(1));
        let seed = conditions.seed;
        let action = match self.does {
            Does::Sweep => Action::Sweep(Box::new(self.sweep(conditions, visits)?)),
            Does::Trials => {
                let mut cases = Vec::new();
                for setup in self.setups(conditions)? {
                    for load in &self.loads {
                        let load = rate(load, &setup)?;
                        cases.push(Case {
                            setup: setup.clone(),
                            load,
                            duration: self.length(conditions, load),
                            frequency: self.frequency(&setup),
                        });
                    }
                }
                Action::Trials { cases, visits, seed }
            }
            Does::Search => {
                let mut searches = Vec::new();
                for setup in self.setups(conditions)? {
                    let plan = self.search(conditions, &setup)?;
                    searches.push((setup, plan));
                }
                Action::Searches(searches)
            }
        };
        Ok(Step { name: self.name.clone(), summary: self.summary.clone(), action })
    }

    fn frequency(&self, setup: &Setup) -> Frequency {
        if self.seldom_methods.contains(&setup.method.to_string()) {
            return Frequency::Seldom;
        }
        let is_often =
            |octets: &u32| FrameSize::new(*octets).is_ok_and(|size| setup.sizes == Sizes::Fixed(size));
        if self.often_points.iter().any(is_often) { Frequency::Often } else { Frequency::Usual }
    }

    fn length(&self, conditions: &Conditions, load: Load) -> Duration {
        let of_packets = self.packets.zip(load.pps()).map(|(packets, pps)| packets / pps);
        let published = Duration::from_secs_f64(of_packets.unwrap_or(self.length_s));
        match self.least_s {
            Some(least) => conditions.scale.of_at_least(published, Duration::from_secs_f64(least)),
            None => conditions.scale.of(published),
        }
    }

    /// The common properties of all its trials.
    fn base(&self, conditions: &Conditions) -> Result<Setup> {
        let mut setup = Setup { placement: PlacementChoice::Same, ..conditions.base.clone() };
        if self.times_softirqs {
            setup.softirqs = SoftirqTiming::EveryTrial;
        }
        if let Some(sizes) = &self.sizes {
            setup.sizes = sizes.parse()?;
        }
        if self.frames_of_dain {
            setup.layout = FrameLayout::dain_2004();
            setup.sizes = Sizes::Fixed(setup.layout.minimum_size());
        }
        if let Some(flows) = self.flows {
            setup.layout.flows = Flows::new(flows)?;
        }
        if let Some(slots) = self.slots {
            let ring = RingSize::of_frames(slots, SLOT)?;
            (setup.capture.ring, setup.capture.block, setup.capture.frame) =
                (ring.ring, ring.block, Some(SLOT));
        }
        if let Some(blocks) = self.blocks {
            (setup.capture.ring, setup.capture.block) = (ByteCount(blocks * BLOCK), ByteCount(BLOCK));
        }
        if let Some(loops) = self.loops {
            setup.work = self.as_long_as(loops).into();
        }
        Ok(setup)
    }

    fn as_long_as(&self, loops: u32) -> WorkModel {
        WorkModel::Nanoseconds((f64::from(loops) * self.loop_ns).round() as u32)
    }

    /// Its set-ups in order: by placement, method and frame size.
    fn setups(&self, conditions: &Conditions) -> Result<Vec<Setup>> {
        let base = self.base(conditions)?;
        let sizes = match self.points_at(conditions) {
            [] => vec![None],
            points => points.iter().map(|octets| Some(*octets)).collect(),
        };
        let mut setups = Vec::new();
        for placement in self.placements()? {
            for method in parsed::<MethodSpec>(&self.methods)? {
                for (nth, size) in sizes.iter().enumerate() {
                    let mut setup = Setup { method: method.clone(), placement, ..base.clone() };
                    if let Some(octets) = size {
                        setup.sizes = Sizes::Fixed(FrameSize::new(*octets)?);
                    }
                    setups.push((nth, setup));
                }
            }
        }
        if self.by_point {
            setups.sort_by_key(|(nth, _)| *nth);
        }
        Ok(setups.into_iter().map(|(_, setup)| setup).collect())
    }

    fn placements(&self) -> Result<Vec<PlacementChoice>> {
        if self.placements.is_empty() { Ok(vec![PlacementChoice::Same]) } else { parsed(&self.placements) }
    }

    fn sweep(&self, conditions: &Conditions, visits: u32) -> Result<SweepPlan> {
        let point = |point: &u32| -> Result<Point> {
            Ok(match self.vary {
                Vary::Size => Point::Size(Sizes::Fixed(FrameSize::new(*point)?)),
                Vary::Loops => Point::Work(WorkModel::Loop(*point)),
                Vary::LoopTime => Point::Work(self.as_long_as(*point)),
                Vary::Slots => Point::Ring(RingSize::of_frames(*point, SLOT)?),
            })
        };
        let points: Result<Vec<Point>> = self.points_at(conditions).iter().map(point).collect();
        let base = self.base(conditions)?;
        let loads: Vec<Load> = self.loads.iter().map(|load| rate(load, &base)).collect::<Result<_>>()?;
        Ok(SweepPlan {
            axis: Axis::new(points?)?,
            methods: parsed(&self.methods)?,
            duration: self.length(conditions, loads.first().copied().unwrap_or(Load::Maximum)),
            base,
            placements: self.placements()?,
            loads,
            probe: Probe::Trial,
            repeats: visits,
            refinement: 0,
            seed: conditions.seed,
            left_out: Vec::new(),
        })
    }

    fn search(&self, conditions: &Conditions, setup: &Setup) -> Result<SearchPlan> {
        let width = Ratio::new(conditions.scale.width()).map_err(|reason| PlanError::Search { reason })?;
        let trial = self.length(conditions, Load::Maximum);
        let goal = Goal {
            name: "rfc2544".into(),
            strategy: Strategy::Binary,
            loss_ratio: Ratio::ZERO,
            exceed_ratio: Ratio::ZERO,
            width: Width::Relative(width),
            final_duration: trial,
            duration_sum: trial,
            initial_duration: trial,
            preceding_targets: 0,
        };
        let maximum_pps = Some(wire(setup)?);
        Ok(SearchPlan { maximum_pps, quiet: conditions.base.quiet, ..SearchPlan::new(vec![goal]) })
    }
}

fn parsed<T: FromStr<Err = String>>(names: &[String]) -> Result<Vec<T>> {
    names.iter().map(|name| name.parse().map_err(|reason| PlanError::Sweep { reason })).collect()
}

fn rate(load: &str, setup: &Setup) -> Result<Load> {
    Ok(match load {
        "maximum" => Load::Maximum,
        "wire" => Load::Rate(wire(setup)?),
        rate => Load::Rate(rate.parse()?),
    })
}

/// The rate that fills a link of 1 Gbit/s with the frames of a set-up.
fn wire(setup: &Setup) -> Result<Pps> {
    gigabit(setup.sizes.sequence(&setup.layout)?.mean_octets())
}

/// The rate that fills a link of 1 Gbit/s with frames of this mean size.
pub(crate) fn gigabit(mean_octets: f64) -> Result<Pps> {
    const LINK: f64 = 1e9;
    /// Preamble, start delimiter and gap, in octets.
    const BETWEEN: f64 = 20.0;
    Ok(Pps::new(LINK / ((mean_octets + BETWEEN) * 8.0))?)
}
