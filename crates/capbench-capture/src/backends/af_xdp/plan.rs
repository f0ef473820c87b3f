//! The parsed settings and options, checked before anything is opened.

use std::time::Duration;

use capbench_sys::bpf::XdpMode;
use capbench_sys::busy_poll::BusyPoll;
use capbench_sys::xdp::umem::CHUNK_SIZES;
use capbench_sys::xdp::{CopyMode, UmemGeometry};

use crate::{CaptureError, Interface, Result, duration_of, number_of, ring_memory};
use capbench_model::direction::Direction;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::ByteCount;

/// Octets of an Ethernet header with one VLAN tag, which XDP leaves in the frame.
const HEADER: u32 = 14 + 4;

/// Maximum number of frames per busy poll, as the kernel's documentation recommends.
const BUSY_POLL_BUDGET: u16 = 64;

/// Frames of a batch. Their chunks are returned together, so a batch must be small relative to the ring.
const BATCH: u32 = 64;

/// The parsed request.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) mode: XdpMode,
    pub(super) copy: CopyMode,
    pub(super) need_wakeup: bool,
    pub(super) busy_poll: Option<BusyPoll>,
    pub(super) spin: Duration,
    pub(super) queue: Option<u32>,
    pub(super) pass: bool,
    pub(super) chunk_size: u32,
    fill: Option<u32>,
    ring: ByteCount,
}

/// The sizes of each queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sizes {
    /// Entries of the receive ring.
    pub(super) received: u32,
    /// Additional chunks, for frames that the application keeps.
    pub(super) spare: u32,
    /// Entries of the fill ring.
    pub(super) fill: u32,
    /// Maximum number of frames of a batch.
    pub(super) batch: u32,
}

impl Plan {
    /// Checks the request.
    pub(super) fn new(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        let refuse =
            |reason: &str| Err(CaptureError::Spec { method: spec.to_string(), reason: reason.into() });
        for (one, other) in [("native", "generic"), ("copy", "zero-copy"), ("need-wakeup", "no-need-wakeup")]
        {
            if spec.has(one) && spec.has(other) {
                return refuse(&format!("+{one} and +{other} exclude each other"));
            }
        }
        if spec.has("generic") && spec.has("zero-copy") {
            return refuse("zero-copy needs the driver: generic mode always copies; leave +generic out");
        }
        if spec.has("generic") && spec.has("pass") {
            return refuse(
                "in generic mode a frame that is passed on would come back to the XDP program; leave +generic out",
            );
        }
        if options.direction != Direction::In {
            let reason = "an XDP program sees frames that arrive, and no others".into();
            return Err(CaptureError::Option { option: "--direction", reason });
        }
        if let Some(fanout) = &options.fanout {
            if spec.has("queue") {
                return refuse("+queue names one queue, and each member has one; leave +queue out");
            }
            if fanout.rollover() {
                return refuse("a frame stays in its receive queue, so no other member gets it (rollover)");
            }
        }
        let fill = number_of(spec, "fill", 1, 1 << 24)?;
        if fill.is_some_and(|entries| !entries.is_power_of_two()) {
            return refuse("+fill: the kernel wants a power of two");
        }
        let time = |setting, default| {
            let found = spec.has(setting).then(|| duration_of(spec, setting)).transpose()?;
            Ok(found.map(|time| time.unwrap_or(default)))
        };
        let busy_poll: Option<Duration> = time("busy-poll", Duration::from_micros(50))?;
        let plan = Self {
            mode: if spec.has("generic") { XdpMode::Generic } else { XdpMode::Driver },
            copy: match (spec.has("copy"), spec.has("zero-copy")) {
                (_, true) => CopyMode::ZeroCopy,
                (true, _) => CopyMode::Copy,
                // Generic mode always copies, and a socket with zero-copy would get nothing.
                _ if spec.has("generic") => CopyMode::Copy,
                _ => CopyMode::Any,
            },
            need_wakeup: !spec.has("no-need-wakeup"),
            busy_poll: busy_poll.map(|time| BusyPoll { time, budget: BUSY_POLL_BUDGET, prefer: true }),
            spin: time("spin", Duration::from_millis(1))?.unwrap_or(options.spin),
            queue: number_of(spec, "queue", 0, u16::MAX.into())?,
            pass: spec.has("pass"),
            chunk_size: chunk_size(interface, options)?,
            fill,
            ring: ring_memory::checked_own_ring(options)?,
        };
        plan.sizes(1)?;
        Ok(plan)
    }

    /// The sizes of each of `queues` queues.
    pub(super) fn sizes(&self, queues: u32) -> Result<Sizes> {
        let refuse = |reason: String| Err(CaptureError::Option { option: "--ring", reason });
        let (each, chunk) = (self.ring.0 / u64::from(queues.max(1)), ByteCount(self.chunk_size.into()));
        let chunks = each / chunk.0;
        if chunks == 0 {
            return refuse(format!("{} hold no buffer of {chunk} for each of {queues} queues", self.ring));
        }
        if chunks * u64::from(queues) > 1 << 23 {
            return refuse(format!("{} are more than the 8388608 buffers of {chunk} that can be", self.ring));
        }
        let received = 1 << chunks.ilog2();
        let batch = BATCH.min((received / 4).max(1));
        let spare = (received / 8).max(batch);
        let fill = self.fill.unwrap_or_else(|| (received + spare).next_power_of_two());
        Ok(Sizes { received, spare, fill, batch })
    }
}

/// The smallest chunk that fits the interface's largest frame, or the user's size.
fn chunk_size(interface: &Interface, options: &CaptureOptions) -> Result<u32> {
    let largest = interface.mtu.saturating_add(HEADER);
    let fits = |size: &u32| UmemGeometry::frame_room(*size) >= largest;
    if let Some(size) = CHUNK_SIZES.into_iter().find(fits).filter(|_| options.frame.is_none()) {
        return Ok(size);
    }
    let most = UmemGeometry::frame_room(CHUNK_SIZES[1]) - HEADER;
    let Some(asked) = options.frame else {
        return Err(CaptureError::Unsupported {
            method: super::METHOD.name.into(),
            interface: interface.name.clone(),
            reason: format!(
                "its MTU is {}, and a buffer holds frames of an MTU of up to {most}: lower it, or use an AF_PACKET \
                 method",
                interface.mtu
            ),
        });
    };
    let reason = match CHUNK_SIZES.into_iter().find(|&size| u64::from(size) == asked.0) {
        Some(size) if fits(&size) => return Ok(size),
        Some(_) => format!(
            "buffers of {asked} do not hold the frames of an MTU of {}: 256 octets of each are the kernel's",
            interface.mtu
        ),
        None => format!("buffers are of 2KiB or 4KiB, not of {asked}"),
    };
    Err(CaptureError::Option { option: "--frame", reason })
}

#[cfg(test)]
mod tests {
    use capbench_sys::host::interface::InterfaceIndex;

    use super::*;

    fn plan(spec: &str, mtu: u32, options: &CaptureOptions) -> Result<Plan> {
        let interface = Interface::new("test", InterfaceIndex::new(1).unwrap(), mtu);
        Plan::new(&spec.parse().unwrap(), &interface, options)
    }

    fn refusal(spec: &str, mtu: u32, options: &CaptureOptions) -> String {
        plan(spec, mtu, options).unwrap_err().to_string()
    }

    #[test]
    fn rings_follow_from_the_memory_asked_for() {
        let all = plan("af-xdp", 1500, &CaptureOptions::default()).unwrap();
        let sizes = Sizes { received: 32768, spare: 4096, fill: 65536, batch: 64 };
        assert_eq!((all.chunk_size, all.sizes(1).unwrap()), (2048, sizes));
        assert_eq!(all.sizes(4).unwrap().received, 8192);
        // Not a power of two: the next lower one.
        assert_eq!(all.sizes(3).unwrap().received, 8192);
        let tiny = CaptureOptions { ring: ByteCount(16 << 10), ..CaptureOptions::default() };
        let sizes = Sizes { received: 8, spare: 2, fill: 16, batch: 2 };
        assert_eq!(plan("af-xdp", 1500, &tiny).unwrap().sizes(1).unwrap(), sizes);
        let starved = plan("af-xdp+fill=4", 1500, &tiny).unwrap().sizes(1).unwrap();
        assert_eq!(starved, Sizes { fill: 4, ..sizes });
        let none = CaptureOptions { ring: ByteCount(1000), ..CaptureOptions::default() };
        assert!(refusal("af-xdp", 1500, &none).starts_with("--ring: 1000B hold no buffer"));
    }

    #[test]
    fn frames_that_do_not_fit_are_refused_and_never_lost_in_silence() {
        let base = CaptureOptions::default();
        assert_eq!(plan("af-xdp", 1774, &base).unwrap().chunk_size, 2048);
        assert_eq!(plan("af-xdp", 1775, &base).unwrap().chunk_size, 4096);
        assert_eq!(plan("af-xdp", 3822, &base).unwrap().chunk_size, 4096);
        let text = refusal("af-xdp", 9000, &base);
        assert!(text.contains("9000") && text.contains("3822") && text.contains("AF_PACKET"), "{text}");
        let frame = |bytes| CaptureOptions { frame: Some(ByteCount(bytes)), ..CaptureOptions::default() };
        assert_eq!(plan("af-xdp", 1500, &frame(4096)).unwrap().chunk_size, 4096);
        assert!(refusal("af-xdp", 1800, &frame(2048)).starts_with("--frame: "));
        assert!(refusal("af-xdp", 9000, &frame(4096)).starts_with("--frame: "));
        assert!(refusal("af-xdp", 1500, &frame(16384)).starts_with("--frame: "));
    }

    #[test]
    fn settings_that_exclude_each_other_are_named() {
        let base = CaptureOptions::default();
        for (spec, words) in [
            ("af-xdp+native+generic", "exclude"),
            ("af-xdp+copy+zero-copy", "exclude"),
            ("af-xdp+need-wakeup+no-need-wakeup", "exclude"),
            ("af-xdp+generic+zero-copy", "always copies"),
            ("af-xdp+generic+pass", "come back"),
            ("af-xdp+fill=3", "power of two"),
            ("af-xdp+fill=0", "no number"),
            ("af-xdp+queue=-1", "no number"),
            ("af-xdp+busy-poll=5", "no time"),
        ] {
            let text = refusal(spec, 1500, &base);
            assert!(text.contains(words) && text.contains(spec) && text.lines().count() == 1, "{text}");
        }
        let out = CaptureOptions { direction: Direction::Out, ..base };
        assert!(refusal("af-xdp", 1500, &out).starts_with("--direction: "));
    }
}
