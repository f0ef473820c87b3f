//! What the start of a recording says about the slots of its ring: how large they are, why, and what larger ones cost.

use anyhow::Result;
use capbench_capture::Interface;
use capbench_capture::backends::frame_slots::slot_for;
use capbench_host::bed::Side;
use capbench_host::largest_frame::{FrameCause, LargestFrame};
use capbench_model::options::CaptureOptions;
use capbench_model::running::{RingGeometry, Running};
use capbench_model::units::ByteCount;
use capbench_record::recording::Plan;

/// The longest frame of each interface of a plan, in their order.
pub fn largest_frames(plan: &Plan) -> Result<Vec<LargestFrame>> {
    let mut all = Vec::new();
    for source in &plan.sources {
        let side = Side::named(&source.interface.name)?;
        all.push(LargestFrame::of_interface(&side, source.options.direction)?);
    }
    Ok(all)
}

/// The line about a running ring of slots; `None` for other rings.
pub fn in_words(
    interface: &Interface,
    options: &CaptureOptions,
    largest: &LargestFrame,
    running: &Running,
) -> Option<String> {
    let RingGeometry::Slots { slots, slot_bytes, bytes } = running.ring else { return None };
    let Interface { name, mtu, .. } = interface;
    let snap = options.snap_length.octets();
    let cause = if options.frame.is_some() {
        "as --frame asks".into()
    } else if snap < largest.octets {
        format!("for the {snap} octets that -s keeps of a frame")
    } else {
        format!("for frames of up to {} octets: {}", largest.octets, cause_in_words(&largest.cause))
    };
    let usual = slot_for(LargestFrame::of_mtu(*mtu).octets.into());
    // With --frame the user decided.
    let fewer = match slot_bytes > usual && options.frame.is_none() {
        true => {
            let short = format!("-s {}", LargestFrame::of_mtu(*mtu).octets);
            let remedy = command(&largest.cause)
                .map_or_else(|| short.clone(), |command| format!("{command}, or {short},"));
            format!("; slots for its MTU of {mtu} would be {}: {remedy} makes slots small", bytes / usual)
        }
        false => String::new(),
    };
    Some(format!("{name}: {slots} slots of {} {cause}{fewer}", ByteCount(slot_bytes)))
}

fn cause_in_words(cause: &FrameCause) -> String {
    match cause {
        FrameCause::Mtu(mtu) => format!("its MTU is {mtu}, and no offload makes frames longer"),
        FrameCause::Offload { interface, offloads, limit, .. } => {
            let on = match &offloads[..] {
                [one] => format!("{one} of {interface} is on"),
                [first, more @ ..] => {
                    format!("{first} and {} more offloads of {interface} are on", more.len())
                }
                [] => format!("offloads of {interface} are on"),
            };
            format!("{on}, with packets of up to {limit}")
        }
        FrameCause::UnreadablePeer { limit } => {
            format!("its peer cannot be read, and may pass on packets of up to {limit}")
        }
        FrameCause::Behind { interface, limit } => {
            format!("it passes on frames of others, and {interface} has packets of up to {limit}")
        }
    }
}

/// The command of ethtool(8) after which frames are no longer than the MTU allows; `None` if no single one does that.
fn command(cause: &FrameCause) -> Option<String> {
    let FrameCause::Offload { interface, is_elsewhere, offloads, is_removable: true, .. } = cause else {
        return None;
    };
    let mut names = Vec::new();
    for offload in offloads {
        let name = short_name(offload);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let place = if *is_elsewhere { " in the network namespace of its peer" } else { "" };
    Some(format!("ethtool -K {interface} {} off{place}", names.join(" off ")))
}

/// The name by which ethtool(8) sets an offload, or a group of them.
fn short_name(offload: &str) -> &str {
    match offload {
        "tx-generic-segmentation" => "gso",
        _ if offload.starts_with("tx-tcp") => "tso",
        _ => offload,
    }
}

#[cfg(test)]
mod tests {
    use capbench_model::running::{Engine, TimeSource};
    use capbench_model::units::SnapLength;
    use capbench_sys::host::InterfaceIndex;

    use super::*;

    fn line(options: &CaptureOptions, largest: &LargestFrame, slot_bytes: u64) -> String {
        let interface = Interface::new("rx0", InterfaceIndex::new(1).unwrap(), 1500);
        let slots = (8 << 20) / slot_bytes;
        let ring = RingGeometry::Slots { slots: slots as u32, slot_bytes, bytes: 8 << 20 };
        let running = Running::new("packet-v2", Engine::default(), ring, TimeSource::None);
        in_words(&interface, options, largest, &running).unwrap()
    }

    #[test]
    fn the_line_says_why_slots_are_large_and_what_they_cost() {
        let options = CaptureOptions::default();
        let joined = FrameCause::Offload {
            interface: "tx0".into(),
            is_elsewhere: true,
            offloads: ["tx-tcp-segmentation", "tx-udp-segmentation", "tx-tcp-ecn-segmentation"]
                .map(String::from)
                .into(),
            is_removable: true,
            limit: 65_536,
        };
        let joined = LargestFrame { octets: 65_558, cause: joined };
        assert_eq!(
            line(&options, &joined, 65 << 10),
            "rx0: 126 slots of 65KiB for frames of up to 65558 octets: tx-tcp-segmentation and 2 more offloads of tx0 are on, \
             with packets of up to 65536; slots for its MTU of 1500 would be 4096: ethtool -K tx0 tso off tx-udp-segmentation off \
             in the network namespace of its peer, or -s 1522, makes slots small"
        );
        let unreadable = LargestFrame { octets: 65_558, cause: FrameCause::UnreadablePeer { limit: 65_536 } };
        let alone = line(&options, &unreadable, 65 << 10);
        assert!(alone.ends_with("would be 4096: -s 1522 makes slots small"), "{alone}");
        let asked = CaptureOptions { frame: Some(ByteCount(128 << 10)), ..options.clone() };
        assert_eq!(line(&asked, &joined, 128 << 10), "rx0: 64 slots of 128KiB as --frame asks");
        assert_eq!(
            line(&options, &LargestFrame::of_mtu(1500), 2048),
            "rx0: 4096 slots of 2KiB for frames of up to 1522 octets: its MTU is 1500, and no offload makes frames longer"
        );
        let short = CaptureOptions { snap_length: SnapLength::new(96), ..options };
        assert_eq!(
            line(&short, &joined, 1024),
            "rx0: 8192 slots of 1KiB for the 96 octets that -s keeps of a frame"
        );
    }
}
