//! The table of capture methods.

use std::num::NonZeroU16;

use capbench_sys::packet::fanout::MOST_MEMBERS;

use crate::backends::{
    af_xdp, dpdk, frame_slots, libpcap, nfb, packet_v3, pf_ring, recv, szedata2, xdp_count,
};
use crate::{Capture, CaptureError, Interface, Method, Result, VlanTags};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::Running;

/// Work on a capture whose method is known only at run time.
pub trait Visitor {
    /// Its result.
    type Output;

    /// Does the work; compiled once for each method.
    fn visit<C: Capture>(self, capture: C) -> Self::Output;
}

/// Work on several captures of one interface, all with the same method, that share its frames.
pub trait MembersVisitor {
    /// Its result.
    type Output;

    /// Does the work; compiled once for each method.
    fn visit<C: Capture>(self, members: Vec<C>) -> Self::Output;
}

/// The options of a group of captures that are opened together, if the method allows that many.
fn of_members(
    spec: &MethodSpec,
    interface: &Interface,
    options: &CaptureOptions,
    members: usize,
) -> Result<()> {
    let refuse = |reason: String| Err(CaptureError::unsupported(spec, &interface.name, reason));
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

/// Generates the list of methods and the lookup by name from one row each.
macro_rules! methods {
    ($($module:ident::$method:ident => $type:ident),+ $(,)?) => {
        /// All methods, in the order of tables.
        pub static METHODS: &[&Method] = &[$(&$module::$method),+];

        /// Opens a method in the calling thread's namespace and passes it to `visitor`.
        ///
        /// # Errors
        /// The errors of [`find`] and of opening the method.
        pub fn open_with<V: Visitor>(
            spec: &MethodSpec,
            interface: &Interface,
            options: &CaptureOptions,
            visitor: V,
        ) -> Result<V::Output> {
            find(spec)?.accepts(spec, interface, options)?;
            $(if spec.name() == $module::$method.name {
                return Ok(visitor.visit($module::$type::open(spec, interface, options)?));
            })+
            Err(unknown(spec.name()))
        }

        /// Opens several captures of one interface, in the calling thread's namespace, as one source. Each frame goes to one
        /// of them, as [`CaptureOptions::fanout`] says. The first capture creates the group, unless it exists, and the others
        /// join it. Captures for threads can be opened in those threads: clones of the options share the group.
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
            of_members(spec, interface, options, members)?;
            let mut options = options.clone();
            let count = u16::try_from(members).ok().and_then(NonZeroU16::new);
            options.fanout = options.fanout.zip(count).map(|(fanout, count)| fanout.with_members(count));
            find(spec)?.accepts(spec, interface, &options)?;
            $(if spec.name() == $module::$method.name {
                let open = |_| $module::$type::open(spec, interface, &options);
                return Ok(visitor.visit((0..members).map(open).collect::<Result<Vec<_>>>()?));
            })+
            Err(unknown(spec.name()))
        }
    };
}

methods! {
    recv::RECV => Recv,
    recv::RECVMMSG => Recv,
    frame_slots::PACKET_V1 => FrameSlots,
    frame_slots::PACKET_V2 => FrameSlots,
    packet_v3::METHOD => PacketV3,
    libpcap::METHOD => Libpcap,
    af_xdp::METHOD => AfXdp,
    xdp_count::METHOD => XdpCount,
    dpdk::METHOD => Dpdk,
    pf_ring::METHOD => PfRingSocket,
    nfb::METHOD => NfbCard,
    szedata2::METHOD => Szedata2,
}

/// The method that `spec` names, after checking its argument and settings.
///
/// # Errors
/// [`CaptureError::UnknownMethod`] with the existing names, or [`CaptureError::Spec`].
pub fn find(spec: &MethodSpec) -> Result<&'static Method> {
    let known = METHODS.iter().copied().find(|method| method.name == spec.name());
    let method = known.ok_or_else(|| unknown(spec.name()))?;
    method.knows(spec)?;
    Ok(method)
}

/// Where the VLAN tags of a capture's frames are.
pub fn vlan_tags(running: &Running) -> VlanTags {
    let known = METHODS.iter().find(|known| known.name == running.method).map(|known| known.vlan_tags);
    match known {
        _ if running.vlan_metadata => VlanTags::Reported,
        Some(tags) => tags,
        None => VlanTags::Unknown,
    }
}

fn unknown(name: &str) -> CaptureError {
    let known: Vec<_> = METHODS.iter().map(|method| method.name).collect();
    CaptureError::UnknownMethod { name: name.into(), known: known.join(", ") }
}

#[cfg(test)]
mod tests {
    use capbench_sys::host::interface::InterfaceIndex;
    use capbench_sys::packet::FanoutMode;

    use super::{METHODS, find, of_members};
    use crate::Interface;
    use capbench_model::fanout::Fanout;
    use capbench_model::method_spec::MethodSpec;
    use capbench_model::options::CaptureOptions;

    #[test]
    fn how_frames_are_delivered_is_known_of_every_method() {
        for method in METHODS {
            assert!(MethodSpec::plain(method.name).delivery().is_some(), "{}", method.name);
        }
    }

    #[test]
    fn members_are_refused_where_they_cannot_be_before_anything_is_opened() {
        let interface = Interface::new("test", InterfaceIndex::new(1).unwrap(), 1500);
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
            let sharing = method.fanout.is_some_and(|sharing| sharing.modes.contains(&FanoutMode::Hash));
            assert_eq!(is_refused, !sharing, "{}", method.name);
            let usual = method.fanout.map(|sharing| sharing.modes[0]);
            assert!(usual.is_none_or(|mode| mode == spec.usual_fanout()), "{}", method.name);
        }
    }

    #[test]
    fn names_are_unique_and_found() {
        for method in METHODS {
            assert_eq!(find(&MethodSpec::plain(method.name)).unwrap().name, method.name);
            assert_eq!(METHODS.iter().filter(|other| other.name == method.name).count(), 1);
        }
        let text = find(&MethodSpec::plain("packet-v4")).unwrap_err().to_string();
        assert!(text.contains("packet-v4") && text.contains("packet-v3"), "{text}");
    }

    #[test]
    fn a_method_refuses_what_it_does_not_know() {
        let refusal = |text: &str| find(&text.parse().unwrap()).unwrap_err().to_string();
        assert!(refusal("recv:eth0").contains("takes no \":eth0\""));
        assert!(refusal("recv+fast").contains("has no setting \"fast\""));
        assert!(refusal("packet-v9").contains("packet-v3"));
        assert!(refusal("recv+busy-poll=1ms+busy-poll=2ms").contains("twice"));
    }
}
