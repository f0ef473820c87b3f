//! `capbench record --format verbatim` and `capbench convert`: blocks of the ring in a file give every frame, once, with what was
//! lost before it.

use std::fs;

use crate::support::recording::counted_by_others;
use crate::support::{
    File, HOST, Namespaces, Recording, Scratch, capbench, run, scratch_of_root, send, test_bed,
};

const FRAMES: u64 = 20_000;
/// Small blocks, so that many are full; a ring that holds all frames, on a busy host too.
const VERBATIM: &str = "--method packet-v3 --format verbatim --block 64KiB --ring 16MiB";

fn traffic(more: &str) -> String {
    format!("--rate 50000 --size imix -c {FRAMES} --trial 7 {more}")
}

/// How many blocks of a ring are in a file: each begins a page with this type.
fn blocks(file: &std::path::Path) -> usize {
    let octets = fs::read(file).unwrap();
    octets.chunks(4096).filter(|page| page.starts_with(&0xcab1_0c01_u32.to_le_bytes())).count()
}

#[test]
fn root_blocks_of_the_ring_hold_every_frame_and_become_a_file_that_others_read() {
    let Some(folder) = scratch_of_root() else { return };
    for (name, arguments, vlan, snap) in [
        ("plain", "", None, None),
        ("tagged", "--zstd", Some(7), None),
        ("cut", "--snaplen 96", None, Some(96)),
    ] {
        let spaces = Namespaces::make();
        let file = folder.file(&format!("{name}.verbatim"));
        let recording = Recording::start(&spaces.right, &file, &format!("{VERBATIM} {arguments}"));
        send(&spaces, &traffic(&vlan.map_or(String::new(), |id| format!("--vlan {id}"))));
        let (_, document) = recording.interrupt();
        let ledger = &document["interfaces"][0];
        for (key, expected) in
            [("accepted", FRAMES), ("taken", FRAMES), ("written", FRAMES), ("in_hand", 0), ("unexplained", 0)]
        {
            assert_eq!(ledger[key], expected, "{name}: {key}: {document:#}");
        }
        let mut stored = file.clone().into_os_string();
        if arguments.contains("zstd") {
            stored.push(".zst");
        } else {
            assert!(blocks(&file) > 10, "{name}: {} blocks", blocks(&file));
            let read = File::read(&file, 7, vlan, snap);
            assert!(read.holds_once(FRAMES) && read.format.name() == "verbatim", "{name}");
        }
        let written = folder.file(&format!("{name}.pcapng"));
        run(HOST, capbench("convert").arg(&stored).arg(&written)).success();
        let read = File::read(&written, 7, vlan, snap);
        assert!(read.holds_once(FRAMES) && !read.ends_early, "{name}: {}", read.packets.len());
        assert_eq!(counted_by_others(&written), [FRAMES; 2], "{name}");
        let last = read.last_statistics(0);
        assert_eq!((last.accepted, last.system_dropped), (Some(FRAMES), Some(0)), "{name}: {last:?}");
        let classic = folder.file(&format!("{name}.pcap"));
        run(HOST, capbench("convert").arg(&written).arg(&classic)).success();
        assert_eq!(counted_by_others(&classic), [FRAMES; 2], "{name}");
    }
}

#[test]
fn root_files_end_where_they_are_to_end_though_blocks_do_not() {
    let Some((folder, spaces)) = test_bed() else { return };
    let file = folder.file("ring");
    let recording =
        Recording::start(&spaces.right, &file, &format!("{VERBATIM} --file-packets 6000 -c 15000"));
    send(&spaces, &traffic(""));
    recording.end();
    let read = |name: &str| File::read(&folder.file(name), 7, None, None);
    let files = ["ring", "ring1", "ring2"].map(read);
    assert_eq!(files.each_ref().map(|file| file.packets.len()), [6000, 6000, 3000]);
    assert!(files.iter().flat_map(File::sequences).eq(0..15_000));
    assert!(files.iter().all(|file| !file.statistics.is_empty() && !file.ends_early));
    assert!(blocks(&file) > 5);
}

#[test]
fn convert_says_what_is_wrong_with_its_input() {
    let folder = Scratch::new();
    let convert = |name: &str, octets: &[u8]| {
        fs::write(folder.file(name), octets).unwrap();
        run(HOST, capbench("convert").arg(folder.file(name)).arg(folder.file("out.pcapng")))
    };
    for (name, octets, said) in [
        ("empty", &[][..], "empty: the file is empty"),
        ("text", b"some text", "text: the file is neither pcap nor pcapng: it begins with"),
        (
            "later",
            b"capbench verbatim 2\n",
            "later: the file is a verbatim file that ends early, or of another version",
        ),
        ("squeezed", &[0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3], "squeezed: the file cannot be read"),
    ] {
        let ended = convert(name, octets);
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        assert!(ended.errors.contains(said), "{ended:#?}");
    }
    let mut pcap = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
    pcap.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
    pcap.extend([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 60, 0, 0, 0, 7, 7, 7]);
    pcap.extend([1, 0, 0, 0]);
    let ended = convert("cut.pcap", &pcap);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(
        ended.errors.contains("cut.pcap ends within a record; everything before it, 1 packets"),
        "{ended:#?}"
    );
    assert_eq!(counted_by_others(&folder.file("out.pcapng")), [1; 2]);
    let same = run(HOST, capbench("convert").args([folder.file("cut.pcap"), folder.file("cut.pcap")]));
    assert_eq!(same.code, Some(2), "{same:#?}");
    assert_eq!(fs::read(folder.file("cut.pcap")).unwrap(), pcap, "it is as it was");
    let squeezed = folder.file("small.pcap.zst");
    run(HOST, capbench("convert --zstd=1").arg(folder.file("out.pcapng")).arg(&squeezed)).success();
    let octets = fs::read(&squeezed).unwrap();
    for name in ["small.pcap", "small.pcap.zst"] {
        let same = run(HOST, capbench("convert --zstd=19").arg(&squeezed).arg(folder.file(name)));
        assert_eq!(same.code, Some(2), "{name}: {same:#?}");
        assert_eq!(fs::read(&squeezed).unwrap(), octets, "{name}: it is as it was");
    }
    let back = folder.file("back.pcapng");
    run(HOST, capbench("convert").arg(&squeezed).arg(&back)).success();
    assert_eq!(counted_by_others(&back), [1; 2]);
}
