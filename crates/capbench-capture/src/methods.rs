//! The table of capture methods.

use capbench_sys::packet::fanout::MOST_MEMBERS;

use crate::backends::{
    af_xdp, dpdk, libpcap, nfb, packet_v1, packet_v2, packet_v3, pf_ring, recv, recvmmsg, szedata2, xdp_count,
};
use crate::capture::Capture;
use crate::error::{CaptureError, Result};
use crate::options::{CaptureOptions, Interface};
use crate::spec::MethodSpec;

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

/// Work to be done with a capture whose method is known at run time only.
pub trait Visitor {
    /// What comes of it.
    type Output;

    /// Does the work; compiled once for each method.
    fn visit<C: Capture>(self, capture: C) -> Self::Output;
}

/// Work to be done with several captures of one interface, all by the same method, that share its frames.
pub trait MembersVisitor {
    /// What comes of it.
    type Output;

    /// Does the work; compiled once for each method.
    fn visit<C: Capture>(self, members: Vec<C>) -> Self::Output;
}

/// The options of members that are opened together, when there can be so many.
fn of_members(
    spec: &MethodSpec,
    interface: &Interface,
    options: &CaptureOptions,
    members: usize,
) -> Result<()> {
    let refuse = |reason: String| {
        let (method, interface) = (spec.to_string(), interface.name.clone());
        Err(CaptureError::Unsupported { method, interface, reason })
    };
    match (members, &options.fanout) {
        (1..=MOST_MEMBERS, Some(_)) | (1, None) => Ok(()),
        (1..=MOST_MEMBERS, None) => refuse(format!(
            "{members} captures would get every frame {members} times; say how they share the frames (fanout)"
        )),
        _ => refuse(format!(
            "{members} captures cannot share an interface's frames: a fanout group has 1 to {MOST_MEMBERS} members"
        )),
    }
}

/// Makes the list of methods and the way from a name to a method out of one row each.
macro_rules! methods {
    ($($module:ident::$type:ident),+ $(,)?) => {
        /// All methods, in the order of tables.
        pub static METHODS: &[&Method] = &[$(&$module::METHOD),+];

        /// Opens a method in the calling thread's namespace and hands it to `visitor`.
        ///
        /// # Errors
        /// What [`find`] says of `spec`, or what opening the method says.
        pub fn open_with<V: Visitor>(
            spec: &MethodSpec,
            interface: &Interface,
            options: &CaptureOptions,
            visitor: V,
        ) -> Result<V::Output> {
            find(spec)?.accepts(spec, interface, options)?;
            $(if spec.name() == $module::METHOD.name {
                return Ok(visitor.visit($module::$type::open(spec, interface, options)?));
            })+
            Err(unknown(spec.name()))
        }

        /// Opens as many captures of one interface, in the calling thread's namespace, as one source: each frame goes to one
        /// of them, as [`CaptureOptions::fanout`] says. The first makes the group, unless somebody else has, and the others
        /// join it. Captures that are to run in threads of their own can be opened there: the options' clones have the group
        /// in common.
        ///
        /// # Errors
        /// As for [`open_with`]; more members than a group can have; or a group that is in the way.
        pub fn open_members<V: MembersVisitor>(
            spec: &MethodSpec,
            interface: &Interface,
            options: &CaptureOptions,
            members: usize,
            visitor: V,
        ) -> Result<V::Output> {
            find(spec)?.accepts(spec, interface, options)?;
            of_members(spec, interface, options, members)?;
            $(if spec.name() == $module::METHOD.name {
                let open = |_| $module::$type::open(spec, interface, options);
                return Ok(visitor.visit((0..members).map(open).collect::<Result<Vec<_>>>()?));
            })+
            Err(unknown(spec.name()))
        }
    };
}

methods! {
    recv::Recv,
    recvmmsg::Recvmmsg,
    packet_v1::PacketV1,
    packet_v2::PacketV2,
    packet_v3::PacketV3,
    libpcap::Libpcap,
    af_xdp::AfXdp,
    xdp_count::XdpCount,
    dpdk::Dpdk,
    pf_ring::PfRingSocket,
    nfb::NfbCard,
    szedata2::Szedata2,
}

/// The method that `spec` names, when it knows all that is said about it.
///
/// # Errors
/// [`CaptureError::UnknownMethod`] with the names that there are, or [`CaptureError::Spec`].
pub fn find(spec: &MethodSpec) -> Result<&'static Method> {
    let known = METHODS.iter().copied().find(|method| method.name == spec.name());
    let method = known.ok_or_else(|| unknown(spec.name()))?;
    spec.check(method)?;
    Ok(method)
}

fn unknown(name: &str) -> CaptureError {
    let known: Vec<_> = METHODS.iter().map(|method| method.name).collect();
    CaptureError::UnknownMethod { name: name.into(), known: known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::{METHODS, find, of_members};
    use crate::fanout::Fanout;
    use crate::options::{CaptureOptions, Interface};
    use crate::spec::MethodSpec;
    use capbench_sys::host::interface::InterfaceIndex;
    use capbench_sys::packet::FanoutMode;

    #[test]
    fn members_are_refused_where_they_cannot_be_before_anything_is_opened() {
        let interface = Interface { name: "test".into(), index: InterfaceIndex::new(1).unwrap(), mtu: 1500 };
        let plain = CaptureOptions::default();
        let shared = CaptureOptions { fanout: Some(Fanout::new(FanoutMode::Hash)), ..plain.clone() };
        let members = |options: &CaptureOptions, members| {
            of_members(&MethodSpec::plain("recv"), &interface, options, members).map_err(|e| e.to_string())
        };
        assert_eq!(
            (members(&plain, 1), members(&shared, 1), members(&shared, 256)),
            (Ok(()), Ok(()), Ok(()))
        );
        assert!(members(&plain, 2).unwrap_err().contains("every frame 2 times"));
        for many in [0, 257] {
            assert!(members(&shared, many).unwrap_err().contains("1 to 256 members"));
        }
        for method in METHODS {
            let spec = MethodSpec::plain(method.name);
            let refused = method.accepts(&spec, &interface, &shared).map_err(|error| error.to_string());
            let is_refused = refused.is_err_and(|text| text.contains("fanout"));
            assert_eq!(is_refused, !method.fanout, "{}", method.name);
        }
    }

    #[test]
    fn names_are_unique_and_found() {
        for method in METHODS {
            if method.argument.is_none_or(|argument| !argument.required) {
                assert_eq!(find(&MethodSpec::plain(method.name)).unwrap().name, method.name);
            }
            assert_eq!(METHODS.iter().filter(|other| other.name == method.name).count(), 1);
        }
        let text = find(&MethodSpec::plain("packet-v4")).unwrap_err().to_string();
        assert!(text.contains("packet-v4") && text.contains("packet-v3"), "{text}");
    }
}
