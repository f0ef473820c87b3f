//! Makes a test bed in every way that this host offers and shows where the kernel's receive work was really done.
//!
//! `bed_probe` sends through each kind of bed; `bed_probe hold` makes one, says so and waits to be killed. Both work as
//! root and as an ordinary user.

#![forbid(unsafe_code)]

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::ExitCode;

use capbench_host::accounts::softnet::SoftnetSnapshot;
use capbench_host::accounts::softnet::kernel_cpu_bounds;
use capbench_host::bed::{Bed, BedOptions, KernelWork, Placement, prepare_process};
use capbench_host::{HostError, Result};
use capbench_sys::host::affinity::{self, CpuId};
use capbench_sys::packet::{PacketSocket, Protocol};

const FRAMES: u64 = 200_000;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bed_probe: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    println!("privilege {:?}", prepare_process()?);
    if std::env::args().nth(1).as_deref() == Some("hold") {
        return hold();
    }
    let (same, other) = (Placement::same()?, Placement::other()?);
    println!("same: {}\nother: {}", same.statement, other.statement);
    let kinds =
        [KernelWork::SenderContext, KernelWork::Rps(same.kernel), KernelWork::ThreadedNapi(same.kernel)];
    for kernel_work in kinds {
        match Bed::virtual_pair(&BedOptions { mtu: 9000, kernel_work }) {
            Ok(bed) => show(&bed, same.generator)?,
            Err(error @ HostError::Unsupported { .. }) => println!("{error}"),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn show(bed: &Bed, generator: CpuId) -> Result<()> {
    let Some(report) = bed.kernel_work() else { return Ok(()) };
    let expected = match report.asked {
        KernelWork::SenderContext => generator,
        KernelWork::Rps(cpu) | KernelWork::ThreadedNapi(cpu) | KernelWork::DeferredNapi(cpu) => cpu,
    };
    let before = (SoftnetSnapshot::read()?, bed.receive_side().stats()?);
    let (sent, seconds) = bed.transmit_side().run(|| flood(bed, generator))??;
    let after = (SoftnetSnapshot::read()?, bed.receive_side().stats()?);
    let received = after.1.zip(before.1).and_then(|(after, before)| after.since(&before));
    let bounds = kernel_cpu_bounds(&after.0.since(&before.0), expected, sent).unwrap_or(0.0..=0.0);
    println!(
        "{:?}: set by {}; read back {:?}; {:.0} frames/s; received {:?} of {sent} sent of {FRAMES}; share on CPU {expected}: {:.3} to {:.3}",
        report.asked,
        report.set_by,
        report.read_back,
        sent as f64 / seconds,
        received.map(|stats| stats.rx_packets),
        bounds.start(),
        bounds.end(),
    );
    Ok(())
}

/// Tries to send [`FRAMES`] UDP frames as fast as one system call per frame allows: how many the kernel took, and the
/// seconds that it took. With threaded NAPI a full ring of the veth refuses frames (ENOBUFS).
fn flood(bed: &Bed, generator: CpuId) -> Result<(u64, f64)> {
    const NO_BUFFERS: i32 = 105;
    affinity::pin_current_thread(generator)?;
    let socket = PacketSocket::open()?;
    socket.bind(bed.transmit_side().index(), Protocol::Nothing)?;
    let owned = socket.as_fd().try_clone_to_owned();
    let mut wire = File::from(owned.map_err(|source| failed("cannot duplicate", source))?);
    let mut frame = vec![0; 60];
    frame[..6].copy_from_slice(&bed.receive_side().mac().unwrap_or_default());
    frame[6..12].copy_from_slice(&bed.transmit_side().mac().unwrap_or_default());
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
    frame[26..42].copy_from_slice(&[198, 18, 0, 1, 198, 19, 0, 1, 16, 0, 16, 0, 0, 26, 0, 0]);
    let start = std::time::Instant::now();
    let mut sent = 0;
    for _ in 0..FRAMES {
        match wire.write_all(&frame) {
            Ok(()) => sent += 1,
            Err(source) if source.raw_os_error() == Some(NO_BUFFERS) => {}
            Err(source) => return Err(failed("cannot send on", source)),
        }
    }
    Ok((sent, start.elapsed().as_secs_f64()))
}

fn hold() -> Result<()> {
    let bed = Bed::virtual_pair(&BedOptions::default())?;
    println!(
        "holding {} {}",
        bed.transmit_side().namespace().inode(),
        bed.receive_side().namespace().inode()
    );
    loop {
        std::thread::park();
    }
}

fn failed(attempt: &'static str, source: std::io::Error) -> HostError {
    HostError::File { attempt, path: "the packet socket".into(), source }
}
