//! Makes a test bed in every way that this host offers.
//!
//! `bed_probe` makes each kind of bed; `bed_probe hold` makes one, says so and waits to be killed. Both work as
//! root and as an ordinary user.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use capbench_host::bed::{Bed, BedOptions, KernelWork, Placement, prepare_process};
use capbench_host::{HostError, Result};

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
    println!("same: {:?}\nother: {:?}", same.tasks(), other.tasks());
    let kinds = [
        KernelWork::SenderContext,
        KernelWork::Rps(same.kernels.clone()),
        KernelWork::ThreadedNapi(vec![same.kernel]),
    ];
    for kernel_work in kinds {
        let options = BedOptions { mtu: 9000, kernel_work, ..BedOptions::default() };
        match Bed::virtual_pair(&options) {
            Ok(bed) => println!("{:?}: {:?}", options.kernel_work, bed.kernel_work()),
            Err(error @ HostError::Unsupported { .. }) => println!("{error}"),
            Err(error) => return Err(error),
        }
    }
    Ok(())
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
