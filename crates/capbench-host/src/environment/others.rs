//! Other programs that read packets on this host, or move interrupts.

use capbench_model::environment::others::{AttachedProgram, Others};

use super::packet_sockets;
use super::tree::Tree;
use crate::links::Links;

/// The ones that run now.
pub(super) fn read(root: &impl Tree) -> Others {
    let sockets = root.text("proc/net/packet").as_deref().and_then(packet_sockets::parse);
    Others {
        packet_sockets: sockets.as_ref().map(|all| all.len() as u64),
        packet_sockets_of_all_protocols: sockets
            .map(|all| all.iter().filter(|socket| socket.takes_all).count() as u64),
        xdp_programs: xdp_programs(),
        irqbalance_running: irqbalance(root),
    }
}

fn xdp_programs() -> Option<Vec<AttachedProgram>> {
    let links = Links::of_current_namespace().ok()?.all().ok()?;
    let programs = links.into_iter().filter_map(|link| {
        let attached = link.xdp?.word()?.into();
        Some(AttachedProgram { interface: link.name, attached })
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
    use super::super::tree::tests::Made;
    use super::*;

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
    fn the_programs_of_this_namespace_are_listed() {
        assert!(xdp_programs().is_some());
    }
}
