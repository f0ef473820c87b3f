//! `capbench bench` with other builds of libpcap: one that cannot be used costs its own row only, and one that falls back
//! silently is told.

#[path = "../../../capbench-capture/tests/libpcap/stand_in.rs"]
mod stand_in;

use crate::support::{Ended, HOST, Running, Scratch, capbench, privileges};
use stand_in::StandIn;

const QUICK: [&str; 9] =
    ["bench", "--quick", "--placement", "same", "--rate", "2000", "--visits", "1", "--duration"];

/// Runs a short bench of these methods.
fn bench(methods: &str) -> Ended {
    let folder = Scratch::new();
    let out = folder.file("out");
    Running::start(
        HOST,
        capbench("").args(QUICK).args(["100ms", "--details", "--method", methods, "--out"]).arg(&out),
    )
    .end()
}

#[test]
fn root_a_libpcap_that_cannot_be_used_costs_its_own_row_only() {
    let Some(()) = privileges() else { return };
    let lacking = StandIn::new(&["NO_STATS"]);
    let ended = bench(&format!("libpcap:/nonexistent/libpcap.so,libpcap:libc.so.6,{},recv", lacking.spec()));
    // What was named and not measured shows in the exit code.
    assert_eq!(ended.code, Some(5), "{ended:#?}");
    for reason in
        ["/nonexistent/libpcap.so: No such file", "libc.so.6: it has no function", "no function pcap_stats"]
    {
        assert!(ended.errors.contains(reason), "{reason}: {ended:#?}");
    }
    assert!(ended.out.contains("recv") && ended.out.contains("Every packet is accounted for"), "{ended:#?}");
}

#[test]
fn root_two_builds_of_libpcap_have_their_rows_and_a_silent_fallback_is_told() {
    let Some(()) = privileges() else { return };
    let fallen =
        StandIn::new(&["PACKETS=0", "PACKET_SOCKET", "VERSION=\"libpcap version 9.9 (with PF_RING)\""]);
    let ended = bench(&format!("libpcap,{}", fallen.spec()));
    let words = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "what ran: libpcap version 1.",
        "pcap_dispatch; found: AF_PACKET socket with a TPACKET_V3 ring of",
        "pcap_dispatch; claims PF_RING, fell back silently to: AF_PACKET socket without a ring",
        "claims PF_RING and captures with AF_PACKET instead: it fell back silently",
    ] {
        assert!(words.contains(told), "{told}: {ended:#?}");
    }
}
