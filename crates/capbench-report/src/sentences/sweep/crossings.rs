//! Where one method overtakes another, and why a ring can hurt once it drops.
use std::ptr;

use capbench_judge::sweep::contrasts::{Lead, Leads};
use capbench_judge::sweep::outcome::{Reading, Series, Swept, numbers};
use capbench_results::Finding;

use crate::sentences::{percent, time};

pub(super) fn find(swept: &Swept<'_>, findings: &mut Vec<Finding>) {
    if swept.outcome.unit.is_none() {
        return;
    }
    for scene in swept.scenes() {
        let leads = Leads::of(swept, &scene).told;
        for (nth, a) in scene.iter().enumerate() {
            for b in &scene[nth + 1..] {
                let of_both = leads.iter().filter(|lead| {
                    let pair = [lead.ahead, lead.behind];
                    pair.iter().any(|one| ptr::eq(*one, *a)) && pair.iter().any(|one| ptr::eq(*one, *b))
                });
                crossing(swept, &of_both.filter(|lead| lead.is_notable()).collect::<Vec<_>>(), findings);
            }
        }
    }
}

/// Leads of two methods in point order, where the leader changes at the next point.
fn crossing(swept: &Swept<'_>, leads: &[&Lead<'_>], findings: &mut Vec<Finding>) {
    let mut before: Option<&Lead<'_>> = None;
    for after in leads {
        let crossed = before.filter(|before| {
            !ptr::eq(before.ahead, after.ahead)
                && before.points[before.points.len() - 1].0.point < after.points[0].0.point
        });
        if let Some(before) = crossed {
            let (ahead, behind) = (before.ahead, before.behind);
            let last = before.points[before.points.len() - 1];
            let (second, first) = after.points[0];
            let lost = first.sent_loss_ratio.median.max(second.sent_loss_ratio.median);
            let text = format!(
                "{} keeps up with more than {} up to {} ({}), and with less from {} on ({}), where up to {} of the frames are lost.{}",
                ahead.method,
                behind.method,
                swept.label(last.0),
                before.evidence,
                swept.label(first),
                after.evidence,
                percent(lost),
                why(swept, ahead, first, behind, second),
            );
            let readings = before.points.iter().chain(&after.points).flat_map(|(one, other)| [*one, *other]);
            findings.push(Finding { scene: ahead.scene(), text, fact: None, trials: numbers(readings) });
        }
        let is_further = |before: &Lead<'_>| {
            ptr::eq(before.ahead, after.ahead)
                || before.points[before.points.len() - 1].0.point < after.points[0].0.point
        };
        if before.is_none_or(is_further) {
            before = Some(after);
        }
    }
}

/// The two deciding costs: the kernel's, for every frame that arrives, and the application's, only for delivered frames. A ring
/// reduces the latter and can raise the former.
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
