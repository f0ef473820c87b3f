//! The engine in words: what the library claims, what it really uses, and where the two differ.

use std::path::Path;
use std::time::Duration;

use capbench_sys::packet::Version;
use capbench_sys::pcap::{Engine, Pcap, Ring};
use capbench_sys::pf_ring::{self, ListedRing};

use super::super::pf_ring::running::sized;
use super::counting::has_kernel_filter;
use super::{METHOD, Plan};
use capbench_model::options::CaptureOptions;
use capbench_model::running::Engine as RunningEngine;
use capbench_model::running::{Running, TimeSource};
use capbench_model::units::ByteCount;

/// A build of libpcap that reads engines other than the kernel's. A word in its version text identifies it, a part of its
/// file's path, or a function that only it has.
struct Claim {
    engine: &'static str,
    version: &'static str,
    path: &'static str,
    function: &'static str,
}

/// Builds that read every interface through a special engine. Others, such as those for capture cards, decide by the device's
/// name, and read the kernel's interfaces like any libpcap.
const CLAIMS: [Claim; 2] = [
    // PF_RING's user guide, "Libpcap API": extensions of the patched library.
    Claim { engine: "PF_RING", version: "pf_ring", path: "pf_ring", function: "pcap_get_pfring_id" },
    Claim { engine: "szedata2", version: "szedata", path: "szedata", function: "szedata_open" },
];

/// Describes an open capture.
pub(super) fn running(pcap: &Pcap, plan: &Plan, options: &CaptureOptions) -> Running {
    let version = pcap.library().version();
    let file = pcap.library().file();
    let path = file.as_ref().map_or_else(|| pcap.library().name().into(), |path| path.display().to_string());
    let claimed = CLAIMS
        .iter()
        .find(|claim| claims(claim, &version, &path) || pcap.library().has(claim.function))
        .map(|claim| claim.engine);
    let ring = pf_ring_of(pcap.engine(), Path::new(pf_ring::FOLDER));
    let mut shortfalls: Vec<String> = shortfalls(pcap.engine(), &version, claimed, plan);
    shortfalls.extend(ignored(pcap.engine(), ring.as_ref(), plan));
    shortfalls.extend(pcap.warning().map(|warning| format!("libpcap warns: {warning}")));
    if plan.call == super::Call::Loop && !options.spin.is_zero() {
        shortfalls.push("it did not spin: pcap_loop waits by itself".into());
    }
    if options.filter.is_some() && matches!(pcap.engine(), Engine::Packet { .. }) && !has_kernel_filter(pcap)
    {
        shortfalls.push("the kernel took no filter: libpcap filters what fills its ring".into());
    }
    let own = matches!(pcap.engine(), Engine::Packet { .. });
    let found = format!("{}; {}", plan.call.name(), claimed_and_found(claimed, pcap.engine()));
    let timeout = plan.settings.timeout_ms;
    let immediate = if plan.settings.immediate { ", immediate mode" } else { "" };
    let sizes = format!("{}, timeout {timeout} ms{immediate}", ring_of(pcap.engine(), ring.as_ref(), plan));
    let times = match (own, pcap.has_nanoseconds()) {
        (true, true) => TimeSource::kernel("software, from libpcap in nanoseconds"),
        (true, false) => TimeSource::kernel("software, from libpcap in microseconds"),
        (false, true) => TimeSource::unknown("what that engine stamps, from libpcap in nanoseconds"),
        (false, false) => TimeSource::unknown("what that engine stamps, from libpcap in microseconds"),
    };
    Running {
        holds: Duration::from_millis(timeout.into()),
        shortfalls,
        filtered: options.filter.is_some(),
        ..Running::described(
            METHOD.name,
            RunningEngine::new(format!("{version} from {path}"), [found]),
            sizes,
            times,
        )
    }
}

/// The PF_RING ring of the capture, if the module lists it in this folder.
fn pf_ring_of(engine: &Engine, folder: &Path) -> Option<ListedRing> {
    let Engine::PfRing { number } = engine else { return None };
    pf_ring::listed(folder).ok()?.into_iter().find(|ring| Some(ring.number) == *number)
}

/// The requested ring, or the one that PF_RING created.
fn ring_of(engine: &Engine, ring: Option<&ListedRing>, plan: &Plan) -> String {
    match engine {
        Engine::PfRing { .. } => sized(ring),
        _ => format!("{} asked for", plan.buffer),
    }
}

/// Reports that PF_RING ignores the requested size, unless its ring is as large.
fn ignored(engine: &Engine, ring: Option<&ListedRing>, plan: &Plan) -> Option<String> {
    let is_smaller = ring.and_then(|ring| ring.memory).is_none_or(|octets| octets < plan.buffer.0);
    (matches!(engine, Engine::PfRing { .. }) && is_smaller).then(|| {
        format!(
            "PF_RING made a {}; the {} asked for have no effect (min_num_slots of its module decides)",
            sized(ring),
            plan.buffer
        )
    })
}

fn claims(claim: &Claim, version: &str, path: &str) -> bool {
    let has = |text: &str, word: &str| text.to_ascii_lowercase().contains(word);
    has(version, claim.version) || has(path, claim.path)
}

/// Where the capture falls short of the library's claims or of the request.
fn shortfalls(engine: &Engine, version: &str, claimed: Option<&str>, plan: &Plan) -> Vec<String> {
    let Engine::Packet { version: header, ring } = engine else { return Vec::new() };
    let mut shortfalls = Vec::new();
    if let Some(claimed) = claimed {
        shortfalls.push(format!(
            "this build of libpcap claims {claimed} and captures with AF_PACKET instead: it fell back silently"
        ));
    }
    match ring {
        None => shortfalls.push("its packet socket has no ring: one system call and copy per packet".into()),
        Some(ring) => {
            if version.contains("TPACKET_V3") && *header != Some(Version::V3) && !plan.settings.immediate {
                let header = header.map_or("another version".into(), |header| format!("TPACKET_{header:?}"));
                shortfalls
                    .push(format!("this build of libpcap claims TPACKET_V3 and captures with {header}"));
            }
            // libpcap reduces the size step by step until the kernel has the memory.
            if ring.bytes < plan.buffer.0 {
                shortfalls.push(format!(
                    "its ring is {} of the {} asked for",
                    ByteCount(ring.bytes),
                    plan.buffer
                ));
            }
        }
    }
    shortfalls
}

/// The engine in use, and that it differs from the library's claim if it does.
fn claimed_and_found(claimed: Option<&str>, engine: &Engine) -> String {
    match (claimed, engine) {
        (Some(claimed), Engine::Packet { .. }) => {
            format!("claims {claimed}, fell back silently to: {}", words(engine))
        }
        _ => format!("found: {}", words(engine)),
    }
}

/// An engine in words.
fn words(engine: &Engine) -> String {
    match engine {
        Engine::Packet { ring: None, .. } => "AF_PACKET socket without a ring".into(),
        Engine::Packet { version, ring: Some(ring) } => {
            let version =
                version.map_or("of unknown version".into(), |version| format!("TPACKET_{version:?}"));
            format!("AF_PACKET socket with a {version} ring of {}", size(ring, version.ends_with("V3")))
        }
        Engine::PfRing { .. } => "PF_RING socket".into(),
        Engine::Socket(family) => format!("socket of address family {family}"),
        Engine::Device(path) => format!("device {path}"),
        Engine::Other(what) => format!("descriptor of another kind, {what}"),
        Engine::Hidden => "no descriptor that would show what captures".into(),
    }
}

fn size(ring: &Ring, has_blocks: bool) -> String {
    match ring.blocks {
        Some(blocks) if has_blocks => {
            format!("{} blocks of {}", blocks.count, ByteCount(blocks.size.into()))
        }
        Some(blocks) => format!("{} slots in {}", blocks.frames, ByteCount(ring.bytes)),
        None => ByteCount(ring.bytes).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use capbench_sys::pcap::engine::Blocks;

    use super::{
        CLAIMS, Engine, Plan, Ring, Version, claimed_and_found, claims, ignored, pf_ring_of, ring_of,
        shortfalls, words,
    };
    use capbench_model::options::CaptureOptions;

    const SYSTEM: &str = "libpcap version 1.10.3 (with TPACKET_V3)";

    fn ring(bytes: u64) -> Option<Ring> {
        let blocks = Blocks {
            count: (bytes >> 18) as u32,
            size: 1 << 18,
            frame_size: 1 << 18,
            frames: 77,
            retire_timeout_ms: 10,
        };
        Some(Ring { bytes, blocks: Some(blocks) })
    }

    fn plan(spec: &str) -> Plan {
        Plan::of(&spec.parse().unwrap(), &CaptureOptions::default()).unwrap()
    }

    #[test]
    fn engines_have_words() {
        let v3 = Engine::Packet { version: Some(Version::V3), ring: ring(2 << 20) };
        assert_eq!(words(&v3), "AF_PACKET socket with a TPACKET_V3 ring of 8 blocks of 256KiB");
        let v2 = Engine::Packet { version: Some(Version::V2), ring: ring(2 << 20) };
        assert_eq!(words(&v2), "AF_PACKET socket with a TPACKET_V2 ring of 77 slots in 2MiB");
        let plain = Ring { bytes: 2 << 20, blocks: None };
        let without = Engine::Packet { version: Some(Version::V3), ring: Some(plain) };
        assert_eq!(words(&without), "AF_PACKET socket with a TPACKET_V3 ring of 2MiB");
        assert_eq!(words(&Engine::PfRing { number: None }), "PF_RING socket");
    }

    #[test]
    fn a_claim_is_compared_with_what_was_found() {
        let v3 = Engine::Packet { version: Some(Version::V3), ring: ring(64 << 20) };
        let none: [String; 0] = [];
        assert_eq!(shortfalls(&v3, SYSTEM, None, &plan("libpcap")), none);
        let fallen = shortfalls(&v3, SYSTEM, Some("PF_RING"), &plan("libpcap"));
        assert!(
            fallen[0].contains("claims PF_RING") && fallen[0].contains("fell back silently"),
            "{fallen:?}"
        );
        assert_eq!(
            claimed_and_found(Some("PF_RING"), &v3),
            "claims PF_RING, fell back silently to: AF_PACKET socket with a TPACKET_V3 ring of 256 blocks of 256KiB"
        );
        assert_eq!(
            shortfalls(&Engine::PfRing { number: None }, SYSTEM, Some("PF_RING"), &plan("libpcap")),
            none
        );
        assert_eq!(
            claimed_and_found(Some("PF_RING"), &Engine::PfRing { number: None }),
            "found: PF_RING socket"
        );
        let v2 = Engine::Packet { version: Some(Version::V2), ring: ring(64 << 20) };
        assert!(shortfalls(&v2, SYSTEM, None, &plan("libpcap"))[0].contains("captures with TPACKET_V2"));
        assert_eq!(shortfalls(&v2, SYSTEM, None, &plan("libpcap+immediate")), none);
        let small = Engine::Packet { version: Some(Version::V3), ring: ring(32 << 20) };
        assert_eq!(
            shortfalls(&small, SYSTEM, None, &plan("libpcap")),
            ["its ring is 32MiB of the 64MiB asked for"]
        );
        let bare = Engine::Packet { version: Some(Version::V1), ring: None };
        assert!(shortfalls(&bare, "1.0", None, &plan("libpcap"))[0].contains("no ring"));
    }

    #[test]
    fn the_ring_of_pf_ring_is_the_modules() {
        let folder = capbench_testing::Scratch::new();
        let listed = "Min Num Slots          : 512\nTot Memory             : 33628160\n";
        std::fs::write(folder.file("4242-eth1.17"), listed).unwrap();
        let of = |number, spec: &str| {
            let engine = Engine::PfRing { number };
            let ring = pf_ring_of(&engine, &folder);
            (ring_of(&engine, ring.as_ref(), &plan(spec)), ignored(&engine, ring.as_ref(), &plan(spec)))
        };
        let size = "ring of 32840KiB, 512 slots or more";
        assert_eq!(
            of(Some(17), "libpcap"),
            (
                size.into(),
                Some(format!(
                    "PF_RING made a {size}; the 64MiB asked for have no effect (min_num_slots of its module decides)"
                ))
            )
        );
        assert_eq!(of(Some(17), "libpcap+buffer=1MiB"), (size.into(), None));
        for number in [Some(18), None] {
            assert_eq!(of(number, "libpcap").0, "ring of unknown size");
        }
        let packet = Engine::Packet { version: None, ring: None };
        assert_eq!(ring_of(&packet, None, &plan("libpcap")), "64MiB asked for");
        assert_eq!(ignored(&packet, None, &plan("libpcap")), None);
    }

    #[test]
    fn builds_are_known_by_version_and_path() {
        let [pf_ring, _] = &CLAIMS;
        assert!(claims(pf_ring, "libpcap version 1.10.1 (with PF_RING)", "/lib/libpcap.so.1"));
        assert!(claims(pf_ring, SYSTEM, "/opt/pf_ring/lib/libpcap.so.1"));
        assert!(!CLAIMS.iter().any(|claim| claims(claim, SYSTEM, "/usr/lib/libpcap.so.1.10.3")));
    }
}
