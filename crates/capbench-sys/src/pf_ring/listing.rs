//! The rings that PF_RING's kernel module lists for each network namespace: `ring_proc_get_info` of its `pf_ring.c`, release 8.
//! Reading a file resets no counter.

use std::io;
use std::path::Path;

/// Folder with the rings of the calling thread's network namespace.
pub const FOLDER: &str = "/proc/thread-self/net/pf_ring";

/// A ring of any process, from a file named `PID-DEVICE.NUMBER`. Missing values are `None`, as for cards that PF_RING drives
/// itself (`zc:`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedRing {
    /// The process that opened it, in the numbers of the initial PID namespace.
    pub process: u32,
    /// The first interface that it was bound to; `any` for the whole network namespace, `none` before it is bound.
    pub device: String,
    /// The module's number for it.
    pub number: u32,
    /// Whether it receives packets.
    pub receives: bool,
    /// Whether packets already go into it (`Active`).
    pub is_active: bool,
    /// All interfaces that it is bound to (`Bound Device(s)`).
    pub devices: Vec<String>,
    /// Slots for packets of full length (`Min Num Slots`). A slot is as long as its packet, so more packets fit.
    pub slots: Option<u64>,
    /// Octets of a packet that fit into a slot (`Bucket Len`).
    pub bucket: Option<u64>,
    /// Memory of the ring in octets (`Tot Memory`).
    pub memory: Option<u64>,
    /// Packets that arrived, lost ones included (`Tot Packets`).
    pub packets: Option<u64>,
    /// Packets lost because it had no room (`Tot Pkt Lost`).
    pub lost: Option<u64>,
    /// Packets that were stored (`Tot Insert`).
    pub stored: Option<u64>,
    /// Packets that its process has read (`Tot Read`).
    pub read: Option<u64>,
}

impl ListedRing {
    /// Whether it receives packets of an interface.
    pub fn is_on(&self, interface: &str) -> bool {
        self.device == "any" || self.device == interface || self.devices.iter().any(|name| name == interface)
    }

    fn of(name: &str, text: &str) -> Option<Self> {
        let (process, rest) = name.split_once('-')?;
        let (device, number) = rest.rsplit_once('.')?;
        let field = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.find_map(|(key, value)| (key.trim_end() == name).then(|| value.trim()))
        };
        let count = |name: &str| field(name)?.parse::<u64>().ok();
        let devices = field("Bound Device(s)").unwrap_or_default();
        Some(Self {
            process: process.parse().ok()?,
            device: device.into(),
            number: number.parse().ok()?,
            receives: field("Capture Direction").is_some(),
            is_active: count("Active") == Some(1),
            devices: devices.split(',').filter(|name| !name.is_empty()).map(String::from).collect(),
            slots: count("Min Num Slots").or_else(|| count("Num RX Slots")),
            bucket: count("Bucket Len"),
            memory: count("Tot Memory"),
            packets: count("Tot Packets"),
            lost: count("Tot Pkt Lost"),
            stored: count("Tot Insert"),
            read: count("Tot Read"),
        })
    }
}

/// The rings listed in a folder; a ring that was closed meanwhile is omitted.
///
/// # Errors
/// The folder cannot be read. It does not exist without the kernel module ([`io::ErrorKind::NotFound`]).
pub fn listed(folder: &Path) -> io::Result<Vec<ListedRing>> {
    let mut rings = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(|first: char| first.is_ascii_digit()))
        else {
            continue;
        };
        rings.extend(std::fs::read_to_string(entry.path()).ok().and_then(|text| ListedRing::of(name, &text)));
    }
    rings.sort_by_key(|ring| ring.number);
    Ok(rings)
}

#[cfg(test)]
mod tests {
    use super::ListedRing;

    /// As release 8.9 writes it, shortened by fields that are not read.
    const STANDARD: &str = "Bound Device(s)        : eth1\nActive                 : 1\nBreed                  : Standard\n\
        Appl. Name             : <unknown>\nSocket Mode            : RX only\nCapture Direction      : RX only\n\
        Poll Pkt Watermark     : 128\nChannel Id Mask        : 0xFFFFFFFFFFFFFFFF\nMin Num Slots          : 512\n\
        Bucket Len             : 65600\nSlot Len               : 65680 [bucket+header]\n\
        Tot Memory             : 33628160\nTot Packets            : 40000\nTot Pkt Lost           : 32728\n\
        Tot Insert             : 7272\nTot Read               : 7000\nNum Free Slots         : 240\n";

    #[test]
    fn a_ring_is_read_as_the_module_writes_it() {
        let ring = ListedRing::of("4242-eth1.17", STANDARD).unwrap();
        assert_eq!((ring.process, ring.device.as_str(), ring.number), (4242, "eth1", 17));
        assert_eq!((ring.slots, ring.bucket, ring.memory), (Some(512), Some(65_600), Some(33_628_160)));
        assert_eq!((ring.packets, ring.lost), (Some(40_000), Some(32_728)));
        assert_eq!((ring.stored, ring.read), (Some(7272), Some(7000)));
        assert!(ring.receives && ring.is_active && ring.is_on("eth1") && !ring.is_on("eth"));
        let dotted = ListedRing::of("1-br-lan.100.3", "").unwrap();
        assert_eq!((dotted.device.as_str(), dotted.number, dotted.lost), ("br-lan.100", 3, None));
        assert!(ListedRing::of("7-any.1", "").unwrap().is_on("eth1"));
        for other in ["info", "dev", "stats", "12", "x-eth0.1"] {
            assert_eq!(ListedRing::of(other, STANDARD), None, "{other}");
        }
    }
}
