//! What the start of a recording advises about large slots works.

use crate::support::{Namespaces, Recording, Running, Scratch, capbench, test_bed};

/// The line about slots of a recording that begins and ends.
fn line_about_slots(spaces: &Namespaces, folder: &Scratch, arguments: &str) -> String {
    let arguments = format!("--method packet-v2 --ring 4MiB {arguments}");
    let (ended, _) = Recording::start(&spaces.right, &folder.file("f.pcapng"), &arguments).interrupt();
    let line = ended.errors.lines().find(|line| line.starts_with("capbench: right: "));
    line.unwrap_or_else(|| panic!("{ended:#?}")).into()
}

#[test]
fn root_the_printed_remedy_makes_slots_small() {
    let Some((folder, spaces)) = test_bed() else { return };
    for (place, end) in [(&spaces.left, "left"), (&spaces.right, "right")] {
        place.ip(&format!("link set dev {end} gso_max_size 65536 gro_max_size 65536"));
    }
    // The recorder finds the peer's namespace by a process in it.
    let mut inside = Running::start(&spaces.left, capbench("count -i left --method packet-v2"));
    inside.wait_for("packet-v2 on left");
    let line = |arguments| line_about_slots(&spaces, &folder, arguments);
    assert!(!line("--frame 131072").contains("makes slots small"), "--frame decides");

    // Packets of both directions: offloads of two interfaces make slots large.
    let both = line("");
    let remedy = both.strip_suffix(" makes slots small").unwrap_or_else(|| panic!("{both}"));
    let (_, snap) = remedy.rsplit_once(": ").unwrap();
    assert_eq!(snap, "-s 1522", "{both}");
    assert!(line(snap).contains(" slots of 2KiB"), "{snap}");

    let received = line("-Q in");
    let (_, remedy) = received.split_once(": ethtool ").unwrap_or_else(|| panic!("{received}"));
    let (command, _) = remedy.split_once(" in the network namespace of its peer, or -s 1522, ").unwrap();
    spaces.left.run("ethtool", command);
    let small = line("-Q in");
    assert!(small.contains(" slots of 2KiB for frames of up to 1522 octets: its MTU is 1500"), "{small}");
}
