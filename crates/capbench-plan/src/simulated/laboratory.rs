//! The simulated path: a generator with a known top rate, a card, a backlog, and methods behind them. A trial computes where the
//! frames of its load go (`passage`) and what that costs, and reports it as a measured trial would.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_frames::schedule::Step;
use capbench_model::counters::{Counters, Loss};
use capbench_model::places::Place;
use capbench_model::reasons::NoDelays;
use capbench_model::statement::Statement;

use super::group::Group;
use super::interrupts::{Interrupts, InterruptsAtRate};
use super::method::{Ability, SimulatedMethod};
use super::passage::{
    Chance, Conditions, ForeignWork, LossBursts, Noise, Offered, Passage, UnevenSpeed, through,
};
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
    besides: BesidesSending,
    are_in_turns: bool,
}

/// What a trial takes besides sending and emptying the buffers: what a real path needs to prepare, open and close.
#[derive(Clone, Copy, Debug, Default)]
pub struct BesidesSending {
    /// A trial that does not run in turns. One that misses frames waits for the quiet time, too.
    pub trial: Duration,
    /// A trial in turns.
    pub in_turns: Duration,
}

impl SimulatedLaboratory {
    /// A path with these methods.
    pub fn new(generator: f64, methods: Vec<SimulatedMethod>) -> Self {
        let conditions = Conditions {
            backlog_pps: f64::INFINITY,
            noise: Noise::default(),
            bursts: None,
            foreign: None,
            speed: None,
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
            besides: BesidesSending::default(),
            are_in_turns: false,
        }
    }

    /// Trials take this time besides sending.
    #[must_use]
    pub fn taking(self, besides: BesidesSending) -> Self {
        Self { besides, ..self }
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

    /// The core slows down and recovers, by this seed: costs rise and capacities fall with it.
    #[must_use]
    pub fn uneven_speed(mut self, seed: u64, speed: UnevenSpeed) -> Self {
        self.conditions = Conditions { seed, speed: Some(speed), ..self.conditions };
        self
    }

    /// Highest frame rate that can be sent, in frames per second.
    fn highest_pps(&self) -> f64 {
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
            load_depends: None,
            load_depends_because: None,
            work: Saved::Known(Work::Plan(setup.work)),
        };
        let ability = method.ability(setup, octets);
        let room = method.waiting(&setup.capture);
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

    fn take_turns(&mut self, are_in_turns: bool) {
        self.are_in_turns = are_in_turns;
    }

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
        let conditions = self.laboratory.conditions;
        let phases = offered(load, duration, self.laboratory.highest_pps());
        let sent = phases.iter().map(|phase| phase.frames).sum();
        let sending = Duration::from_secs_f64(phases.iter().map(|phase| phase.seconds).sum());
        let highest_pps = phases.iter().map(|phase| phase.pps).fold(0.0, f64::max);
        let moderation = self.setup.moderation;
        let interrupts =
            self.laboratory.interrupts.map(|interrupts| interrupts.at_rate(highest_pps, moderation));
        let received = match interrupts {
            Some(interrupts) => received_by_card(&phases, interrupts),
            None => phases,
        };
        let arriving_pps = highest_pps.min(conditions.backlog_pps);
        let ability = self.ability(arriving_pps, interrupts);
        let mut chance = Chance::of_trial(conditions.seed, number);
        let foreign = conditions.foreign.filter(|foreign| chance.happens(foreign.per_trial));
        let foreign_share = foreign.map_or(0.0, |foreign| foreign.share);
        let ability = match conditions.speed {
            Some(speed) => ability.at_speed(speed.of_trial(number, &mut chance)),
            None => ability,
        };
        let undisturbed = Ability { capacity: ability.capacity * (1.0 - foreign_share), ..ability };
        let passage = through(&self.method, undisturbed, self.room, &received, &conditions, &mut chance);
        let latency = self.setup.latency.map(|recording| Latency {
            total: interrupts.and_then(|at_rate| Delays::of(&at_rate.delays(passage.delivered, highest_pps))),
            ..Latency::unknown(recording, &NoDelays::Simulated.to_string())
        });
        let members = match &self.group {
            Some(group) => group.members(&passage, arriving_pps),
            None => Vec::new(),
        };
        let frames = Frames {
            intended: load.intended(duration).unwrap_or(sent),
            sent,
            lost_in_card: sent - received.iter().map(|phase| phase.frames).sum::<u64>(),
        };
        let mut measured = self.measured(frames, ability, passage, sending);
        measured.trial.latency = latency;
        measured.trial.members = members;
        measured.trial.disturbance = disturbance(foreign_share, sending);
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

/// The phases of a load as sent by a generator that reaches `generator_pps`.
fn offered(load: Load, duration: Duration, generator_pps: f64) -> Vec<Offered> {
    match load {
        Load::Rate(pps) => vec![phase(pps.get().min(generator_pps), duration)],
        Load::Maximum => vec![phase(generator_pps, duration)],
        Load::Burst { frames, rate } => {
            let frames = frames.get();
            let pps = rate.get().min(generator_pps);
            vec![Offered { frames, pps, seconds: frames as f64 / pps }]
        }
        Load::Step(Step { before, at, after }) => {
            let at = at.min(duration);
            let before_pps = before.get().min(generator_pps);
            let after_pps = after.get().min(generator_pps);
            vec![phase(before_pps, at), phase(after_pps, duration - at)]
        }
    }
}

/// Frames at one rate. They are rounded as in a schedule, so that a sustained load is sent to the last frame.
fn phase(pps: f64, duration: Duration) -> Offered {
    let planned = Pps::new(pps).ok().and_then(|rate| Load::Rate(rate).intended(duration));
    Offered { frames: planned.unwrap_or(0), pps, seconds: duration.as_secs_f64() }
}

/// What a card receives of the offered frames: it misses those for which it has no descriptor.
fn received_by_card(offered: &[Offered], interrupts: InterruptsAtRate) -> Vec<Offered> {
    let mut received = Vec::new();
    for phase in offered {
        let missed = (phase.frames as f64 * interrupts.missed_share).round() as u64;
        received.push(Offered {
            frames: phase.frames - missed,
            pps: phase.pps * (1.0 - interrupts.missed_share),
            ..*phase
        });
    }
    received
}

/// Frames of a trial before the backlog.
#[derive(Clone, Copy)]
struct Frames {
    intended: u64,
    sent: u64,
    lost_in_card: u64,
}

impl SimulatedTrial<'_> {
    /// What the method can do where this many frames per second arrive.
    fn ability(&self, arriving_pps: f64, interrupts: Option<InterruptsAtRate>) -> Ability {
        let ability = match &self.group {
            Some(group) => group.ability(self.ability, arriving_pps),
            None => self.ability,
        };
        match interrupts {
            Some(interrupts) => ability.interrupted(interrupts),
            None => ability,
        }
    }

    fn measured(&self, frames: Frames, ability: Ability, passage: Passage, sending: Duration) -> Measured {
        let Frames { intended, sent, lost_in_card } = frames;
        let reached = sent - lost_in_card - passage.lost_in_backlog;
        let Passage { delivered, lost_in_ring, lost_in_backlog, waiting, mut moments } = passage;
        let emptied_s = waiting as f64 / ability.capacity;
        if lost_in_card > 0 {
            moments.between(0.0, sending.as_secs_f64());
        }
        let shows_moments = self.laboratory.shows_moments && delivered < sent;
        let besides = match self.laboratory.are_in_turns {
            true => self.laboratory.besides.in_turns,
            false if delivered < sent => self.laboratory.besides.trial + self.setup.quiet,
            false => self.laboratory.besides.trial,
        };
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
            drain: Duration::from_secs_f64(emptied_s) + besides,
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

    /// The CPU time of a trial, by the frames that the application read and those that reached the method.
    fn cpu(&self, ability: Ability, read: u64, reached: u64) -> CpuAccount {
        let application = rounded(read, ability.application_ns);
        let kernel = rounded(reached, ability.kernel_ns);
        let waits = matches!(self.setup.work.model, WorkModel::Loop(_) | WorkModel::Nanoseconds(_));
        CpuAccount {
            app_ns: Some(application),
            app_charged_ns: Some(application),
            kernel_ns: Some(kernel),
            total_ns: Some(application + kernel),
            voluntary_switches: ability.batching.map(|batching| rounded(read, batching.wakeups)),
            // An iteration of the wait loop takes 1 ns on this path.
            wait_ns_per_iteration: waits.then_some(1.0),
            batches: ability.batching.map_or(0, |batching| rounded(read, batching.batches)),
            ..CpuAccount::default()
        }
    }
}

fn rounded(frames: u64, per_frame: f64) -> u64 {
    (frames as f64 * per_frame).round() as u64
}
