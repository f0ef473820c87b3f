//! Rings, offloads and interrupt moderation of the card.

use super::{Judgement, Stands, Wishes, with_number};
use crate::facts::Facts;
use crate::setting::{OffloadName, Proposal, Setting};

/// A longer ring than this only takes more of the CPU's cache.
const LONG_RING: u32 = 4096;

pub(super) fn rings(facts: &Facts, _: &Wishes) -> Judgement {
    let Some(rings) = facts.card.rings else { return Judgement::absent("the driver has no rings") };
    let (now, most) = (rings.receive_descriptors, rings.most_receive_descriptors.min(LONG_RING));
    let is = format!("the receive ring has {now} of {} descriptors", rings.most_receive_descriptors);
    if now >= most {
        return Judgement::fine(is);
    }
    let why = "a ring keeps the frames that arrive while the CPU of its queue does something else; the card drops those that \
               find it full";
    Judgement::new(Stands::Against, is, why).better(format!("{most} descriptors")).by(with_number(
        facts,
        Setting::Rings,
        0,
        most,
    ))
}

pub(super) fn offloads(facts: &Facts, _: &Wishes) -> Judgement {
    let is_on = |which| facts.settings.get(&Setting::Offload(which)).map(|value| value != "0");
    let joining: Vec<OffloadName> = [OffloadName::Gro, OffloadName::Lro]
        .into_iter()
        .filter(|which| is_on(*which) == Some(true))
        .collect();
    let words = |which: &[OffloadName]| which.iter().map(|one| one.word()).collect::<Vec<_>>().join(" and ");
    if !joining.is_empty() {
        let is = format!("{} join received segments", words(&joining));
        let why =
            "a capture sees packets that were not on the wire, longer than the MTU, and too few of them";
        let off = |which: &OffloadName| Proposal { setting: Setting::Offload(*which), value: "0".into() };
        return Judgement::new(Stands::Against, is, why)
            .better(format!("{} off", words(&joining)))
            .by(joining.iter().map(off).collect());
    }
    if is_on(OffloadName::ReceiveVlan) == Some(true) {
        let why =
            "packet sockets report the removed tag next to the frame; AF_XDP and DPDK programs do not see it";
        return Judgement::new(Stands::Note, "the card removes VLAN tags of received frames (rxvlan)", why)
            .better(format!("ethtool -K {} rxvlan off, for those programs", facts.interface));
    }
    match is_on(OffloadName::Gro) {
        None => Judgement::absent("the driver reports no offloads"),
        Some(_) => Judgement::fine("gro and lro join no segments"),
    }
}

pub(super) fn moderation(facts: &Facts, _: &Wishes) -> Judgement {
    let Some(now) = facts.card.moderation else {
        return Judgement::absent("the driver has no interrupt moderation");
    };
    let measure = "`capbench sweep coalesce` measures which delay is best here";
    if now.receive_adaptive {
        let why =
            "the delay follows the traffic, so CPU time and latency at one rate differ from time to time";
        return Judgement::new(Stands::Note, "adaptive", why).better(measure);
    }
    if now.receive_us == 0 {
        let is = "an interrupt at once after a received frame";
        let why = "at low rates each frame has an interrupt; at high rates the kernel polls anyway";
        return Judgement::new(Stands::Note, is, why).better(measure);
    }
    Judgement::fine(format!("an interrupt up to {} µs after a received frame", now.receive_us))
}
