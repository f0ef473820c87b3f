use super::by_bpf::from_records;
use super::by_netlink::without_records;
use super::records::Record;
use super::*;
use capbench_testing::Scratch;
use proptest::prelude::*;

fn here() -> Where {
    Where { space: 1, interface: InterfaceIndex::new(4).unwrap(), scope: Scope::Host }
}

fn of(records: &[Record]) -> Sockets {
    from_records(records, &[], &[], here())
}

fn ring(inode: u64, process: u32) -> Record {
    Record {
        inode,
        process,
        space: 1,
        interface: 4,
        family: 17,
        readable: 1,
        protocol: 3,
        version: 2,
        has_ring: 1,
        blocks: 8,
        block_pages: 64,
        frames: 1,
        frame_octets: 65_536,
        packets: 10,
        dropped: 7,
        freezes: 2,
        ..Record::default()
    }
}

#[test]
fn a_socket_of_two_processes_is_one_and_others_are_distinguished() {
    let elsewhere = Record { space: 2, ..ring(9, 1) };
    let sends = Record { protocol: 0, ..ring(8, 1) };
    let records = [ring(5, 1), ring(5, 2), ring(5, 2), elsewhere, elsewhere, sends];
    let found = of(&records);
    assert_eq!((found.here.len(), found.unknown), (1, None));
    let others: Vec<_> = found.elsewhere.iter().map(|socket| (socket.inode, socket.namespace)).collect();
    assert_eq!((others, found.elsewhere[1].receives), (vec![(9, 2), (8, 1)], false));
    let socket = &found.here[0];
    assert_eq!((socket.processes.len(), socket.method), (2, Method::PacketV3));
    assert_eq!((socket.accepted, socket.dropped, socket.freezes), (Some(10), Some(7), Some(2)));
    assert_eq!(
        socket.ring.unwrap(),
        Ring { blocks: 8, block_octets: 262_144, slots: 32, slot_octets: 65_536 }
    );
    assert_eq!(socket.outgoing, Some(true));
}

/// A folder as PF_RING's kernel module makes it, with rings of this process.
struct Rings(Scratch);

impl Rings {
    fn new() -> Self {
        let folder = Scratch::new();
        std::fs::create_dir(folder.file("dev")).unwrap();
        std::fs::write(folder.file("info"), "PF_RING Version          : 8.9.0\n").unwrap();
        Self(folder)
    }

    fn list(&self, device: &str, number: u32, fields: &str) {
        let text = format!("Bound Device(s)        : {device}\nActive                 : 1\n{fields}");
        std::fs::write(self.0.file(&format!("{}-{device}.{number}", std::process::id())), text).unwrap();
    }
}

fn counted(stored: u64, lost: u64) -> String {
    format!(
        "Capture Direction      : RX only\nMin Num Slots          : 4098\nBucket Len             : 1522\n\
         Tot Memory             : 6467584\nTot Packets            : {}\nTot Pkt Lost           : {lost}\n\
         Tot Insert             : {stored}\nTot Read               : 0\n",
        stored + lost
    )
}

#[test]
fn rings_of_pf_ring_are_sockets_with_what_they_lost() {
    let rings = Rings::new();
    // The first interface of every network namespace.
    let here = Where { interface: InterfaceIndex::new(1).unwrap(), ..here() };
    let read = || {
        let mut sockets = Sockets::default();
        sockets.add_rings(&rings.0, here);
        sockets
    };
    rings.list("lo", 7, &counted(7272, 0));
    rings.list("eth7", 8, &counted(1, 1));
    rings.list("lo", 9, "Socket Mode            : TX only\n");
    let before = read();
    rings.list("lo", 7, &counted(7272, 32_728));
    rings.list("any", 10, &counted(5, 2));
    let came = read().since(&before);
    let here: Vec<_> =
        came.here.iter().map(|ring| (ring.inode & 0xff, ring.dropped, ring.every_interface)).collect();
    assert_eq!(here, [(7, Some(32_728), false), (10, Some(2), true)]);
    let ring = &came.here[0];
    assert_eq!((ring.method, ring.accepted, ring.at_least), (Method::PfRing, Some(0), false));
    assert_eq!((ring.processes[0].pid, ring.interface.as_deref()), (std::process::id(), Some("lo")));
    assert_eq!(ring.ring.map(|ring| ring.block_octets), Some(6_467_584));
    let elsewhere: Vec<_> = came.elsewhere.iter().map(|ring| (ring.inode & 0xff, ring.receives)).collect();
    assert_eq!((elsewhere, came.unknown), (vec![(8, true), (9, false)], None));
}

#[test]
fn rings_that_cannot_be_read_are_unknown_and_none_without_the_module() {
    let mut sockets = Sockets::default();
    sockets.add_rings("/none/pf_ring".as_ref(), here());
    assert_eq!(sockets, Sockets::default());
    // Not a folder.
    sockets.add_rings("/proc/version".as_ref(), here());
    assert!(sockets.unknown.unwrap().starts_with("rings of PF_RING are unknown: /proc/version: "));
}

#[test]
fn counters_that_the_owner_read_are_lower_bounds() {
    let at = |packets, dropped| {
        let record = Record { packets, dropped, ..ring(5, 1) };
        of(&[record])
    };
    let since = |now: Sockets, then: Sockets| now.since(&then).here.remove(0);
    let delta = since(at(30, 9), at(10, 7));
    assert_eq!((delta.accepted, delta.dropped, delta.at_least), (Some(20), Some(2), false));
    let delta = since(at(3, 9), at(10, 7));
    assert_eq!((delta.accepted, delta.dropped, delta.at_least), (Some(3), Some(9), true));
    let elsewhere = |dropped| of(&[Record { space: 2, dropped, ..ring(9, 1) }]);
    assert_eq!(elsewhere(9).since(&elsewhere(7)).elsewhere[0].dropped, Some(2));
    assert_eq!(since(at(30, 9), Sockets::default()).dropped, Some(9), "a new one counts from 0");
}

#[test]
fn without_the_program_the_drops_of_a_ring_are_unknown_and_those_of_a_queue_are_not() {
    let queue = Seen { inode: 5, protocol: 3, interface: 4, drops: Some(6), ..Seen::default() };
    let ring = Seen { inode: 6, ring: Some([4096, 2, 2048, 4]), version: 1, ..queue.clone() };
    let found = without_records("needs root", Ok(vec![queue, ring]), here());
    assert_eq!((found.here[0].dropped, found.here[1].dropped), (Some(6), None));
    assert_eq!(found.here[1].cut_to, Some(2048 - 66));
    assert!(found.unknown.unwrap().contains("needs root") && found.scope == Scope::NetNamespace);
    let none = without_records("needs root", Err(std::io::Error::other("no such thing")), here());
    assert!(none.here.is_empty() && none.unknown.unwrap().contains("no such thing"));
}

#[test]
fn a_kind_of_socket_that_the_kernel_does_not_describe_is_said() {
    let record = Record { readable: 0, family: 44, ..ring(5, 1) };
    let found = of(&[record]);
    assert!(found.here.is_empty() && found.unknown.unwrap().contains("without BTF"));
}

#[test]
fn a_socket_that_no_visible_process_has_open_is_listed_and_said_to_be_one() {
    let stray =
        Seen { inode: 6, protocol: 3, interface: 4, ring: Some([4096, 2, 2048, 4]), ..Seen::default() };
    let found = from_records(&[ring(5, 1)], &[], &[stray], here());
    assert_eq!((found.here.len(), found.here[1].processes.len(), found.here[1].dropped), (2, 0, None));
    assert!(found.unknown.unwrap().contains("no process that can be seen"));
}

#[test]
fn in_a_container_it_is_said_that_the_hosts_sockets_are_missing() {
    let contained = Where { scope: Scope::PidNamespace, ..here() };
    let found = from_records(&[ring(5, 1)], &[], &[], contained);
    assert!(found.unknown.unwrap().contains("run it on the host"));
    assert_eq!(found.scope, Scope::PidNamespace);
}

/// What happens to a socket between two readings: frames are lost, then perhaps its owner reads its counters, which resets
/// them, and then more are lost.
fn happenings() -> impl Strategy<Value = Vec<(u64, bool, u64)>> {
    prop::collection::vec((0..1000_u64, prop::bool::weighted(0.3), 0..1000_u64), 1..30)
}

proptest! {
    #[test]
    fn a_tally_never_exceeds_the_losses_and_is_exact_without_resets(happenings in happenings(), every in 1..5_usize) {
        let at = |dropped| of(&[Record { dropped, ..ring(5, 1) }]);
        let mut tally = Tally::new(at(0));
        let (mut counter, mut lost, mut intervals) = (0, 0, 0);
        let was_reset = happenings.iter().any(|(_, resets, _)| *resets);
        for (number, (before, resets, after)) in happenings.iter().enumerate() {
            counter = if *resets { *after } else { counter + before + after };
            lost += before + after;
            tally.add(at(counter));
            if number % every == 0 || number + 1 == happenings.len() {
                intervals += tally.take().here[0].dropped.unwrap();
            }
        }
        let reported = tally.total().here[0].dropped.unwrap();
        prop_assert_eq!(reported, intervals);
        prop_assert!(reported <= lost && (was_reset || reported == lost), "{reported} of {lost}");
    }
}

#[test]
fn whose_owner_was_once_seen_to_read_stays_marked() {
    let at = |dropped| of(&[Record { dropped, ..ring(5, 1) }]);
    let mut tally = Tally::new(at(9));
    let mut lost = |dropped| {
        tally.add(at(dropped));
        let socket = tally.take().here.remove(0);
        (socket.dropped, socket.at_least)
    };
    assert_eq!(lost(12), (Some(3), false));
    assert_eq!(lost(2), (Some(2), true));
    // Perhaps 2 more were lost and then, after a second reading, 5: unknown.
    assert_eq!(lost(5), (Some(3), true));
}

#[test]
fn a_socket_that_closed_stays_in_the_sum() {
    let mut tally = Tally::new(of(&[ring(5, 1)]));
    tally.add(of(&[Record { dropped: 9, ..ring(5, 1) }, ring(6, 1)]));
    tally.add(of(&[ring(6, 1)]));
    let seen = tally.take();
    let all: Vec<_> = seen.here.iter().map(|socket| (socket.inode, socket.dropped, socket.closed)).collect();
    assert_eq!(all, [(6, Some(7), false), (5, Some(2), true)]);
    assert_eq!(tally.take().here.len(), 1, "the next interval has what is open");
}

#[test]
fn a_socket_that_is_bound_anew_is_listed_once() {
    let unbound = Record { interface: 9, ..ring(5, 1) };
    let mut tally = Tally::new(of(&[unbound]));
    tally.add(of(&[Record { dropped: 8, ..unbound }]));
    tally.add(of(&[Record { dropped: 9, ..ring(5, 1) }]));
    let seen = tally.take();
    assert_eq!((seen.here.len(), seen.elsewhere.len(), seen.here[0].dropped), (1, 0, Some(2)));
}

/// All that is known of the sockets of a sum: how many, what they took and lost, by whether they captured here.
fn totals(sockets: &Sockets) -> [(u64, u64, u64); 2] {
    [true, false].map(|here| {
        let list = if here { &sockets.here } else { &sockets.elsewhere };
        let rows = list.iter().map(|socket| (1, socket.accepted.unwrap(), socket.dropped.unwrap()));
        let groups = sockets.closed.iter().filter(|group| group.here == here);
        let groups = groups.map(|group| (group.sockets, group.accepted, group.dropped));
        rows.chain(groups).fold((0, 0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2))
    })
}

proptest! {
    // Each reading asks /proc for its processes.
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Each socket lives from one reading to another, and loses so much at each.
    #[test]
    fn sums_of_closed_sockets_lose_nothing_and_stay_small(
        lives in prop::collection::vec((0..60_usize, 1..20_usize, 0..50_u64, any::<bool>()), 1..400),
        every in 1..5_usize,
    ) {
        let at = |moment: usize| {
            let alive = |(inode, (from, length, per_reading, elsewhere)): (usize, &(usize, usize, u64, bool))| {
                let age = (moment + 1).checked_sub(from + 1).filter(|age| age < length)? as u64;
                let (packets, dropped) = (3 * (age + 1), per_reading * (age + 1));
                Some(Record { packets, dropped, space: 1 + u32::from(*elsewhere), ..ring(inode as u64 + 1, 1) })
            };
            of(&lives.iter().enumerate().filter_map(alive).collect::<Vec<_>>())
        };
        let mut tally = Tally::new(Sockets::default());
        for moment in 0..80 {
            tally.add(at(moment));
            let interval = if moment % every == 0 { tally.take() } else { Sockets::default() };
            for sum in [tally.total(), &interval] {
                let kept = sum.all().filter(|socket| socket.closed).count();
                prop_assert!(kept <= tally::KEPT && sum.closed.len() <= 2, "{kept} {:?}", sum.closed);
            }
        }
        let total = tally.total();
        let expected = [false, true].map(|elsewhere| {
            let own = lives.iter().filter(|(.., other)| *other == elsewhere);
            own.fold((0, 0, 0), |sum, (_, length, per_reading, _)| {
                let readings = *length as u64;
                (sum.0 + 1, sum.1 + 3 * readings, sum.2 + per_reading * readings)
            })
        });
        prop_assert_eq!(totals(total), expected);
        // Those with separate rows lost most.
        let least = total.all().map(|socket| socket.dropped.unwrap()).min().unwrap();
        let mut lost: Vec<_> = lives.iter().map(|(_, length, per_reading, _)| *length as u64 * per_reading).collect();
        lost.sort_unstable();
        let place = lost.len().saturating_sub(tally::KEPT);
        prop_assert_eq!(least, lost[place]);
    }
}
