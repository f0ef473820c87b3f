//! What a method is, before it runs.

use std::time::Duration;

use capbench_sys::host::identity;

use crate::error::{CaptureError, Result};
use crate::interface::Interface;
use crate::method_spec::MethodSpec;
use crate::options::CaptureOptions;

/// What there is to know of a method before it runs.
#[derive(Debug)]
pub struct Method {
    /// Its name on the command line and in results.
    pub name: &'static str,
    /// One line about how it works.
    pub summary: &'static str,
    /// The privilege that it needs, as in capabilities(7).
    pub privilege: &'static str,
    /// The command line's options that it uses.
    pub options: &'static [&'static str],
    /// What can stand behind a colon after its name.
    pub argument: Option<Argument>,
    /// What can stand behind a plus sign after its name.
    pub settings: &'static [SettingInfo],
    /// Variants of it that differ in kind, so that a table of all methods has a row for each.
    pub variants: &'static [&'static str],
    /// Whether it runs a user's filter ([`CaptureOptions::filter`]).
    pub socket_filter: bool,
    /// Whether several of it can share the frames of an interface ([`CaptureOptions::fanout`]).
    pub fanout: bool,
    /// Whether the main job runs it when no method is named.
    pub in_default: bool,
    /// What nobody has tried yet, and why; absent where everything is tested.
    pub untested: Option<&'static str>,
    /// Where on a frame's way it takes frames.
    pub capture_point: fn(&MethodSpec) -> CapturePoint,
    /// Whether frames that it captures do not reach the host's network stack, so that the host is cut off while it runs.
    pub takes_frames: fn(&MethodSpec) -> bool,
    /// Whether a capture reads several receive queues, or streams of an adapter, one after the other: then its frames are not
    /// in the order of their times.
    pub has_queues: bool,
    /// Where the outermost VLAN tag of a frame is, which the kernel or the card may remove from it.
    pub vlan_tags: VlanTags,
    /// How frames come from the kernel, or the card, to the application.
    pub delivery: Delivery,
    /// Whether its settings and its own options can be: [`Method::accepts`] asks.
    pub check: fn(&MethodSpec, &Interface, &CaptureOptions) -> Result<()>,
    /// Whether it can run in the calling thread's namespace, or why not.
    pub supported: fn(&MethodSpec) -> std::result::Result<(), String>,
}

impl Method {
    /// Whether settings and options can be, before anything is opened.
    ///
    /// # Errors
    /// An option that the method does not know or that cannot be.
    pub fn accepts(&self, spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<()> {
        if options.filter.is_some() && !self.socket_filter {
            return Err(CaptureError::Unsupported {
                method: self.name.into(),
                interface: interface.name.clone(),
                reason: "it has no filter; recv, recvmmsg, packet-v1 to packet-v3 and libpcap have".into(),
            });
        }
        if options.fanout.is_some() && !self.fanout {
            return Err(CaptureError::Unsupported {
                method: self.name.into(),
                interface: interface.name.clone(),
                reason: "it cannot share an interface's frames with other captures (fanout); recv, recvmmsg and packet-v1 to \
                         packet-v3 can"
                    .into(),
            });
        }
        (self.check)(spec, interface, options)
    }

    /// Whether the method knows everything that the user gave behind its name.
    ///
    /// # Errors
    /// [`CaptureError::Spec`] with what there is.
    pub fn knows(&self, spec: &MethodSpec) -> Result<()> {
        let refuse = |reason: String| Err(CaptureError::Spec { method: spec.to_string(), reason });
        if spec.names_code() && identity::is_elevated() {
            return refuse(
                "this program has privileges of its own file (setcap, set-user-id), so its caller cannot name a device or \
                 a library; run it with sudo"
                    .into(),
            );
        }
        match (&self.argument, spec.argument()) {
            (None, Some(argument)) => return refuse(format!("{} takes no \":{argument}\"", spec.name())),
            (Some(wanted), None) if wanted.required => {
                return refuse(format!("write {}:{}, {}", spec.name(), wanted.placeholder, wanted.summary));
            }
            _ => {}
        }
        for (position, given) in spec.settings().iter().enumerate() {
            let Some(known) = self.settings.iter().find(|known| known.name == given.name) else {
                let names: Vec<_> = self.settings.iter().map(|known| known.name).collect();
                let known = if names.is_empty() { "it has none".into() } else { names.join(", ") };
                return refuse(format!("{} has no setting \"{}\"; known: {known}", spec.name(), given.name));
            };
            match (&given.value, known.value) {
                (Some(_), None) => return refuse(format!("+{} takes no value", known.name)),
                (None, Some(wanted)) if !known.optional => {
                    return refuse(format!("write +{}={wanted}, {}", known.name, known.summary));
                }
                _ => {}
            }
            if spec.settings()[..position].iter().any(|earlier| earlier.name == given.name) {
                return refuse(format!("+{} is given twice", given.name));
            }
        }
        Ok(())
    }
}

/// What stands behind the colon.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// How help writes it, for example `LIBRARY`.
    pub placeholder: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Whether the method is nothing without it.
    pub required: bool,
}

/// A setting of a method.
#[derive(Clone, Copy, Debug)]
pub struct SettingInfo {
    /// Its name.
    pub name: &'static str,
    /// How help writes its value, if it takes one.
    pub value: Option<&'static str>,
    /// Whether the value can be left out.
    pub optional: bool,
    /// What it does.
    pub summary: &'static str,
}

/// Where on a frame's way a method takes it, which decides who does the kernel's receive work in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturePoint {
    /// The network stack: after receive packet steering.
    Stack,
    /// The driver (native XDP): in its NAPI poll, before anything could be steered.
    Driver,
}

/// How frames come to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// System calls copy them out of a socket's queue.
    Copied,
    /// They lie in memory that the kernel, or the card, shares with the application.
    Ring,
    /// Not at all: the kernel counts them.
    Counted,
}

/// Where a method has the outermost VLAN tag of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VlanTags {
    /// Next to the frame: a recording has it back in the frame.
    Reported,
    /// In the frame.
    InFrames,
    /// The kernel removes it before the method sees the frame, and the method does not report it.
    Removed,
    /// In the frame, unless the card removes it (`ethtool -k`: rx-vlan-offload): then the method does not report it.
    Unknown,
}

impl VlanTags {
    /// In a word, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::InFrames => "in_frames",
            Self::Removed => "removed",
            Self::Unknown => "in_frames_unless_the_card_removes_them",
        }
    }
}

impl CapturePoint {
    /// [`Method::capture_point`] of methods that know only this one.
    pub fn stack(_: &MethodSpec) -> Self {
        Self::Stack
    }
}

/// The value of a setting that is a length of time, such as `50us`, `1ms` or `2s`; `None` when it was given without.
///
/// # Errors
/// [`CaptureError::Spec`] for anything else.
pub fn duration_of(spec: &MethodSpec, setting: &str) -> Result<Option<Duration>> {
    let Some(text) = spec.value(setting) else { return Ok(None) };
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let ns = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => 0,
    };
    match number.parse::<u64>().ok().and_then(|number| number.checked_mul(ns)) {
        Some(ns) if ns > 0 => Ok(Some(Duration::from_nanos(ns))),
        _ => Err(CaptureError::Spec {
            method: spec.to_string(),
            reason: format!("+{setting}={text} is no time; write for example +{setting}=50us or 1ms"),
        }),
    }
}

/// The value of a setting that is a number from `least` to `most`; `None` when it was given without.
///
/// # Errors
/// [`CaptureError::Spec`] for anything else.
pub fn number_of(spec: &MethodSpec, setting: &str, least: u32, most: u32) -> Result<Option<u32>> {
    let Some(text) = spec.value(setting) else { return Ok(None) };
    match text.parse().ok().filter(|number| (least..=most).contains(number)) {
        Some(number) => Ok(Some(number)),
        None => Err(CaptureError::Spec {
            method: spec.to_string(),
            reason: format!("+{setting}={text} is no number from {least} to {most}"),
        }),
    }
}
