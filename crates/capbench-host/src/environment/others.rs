//! Other programs that read packets on this host, or move interrupts.

use capbench_model::environment::others::{AttachedProgram, Others};

use super::tree::Tree;
use crate::links::{Links, XdpAttachment};

/// The ones that run now.
pub(super) fn read(root: &impl Tree) -> Others {
    let sockets = root.text("proc/net/packet").as_deref().and_then(packet_sockets);
    Others {
        packet_sockets: sockets.map(|(all, _)| all),
        packet_sockets_of_all_protocols: sockets.map(|(_, every)| every),
        xdp_programs: xdp_programs(),
        irqbalance_running: irqbalance(root),
    }
}

/// Sockets in `/proc/net/packet`, and those of them with every protocol; `None` if the text lacks its header.
fn packet_sockets(text: &str) -> Option<(u64, u64)> {
    const EVERY_PROTOCOL: &str = "0003";
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next()?.split_whitespace().collect();
    let protocol = head.iter().position(|name| *name == "Proto")?;
    let sockets: Vec<&str> = lines.filter(|line| !line.trim().is_empty()).collect();
    let takes_all = |line: &&&str| line.split_whitespace().nth(protocol) == Some(EVERY_PROTOCOL);
    Some((sockets.len() as u64, sockets.iter().filter(takes_all).count() as u64))
}

fn xdp_programs() -> Option<Vec<AttachedProgram>> {
    let links = Links::of_current_namespace().ok()?.all().ok()?;
    let programs = links.into_iter().filter_map(|link| {
        let attached = match link.xdp? {
            XdpAttachment::Detached => return None,
            XdpAttachment::Driver => "driver",
            XdpAttachment::Generic => "generic",
            XdpAttachment::Hardware => "hardware",
            XdpAttachment::Several => "several",
        };
        Some(AttachedProgram { interface: link.name, attached: attached.into() })
    });
    Some(programs.collect())
}

/// Whether a process of this name runs. If the kernel's threads are hidden, other processes may be, too: then unknown.
fn irqbalance(root: &impl Tree) -> Option<bool> {
    let name = |process: &str| root.text(&format!("proc/{process}/comm"));
    let is_process = |entry: &&String| entry.bytes().all(|octet| octet.is_ascii_digit());
    let entries = root.names("proc")?;
    if entries.iter().filter(is_process).any(|process| name(process).as_deref() == Some("irqbalance")) {
        return Some(true);
    }
    (name("2").as_deref() == Some("kthreadd")).then_some(false)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tree::tests::Made;
    use super::*;

    #[test]
    fn sockets_are_counted_with_those_that_take_everything() {
        let text = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n\
                    0000000000000000 3      3    0003   2     1 0      0      31337\n\
                    0000000000000000 3      2    88cc   2     1 0      100    31338\n";
        assert_eq!(packet_sockets(text), Some((2, 1)));
        assert_eq!(packet_sockets(text.lines().next().unwrap()), Some((0, 0)));
        assert_eq!(packet_sockets(""), None);
    }

    #[test]
    fn irqbalance_is_seen_or_not_or_cannot_be_seen() {
        let running = Made::of(&[("proc/2/comm", "kthreadd\n"), ("proc/811/comm", "irqbalance\n")]);
        assert_eq!(irqbalance(&*running), Some(true));
        assert_eq!(
            irqbalance(&*Made::of(&[("proc/2/comm", "kthreadd\n"), ("proc/net/comm", "irqbalance")])),
            Some(false)
        );
        assert_eq!(irqbalance(&*Made::of(&[("proc/1/comm", "sh\n"), ("proc/2/comm", "capbench\n")])), None);
    }

    #[test]
    fn this_namespace_tells_its_programs() {
        assert!(xdp_programs().is_some());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(.{0,10}Proto.{0,10}\\n)?.{0,80}") {
            let _ = packet_sockets(&text);
        }
    }
}
