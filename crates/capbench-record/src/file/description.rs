//! Options of a pcapng section and its interfaces: host, program, interface (draft-ietf-opsawg-pcapng, sections 4.1 and 4.2).

use capbench_capture::method::VlanTags;
use capbench_capture::methods::vlan_tags;
use capbench_model::running::Running;
use capbench_sys::packet::FilterInstruction;

use super::SnapLength;
use super::blocks::{BYTE_ORDER, BlockBuilder, COMMENT, INTERFACE, SECTION, interface, section};
use super::clock::Clock;
use super::fcs;
use crate::error::Result;

/// Prefix of the comment about a capture.
const CAPTURED: &str = "captured by ";
/// Comment for a method that does not report VLAN tags.
const TAGS_MISSING: &str =
    "VLAN tags are missing: the kernel removed them and the method does not report them";

/// Origin of a section: the options of its header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectionDescription {
    /// The host's hardware.
    pub hardware: Option<String>,
    /// The operating system, for example `Linux 6.1.0`.
    pub system: Option<String>,
    /// The program that wrote the file.
    pub application: Option<String>,
    /// Comments.
    pub comments: Vec<String>,
}

/// Description of an interface: the options of its block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceDescription {
    /// Its name.
    pub name: Option<String>,
    /// Free-text description.
    pub description: Option<String>,
    /// MAC address.
    pub mac: Option<[u8; 6]>,
    /// Speed in bits per second.
    pub speed: Option<u64>,
    /// The capture filter.
    pub filter: Option<InterfaceFilter>,
    /// The operating system of the interface.
    pub system: Option<String>,
    /// Its hardware.
    pub hardware: Option<String>,
    /// Octets of the frame check sequence that each packet has at its end; absent: unknown.
    pub fcs_octets: Option<u8>,
    /// Comments: method, ring, offloads.
    pub comments: Vec<String>,
}

/// The value of `if_filter`. The draft does not define the code in the first octet; these two are the codes that Wireshark reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceFilter {
    /// An expression of pcap-filter(7): code 0.
    Expression(String),
    /// A classic BPF program: code 1.
    Program(Vec<FilterInstruction>),
}

impl SectionDescription {
    /// The section header block.
    pub(crate) fn block(&self) -> Result<Vec<u8>> {
        let mut body = BYTE_ORDER.to_le_bytes().to_vec();
        // Version 1.0, section length unknown.
        body.extend([1, 0, 0, 0]);
        body.extend(u64::MAX.to_le_bytes());
        let mut block = BlockBuilder::new(SECTION, &body);
        block.texts([
            (section::HARDWARE, &self.hardware, "name of the hardware"),
            (section::SYSTEM, &self.system, "name of the operating system"),
            (section::APPLICATION, &self.application, "name of the program"),
        ])?;
        comments(&mut block, &self.comments)?;
        Ok(block.finish())
    }
}

impl InterfaceDescription {
    /// Adds the properties of the running capture as comments.
    pub fn explain(&mut self, running: &Running) {
        let Running { method, engine, ring, time_source, .. } = running;
        let mut comment = format!("{CAPTURED}{method} ({engine}): {ring}; times: {time_source}");
        comment.push_str("; ");
        comment.push_str(match vlan_tags(running) {
            VlanTags::Reported => "removed VLAN tags put back",
            VlanTags::Removed => TAGS_MISSING,
            VlanTags::InFrames => "VLAN tags stay in the frames",
            VlanTags::Unknown => "whether VLAN tags were removed is not known",
        });
        for shortfall in &running.shortfalls {
            comment.push_str("; ");
            comment.push_str(shortfall);
        }
        self.comments.push(comment);
    }

    /// Whether the frames had VLAN tags that the capture could not report.
    pub fn lacks_vlan_tags(&self) -> bool {
        self.comments.iter().any(|comment| comment.starts_with(CAPTURED) && comment.contains(TAGS_MISSING))
    }

    /// The interface description block.
    pub(crate) fn block(&self, link_type: u16, snap: SnapLength, clock: Clock) -> Result<Vec<u8>> {
        let mut body = u32::from(link_type).to_le_bytes().to_vec();
        body.extend(snap.octets().to_le_bytes());
        let mut block = BlockBuilder::new(INTERFACE, &body);
        block.texts([
            (interface::NAME, &self.name, "name of an interface"),
            (interface::DESCRIPTION, &self.description, "description of an interface"),
            (interface::SYSTEM, &self.system, "name of the operating system"),
            (interface::HARDWARE, &self.hardware, "name of an interface's hardware"),
        ])?;
        if let Some(mac) = self.mac {
            block.option(interface::MAC, &mac, "MAC address")?;
        }
        block.number(interface::SPEED, self.speed);
        block.option(interface::RESOLUTION, &[clock.resolution()], "resolution of times")?;
        let offset = Some(clock.offset().cast_unsigned()).filter(|offset| *offset != 0);
        block.number(interface::TIME_OFFSET, offset);
        if let Some(filter) = &self.filter {
            block.option(interface::FILTER, &filter.octets(), "filter")?;
        }
        if let Some(octets) = self.fcs_octets {
            block.option(interface::FCS, &[fcs::option(octets)], "length of the FCS")?;
        }
        comments(&mut block, &self.comments)?;
        Ok(block.finish())
    }
}

impl InterfaceFilter {
    fn octets(&self) -> Vec<u8> {
        match self {
            Self::Expression(text) => [&[0], text.as_bytes()].concat(),
            Self::Program(program) => {
                let mut octets = vec![1];
                for instruction in program {
                    octets.extend(instruction.code.to_le_bytes());
                    octets.extend([instruction.jt, instruction.jf]);
                    octets.extend(instruction.k.to_le_bytes());
                }
                octets
            }
        }
    }
}

fn comments(block: &mut BlockBuilder, comments: &[String]) -> Result<()> {
    comments.iter().try_for_each(|comment| block.option(COMMENT, comment.as_bytes(), "comment"))
}

#[cfg(test)]
mod tests {
    use super::InterfaceDescription;
    use capbench_model::running::{Engine, Running, TimeSource};

    #[test]
    fn a_file_of_a_method_that_does_not_report_vlan_tags_says_so() {
        let described = |method: &'static str, vlan_metadata: bool| {
            let mut interface = InterfaceDescription::default();
            let engine = Engine::new("AF_PACKET", []);
            let running = Running::described(method, engine, "1 block".into(), TimeSource::None);
            interface.explain(&Running { vlan_metadata, ..running });
            interface
        };
        assert!(described("packet-v1", false).lacks_vlan_tags());
        for (method, metadata) in [("packet-v3", true), ("libpcap", false), ("af-xdp", false), ("dpdk", true)]
        {
            assert!(!described(method, metadata).lacks_vlan_tags(), "{method}");
        }
        let mut foreign = InterfaceDescription::default();
        foreign.comments.push("a VLAN tag is missing, says somebody".into());
        assert!(!foreign.lacks_vlan_tags());
    }
}
