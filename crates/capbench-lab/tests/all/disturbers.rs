//! Processes that use the CPUs of a trial are named.

use std::os::unix::fs::symlink;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use capbench_frames::Pps;
use capbench_lab::for_tests::{live, live_setup, virtual_link};
use capbench_model::laboratory::Laboratory;
use capbench_model::trial::Load;
use capbench_sys::host::process::{Signal, signal_process};
use capbench_sys::host::{CpuId, ProcessId, affinity, clock};
use capbench_testing::Scratch;
use capbench_testing::network::{eventually, privileges, program};

/// Computes for up to two minutes, if nobody ends it earlier.
const LOOP: &str = "end=$((SECONDS + 120)); while ((SECONDS < end)); do :; done";

/// A process that keeps a CPU busy, and that this process did not start.
struct Busy {
    process: ProcessId,
}

impl Busy {
    /// Starts it on a CPU, with this name. The shell in between ends at once, so that the process gets another parent.
    fn start(cpu: u32, name: &str, scratch: &Scratch) -> Self {
        let loop_with_name = scratch.file(name);
        symlink(program("bash").get_program(), &loop_with_name).unwrap();
        let started = on_cpu(cpu, move || {
            let mut shell = program("bash");
            shell.args(["-c", "\"$0\" -c \"$1\" > /dev/null 2>&1 & echo $!"]).arg(loop_with_name).arg(LOOP);
            shell.output().unwrap()
        });
        let pid = String::from_utf8(started.stdout).unwrap().trim().parse().unwrap();
        let busy = Self { process: ProcessId::new(pid).unwrap() };
        eventually("it has its name", || busy.comm() == name);
        busy
    }

    fn comm(&self) -> String {
        let comm = std::fs::read_to_string(format!("/proc/{}/comm", self.process)).unwrap();
        comm.strip_suffix('\n').unwrap_or(&comm).into()
    }

    fn cpu_ns(&self) -> u64 {
        clock::process_cpu_ns(self.process).unwrap()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = signal_process(self.process, Signal::Kill);
    }
}

/// A loop that this process started, as it starts programs under test.
struct Started(Child);

impl Started {
    fn on(cpu: u32) -> Self {
        Self(on_cpu(cpu, || program("bash").args(["-c", LOOP]).stdin(Stdio::null()).spawn().unwrap()))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts something from a thread on a CPU, which what it starts inherits.
fn on_cpu<T: Send>(cpu: u32, start: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let starting = scope.spawn(|| {
            affinity::pin_current_thread(CpuId::new(cpu)).unwrap();
            start()
        });
        starting.join().unwrap()
    })
}

#[test]
fn root_alone_a_process_that_uses_a_cpu_of_the_trial_is_named_with_its_share() {
    let Some(()) = privileges() else { return };
    let scratch = Scratch::new();
    let mut laboratory = live(virtual_link());
    let setup = live_setup("packet-v3", 1 << 20, Duration::from_millis(100));
    let mut trial = laboratory.prepare(&setup).unwrap();
    let rate = Load::Rate(Pps::new(1000.0).unwrap());
    // The first trial also measures the speed of its CPUs.
    let cpu = trial.run(rate, Duration::from_millis(50)).unwrap().profile.cpus.application;
    let name = "bu\u{1b}[31m;y";
    let busy = Busy::start(cpu, name, &scratch);
    let started = Started::on(cpu);
    let (start, before_ns) = (Instant::now(), busy.cpu_ns());
    let result = trial.run(rate, Duration::from_secs(1)).unwrap();
    let used = (busy.cpu_ns() - before_ns) as f64 / start.elapsed().as_nanos() as f64;
    let disturbers = result.disturbance.disturbers.expect("its host was read");
    let named = disturbers.processes.iter().find(|process| process.pid == busy.process.number());
    let named = named.unwrap_or_else(|| panic!("{disturbers:#?}"));
    assert_eq!((named.comm.as_str(), named.cpu, named.is_kernel_thread), (name, cpu, false));
    let share = disturbers.share(named.run_ns);
    eprintln!("{share:.3} of {used:.3}; {} threads in {} ns", disturbers.threads, disturbers.reading_ns);
    assert!((share - used).abs() <= 0.1, "{share} instead of {used}: {disturbers:#?}");
    for own in [std::process::id(), started.0.id()] {
        assert!(disturbers.processes.iter().all(|process| process.pid != own), "{own}: {disturbers:#?}");
    }
}
