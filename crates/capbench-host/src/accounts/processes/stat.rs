//! The file `stat` of a thread or process: proc_pid_stat(5).

use std::fs;
use std::path::Path;

use super::super::cpu::tick_ns;

/// Longest name that is kept. The kernel cuts those of programs after 15 octets; those of its own threads can be longer.
const LONGEST_NAME: usize = 64;

/// The flag of the kernel's threads (PF_KTHREAD in include/linux/sched.h of the kernel).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What the file says of a thread, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TaskStat {
    /// Its name, which programs choose.
    pub(super) comm: String,
    /// The parent of its process.
    pub(super) parent: u32,
    pub(super) is_kernel_thread: bool,
    /// When it started, in nanoseconds since boot: the begin of a tick.
    pub(super) started_ns: u64,
    /// The length of that tick.
    pub(super) tick_ns: u64,
    /// The CPU on which it ran last.
    pub(super) cpu: u32,
}

/// That of a thread; `None` if it has ended or is hidden.
pub(super) fn of_thread(proc: &Path, pid: u32, tid: u32) -> Option<TaskStat> {
    read(&proc.join(format!("{pid}/task/{tid}/stat")))
}

/// That of a process: of its first thread; `None` as above.
pub(super) fn of_process(proc: &Path, pid: u32) -> Option<TaskStat> {
    read(&proc.join(format!("{pid}/stat")))
}

fn read(file: &Path) -> Option<TaskStat> {
    parse(&String::from_utf8_lossy(&fs::read(file).ok()?), tick_ns().ok()?)
}

/// Parses the text of the file; `tick_ns` is the unit of its times. The name is in parentheses and may contain some.
fn parse(text: &str, tick_ns: u64) -> Option<TaskStat> {
    let (_, rest) = text.split_once('(')?;
    let (name, rest) = rest.rsplit_once(')')?;
    // The first field after the name is the third of the file.
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |nth: usize| fields.get(nth - 3)?.parse::<u64>().ok();
    Some(TaskStat {
        comm: name.chars().take(LONGEST_NAME).collect(),
        parent: number(4)?.try_into().ok()?,
        is_kernel_thread: number(9)? & KERNEL_THREAD != 0,
        started_ns: number(22)?.checked_mul(tick_ns)?,
        tick_ns,
        cpu: number(39)?.try_into().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LONGEST_NAME, parse};

    /// `/proc/2/stat` of a host, with another name.
    fn stat(name: &str) -> String {
        format!(
            "2 ({name}) S 17 0 0 0 -1 2129984 0 0 0 0 0 6 0 0 20 0 1 0 25 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 \
             0 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        )
    }

    #[test]
    fn fields_are_counted_after_the_last_parenthesis() {
        let task = parse(&stat("a) R 1 (b\n\u{1b}"), 10_000_000).unwrap();
        assert_eq!(task.comm, "a) R 1 (b\n\u{1b}");
        assert_eq!((task.parent, task.is_kernel_thread, task.cpu), (17, true, 3));
        assert_eq!((task.started_ns, task.tick_ns), (250_000_000, 10_000_000));
    }

    #[test]
    fn a_long_name_is_cut() {
        let task = parse(&stat(&"é".repeat(500)), 1).unwrap();
        assert_eq!(task.comm.chars().count(), LONGEST_NAME);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}", name in "\\PC{0,20}") {
            let _ = (parse(&text, 1), parse(&stat(&name), u64::MAX));
        }
    }
}
