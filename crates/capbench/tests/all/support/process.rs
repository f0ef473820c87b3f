//! Programs that run beside a test: their lines as they come, signals, and an end within bounds.

use std::borrow::BorrowMut;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Instant, UNIX_EPOCH};

use super::saved::Saved;
use capbench_testing::network::{PATIENCE, Place, eventually, program};

/// Where a program runs that needs no network.
pub const HOST: Option<&Place> = None;

/// The program under test, with arguments that are separated by blanks.
pub fn capbench(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capbench"));
    command.args(arguments.split_whitespace());
    // Each has a folder for state of its own: what one bench recommends must not decide how another test records.
    let nth = STARTED.fetch_add(1, Ordering::Relaxed);
    // The kernel gives numbers of processes again: the folder of an earlier one may still be there.
    static SINCE: LazyLock<u128> = LazyLock::new(|| UNIX_EPOCH.elapsed().unwrap().as_nanos());
    let state = format!("{}/state-{}-{}-{nth}", env!("CARGO_TARGET_TMPDIR"), std::process::id(), *SINCE);
    // Nor does a setting of the user who runs the tests.
    command.env("XDG_CONFIG_HOME", format!("{state}/config")).env("XDG_STATE_HOME", state);
    command
}

/// The path of the interpreter. On PATH there may be a script of a version manager, which first chooses one: on a slow host that takes longer
/// than some tests let a controller wait.
pub fn python() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| {
        let asked = program("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
        let path = String::from_utf8(asked.stdout).unwrap().trim_end().to_string();
        assert!(asked.status.success() && !path.is_empty(), "{path}");
        path
    });
    &PATH
}

/// Number of commands so far.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// Runs a program to its end, in a namespace if one is given.
pub fn run<'p>(place: impl Into<Option<&'p Place>>, command: impl BorrowMut<Command>) -> Ended {
    Running::start(place, command).end()
}

/// Sends a signal by its name, as `kill` of the shell does.
pub fn signal(pid: u32, name: &str) {
    let status = program("sh -c").arg(format!("kill -{name} {pid}")).status().unwrap();
    assert!(status.success(), "kill -{name} {pid}");
}

/// A program that was started. It is killed when this is dropped before its end.
pub struct Running {
    child: Child,
    what: String,
    news: Receiver<Line>,
    said: Said,
    saved: Saved,
}

/// What a program wrote.
#[derive(Debug, Default)]
struct Said {
    out: String,
    errors: String,
}

enum Line {
    Out(String),
    Error(String),
}

/// How a program ended and what it wrote.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub errors: String,
}

impl Running {
    /// Starts a program, in a namespace if one is given.
    pub fn start<'p>(place: impl Into<Option<&'p Place>>, mut command: impl BorrowMut<Command>) -> Self {
        let command = command.borrow_mut();
        let saved = Saved::by(command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let what = format!("{command:?}");
        let mut child = match place.into() {
            Some(place) => place.spawn(command),
            None => command.spawn().unwrap_or_else(|error| panic!("{what}: {error}")),
        };
        let (sender, news) = channel();
        let (out, errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let again = sender.clone();
        thread::spawn(move || lines(out, |line| sender.send(Line::Out(line)).is_ok()));
        thread::spawn(move || lines(errors, |line| again.send(Line::Error(line)).is_ok()));
        Self { child, what, news, said: Said::default(), saved }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has written text that contains `part`, to either stream.
    ///
    /// # Panics
    /// When that does not happen in time, with what it wrote instead.
    pub fn wait_for(&mut self, part: &str) {
        assert!(self.says(part), "{} did not say {part:?}: {:?}", self.what, self.said);
    }

    /// The same; whether that happens before it ends, and in time.
    pub fn says(&mut self, part: &str) -> bool {
        let start = Instant::now();
        while !(self.said.out.contains(part) || self.said.errors.contains(part)) {
            let left = PATIENCE.saturating_sub(start.elapsed());
            match self.news.recv_timeout(left) {
                Ok(line) => self.said.note(line),
                Err(_) => return false,
            }
        }
        true
    }

    /// Waits for a text on standard error. Returns the word behind it.
    pub fn word_after(&mut self, text: &str) -> String {
        self.wait_for(text);
        let (_, after) = self.said.errors.split_once(text).unwrap();
        after.split([' ', ',', '\n']).next().unwrap().into()
    }

    /// What it wrote to standard output so far.
    pub fn out(&mut self) -> &str {
        while let Ok(line) = self.news.try_recv() {
            self.said.note(line);
        }
        &self.said.out
    }

    /// Sends it a signal by its name.
    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end in time, with what it wrote; when it saved what is no results file.
    pub fn end(mut self) -> Ended {
        let start = Instant::now();
        loop {
            match self.news.recv_timeout(2 * PATIENCE - start.elapsed().min(2 * PATIENCE)) {
                Ok(line) => self.said.note(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("{} does not end: {:?}", self.what, self.said),
            }
        }
        let mut status = None;
        eventually("its streams are closed, so it ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        self.saved.check();
        let said = std::mem::take(&mut self.said);
        let status = status.unwrap();
        Ended { code: status.code(), signal: status.signal(), out: said.out, errors: said.errors }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Said {
    fn note(&mut self, line: Line) {
        match line {
            Line::Out(line) => self.out.push_str(&line),
            Line::Error(line) => self.errors.push_str(&line),
        }
    }
}

impl Ended {
    /// This, where the program succeeded.
    ///
    /// # Panics
    /// Where it did not, with what it wrote.
    pub fn success(self) -> Self {
        assert_eq!((self.code, self.signal), (Some(0), None), "{self:#?}");
        self
    }

    /// This, where the program ended with this code.
    ///
    /// # Panics
    /// Where it did not, with what it wrote.
    pub fn ended_with(self, code: i32) -> Self {
        assert_eq!((self.code, self.signal), (Some(code), None), "{self:#?}");
        self
    }

    /// Its standard output as one JSON document.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Gives the lines of a stream, each with its end, until nobody wants them.
fn lines(stream: impl Read, mut give: impl FnMut(String) -> bool) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|octets| octets > 0) {
        if !give(String::from_utf8_lossy(&line).into_owned()) {
            return;
        }
        line.clear();
    }
}
