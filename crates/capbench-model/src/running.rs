//! How an open capture runs: facts, and the one notation of its buffers. Files of older versions have only this notation, so that
//! buffers are compared by it.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::moderation::Moderation;
use crate::units::ByteCount;

/// Source of the frame times, with a description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "clock", content = "how")]
pub enum TimeSource {
    /// The kernel: `CLOCK_REALTIME` when the frame was in its receive path.
    Kernel(Cow<'static, str>),
    /// An adapter or a library, with an unknown clock.
    Unknown(Cow<'static, str>),
    /// User space: when the method returned the batch.
    UserSpace(Cow<'static, str>),
    /// Frames have no times.
    None,
}

impl TimeSource {
    /// Times of the kernel.
    pub const fn kernel(how: &'static str) -> Self {
        Self::Kernel(Cow::Borrowed(how))
    }

    /// Times of an unknown clock.
    pub const fn unknown(how: &'static str) -> Self {
        Self::Unknown(Cow::Borrowed(how))
    }

    /// Times of user space.
    pub const fn user_space(how: &'static str) -> Self {
        Self::UserSpace(Cow::Borrowed(how))
    }
}

impl fmt::Display for TimeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(how) => write!(f, "kernel, {how}"),
            Self::Unknown(how) => f.pad(how),
            Self::UserSpace(how) => write!(f, "user space, {how}"),
            Self::None => f.pad("none"),
        }
    }
}

/// What receives the frames, as detected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Engine {
    /// A mechanism of the kernel, or a library or program with its version.
    pub name: String,
    /// Its properties, for example the mode of XDP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<String>,
}

impl Engine {
    /// An engine with these properties.
    pub fn new(name: impl Into<String>, properties: impl IntoIterator<Item = String>) -> Self {
        Self { name: name.into(), properties: properties.into_iter().collect() }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.properties.iter().try_for_each(|property| write!(f, ", {property}"))
    }
}

/// Buffers of a capture as granted, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum RingGeometry {
    /// The receive buffer of a socket.
    ReceiveBuffer {
        /// Memory for frames and what the kernel keeps with each.
        bytes: u64,
        /// Most frames that one call returns.
        frames_per_call: u32,
    },
    /// A ring of slots, each with one frame.
    Slots {
        /// Number of slots.
        slots: u32,
        /// Size of a slot.
        slot_bytes: u64,
        /// Size of the ring.
        bytes: u64,
    },
    /// A ring of blocks, each with many frames.
    Blocks {
        /// Number of blocks.
        blocks: u32,
        /// Size of a block.
        block_bytes: u64,
        /// Size of the ring.
        bytes: u64,
        /// Time after which the kernel passes a block that is not full.
        retire_ms: u32,
    },
    /// Rings of AF_XDP: entries of each queue, and the buffers of all.
    Umem {
        /// First receive queue.
        first_queue: u32,
        /// Last receive queue.
        last_queue: u32,
        /// Entries of the receive ring of a queue.
        receive_entries: u32,
        /// Entries of the fill ring of a queue.
        fill_entries: u32,
        /// Buffers of all queues.
        buffers: u32,
        /// Size of a buffer.
        buffer_bytes: u64,
        /// Memory of all buffers.
        bytes: u64,
    },
    /// Buffers of a library or a card, as it describes them.
    Described {
        /// The description.
        sizes: String,
    },
    /// Those of a program, chosen by its command line. `{interface}` in it is the name of the interface.
    Program {
        /// The command line; in files of older versions also what follows.
        command: String,
        /// Name of the interface.
        interface: String,
        /// The file that it wrote; absent if it only counts frames.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<VerifiedFile>,
        /// A remark on its results, which its definition has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remark: Option<String>,
    },
}

/// A capture file whose frames were verified after the trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedFile {
    /// The name of its format.
    pub format: String,
    /// Whether a disk had it, and not memory.
    pub is_on_disk: bool,
}

impl RingGeometry {
    /// The command line of a program with what is known of its results, for an interface of this name.
    fn program_words(
        command: &str,
        interface: &str,
        file: Option<&VerifiedFile>,
        remark: Option<&str>,
    ) -> String {
        let mut words = command.replace("{interface}", interface);
        if let Some(VerifiedFile { format, is_on_disk }) = file {
            let place = if *is_on_disk { "on disk" } else { "in memory" };
            words += &format!("; {format} file {place}, every frame verified afterwards");
        }
        if let Some(remark) = remark {
            words += &format!("; {remark}");
        }
        words
    }

    /// The geometry without the name of the interface, which is new in every run where capbench makes the interface.
    pub fn without_interface(&self) -> String {
        match self {
            Self::Program { command, file, remark, .. } => {
                Self::program_words(command, "{interface}", file.as_ref(), remark.as_deref())
            }
            other => other.to_string(),
        }
    }
}

impl fmt::Display for RingGeometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReceiveBuffer { bytes, frames_per_call } => {
                let plural = if *frames_per_call == 1 { "" } else { "s" };
                let bytes = ByteCount(*bytes);
                write!(f, "receive buffer {bytes} granted, {frames_per_call} frame{plural} per call")
            }
            Self::Slots { slots, slot_bytes, bytes } => {
                write!(f, "{slots} slots of {} ({})", ByteCount(*slot_bytes), ByteCount(*bytes))
            }
            Self::Blocks { blocks, block_bytes, bytes, retire_ms } => {
                let (block, ring) = (ByteCount(*block_bytes), ByteCount(*bytes));
                write!(f, "{blocks} blocks of {block} ({ring}), retire timeout {retire_ms} ms")
            }
            Self::Umem {
                first_queue: first,
                last_queue: last,
                receive_entries,
                fill_entries,
                buffers,
                buffer_bytes,
                bytes,
            } => {
                match first == last {
                    true => write!(f, "queue {first}")?,
                    false => write!(f, "queues {first} to {last}")?,
                }
                let (each, all) = (ByteCount(*buffer_bytes), ByteCount(*bytes));
                write!(f, ", each: receive ring of {receive_entries}, fill ring of {fill_entries}; ")?;
                write!(f, "UMEM of {buffers} buffers of {each} ({all})")
            }
            Self::Described { sizes } => f.write_str(sizes),
            Self::Program { command, interface, file, remark } => {
                f.write_str(&Self::program_words(command, interface, file.as_ref(), remark.as_deref()))
            }
        }
    }
}

/// How an open capture runs.
#[derive(Clone, Debug)]
pub struct Running {
    /// The method's name.
    pub method: &'static str,
    /// What receives the frames.
    pub engine: Engine,
    /// Buffers as granted.
    pub ring: RingGeometry,
    /// Where frame times come from.
    pub time_source: TimeSource,
    /// The longest delay of a frame while the application waits for it, such as the retire timeout of a ring.
    pub holds: Duration,
    /// Whether the method reports, next to the frame, a VLAN tag that the kernel removed.
    pub vlan_metadata: bool,
    /// Requested properties that the capture did not get, and what to do about it.
    pub shortfalls: Vec<String>,
    /// Whether a socket filter runs before the method.
    pub filtered: bool,
}

impl Running {
    /// A capture without delays, VLAN metadata, shortfalls and socket filter.
    pub fn new(method: &'static str, engine: Engine, ring: RingGeometry, time_source: TimeSource) -> Self {
        Self {
            method,
            engine,
            ring,
            time_source,
            holds: Duration::ZERO,
            vlan_metadata: false,
            shortfalls: Vec::new(),
            filtered: false,
        }
    }

    /// The same, with buffers that only words describe.
    pub fn described(method: &'static str, engine: Engine, sizes: String, time_source: TimeSource) -> Self {
        Self::new(method, engine, RingGeometry::Described { sizes }, time_source)
    }
}

/// What captured the frames of a trial, as results keep it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureFacts {
    /// What received the frames.
    pub engine: Engine,
    /// Buffers as granted.
    pub ring: RingGeometry,
    /// Source of the timestamps; absent for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_source: Option<TimeSource>,
    /// Interrupt moderation of the interface, as the driver granted it; absent if the set-up asks for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moderation: Option<Moderation>,
    /// Requested properties that the capture did not get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortfalls: Vec<String>,
}

/// Prefix of the names of interfaces that capbench makes, before the number of its process.
const OWN_INTERFACES: [&str; 2] = ["cbt", "cbr"];

impl CaptureFacts {
    /// The facts in the texts `engine` and `running` of a trial from a version that saved only these.
    pub fn from_texts(engine: &str, running: &str) -> Self {
        let (sizes, rest) = running.split_once("; time: ").unwrap_or((running, ""));
        let (times, granted) = rest.split_once(", interrupt moderation ").unwrap_or((rest, ""));
        let is_own = |word: &&str| is_own_interface(word);
        let ring = match sizes.split(|letter: char| !letter.is_ascii_alphanumeric()).find(is_own) {
            Some(interface) => RingGeometry::Program {
                command: sizes.replace(interface, "{interface}"),
                interface: interface.into(),
                file: None,
                remark: None,
            },
            None => RingGeometry::Described { sizes: sizes.into() },
        };
        Self {
            engine: Engine::new(engine, []),
            ring,
            time_source: (!times.is_empty()).then(|| TimeSource::Unknown(times.to_string().into())),
            moderation: granted.trim_end_matches(" us").parse().ok(),
            shortfalls: Vec::new(),
        }
    }

    /// Whether buffers, source of the timestamps and moderation are equal.
    pub fn runs_alike(&self, other: &Self) -> bool {
        self.ring == other.ring
            && self.time_source == other.time_source
            && self.moderation == other.moderation
    }

    /// Buffers, `times` if there are any, and moderation, in words.
    fn words(&self, ring: &str, times: Option<&TimeSource>) -> String {
        let times = times.map_or(String::new(), |source| format!("; time: {source}"));
        let moderation = self.moderation.map_or(String::new(), |granted| match granted {
            Moderation::Fixed(usecs) => format!(", interrupt moderation {usecs} us"),
            Moderation::Adaptive => ", interrupt moderation adaptive".into(),
        });
        format!("{ring}{times}{moderation}")
    }

    /// Buffers, source of the timestamps and moderation, in words.
    pub fn running(&self) -> String {
        self.words(&self.ring.to_string(), self.time_source.as_ref())
    }

    /// The same, without the name of the interface.
    pub fn running_anywhere(&self) -> String {
        self.words(&self.ring.without_interface(), self.time_source.as_ref())
    }

    /// The same, without the source of timestamps, which can depend on the frames that arrived.
    pub fn sizes(&self) -> String {
        self.words(&self.ring.without_interface(), None)
    }
}

/// Whether it is such an interface: after its prefix, hexadecimal digits and a letter that is not one.
fn is_own_interface(name: &str) -> bool {
    let rest = OWN_INTERFACES.iter().find_map(|prefix| name.strip_prefix(prefix));
    let Some((letter, number)) = rest.and_then(|rest| rest.as_bytes().split_last()) else { return false };
    !number.is_empty() && number.iter().all(u8::is_ascii_hexdigit) && matches!(letter, b'g'..=b'z')
}

impl From<Running> for CaptureFacts {
    fn from(running: Running) -> Self {
        let Running { engine, ring, time_source, shortfalls, .. } = running;
        Self { engine, ring, time_source: Some(time_source), moderation: None, shortfalls }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_an_older_file_compares_with_one_of_this_version() {
        let geometry = |file, remark| {
            let command = "tcpdump -i {interface} -w {file}".into();
            RingGeometry::Program { command, interface: "cbr1f3cg".into(), file, remark }
        };
        let file = VerifiedFile { format: "pcap".into(), is_on_disk: false };
        let ring = geometry(Some(file), Some("its ring cannot be set".into()));
        let text = "tcpdump -i cbr1f3cg -w {file}; pcap file in memory, every frame verified afterwards; its ring cannot be set";
        assert_eq!(ring.to_string(), text);
        let older = CaptureFacts::from_texts("tcpdump", text);
        assert_ne!(older.ring, ring);
        assert_eq!(older.ring.without_interface(), ring.without_interface());
        assert_eq!(geometry(None, None).to_string(), "tcpdump -i cbr1f3cg -w {file}");
    }

    #[test]
    fn texts_of_older_versions_have_the_facts_that_are_compared() {
        for (text, sizes) in [
            ("64 blocks of 1.0 MiB (64 MiB), retire timeout 10 ms; time: kernel, software", None),
            ("receive buffer 416 KiB granted, 1 frame per call", None),
            ("4 MiB; time: card, interrupt moderation 50 us", Some("4 MiB, interrupt moderation 50 us")),
            ("tcpdump -i cbr1f3cg -w -", Some("tcpdump -i {interface} -w -")),
            ("tcpdump -i cbr1G -w -", None),
        ] {
            let facts = CaptureFacts::from_texts("a, b", text);
            assert_eq!((facts.running().as_str(), facts.engine.to_string().as_str()), (text, "a, b"));
            assert_eq!(facts.sizes(), sizes.unwrap_or(text.split(';').next().unwrap()));
        }
    }
}
