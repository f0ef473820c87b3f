//! What getting the frames of a V3 ring into a file costs, in ns of CPU time of this process a frame and octets of file a
//! frame: encoded as `capbench record` does it, or the ring's blocks as they lie there.
//!
//! `cargo run --release -p capbench-record --example verbatim_cost -- FILE IF SIZES WAYS ROUNDS SENDER...` fills the ring of a
//! packet-v3 capture on the interface IF by the command SENDER, to which `--size SIZE -c FRAMES` is added, and empties it
//! in one of the WAYS, in turn, so often: `plain` and `direct` are encoded, with `/` and the KiB of a buffer behind it where it
//! is not 1024; `block-` and `used-` with one of these are whole blocks, and the part of them that is in use, in whole pages.
//! `drop` only takes the blocks and `read` looks at each frame. Frames are no longer in a cache of the CPU when the
//! ring is large beside it.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::{IoSlice, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use capbench_capture::Interface;
use capbench_capture::backends::packet_v3::PacketV3;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::{ByteCount, SnapLength};
use capbench_record::file::{Encoder, HashAlgorithm, InterfaceDescription, PacketFacts, SectionDescription};
use capbench_record::writing::{FileEnds, Origin, Output, WhenFull, WriteOptions};
use capbench_sys::host::clock::{monotonic_ns, process_cpu_ns};
use capbench_sys::host::process::ProcessId;
use capbench_sys::packet::Block;

type Outcome<T> = Result<T, Box<dyn Error>>;

const RING: u64 = 64 << 20;
const BLOCK: u64 = 1 << 20;
/// Blocks in one write.
const AT_ONCE: usize = 4;
const PAGE: usize = 4096;
const O_DIRECT: i32 = 0o40000;

struct Bare;

impl FileEnds for Bare {
    fn header(&mut self, _out: &mut Vec<u8>) {}
    fn trailer(&mut self, _out: &mut Vec<u8>) {}
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, interface, sizes, ways, rounds, sender @ ..] = &arguments[..] else {
        return Err("FILE IF SIZES WAYS ROUNDS SENDER...".into());
    };
    let interface = Interface::of_name(interface, 1500)?;
    let options =
        CaptureOptions { ring: ByteCount(RING), block: ByteCount(BLOCK), ..CaptureOptions::default() };
    let mut capture = PacketV3::open(&MethodSpec::plain("packet-v3"), &interface, &options)?;
    for size in sizes.split(';') {
        let octets: u64 = size.parse().unwrap_or(360);
        // A frame takes its octets and about 84 more.
        let frames = (RING - 4 * BLOCK) / (octets + 100).next_multiple_of(16);
        let mut results: BTreeMap<usize, Vec<(f64, f64, f64)>> = BTreeMap::new();
        for round in 0..=rounds.parse()? {
            for (number, way) in ways.split(',').enumerate() {
                let mut send = Command::new(&sender[0]);
                send.args(&sender[1..]).args(["--size", size, "-c", &frames.to_string()]);
                if !send.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success() {
                    return Err("the sender failed".into());
                }
                let result = empty(&mut capture, path, way)?;
                if round > 0 {
                    results.entry(number).or_default().push(result);
                }
            }
        }
        for (number, way) in ways.split(',').enumerate() {
            let runs = &results[&number];
            let column = |of: fn(&(f64, f64, f64)) -> f64| {
                let mut all: Vec<f64> = runs.iter().map(of).collect();
                all.sort_by(f64::total_cmp);
                (all[0], all[all.len() / 2], all[all.len() - 1])
            };
            let (cpu, wall, bytes) = (column(|run| run.0), column(|run| run.1), column(|run| run.2));
            println!(
                "{size:>6} {way:>14}: CPU {:7.1} ns/frame ({:.1} to {:.1}), wall {:7.1}, file {:7.1} octets/frame",
                cpu.1, cpu.0, cpu.2, wall.1, bytes.1
            );
        }
    }
    std::fs::remove_file(path)?;
    Ok(())
}

/// Empties the ring; CPU time and time in ns, and octets of file, a frame.
fn empty(capture: &mut PacketV3, path: &str, way: &str) -> Outcome<(f64, f64, f64)> {
    let _ = std::fs::remove_file(path);
    let this = ProcessId::new(std::process::id()).ok_or("no number for this process")?;
    let (how, kibibytes) = way.split_once('/').unwrap_or((way, "1024"));
    let mut options = WriteOptions::new(path);
    options.buffer.0 = kibibytes.parse::<u64>()? << 10;
    options.when_full = WhenFull::Wait;
    options.direct = how == "direct";
    let interface = InterfaceDescription { name: Some("eth0".into()), ..InterfaceDescription::default() };
    let snap = SnapLength::EVERYTHING;
    let encoder =
        Encoder::pcapng(&SectionDescription::default(), &[interface], snap, HashAlgorithm::default())?;
    let mut output = Some(Output::open(&options, encoder.extent(), 0, &mut Bare)?);
    let mut raw = OpenOptions::new();
    raw.create(true).truncate(true).write(true);
    if how.ends_with("direct") {
        raw.custom_flags(O_DIRECT);
    }
    let is_raw = how.contains('-');
    let mut file = if is_raw { Some(raw.open(path)?) } else { None };
    let (mut frames, mut held, mut sum) = (0, Vec::with_capacity(AT_ONCE), 0);
    let (cpu, begun) = (process_cpu_ns(this)?, monotonic_ns());
    let mut end = begun;
    while let Some(block) = capture.next_block(Duration::from_millis(60))? {
        frames += block.len();
        if let Some(file) = &mut file {
            held.push(block);
            if held.len() == AT_ONCE {
                write(file, &mut held, !how.starts_with("block"))?;
            }
        } else if how == "read" {
            sum += block.frames().map(|frame| frame.data.len() + usize::from(frame.data[50])).sum::<usize>();
        } else if how != "drop"
            && let Some(output) = &mut output
        {
            for frame in block.frames() {
                let origin = Origin { interface: 0, time_ns: frame.time_ns };
                let facts = black_box(PacketFacts::default());
                output
                    .packet(origin, &mut Bare, |room| encoder.encode(&frame, &facts, room))
                    .map_err(|why| format!("{why:?}"))?;
            }
        }
        end = monotonic_ns();
    }
    if let Some(file) = &mut file {
        write(file, &mut held, !how.starts_with("block"))?;
    }
    if let Some(output) = output.as_mut().filter(|_| !is_raw && how != "drop" && how != "read") {
        output.flush();
        let gauge = output.gauge();
        while gauge.read().in_use > 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    black_box(sum);
    let cpu = process_cpu_ns(this)? - cpu;
    drop(output);
    let bytes = std::fs::metadata(path)?.len();
    let each = |of: u64| of as f64 / frames as f64;
    Ok((each(cpu), each(end - begun), each(bytes)))
}

fn write(file: &mut std::fs::File, held: &mut Vec<Block>, used: bool) -> Outcome<()> {
    let part = |block: &Block| if used { block.used().next_multiple_of(PAGE) } else { block.octets().len() };
    let mut parts: Vec<_> = held.iter().map(|block| IoSlice::new(&block.octets()[..part(block)])).collect();
    let mut parts = &mut parts[..];
    while !parts.is_empty() {
        let taken = file.write_vectored(parts)?;
        IoSlice::advance_slices(&mut parts, taken);
    }
    held.clear();
    Ok(())
}
