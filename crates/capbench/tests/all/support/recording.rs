//! `capbench record` in a namespace, and what its files hold.

use std::fs;
use std::path::{Path, PathBuf};

use capbench_frames::{Classifier, FrameClass, FrameLayout, TagMetadata, TrialId, VlanTag};
use capbench_record::file::{CaptureReader, FileFormat, InterfaceStatistics, Record};
use serde_json::Value;

use super::HOST;
use super::process::{Ended, Running, capbench, run};
use capbench_testing::network::{Place, program};

/// A recorder that runs.
pub struct Recording {
    pub running: Running,
    pub file: PathBuf,
}

/// A packet of a file.
#[derive(Clone, Debug)]
pub struct Kept {
    pub interface: u32,
    pub time_ns: u64,
    /// Its number in its trial; `None` for a packet that is none of the trial, or not as it was sent.
    pub sequence: Option<u64>,
    pub dropped: Option<u64>,
    pub octets: usize,
}

/// A capture file, read.
#[derive(Debug)]
pub struct File {
    pub format: FileFormat,
    pub packets: Vec<Kept>,
    pub statistics: Vec<InterfaceStatistics>,
    pub ends_early: bool,
}

impl Recording {
    /// The file while it is written.
    pub fn part(&self) -> PathBuf {
        let mut name = self.file.clone().into_os_string();
        name.push(".part");
        name.into()
    }

    /// Records at the right end, from when this returns on. `arguments` are separated by blanks.
    pub fn start(place: &Place, file: &Path, arguments: &str) -> Self {
        Self::start_on(place, "-i right", file, arguments)
    }

    /// The same on other interfaces.
    pub fn start_on(place: &Place, interfaces: &str, file: &Path, arguments: &str) -> Self {
        let mut running = Running::start(
            place,
            capbench("record")
                .args(interfaces.split_whitespace())
                .arg("-w")
                .arg(file)
                .arg("--json")
                .args(arguments.split_whitespace()),
        );
        running.wait_for("listening on");
        Self { running, file: file.into() }
    }

    /// Interrupts it; its document.
    pub fn interrupt(self) -> (Ended, Value) {
        self.running.signal("INT");
        self.end()
    }

    /// Waits for its end; its document.
    pub fn end(self) -> (Ended, Value) {
        let ended = self.running.end().success();
        let document = ended.json();
        (ended, document)
    }
}

impl File {
    /// Reads a file whose packets are of this trial and tag.
    pub fn read(path: &Path, trial: u16, vlan: Option<u16>, snap: Option<u32>) -> Self {
        Self::of(
            &fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
            trial,
            vlan,
            snap,
        )
    }

    /// The same from memory.
    pub fn of(octets: &[u8], trial: u16, vlan: Option<u16>, snap: Option<u32>) -> Self {
        let vlan = vlan.map(|id| VlanTag { tci: id });
        let layout = FrameLayout { vlan, ..FrameLayout::default() };
        let recogniser = Classifier::new(TrialId(trial), &layout, snap).unwrap();
        let mut reader = CaptureReader::new(octets).unwrap();
        let (mut packets, mut statistics) = (Vec::new(), Vec::new());
        while let Some(record) = reader.next_record().unwrap() {
            match record {
                Record::Packet(packet) => {
                    // A tag stands in the octets.
                    let tag = if vlan.is_some() { TagMetadata::Unknown } else { TagMetadata::Absent };
                    let seen = recogniser.look(packet.data, packet.original_length, tag);
                    packets.push(Kept {
                        interface: packet.interface,
                        time_ns: packet.time_ns.unwrap(),
                        sequence: match seen {
                            FrameClass::Own(stamp) => Some(stamp.sequence),
                            _ => None,
                        },
                        dropped: packet.dropped,
                        octets: packet.data.len(),
                    });
                }
                Record::Statistics(block) => statistics.push(block),
                _ => {}
            }
        }
        Self { format: reader.format(), packets, statistics, ends_early: reader.ends_early() }
    }

    /// The numbers of the trial's packets, in the order of the file.
    pub fn sequences(&self) -> Vec<u64> {
        self.packets.iter().filter_map(|packet| packet.sequence).collect()
    }

    /// Whether each of the first so many packets of the trial is in it once, and nothing else.
    pub fn holds_once(&self, frames: u64) -> bool {
        let mut found = self.sequences();
        found.sort_unstable();
        self.packets.len() as u64 == frames && found.into_iter().eq(0..frames)
    }

    /// The sum of its drop counts.
    pub fn dropped(&self) -> u64 {
        self.packets.iter().filter_map(|packet| packet.dropped).sum()
    }

    /// Asserts that each packet's drop count is what is missing before it; the number that would follow.
    pub fn drop_counts_fill_the_gaps(&self) -> u64 {
        self.packets.iter().fold(0, |next, packet| {
            let sequence = packet.sequence.expect("only frames of the trial are sent");
            assert_eq!(next + packet.dropped.unwrap_or(0), sequence, "drop count before {sequence}");
            sequence + 1
        })
    }

    /// The last statistics of an interface.
    pub fn last_statistics(&self, interface: u32) -> &InterfaceStatistics {
        self.statistics
            .iter()
            .rfind(|block| block.interface == interface)
            .expect("an interface has statistics")
    }
}

/// How many packets programs that we did not write find in a file: capinfos, with Wireshark's reader, and tcpdump, with libpcap's.
pub fn counted_by_others(file: &Path) -> [u64; 2] {
    let told = run(HOST, program("capinfos -c -M -T -r").arg(file)).success().out;
    let capinfos = told.trim().rsplit('\t').next().and_then(|number| number.parse().ok());
    let tcpdump = run(HOST, program("tcpdump -n -t -e -r").arg(file)).success().out.lines().count();
    [capinfos.unwrap_or_else(|| panic!("capinfos: {told}")), tcpdump as u64]
}
