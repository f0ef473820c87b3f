//! Steps as the file of a publication has them, and the plans that they are on this host.

use std::time::Duration;

use capbench_capture::MethodSpec;
use capbench_capture::options::ByteCount;
use capbench_traffic::layout::{Flows, FrameLayout};
use capbench_traffic::rates::Pps;
use capbench_traffic::sizes::Sizes;
use capbench_traffic::units::FrameSize;
use serde::Deserialize;

use super::conditions::Conditions;
use super::step::{Action, Case, Step};
use crate::error::{MeasureError, Result};
use crate::laboratory::Setup;
use crate::placement::PlacementChoice;
use crate::search::{Goal, Ratio, SearchPlan, Strategy, Width};
use crate::sweep::{Axis, Point, Probe, RingSize, SweepPlan};
use crate::trial::{Load, SizeLabel};
use crate::work::WorkModel;

/// A step of an experiment: its methods in its placements at its points under its loads.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepPlan {
    /// What tables and claims find it by.
    pub(super) name: String,
    summary: String,
    pub(super) does: Does,
    methods: Vec<String>,
    #[serde(default = "same")]
    placements: Vec<String>,
    vary: Option<Vary>,
    #[serde(default)]
    pub(super) points: Vec<u32>,
    /// The points below a scale of [`super::Scale::is_full`], where they are fewer.
    #[serde(default)]
    coarse_points: Vec<u32>,
    /// Whether every method has a point before any has the next one.
    #[serde(default)]
    by_point: bool,
    #[serde(default)]
    loads: Vec<LoadPlan>,
    /// Length of a trial, where it is not that of so many `packets`.
    #[serde(default)]
    length_s: f64,
    packets: Option<f64>,
    least_s: Option<f64>,
    /// Part of the visits that are asked for.
    #[serde(default = "one")]
    visits_divided_by: u32,
    #[serde(default)]
    frames: Frames,
    /// What a loop of the publication's host took, in nanoseconds.
    #[serde(default)]
    pub(super) loop_ns: f64,
    /// Work for each packet, as long as so many of these loops took.
    loops: Option<u32>,
    /// Slots of the ring, each of [`SLOT`].
    slots: Option<u32>,
    /// A ring of so many blocks of 1 MiB.
    blocks: Option<u64>,
}

fn same() -> Vec<String> {
    vec![PlacementChoice::Same.to_string()]
}

fn one() -> u32 {
    1
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Does {
    Trials,
    Sweep,
    /// Searches for the throughput of RFC 2544, up to what fills a link of 1 Gbit/s.
    Search,
}

/// What points are.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Vary {
    /// Frame sizes in octets.
    Size,
    /// Loops for each packet.
    Loops,
    /// Work for each packet that takes as long as so many loops took.
    LoopTime,
    /// Slots of the ring.
    Slots,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
enum LoadPlan {
    /// Packets/s.
    Rate(f64),
    Named(NamedLoad),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NamedLoad {
    /// What fills a link of 1 Gbit/s.
    Wire,
    /// What the generator reaches.
    Maximum,
}

/// What is sent, where that is not frames of 64 octets or of the point's size.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Frames {
    #[default]
    Plain,
    /// Sizes as `--size` has them.
    Sizes(String),
    /// So many flows.
    Flows(u32),
    /// TCP segments as Dain sent them.
    Dain,
}

const SLOT: ByteCount = ByteCount(2048);
const BLOCK: u64 = 1 << 20;

impl StepPlan {
    /// The points that it has at the scale of these conditions.
    pub(super) fn points_at(&self, conditions: &Conditions) -> &[u32] {
        if conditions.scale.is_full() || self.coarse_points.is_empty() {
            &self.points
        } else {
            &self.coarse_points
        }
    }

    /// The step under these conditions.
    pub(super) fn step(&self, conditions: &Conditions) -> Result<Step> {
        let visits = conditions.visits.div_ceil(self.visits_divided_by);
        let seed = conditions.seed;
        let action = match self.does {
            Does::Sweep => Action::Sweep(Box::new(self.sweep(conditions, visits)?)),
            Does::Trials => {
                let mut cases = Vec::new();
                for setup in self.setups(conditions)? {
                    for load in &self.loads {
                        let load = load.of(&setup)?;
                        cases.push(Case {
                            setup: setup.clone(),
                            load,
                            duration: self.length(conditions, load),
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

    fn length(&self, conditions: &Conditions, load: Load) -> Duration {
        let of_packets = self.packets.zip(load.pps()).map(|(packets, pps)| packets / pps);
        let published = Duration::from_secs_f64(of_packets.unwrap_or(self.length_s));
        match self.least_s {
            Some(least) => conditions.scale.of_at_least(published, Duration::from_secs_f64(least)),
            None => conditions.scale.of(published),
        }
    }

    /// What all of its trials have in common.
    fn base(&self, conditions: &Conditions) -> Result<Setup> {
        let mut setup = Setup { placement: PlacementChoice::Same, ..conditions.base.clone() };
        match &self.frames {
            Frames::Plain => {}
            Frames::Sizes(sizes) => {
                setup.sizes = sizes.parse()?;
                setup.label = SizeLabel::Named(setup.sizes.to_string());
            }
            Frames::Flows(flows) => setup.layout.flows = Flows::new(*flows)?,
            Frames::Dain => {
                setup.layout = FrameLayout::dain_2004();
                let size = setup.layout.minimum_size();
                (setup.sizes, setup.label) = (Sizes::Fixed(size), SizeLabel::Octets(size.octets()));
            }
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
            for method in self.methods()? {
                for (nth, size) in sizes.iter().enumerate() {
                    let mut setup = Setup { method: method.clone(), placement, ..base.clone() };
                    if let Some(octets) = size {
                        let size = FrameSize::new(*octets)?;
                        (setup.sizes, setup.label) = (Sizes::Fixed(size), SizeLabel::Octets(size.octets()));
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
        self.placements.iter().map(|name| name.parse().map_err(contradiction)).collect()
    }

    fn methods(&self) -> Result<Vec<MethodSpec>> {
        self.methods.iter().map(|name| name.parse().map_err(contradiction)).collect()
    }

    fn sweep(&self, conditions: &Conditions, visits: u32) -> Result<SweepPlan> {
        let point = |point: &u32| -> Result<Point> {
            Ok(match self.vary {
                Some(Vary::Loops) => Point::Work(WorkModel::Loop(*point)),
                Some(Vary::LoopTime) => Point::Work(self.as_long_as(*point)),
                Some(Vary::Slots) => Point::Ring(RingSize::of_frames(*point, SLOT)?),
                Some(Vary::Size) | None => {
                    return Err(contradiction(format!("no sweep varies what {} does", self.name)));
                }
            })
        };
        let points: Result<Vec<Point>> = self.points_at(conditions).iter().map(point).collect();
        let base = self.base(conditions)?;
        let loads: Result<Vec<Load>> = self.loads.iter().map(|load| load.of(&base)).collect();
        let loads = loads?;
        Ok(SweepPlan {
            axis: Axis::new(points?)?,
            methods: self.methods()?,
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
        let width = Ratio::new(conditions.scale.width()).map_err(|reason| MeasureError::Search { reason })?;
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
        let maximum_pps = Some(gigabit(setup.sizes.sequence(&setup.layout)?.mean_octets())?);
        Ok(SearchPlan { maximum_pps, quiet: conditions.base.quiet, ..SearchPlan::new(vec![goal]) })
    }
}

impl LoadPlan {
    fn of(self, setup: &Setup) -> Result<Load> {
        Ok(match self {
            Self::Rate(pps) => Load::Rate(Pps::new(pps)?),
            Self::Named(NamedLoad::Maximum) => Load::Maximum,
            Self::Named(NamedLoad::Wire) => {
                Load::Rate(gigabit(setup.sizes.sequence(&setup.layout)?.mean_octets())?)
            }
        })
    }
}

fn contradiction(reason: String) -> MeasureError {
    MeasureError::Sweep { reason }
}

/// The rate that fills a link of 1 Gbit/s with frames of this mean size.
///
/// # Errors
/// None: sizes of frames have rates.
pub(super) fn gigabit(mean_octets: f64) -> Result<Pps> {
    const LINK: f64 = 1e9;
    /// Preamble, start delimiter and gap, in octets.
    const BETWEEN: f64 = 20.0;
    Ok(Pps::new(LINK / ((mean_octets + BETWEEN) * 8.0))?)
}
