//! The words of facts about loss over the axis: where it begins and ends, where it is counted, and the limit.

use capbench_judge::finding::sweep::loss::{BufferedAtPoint, HiddenByBuffers, LimitFrom, LossAtPoint};
use capbench_judge::finding::sweep::onset::{
    GeneratorLimits, HardlyAnyLoss, LastPoint, LossAtNamedPoints, LossBegins, LossEnds,
};
use capbench_judge::limit::Limit;
use capbench_model::figures::grouped;

use crate::sentences::percent;

/// Loss that begins at a point.
pub(super) fn loss_begins(fact: &LossBegins) -> String {
    let first_loss = &fact.first_loss.point.label;
    let begins = match (&fact.first_buffered, &fact.keeps_up_to) {
        (Some(buffered), Some(kept)) => format!(
            "it keeps up with the load up to {}. At {} {}",
            kept.label,
            buffered.point.label,
            before_loss(buffered, first_loss)
        ),
        (Some(buffered), None) => format!(
            "at {} it does not keep up. There {}",
            buffered.point.label,
            before_loss(buffered, first_loss)
        ),
        (None, Some(kept)) => format!("loss begins between {} and {first_loss}", kept.label),
        (None, None) => format!("frames are lost from the first point on, {first_loss}"),
    };
    format!(
        "{}: {begins}: {}.{}{}{}",
        fact.series.method,
        loss(&fact.first_loss),
        fact.last.as_ref().map_or_else(String::new, last_point),
        fact.ends.as_ref().map_or_else(String::new, loss_ends),
        limits(&fact.limits)
    )
}

/// A method that does not keep up although it has not yet lost frames.
fn before_loss(buffered: &BufferedAtPoint, first_loss: &str) -> String {
    format!("{}. Longer trials lose frames there. Loss begins at {first_loss}", reads(buffered))
}

fn last_point(last: &LastPoint) -> String {
    match last {
        LastPoint::Loses(there) => format!(" At {} it loses {}.", there.point.label, loss(there)),
        LastPoint::Buffers(there) => format!(" At {} {}.", there.point.label, reads(there)),
        LastPoint::Lossless(point) => format!(" At {} no frame is lost.", point.label),
    }
}

fn loss_ends(ends: &LossEnds) -> String {
    let end = format!(" Loss ends at {}", ends.from.label);
    let Some(buffered) = &ends.only_by_buffers else { return format!("{end}.") };
    let kept = match &ends.keeps_up_from {
        Some(kept) => format!(" It keeps up from {} on.", kept.label),
        None => String::new(),
    };
    format!("{end} only because of its buffers: {}. Longer trials lose frames there.{kept}", reads(buffered))
}

/// Loss at points without an order.
pub(super) fn loss_at_named_points(fact: &LossAtNamedPoints) -> String {
    let list: Vec<String> =
        fact.lossy.iter().map(|there| format!("{} ({})", there.point.label, loss(there))).collect();
    format!("{}: frames are lost at {}.{}", fact.series.method, list.join("; "), hidden(&fact.hidden))
}

/// No loss at most points, or only in some visits.
pub(super) fn hardly_any_loss(fact: &HardlyAnyLoss) -> String {
    let generator = match fact.generator_limits {
        None => String::new(),
        Some(GeneratorLimits::Everywhere) => format!(" The limit is {}.", Limit::Generator.words()),
        Some(GeneratorLimits::WhereItKeepsUp) => {
            format!(" Where it keeps up, the limit is {}.", Limit::Generator.words())
        }
    };
    let lost = if fact.lossy.is_empty() {
        "no frame is lost at any point.".to_string()
    } else {
        let labels: Vec<&str> = fact.lossy.iter().map(|point| point.label.as_str()).collect();
        format!("frames are lost in some trials and not in most, at {}.", labels.join(", "))
    };
    format!("{}: {lost}{generator}{}{}", fact.series.method, hidden(&fact.hidden), limits(&fact.limits))
}

/// Points without loss where buffers hide, for the length of a trial, that frames arrive faster than they are read.
fn hidden(hidden: &Option<HiddenByBuffers>) -> String {
    let Some(HiddenByBuffers { points, reaches_end, first }) = hidden else { return String::new() };
    let at = if *reaches_end {
        format!("From {} on", first.point.label)
    } else {
        let labels: Vec<&str> = points.iter().map(|point| point.label.as_str()).collect();
        format!("At {}", labels.join(", "))
    };
    let there = if points.len() > 1 { format!("; at {} ", first.point.label) } else { ": ".into() };
    format!(
        " {at} that is due to its buffers{there}{}. Longer trials or a smaller --ring show where loss begins.",
        reads(first)
    )
}

fn limits(limits: &[LimitFrom]) -> String {
    match limits {
        [] => String::new(),
        [one] => format!(" The limit is {}.", one.limit.words()),
        several => {
            let list: Vec<String> = several
                .iter()
                .map(|one| format!("from {} on {}", one.from.label, one.limit.words()))
                .collect();
            format!(" The limits: {}.", list.join("; "))
        }
    }
}

/// The share of arriving frames that the application read.
fn reads(there: &BufferedAtPoint) -> String {
    format!(
        "it reads {} of {} frames per second, and buffers hold the rest",
        grouped(there.read_pps),
        grouped(there.offered_pps)
    )
}

/// The loss at a point, by place.
fn loss(there: &LossAtPoint) -> String {
    let places = match there.places.as_slice() {
        [] => "at a place that no counter here reports".into(),
        [only] => only.place.words().to_string(),
        several => {
            let list: Vec<String> = several
                .iter()
                .map(|part| format!("{} of it {}", percent(part.share), part.place.words()))
                .collect();
            list.join(", ")
        }
    };
    format!("{} of the frames, {places}", percent(there.loss_ratio))
}
