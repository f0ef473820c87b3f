//! A browser without a window, driven over its DevTools protocol (<https://chromedevtools.github.io/devtools-protocol/>).
//!
//! Messages are JSON, each ended by a 0 byte, on descriptors 3 and 4 of the browser; a shell makes these of its standard input
//! and output. A message of a tab has the number of its session.

use capbench_testing::{HostLimit, Scratch, cannot_have, missing};
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// How long the browser may take for one answer: far longer than it needs on a slow host.
const PATIENCE: Duration = Duration::from_secs(60);
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// The key of messages that belong to no tab.
const NO_SESSION: &str = "";

/// The browser of the tests that run now. It ends with the last of its tabs.
static RUNNING: Mutex<Weak<Browser>> = Mutex::new(Weak::new());

/// A browser process.
pub struct Browser {
    process: Child,
    /// Commands to the browser.
    commands: Arc<Mutex<ChildStdin>>,
    /// Where messages of each session go.
    receivers: Receivers,
    /// Commands that belong to no tab.
    session: Mutex<Session>,
    /// The browser's profile and its log.
    files: Scratch,
}

/// Senders of messages by session. None is left when the browser has ended.
type Receivers = Arc<Mutex<HashMap<String, Sender<Value>>>>;

/// Locks, also after a test has failed meanwhile: what is locked here is whole at any moment.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The browser's file; without one the test is skipped with a message.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    for folder in std::env::split_paths(&path) {
        for name in NAMES {
            let file = folder.join(name);
            if file.is_file() {
                return Some(file);
            }
        }
    }
    missing(format_args!("{} (package chromium)", NAMES.join(" or ")));
    None
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

impl Browser {
    /// The browser that runs, else a new one; `None` if this host has none, or none that works here.
    pub fn running() -> Option<Arc<Self>> {
        let mut running = locked(&RUNNING);
        if let Some(browser) = running.upgrade() {
            return Some(browser);
        }
        let browser = Arc::new(Self::start()?);
        *running = Arc::downgrade(&browser);
        Some(browser)
    }

    fn start() -> Option<Self> {
        let program = program()?;
        let files = Scratch::below(Path::new(env!("CARGO_TARGET_TMPDIR")));
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"]).arg(program);
        command.args(["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu"]);
        command.args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-dev-shm-usage",
        ]);
        // Each tab is drawn as if it were the only one.
        command.args([
            "--disable-background-timer-throttling",
            "--disable-backgrounding-occluded-windows",
            "--disable-renderer-backgrounding",
        ]);
        command.arg(format!("--user-data-dir={}", files.join("profile").display()));
        if is_root() {
            // Chromium has no sandbox for root.
            command.arg("--no-sandbox");
        }
        let log = fs::File::create(files.join("log")).unwrap();
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn().expect("sh runs");
        let commands = Arc::new(Mutex::new(process.stdin.take().unwrap()));
        let receivers = Receivers::default();
        let session = Session::new(NO_SESSION, &commands, &receivers, files.join("log"));
        listen(process.stdout.take().unwrap(), Arc::clone(&receivers));
        let browser = Self { process, commands, receivers, session: Mutex::new(session), files };
        if browser.cannot_sandbox() {
            let log = browser.log();
            let reason = log.lines().next().unwrap_or_default();
            cannot_have(HostLimit::UserNamespaces, format_args!("Chromium has no sandbox: {reason}"));
            return None;
        }
        Some(browser)
    }

    /// Whether the browser ended because it may not make the namespaces of its sandbox, as ordinary users in many containers.
    fn cannot_sandbox(&self) -> bool {
        let mut session = locked(&self.session);
        let answers = session.send("Browser.getVersion", json!({})).is_ok()
            && session.messages.recv_timeout(PATIENCE).is_ok();
        !answers && self.log().contains("sandbox")
    }

    /// Calls a method of the protocol that belongs to no tab, and waits for its result.
    pub fn call(&self, method: &str, params: Value) -> Value {
        // Events of the browser itself are about tabs that come and go.
        locked(&self.session).call(method, params, &mut Vec::new())
    }

    /// Calls a method that belongs to no tab, without waiting for its result.
    pub fn send(&self, method: &str, params: Value) {
        let _ = locked(&self.session).send(method, params);
    }

    /// The session with this number, as the browser gave it.
    pub fn session(&self, number: &str) -> Session {
        Session::new(number, &self.commands, &self.receivers, self.files.join("log"))
    }

    fn log(&self) -> String {
        fs::read_to_string(self.files.join("log")).unwrap_or_default()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends its processes when it is asked to; it is killed if it takes too long.
        let mut session = locked(&self.session);
        let _ = session.send("Browser.close", json!({}));
        while session.messages.recv_timeout(Duration::from_secs(10)).is_ok() {}
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The conversation with a tab, or with the browser about no tab.
pub struct Session {
    number: String,
    commands: Arc<Mutex<ChildStdin>>,
    /// Answers and events.
    messages: Receiver<Value>,
    /// The number of the last command.
    last_id: u64,
    /// The browser's log.
    log: PathBuf,
}

impl Session {
    fn new(number: &str, commands: &Arc<Mutex<ChildStdin>>, receivers: &Receivers, log: PathBuf) -> Self {
        let (sender, messages) = channel();
        locked(receivers).insert(number.into(), sender);
        Self { number: number.into(), commands: Arc::clone(commands), messages, last_id: 0, log }
    }

    /// Calls a method of the protocol and waits for its result. Events until then are added to `events`.
    pub fn call(&mut self, method: &str, params: Value, events: &mut Vec<Value>) -> Value {
        if let Err(error) = self.send(method, params) {
            panic!("{method}: {error}; {}", self.log());
        }
        loop {
            let mut answer = self.next_message(method);
            if answer["id"] == self.last_id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            events.push(answer);
        }
    }

    /// Sends a command.
    fn send(&mut self, method: &str, params: Value) -> std::io::Result<()> {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if self.number != NO_SESSION {
            message["sessionId"] = json!(self.number);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        locked(&self.commands).write_all(&bytes)
    }

    /// The next message of the browser; `wanted` is what the caller waits for.
    pub fn next_message(&self, wanted: &str) -> Value {
        self.messages
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|error| panic!("{wanted}: {error}; {}", self.log()))
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// Passes messages from the browser to their sessions, until it ends.
fn listen(from: ChildStdout, receivers: Receivers) {
    thread::spawn(move || {
        for message in BufReader::new(from).split(0) {
            let Ok(message) = message else { break };
            let Ok(message) = serde_json::from_slice::<Value>(&message) else { break };
            let session = message["sessionId"].as_str().unwrap_or(NO_SESSION).to_string();
            if let Some(receiver) = locked(&receivers).get(&session) {
                // The test of a tab that is gone wants no message.
                let _ = receiver.send(message);
            }
        }
        locked(&receivers).clear();
    });
}
