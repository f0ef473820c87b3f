//! A port of DPDK and what is done for it on its interface: of one capture, or of all members of a group, who share its queues.

use std::num::NonZeroU16;
use std::sync::Arc;

use capbench_sys::SysError;
use capbench_sys::dpdk::{Device, DriverSockets, OpenPort, Port, Wanted};
use capbench_sys::packet::PacketSocket;

use super::super::presence::flags_if_up;
use super::super::queue_shares::QueueShares;
use super::super::socket_setup::promiscuous;
use super::Request;
use super::prepare::{plan, start, too_much_to_lock};
use crate::filter::Keep;
use crate::{CaptureError, Context, Interface, Result, filter};
use capbench_model::fanout::Fanout;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::SnapLength;

/// A started port.
#[derive(Debug)]
pub(super) struct Shared {
    port: Arc<OpenPort>,
    shares: QueueShares,
    pub(super) device: Device,
    pub(super) wanted: Wanted,
    /// Whether its sockets leave out what this host sends.
    pub(super) filtered: bool,
    /// Keeps the interface in promiscuous mode until the process ends.
    _promiscuity: Option<PacketSocket>,
}

impl Shared {
    /// Starts the port with a queue for each member, in the calling thread's namespace.
    ///
    /// # Errors
    /// Missing privilege, an interface that is missing or down, or an error of DPDK.
    pub(super) fn open(
        spec: &MethodSpec,
        request: &Request,
        interface: &Interface,
        options: &CaptureOptions,
        context: &Context,
    ) -> Result<Self> {
        let fail = |source| context.fail(source);
        let is_virtual = request.device.is_virtual();
        let mut user_promiscuous = false;
        if is_virtual {
            // Checked before DPDK starts, because its drivers do not say what is missing.
            PacketSocket::open().map_err(fail)?;
            user_promiscuous = flags_if_up(interface).map_err(fail)?.promiscuous();
        }
        let (device, wanted) = plan(request, interface, options, user_promiscuous, context)?;
        let eal = start(spec, context, &device, options)?;
        let index = is_virtual.then_some(interface.index);
        let port = OpenPort::open(eal, &device, index, &wanted).map_err(|source| {
            let too_much = too_much_to_lock(spec, request, interface, options, &source);
            too_much.unwrap_or_else(|| not_started(spec, interface, wanted.threads, source, context))
        })?;
        if !is_virtual && port.queues() > 1 && !port.has_rss() {
            let reason = format!("{} spreads no frames over queues (RSS): use one member", port.driver());
            return Err(CaptureError::unsupported(spec, &interface.name, reason));
        }
        let mut filtered = false;
        if let DriverSockets::Packet(sockets) = port.sockets() {
            let program = filter::program(Keep::NoOutgoing, SnapLength::EVERYTHING, None).unwrap_or_default();
            sockets.iter().try_for_each(|socket| socket.attach_filter(&program)).map_err(fail)?;
            filtered = true;
        }
        let promiscuity =
            (is_virtual && options.promiscuous).then(|| promiscuous(interface)).transpose().map_err(fail)?;
        let shares = QueueShares::of(port.queues().into());
        Ok(Self { port: Arc::new(port), shares, device, wanted, filtered, _promiscuity: promiscuity })
    }

    /// The queues of the next member, or all for a capture that is alone. They are for the calling thread.
    ///
    /// # Errors
    /// There are fewer queues than members.
    pub(super) fn next_queues(
        &self,
        spec: &MethodSpec,
        fanout: Option<&Fanout>,
        context: &Context,
    ) -> Result<Port> {
        let count = match fanout {
            None => NonZeroU16::new(self.port.queues()),
            Some(fanout) => {
                self.shares.next(fanout.members()).and_then(|own| NonZeroU16::new(own.len() as u16))
            }
        };
        let next = |count| Port::next(&self.port, count, self.wanted.burst);
        let port = count.map_or(Ok(None), next).map_err(|source| context.fail(source))?;
        port.ok_or_else(|| {
            let (device, queues) = (self.device.name, self.shares.queues());
            let reason = format!(
                "each member needs a receive queue, and the port of {device} has {queues}: use fewer members"
            );
            CaptureError::unsupported(spec, &context.interface, reason)
        })
    }
}

/// A port with a queue for each member that did not start: some devices have only certain numbers of queues.
fn not_started(
    spec: &MethodSpec,
    interface: &Interface,
    members: NonZeroU16,
    source: SysError,
    context: &Context,
) -> CaptureError {
    match source {
        SysError::Argument { .. } if members.get() > 1 => {
            let asked = format!("asked for {members} receive queues, one for each member");
            let reason = format!("{source} ({asked}): use another number of members");
            CaptureError::unsupported(spec, &interface.name, reason)
        }
        _ => context.fail(source),
    }
}
