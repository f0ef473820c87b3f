//! What a soak shows, in sentences. A pure function of its record.

use capbench_measure::results::Finding;
use capbench_measure::soak::record::SoakRecord;

use super::{finding, rate};

/// Everything that the record shows.
pub(super) fn find(record: &SoakRecord) -> Vec<Finding> {
    let Some(whole) = &record.whole else { return Vec::new() };
    let kept = record.kept.iter().map(|trial| trial.number).collect::<Vec<_>>();
    let mut texts = vec![if whole.lost() == 0 {
        format!(
            "nothing of {} frames was lost in {:.0} s at {}.",
            whole.counts.sent,
            whole.sending_s,
            rate(whole.offered_pps())
        )
    } else {
        let places: Vec<_> = whole.lost.iter().map(|(place, count)| format!("{count} at {place}")).collect();
        format!(
            "{} of {} frames were lost ({:.3e}), in {} of {} segments: {}.",
            whole.lost(),
            whole.counts.sent,
            record.loss_ratio(),
            whole.lossy,
            whole.segments,
            if places.is_empty() { "where nothing here counts".into() } else { places.join(", ") }
        )
    }];
    if let Some(worst) = &record.worst {
        texts.push(format!(
            "the worst segment began after {:.0} s and lost {} of {} frames, {} of them within 100 ms at most.",
            worst.from_s,
            worst.lost(),
            worst.counts.sent,
            worst.worst_100ms_lost.map_or("an unknown number".into(), |lost| lost.to_string())
        ));
    }
    if let Some(largest) = record.events.iter().max_by_key(|event| event.frames) {
        texts.push(format!(
            "{} of loss, the largest of {} after {:.1} s; {} stored with their time.",
            counted(record.bursts, "burst"),
            counted(largest.frames, "frame"),
            largest.at_s,
            record.events.len()
        ));
    }
    if whole.buffered > 0 {
        texts.push(format!(
            "at the end of {} of {} segments frames lay in buffers, up to {:.3} s of work: {} of {} ({:.3e}) were delivered only \
             because the generator paused, and without pauses they would have added up until some were lost.",
            whole.buffered,
            whole.segments,
            whole.behind_s,
            whole.untaken,
            whole.counts.sent,
            record.untaken_ratio()
        ));
    }
    let unsent = whole.counts.intended.saturating_sub(whole.counts.sent);
    if unsent > 0 {
        texts.push(format!(
            "the generator did not send {unsent} of {} intended frames.",
            whole.counts.intended
        ));
    }
    texts.push(match whole.counts.unexplained {
        0 if whole.invalid == 0 => "every packet is accounted for: unexplained is 0 in the sum.".into(),
        unexplained => format!(
            "{unexplained} packets are not explained by any counter; the account of {} segments contradicts itself.",
            whole.invalid
        ),
    });
    let counts = &whole.counts;
    if counts.duplicates + counts.reordered + counts.foreign + counts.truncated + counts.corrupt > 0 {
        texts.push(format!(
            "{} foreign, {} duplicate, {} reordered, {} cut short and {} damaged frames arrived.",
            counts.foreign, counts.duplicates, counts.reordered, counts.truncated, counts.corrupt
        ));
    }
    texts.extend(
        record
            .noise
            .iter()
            .map(|(reason, segments)| format!("Take {} with care: {reason}.", counted(*segments, "segment"))),
    );
    if record.further_noise > 0 {
        texts.push(format!(
            "further reasons for care came up {}; the {} stored ones are the first.",
            counted(record.further_noise, "time"),
            record.noise.len()
        ));
    }
    texts.into_iter().map(|text| finding(text, kept.clone())).collect()
}

/// A number and what it counts.
fn counted(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
