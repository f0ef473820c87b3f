//! How fast records get into files here, and at what CPU cost, by page cache, by direct I/O and compressed.
//!
//! `cargo run --release -p capbench-record --example write_speed -- FILE [MIB [RECORD [RATE [HOW,...]]]]`, with FILE on the
//! disk in question; it is overwritten and removed. RECORD is in bytes, RATE in MB/s, 0 for as fast as it goes. HOW is `plain`,
//! `nosync` (plain without waiting for the disk), `direct`, or `zstd` with a level, each with `/` and the KiB of a buffer behind it where it is not 1024. They run in the
//! order given, so that one named several times is compared in turn.
//!
//! `pool` is the time spent on a record in a buffer, which a method's own encoding comes on top of; `process` is all CPU
//! time of this process, without the kernel threads that write the page cache back.

use capbench_record::writing::{FileEnds, Origin, Output, Record, WhenFull, WriteOptions};
use capbench_sys::host::clock::{monotonic_ns, process_cpu_ns, thread_cpu_ns};
use capbench_sys::host::process::ProcessId;
use std::error::Error;

struct Bare;

impl FileEnds for Bare {
    fn header(&mut self, _out: &mut Vec<u8>) {}
    fn trailer(&mut self, _out: &mut Vec<u8>) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which file?")?;
    let mebibytes: u64 = arguments.next().as_deref().unwrap_or("1024").parse()?;
    let record: usize = arguments.next().as_deref().unwrap_or("128").parse()?;
    let rate: u64 = arguments.next().as_deref().unwrap_or("0").parse()?;
    let ways = arguments.next().unwrap_or_else(|| "plain,direct,zstd1".into());
    let this = ProcessId::new(std::process::id()).ok_or("no number for this process")?;
    // Like headers of packets: most octets repeat, some do not.
    let filling: Vec<u8> =
        (0..record + 65_536).map(|at| if at % 3 == 0 { ((at * at) >> 7) as u8 } else { 0x45 }).collect();
    for way in ways.split(',') {
        let (how, kibibytes) = way.split_once('/').unwrap_or((way, "1024"));
        let mut options = WriteOptions::new(&path);
        options.buffer.0 = kibibytes.parse::<u64>()? << 10;
        options.when_full = WhenFull::Wait;
        options.direct = how == "direct";
        options.syncs = how != "nosync";
        options.compression = how.strip_prefix("zstd").map(str::parse).transpose()?;
        let whole = |bytes: &[u8]| Some(Record { length: bytes.len(), packet_of: Some(0), packets: 1 });
        let mut output = Output::open(&options, whole, 0, &mut Bare)?;
        let (start, process, here) = (monotonic_ns(), process_cpu_ns(this)?, thread_cpu_ns());
        let records = (mebibytes << 20) / record as u64;
        for number in 0..records {
            let origin = Origin { interface: 0, time_ns: number };
            let encode = |room: &mut [u8]| {
                room.get_mut(..record)?.copy_from_slice(&filling[number as usize % 65_536..][..record]);
                Some(record)
            };
            output.packet(origin, &mut Bare, encode).map_err(|why| format!("{why:?}"))?;
            if number % 1024 == 0 && rate > 0 {
                let due = number * record as u64 * 1000 / rate;
                std::thread::sleep(std::time::Duration::from_nanos(
                    due.saturating_sub(monotonic_ns() - start),
                ));
            }
        }
        let here = thread_cpu_ns() - here;
        let recorded = output.finish(&mut Bare);
        let (wall, process) = (monotonic_ns() - start, process_cpu_ns(this)? - process);
        let (counts, gigabytes) = (recorded.counts, (records * record as u64) as f64 / 1e9);
        println!(
            "{way:>12}: {:6.0} MB/s, process {:.3} s/GB, pool {:.1} ns/record, stored {:.3}, longest write {:.1} ms, most buffers {} of {}",
            gigabytes * 1e12 / wall as f64,
            process as f64 / 1e9 / gigabytes,
            here as f64 / records as f64,
            counts.stored_bytes as f64 / counts.bytes as f64,
            counts.longest_write.as_secs_f64() * 1e3,
            counts.most_in_use,
            counts.pool,
        );
        let name = if options.compression.is_some() { format!("{path}.zst") } else { path.clone() };
        std::fs::remove_file(name)?;
    }
    Ok(())
}
