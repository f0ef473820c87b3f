//! Which libpcap answers where several are, or have been, open in one process. A separate test binary: what stays open
//! here stays open for all of its tests.

#[path = "libpcap/stand_in.rs"]
mod stand_in;

use std::path::Path;
use std::process::Command;

use capbench_capture::backends::libpcap::Libpcap;
use capbench_capture::{Capture, Interface};
use capbench_model::options::CaptureOptions;
use capbench_sys::pcap::PcapLibrary;
use capbench_testing::missing;
use capbench_testing::network::privileges;
use stand_in::StandIn;

/// Names that the system's libpcap may have.
const NAMES: [&str; 2] = ["libpcap.so.0.8", "libpcap.so.1"];

/// A build that passes itself off as the system's by its name, and that the loader never closes.
fn staying(version: &str, name: &str) -> StandIn {
    let version = format!("VERSION=\"{version}\"");
    StandIn::linked(&[&version], &["-Wl,-z,nodelete", &format!("-Wl,-soname,{name}")])
}

fn open(library: &Path) -> Result<PcapLibrary, String> {
    PcapLibrary::open(library.to_str().unwrap()).map_err(|error| error.to_string())
}

/// The system's file of a name, without asking the loader: what a separate process finds.
fn system() -> Option<(&'static str, String)> {
    let name = NAMES.into_iter().find(|name| {
        let linked = Command::new("cc")
            .args(["-shared", "-x", "c", "/dev/null", "-o", "/dev/null", &format!("-l:{name}")])
            .output();
        linked.is_ok_and(|output| output.status.success())
    })?;
    // Made by another program, so that no library of this process has a say.
    let found = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    let path = Path::new(String::from_utf8_lossy(&found.stdout).trim()).canonicalize().ok()?;
    Some((name, path.display().to_string()))
}

#[test]
fn libraries_of_one_name_are_distinguished_in_any_order() {
    let Some((name, file)) = system() else {
        return missing("libpcap (package libpcap0.8)");
    };
    let check_system = || {
        let library = PcapLibrary::open(name).unwrap();
        assert!(library.version().starts_with("libpcap version 1."), "{}", library.version());
        assert_eq!(library.file().unwrap().canonicalize().unwrap().display().to_string(), file);
        library
    };
    let check = |stand_in: &StandIn, version: &str| {
        let library = open(&stand_in.library()).unwrap();
        assert_eq!((library.version().as_str(), library.file().unwrap()), (version, stand_in.library()));
        library
    };
    let [first, second] = ["first", "second"].map(|version| staying(version, name));
    // One by its path before the system's, and one while the system's is open.
    drop(check(&first, "first"));
    let system = check_system();
    let other = check(&second, "second");
    let again = check_system();
    drop((system, other, again));
    drop(check_system());
    for (stand_in, version) in [(&first, "first"), (&second, "second"), (&first, "first")] {
        let _both = (check(stand_in, version), check_system());
    }
}

#[test]
fn root_the_method_measures_the_systems_library_after_another_of_its_name() {
    let Some(()) = privileges() else { return };
    let Some((name, _)) = system() else {
        return missing("libpcap (package libpcap0.8)");
    };
    let other = staying("another", name);
    let capture = other.open(&CaptureOptions::default()).unwrap();
    assert!(capture.running().engine.name.starts_with("another from /"), "{:?}", capture.running());
    drop(capture);
    let lo = Interface::of_name("lo", 65_536).unwrap();
    let capture = Libpcap::open(&"libpcap".parse().unwrap(), &lo, &CaptureOptions::default()).unwrap();
    let engine = capture.running().engine.to_string();
    assert!(engine.starts_with("libpcap version 1.") && engine.contains(&format!("/{name}, ")), "{engine}");
}

#[test]
fn a_file_that_was_replaced_while_it_stayed_open_is_refused() {
    let stand_in = staying("former", "libreplaced.so.1");
    drop(open(&stand_in.library()).unwrap());
    let newer = StandIn::new(&["VERSION=\"newer\""]);
    std::fs::remove_file(stand_in.library()).unwrap();
    std::fs::copy(newer.library(), stand_in.library()).unwrap();
    let text = open(&stand_in.library()).unwrap_err();
    assert!(text.contains("the former file of") && text.contains("start it again"), "{text}");
    assert_eq!(open(&newer.library()).unwrap().version(), "newer");
}

#[test]
fn a_library_that_only_needs_a_libpcap_is_refused_with_its_file() {
    let needed = StandIn::new(&[]);
    let wrapper = needed.library().with_file_name("wrapper.so");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-x", "c", "/dev/null", "-x", "none", "-Wl,--no-as-needed"]).arg(needed.library());
    let built = cc.arg("-o").arg(&wrapper).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let text = open(&wrapper).unwrap_err();
    let needed = needed.library().display().to_string();
    assert!(text.contains(&format!("not those of {} but of {needed}", wrapper.display())), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn a_relative_path_is_the_file_it_means() {
    let stand_in = StandIn::new(&["VERSION=\"relative\""]);
    let up = "../".repeat(std::env::current_dir().unwrap().components().count());
    let relative = format!("{up}{}", stand_in.library().strip_prefix("/").unwrap().display());
    let library = PcapLibrary::open(&relative).unwrap();
    assert_eq!((library.version().as_str(), library.name()), ("relative", relative.as_str()));
    assert!(library.file().unwrap().is_absolute());
}
