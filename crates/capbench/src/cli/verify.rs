//! Flags of `capbench verify`.

use std::path::PathBuf;

use clap::Args;

use super::traffic::LayoutFlags;

/// Which files, and what was sent.
#[derive(Args, Clone, Debug)]
pub struct VerifyFlags {
    /// Capture files, pcapng or pcap, also compressed with Zstandard; several are read as one recording, in this order; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Numbers that the stamps carry, as given to `capbench send --trial`; several for several senders: 7,8,9
    #[arg(long, value_name = "ID", value_delimiter = ',', default_values_t = [1])]
    pub trial: Vec<u16>,
    /// How many frames of each trial were sent, so that those missing at the end are known
    #[arg(long, value_name = "FRAMES", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub frames: Option<u64>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Headers of the frames
    #[command(flatten)]
    pub layout: LayoutFlags,
}
