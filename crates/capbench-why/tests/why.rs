//! `why` at an XDP program that drops.

#![cfg(feature = "bpf")]

use capbench_testing::network;

use capbench_sys::bpf::XdpMode;
use capbench_sys::bpf::object::{Loaded, ObjectFile, Opened};
use capbench_sys::host::interface;
use capbench_testing::Scratch;
use capbench_why::{Look, Place as At, Tracing, Watch};
use network::{Place, privileges, program};

const FRAMES: u64 = 500;

fn drop_all() -> Loaded {
    static DROP: &ObjectFile<[u8]> =
        &ObjectFile(*include_bytes!(concat!(env!("OUT_DIR"), "/drop_all.bpf.o")));
    Opened::read("drop_all", &DROP.0).unwrap().load().unwrap()
}

/// Sends frames from `left`, which arrive at `right`.
fn send(place: &Place) {
    let config = "{ eth(da=02:00:00:00:00:02, sa=02:00:00:00:00:01, proto=0x0800), fill(0, 50) }";
    let folder = Scratch::new();
    let file = folder.file("trafgen.cfg");
    std::fs::write(&file, config).unwrap();
    let mut trafgen = program("trafgen");
    trafgen.args(["--dev", "left", "--num", &FRAMES.to_string(), "--cpus", "1", "--qdisc-path", "--in"]);
    let output = place.output(trafgen.arg(&file));
    assert!(output.status.success(), "{}", network::lossy(&output.stderr));
}

/// What is seen at `right` while frames come that a program in this mode drops.
fn look(mode: XdpMode, tracing: Tracing) -> Look {
    let place = Place::with_pair();
    let (program, mut watch) = place.inside(|| {
        let link = drop_all().attach(interface::index_of("right").unwrap(), mode).unwrap();
        (link, Watch::new("right", tracing).unwrap())
    });
    send(&place);
    let look = place.inside(|| watch.look()).unwrap();
    drop(program);
    look
}

#[test]
fn root_frames_that_an_xdp_program_drops_are_its_own() {
    let Some(()) = privileges() else { return };
    let look = look(XdpMode::Driver, Tracing::Wanted);
    let first = &look.advice[0];
    assert_eq!((first.place, first.lost, look.advice.len()), (At::Xdp, FRAMES, 1), "{look:#?}");
    // This process holds the link.
    let end = format!("kill {}", std::process::id());
    assert!(first.who.contains("drop_all") && first.remedies[0].command() == Some(end), "{first:?}");
    assert!(look.notes.iter().any(|note| note.contains("an XDP program is attached")), "{look:#?}");
}

#[test]
fn root_drops_of_a_program_in_the_stack_are_known_only_with_the_tracer() {
    let Some(()) = privileges() else { return };
    let of = |look: &Look| look.lost.iter().find(|lost| lost.place == At::Xdp).unwrap().clone();
    let seen = look(XdpMode::Generic, Tracing::Wanted);
    assert!(of(&seen).source.contains("drop_all") && of(&seen).source.contains("generic"), "{seen:#?}");
    assert_eq!((of(&seen).frames, seen.advice[0].place), (Some(FRAMES), At::Xdp), "{seen:#?}");
    let untraced = look(XdpMode::Generic, Tracing::LeftOut);
    assert!(of(&untraced).frames.is_none() && untraced.verdict.contains("as far as known"), "{untraced:#?}");
    assert!(untraced.notes.iter().any(|note| note.contains("not traced")), "{untraced:#?}");
}

#[test]
fn root_a_program_that_a_tool_attached_is_taken_away_by_the_command_of_its_mode() {
    let Some(()) = privileges() else { return };
    let folder = Scratch::new();
    let object = folder.file("drop_all.o");
    std::fs::write(&object, include_bytes!(concat!(env!("OUT_DIR"), "/drop_all.bpf.o"))).unwrap();
    for mode in ["xdpgeneric", "xdpdrv"] {
        let place = Place::with_pair();
        let attach = format!("link set dev right {mode} obj {} sec xdp", object.display());
        place.ip(&attach);
        let mut watch = place.inside(|| Watch::new("right", Tracing::Wanted).unwrap());
        send(&place);
        let look = place.inside(|| watch.look()).unwrap();
        let first = &look.advice[0];
        let command = first.remedies[0].command().unwrap();
        assert_eq!(
            (first.lost, command.as_str()),
            (FRAMES, format!("ip link set dev right {mode} off").as_str()),
            "{look:#?}"
        );
        let output = place.output(program("sh -c").arg(&command));
        assert!(output.status.success(), "{command}: {}", network::lossy(&output.stderr));
        send(&place);
        let look = place.inside(|| watch.look()).unwrap();
        assert!(look.advice.is_empty() && look.received >= Some(FRAMES), "{mode}: {look:#?}");
    }
}
