//! Before a DPDK device receives: checks, the device's configuration, and DPDK's start.

use std::num::NonZeroU16;

use capbench_sys::SysError;
use capbench_sys::dpdk::{Device, DeviceName, Eal, Wanted, eal};
use capbench_sys::host::capability::Capability;
use capbench_sys::host::{capability, identity, memory, namespace};

use super::super::socket_setup::probe;
use super::{Request, ring};

use crate::{CaptureError, Context, Interface, Result};
use capbench_model::fanout::Fanout;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::ByteCount;

/// How many threads receive: members of a group. One, if their number is unknown.
fn threads(options: &CaptureOptions) -> NonZeroU16 {
    options.fanout.as_ref().and_then(Fanout::members).unwrap_or(NonZeroU16::MIN)
}

/// The device and the configuration of its port.
pub(super) fn plan(
    request: &Request,
    interface: &Interface,
    options: &CaptureOptions,
    user_promiscuous: bool,
    context: &Context,
) -> Result<(Device, Wanted)> {
    // Each frame is in one buffer, after DPDK's headroom of 128 octets.
    const HEAD_ROOM: u16 = 128;
    let threads = threads(options);
    let usual = Wanted {
        mtu: None,
        queues: None,
        // One burst. The driver's ring is separate.
        descriptors: request.burst,
        room: HEAD_ROOM + 2048,
        burst: request.burst,
        // Virtual devices would change their interface permanently; the user's setting stays.
        promiscuous: user_promiscuous,
        threads,
        transmit: None,
    };
    let queues = |key: &str| match threads.get() > 1 && request.argument(key).is_none() {
        true => format!("{key}={threads}"),
        false => String::new(),
    };
    let device = |ring: &str, queues: &str| {
        Device::new(request.device, &interface.name, &[ring, queues, &request.arguments])
            .map_err(|error| context.fail(error))
    };
    Ok(match request.device {
        DeviceName::AfPacket => {
            let ring = ring(request, interface, options)?;
            (device(&ring.arguments, &queues("qpairs"))?, Wanted { room: HEAD_ROOM + ring.frame, ..usual })
        }
        DeviceName::AfXdp => {
            // A buffer has to fit in a page, with DPDK's and XDP's headroom.
            let room = if interface.mtu <= 1500 { usual.room } else { 4096 - 64 - HEAD_ROOM };
            let descriptors = request.descriptors.unwrap_or(2048);
            (device("", &queues("queue_count"))?, Wanted { descriptors, room, ..usual })
        }
        DeviceName::Pci(_) => {
            // The loopback interface is named for a device that has none; its MTU is not the device's.
            let mtu = if interface.name == "lo" { 1500 } else { interface.mtu };
            // Ethernet header, VLAN tag and FCS are added.
            let octets = (mtu.clamp(1500, 60_000) + 22).next_multiple_of(1024) as u16;
            let wanted = Wanted {
                mtu: (mtu > 1500).then_some(mtu),
                queues: Some(threads.get()),
                descriptors: request.descriptors.unwrap_or(4096),
                room: HEAD_ROOM + octets.max(2048),
                promiscuous: options.promiscuous,
                ..usual
            };
            (device("", "")?, wanted)
        }
    })
}

/// Whether `net_af_packet` probably failed because it locks more memory for its rings than this process may lock. Its error
/// is "Resource temporarily unavailable".
pub(super) fn too_much_to_lock(
    spec: &MethodSpec,
    request: &Request,
    interface: &Interface,
    options: &CaptureOptions,
    source: &SysError,
) -> Option<CaptureError> {
    if request.device != DeviceName::AfPacket || !source.to_string().contains("mmap failed") {
        return None;
    }
    let of_queue = ring(request, interface, options).ok()?.locked?;
    let (locked, limit) = (of_queue * u64::from(threads(options).get()), memory::lock_limit());
    (locked > limit).then(|| CaptureError::Unsupported {
        method: spec.to_string(),
        interface: interface.name.clone(),
        reason: format!(
            "its driver locks {} of rings in memory, and this process may lock {}: ask for a smaller --ring, raise \
             ulimit -l or run as root ({source})",
            ByteCount(locked),
            ByteCount(limit)
        ),
    })
}

/// Starts DPDK, unless it runs already.
pub(super) fn start(
    spec: &MethodSpec,
    context: &Context,
    device: &Device,
    options: &CaptureOptions,
) -> Result<&'static Eal> {
    let started = Eal::start(device.name, &options.eal_arguments);
    started.map_err(|error| match error {
        SysError::Argument { what, reason } if !options.eal_arguments.is_empty() => {
            CaptureError::Option { option: "--eal", reason: format!("{what}: {reason}") }
        }
        error => CaptureError::unsupported(spec, &context.interface, error.to_string()),
    })
}

/// Whether the device is usable in the calling thread's namespace, as far as is known without starting DPDK.
pub(super) fn supported(request: &Request) -> std::result::Result<(), String> {
    if request.device.is_virtual() {
        eal::has_driver(&request.device.to_string())?;
    }
    match request.device {
        DeviceName::AfPacket => probe(None),
        DeviceName::AfXdp => {
            let wanted = [Capability::NetAdmin, Capability::NetRaw, Capability::Bpf];
            let missing = capability::effective().map_err(|error| error.to_string())?.missing(&wanted);
            let names: Vec<&str> = missing.iter().map(|capability| capability.name()).collect();
            if !names.is_empty() {
                return Err(format!("needs {}", names.join(", ")));
            }
            match namespace::in_initial_user_namespace() {
                Ok(true) => Ok(()),
                Ok(false) => {
                    Err("loading XDP programs needs root on the host, not in a user namespace only".into())
                }
                Err(error) => Err(error.to_string()),
            }
        }
        address @ DeviceName::Pci(_) => {
            if !std::path::Path::new("/sys/bus/pci/devices").join(address.to_string()).exists() {
                return Err(format!("there is no PCI device {address}"));
            }
            if identity::effective().uid == 0 { Ok(()) } else { Err("needs root".into()) }
        }
    }
}
