//! `dpdk`: DPDK receives, by polling a device from user space (doc.dpdk.org, 22.11). Only with the feature `dpdk`.
//!
//! The device is one of: `net_af_packet`, DPDK's driver over a TPACKET_V2 ring of the interface; `net_af_xdp`, its driver
//! over AF_XDP; a PCI device bound to a driver for DPDK. The first two cost as much as the method below them plus DPDK's
//! part, a copy of each frame for `net_af_packet`.
//!
//! This file parses requests and needs no DPDK. The files in `dpdk/` run it.

#[cfg(feature = "dpdk")]
mod live;
#[cfg(feature = "dpdk")]
mod losses;
#[cfg(feature = "dpdk")]
mod prepare;
#[cfg(feature = "dpdk")]
mod shared;

#[cfg(not(feature = "dpdk"))]
use super::absent::Absent;
use super::frame_slots;
use crate::error::{CaptureError, Result};
use crate::interface::Interface;
use crate::method::number_of;
use crate::method::{Argument, CapturePoint, Method, SettingInfo, Sharing, VlanTags};
use crate::ring_memory;
use capbench_model::direction::Direction;
use capbench_model::fanout::Fanout;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::ByteCount;
use capbench_sys::dpdk::DeviceName;
use capbench_sys::packet::FanoutMode;

/// Placeholder for the capture if the feature is off.
#[cfg(not(feature = "dpdk"))]
pub type Dpdk = Absent;
#[cfg(feature = "dpdk")]
pub use live::{Dpdk, Received};

/// The row of the table.
pub static METHOD: Method = Method {
    name: "dpdk",
    summary: "DPDK polls a device: by default its driver net_af_packet over the interface",
    privilege: "CAP_NET_RAW; root for other devices than net_af_packet",
    options: &["--ring", "--block", "--frame", "--snaplen", "--no-promiscuous", "--direction", "--eal"],
    argument: Some(Argument {
        placeholder: "DEVICE",
        summary: "net_af_packet or net_af_xdp, over the interface, or a PCI address [net_af_packet]",
    }),
    settings: &[
        SettingInfo::valued("burst", "FRAMES", "frames read at once, up to [32]"),
        SettingInfo::valued(
            "descriptors",
            "NUMBER",
            "receive descriptors of net_af_xdp [2048] and PCI devices [4096]",
        ),
        SettingInfo::valued(
            "devargs",
            "KEY=VALUE;...",
            "arguments for the device's driver, with semicolons where DPDK has commas",
        ),
    ],
    variants: if cfg!(feature = "dpdk") { &["dpdk:net_af_xdp"] } else { &[] },
    untested: Some("partly, PCI devices untested on hardware"),
    capture_point,
    takes_frames: |spec| !matches!(spec.argument(), None | Some("net_af_packet")),
    has_queues: true,
    fanout: Some(Sharing {
        modes: &[FanoutMode::Queue],
        because: Some("a thread polls receive queues of the port, so members share the queues"),
    }),
    vlan_tags: VlanTags::InFrames,
    check,
    supported,
    ..Method::BASE
};

/// The parsed request.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Request {
    device: DeviceName,
    burst: u16,
    descriptors: Option<u16>,
    /// Comma-separated, as DPDK expects them.
    arguments: String,
}

impl Request {
    fn parse(spec: &MethodSpec) -> Result<Self> {
        let device = spec.argument().map_or(Some(DeviceName::AfPacket), DeviceName::parse);
        let device = device.ok_or_else(|| CaptureError::Spec {
            method: spec.to_string(),
            reason: format!(
                "\"{}\" is no device; write {}",
                spec.argument().unwrap_or_default(),
                DeviceName::KNOWN
            ),
        })?;
        let number = |setting, most| number_of(spec, setting, 1, most).map(|number| number.map(|n| n as u16));
        Ok(Self {
            device,
            burst: number("burst", 512)?.unwrap_or(32),
            descriptors: number("descriptors", 32_768)?,
            arguments: spec.value("devargs").unwrap_or_default().replace(';', ","),
        })
    }

    /// The value of one of the driver's arguments.
    fn argument(&self, key: &str) -> Option<&str> {
        self.arguments
            .split(',')
            .filter_map(|pair| pair.split_once('='))
            .find(|(k, _)| *k == key)
            .map(|(_, v)| v)
    }
}

fn capture_point(spec: &MethodSpec) -> CapturePoint {
    match spec.argument() {
        Some("net_af_xdp") => CapturePoint::Driver,
        _ => CapturePoint::Stack,
    }
}

fn check(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<()> {
    let request = Request::parse(spec)?;
    if options.direction != Direction::In {
        return Err(CaptureError::Option {
            option: "--direction",
            reason: "DPDK does not report which frames this host sent; it captures those that arrive".into(),
        });
    }
    if options.fanout.as_ref().is_some_and(Fanout::rollover) {
        let reason = "a frame stays in its receive queue, so no other member gets it (rollover)".into();
        return Err(CaptureError::Spec { method: spec.to_string(), reason });
    }
    if request.device == DeviceName::AfPacket {
        ring(&request, interface, options)?;
    }
    let checked = request.device.check_interface(&interface.name);
    checked.map_err(|reason| CaptureError::unsupported(spec, &interface.name, reason))
}

#[cfg(not(feature = "dpdk"))]
fn supported(_: &MethodSpec) -> std::result::Result<(), String> {
    Err("built without the feature dpdk; it needs libdpdk-dev: cargo build --features dpdk".into())
}

#[cfg(feature = "dpdk")]
fn supported(spec: &MethodSpec) -> std::result::Result<(), String> {
    prepare::supported(&Request::parse(spec).map_err(|error| error.to_string())?)
}

/// The ring of `net_af_packet`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "dpdk"), allow(dead_code, reason = "without DPDK only its making is of use"))]
struct Ring {
    /// Arguments for the driver.
    arguments: String,
    /// Bytes of a slot.
    frame: u16,
    /// Bytes of each queue's, transmit ring included, which are locked in memory. `None` if the driver's arguments decide.
    locked: Option<u64>,
}

/// What is said of slots of `net_af_packet` that do not hold the longest frame. The driver reports the length of what is in the slot
/// as that of the frame, so that nobody can count what it cut.
#[cfg_attr(not(feature = "dpdk"), allow(dead_code, reason = "without DPDK no ring is opened"))]
fn cut_unseen(frame: u16, interface: &Interface) -> Option<String> {
    let room = u64::from(frame).saturating_sub(frame_slots::SLOT_HEAD);
    let remedy = format!(
        "net_af_packet does not report it: switch offloads off (ethtool -K {} gro off lro off, of a veth tso at its peer)",
        interface.name
    );
    ring_memory::too_small(room, interface.largest_frame.into(), "slots", &remedy)
}

/// The ring's sizes: from the flags, as for `packet-v2`, unless the driver's arguments set them. The driver also creates a
/// transmit ring of the same size.
fn ring(request: &Request, interface: &Interface, options: &CaptureOptions) -> Result<Ring> {
    // Without its headroom, a buffer for a slot has to be below 64 KiB.
    const LARGEST: u64 = 65_535 - 128;
    // The largest power of two below it, for packets that offloads have joined.
    const MOST_JOINED: u64 = 32 << 10;
    let refuse = |option, reason: String| Err(CaptureError::Option { option, reason });
    let own = ["blocksz", "framesz", "framecnt"];
    if own.iter().any(|key| request.argument(key).is_some()) {
        // 2048 is the driver's default.
        let frame = request.argument("framesz").map_or(Some(2048), |size| size.parse().ok());
        return match frame.filter(|size| u64::from(*size) <= LARGEST) {
            Some(frame) => Ok(Ring { arguments: String::new(), frame, locked: None }),
            None => refuse("+devargs", format!("framesz is a number up to {LARGEST}")),
        };
    }
    // The driver requires that slots fill blocks evenly. Header, address and alignment take 80 octets of a slot.
    let usual = (80 + u64::from(interface.mtu)).next_power_of_two().max(2048);
    let longest = (frame_slots::SLOT_HEAD + u64::from(interface.largest_frame)).next_power_of_two();
    let slot = usual.max(longest.min(MOST_JOINED));
    let frame = options.frame.unwrap_or(ByteCount(slot));
    let geometry =
        frame_slots::geometry(interface, &CaptureOptions { frame: Some(frame), ..options.clone() })?;
    if geometry.block_size() % geometry.frame_size() != 0 {
        return refuse(
            "--frame",
            format!("net_af_packet wants slots that fill blocks evenly; {frame} do not"),
        );
    }
    if frame.0 > LARGEST {
        return refuse(
            "--frame",
            format!(
                "net_af_packet cannot have slots of {frame}, as this interface's MTU takes; ask for 32KiB"
            ),
        );
    }
    // Both rings are one mapping, whose size the driver computes in 32 bits.
    if geometry.bytes() > u64::from(u32::MAX) / 2 {
        return refuse("--ring", format!("{}: net_af_packet can have less than 2GiB", options.ring));
    }
    Ok(Ring {
        arguments: format!(
            "blocksz={},framesz={},framecnt={}",
            geometry.block_size(),
            geometry.frame_size(),
            geometry.frames()
        ),
        frame: frame.0 as u16,
        locked: Some(2 * geometry.bytes()),
    })
}

#[cfg(test)]
mod tests {
    use capbench_sys::host::interface::InterfaceIndex;

    use super::*;

    fn request(text: &str) -> Result<Request> {
        let spec = text.parse().unwrap();
        crate::methods::find(&spec)?;
        Request::parse(&spec)
    }

    fn interface(mtu: u32) -> Interface {
        Interface::new("test", InterfaceIndex::new(1).unwrap(), mtu)
    }

    #[test]
    fn devices_and_settings_are_read() {
        let plain = request("dpdk").unwrap();
        assert_eq!((plain.device, plain.burst, plain.descriptors), (DeviceName::AfPacket, 32, None));
        let full =
            request("dpdk:net_af_xdp+burst=64+descriptors=512+devargs=busy_budget=0;queue_count=2").unwrap();
        assert_eq!((full.device, full.burst, full.descriptors), (DeviceName::AfXdp, 64, Some(512)));
        assert_eq!(
            (full.arguments.as_str(), full.argument("queue_count")),
            ("busy_budget=0,queue_count=2", Some("2"))
        );
        for text in ["dpdk:0000:0A:00.1", "dpdk:0a:00.1"] {
            assert_eq!(request(text).unwrap().device.to_string(), "0000:0a:00.1");
        }
        for text in
            ["dpdk:net_tap", "dpdk:0a:00", "dpdk:x:0a:00.1", "dpdk+burst=0", "dpdk+burst=513", "dpdk+burst"]
        {
            assert!(request(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_ring_is_that_of_the_flags_or_of_the_drivers_arguments() {
        let ring = |text: &str, mtu, options: &CaptureOptions| {
            ring(&request(text).unwrap(), &interface(mtu), options).map_err(|error| error.to_string())
        };
        let options = CaptureOptions::default();
        let usual = ring("dpdk", 1500, &options).unwrap();
        assert_eq!(usual.arguments, "blocksz=1048576,framesz=2048,framecnt=32768");
        assert_eq!(ring("dpdk", 9000, &options).unwrap().frame, 16_384);
        let joined = interface(1500).with_largest_frame(65_558);
        let frame = super::ring(&request("dpdk").unwrap(), &joined, &options).unwrap().frame;
        assert!(frame == 32_768 && cut_unseen(frame, &joined).unwrap().contains("longer than 32702 octets"));
        assert_eq!(cut_unseen(2048, &interface(1500)), None);
        let chosen = ring("dpdk+devargs=framesz=4096;blocksz=8192", 1500, &options).unwrap();
        assert_eq!(chosen, Ring { arguments: String::new(), frame: 4096, locked: None });
        assert!(ring("dpdk+devargs=framesz=x", 1500, &options).unwrap_err().starts_with("+devargs"));
        let odd = CaptureOptions { frame: Some(ByteCount(2064)), ..CaptureOptions::default() };
        assert!(ring("dpdk", 1500, &odd).unwrap_err().contains("evenly"));
        assert!(ring("dpdk", 65_536, &options).unwrap_err().starts_with("--frame: "));
        let huge = CaptureOptions { ring: ByteCount(2 << 30), ..CaptureOptions::default() };
        assert!(ring("dpdk", 1500, &huge).unwrap_err().starts_with("--ring"));
    }

    #[test]
    fn requests_beyond_dpdk_are_refused_before_it_starts() {
        let refusal = |text: &str, options: &CaptureOptions| {
            check(&text.parse().unwrap(), &interface(1500), options).unwrap_err().to_string()
        };
        let out = CaptureOptions { direction: Direction::Both, ..CaptureOptions::default() };
        assert!(refusal("dpdk", &out).starts_with("--direction: "));
        let other = refusal("dpdk:0000:03:00.0", &CaptureOptions::default());
        assert!(other.contains("test") && other.contains("not the PCI device 0000:03:00.0"), "{other}");
    }

    #[cfg(not(feature = "dpdk"))]
    #[test]
    fn without_the_feature_it_is_listed_with_the_reason() {
        let reason = (METHOD.supported)(&MethodSpec::plain("dpdk")).unwrap_err();
        assert!(reason.starts_with("built without the feature dpdk"), "{reason}");
    }
}
