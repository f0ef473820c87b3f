//! What to change: a pure function of the results.

mod of_place;
mod of_socket;
mod room;

use capbench_model::figures::grouped;

use crate::look::{Advice, Look};
use of_place::of_place;
use of_socket::of_socket;

/// Advice for every place that lost frames, highest loss first, sockets on all interfaces last.
pub(crate) fn advise(look: &Look) -> Vec<Advice> {
    let mut all: Vec<_> = look.sockets.here.iter().filter_map(|socket| of_socket(look, socket)).collect();
    for lost in &look.lost {
        let Some(frames) = lost.frames.filter(|frames| *frames > 0) else { continue };
        if let Some((cause, change)) = of_place(look, lost.place) {
            let who = format!("{} ({})", lost.place_name(), lost.source);
            all.push(Advice { place: lost.place, lost: frames, at_most: false, who, cause, change });
        }
    }
    // Losses that may belong to another interface come after losses of this one.
    all.sort_by_key(|advice| (advice.at_most, std::cmp::Reverse(advice.lost)));
    all
}

/// One sentence: whether frames are lost now, and the place with the highest loss.
pub(crate) fn verdict(look: &Look) -> String {
    let rate = |count: u64| rounded(count as f64 / look.seconds);
    let interface = &look.interface;
    if let Some(first) = look.advice.first() {
        let more = match look.advice.len() - 1 {
            0 => String::new(),
            others => format!("; {others} other place{} too", if others == 1 { " loses" } else { "s lose" }),
        };
        let whose = if first.at_most {
            format!(", of all interfaces: at most so many of {interface}")
        } else {
            String::new()
        };
        return format!(
            "{} loses {} packets/s ({} in {:.1} s{whose}){more}",
            first.who,
            rate(first.lost),
            first.lost,
            look.seconds
        );
    }
    let known = if look.sockets.unknown.is_some() || look.lost.iter().any(|lost| lost.frames.is_none()) {
        ", as far as can be told"
    } else {
        ""
    };
    let earlier = match look.sockets.here.iter().filter(|socket| socket.dropped_in_all > Some(0)).count() {
        0 => "",
        _ => "; what sockets lost earlier is in their list",
    };
    if !look.up {
        return format!("{interface} is down: nothing arrives; `ip link set {interface} up` sets it up");
    }
    let Some(received) = look.received else {
        return format!(
            "nothing is lost, as far as can be told; how much arrives on {interface} is unknown{earlier}"
        );
    };
    if received == 0 {
        let carrier = if look.carrier { "" } else { " (it has no carrier)" };
        return format!("nothing arrives on {interface}{carrier} and nothing is lost{known}{earlier}");
    }
    format!("nothing is lost{known}: {} packets/s arrive on {interface}{earlier}", rate(received))
}

/// A rate without meaningless digits.
fn rounded(rate: f64) -> String {
    if rate > 0.0 && rate < 10.0 { format!("{rate:.1}") } else { grouped(rate) }
}
