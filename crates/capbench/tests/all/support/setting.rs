//! A setting of the whole host that a test changes for a moment.

use std::fs::File;
use std::process::{Child, Stdio};

use capbench_testing::network::{privileges, program};

/// A file of /proc/sys with another value than before. Whatever happens to the test process, by SIGKILL too, a shell that
/// reads from it sees its end and writes the old value back. The shell locks the file until then: a test of another process that
/// changes it waits, so that it never saves the value of this one.
pub struct Setting {
    keeper: Child,
    file: String,
    before: String,
}

impl Setting {
    /// Sets it, when no other test changes it.
    pub fn change(file: &str, value: &str) -> Self {
        let locked = File::options().write(true).open(file).unwrap();
        locked.lock().unwrap();
        let before = std::fs::read_to_string(file).unwrap().trim().to_string();
        let script = "trap '' INT TERM HUP; cat > /dev/null; echo \"$1\"";
        // The lock is that of the open file, which only the shell has from here on.
        let mut shell = program("sh");
        shell.args(["-c", script, "sh", &before]).stdin(Stdio::piped()).stdout(locked);
        let keeper = shell.spawn().unwrap();
        drop(shell);
        std::fs::write(file, value).unwrap();
        Self { keeper, file: file.into(), before }
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let restored = self.keeper.wait().is_ok_and(|status| status.success());
        // A test that waited for the lock may have changed it again.
        if !restored {
            let now = std::fs::read_to_string(&self.file).unwrap_or_default();
            eprintln!("{} is {}, and was {} before the test", self.file, now.trim(), self.before);
        }
    }
}

#[test]
fn root_alone_a_second_change_of_a_setting_waits_for_the_end_of_the_first() {
    const FILE: &str = "/proc/sys/net/core/netdev_max_backlog";
    let Some(()) = privileges() else { return };
    let read = || std::fs::read_to_string(FILE).unwrap().trim().to_owned();
    let first = Setting::change(FILE, "1001");
    let is_locked = File::open(FILE).unwrap().try_lock().is_err();
    let second = std::thread::spawn(|| Setting::change(FILE, "1002"));
    assert!(is_locked && read() == "1001");
    let before = first.before.clone();
    drop(first);
    let second = second.join().unwrap();
    assert_eq!((second.before.as_str(), read().as_str()), (before.as_str(), "1002"));
}
