//! Flags of `capbench record`; letters mean what they mean to tcpdump.

use std::path::PathBuf;
use std::time::Duration;

use capbench_model::units::ByteCount;
use capbench_record::file::FileFormat;
use capbench_record::writing::FreeSpace;
use clap::Args;

use super::dumpcap::{self, Condition};
use crate::capture_files::named;
use crate::exit::Usage;
use crate::flag_values::{positive_duration, share};
use crate::flags::{CaptureFlags, FilterFlags, MembersFlags};
use crate::metrics::MetricsFlags;

#[derive(Args, Clone, Debug)]
pub struct RecordFlags {
    /// Interface to record from; several become one stream in time order
    #[arg(short = 'i', long, value_name = "IF")]
    pub interface: Vec<String>,
    /// Capture method; auto: the one that your last bench of this host shows to be best, or one of the best, else packet-v3
    #[arg(long, value_name = "METHOD", default_value = "auto")]
    pub method: String,
    /// Stop after this many packets
    #[arg(short = 'c', long, value_name = "PACKETS", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Stop after this time [default: when interrupted]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub duration: Option<Duration>,
    /// As for dumpcap, when to end: duration:SECONDS, packets:N, filesize:KB (with -b: when to begin a new file) or files:N
    #[arg(short = 'a', long, value_name = "CONDITION", value_parser = dumpcap::condition)]
    pub autostop: Vec<Condition>,
    #[command(flatten)]
    pub filter: FilterFlags,
    /// Print the filter's program and end: -d in words, -dd as C, -ddd as numbers
    #[arg(short = 'd', action = clap::ArgAction::Count)]
    pub dump: u8,
    /// List the interfaces and end
    #[arg(short = 'D', long)]
    pub list_interfaces: bool,
    /// List the link types of the interfaces and end
    #[arg(short = 'L', long)]
    pub list_data_link_types: bool,
    /// List the types of time stamps and end
    #[arg(short = 'J', long)]
    pub list_time_stamp_types: bool,
    /// Refused: record captures from interfaces. `capbench convert` rewrites a file, `capbench verify` looks in it for frames of
    /// `send`
    #[arg(short = 'r', value_name = "FILE")]
    pub read: Option<PathBuf>,
    #[command(flatten)]
    pub members: MembersFlags,
    /// How many threads filter and encode packets [default: none, the thread that captures or merges does it]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub workers: Option<u16>,
    /// Batches that may wait for each worker; more are dropped, and counted [default: up to 8, and as many as leave half of
    /// the ring to the kernel]
    #[arg(long, value_name = "BATCHES", requires = "workers", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub worker_queue: Option<u32>,
    /// Drop nothing in front of workers: while their queues are full, packets wait in the ring
    #[arg(long, requires = "workers")]
    pub worker_wait: bool,
    /// CPUs for the threads in their order: one for each capture, one for each worker, one to merge; for example 2,3 or 4-7
    #[arg(long, value_name = "LIST")]
    pub cpu: Option<String>,
    /// Have the kernel compute a hash of each packet's flow where the interface does not: packet-v3 writes it to the file
    #[arg(long)]
    pub flow_hash: bool,
    /// Return packets as they come, at the cost of CPU time
    #[arg(long)]
    pub immediate_mode: bool,
    /// User to become once interfaces are open
    #[arg(short = 'Z', long = "relinquish-privileges", value_name = "USER")]
    pub user: Option<String>,
    /// One JSON document about all packets at the end, on standard output (on standard error with -w -)
    #[arg(long)]
    pub json: bool,
    /// Share of the packets that may be lost or cut, such as 1e-6 or 0.1%; more ends with exit code 3. Packets of files
    /// that -W replaces or --keep-files and --keep-free remove are not lost
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub max_loss: Option<f64>,
    #[command(flatten)]
    pub output: OutputFlags,
    #[command(flatten)]
    pub capture: CaptureFlags,
    #[command(flatten)]
    pub metrics: MetricsFlags,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    /// File to write; - is standard output. With -G a pattern of strftime(3)
    #[arg(short = 'w', long = "write", value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Format: pcapng, which says where packets are missing; pcap with nanoseconds; or verbatim, blocks of a packet-v3 ring
    /// as they are, for less CPU time with --direct; capbench convert makes pcapng of them [default: pcap where FILE ends in
    /// .pcap, else pcapng]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub format: Option<FileFormat>,
    /// Begin a new file when one is larger than this: in units of 1,000,000 bytes, or with a unit such as 64MiB
    #[arg(short = 'C', long = "file-size", value_name = "SIZE", value_parser = file_size)]
    pub file_size: Option<u64>,
    /// Begin a new file after this many packets
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u64).range(1..))]
    pub file_packets: Option<u64>,
    /// Begin a new file every this many seconds
    #[arg(short = 'G', long = "file-seconds", value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub file_seconds: Option<u32>,
    /// How many files: with -C a ring, with -G alone the end
    #[arg(short = 'W', long, value_name = "FILES", value_parser = clap::value_parser!(u32).range(1..))]
    pub files: Option<u32>,
    /// How many files end the recording: -a files.
    #[arg(skip)]
    pub last_file: Option<u32>,
    /// As for dumpcap, when to begin a new file: duration:SECONDS, packets:N or filesize:KB; files:N is a ring of N files
    #[arg(short = 'b', long, value_name = "CONDITION", value_parser = dumpcap::condition)]
    pub ring_buffer: Vec<Condition>,
    /// Keep up to this many files, the open one included: the oldest of this recording are removed, those of earlier runs included
    #[arg(long, value_name = "FILES", value_parser = clap::value_parser!(u64).range(1..))]
    pub keep_files: Option<u64>,
    /// Keep this much of the disk free, such as 20GiB or 10%: the oldest files of this recording are removed, those of earlier
    /// runs included
    #[arg(long, value_name = "SIZE", value_parser = free_space)]
    pub keep_free: Option<FreeSpace>,
    /// Let readers of the file have packets as soon as the disk has nothing else to do
    #[arg(short = 'U', long)]
    pub packet_buffered: bool,
    /// Compress with Zstandard; .zst is put behind the name
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        allow_hyphen_values = true)]
    pub zstd: Option<i32>,
    /// Write past the page cache
    #[arg(long)]
    pub direct: bool,
    /// Do not wait until the disk has each file: then its errors can go unseen
    #[arg(long)]
    pub no_sync: bool,
    /// Permissions of the files, in octal [default: 600, with --group 640]
    #[arg(long, value_name = "OCTAL", value_parser = mode)]
    pub mode: Option<u32>,
    /// Group of the files, which may read them
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    /// Memory for packets that wait for the disk [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    pub write_buffer: Option<ByteCount>,
}

impl RecordFlags {
    /// The flags with the conditions as flags of this command.
    ///
    /// # Errors
    /// A condition that another flag states, too; a new file after a time that is no whole number of seconds.
    pub fn resolved(mut self) -> Result<Self, Usage> {
        let mut is_one_file = false;
        for condition in std::mem::take(&mut self.autostop) {
            let output = &mut self.output;
            match condition {
                Condition::Duration(time) => set("-a duration", "--duration", &mut self.duration, time)?,
                Condition::Packets(packets) => set("-a packets", "-c", &mut self.count, packets)?,
                Condition::FileSize(bytes) => {
                    is_one_file = output.ring_buffer.is_empty();
                    set("-a filesize", "-C", &mut output.file_size, bytes)?;
                }
                Condition::Files(files) => set("-a files", "-a files", &mut output.last_file, files)?,
            }
        }
        let output = &mut self.output;
        if is_one_file {
            output.last_file.get_or_insert(1);
        }
        for condition in std::mem::take(&mut output.ring_buffer) {
            match condition {
                Condition::Duration(time) => {
                    let seconds = u32::try_from(time.as_secs())
                        .ok()
                        .filter(|seconds| *seconds > 0 && time.subsec_nanos() == 0);
                    let refuse = || Usage("-b duration: files begin at whole seconds".into());
                    set("-b duration", "-G", &mut output.file_seconds, seconds.ok_or_else(refuse)?)?;
                }
                Condition::Packets(packets) => {
                    set("-b packets", "--file-packets", &mut output.file_packets, packets)?;
                }
                Condition::FileSize(bytes) => set("-b filesize", "-C", &mut output.file_size, bytes)?,
                Condition::Files(files) => set("-b files", "-W", &mut output.files, files)?,
            }
        }
        Ok(self)
    }
}

fn set<T>(condition: &str, flag: &str, place: &mut Option<T>, value: T) -> Result<(), Usage> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Usage(format!("{condition}: {flag} says the same; give one of them, once"))),
    }
}

fn format(text: &str) -> Result<FileFormat, String> {
    named(text, &[FileFormat::Pcapng, FileFormat::Pcap, FileFormat::Verbatim])
}

/// Permissions as chmod(1) has them; who records has to be able to write.
fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| mode & !0o777 == 0 && mode & 0o600 == 0o600);
    mode.ok_or_else(|| format!("\"{text}\" is no mode for a file of captures; write for example 600 or 640"))
}

/// Bytes, or a share of the file system.
fn free_space(text: &str) -> Result<FreeSpace, String> {
    let Some(percent) = text.strip_suffix('%') else { return text.parse().map(FreeSpace::Bytes) };
    let percent = percent.trim_end().parse().ok().filter(|percent| (1..=99).contains(percent));
    percent
        .map(FreeSpace::Percent)
        .ok_or_else(|| format!("\"{text}\" is no share of a disk; write 1% to 99%"))
}

/// tcpdump's unit, unless one is given.
fn file_size(text: &str) -> Result<u64, String> {
    const UNIT: u64 = 1_000_000;
    let bytes = match text.parse::<u64>() {
        Ok(number) => number.checked_mul(UNIT).ok_or_else(|| format!("\"{text}\" is out of range"))?,
        Err(_) => text.parse::<ByteCount>()?.0,
    };
    match bytes {
        0 => Err("a file of 0 bytes holds no packet".into()),
        bytes => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        flags: RecordFlags,
    }

    #[test]
    fn conditions_become_flags_and_contradict_those() {
        let found =
            flags_of("x -a duration:5 -a packets:7 -b filesize:1000 -b files:3 -b duration:60").unwrap();
        assert_eq!((found.duration, found.count), (Some(Duration::from_secs(5)), Some(7)));
        let output = &found.output;
        assert_eq!(
            (output.file_size, output.files, output.file_seconds),
            (Some(1_000_000), Some(3), Some(60))
        );
        // One file of a size, several of them, or a new file at each: -b decides.
        for (line, files) in [
            ("x -a filesize:9", Some(1)),
            ("x -a filesize:9 -a files:3", Some(3)),
            ("x -a filesize:9 -b duration:60", None),
            ("x -b filesize:9 -a files:3", Some(3)),
        ] {
            let output = flags_of(line).unwrap().output;
            assert_eq!((output.file_size, output.last_file), (Some(9000), files), "{line}");
        }
        for line in ["x -a duration:5 --duration 6", "x -b files:1 -b files:2", "x -b duration:1.5s"] {
            assert!(flags_of(line).is_err(), "{line}");
        }
    }

    fn flags_of(line: &str) -> Result<RecordFlags, Usage> {
        Line::try_parse_from(line.split(' ')).unwrap_or_else(|error| panic!("{error}")).flags.resolved()
    }

    #[test]
    fn values_are_read_or_refused_with_what_to_write() {
        assert_eq!((file_size("2"), file_size("64KiB")), (Ok(2_000_000), Ok(65_536)));
        for text in ["0", "", "fast", "99999999999999999999", "18446744073709551615"] {
            assert!(file_size(text).is_err(), "{text}");
        }
        assert_eq!(free_space("10%"), Ok(FreeSpace::Percent(10)));
        assert_eq!(free_space("64KiB"), Ok(FreeSpace::Bytes(ByteCount(65_536))));
        for text in ["0%", "100%", "%", "-1%", "x", ""] {
            assert!(free_space(text).is_err(), "{text}");
        }
        // Modes are octal and leave the file to its owner.
        assert_eq!((mode("600"), mode("0640")), (Ok(0o600), Ok(0o640)));
        for text in ["", "9", "0o600", "4755", "044", "rw"] {
            assert!(mode(text).unwrap_err().contains("640"), "{text}");
        }
        assert_eq!((format("pcap"), format("verbatim")), (Ok(FileFormat::Pcap), Ok(FileFormat::Verbatim)));
        assert!(format("text").unwrap_err().contains("pcapng, pcap, verbatim"));
    }
}
