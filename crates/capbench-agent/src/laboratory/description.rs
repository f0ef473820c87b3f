//! What a plan says of its agents before the first trial, as facts.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_host::drivers::{self, FrameCounts};
use capbench_model::clocks::ClockState;
use capbench_model::environment::interface::Role;
use capbench_model::generator::GeneratorFacts;

use super::{AgentLaboratory, EndFacts};
use crate::Result;

/// What is known of the agents and generators of a path.
#[derive(Clone, Debug)]
pub struct Description {
    /// Those that can be reached.
    pub ends: Vec<DescribedEnd>,
    /// Why others cannot be reached.
    pub absent: Vec<String>,
    /// What the ledger of a trial will leave unknown.
    pub unknown: Vec<UnknownLosses>,
}

/// An agent or a generator, and what it allows.
#[derive(Clone, Debug)]
pub struct DescribedEnd {
    /// Where it is.
    pub location: String,
    /// What it is.
    pub program: EndProgram,
    /// Capabilities that it lacks.
    pub missing_capabilities: Vec<String>,
    /// The highest rate that it allows, in frames per second.
    pub max_pps: Option<f64>,
    /// The longest trial that it allows.
    pub max_duration: Option<Duration>,
    /// Programs that it allows.
    pub programs: Vec<String>,
    /// Interfaces that its user calls isolated.
    pub isolated: Vec<String>,
    /// Why it leaves no report if its connection is lost.
    pub no_report_because: Option<String>,
}

/// What runs at an end of a path.
#[derive(Clone, Debug)]
pub enum EndProgram {
    /// An agent of capbench.
    Agent {
        /// Its version.
        version: String,
        /// Its kernel; `None` if unknown.
        kernel: Option<String>,
        /// Its interface, or why that cannot be used.
        interface: std::result::Result<DescribedInterface, String>,
    },
    /// A generator that the Open Traffic Generator API drives.
    Generator(GeneratorFacts),
}

/// The interface of an agent.
#[derive(Clone, Debug)]
pub struct DescribedInterface {
    /// Its driver; `None` if unknown.
    pub driver: Option<String>,
    /// Its speed; `None` if it has none.
    pub bits_per_second: Option<f64>,
    /// Its MTU.
    pub mtu: u32,
}

/// Losses that nobody will count.
#[derive(Clone, Debug)]
pub enum UnknownLosses {
    /// Those on the path: nobody counts what leaves a generator.
    UncountedSender {
        /// Where the generator is.
        location: String,
    },
    /// Those on the path: a driver is not known to count each frame.
    UnverifiedDriver {
        /// The driver; `None` if unknown.
        driver: Option<String>,
        /// Where its interface is.
        location: String,
    },
    /// Drops of a kernel by reason: an agent lacks CAP_BPF.
    DropReasons {
        /// Where the agent is.
        location: String,
    },
}

/// What the clocks allow to be known of one-way times, before a trial.
#[derive(Clone, Debug)]
pub enum OneWayTimes {
    /// They are exact: all ends read the clock of one kernel.
    OneClock,
    /// Nothing: frames have no send times.
    NoSendTimes {
        /// Where their generator is.
        location: String,
    },
    /// They are relative: a clock is not synchronised.
    Unsynchronised {
        /// Where it is.
        location: String,
        /// What its time service says.
        reason: String,
    },
    /// They have this error, if exchanges around a trial agree.
    WithinError(Duration),
}

impl AgentLaboratory {
    /// What each agent says of itself and its interface, and what the ledger of a trial will leave unknown.
    pub fn describe(&self) -> Description {
        let ends = self.ends().map(|(role, facts)| self.described(role, &facts)).collect();
        Description { ends, absent: self.absent.clone(), unknown: self.unknown() }
    }

    fn described(&self, role: Role, facts: &EndFacts<'_>) -> DescribedEnd {
        let hello = facts.hello;
        let program = match self.other(facts.location) {
            Some(other) => EndProgram::Generator(other.facts()),
            None => EndProgram::Agent {
                version: hello.environment.capbench_version.clone(),
                kernel: hello.environment.kernel_release.clone(),
                interface: match facts.port(role) {
                    Ok(port) => Ok(DescribedInterface {
                        driver: port.facts.facts.driver.clone(),
                        bits_per_second: port.bits_per_second,
                        mtu: port.mtu,
                    }),
                    Err(error) => Err(error.to_string()),
                },
            },
        };
        DescribedEnd {
            location: facts.location.to_string(),
            program,
            missing_capabilities: hello.environment.missing_capabilities.clone(),
            max_pps: hello.max_rate.map(Pps::get),
            max_duration: hello.max_duration,
            programs: hello.programs.clone(),
            isolated: hello.isolated.clone(),
            no_report_because: hello.no_report_because.clone(),
        }
    }

    /// What the ledger of a trial will leave unknown, as far as the agents know beforehand.
    fn unknown(&self) -> Vec<UnknownLosses> {
        let mut unknown = Vec::new();
        for (role, facts) in self.ends() {
            let location = facts.location.to_string();
            let driver = facts.port(role).ok().and_then(|port| port.facts.facts.driver.clone());
            let counts = driver.as_deref().and_then(drivers::known).map(|driver| driver.frame_counts);
            if self.other(facts.location).is_some() {
                unknown.push(UnknownLosses::UncountedSender { location });
            } else if matches!(counts, None | Some(FrameCounts::Unverified))
                && !matches!(self.is_pair(), Ok(true))
            {
                unknown.push(UnknownLosses::UnverifiedDriver { driver, location });
            }
        }
        for (_, EndFacts { location, hello }) in self.ends() {
            let missing = &hello.environment.missing_capabilities;
            if missing.iter().any(|missing| missing.to_ascii_uppercase().contains("BPF")) {
                unknown.push(UnknownLosses::DropReasons { location: location.to_string() });
            }
        }
        unknown
    }

    /// What the clocks of both hosts allow to be known of one-way times, as far as they do before a trial: the exchanges around it decide.
    ///
    /// # Errors
    /// An agent is gone.
    pub fn describe_clocks(&mut self) -> Result<OneWayTimes> {
        if self.comparison().is_one_clock {
            return Ok(OneWayTimes::OneClock);
        }
        let (mut of_sender, mut of_receiver) = (0, 0);
        if let Some(generator) = self.generators.iter().find(|generator| generator.host.is_untimed()) {
            let location = generator.host.facts().location.to_string();
            return Ok(OneWayTimes::NoSendTimes { location });
        }
        let senders =
            self.generators.iter_mut().filter_map(|generator| Some((generator.host.agent()?, true)));
        for (agent, sends) in senders.chain([(&mut self.receive, false)]) {
            let largest = if sends { &mut of_sender } else { &mut of_receiver };
            match agent.clock_state()? {
                ClockState::Synchronised { error_ns, .. } => *largest = error_ns.max(*largest),
                ClockState::Unsynchronised { reason } => {
                    let location = agent.location().to_string();
                    return Ok(OneWayTimes::Unsynchronised { location, reason });
                }
            }
        }
        Ok(OneWayTimes::WithinError(Duration::from_nanos(of_sender.saturating_add(of_receiver))))
    }
}
