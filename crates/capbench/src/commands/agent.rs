//! `capbench agent`: one side of a trial that a capbench elsewhere drives.

use std::io::{IsTerminal, stdin, stdout};
use std::time::Duration;

use anyhow::Result;
use capbench_agent::server::{Agent, Allowed, Rules, Spool};
use capbench_agent::waits::Waits;
use capbench_frames::Pps;
use capbench_model::environment::Environment;
use capbench_model::units::ByteCount;
use clap::Args;

use crate::built;
use crate::exit::{self, Exit, Usage};
use crate::flag_values::{frames_per_second, positive_duration};
use crate::privileges::listening::keep_for_agent;

#[derive(Args, Clone, Debug)]
pub struct AgentFlags {
    /// What the controller may use: send:IF, receive:IF, or program:NAME for cmd:NAME; more than once
    #[arg(long, value_name = "WHAT", required = true)]
    allow: Vec<Allowed>,
    /// Nothing but tests is on the link of this interface, though it has addresses or a default route; more than once
    #[arg(long, value_name = "IF")]
    isolated: Vec<String>,
    /// Highest rate that the controller may send, in frames per second
    #[arg(long, value_name = "RATE", value_parser = frames_per_second)]
    max_rate: Option<Pps>,
    /// Longest trial that the controller may run
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    max_duration: Option<Duration>,
    /// Memory that the buffers of a capture may take together
    #[arg(long, value_name = "SIZE", default_value_t = Rules::MEMORY)]
    max_memory: ByteCount,
}

pub fn run(flags: &AgentFlags) -> Result<Exit> {
    if stdin().is_terminal() {
        let why = "agent: its input is a terminal; capbench starts agents itself: --tx ssh:HOST/IF, see docs/two-hosts.md";
        return Err(Usage(why.into()).into());
    }
    let AgentFlags { allow, isolated, max_rate, max_duration, max_memory } = flags.clone();
    let rules = Rules { allowed: allow, isolated, max_rate, max_duration, max_memory };
    let environment = Environment { program: Some(built::program()), ..capbench_host::environment::read()? };
    let spool = Spool::of_user().map_err(|error| error.to_string());
    // Programs that its owner allows, and DPDK, open files of their own, and may need any privilege.
    let starts_programs = rules.allowed.iter().any(|allowed| matches!(allowed, Allowed::Program(_)));
    if !starts_programs && !cfg!(feature = "dpdk") {
        keep_for_agent(spool.as_ref().ok().map(Spool::path))?;
    }
    let agent = Agent::new(rules, environment, exit::kind_of).with_spool(spool);
    agent.with_waits(Waits::of_this_build()).serve(stdin(), stdout())?;
    Ok(Exit::Done)
}
