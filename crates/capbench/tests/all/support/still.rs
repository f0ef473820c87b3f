//! A thread of a program that stands still while the others run: ptrace(2) stops single threads, which no signal does.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use capbench_testing::network::{eventually, program};

/// Attaches to the thread whose number it gets, and detaches from it when its standard input ends.
const SCRIPT: &str = "
import ctypes, os, sys
ATTACH, DETACH, WALL = 16, 17, 0x40000000
thread, libc = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
if libc.ptrace(ATTACH, thread, None, None) != 0:
    sys.exit('ptrace: ' + os.strerror(ctypes.get_errno()))
os.waitpid(thread, WALL)
print('still', flush=True)
sys.stdin.read()
libc.ptrace(DETACH, thread, None, None)
";

/// A thread that goes on when this is dropped.
pub struct Still(Child);

impl Still {
    /// Stops the thread of a process that has this name.
    pub fn thread(pid: u32, name: &str) -> Self {
        let mut thread = None;
        eventually(&format!("process {pid} has a thread {name}"), || {
            let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
            let is_it = |task: &fs::DirEntry| {
                fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.trim() == name)
            };
            thread = tasks.filter(is_it).map(|task| task.file_name()).next();
            thread.is_some()
        });
        let mut child = program("python3 -c")
            .arg(SCRIPT)
            .args(thread)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("python3: {error}"));
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "still\n");
        Self(child)
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
