//! One end of the bed.

use std::any::Any;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use capbench_sys::host::interface::LinkLayer;
use capbench_sys::host::{InterfaceIndex, NetNamespace};

use crate::Result;
use crate::links::{Link, LinkStats, Links};

/// An interface with its network namespace. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Side {
    namespace: Arc<NetNamespace>,
    links: Arc<Links>,
    index: InterfaceIndex,
    name: Arc<str>,
    hardware_type: u16,
    mtu: u32,
    mac: Option<[u8; 6]>,
}

impl Side {
    pub(super) fn new(namespace: Arc<NetNamespace>, links: Arc<Links>, link: Link) -> Self {
        let Link { index, hardware_type, mtu, mac, .. } = link;
        Self { namespace, links, index, name: link.name.into(), hardware_type, mtu, mac }
    }

    /// An interface of the calling thread's network namespace, for receiving only. No guard is applied.
    ///
    /// # Errors
    /// It does not exist or is down, or its packets are neither Ethernet frames nor IP packets.
    pub fn existing(name: &str) -> Result<Self> {
        let links = Arc::new(Links::of_current_namespace()?);
        let link = super::guard::present_and_up(&links, name)?;
        super::guard::layer(name, link.hardware_type)?;
        Ok(Self::new(Arc::new(NetNamespace::current()?), links, link))
    }

    /// An interface of the calling thread's network namespace, to read its settings. It may be down.
    ///
    /// # Errors
    /// It does not exist.
    pub fn named(name: &str) -> Result<Self> {
        let links = Arc::new(Links::of_current_namespace()?);
        let link = links.by_name(name)?;
        Ok(Self::new(Arc::new(NetNamespace::current()?), links, link))
    }

    /// The same, to change its settings for good.
    ///
    /// # Errors
    /// It does not exist. Without `isolated`, also if it has an address or carries a default route: a change of rings or queues
    /// interrupts the link.
    pub fn for_settings(name: &str, isolated: bool) -> Result<Self> {
        let side = Self::named(name)?;
        if !isolated {
            super::guard::unused(&side.links, &side.link()?)?;
        }
        Ok(side)
    }

    /// An interface of the calling thread's network namespace, for a trial's frames. Changes no setting.
    ///
    /// # Errors
    /// It does not exist, is down or has no carrier, or its packets are not Ethernet frames. Without `isolated`, also if it has an
    /// address or carries a default route: RFC 6815 requires that test traffic stays out of networks in use.
    pub fn for_trials(name: &str, isolated: bool) -> Result<Self> {
        let (links, link) = Self::guarded(name, isolated)?;
        super::guard::ethernet(&link)?;
        Ok(Self::new(Arc::new(NetNamespace::current()?), links, link))
    }

    /// The same for recorded packets: also an interface with IP packets instead of Ethernet frames.
    ///
    /// # Errors
    /// As [`Side::for_trials`], for links of other types.
    pub fn for_recorded_packets(name: &str, isolated: bool) -> Result<Self> {
        let (links, link) = Self::guarded(name, isolated)?;
        super::guard::layer(name, link.hardware_type)?;
        Ok(Self::new(Arc::new(NetNamespace::current()?), links, link))
    }

    fn guarded(name: &str, isolated: bool) -> Result<(Arc<Links>, Link)> {
        let links = Arc::new(Links::of_current_namespace()?);
        let link = super::guard::check(&links, name, isolated)?;
        Ok((links, link))
    }

    /// The network namespace. A thread must be in it to open a socket there; see [`Side::run`].
    pub fn namespace(&self) -> &Arc<NetNamespace> {
        &self.namespace
    }

    /// The number of the interface within the namespace.
    pub fn index(&self) -> InterfaceIndex {
        self.index
    }

    /// The name of the interface within the namespace.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its packets begin with.
    ///
    /// # Errors
    /// Its link has another type, which only an interface of [`Side::named`] can have.
    pub fn layer(&self) -> Result<LinkLayer> {
        super::guard::layer(&self.name, self.hardware_type)
    }

    /// Largest payload of an Ethernet frame in bytes, at the time when the bed was made.
    pub fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Its Ethernet address; `None` if it has none.
    pub fn mac(&self) -> Option<[u8; 6]> {
        self.mac
    }

    /// A connection for requests about the namespace's interfaces, usable from any thread.
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// The interface as it is now, from any thread.
    ///
    /// # Errors
    /// It does not exist any more.
    pub fn link(&self) -> Result<Link> {
        self.links.by_index(self.index)
    }

    /// The interface's current counters, from any thread; `None` if the kernel sent none.
    pub fn stats(&self) -> Result<Option<LinkStats>> {
        Ok(self.link()?.stats)
    }

    /// Runs `work` on a new thread inside the namespace and waits for it.
    ///
    /// # Errors
    /// The namespace cannot be entered. A panic of `work` propagates to the caller.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| self.namespace.enter().map(|()| work()));
            Ok(joined(thread.join())?)
        })
    }

    /// Starts a thread named `name` inside the namespace that runs `work`. The thread ends with an error if the namespace
    /// cannot be entered.
    ///
    /// # Panics
    /// The system cannot start a thread.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<Result<T>> {
        let namespace = Arc::clone(&self.namespace);
        let run = move || {
            namespace.enter()?;
            Ok(work())
        };
        thread::Builder::new().name(name.into()).spawn(run).expect("the system can start a thread")
    }
}

/// The return value of a joined thread; its panic propagates.
pub(super) fn joined<T>(outcome: std::result::Result<T, Box<dyn Any + Send>>) -> T {
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
