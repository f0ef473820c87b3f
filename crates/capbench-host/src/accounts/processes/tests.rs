use std::os::unix::fs::symlink;

use capbench_model::disturbers::{CpuUser, Hidden};
use capbench_sys::host::{CpuId, clock};
use capbench_testing::Scratch;

use super::ProcessReading;
use super::stat::TaskStat;

/// A thread of a made-up /proc.
struct Made<'m> {
    pid: u32,
    tid: u32,
    comm: &'m str,
    parent: u32,
    flags: u64,
    /// In ticks since boot.
    started: u64,
    cpu: u32,
    run_ns: u64,
}

const USUAL: Made<'_> =
    Made { pid: 100, tid: 100, comm: "python3", parent: 1, flags: 0, started: 5, cpu: 1, run_ns: 0 };

/// The number of the process that reads.
const READER: u32 = 50;

/// A /proc that shows the kernel's threads, and the reading process.
fn made_proc() -> Scratch {
    let scratch = Scratch::new();
    symlink(READER.to_string(), scratch.file("self")).unwrap();
    write(&scratch, &Made { pid: 2, tid: 2, comm: "kthreadd", flags: 0x0020_0000, parent: 0, ..USUAL });
    write(&scratch, &Made { pid: READER, tid: READER, comm: "capbench", parent: 40, ..USUAL });
    scratch
}

fn write(proc: &Scratch, thread: &Made<'_>) {
    let Made { pid, tid, comm, parent, flags, started, cpu, run_ns } = thread;
    // proc_pid_stat(5): fields 23 to 38 are not read.
    let unread = "0 ".repeat(16);
    let stat = format!(
        "{tid} ({comm}) R {parent} 0 0 0 -1 {flags} 0 0 0 0 0 6 0 0 20 0 1 0 {started} {unread}{cpu} 0 0\n"
    );
    let task = proc.file(&format!("{pid}/task/{tid}"));
    std::fs::create_dir_all(&task).unwrap();
    std::fs::write(task.join("schedstat"), format!("{run_ns} 5 1\n")).unwrap();
    std::fs::write(task.join("stat"), &stat).unwrap();
    if pid == tid {
        std::fs::write(proc.file(&format!("{pid}/stat")), &stat).unwrap();
    }
}

/// A reading that began this long after boot.
fn reading(proc: &Scratch, at_ms: u64) -> ProcessReading {
    let mut reading = ProcessReading::below(proc.path(), proc.path());
    reading.monotonic_ns = at_ms * 1_000_000;
    reading.boottime_ns = at_ms * 1_000_000;
    reading
}

/// The processes that used CPU 1 between two readings one second apart.
fn used(before: &ProcessReading, proc: &Scratch) -> Vec<CpuUser> {
    reading(proc, before.monotonic_ns / 1_000_000 + 1000).since(before, &[CpuId::new(1)]).processes
}

#[test]
fn threads_of_a_process_are_summed_for_each_cpu_and_the_largest_is_first() {
    let proc = made_proc();
    let second = Made { tid: 101, comm: "worker", ..USUAL };
    let other = Made { pid: 300, tid: 300, comm: "cc1", ..USUAL };
    let elsewhere = Made { pid: 400, tid: 400, cpu: 3, ..USUAL };
    for thread in [&USUAL, &second, &other, &elsewhere] {
        write(&proc, thread);
    }
    let before = reading(&proc, 2000);
    write(&proc, &Made { run_ns: 100_000_000, ..USUAL });
    write(&proc, &Made { run_ns: 50_000_000, ..second });
    write(&proc, &Made { run_ns: 400_000_000, ..other });
    write(&proc, &Made { run_ns: 900_000_000, ..elsewhere });
    let user =
        |pid, comm: &str, run_ns| CpuUser { pid, comm: comm.into(), is_kernel_thread: false, cpu: 1, run_ns };
    assert_eq!(used(&before, &proc), [user(300, "cc1", 400_000_000), user(100, "python3", 150_000_000)]);
}

#[test]
fn a_number_that_another_process_got_in_between_counts_from_its_start() {
    let proc = made_proc();
    write(&proc, &Made { run_ns: 800_000_000, ..USUAL });
    let before = reading(&proc, 2000);
    // Started 2.5 s after boot: half a second after the reading.
    write(&proc, &Made { comm: "later", started: 250, run_ns: 900_000_000, ..USUAL });
    assert_eq!(used(&before, &proc)[0].run_ns, 900_000_000, "not less what the first one had");
    // The same start: the same process.
    write(&proc, &Made { run_ns: 900_000_000, ..USUAL });
    assert_eq!(used(&before, &proc)[0].run_ns, 100_000_000);
    // Less than before can only be another one.
    write(&proc, &Made { started: 200, run_ns: 300_000_000, ..USUAL });
    assert_eq!(used(&before, &proc)[0].run_ns, 300_000_000);
}

#[test]
fn a_process_that_the_first_reading_should_have_had_is_unknown() {
    let proc = made_proc();
    let before = reading(&proc, 2000);
    write(&proc, &Made { run_ns: 900_000_000, ..USUAL });
    assert_eq!(used(&before, &proc), []);
    let stat = TaskStat {
        comm: String::new(),
        parent: 1,
        is_kernel_thread: false,
        started_ns: 1_990_000_000,
        tick_ns: 10_000_000,
        cpu: 1,
    };
    assert_eq!(super::ran_ns(None, 7, &stat, 1_999_999_999), Some(7), "started in the tick of the reading");
    assert_eq!(super::ran_ns(None, 7, &stat, 2_000_000_000), None);
}

#[test]
fn the_run_and_what_it_started_are_not_named() {
    let proc = made_proc();
    std::fs::write(proc.file("capbench"), "").unwrap();
    symlink(proc.file("capbench"), proc.file(&format!("{READER}/exe"))).unwrap();
    let controller = Made { pid: 40, tid: 40, comm: "capbench", ..USUAL };
    let agent = Made { pid: 60, tid: 60, comm: "capbench", parent: 40, ..USUAL };
    let program = Made { pid: 70, tid: 70, comm: "tcpdump", parent: 60, ..USUAL };
    let ksoftirqd = Made { pid: 16, tid: 16, comm: "ksoftirqd/1", parent: 2, flags: 0x0020_0000, ..USUAL };
    let kworker = Made { pid: 17, tid: 17, comm: "kworker/1:0", parent: 2, flags: 0x0020_0000, ..USUAL };
    // A program can take the name of a thread of the kernel.
    let pretender = Made { pid: 80, tid: 80, comm: "ksoftirqd/1", ..USUAL };
    let all = [&controller, &agent, &program, &ksoftirqd, &kworker, &pretender];
    for thread in all {
        write(&proc, thread);
    }
    symlink(proc.file("capbench"), proc.file("40/exe")).unwrap();
    let before = reading(&proc, 2000);
    for thread in all {
        write(&proc, &Made { run_ns: 500_000_000, ..*thread });
    }
    let named: Vec<(u32, bool)> =
        used(&before, &proc).into_iter().map(|process| (process.pid, process.is_kernel_thread)).collect();
    assert_eq!(named, [(17, true), (80, false)]);
}

#[test]
fn what_cannot_be_seen_is_stated() {
    let proc = made_proc();
    write(&proc, &Made { run_ns: 1, ..USUAL });
    assert_eq!(reading(&proc, 0).hidden, []);
    std::fs::remove_dir_all(proc.file("2")).unwrap();
    std::fs::create_dir_all(proc.file(&format!("{READER}/ns"))).unwrap();
    symlink("pid:[4026532999]", proc.file("self/ns/pid")).unwrap();
    assert_eq!(reading(&proc, 0).hidden, [Hidden::PidNamespace]);
    // A program may be number 2 in a container.
    write(&proc, &Made { pid: 2, tid: 2, comm: "kthreadd", ..USUAL });
    assert_eq!(reading(&proc, 0).hidden, [Hidden::PidNamespace]);
    std::fs::remove_file(proc.file("self/ns/pid")).unwrap();
    symlink("pid:[4026531836]", proc.file("self/ns/pid")).unwrap();
    assert_eq!(reading(&proc, 0).hidden, [Hidden::MountedHidepid]);
    write(&proc, &USUAL);
    assert_eq!(reading(&proc, 0).hidden, [Hidden::MountedHidepid, Hidden::NoAccount]);
    let nowhere = proc.file("nowhere");
    assert_eq!(ProcessReading::below(&nowhere, &nowhere).hidden, [Hidden::NoProc]);
}

#[test]
fn this_host_can_be_read() {
    let before_ns = clock::monotonic_ns();
    let reading = ProcessReading::now();
    assert!(reading.threads.keys().any(|thread| thread.pid == std::process::id()), "{:?}", reading.hidden);
    let all = reading.since(&reading, &[]);
    assert!((before_ns..=clock::monotonic_ns()).contains(&all.window_begin_ns.unwrap()), "{all:?}");
    assert!(
        all.threads > 0 && all.reading_ns == 2 * reading.took_ns() && all.processes.is_empty(),
        "{all:?}"
    );
}
