//! The build configuration of the running kernel, which defines how it accounts for interrupts: `/proc/config.gz` or
//! `/boot/config-RELEASE`.

use std::io::Read;

pub use capbench_model::environment::kernel::IrqAccounting;

/// More than ten times the size of any configuration. A larger file is not a configuration.
const LARGEST: u64 = 4 << 20;

/// The configuration of the running kernel; `release` is its release (`uname -r`). `None` if it cannot be read.
pub fn configuration(release: &str) -> Option<String> {
    packed("/proc/config.gz").or_else(|| limited(std::fs::File::open(boot_file(release)?).ok()?))
}

fn boot_file(release: &str) -> Option<String> {
    // A release must be one path component, so that it cannot leave the directory.
    (!release.is_empty() && !release.contains('/')).then(|| format!("/boot/config-{release}"))
}

fn packed(path: &str) -> Option<String> {
    limited(flate2::read::GzDecoder::new(std::fs::File::open(path).ok()?))
}

fn limited(source: impl Read) -> Option<String> {
    let mut text = String::new();
    source.take(LARGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_does_not_leave_its_directory() {
        assert_eq!(boot_file("6.1.0-25-amd64").as_deref(), Some("/boot/config-6.1.0-25-amd64"));
        assert_eq!(boot_file("/../../etc/passwd"), None);
        assert_eq!(boot_file(""), None);
    }

    #[test]
    fn broken_archives_are_unknown() {
        assert_eq!(limited(flate2::read::GzDecoder::new(&b"\x1f\x8b\x08 nothing"[..])), None);
        assert_eq!(limited(&b"\xff\xfe"[..]), None);
    }

    #[test]
    fn a_packed_text_is_unpacked() {
        use std::io::Write;
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(b"CONFIG_HZ=100\n").unwrap();
        let bytes = packer.finish().unwrap();
        assert_eq!(
            limited(flate2::read::GzDecoder::new(bytes.as_slice())).as_deref(),
            Some("CONFIG_HZ=100\n")
        );
    }
}
