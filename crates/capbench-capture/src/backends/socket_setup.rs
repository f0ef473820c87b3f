//! The common part of all AF_PACKET methods: a socket that is configured before it can receive.

use std::borrow::Cow;
use std::time::Duration;

use capbench_sys::SysError;
use capbench_sys::busy_poll::{BusyPoll, incoming_napi};
use capbench_sys::host::interface::LinkLayer;
use capbench_sys::packet::{FanoutMode, FanoutProgram, FanoutRule, PacketSocket, Protocol, Version};

use super::fanout_program::by_flow;
use crate::fanout_choice::property_of_member;
use crate::filter::Keep;
use crate::method::Sharing;
use crate::stats_socket::NOTHING;
use crate::{Context, Interface, Method, Result, SettingInfo, VlanTags, duration_of, filter};
use capbench_model::direction::Direction;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::Running;

/// What every AF_PACKET method has in common.
pub(super) const SOCKET: Method = Method {
    options: &["--ring", "--snaplen", "--no-promiscuous", "--spin", "--direction"],
    settings: &[
        SettingInfo::optional(
            "busy-poll",
            "TIME",
            "SO_BUSY_POLL, SO_PREFER_BUSY_POLL [50us]; says so where the kernel does not do it",
        ),
        SPIN,
    ],
    fanout: Some(Sharing {
        modes: &[
            FanoutMode::Hash,
            FanoutMode::Cpu,
            FanoutMode::Queue,
            FanoutMode::InTurn,
            FanoutMode::Rollover,
            FanoutMode::Program,
        ],
        because: None,
    }),
    socket_filter: true,
    captures_ip_packets: true,
    in_default: true,
    vlan_tags: VlanTags::Reported,
    ..Method::BASE
};

/// Spinning before sleeping.
pub(super) const SPIN: SettingInfo = SettingInfo::optional(
    "spin",
    "TIME",
    "looks for frames again and again in user space before it sleeps [1ms]; as --spin",
);

/// Polling of an AF_PACKET method: spinning in user space, and busy polling by the kernel.
#[derive(Clone, Debug)]
pub(super) struct Polling {
    /// How long to spin in user space.
    pub(super) spin: Duration,
    busy_poll: Option<BusyPoll>,
    /// The shortfalls at opening time, once they were read.
    at_open: Option<Vec<String>>,
}

impl Polling {
    /// Parses settings and options.
    pub(super) fn parse(spec: &MethodSpec, options: &CaptureOptions) -> Result<Self> {
        let time = |setting, default| {
            spec.has(setting)
                .then(|| duration_of(spec, setting).map(|time| time.unwrap_or(default)))
                .transpose()
        };
        let busy_poll = time("busy-poll", Duration::from_micros(50))?.map(|time| BusyPoll {
            time,
            budget: BUSY_POLL_BUDGET,
            prefer: true,
        });
        let spin = time("spin", Duration::from_millis(1))?.unwrap_or(options.spin);
        Ok(Self { spin, busy_poll, at_open: None })
    }

    /// The same, set on a socket.
    pub(super) fn set(
        context: &Context,
        spec: &MethodSpec,
        options: &CaptureOptions,
        socket: &PacketSocket,
    ) -> Result<Self> {
        let polling = Self::parse(spec, options)?;
        if let Some(busy_poll) = &polling.busy_poll {
            busy_poll.set(socket).map_err(|source| context.fail_for_want_of("CAP_NET_ADMIN", source))?;
        }
        Ok(polling)
    }

    /// Finds out whether the kernel busy-polls. Only sockets with a NAPI context can be polled, which is known after the
    /// first frames. Adds the result to the shortfalls at opening time.
    pub(super) fn verify(&mut self, socket: &PacketSocket, running: &mut Running) {
        if self.busy_poll.is_some() {
            self.note(incoming_napi(socket), running);
        }
    }

    fn note(&mut self, napi: capbench_sys::Result<Option<u32>>, running: &mut Running) {
        let at_open = self.at_open.get_or_insert_with(|| std::mem::take(&mut running.shortfalls));
        let found = match napi {
            Ok(Some(_)) => None,
            Ok(None) => {
                Some("it was not busy-polled: this kernel keeps no NAPI context for packet sockets".into())
            }
            Err(error) => Some(format!("whether it was busy-polled is unknown: {error}")),
        };
        running.shortfalls = at_open.iter().cloned().chain(found).collect();
    }
}

/// Maximum number of packets per poll, as for AF_XDP programs. The kernel's default is 8.
const BUSY_POLL_BUDGET: u16 = 64;

/// An unbound socket with filter, direction and mode set. Also returns whether a filter will run.
pub(super) fn unbound(
    context: &Context,
    interface: &Interface,
    options: &CaptureOptions,
) -> Result<(PacketSocket, bool)> {
    let fail = |source| context.fail(source);
    let socket = PacketSocket::open_on(interface.layer).map_err(fail)?;
    let mut keep = Keep::from(options.direction);
    // The socket option saves the kernel a clone per outgoing frame. A filter does the same on older kernels, and for members
    // of a group, for which the kernel ignores that option.
    if options.direction == Direction::In && options.fanout.is_none() && socket.ignore_outgoing().is_ok() {
        keep = Keep::Everything;
    }
    let program = filter::program(keep, options.snap_length, options.filter.as_ref());
    match (&program, &options.fanout) {
        (_, Some(_)) => socket.attach_filter(&[NOTHING]).map_err(fail)?,
        (Some(program), None) => socket.attach_filter(program).map_err(fail)?,
        (None, None) => {}
    }
    if options.promiscuous {
        socket.set_promiscuous(interface.index).map_err(fail)?;
    }
    Ok((socket, program.is_some()))
}

/// The program of capbench.
fn own_program(layer: LinkLayer) -> FanoutProgram {
    FanoutProgram::Classic(Cow::Owned(by_flow(layer.header_octets()).to_vec()))
}

/// Binds the socket, the last step of opening: frames arrive from here on. A member also joins its group, which the result
/// names.
///
/// The kernel lets only bound sockets join. Between the two steps the socket would get every frame of the interface,
/// including those of other members. So it drops all frames until it is a member.
pub(super) fn bind(
    context: &Context,
    socket: &PacketSocket,
    interface: &Interface,
    options: &CaptureOptions,
) -> Result<Option<String>> {
    let fail = |source| context.fail(source);
    socket.bind(interface.index, Protocol::All).map_err(fail)?;
    let Some(fanout) = &options.fanout else { return Ok(None) };
    let program = fanout.program();
    let rule = FanoutRule {
        mode: fanout.mode(),
        is_loaded: matches!(program, Some(FanoutProgram::Loaded(_))),
        rollover: fanout.rollover(),
        ignore_outgoing: options.direction == Direction::In,
    };
    let join = |group| match group {
        Some(group) => socket.join_fanout(group, rule).map(|()| group),
        None => {
            let group = socket.make_fanout(rule)?;
            if rule.mode == FanoutMode::Program {
                match program {
                    Some(program) => socket.set_fanout_program(program)?,
                    None => socket.set_fanout_program(&own_program(interface.layer))?,
                }
            }
            Ok(group)
        }
    };
    fanout.join(join).map_err(fail)?;
    match filter::program(options.direction.into(), options.snap_length, options.filter.as_ref()) {
        Some(program) => socket.attach_filter(&program).map_err(fail)?,
        None => socket.detach_filter().map_err(fail)?,
    }
    Ok(Some(property_of_member(fanout)))
}

/// A socket that receives nothing and keeps the interface accepting frames for other hosts.
pub(super) fn promiscuous(interface: &Interface) -> capbench_sys::Result<PacketSocket> {
    let socket = PacketSocket::open()?;
    socket.set_promiscuous(interface.index)?;
    Ok(socket)
}

/// Whether a packet socket can be opened, with this ring version if there is one.
pub(super) fn probe(version: Option<Version>) -> std::result::Result<(), String> {
    let reason = |error: SysError| match error.errno() {
        Some(1) => "needs the capability CAP_NET_RAW".to_string(),
        _ => error.to_string(),
    };
    let socket = PacketSocket::open().map_err(reason)?;
    version.map_or(Ok(()), |version| socket.set_version(version)).map_err(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use capbench_model::running::{Engine, RingGeometry, TimeSource};

    #[test]
    fn polling_shortfalls_are_listed_after_those_of_opening_and_removed_when_they_end() {
        for at_open in [vec![], vec!["its receive buffer is small".to_string()]] {
            let mut polling = Polling { spin: Duration::ZERO, busy_poll: None, at_open: None };
            let ring = RingGeometry::ReceiveBuffer { bytes: 1, frames_per_call: 1 };
            let mut running = Running::new("recv", Engine::default(), ring, TimeSource::None);
            running.shortfalls.clone_from(&at_open);
            let (lacks, unknown) = (Ok(None), Err(SysError::argument("getsockopt", "no")));
            for (napi, words) in
                [(lacks, "it was not busy-polled"), (Ok(None), "it was not"), (unknown, "is unknown")]
            {
                polling.note(napi, &mut running);
                let (last, before) = running.shortfalls.split_last().unwrap();
                assert!(last.contains(words) && before == at_open, "{:?}", running.shortfalls);
            }
            polling.note(Ok(Some(8)), &mut running);
            assert_eq!(running.shortfalls, at_open);
        }
    }
}
