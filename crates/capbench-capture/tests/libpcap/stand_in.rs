//! Stand-ins for libpcap, built from `stand_in.c`.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::Command;

use capbench_capture::backends::libpcap::Libpcap;
use capbench_capture::{Capture, CaptureError, Interface};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_testing::Scratch;

/// A built stand-in in a separate folder, which goes with it.
pub struct StandIn {
    folder: Scratch,
    /// The text after the method's name.
    settings: String,
}

impl StandIn {
    /// Builds it with these macros defined.
    pub fn new(macros: &[&str]) -> Self {
        Self::linked(macros, &[])
    }

    /// The same, with these arguments for the linker.
    pub fn linked(macros: &[&str], arguments: &[&str]) -> Self {
        let stand_in = Self { folder: Scratch::new(), settings: String::new() };
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../capbench-capture/tests/libpcap/stand_in.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-o"]).arg(stand_in.library()).arg(source);
        cc.arg(format!("-DLOG=\"{}\"", stand_in.folder.join("log").display()));
        cc.args(macros.iter().map(|name| format!("-D{name}")));
        cc.args(arguments);
        let built = cc.output().expect("a C compiler, cc");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        stand_in
    }

    /// The same, read by another call.
    pub fn with(mut self, settings: &str) -> Self {
        self.settings = settings.into();
        self
    }

    /// The library's file.
    pub fn library(&self) -> PathBuf {
        self.folder.join("libpcap.so.1")
    }

    /// How a user would ask for it.
    pub fn spec(&self) -> MethodSpec {
        format!("libpcap:{}{}", self.library().display(), self.settings).parse().unwrap()
    }

    /// Opens it on the loopback interface, which every namespace has.
    pub fn open(&self, options: &CaptureOptions) -> Result<Libpcap, CaptureError> {
        let interface = Interface::of_name("lo", 65_536).unwrap();
        Libpcap::open(&self.spec(), &interface, options)
    }

    /// What opening it says, when it cannot be opened.
    pub fn refusal(&self) -> CaptureError {
        self.open(&CaptureOptions::default()).map(drop).unwrap_err()
    }

    /// Its calls so far.
    pub fn calls(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        log.lines().map(String::from).collect()
    }
}

/// Fails when a contract was broken, or when what was opened is not closed.
impl Drop for StandIn {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let calls = self.calls();
        let broken: Vec<_> = calls.iter().filter(|call| call.starts_with("broken")).collect();
        assert!(broken.is_empty(), "{broken:?}");
        let of = |name: &str| calls.iter().filter(|call| call.starts_with(name)).count();
        assert_eq!(of("create"), of("close"), "{calls:?}");
    }
}

/// A frame's octets, its length on the wire, and its time.
pub type ReadFrame = (Vec<u8>, u32, u64);

/// Reads frames up to this number, or until an error.
pub fn take(capture: &mut impl Capture, most: usize) -> (Vec<ReadFrame>, Option<CaptureError>) {
    let (mut seen, mut quiet) = (Vec::new(), 0);
    while seen.len() < most && quiet < 3 {
        let wait = std::time::Duration::from_millis(5);
        let result = capture.for_each(wait, |frame| {
            seen.push((frame.data.to_vec(), frame.wire_length, frame.time_ns));
        });
        match result {
            Ok(came) => quiet = if came { 0 } else { quiet + 1 },
            Err(error) => return (seen, Some(error)),
        }
    }
    (seen, None)
}
