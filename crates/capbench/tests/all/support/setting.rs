//! A setting of the whole host that a test changes for a moment.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};

use capbench_testing::network::program;

/// A file of /proc/sys with another value than before. Whatever happens to the test process, by SIGKILL too, a shell that
/// reads from it sees its end and writes the old value back.
pub struct Setting {
    keeper: Child,
    file: String,
    before: String,
}

impl Setting {
    /// Sets it.
    pub fn change(file: &str, value: &str) -> Self {
        let before = std::fs::read_to_string(file).unwrap().trim().to_string();
        let script = "trap '' INT TERM HUP; cat > /dev/null; echo \"$1\" > \"$2\"";
        let keeper =
            program("sh").args(["-c", script, "sh", &before, file]).stdin(Stdio::piped()).spawn().unwrap();
        let setting = Self { keeper, file: file.into(), before };
        std::fs::File::create(Path::new(file)).and_then(|mut file| file.write_all(value.as_bytes())).unwrap();
        setting
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let restored = self.keeper.wait().is_ok_and(|status| status.success());
        let now = std::fs::read_to_string(&self.file).unwrap_or_default();
        if !restored || now.trim() != self.before {
            eprintln!("{} is {}, and was {} before the test", self.file, now.trim(), self.before);
        }
    }
}
