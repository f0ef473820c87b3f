//! The path that trials run on, and the laboratory on it: in this process, or between agents.

use std::time::Duration;

use anyhow::Result;
use capbench_agent::laboratory::{AgentLaboratory, Route};
use capbench_frames::Pps;
use capbench_host::bed::prepare_process;
use capbench_lab::live::{self, LiveLaboratory};
use capbench_lab::programs::Programs;
use capbench_model::environment::Environment;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::trial::Trial;

use crate::built;
use crate::signals::Stop;

/// The path of trials.
#[derive(Clone, Debug)]
pub enum Path {
    /// Both interfaces are used by this process.
    Here(live::Path),
    /// Each interface is used by an agent.
    Agents(Route),
}

impl Path {
    /// Highest frame rate for a set-up's sizes, as far as it is known without contact to an agent.
    pub fn line_rate(&self, setup: &Setup) -> Result<Option<Pps>> {
        match self {
            Self::Here(path) => Ok(path.line_rate(setup)?),
            Self::Agents(_) => Ok(None),
        }
    }

    /// The path in words.
    pub fn describe(&self) -> String {
        match self {
            Self::Here(live::Path::Virtual { mtu, .. }) => format!("a veth pair of its own, MTU {}", mtu.0),
            Self::Here(live::Path::Interfaces { transmit, receive, .. }) => {
                format!("{transmit} to {receive}")
            }
            Self::Agents(Route { transmit, receive, .. }) => format!("{transmit} to {receive}"),
        }
    }
}

/// An opened path.
#[derive(Debug)]
pub enum Site {
    /// In this process, with the facts about its host.
    Here(Box<LiveLaboratory>, Box<Environment>),
    /// Between agents.
    Agents(Box<AgentLaboratory>),
}

impl Site {
    /// Opens the path. Call it before any thread exists: the process of an ordinary user enters a user namespace for a virtual
    /// link.
    pub fn open(path: &Path, programs: &Programs, trace: bool) -> Result<(Self, Stop)> {
        match path {
            Path::Here(path) => {
                if matches!(path, live::Path::Virtual { .. }) {
                    prepare_process()?;
                }
                let stop = Stop::install()?;
                let environment =
                    Environment { program: Some(built::program()), ..capbench_host::environment::read()? };
                let laboratory = LiveLaboratory::new(path.clone(), environment.irq_accounting, stop.flag())
                    .with_programs(programs.clone());
                let laboratory = if trace { laboratory.with_tracer() } else { laboratory };
                Ok((Self::Here(Box::new(laboratory), Box::new(environment)), stop))
            }
            Path::Agents(route) => {
                let stop = Stop::install()?;
                let (route, programs) = (route.clone(), programs.clone());
                let laboratory =
                    AgentLaboratory::open(route, programs, trace, stop.interrupt(), stop.flag())?;
                Ok((Self::Agents(Box::new(laboratory)), stop))
            }
        }
    }

    /// Facts about the hosts and the interfaces of the set-ups that were prepared.
    pub fn environment(&self) -> Environment {
        match self {
            Self::Here(laboratory, environment) => {
                Environment { interfaces: Some(laboratory.interfaces().to_vec()), ..(**environment).clone() }
            }
            Self::Agents(laboratory) => laboratory.environment(),
        }
    }
}

impl Laboratory for Site {
    fn prepare(&mut self, setup: &Setup) -> capbench_model::Result<Box<dyn Trial + '_>> {
        match self {
            Self::Here(laboratory, _) => laboratory.prepare(setup),
            Self::Agents(laboratory) => laboratory.prepare(setup),
        }
    }

    fn rest(&mut self, while_idle: Duration) {
        match self {
            Self::Here(laboratory, _) => laboratory.rest(while_idle),
            Self::Agents(laboratory) => laboratory.rest(while_idle),
        }
    }

    fn number_after(&mut self, last: u32) {
        match self {
            Self::Here(laboratory, _) => laboratory.number_after(last),
            Self::Agents(laboratory) => laboratory.number_after(last),
        }
    }

    fn statements(&self) -> Vec<String> {
        match self {
            Self::Here(laboratory, _) => laboratory.statements(),
            Self::Agents(laboratory) => laboratory.statements(),
        }
    }
}
