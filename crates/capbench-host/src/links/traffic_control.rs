//! Queueing disciplines of an interface and their filters: rtnetlink(7), `linux/pkt_sched.h`, `linux/pkt_cls.h`.

use capbench_model::environment::interface::TrafficControl;
use capbench_sys::host::InterfaceIndex;

use super::exchange::{Answer, u32_at};
use super::message::attribute;
use super::{Links, netlink_error};
use crate::Result;

// linux/rtnetlink.h
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const RTM_NEWTFILTER: u16 = 44;
const RTM_GETTFILTER: u16 = 46;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
/// `TCA_BPF_NAME` of linux/pkt_cls.h.
const TCA_BPF_NAME: u16 = 7;
/// Bytes of `struct tcmsg`: family, interface, handle, parent and a word of information.
const HEADER_LEN: usize = 20;
const INTERFACE_AT: usize = 4;
/// Ingress and egress filters of `clsact` and `ingress` (`TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS)`).
const HOOKS: [(&str, u32); 2] = [("ingress", 0xffff_fff2), ("egress", 0xffff_fff3)];

impl Links {
    /// The kinds of queueing disciplines of an interface, each once, with the filters of those with hooks.
    ///
    /// # Errors
    /// The kernel does not report them, for example without traffic control.
    pub fn disciplines(&self, interface: InterfaceIndex) -> Result<Vec<TrafficControl>> {
        let failed = |attempt: &'static str| {
            move |source| netlink_error(&format!("number {interface}"), attempt, source)
        };
        let answers = self
            .dump_by(RTM_GETQDISC, &request(interface, 0))
            .map_err(failed("list its queueing disciplines"))?;
        let mut found: Vec<TrafficControl> = Vec::new();
        for discipline in answers.iter().filter_map(|answer| discipline(answer, interface)) {
            if found.iter().all(|known| known.discipline != discipline) {
                found.push(TrafficControl { discipline, filters: Vec::new() });
            }
        }
        for TrafficControl { discipline, filters } in &mut found {
            let hooks = match discipline.as_str() {
                "clsact" => &HOOKS[..],
                "ingress" => &HOOKS[..1],
                _ => &[],
            };
            for (hook, parent) in hooks {
                let answers = self
                    .dump_by(RTM_GETTFILTER, &request(interface, *parent))
                    .map_err(failed("list the filters of its queueing disciplines"))?;
                for words in answers.iter().filter_map(|answer| filter(answer, interface)) {
                    let words = format!("{hook} {words}");
                    if !filters.contains(&words) {
                        filters.push(words);
                    }
                }
            }
        }
        Ok(found)
    }
}

/// A `struct tcmsg` that requests everything of an interface below a parent.
fn request(interface: InterfaceIndex, parent: u32) -> Vec<u8> {
    [0, interface.number(), 0, parent, 0].map(u32::to_ne_bytes).concat()
}

/// The kind of the discipline in an answer, if it belongs to the interface.
fn discipline(answer: &Answer, interface: InterfaceIndex) -> Option<String> {
    text(attribute(of(answer, RTM_NEWQDISC, interface)?, TCA_KIND)?)
}

/// The kind of the filter in an answer, with the program's name of a BPF filter.
fn filter(answer: &Answer, interface: InterfaceIndex) -> Option<String> {
    let attributes = of(answer, RTM_NEWTFILTER, interface)?;
    let kind = text(attribute(attributes, TCA_KIND)?)?;
    let options = attribute(attributes, TCA_OPTIONS).filter(|_| kind == "bpf");
    let name = options.and_then(|options| attribute(options, TCA_BPF_NAME)).and_then(text);
    Some(name.map_or_else(|| kind.clone(), |name| format!("{kind} {name}")))
}

fn of(answer: &Answer, kind: u16, interface: InterfaceIndex) -> Option<&[u8]> {
    let is_its = answer.kind == kind && u32_at(&answer.body, INTERFACE_AT)? == interface.number();
    is_its.then(|| answer.body.get(HEADER_LEN..))?
}

fn text(value: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(value.split(|octet| *octet == 0).next()?).into_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::message::nla;
    use super::*;

    fn answer(kind: u16, interface: u32, attributes: &[Vec<u8>]) -> Answer {
        let body = [request(InterfaceIndex::new(interface).unwrap(), 0), attributes.concat()].concat();
        Answer { kind, body }
    }

    #[test]
    fn disciplines_and_filters_are_named() {
        let index = InterfaceIndex::new(5).unwrap();
        let queue = answer(RTM_NEWQDISC, 5, &[nla(TCA_KIND, b"fq_codel\0")]);
        assert_eq!(discipline(&queue, index).as_deref(), Some("fq_codel"));
        assert_eq!(discipline(&queue, InterfaceIndex::new(6).unwrap()), None);
        let options = nla(TCA_OPTIONS | 0x8000, &nla(TCA_BPF_NAME, b"cil_from_netdev\0"));
        let program = answer(RTM_NEWTFILTER, 5, &[nla(TCA_KIND, b"bpf\0"), options]);
        assert_eq!(filter(&program, index).as_deref(), Some("bpf cil_from_netdev"));
        let other = answer(RTM_NEWTFILTER, 5, &[nla(TCA_KIND, b"u32\0")]);
        assert_eq!(filter(&other, index).as_deref(), Some("u32"));
        assert_eq!(filter(&Answer { kind: RTM_NEWTFILTER, body: vec![0; 3] }, index), None);
    }

    #[test]
    fn the_loopback_interface_has_no_queue() {
        let links = Links::of_current_namespace().unwrap();
        let lo = links.by_name("lo").unwrap().index;
        let found = links.disciplines(lo).unwrap();
        assert!(found.iter().any(|discipline| discipline.discipline == "noqueue"), "{found:?}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(kind in prop::sample::select(vec![36u16, 44]), body in prop::collection::vec(any::<u8>(), 0..80)) {
            let (answer, index) = (Answer { kind, body }, InterfaceIndex::new(1).unwrap());
            let _ = (discipline(&answer, index), filter(&answer, index));
        }
    }
}
