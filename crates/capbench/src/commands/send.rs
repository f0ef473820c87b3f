//! `capbench send`: sends generated frames, flows of a packet file, or frames of a capture file, and accounts for every frame.

pub mod document;
mod packet;
mod plan;
mod replay;
mod sending;
mod words;

use anyhow::Result;
use capbench_frames::SentFrames;
use capbench_host::bed::PortLock;
use capbench_model::trial::tolerated_frames;
use capbench_traffic::{SendReport, TrafficError};

use self::document::{Document, ThreadDocument, as_text};
pub use self::plan::SendFlags;
use self::plan::SendPlan;
use self::replay::Loaded;
use crate::exit::{self, Exit};
use crate::output::{print, print_json};
use crate::signals::Stop;

pub fn run(flags: SendFlags) -> Result<Exit> {
    let plan = SendPlan::new(flags)?;
    for note in plan.frames.recorded().map(Loaded::notes).unwrap_or_default() {
        tell!("capbench: {note}");
    }
    if plan.is_dry_run {
        print(&plan.describe())?;
        return Ok(Exit::Done);
    }
    let _lock = PortLock::take(&plan.side)?;
    let stop = Stop::install()?;
    let threads = sending::send(&plan, &stop)?;
    let each: Vec<_> = threads.iter().map(ThreadDocument::new).collect();
    let reports = threads.into_iter().map(|thread| thread.report);
    let report = reports.reduce(SendReport::plus).expect("one thread or more sends");
    let flows = plan.frames.flows();
    match plan.json {
        true => print_json(&Document::new(&report, plan.layer, each, flows, plan.frames.recorded()))?,
        false => print(&as_text(&report, plan.layer, &each, &flows))?,
    }
    if let Some(failure) = report.failure {
        // Print the account of the sent frames first.
        let is_refused = matches!(failure, TrafficError::Refused { .. });
        let because = if is_refused { refused_because(&plan) } else { None };
        let error = anyhow::Error::from(failure);
        return Err(match because {
            Some(because) => error.context(because),
            None => error,
        });
    }
    let SentFrames { accepted, refused_lost, refused_repeated, .. } = report.frames;
    if accepted == 0
        && refused_lost + refused_repeated > 0
        && let Some(because) = refused_because(&plan)
    {
        tell!("capbench: {because}");
    }
    let tolerated = tolerated_frames(plan.rate());
    Ok(exit::of_sending(stop.signal(), &report.frames, tolerated))
}

/// Why the other end takes none of these frames, if it shows that: a veth drops what is longer than the MTU of its peer.
fn refused_because(plan: &SendPlan) -> Option<String> {
    /// Octets of a frame besides its payload that a veth passes: the Ethernet header and a VLAN tag (`is_skb_forwardable` of
    /// include/linux/netdevice.h).
    const HEADERS: u32 = 18;
    let side = &plan.side;
    let longest = plan.frames.source().largest().captured() as u32;
    let peer =
        side.links().tied(side.link().ok()?.tied_to?).ok().filter(|peer| longest > peer.mtu + HEADERS)?;
    Some(format!(
        "frames of {longest} octets are longer than the MTU {} of {}, the other end of {}; give both the same MTU, or send \
         --size {} and smaller",
        peer.mtu,
        peer.name,
        side.name(),
        peer.mtu + HEADERS
    ))
}
