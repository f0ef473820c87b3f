//! The frame rate of a link: from its speed in sysfs (Documentation/ABI/testing/sysfs-class-net), and the octets of a frame on
//! the wire.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_frames::units::WIRE_OVERHEAD_OCTETS;
use capbench_sys::host::SysfsView;
use capbench_traffic::transmit::TransmitFacts;

use crate::Result;
use capbench_host::bed::{Bed, Side};
use capbench_model::trial::Departed;

/// Highest frame rate in frames per second for this mean size; `None` if a side has no speed. Virtual interfaces have none: the
/// speed that they report (veth: 10 Gbit/s) limits nothing.
///
/// # Errors
/// When the namespace of a side cannot be entered.
pub(super) fn of(bed: &Bed, mean_octets: f64) -> Result<Option<Pps>> {
    if bed.is_virtual() {
        return Ok(None);
    }
    let speeds = [megabits(bed.transmit_side())?, megabits(bed.receive_side())?];
    let slower = speeds.into_iter().collect::<Option<Vec<_>>>().and_then(|speeds| speeds.into_iter().min());
    Ok(slower.and_then(|megabits| of_bits(f64::from(megabits) * 1e6, mean_octets)))
}

/// Highest frame rate of a link with this speed in bits per second, for frames of this mean size in octets, FCS included.
pub fn of_bits(bits_per_second: f64, mean_octets: f64) -> Option<Pps> {
    Pps::new(bits_per_second / ((mean_octets + WIRE_OVERHEAD_OCTETS) * 8.0)).ok()
}

/// The speed of a physical interface in bits per second; `None` if it is unknown.
///
/// # Errors
/// When the namespace of the side cannot be entered.
pub fn bits_per_second(side: &Side) -> Result<Option<f64>> {
    Ok(megabits(side)?.map(|megabits| f64::from(megabits) * 1e6))
}

/// The speed of a physical interface.
fn megabits(side: &Side) -> Result<Option<u32>> {
    // Only virtual devices have a kind (rtnetlink: IFLA_INFO_KIND).
    if side.links().by_index(side.index())?.kind.is_some() {
        return Ok(None);
    }
    let file = format!("class/net/{}/speed", side.name());
    // The speed is unknown without the privilege for a separate view, or if the driver does not report it.
    let text = side.run(|| SysfsView::of_current_namespace()?.read(&file))?.ok();
    Ok(text.and_then(|text| parse(&text)))
}

/// Megabits per second; a driver that does not know its speed writes -1.
fn parse(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|megabits| *megabits > 0)
}

/// When the frames of a sending phase had left. With a ring sending was `over` when the driver had released all but `in_flight`
/// frames. Other methods only know when the last frame was `handed_over`; the send buffer then limits the frames on their way. If
/// nothing limits the send buffer, the time is unknown.
pub(super) fn departed(
    facts: &TransmitFacts,
    in_flight: u64,
    handed_over: Duration,
    over: Duration,
) -> Option<Departed> {
    let (after, under_way) = match (facts.ring_slots, facts.in_flight) {
        (Some(_), _) => (over, in_flight),
        (None, u32::MAX) => return None,
        (None, frames) => (handed_over, frames.into()),
    };
    Some(Departed { after_s: after.as_secs_f64(), under_way })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_traffic::transmit::TransmitFacts;

    use super::{departed, of_bits, parse};
    use capbench_model::trial::Departed;

    #[test]
    fn what_is_on_its_way_is_known_of_a_ring_and_bounded_by_a_send_buffer() {
        let facts = TransmitFacts {
            batch: 64,
            send_buffer_bytes: 0,
            qdisc_bypass: true,
            ring_slots: Some(4096),
            copied_up_to: None,
            in_flight: 2000,
        };
        let over = Duration::from_millis(1003);
        let of = |facts| departed(&facts, 3, Duration::from_secs(1), over);
        assert_eq!(of(facts), Some(Departed { after_s: 1.003, under_way: 3 }));
        let without_ring = TransmitFacts { ring_slots: None, ..facts };
        assert_eq!(of(without_ring), Some(Departed { after_s: 1.0, under_way: 2000 }));
        assert_eq!(of(TransmitFacts { in_flight: u32::MAX, ..without_ring }), None);
    }

    #[test]
    fn a_gigabit_carries_1488095_of_the_shortest_frames() {
        assert_eq!(of_bits(1e9, 64.0).unwrap().get() as u64, 1_488_095);
        assert_eq!(of_bits(1e10, 1518.0).unwrap().get() as u64, 812_743);
    }

    #[test]
    fn an_unknown_speed_is_none() {
        assert_eq!((parse("1000\n"), parse("-1"), parse(""), parse("0")), (Some(1000), None, None, None));
    }
}
