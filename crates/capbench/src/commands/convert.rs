//! `capbench convert`: converts capture files, mainly those of `record --format verbatim`, to another format.

use std::fs;
use std::io::{self, IsTerminal};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use capbench_model::units::ByteCount;
use capbench_record::convert::{ConvertError, Converted, OutputLimit, convert};
use capbench_record::file::{FileFormat, LeftOut, MendedLengths};
use capbench_record::writing::WriteOptions;
use clap::Args;

use crate::capture_files::{self, named};
use crate::exit::{Exit, Usage};

#[derive(Args, Clone, Debug)]
pub struct ConvertFlags {
    /// File to read: verbatim, pcapng or pcap, also compressed with Zstandard; - is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// File to write; - is standard output
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Format: pcapng, or pcap with nanoseconds [default: pcap where OUT ends in .pcap, else pcapng]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    format: Option<FileFormat>,
    /// Compress with Zstandard; .zst is put behind the name
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        allow_hyphen_values = true)]
    zstd: Option<i32>,
    /// Largest OUT, before compression; a larger one is removed [default: where IN is compressed, 64MiB and 1000 times its
    /// size; else any]
    #[arg(long, value_name = "SIZE")]
    max_output: Option<ByteCount>,
}

fn format(text: &str) -> Result<FileFormat, String> {
    named(text, &[FileFormat::Pcapng, FileFormat::Pcap])
}

pub fn run(flags: &ConvertFlags) -> Result<Exit> {
    let mut options = WriteOptions::new(&flags.output);
    options.compression = flags.zstd;
    if options.is_standard_output() && io::stdout().is_terminal() {
        return Err(Usage("-: standard output is a terminal; give a file, or a pipe".into()).into());
    }
    let written = options.first_file()?;
    let format = capture_files::format_of(flags.format, &written);
    if let Some(contradiction) = capture_files::contradiction(flags.format, &written) {
        tell!("capbench: {contradiction}");
    }
    if !options.is_standard_output() && is_same(&flags.input, &written) {
        return Err(Usage(format!("{} would be overwritten while it is read", flags.input.display())).into());
    }
    let name = flags.input.display();
    let source = capture_files::open(&flags.input)?;
    let limit = flags.max_output.map_or_else(|| OutputLimit::of(&source), |most| OutputLimit::Octets(most.0));
    let mut converted = Converted::default();
    let done = convert(source, format, &options, limit, &mut converted);
    let Converted { packets, dropped, without_time, finer_times, mended_lengths, left_out, ends_early } =
        converted;
    tell!("capbench: {} converted", several(packets, "packet"));
    if dropped > 0 && format == FileFormat::Pcap {
        tell!("capbench: {name} reports {dropped} lost packets; pcap has no field for them");
    }
    let MendedLengths { cut, raised } = mended_lengths;
    let notes = [
        (
            without_time,
            "have no time; they got the first one of their interface's clock, 1970-01-01 unless the file has an offset",
        ),
        (finer_times, "have times finer than a nanosecond, which pcap cuts"),
        (cut, "have more captured octets than their original length; they are cut to it"),
        (raised, "have an original length of 0; their captured length replaces it"),
    ];
    for (packets, what) in notes {
        if packets > 0 {
            tell!("capbench: {packets} packets of {name} {what}");
        }
    }
    if left_out != LeftOut::default() {
        tell!("capbench: left out of {name}: {}", listed(left_out));
    }
    match done {
        Err(ConvertError::ReaderGone) => Ok(Exit::READER_LEFT),
        done => {
            done.with_context(|| name.to_string())?;
            anyhow::ensure!(
                !ends_early,
                "{name} ends within a record; everything before it, {packets} packets, is converted"
            );
            Ok(Exit::Done)
        }
    }
}

fn several(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Records that were left out, by kind.
fn listed(left_out: LeftOut) -> String {
    let LeftOut { names, secrets, custom, blocks, comments, options } = left_out;
    let kinds = [
        ("name resolution blocks", names),
        ("blocks of decryption secrets", secrets),
        ("custom blocks", custom),
        ("other blocks", blocks),
        ("packet comments", comments),
        ("other options", options),
    ];
    let left = kinds.iter().filter(|(_, count)| *count > 0).map(|(kind, count)| format!("{kind} {count}"));
    left.collect::<Vec<_>>().join(", ")
}

fn is_same(input: &Path, output: &Path) -> bool {
    let identity = |path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    identity(input).is_some_and(|found| identity(output) == Some(found))
}
