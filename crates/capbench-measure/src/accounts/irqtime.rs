//! How the kernel accounts for interrupts, from its build configuration: `/proc/config.gz` or `/boot/config-RELEASE`.

use std::io::Read;

use serde::{Deserialize, Serialize};

/// More than ten times the size of any configuration; a file that unpacks to more is not one.
const LARGEST: u64 = 4 << 20;

/// How times are accounted. `None` means that the configuration could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IrqAccounting {
    /// The scheduler's time of a thread leaves out interrupts, soft ones too, that were served while it ran
    /// (CONFIG_IRQ_TIME_ACCOUNTING). Without it an interrupted thread is charged for them. A kernel built with it can
    /// still have it off, on x86 with `tsc=noirqtime` or an unstable TSC.
    pub excluded_from_threads: Option<bool>,
    /// Times in `/proc/stat` are measured at each change of context instead of sampled at the timer tick
    /// (CONFIG_VIRT_CPU_ACCOUNTING_GEN; in effect on CPUs of `nohz_full` only).
    pub measured_at_context_changes: Option<bool>,
    /// Timer ticks per second (CONFIG_HZ).
    pub hz: Option<u32>,
}

impl IrqAccounting {
    /// Reads the text of a configuration. Options are known only from a text that names CONFIG_HZ, as each kernel's does.
    pub fn parse(text: &str) -> Self {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        let Some(hz) = value("CONFIG_HZ").and_then(|number| number.trim().parse().ok()) else {
            return Self::default();
        };
        // An option that is off stands in a comment, or is left out where its conditions are not met.
        let on = |key: &str| Some(value(key).is_some_and(|state| state.trim() == "y"));
        Self {
            excluded_from_threads: on("CONFIG_IRQ_TIME_ACCOUNTING"),
            measured_at_context_changes: on("CONFIG_VIRT_CPU_ACCOUNTING_GEN"),
            hz: Some(hz),
        }
    }
}

/// The configuration of the running kernel, `release` being its release (`uname -r`); `None` where it cannot be read.
pub(crate) fn configuration(release: &str) -> Option<String> {
    packed("/proc/config.gz").or_else(|| limited(std::fs::File::open(boot_file(release)?).ok()?))
}

fn boot_file(release: &str) -> Option<String> {
    // A release is one part of a path and no way out of the directory.
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
    fn a_configuration_is_read() {
        let text = "# CONFIG_VIRT_CPU_ACCOUNTING_GEN is not set\nCONFIG_IRQ_TIME_ACCOUNTING=y\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n";
        let accounting = IrqAccounting::parse(text);
        assert_eq!(accounting.excluded_from_threads, Some(true));
        assert_eq!(accounting.measured_at_context_changes, Some(false));
        assert_eq!(accounting.hz, Some(250));
    }

    #[test]
    fn off_is_known_and_unknown_is_not_off() {
        let text = "# CONFIG_IRQ_TIME_ACCOUNTING is not set\nCONFIG_HZ=1000\n";
        assert_eq!(IrqAccounting::parse(text).excluded_from_threads, Some(false));
        for text in ["", "CONFIG_HZ=", "CONFIG_HZ=fast", "CONFIG_IRQ_TIME_ACCOUNTING=y", "CONFIG_HZ_250=y"] {
            assert_eq!(IrqAccounting::parse(text), IrqAccounting::default(), "{text:?}");
        }
    }

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
