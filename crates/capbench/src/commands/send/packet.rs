//! `send --packet`: the flows of a packet file.

use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use capbench_frames::{FlowDefaults, FlowSet, Mtu, PacketFile, StackFlow};
use capbench_sys::host::trust::Trust;
use clap::Args;

use super::words::{pace_in_words, sizes_in_words};
use crate::exit::Usage;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Packet file")]
pub struct PacketFlags {
    /// Send the flows of a TOML file: headers, field values, sizes and rates; --size, --rate and --count are for flows that
    /// state none
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["file", "dain_2004", "flows", "vlan", "ipv6", "tcp", "dst_mac", "wait_loop"]
    )]
    packet: Option<PathBuf>,
}

/// Octets of a file: thousands of flows.
const LONGEST: u64 = 4 << 20;

impl PacketFlags {
    /// The flows of the file, if there is one: with these defaults, and an end if there is no `duration`. Each of the threads needs
    /// a flow. `line` is the speed of the line in bits per second.
    pub fn load(
        self,
        defaults: &FlowDefaults,
        duration: Option<Duration>,
        threads: NonZeroU16,
        mtu: Mtu,
        line: Option<f64>,
    ) -> Result<Option<FlowSet>> {
        let Some(file) = self.packet else { return Ok(None) };
        let name = file.display();
        let text =
            Trust::everybody().read_text(&file, LONGEST).with_context(|| format!("--packet {name}"))?;
        let set = PacketFile::from_toml(&text).and_then(|file| file.flow_set(defaults, mtu, line));
        let set = set.map_err(|error| Usage(format!("--packet {name}: {error}")))?;
        if let (Some(flow), None) = (set.endless(), duration) {
            return Err(Usage(format!(
                "--packet {name}: flow {} has no end; state its count or seconds, or use --count or --duration",
                flow.name
            ))
            .into());
        }
        let flows = set.flows().len();
        let why = "one thread sends each; ask for as many at most";
        ensure!(
            usize::from(threads.get()) <= flows,
            Usage(format!("--threads {threads}: {name} has {flows} flows, and {why}"))
        );
        Ok(Some(set))
    }
}

/// The flows, a line each: what a plan prints.
pub fn in_words(set: &FlowSet) -> String {
    let mut lines = String::new();
    for flow in set.flows() {
        let StackFlow { name, plan, schedule, frames, duration, .. } = flow;
        let sizes = sizes_in_words(plan.asked());
        let pace = pace_in_words(schedule, *frames, *duration);
        lines += &format!("flow {name}: {}, {sizes}, {pace}\n", plan.stack());
    }
    lines
}
