//! Where one method overtakes another, and why a ring can hurt once it drops.

use super::{Swept, numbers, percent, time};
use crate::findings::Finding;
use crate::sweep::outcome::{Reading, Series};

/// Rates that differ by less, as a part of the larger, are the same.
const SAME: f64 = 0.01;

pub(super) fn find(swept: &Swept<'_>, findings: &mut Vec<Finding>) {
    if swept.outcome.unit.is_none() {
        return;
    }
    for scene in swept.scenes() {
        for (nth, a) in scene.iter().enumerate() {
            for b in &scene[nth + 1..] {
                crossing(swept, a, b, findings);
            }
        }
    }
}

/// Both methods at one point.
#[derive(Clone, Copy)]
struct Pair<'r>(&'r Reading, &'r Reading);

impl Pair<'_> {
    /// How much more the first delivers, where repeats tell the two apart.
    fn lead(self) -> Option<f64> {
        let (a, b) = (self.0.delivered_pps, self.1.delivered_pps);
        let lead = a.median - b.median;
        (a.is_apart_from(&b) && lead.abs() > SAME * a.median.max(b.median)).then_some(lead)
    }
}

fn crossing(swept: &Swept<'_>, a: &Series, b: &Series, findings: &mut Vec<Finding>) {
    let pairs: Vec<Pair<'_>> = a
        .readings
        .iter()
        .filter_map(|left| {
            let right = b.readings.iter().find(|right| right.point == left.point)?;
            Some(Pair(left, right))
        })
        .collect();
    let told: Vec<(Pair<'_>, f64)> = pairs.iter().filter_map(|&pair| Some((pair, pair.lead()?))).collect();
    for two in told.windows(2) {
        let [(before, lead), (after, next)] = two else { continue };
        if lead.signum() == next.signum() {
            continue;
        }
        let (ahead, behind) = if *lead > 0.0 { (a, b) } else { (b, a) };
        let lost = after.0.sent_loss_ratio.median.max(after.1.sent_loss_ratio.median);
        let text = format!(
            "{} delivers more than {} up to {}, and less from {} on, where up to {} of the frames are lost.{}",
            ahead.method,
            behind.method,
            swept.label(before.0),
            swept.label(after.0),
            percent(lost),
            why(
                swept,
                ahead,
                if *lead > 0.0 { after.0 } else { after.1 },
                behind,
                if *lead > 0.0 { after.1 } else { after.0 }
            ),
        );
        let readings = [before.0, before.1, after.0, after.1];
        findings.push(Finding { scene: a.scene(), text, trials: numbers(readings) });
    }
}

/// The two costs that decide it: the kernel's, which every frame that arrives has, and the application's, which only
/// delivered ones have. A ring saves the latter and can raise the former.
fn why(swept: &Swept<'_>, ahead: &Series, first: &Reading, behind: &Series, second: &Reading) -> String {
    let costs = |reading: &Reading| {
        let kernel = swept.median(reading, |trial| trial.cpu.kernel_ns_per_packet)?;
        let own = swept
            .median(reading, |trial| trial.cpu.app_ns_per_packet.filter(|_| !trial.cpu.split_is_sampled))?;
        Some((kernel, own))
    };
    let (Some(a), Some(b)) = (costs(first), costs(second)) else { return String::new() };
    let list = format!(
        "{}: {} of the kernel for every frame that arrives and {} of the application, work included, for every one delivered; {}: {} and {}",
        ahead.method,
        time(a.0),
        time(a.1),
        behind.method,
        time(b.0),
        time(b.1)
    );
    if a.0 > b.0 && a.1 < b.1 {
        format!(
            " It costs the application less and the kernel more, and the kernel pays for lost frames, too ({list})."
        )
    } else {
        format!(" ({list}.)")
    }
}
