//! Flags of `capbench convert`.

use std::path::PathBuf;

use capbench_model::units::ByteCount;
use capbench_record::file::FileFormat;
use clap::Args;

use super::record::named;

/// What to convert, to what.
#[derive(Args, Clone, Debug)]
pub struct ConvertFlags {
    /// File to read: verbatim, pcapng or pcap, also compressed with Zstandard; - is standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// File to write; - is standard output
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Format: pcapng, or pcap with nanoseconds [default: pcap where OUT ends in .pcap, else pcapng]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub format: Option<FileFormat>,
    /// Compress with Zstandard; .zst is put behind the name
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        allow_hyphen_values = true)]
    pub zstd: Option<i32>,
    /// Largest OUT, before compression; a larger one is removed [default: where IN is compressed, 64MiB and 1000 times its
    /// size; else any]
    #[arg(long, value_name = "SIZE")]
    pub max_output: Option<ByteCount>,
}

fn format(text: &str) -> Result<FileFormat, String> {
    named(text, &[FileFormat::Pcapng, FileFormat::Pcap])
}
