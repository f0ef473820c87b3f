//! How many frames a link can carry: its speed by sysfs (Documentation/ABI/testing/sysfs-class-net), and the octets that
//! a frame takes on the wire.

use capbench_sys::host::SysfsView;

use crate::bed::{Bed, Side};
use crate::error::Result;

/// Octets on the wire beside the frame: preamble, start of frame and the gap between two frames (IEEE 802.3).
const OVERHEAD: f64 = 20.0;

/// Most frames per second of this mean size; `None` where a side has no speed. Virtual interfaces have none: what they
/// report there (veth: 10 Gbit/s) limits nothing.
///
/// # Errors
/// When the namespace of a side cannot be entered.
pub(super) fn of(bed: &Bed, mean_octets: f64) -> Result<Option<f64>> {
    if bed.is_virtual() {
        return Ok(None);
    }
    let speeds = [megabits(bed.transmit_side())?, megabits(bed.receive_side())?];
    let slower = speeds.into_iter().collect::<Option<Vec<_>>>().and_then(|speeds| speeds.into_iter().min());
    Ok(slower.map(|megabits| frames_per_second(megabits, mean_octets)))
}

fn frames_per_second(megabits: u32, mean_octets: f64) -> f64 {
    f64::from(megabits) * 1e6 / ((mean_octets + OVERHEAD) * 8.0)
}

/// The speed of a physical interface.
fn megabits(side: &Side) -> Result<Option<u32>> {
    // Only virtual devices have a kind (rtnetlink: IFLA_INFO_KIND).
    if side.links().by_index(side.index())?.kind.is_some() {
        return Ok(None);
    }
    let file = format!("class/net/{}/speed", side.name());
    // Without privilege for a view of its own, or with a driver that does not say, the speed is unknown.
    let text = side.run(|| SysfsView::of_current_namespace()?.read(&file))?.ok();
    Ok(text.and_then(|text| parse(&text)))
}

/// Megabits per second; a driver that does not know writes -1.
fn parse(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|megabits| *megabits > 0)
}

#[cfg(test)]
mod tests {
    use super::{frames_per_second, parse};

    #[test]
    fn a_gigabit_carries_1488095_of_the_shortest_frames() {
        assert_eq!(frames_per_second(1000, 64.0) as u64, 1_488_095);
        assert_eq!(frames_per_second(10_000, 1518.0) as u64, 812_743);
    }

    #[test]
    fn an_unknown_speed_is_none() {
        assert_eq!((parse("1000\n"), parse("-1"), parse(""), parse("0")), (Some(1000), None, None, None));
    }
}
