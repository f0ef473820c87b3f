//! The simulated path: a generator with a known top rate, a backlog, and methods behind it.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_frames::schedule::Step;
use capbench_model::counters::{Counters, Loss};
use capbench_model::places::Place;
use capbench_model::reasons::NoDelays;
use capbench_model::statement::Statement;

use super::group::Group;
use super::method::{Ability, SimulatedMethod};
use super::passage::Interrupts;
use super::passage::{Chance, ForeignWork, LossBursts, Noise};
use super::passage::{Offered, Passage, through};
use capbench_model::arrivals::Arrivals;
use capbench_model::disturbance::{CpuDisturbance, Disturbance};
use capbench_model::evidence::Evidence;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::latency::{Delays, Latency};
use capbench_model::saved::Saved;
use capbench_model::trial::{
    CpuAccount, Cpus, Departed, Emptying, Load, Measured, Phase, Profile, Trial, TrialResult,
};
use capbench_model::work::Work;
use capbench_model::work::WorkModel;
use capbench_model::{Result, TrialError};

/// Conditions of every trial on the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions {
    pub(super) backlog_pps: f64,
    pub(super) noise: Noise,
    pub(super) bursts: Option<LossBursts>,
    foreign: Option<ForeignWork>,
    seed: u64,
}

/// A path whose generator reaches a known rate. By default it is exact: no noise, no bursts, and a backlog that passes any load.
#[derive(Clone, Debug)]
pub struct SimulatedLaboratory {
    generator: f64,
    line_rate: Option<Pps>,
    conditions: Conditions,
    interrupts: Option<Interrupts>,
    methods: Vec<SimulatedMethod>,
    shows_moments: bool,
    trials: u32,
}

impl SimulatedLaboratory {
    /// A path with these methods.
    pub fn new(generator: f64, methods: Vec<SimulatedMethod>) -> Self {
        let conditions = Conditions {
            backlog_pps: f64::INFINITY,
            noise: Noise::default(),
            bursts: None,
            foreign: None,
            seed: 0,
        };
        Self {
            generator,
            line_rate: None,
            conditions,
            interrupts: None,
            methods,
            shows_moments: false,
            trials: 0,
        }
    }

    /// Frames per second that the backlog passes on; it loses the excess.
    #[must_use]
    pub fn backlog(mut self, pps: f64) -> Self {
        self.conditions.backlog_pps = pps;
        self
    }

    /// The link carries up to `line_rate`, and the generator waits for the link.
    #[must_use]
    pub fn line_rate(mut self, line_rate: Pps) -> Self {
        self.line_rate = Some(line_rate);
        self
    }

    /// Frames arrive through a card that interrupts.
    #[must_use]
    pub fn interrupts(self, interrupts: Interrupts) -> Self {
        Self { interrupts: Some(interrupts), ..self }
    }

    /// Capacities vary, by this seed.
    #[must_use]
    pub fn noise(mut self, seed: u64, noise: Noise) -> Self {
        self.conditions = Conditions { seed, noise, ..self.conditions };
        self
    }

    /// Results contain the number of 100 ms windows in which frames were lost.
    #[must_use]
    pub fn showing_moments(self) -> Self {
        Self { shows_moments: true, ..self }
    }

    /// Frames are lost in bursts, by this seed.
    #[must_use]
    pub fn bursts(mut self, seed: u64, bursts: LossBursts) -> Self {
        self.conditions = Conditions { seed, bursts: Some(bursts), ..self.conditions };
        self
    }

    /// Other work disturbs trials, by this seed.
    #[must_use]
    pub fn foreign_work(mut self, seed: u64, foreign: ForeignWork) -> Self {
        self.conditions = Conditions { seed, foreign: Some(foreign), ..self.conditions };
        self
    }

    /// Highest frame rate that can be sent, in frames per second.
    fn reaches(&self) -> f64 {
        self.line_rate.map_or(self.generator, |line| self.generator.min(line.get()))
    }
}

impl Laboratory for SimulatedLaboratory {
    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Trial + '_>> {
        let name = setup.method.to_string();
        let without_members = setup.method.with_members(None);
        let mut methods = self.methods.iter();
        let known = methods.find(|method| method.name == setup.method || method.name == without_members);
        let Some(method) = known.cloned() else {
            return Err(TrialError::Unsupported {
                what: name,
                reason: "it is not on the simulated path".into(),
            });
        };
        if let (Some(asked), None) = (setup.moderation, self.interrupts) {
            return Err(TrialError::Unsupported {
                what: format!("interrupt moderation {asked}"),
                reason: "this simulated path has no interrupts".into(),
            });
        }
        if let Some(frames) = setup.burst {
            return Err(TrialError::Unsupported {
                what: format!("traffic in bursts of {frames} frames"),
                reason: "a simulated path takes evenly spaced ones only".into(),
            });
        }
        let octets = setup.sizes.sequence(&setup.layout)?.mean_octets();
        let profile = Profile {
            method: Saved::Known(setup.method.clone()),
            frame_size: setup.label(),
            mean_frame_size: octets,
            traffic: Saved::Known(setup.layout.headers().into()),
            transmit: Saved::Known(setup.transmit.clone()),
            placement: Saved::Known(setup.placement.name()),
            cpus: Cpus { generator: 0, kernel: Some(1), application: 1 },
            load_independent: true,
            load_depends_because: None,
            work: Saved::Known(Work::Plan(setup.work)),
        };
        let (ability, room) = (method.ability(setup, octets), method.waiting(&setup.capture));
        let group = Group::from_setup(&method, ability, setup)
            .map_err(|reason| TrialError::Unsupported { what: name, reason })?;
        Ok(Box::new(SimulatedTrial {
            laboratory: self,
            method,
            ability,
            group,
            room,
            setup: setup.clone(),
            profile,
        }))
    }

    fn rest(&mut self, _while_idle: Duration) {}

    fn number_after(&mut self, last: u32) {
        self.trials = last;
    }

    fn statements(&self) -> Vec<Statement> {
        vec![Statement::SimulatedPath]
    }
}

struct SimulatedTrial<'l> {
    laboratory: &'l mut SimulatedLaboratory,
    method: SimulatedMethod,
    ability: Ability,
    /// `None`: one thread.
    group: Option<Group>,
    room: u64,
    setup: Setup,
    profile: Profile,
}

impl Trial for SimulatedTrial<'_> {
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        self.laboratory.trials += 1;
        let number = self.laboratory.trials;
        let stretches = offered(load, duration, self.laboratory.reaches());
        let sent = stretches.iter().map(|stretch| stretch.frames).sum();
        let intended = load.intended(duration).unwrap_or(sent);
        let sending = Duration::from_secs_f64(stretches.iter().map(|stretch| stretch.seconds).sum());
        let conditions = self.laboratory.conditions;
        let pps = stretches.iter().map(|stretch| stretch.pps).fold(0.0, f64::max);
        let held = self.laboratory.interrupts.map(|interrupts| interrupts.at(pps, self.setup.moderation));
        let missed = |frames: u64| held.map_or(0, |held| (frames as f64 * held.missed).round() as u64);
        let taken: Vec<Offered> = stretches
            .iter()
            .map(|stretch| Offered {
                frames: stretch.frames - missed(stretch.frames),
                pps: stretch.pps * held.map_or(1.0, |held| 1.0 - held.missed),
                ..*stretch
            })
            .collect();
        let arriving = pps.min(conditions.backlog_pps);
        let ability = self.group.as_ref().map_or(self.ability, |group| group.ability(self.ability, arriving));
        let ability = held.map_or(ability, |held| ability.interrupted(held));
        let mut chance = Chance::of_trial(conditions.seed, number);
        let foreign = conditions.foreign.filter(|foreign| chance.happens(foreign.per_trial));
        let share = foreign.map_or(0.0, |foreign| foreign.share);
        let left = Ability { capacity: ability.capacity * (1.0 - share), ..ability };
        let passage = through(&self.method, left, self.room, &taken, &conditions, &mut chance);
        let delivered = passage.delivered;
        let lost_in_card = sent - taken.iter().map(|stretch| stretch.frames).sum::<u64>();
        let latency = self.setup.latency.map(|recording| Latency {
            total: held.and_then(|held| Delays::of(&held.delays(delivered, pps))),
            ..Latency::unknown(recording, &NoDelays::Simulated.to_string())
        });
        let members = self.group.as_ref().map(|group| group.members(&passage, arriving)).unwrap_or_default();
        let mut measured = self.measured(intended, sent, lost_in_card, ability, passage, sending);
        measured.trial.latency = latency;
        measured.trial.members = members;
        measured.trial.disturbance = disturbance(share, sending);
        Ok(measured.result(number, Phase::BestEffort, &self.profile, load, duration))
    }

    fn line_rate(&self) -> Option<Pps> {
        self.laboratory.line_rate
    }

    fn keep_open(&mut self) -> Result<Box<dyn Trial + '_>> {
        Ok(Box::new(self))
    }
}

/// What a trial reports of other work that took this share of the application's CPU.
fn disturbance(share: f64, sending: Duration) -> Disturbance {
    const TICK_NS: u64 = 4_000_000;
    if share == 0.0 {
        return Disturbance::default();
    }
    let sending_ns = sending.as_nanos() as u64;
    let foreign_ns = (sending_ns as f64 * share).round() as u64;
    let application =
        CpuDisturbance { cpu: 1, window_ns: sending_ns, foreign_ns, ..CpuDisturbance::default() };
    Disturbance { cpus: vec![application], tick_ns: TICK_NS, sending_ns, ..Disturbance::default() }
}

/// The phases of a load as sent by a generator that reaches `generator` frames per second.
fn offered(load: Load, duration: Duration, generator: f64) -> Vec<Offered> {
    let stretch = |pps: f64, duration: Duration| {
        let (pps, seconds) = (pps.min(generator), duration.as_secs_f64());
        // Rounded as in a schedule, so that a sustained load is sent to the last frame.
        let planned = Pps::new(pps).ok().and_then(|pps| Load::Rate(pps).intended(duration));
        Offered { frames: planned.unwrap_or(0), pps, seconds }
    };
    match load {
        Load::Rate(pps) => vec![stretch(pps.get(), duration)],
        Load::Maximum => vec![stretch(generator, duration)],
        Load::Burst { frames, rate } => {
            let (frames, pps) = (frames.get(), rate.get().min(generator));
            vec![Offered { frames, pps, seconds: frames as f64 / pps }]
        }
        Load::Step(Step { before, at, after }) => {
            let at = at.min(duration);
            vec![stretch(before.get(), at), stretch(after.get(), duration - at)]
        }
    }
}

impl SimulatedTrial<'_> {
    fn measured(
        &self,
        intended: u64,
        sent: u64,
        lost_in_card: u64,
        ability: Ability,
        passage: Passage,
        sending: Duration,
    ) -> Measured {
        let reached = sent - lost_in_card - passage.lost_in_backlog;
        let Passage { delivered, lost_in_ring, lost_in_backlog, waiting, mut moments } = passage;
        let emptied_s = waiting as f64 / ability.capacity;
        if lost_in_card > 0 {
            moments.between(0.0, sending.as_secs_f64());
        }
        let shows_moments = self.laboratory.shows_moments && delivered < sent;
        let quiet = if delivered < sent { self.setup.quiet } else { Duration::ZERO };
        Measured {
            evidence: Evidence {
                sent,
                unsent: intended - sent,
                // A veth counts here the frames that the backlog at its far end refused.
                transmit_drops: Some(lost_in_backlog),
                link_drops: Some(lost_in_card),
                backlog_drops: Some(lost_in_backlog),
                virtual_pair: true,
                xdp_attached: Some(false),
                method: Counters {
                    accepted: Some(reached),
                    losses: vec![Loss {
                        place: Place::Ring,
                        count: Some(lost_in_ring),
                        source: "simulated".into(),
                    }],
                    without: vec![Place::FillRing, Place::MethodQueue],
                    raw: Vec::new(),
                },
                read: delivered,
                delivered,
                ..Evidence::default()
            },
            arrivals: Arrivals { read: delivered, delivered, ..Arrivals::default() },
            sending,
            drain: Duration::from_secs_f64(emptied_s) + quiet,
            trial: TrialResult {
                intended,
                loss_pattern: shows_moments.then(|| moments.shape(sent, sent - delivered, sending)),
                emptying: Some(Emptying { after_s: emptied_s, holds_s: 0.0 }),
                cpu: self.cpu(ability, delivered, reached),
                line_rate_pps: self.laboratory.line_rate.map(Pps::get),
                // The generator waits for the link, so no frame is on its way at the end.
                departed: self
                    .laboratory
                    .line_rate
                    .map(|_| Departed { after_s: sending.as_secs_f64(), under_way: 0 }),
                ..TrialResult::default()
            },
            ..Measured::default()
        }
    }

    fn cpu(&self, ability: Ability, taken: u64, arrived: u64) -> CpuAccount {
        let application = (taken as f64 * ability.application_ns).round() as u64;
        let kernel = (arrived as f64 * ability.kernel_ns).round() as u64;
        let waits = matches!(self.setup.work.model, WorkModel::Loop(_) | WorkModel::Nanoseconds(_));
        let of_taken = |per_frame: f64| (taken as f64 * per_frame).round() as u64;
        CpuAccount {
            app_ns: Some(application),
            app_charged_ns: Some(application),
            kernel_ns: Some(kernel),
            total_ns: Some(application + kernel),
            voluntary_switches: ability.batching.map(|batching| of_taken(batching.wakeups)),
            // An iteration of the wait loop takes 1 ns on this path.
            wait_ns_per_iteration: waits.then_some(1.0),
            batches: ability.batching.map_or(0, |batching| of_taken(batching.batches)),
            ..CpuAccount::default()
        }
    }
}
