//! Facts about an interface and its host that only the advice uses.

use std::fs;

use capbench_host::links::{Link, Links};
use capbench_host::xdp::XdpProgram;
use capbench_sys::host::affinity::online_cpus;

use crate::scheduling::Scheduled;

/// Facts that only the advice uses.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// The interface's MTU.
    pub(crate) mtu: u32,
    /// The MTU of a veth's peer; absent if there is none, or it cannot be read.
    pub(crate) peer_mtu: Option<u32>,
    /// Frames that a veth's peer could not pass on.
    pub(crate) refused_by_peer: Option<u64>,
    /// `net.core.netdev_budget`; absent if the namespace does not show it.
    pub(crate) budget: Option<u64>,
    /// The online CPUs.
    pub(crate) online: Vec<u32>,
    /// The XDP program on the interface.
    pub(crate) program: Option<XdpProgram>,
    /// What threads did meanwhile.
    pub(crate) scheduled: Scheduled,
}

impl Facts {
    /// The present facts, with what threads did.
    pub(crate) fn of(links: &Links, link: &Link, scheduled: Scheduled) -> Self {
        let peer = link.kind.as_deref().filter(|kind| *kind == "veth").and(link.tied_to);
        let online = online_cpus().unwrap_or_default();
        let budget = fs::read_to_string("/proc/sys/net/core/netdev_budget").ok();
        Self {
            mtu: link.mtu,
            peer_mtu: peer.and_then(|peer| links.tied(peer).ok()).map(|peer| peer.mtu),
            budget: budget.and_then(|text| text.trim().parse().ok()),
            online: online.into_iter().map(|cpu| cpu.number()).collect(),
            scheduled,
            ..Self::default()
        }
    }

    /// The CPU that threads used least, except these.
    pub(crate) fn least_used_cpu(&self, except: &[u32]) -> Option<u32> {
        let others = self.online.iter().copied().filter(|cpu| !except.contains(cpu));
        others.min_by(|one, other| self.scheduled.use_of(*one).total_cmp(&self.scheduled.use_of(*other)))
    }

    /// The same, if it is less than half used.
    pub(crate) fn idle_cpu(&self, except: u32) -> Option<u32> {
        const HALF: f64 = 0.5;
        self.least_used_cpu(&[except]).filter(|cpu| self.scheduled.use_of(*cpu) < HALF)
    }
}
