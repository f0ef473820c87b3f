//! What an interface itself counted (Documentation/ABI/testing/sysfs-class-net-statistics).

use capbench_sys::host::SysfsView;

/// What it counted since the recording began; absent where the host does not let us look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Frames that it received (`rx_packets`).
    pub received: Option<u64>,
    /// Frames that it had no room for (`rx_missed_errors` and `rx_fifo_errors`). Many drivers count those elsewhere, and
    /// leave these at 0.
    pub missed: Option<u64>,
}

impl LinkCounts {
    /// Where [`Self::missed`] comes from.
    pub(super) const MISSED: &'static str = "rx_missed_errors and rx_fifo_errors of the interface";
}

/// Reads them.
#[derive(Debug)]
pub(super) struct Link {
    view: Option<SysfsView>,
    interface: String,
    before: LinkCounts,
}

impl Link {
    /// Of an interface of the calling thread's namespace.
    pub(super) fn of(interface: &str) -> Self {
        let view = SysfsView::of_current_namespace().ok();
        let mut link = Self { view, interface: interface.into(), before: LinkCounts::default() };
        link.before = link.now();
        link
    }

    /// What was counted since the beginning.
    pub(super) fn read(&self) -> LinkCounts {
        let now = self.now();
        let since = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        LinkCounts {
            received: since(now.received, self.before.received),
            missed: since(now.missed, self.before.missed),
        }
    }

    fn now(&self) -> LinkCounts {
        let read = |name: &str| {
            let path = format!("class/net/{}/statistics/{name}", self.interface);
            self.view.as_ref()?.read(&path).ok()?.trim().parse::<u64>().ok()
        };
        let missed = read("rx_missed_errors").zip(read("rx_fifo_errors"));
        LinkCounts { received: read("rx_packets"), missed: missed.map(|(missed, fifo)| missed + fifo) }
    }
}
