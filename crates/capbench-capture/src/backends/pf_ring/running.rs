//! Properties of an open PF_RING socket: its ring and its interface.

use std::path::Path;

use capbench_sys::host::interface::index_of;
use capbench_sys::pf_ring::{self, ClusterSharing, ListedRing, Reading, Ring, RingOptions};

use super::METHOD;
use crate::Interface;
use capbench_model::running::{Engine, Running, TimeSource};
use capbench_model::units::{ByteCount, SnapLength};

/// The source of a device's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    /// The interface of the capture.
    Interface,
    /// All interfaces of the namespace.
    All,
    /// Another interface.
    Other,
    /// A card, known only to a module other than the kernel's.
    Card,
}

impl Below {
    pub(super) fn of(device: &str, interface: &Interface) -> Self {
        // Receive queues follow @; commas separate several interfaces.
        let mut names = device.split([',', ';']).map(|name| name.split('@').next().unwrap_or(name));
        if names.clone().any(|name| name == interface.name) {
            Self::Interface
        } else if device == "any" {
            Self::All
        } else if device.contains(':') {
            Self::Card
        } else if names.any(|name| index_of(name).is_ok()) {
            Self::Other
        } else {
            Self::Interface
        }
    }
}

/// Describes the open capture.
pub(super) fn running(
    ring: &Ring,
    asked: &RingOptions<'_>,
    folder: &Path,
    below: Below,
    interface: &Interface,
) -> Running {
    let size = size(ring, folder);
    let how = match asked.reading {
        Reading::Copied => "pfring_recv, copied".to_string(),
        Reading::InPlace => "pfring_recv, zero-copy".into(),
        Reading::Bursts(most) => format!("pfring_recv_burst of up to {most}, zero-copy"),
    };
    let shared = asked.cluster.map(|cluster| match cluster.sharing {
        ClusterSharing::PerFlow => "member of a cluster, by flow".to_string(),
        ClusterSharing::RoundRobin => "member of a cluster, in turn".to_string(),
    });
    let (captured, wanted) = (ring.captured(), asked.captured);
    let waking = asked.watermark.map_or("the library's".into(), |packets| packets.to_string());
    let is_short = captured < wanted.min(pf_ring::MOST_CAPTURED)
        || (captured < wanted && SnapLength::new(wanted).cuts());
    let short = is_short.then(|| {
        format!("PF_RING captures up to {captured} octets of each packet; --snaplen asks for {wanted}")
    });
    let elsewhere = (below == Below::Other).then(|| {
        let (device, name) = (asked.device, &interface.name);
        format!("it captures from {device}, not from {name}, whose promiscuous mode it leaves as it is")
    });
    Running {
        shortfalls: short.into_iter().chain(elsewhere).collect(),
        ..Running::described(
            METHOD.name,
            Engine::new(
                format!("libpfring {} on {}", ring.version(), asked.device),
                [how].into_iter().chain(shared),
            ),
            format!("{size}, up to {captured} octets of each packet, watermark {waking}"),
            TimeSource::unknown("PF_RING (the adapter's where it has them)"),
        )
    }
}

/// The ring's size, chosen by the kernel module (its parameter `min_num_slots`).
fn size(ring: &Ring, folder: &Path) -> String {
    let number = ring.number();
    let rings = pf_ring::listed(folder).unwrap_or_default();
    sized(rings.iter().find(|ring| Some(ring.number) == number))
}

/// The size of a ring in words. `listed` is `None` if the module does not list the ring.
pub(in crate::backends) fn sized(listed: Option<&ListedRing>) -> String {
    let memory = listed.and_then(|ring| ring.memory);
    let slots = listed.and_then(|ring| ring.slots).map(|slots| format!(", {slots} slots or more"));
    let memory = memory.map_or_else(|| "unknown size".into(), |octets| ByteCount(octets).to_string());
    format!("ring of {memory}{}", slots.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::Below;
    use crate::Interface;

    #[test]
    fn a_device_is_the_interface_all_another_one_or_a_cards() {
        let interface = Interface::of_name("lo", 1500).unwrap();
        let below = |device| Below::of(device, &interface);
        for device in ["lo", "lo@2", "lo,eth7", "/a/stand-in"] {
            assert_eq!(below(device), Below::Interface, "{device}");
        }
        assert_eq!((below("any"), below("zc:eth1"), below("nt:0")), (Below::All, Below::Card, Below::Card));
        let other = Interface { name: "eth7".into(), ..interface };
        assert_eq!((Below::of("lo", &other), Below::of("lo@1", &other)), (Below::Other, Below::Other));
    }
}
