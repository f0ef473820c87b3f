//! The two interfaces of a trial.
//!
//! By default they are the ends of a veth pair that the program creates in two new network namespaces. Only descriptors refer
//! to these namespaces: when the process ends for any reason, the kernel deletes them and the pair. Nothing on the host
//! changes. With [`Bed::real`] they are interfaces of the host, which are only read.

mod cpu_mask;
mod guard;
mod guarded;
mod kernel_work;
mod moderated;
mod pair;
mod placement;
mod port_lock;
mod privilege;
mod queues;
mod side;
#[cfg(feature = "bpf")]
mod sink;
#[cfg(not(feature = "bpf"))]
#[path = "no_sink.rs"]
mod sink;
mod spare;

use std::sync::{Arc, OnceLock};

use std::num::NonZeroU16;

use crate::Result;
use crate::links::{Link, Tie};
pub use cpu_mask::parse as cpus_in_mask;
pub use guarded::Guarded;
pub use kernel_work::{KernelWork, KernelWorkReport};
pub use moderated::Moderated;
pub use placement::{Placement, cpus_from};
pub use port_lock::PortLock;
pub use privilege::{Privilege, prepare_process};
pub use side::Side;
pub use sink::Sink;
pub use spare::SpareCpus;

/// Options of a virtual pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BedOptions {
    /// Largest payload of an Ethernet frame in bytes, on both ends.
    pub mtu: u32,
    /// Transmit and receive queues of both ends. Flows are spread over several, where this process may set it.
    pub queues: NonZeroU16,
    /// The context of the kernel's receive work.
    pub kernel_work: KernelWork,
}

impl Default for BedOptions {
    fn default() -> Self {
        Self { mtu: 1500, queues: NonZeroU16::MIN, kernel_work: KernelWork::SenderContext }
    }
}

/// Two interfaces, and what is known about the path between them.
#[derive(Debug)]
pub struct Bed {
    transmit: Side,
    receive: Side,
    kernel_work: Option<KernelWorkReport>,
    is_virtual: bool,
    sink: OnceLock<std::result::Result<Arc<Sink>, String>>,
}

impl Bed {
    /// Makes two network namespaces and a veth pair between them: up, with carrier, without addresses, ARP and IPv6, so that it
    /// carries only the trial's frames. Dropping the bed deletes it.
    ///
    /// # Errors
    /// A missing privilege (see [`prepare_process`]), a context of the kernel's work that this host does not support
    /// ([`crate::HostError::Unsupported`]), or an MTU that the kernel refuses.
    pub fn virtual_pair(options: &BedOptions) -> Result<Self> {
        pair::make(options)
    }

    /// Uses two interfaces of the calling thread's network namespace. Changes no setting.
    ///
    /// # Errors
    /// An interface does not exist, is down or has no carrier. Without `isolated`, also if it has an address or carries a
    /// default route: RFC 6815 requires that test traffic stays out of networks in use.
    pub fn real(transmit: &str, receive: &str, isolated: bool) -> Result<Self> {
        let [transmit, receive] = [transmit, receive].map(|name| Side::for_trials(name, isolated));
        let (transmit, receive) = (transmit?, receive?);
        let is_virtual = is_pair(&transmit.link()?, &receive.link()?);
        Ok(Self { transmit, receive, kernel_work: None, is_virtual, sink: OnceLock::new() })
    }

    /// The sending interface.
    pub fn transmit_side(&self) -> &Side {
        &self.transmit
    }

    /// The receiving interface.
    pub fn receive_side(&self) -> &Side {
        &self.receive
    }

    /// Whether the sides are the ends of a veth pair. Such a pair exists only in memory: its rates are not those of a network
    /// card, and it drops frames that the receiver has no room for.
    pub fn is_virtual(&self) -> bool {
        self.is_virtual
    }

    /// Whether the bed set up a NAPI thread that polls the receiving interface.
    pub fn polls_by_thread(&self) -> bool {
        matches!(
            self.kernel_work.as_ref().map(|work| &work.asked),
            Some(KernelWork::ThreadedNapi(_) | KernelWork::DeferredNapi(_))
        )
    }

    /// What can end the frames behind the capture point, or why the receiving interface cannot have it. `None` for real
    /// interfaces: their frames may be for somebody else.
    pub fn sink(&self) -> Option<std::result::Result<Arc<Sink>, &str>> {
        self.kernel_work.as_ref()?;
        let place = || Sink::place(&self.receive).map(Arc::new).map_err(|error| error.to_string());
        Some(self.sink.get_or_init(place).as_ref().map(Arc::clone).map_err(String::as_str))
    }

    /// How the context of the kernel's receive work was set and read back. `None` for real interfaces: their host settings
    /// decide, and [`crate::accounts::softnet::busiest_kernel_cpu`] finds the CPU.
    pub fn kernel_work(&self) -> Option<&KernelWorkReport> {
        self.kernel_work.as_ref()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if self.kernel_work.is_some() {
            // The kernel would delete the pair with the namespaces, but later, during the next trial. A failure means that the
            // pair is already gone.
            let _ = self.transmit.links().delete(self.transmit.name());
        }
    }
}

/// Whether two interfaces are the ends of one veth pair.
fn is_pair(one: &Link, other: &Link) -> bool {
    let is_veth = |link: &Link| link.kind.as_deref() == Some("veth");
    let is_tied = |link: &Link, to: &Link| link.tied_to == Some(Tie { index: to.index, namespace: None });
    is_veth(one) && is_veth(other) && is_tied(one, other) && is_tied(other, one)
}
