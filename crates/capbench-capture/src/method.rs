//! Properties of a method before it runs.

use std::time::Duration;

use capbench_sys::host::identity;
use capbench_sys::host::interface::LinkLayer;
use capbench_sys::packet::FanoutMode;

use crate::{CaptureError, Interface, Result};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;

/// Properties of a method before it runs.
#[derive(Debug)]
pub struct Method {
    /// Its name on the command line and in results.
    pub name: &'static str,
    /// One line on how it works.
    pub summary: &'static str,
    /// The privilege that it needs, as in capabilities(7).
    pub privilege: &'static str,
    /// The command-line options that it uses.
    pub options: &'static [&'static str],
    /// The argument after the colon.
    pub argument: Option<Argument>,
    /// The settings after plus signs.
    pub settings: &'static [SettingInfo],
    /// Variants that differ in kind. A table of all methods has a row for each.
    pub variants: &'static [&'static str],
    /// Whether it runs a user's filter ([`CaptureOptions::filter`]).
    pub socket_filter: bool,
    /// Whether it captures from links without Ethernet ([`LinkLayer::Ip`]).
    pub captures_ip_packets: bool,
    /// How several of it can share the frames of an interface ([`CaptureOptions::fanout`]); `None`: they cannot.
    pub fanout: Option<Sharing>,
    /// Whether the main job runs it when the user names no method.
    pub in_default: bool,
    /// What is untested, and why. `None` if everything is tested.
    pub untested: Option<&'static str>,
    /// Where on a frame's path it captures frames.
    pub capture_point: fn(&MethodSpec) -> CapturePoint,
    /// Whether captured frames bypass the host's network stack. The host is then cut off while the capture runs.
    pub takes_frames: fn(&MethodSpec) -> bool,
    /// Whether each batch of frames is a system call of the application's thread.
    pub reads_by_calls: bool,
    /// Whether a capture reads several receive queues, or streams of an adapter, in turn. Its frames are then not in time
    /// order.
    pub has_queues: bool,
    /// Where the outermost VLAN tag of a frame is. The kernel or the card may remove it from the frame.
    pub vlan_tags: VlanTags,
    /// Checks its settings and options: [`Method::accepts`] calls it.
    pub check: fn(&MethodSpec, &Interface, &CaptureOptions) -> Result<()>,
    /// Whether it can run in the calling thread's namespace, or the reason why not.
    pub supported: fn(&MethodSpec) -> std::result::Result<(), String>,
}

impl Method {
    /// What most methods have in common; rows name the rest.
    pub(crate) const BASE: Self = Self {
        name: "",
        summary: "",
        privilege: "CAP_NET_RAW",
        options: &[],
        argument: None,
        settings: &[],
        variants: &[],
        socket_filter: false,
        captures_ip_packets: false,
        fanout: None,
        in_default: false,
        untested: None,
        capture_point: |_| CapturePoint::Stack,
        takes_frames: |_| false,
        reads_by_calls: false,
        has_queues: false,
        vlan_tags: VlanTags::Unknown,
        check: |_, _, _| Ok(()),
        supported: |_| Ok(()),
    };

    /// Checks settings and options before anything is opened.
    ///
    /// # Errors
    /// An option that the method does not know, or an invalid value.
    pub fn accepts(&self, spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<()> {
        let refuse = |reason: String| Err(CaptureError::unsupported(&self.name, &interface.name, reason));
        if interface.layer == LinkLayer::Ip && !self.captures_ip_packets {
            return refuse(
                "it reads Ethernet frames, and this interface has IP packets without an Ethernet header; recv, recvmmsg, packet-v1 \
                 to packet-v3 and libpcap read those"
                    .into(),
            );
        }
        if options.filter.is_some() && !self.socket_filter {
            return refuse(
                "it has no filter; recv, recvmmsg, packet-v1 to packet-v3 and libpcap have".into(),
            );
        }
        match (&options.fanout, &self.fanout) {
            (Some(_), None) => {
                return refuse(
                    "it cannot share an interface's frames with other captures (fanout); recv, recvmmsg, packet-v1 to \
                     packet-v3, af-xdp, dpdk and pf-ring can"
                        .into(),
                );
            }
            (Some(fanout), Some(Sharing { modes, because: Some(because) }))
                if !modes.contains(&fanout.mode()) =>
            {
                let can: Vec<_> = modes.iter().map(ToString::to_string).collect();
                return refuse(format!(
                    "{because}: write --fanout {}, not {}",
                    can.join(" or "),
                    fanout.mode()
                ));
            }
            _ => {}
        }
        (self.check)(spec, interface, options)
    }

    /// Checks that the method knows the argument and all settings after its name.
    ///
    /// # Errors
    /// [`CaptureError::Spec`] with the valid ones.
    pub fn knows(&self, spec: &MethodSpec) -> Result<()> {
        let refuse = |reason: String| Err(CaptureError::Spec { method: spec.to_string(), reason });
        if spec.names_code() && identity::is_elevated() {
            return refuse(
                "this program's file grants privileges (setcap, set-user-id), so its caller cannot name a device or \
                 a library; run it with sudo"
                    .into(),
            );
        }
        if let (None, Some(argument)) = (&self.argument, spec.argument()) {
            return refuse(format!("{} takes no \":{argument}\"", spec.name()));
        }
        for (position, setting) in spec.settings().iter().enumerate() {
            let Some(known) = self.settings.iter().find(|known| known.name == setting.name) else {
                let names: Vec<_> = self.settings.iter().map(|known| known.name).collect();
                let known = if names.is_empty() { "it has none".into() } else { names.join(", ") };
                return refuse(format!(
                    "{} has no setting \"{}\"; known: {known}",
                    spec.name(),
                    setting.name
                ));
            };
            match (&setting.value, known.value) {
                (Some(_), None) => return refuse(format!("+{} takes no value", known.name)),
                (None, Some(wanted)) if !known.optional => {
                    return refuse(format!("write +{}={wanted}, {}", known.name, known.summary));
                }
                _ => {}
            }
            if spec.settings()[..position].iter().any(|earlier| earlier.name == setting.name) {
                return refuse(format!("+{} appears twice", setting.name));
            }
        }
        Ok(())
    }
}

/// How captures of a method can share the frames of an interface.
#[derive(Clone, Copy, Debug)]
pub struct Sharing {
    /// The ways, the usual one first.
    pub modes: &'static [FanoutMode],
    /// Why these and no others; `None`: they are all.
    pub because: Option<&'static str>,
}

/// The argument after the colon.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its name in help texts, for example `LIBRARY`.
    pub placeholder: &'static str,
    /// Its meaning.
    pub summary: &'static str,
}

/// A setting of a method.
#[derive(Clone, Copy, Debug)]
pub struct SettingInfo {
    /// Its name.
    pub name: &'static str,
    /// Name of its value in help texts, if it has one.
    pub value: Option<&'static str>,
    /// Whether the value is optional.
    pub optional: bool,
    /// Its effect.
    pub summary: &'static str,
}

impl SettingInfo {
    /// A setting without a value.
    pub(crate) const fn flag(name: &'static str, summary: &'static str) -> Self {
        Self { name, value: None, optional: false, summary }
    }

    /// A setting with a value.
    pub(crate) const fn valued(name: &'static str, value: &'static str, summary: &'static str) -> Self {
        Self { name, value: Some(value), optional: false, summary }
    }

    /// A setting with an optional value.
    pub(crate) const fn optional(name: &'static str, value: &'static str, summary: &'static str) -> Self {
        Self { name, value: Some(value), optional: true, summary }
    }
}

/// Where on a frame's path a method captures it. This decides which CPU does the kernel's receive work before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturePoint {
    /// The network stack: after receive packet steering.
    Stack,
    /// The driver (native XDP): in its NAPI poll, before any packet steering.
    Driver,
}

/// Where a method has the outermost VLAN tag of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VlanTags {
    /// Next to the frame. A recording has it back in the frame.
    Reported,
    /// In the frame.
    InFrames,
    /// The kernel removes it before the method sees the frame, and the method does not report it.
    Removed,
    /// In the frame, unless the card removes it (`ethtool -k`: rx-vlan-offload): then the method does not report it.
    Unknown,
}

impl VlanTags {
    /// One word, for programs.
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
    /// [`Method::capture_point`] of XDP programs.
    pub(crate) fn of_xdp(spec: &MethodSpec) -> Self {
        if spec.has("generic") { Self::Stack } else { Self::Driver }
    }
}

/// A setting's duration, such as `50us`, `1ms` or `2s`. `None` if the setting has no value.
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

/// A setting's number, from `least` to `most`. `None` if the setting has no value.
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
