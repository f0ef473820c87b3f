//! The meaning of the kernel's refusals, and what to ask for instead. There is no fallback.

use capbench_sys::SysError;
use capbench_sys::bpf::object::CAPABILITIES;
use capbench_sys::host::ethtool::receive_queues;
use capbench_sys::xdp::CopyMode;

use super::METHOD;
use super::plan::Plan;
use crate::{CaptureError, Context, Interface, Result};
use capbench_model::method_spec::MethodSpec;

const EPERM: i32 = 1;
const EBUSY: i32 = 16;
const EINVAL: i32 = 22;
const ERANGE: i32 = 34;
const EOPNOTSUPP: i32 = 95;
const ENOBUFS: i32 = 105;

/// Turns refusals into errors.
pub(super) struct Refusal<'a> {
    pub(super) context: &'a Context,
    pub(super) spec: &'a MethodSpec,
}

impl Refusal<'_> {
    #[cold]
    pub(super) fn because(&self, reason: String) -> CaptureError {
        CaptureError::unsupported(self.spec, &self.context.interface, reason)
    }

    /// The queues to receive from.
    pub(super) fn queues(&self, plan: &Plan, interface: &Interface) -> Result<Vec<u32>> {
        let count = receive_queues(&interface.name);
        match (plan.queue, count) {
            (Some(queue), Ok(count)) if queue >= count => {
                Err(self.because(format!("there is no receive queue {queue}: it has {count}, from 0 on")))
            }
            (Some(queue), _) => Ok(vec![queue]),
            (None, Ok(count)) if count > 0 => Ok((0..count).collect()),
            (None, Ok(_)) => Err(self.because("it has no receive queue".into())),
            (None, Err(error)) if error.errno() == Some(EPERM) => Err(self.because(format!(
                "how many receive queues it has is unknown ({error}): name one by +queue=N"
            ))),
            (None, Err(error)) => Err(self.context.fail(error)),
        }
    }

    /// Refuses members for whom there is no receive queue.
    #[cold]
    pub(super) fn more_members_than(&self, queues: u32) -> CaptureError {
        let interface = &self.context.interface;
        self.because(format!(
            "each member needs a receive queue, and the interface has {queues}: use fewer members; --queues N gives capbench's own \
             link more, and ethtool -L {interface} combined N a card"
        ))
    }

    #[cold]
    pub(super) fn of_bpf(&self, source: SysError) -> CaptureError {
        match source {
            SysError::Refused { .. } => self.because(source.to_string()),
            other => self.context.fail_for_want_of(CAPABILITIES, other),
        }
    }

    #[cold]
    pub(super) fn of_sockets(&self, plan: &Plan, is_member: bool, source: SysError) -> CaptureError {
        let reason = match (source.errno(), plan.copy) {
            (Some(EOPNOTSUPP | EINVAL), CopyMode::ZeroCopy) => {
                "the interface's driver has no zero-copy for AF_XDP; +copy works with any"
            }
            (Some(EBUSY), _) if is_member => {
                "another program's AF_XDP socket has this queue, and the members share all queues: end that program \
                 (`capbench why` names it)"
            }
            (Some(EBUSY), _) => {
                "another AF_XDP socket has this queue; end its program or choose a queue by +queue=N"
            }
            (Some(ENOBUFS), _) => {
                "the limit on locked memory is too low (ulimit -l): raise it, run as root or lower --ring"
            }
            _ => return self.context.fail(source),
        };
        self.because(format!("{reason} ({source})"))
    }

    #[cold]
    pub(super) fn of_attaching(&self, interface: &Interface, source: SysError) -> CaptureError {
        match source.errno() {
            Some(EPERM) => self.context.fail_for_want_of(CAPABILITIES, source),
            Some(EOPNOTSUPP) => self.because(format!("{source}: write {}+generic", METHOD.name)),
            Some(ERANGE) => self.because(format!(
                "{source}. Its MTU is {}; a veth pair takes about 3500 in native mode, on both ends, and +generic more",
                interface.mtu
            )),
            _ => self.of_bpf(source),
        }
    }
}
