//! Placeholders in the command line of a program.

use std::path::Path;

use capbench_capture::Interface;
use capbench_model::options::CaptureOptions;

/// The names that may be between braces in an argument; `examples/programs.toml` says what replaces each.
const PLACEHOLDERS: [&str; 7] = ["interface", "file", "directory", "snaplen", "ring", "ring_kib", "ring_mib"];

/// Whether `argument` has this placeholder.
pub(super) fn has(argument: &str, name: &str) -> bool {
    argument.contains(&format!("{{{name}}}"))
}

/// Rejects arguments with unknown placeholders.
pub(super) fn check(argument: &str) -> std::result::Result<(), String> {
    for (start, _) in argument.match_indices('{') {
        let name: String =
            argument[start + 1..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
        // Other text in braces belongs to the program, such as a shell's ${X} or an awk script.
        let closed = argument[start + 1 + name.len()..].starts_with('}');
        let shell = argument[..start].ends_with('$');
        if !name.is_empty() && closed && !shell && !PLACEHOLDERS.contains(&name.as_str()) {
            let known = PLACEHOLDERS.join("}, {");
            return Err(format!("there is no placeholder {{{name}}}; known are {{{known}}}"));
        }
    }
    Ok(())
}

/// The values of all placeholders for one trial, in their order.
pub(super) struct Values([String; PLACEHOLDERS.len()]);

impl Values {
    pub(super) fn new(
        interface: &Interface,
        options: &CaptureOptions,
        directory: &Path,
        file: &Path,
    ) -> Self {
        let ring = options.ring.0;
        Self([
            interface.name.clone(),
            file.display().to_string(),
            directory.display().to_string(),
            options.snap_length.octets().to_string(),
            ring.to_string(),
            ring.div_ceil(1 << 10).to_string(),
            ring.div_ceil(1 << 20).to_string(),
        ])
    }

    /// `argument` with its placeholders replaced.
    pub(super) fn fill(&self, argument: &str) -> String {
        let mut filled = argument.to_string();
        for (name, value) in PLACEHOLDERS.iter().zip(&self.0) {
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use capbench_capture::Interface;
    use capbench_model::options::CaptureOptions;
    use capbench_model::units::ByteCount;
    use capbench_sys::host::InterfaceIndex;

    use super::{Values, check, has};

    #[test]
    fn placeholders_are_filled_wherever_they_stand() {
        let interface = Interface::new("eth7", InterfaceIndex::new(3).unwrap(), 1500);
        let options = CaptureOptions { ring: ByteCount((1 << 20) + 1), ..CaptureOptions::default() };
        let values = Values::new(&interface, &options, Path::new("/d"), Path::new("/d/f"));
        for (argument, filled) in [
            ("{interface}", "eth7"),
            ("ring:{interface}", "ring:eth7"),
            ("{ring}/{ring_kib}/{ring_mib}", "1048577/1025/2"),
            ("{snaplen}", "262144"),
            ("{directory} {file}", "/d /d/f"),
            ("plain", "plain"),
        ] {
            assert_eq!(values.fill(argument), filled);
        }
    }

    #[test]
    fn a_placeholder_that_there_is_not_is_refused_and_other_braces_are_not() {
        assert!(check("-i{iface}").unwrap_err().contains("{interface}"));
        for argument in ["{interface}", "${HOME}", "awk '{ print $1 }'", "{}", "{", "a{1,2}", "${file}"] {
            check(argument).unwrap();
        }
        assert!(has("-w{file}", "file") && !has("{files}", "file"));
    }
}
