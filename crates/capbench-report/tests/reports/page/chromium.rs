//! A browser without a window, driven over its DevTools protocol (<https://chromedevtools.github.io/devtools-protocol/>).
//!
//! Messages are JSON, each ended by a 0 byte, on descriptors 3 and 4 of the browser; a shell makes these of its standard input
//! and output.

use capbench_testing::{HostLimit, Scratch, cannot_have, missing};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

/// How long the browser may take for one answer: far longer than it needs on a slow host.
const PATIENCE: Duration = Duration::from_secs(60);
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A tab that shows a page. Each tab has a browser process.
pub struct Tab {
    browser: Child,
    /// Commands to the browser.
    commands: ChildStdin,
    /// Answers and events of the browser.
    messages: Receiver<Value>,
    /// The number of the last command.
    last_id: u64,
    /// The session of the tab, once the browser is attached to it.
    session: Option<String>,
    /// Events since the page was loaded: requests of the page, errors, loads.
    pub events: Vec<Value>,
    /// The page's address.
    pub address: String,
    /// The page, the browser's profile and its log.
    files: Scratch,
}

/// The browser; without one the test is skipped with a message.
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

impl Tab {
    /// Opens a page; `None` without a browser.
    pub fn open(page: &str) -> Option<Self> {
        let mut tab = Self::start()?;
        tab.write_and_load(page);
        Some(tab)
    }

    /// Starts a browser with an empty tab.
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
        command.arg(format!("--user-data-dir={}", files.join("profile").display()));
        if is_root() {
            // Chromium has no sandbox for root.
            command.arg("--no-sandbox");
        }
        let log = fs::File::create(files.join("log")).unwrap();
        let mut browser =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn().expect("sh runs");
        let commands = browser.stdin.take().unwrap();
        let messages = listen(browser.stdout.take().unwrap());
        let mut tab = Self {
            browser,
            commands,
            messages,
            last_id: 0,
            session: None,
            events: Vec::new(),
            address: String::new(),
            files,
        };
        if tab.cannot_sandbox() {
            let log = tab.log();
            let reason = log.lines().next().unwrap_or_default();
            cannot_have(HostLimit::UserNamespaces, format_args!("Chromium has no sandbox: {reason}"));
            return None;
        }
        let target = tab.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            tab.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        tab.session = attached["sessionId"].as_str().map(Into::into);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        tab.size(1280, 900);
        Some(tab)
    }

    /// Whether the browser ended because it may not make the namespaces of its sandbox, as ordinary users in many containers.
    fn cannot_sandbox(&mut self) -> bool {
        let sent = self.commands.write_all(b"{\"id\":0,\"method\":\"Browser.getVersion\"}\0");
        let answers = sent.is_ok() && self.messages.recv_timeout(PATIENCE).is_ok();
        !answers && self.log().contains("sandbox")
    }

    fn write_and_load(&mut self, page: &str) {
        let file = self.files.join("report.html");
        fs::write(&file, page).unwrap();
        self.address = format!("file://{}", file.display());
        self.load();
    }

    /// Loads the page, or loads it again. Returns how long it took until the page was drawn.
    pub fn load(&mut self) -> Duration {
        let began = Instant::now();
        let address = self.address.clone();
        self.events.clear();
        let navigation = self.call("Page.navigate", json!({ "url": address }));
        assert!(navigation.get("errorText").is_none(), "{navigation}");
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next_message("an event");
            self.events.push(event);
        }
        self.frame();
        began.elapsed()
    }

    /// Sets width and height of the window, in CSS pixels.
    pub fn size(&mut self, width: u32, height: u32) {
        let is_phone = width < 600;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Sets the medium, `screen` or `print`, and the colour scheme that the system prefers, `light` or `dark`.
    pub fn media(&mut self, medium: &str, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "media": medium, "features": features }));
    }

    /// The value of a JavaScript expression; of a promise, its result.
    pub fn value(&mut self, expression: &str) -> Value {
        let wanted = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.call("Runtime.evaluate", wanted);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// The value of an expression that is text.
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression}: {value}")).into()
    }

    /// The value of an expression that is a number.
    pub fn number(&mut self, expression: &str) -> f64 {
        let value = self.value(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression}: {value}"))
    }

    /// Whether an expression is true.
    pub fn holds(&mut self, expression: &str) -> bool {
        self.value(&format!("Boolean({expression})")) == true
    }

    /// Waits until the page is drawn.
    pub fn frame(&mut self) {
        self.value(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))",
        );
    }

    /// Scrolls to an element and returns where it is in the window.
    pub fn scroll_to(&mut self, selector: &str) -> Rectangle {
        let found = self.value(&format!(
            "(() => {{
                const element = document.querySelector({selector:?});
                element.scrollIntoView({{ block: 'center', behavior: 'instant' }});
                const {{ left, top, width, height }} = element.getBoundingClientRect();
                return {{ left, top, width, height }};
            }})()"
        ));
        self.frame();
        serde_json::from_value(found).unwrap()
    }

    /// Moves the mouse to a position of the window.
    pub fn move_mouse(&mut self, x: f64, y: f64) {
        self.mouse("mouseMoved", x, y);
    }

    /// Sends a mouse event of this kind, as the protocol names it.
    fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let (button, buttons) = if kind == "mouseMoved" { ("none", 0) } else { ("left", 1) };
        let event =
            json!({ "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Clicks at a position of the window.
    pub fn click_at(&mut self, x: f64, y: f64) {
        self.mouse("mouseMoved", x, y);
        self.mouse("mousePressed", x, y);
        self.mouse("mouseReleased", x, y);
        self.frame();
    }

    /// Clicks at the middle of an element.
    pub fn click(&mut self, selector: &str) {
        let Rectangle { left, top, width, height } = self.scroll_to(selector);
        self.click_at(left + width / 2.0, top + height / 2.0);
    }

    /// Presses a key by its name, as `KeyboardEvent.key` has it.
    pub fn key(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Tab" => 9,
            "Escape" => 27,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => u32::from(key.as_bytes()[0]),
        };
        let mut event = json!({ "type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code });
        if key == "Enter" {
            event["text"] = json!("\r");
        } else if key.len() == 1 {
            event["text"] = json!(key);
        }
        self.call("Input.dispatchKeyEvent", event.clone());
        event["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", event);
        self.frame();
    }

    /// Errors that the page or the browser reported.
    pub fn errors(&self) -> Vec<String> {
        let mut errors = Vec::new();
        for event in &self.events {
            let is_error = match event["method"].as_str() {
                Some("Runtime.exceptionThrown") => true,
                Some("Log.entryAdded") => event["params"]["entry"]["level"] == "error",
                Some("Runtime.consoleAPICalled") => event["params"]["type"] == "error",
                _ => false,
            };
            if is_error {
                errors.push(event["params"].to_string());
            }
        }
        errors
    }

    /// Addresses that the page requested.
    pub fn requests(&self) -> Vec<String> {
        let mut addresses = Vec::new();
        for event in &self.events {
            if event["method"] == "Network.requestWillBeSent" {
                addresses.push(event["params"]["request"]["url"].as_str().unwrap_or_default().into());
            }
        }
        addresses
    }

    /// How many requests the page's policy refused.
    pub fn refused(&self) -> usize {
        self.events.iter().filter(|event| event["params"]["blockedReason"] == "csp").count()
    }

    /// Calls a method of the protocol and waits for its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).unwrap_or_else(|error| panic!("{method}: {error}; {}", self.log()));
        loop {
            let mut answer = self.next_message(method);
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    /// The next message of the browser; `wanted` is what the caller waits for.
    fn next_message(&self, wanted: &str) -> Value {
        self.messages
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|error| panic!("{wanted}: {error}; {}", self.log()))
    }

    fn log(&self) -> String {
        fs::read_to_string(self.files.join("log")).unwrap_or_default()
    }
}

/// Where an element is in the window, in CSS pixels.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Rectangle {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// Messages from the browser, until it ends.
fn listen(from: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for message in BufReader::new(from).split(0) {
            let Ok(message) = message else { break };
            let Ok(message) = serde_json::from_slice(&message) else { break };
            if sender.send(message).is_err() {
                break;
            }
        }
    });
    receiver
}

impl Drop for Tab {
    fn drop(&mut self) {
        // The browser ends its processes when it is asked to; it is killed if it takes too long.
        let _ = self.commands.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        while self.messages.recv_timeout(Duration::from_secs(10)).is_ok() {}
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
