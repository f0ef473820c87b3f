//! The common part of the methods of vendors' libraries: choosing the library, and reading from its device.

use std::time::Duration;

use capbench_sys::packet::Frame;
use capbench_sys::{Fetch, SysError};

use crate::{CaptureError, Method, Result, SettingInfo, VlanTags, Waiter};
use capbench_model::counters::WaitCounts;
use capbench_model::direction::Direction;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::SnapLength;

/// Which build of the library to use.
pub(super) const LIBRARY: SettingInfo = SettingInfo::valued(
    "library",
    "PATH",
    "the library's file, where the system's linker does not find it or finds another",
);

/// What cards have in common that their library reads.
pub(super) const CARD: Method = Method {
    privilege: "the device node",
    options: &["--snaplen", "--spin", "--direction"],
    takes_frames: |_| true,
    has_queues: true,
    vlan_tags: VlanTags::InFrames,
    ..Method::BASE
};

/// Opens the library that `spec` names, or the first usable one of the usual `names`. The error is that of the first.
pub(super) fn load<L>(
    spec: &MethodSpec,
    names: &[&str],
    load: impl Fn(&str) -> capbench_sys::Result<L>,
) -> Result<L> {
    let named = spec.value(LIBRARY.name);
    let mut failure: Option<SysError> = None;
    for name in named.as_slice().iter().chain(if named.is_none() { names } else { &[] }) {
        match load(name) {
            Ok(library) => return Ok(library),
            Err(error) => _ = failure.get_or_insert(error),
        }
    }
    let source =
        failure.unwrap_or_else(|| SysError::argument(spec.to_string(), "no library has a name for it"));
    Err(CaptureError::Library { method: spec.to_string(), source })
}

/// Whether the library can be used, for [`crate::Method::supported`].
pub(super) fn supported<L>(
    spec: &MethodSpec,
    names: &[&str],
    with: impl Fn(&str) -> capbench_sys::Result<L>,
) -> std::result::Result<(), String> {
    match load(spec, names, with) {
        Ok(_) => Ok(()),
        Err(CaptureError::Library { source, .. }) if spec.has(LIBRARY.name) => Err(source.to_string()),
        Err(CaptureError::Library { source, .. }) => {
            Err(format!("{source}; install it, or write +library=PATH"))
        }
        Err(other) => Err(other.to_string()),
    }
}

/// Refuses capture of sent frames on cards that capture only received ones.
pub(super) fn only_received(method: &'static str, options: &CaptureOptions) -> Result<()> {
    match options.direction {
        Direction::In => Ok(()),
        Direction::Out | Direction::Both => Err(CaptureError::Option {
            option: "--direction",
            reason: format!("{method} captures what its card receives: only \"in\" is possible"),
        }),
    }
}

/// Reads from a library's device: at once, then spinning, then waiting.
#[derive(Debug)]
pub(super) struct Reader<S> {
    pub(super) source: S,
    waiter: Waiter,
    method: &'static str,
    device: String,
}

impl<S: Fetch> Reader<S> {
    pub(super) fn new(source: S, method: &'static str, device: &str, options: &CaptureOptions) -> Self {
        Self { source, waiter: Waiter::new(options.spin), method, device: device.into() }
    }

    /// Whether the source has frames now.
    #[inline]
    pub(super) fn next(&mut self, timeout: Duration) -> Result<bool> {
        match self.try_next(timeout) {
            Ok(found) => Ok(found),
            Err(error) => Err(self.fail(error)),
        }
    }

    #[inline]
    fn try_next(&mut self, timeout: Duration) -> capbench_sys::Result<bool> {
        let Self { source, waiter, .. } = self;
        if source.fetch()? {
            return Ok(true);
        }
        let mut failure = None;
        let spun = waiter.spin(|| {
            source.fetch().unwrap_or_else(|error| {
                failure = Some(error);
                true
            })
        });
        if let Some(error) = failure {
            return Err(error);
        }
        if spun {
            return Ok(true);
        }
        waiter.counts.waits += 1;
        let found = source.fetch_within(timeout)?;
        waiter.counts.empty += u64::from(!found);
        Ok(found)
    }

    pub(super) fn waits(&self) -> WaitCounts {
        self.waiter.counts
    }

    /// The error of a failed call on the open device.
    #[cold]
    pub(super) fn fail(&self, source: SysError) -> CaptureError {
        CaptureError::Call { method: self.method, interface: self.device.clone(), source }
    }
}

/// The error of a device that could not be opened. `hint` says what to check.
pub(super) fn not_opened(spec: &MethodSpec, device: &str, source: &SysError, hint: &str) -> CaptureError {
    CaptureError::unsupported(spec, device, format!("it cannot be opened: {source}; {hint}"))
}

/// A frame cut to the snap length.
#[inline]
pub(super) fn cut(frame: Frame<'_>, snap: SnapLength) -> Frame<'_> {
    Frame { data: &frame.data[..frame.data.len().min(snap.octets() as usize)], ..frame }
}
