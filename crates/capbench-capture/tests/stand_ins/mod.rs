//! Stand-ins for vendors' libraries: C of our own, built by `cc` against the public interfaces, with a scripted device
//! behind it that notes every call.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use capbench_capture::{Batch, Capture, CaptureError, Interface, PacketType};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_testing::Scratch;

/// Where the sources are, from every crate of the workspace.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../capbench-capture/tests/stand_ins");
/// Longer than any of this takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// What was compiled already, by source and macros.
static COMPILED: Mutex<BTreeMap<(String, String), Vec<u8>>> = Mutex::new(BTreeMap::new());

/// A library of a test's own: a file that no other test has open, so that it is loaded anew for this test.
pub struct StandIn {
    folder: Scratch,
    library: PathBuf,
}

impl StandIn {
    /// Builds `tests/stand_ins/NAME.c` with some macros defined.
    pub fn build(name: &str, defines: &[&str]) -> Self {
        let folder = Scratch::new();
        let library = folder.join("library.so");
        let mut compiled = COMPILED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let content = compiled.entry((name.into(), defines.join(" "))).or_insert_with(|| {
            compile(name, defines, &library);
            fs::read(&library).unwrap()
        });
        fs::write(&library, content).unwrap();
        Self { folder, library }
    }

    /// A device that behaves as `script` says.
    pub fn device(self, script: &str) -> Device {
        let path = self.folder.join("device");
        fs::write(&path, script).unwrap();
        Device { log: self.folder.join("device.log"), path: path.to_str().unwrap().into(), library: self }
    }

    /// The method that uses this library: its name, argument and settings.
    pub fn spec(&self, method: &str) -> MethodSpec {
        format!("{method}+library={}", self.library.display()).parse().unwrap()
    }

    /// Its file.
    pub fn library(&self) -> &Path {
        &self.library
    }
}
fn compile(name: &str, defines: &[&str], library: &Path) {
    let source = Path::new(SOURCES).join(format!("{name}.c"));
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o"])
        .arg(library)
        .args(defines.iter().map(|define| format!("-D{define}")))
        .arg(&source)
        .status()
        .expect("a C compiler, cc");
    assert!(compiled.success(), "{}", source.display());
}

/// A scripted device.
pub struct Device {
    /// What the library opens.
    pub path: String,
    log: PathBuf,
    /// The library that opens it.
    pub library: StandIn,
}

impl Device {
    /// The calls that were made.
    pub fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().map(String::from).collect()
    }
}

/// None of the calls may have broken the contract.
impl Drop for Device {
    fn drop(&mut self) {
        let calls = self.calls();
        let is_kept = !calls.iter().any(|call| call.starts_with("FAULT"));
        assert!(is_kept || std::thread::panicking(), "{calls:?}");
    }
}

/// A capture by a vendor's method.
pub struct Vendor<C> {
    /// The stand-in.
    pub library: &'static str,
    /// The method's name, which the device follows.
    pub method: &'static str,
    pub open: fn(&Device, &MethodSpec, &CaptureOptions) -> Result<C, CaptureError>,
}

impl<C: Capture> Vendor<C> {
    /// The device that behaves as `script` says, with the default stand-in.
    pub fn device(&self, script: &str) -> Device {
        StandIn::build(self.library, &[]).device(script)
    }

    /// Opens a device, named behind a module's `prefix`, with these settings and options.
    pub fn open_with(
        &self,
        device: &Device,
        (prefix, settings): (&str, &str),
        options: &CaptureOptions,
    ) -> Result<C, String> {
        let spec = device.library.spec(&format!("{}:{prefix}{}{settings}", self.method, device.path));
        (self.open)(device, &spec, options).map_err(|error| error.to_string())
    }

    /// A device that behaves as `script` says, and its capture.
    pub fn opened(&self, script: &str, reading: (&str, &str)) -> (Device, C) {
        let device = self.device(script);
        let capture = self.open_with(&device, reading, &CaptureOptions::default()).unwrap();
        (device, capture)
    }

    /// Frames of a device that behaves as scripted, then the error that ends them.
    pub fn fails(&self, script: &str, reading: (&str, &str), frames: usize) -> String {
        let (device, mut capture) = self.opened(script, reading);
        assert_eq!(octets(&take(&mut capture, frames)), (0..frames).map(frame).collect::<Vec<_>>());
        let error = failure(&mut capture);
        drop(capture);
        assert_eq!(device.calls().last().unwrap(), "close", "the library stays loaded");
        error
    }

    /// Why a device that behaves as scripted is not opened. Everything that was opened is closed.
    pub fn refuses(&self, script: &str, settings: &str) -> String {
        let device = self.device(script);
        let refused = self.open_with(&device, ("", settings), &CaptureOptions::default());
        let calls = device.calls();
        let count = |name: &str| calls.iter().filter(|call| call.starts_with(name)).count();
        // What a library opens besides the device, such as queues, begins with the same words.
        assert_eq!(count("open"), count("close"), "{calls:?}");
        assert_eq!(count("open queue"), count("close queue"), "{calls:?}");
        assert_eq!(count("unloaded"), 0, "{calls:?}");
        refused.map(drop).unwrap_err()
    }
}

/// An interface that is always there; cards take no notice of it.
pub fn interface() -> Interface {
    Interface::of_name("lo", 1500).unwrap()
}

/// A frame, kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub data: Vec<u8>,
    pub wire_length: u32,
    pub time_ns: u64,
    pub packet_type: PacketType,
}

/// What the device sends as its frame `number`.
pub fn frame(number: usize) -> Vec<u8> {
    (0..60 + number).map(|at| (number * 7 + at) as u8).collect()
}

/// Reads this many frames. Batches are held until all of their frames were read.
pub fn take<C: Capture>(capture: &mut C, count: usize) -> Vec<Seen> {
    let (start, mut seen) = (Instant::now(), Vec::new());
    while seen.len() < count {
        assert!(start.elapsed() < PATIENCE, "{} of {count} frames", seen.len());
        let Some(batch) = capture.next_batch(Duration::from_millis(20)).unwrap() else { continue };
        // Twice: the memory of the first frames must not have been returned by the end.
        let first = read(&batch);
        assert_eq!(first, read(&batch));
        seen.extend(first);
    }
    seen
}

fn read(batch: &impl Batch) -> Vec<Seen> {
    batch
        .frames()
        .map(|frame| Seen {
            data: frame.data.to_vec(),
            wire_length: frame.wire_length,
            time_ns: frame.time_ns,
            packet_type: frame.packet_type,
        })
        .collect()
}

/// The frames' octets.
pub fn octets(seen: &[Seen]) -> Vec<Vec<u8>> {
    seen.iter().map(|frame| frame.data.clone()).collect()
}

/// The error that ends a capture.
pub fn failure<C: Capture>(capture: &mut C) -> String {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Err(error) = capture.next_batch(Duration::from_millis(20)).map(drop) {
            return error.to_string();
        }
    }
    panic!("no error within {PATIENCE:?}");
}
