//! A tab of the browser that shows a page, and what a test does with it.

use capbench_testing::Scratch;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::browser::{Browser, Session};

/// A tab that shows a page. It shares the browser's process with other tabs, but no storage.
pub struct Tab {
    browser: Arc<Browser>,
    /// Number of the tab's own profile.
    context: Value,
    session: Session,
    /// Events since the page was loaded: requests of the page, errors, loads.
    pub events: Vec<Value>,
    /// The page's address.
    pub address: String,
    /// The page.
    files: Scratch,
}

impl Tab {
    /// Opens a page; `None` without a browser.
    pub fn open(page: &str) -> Option<Self> {
        let mut tab = Self::empty()?;
        tab.write_and_load(page);
        Some(tab)
    }

    /// Opens an empty tab.
    fn empty() -> Option<Self> {
        let browser = Browser::running()?;
        let context = browser.call("Target.createBrowserContext", json!({}))["browserContextId"].take();
        let wanted = json!({ "url": "about:blank", "browserContextId": context, "newWindow": true });
        let target = browser.call("Target.createTarget", wanted);
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        let session = browser.session(attached["sessionId"].as_str().unwrap());
        let files = Scratch::below(Path::new(env!("CARGO_TARGET_TMPDIR")));
        let mut tab = Self { browser, context, session, events: Vec::new(), address: String::new(), files };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        // Its page has the keyboard although other tabs are open.
        tab.call("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }));
        tab.size(1280, 900);
        Some(tab)
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
        while !self.is_loaded(&navigation["loaderId"]) {
            let event = self.session.next_message("an event");
            self.events.push(event);
        }
        self.frame();
        began.elapsed()
    }

    /// Whether the page of a navigation is loaded: not the empty one before it.
    fn is_loaded(&self, navigation: &Value) -> bool {
        let mut is_shown = false;
        for event in &self.events {
            match event["method"].as_str() {
                Some("Page.frameNavigated") => is_shown = event["params"]["frame"]["loaderId"] == *navigation,
                Some("Page.loadEventFired") if is_shown => return true,
                _ => {}
            }
        }
        false
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
        self.type_key(key);
        self.frame();
    }

    /// The same, without waiting until the page is drawn.
    pub fn type_key(&mut self, key: &str) {
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
        self.session.call(method, params, &mut self.events)
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

impl Drop for Tab {
    fn drop(&mut self) {
        self.browser.send("Target.disposeBrowserContext", json!({ "browserContextId": self.context }));
    }
}
