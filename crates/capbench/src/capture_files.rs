//! Capture files: opening one, and the format of one that `record` or `convert` writes.

use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;

use anyhow::Context;
use capbench_record::file::{Decompressed, FileFormat};

/// Opens a capture file, also a compressed one; `-` is standard input.
pub fn open(file: &Path) -> anyhow::Result<Decompressed> {
    let attempt = || format!("cannot read {}", file.display());
    let octets: Box<dyn Read> = match file.as_os_str() == "-" {
        true => Box::new(stdin()),
        false => Box::new(File::open(file).with_context(attempt)?),
    };
    Decompressed::new(octets).with_context(attempt)
}

/// The requested format, else that of the file's extension, else pcapng.
pub fn format_of(asked: Option<FileFormat>, file: &Path) -> FileFormat {
    asked.or_else(|| FileFormat::of_name(file)).unwrap_or(FileFormat::Pcapng)
}

/// A warning if the requested format differs from that of the file's extension.
pub fn contradiction(asked: Option<FileFormat>, file: &Path) -> Option<String> {
    let (asked, named) = (asked?, FileFormat::of_name(file)?);
    (asked != named).then(|| {
        let (file, asked, named) = (file.display(), asked.name(), named.name());
        format!(
            "{file} gets the format {asked}, as --format says, though its name ends as one of {named} does"
        )
    })
}

/// The format of this name among some.
pub fn named(text: &str, known: &[FileFormat]) -> Result<FileFormat, String> {
    let found = known.iter().find(|format| format.name() == text);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|format| format.name()).collect();
        format!("\"{text}\" is not a format; there is {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use capbench_record::file::FileFormat::{self, Pcap, Pcapng, Verbatim};

    #[test]
    fn the_ending_decides_unless_a_format_is_asked_for() {
        let of = |asked: Option<FileFormat>, file: &str| super::format_of(asked, Path::new(file));
        for (file, format) in [
            ("x.pcap", Pcap),
            ("x.pcap.zst", Pcap),
            ("/d/%Y-%m-%d.pcap", Pcap),
            ("x.pcapng", Pcapng),
            ("x", Pcapng),
            ("-", Pcapng),
            (".pcap", Pcapng),
            ("x.cap", Pcapng),
        ] {
            assert_eq!(of(None, file), format, "{file}");
            assert_eq!(of(Some(Verbatim), file), Verbatim);
        }
    }

    #[test]
    fn a_name_that_contradicts_the_format_is_reported() {
        let said = |asked, file: &str| super::contradiction(asked, Path::new(file));
        assert_eq!(said(None, "x.pcap"), None);
        assert_eq!(said(Some(Pcap), "x.pcap.zst"), None);
        assert_eq!(said(Some(Verbatim), "x.verbatim"), None);
        for (asked, file) in [(Pcapng, "x.pcap"), (Pcap, "x.pcapng"), (Verbatim, "x.pcapng")] {
            assert!(said(Some(asked), file).unwrap().contains(file), "{file}");
        }
    }
}
