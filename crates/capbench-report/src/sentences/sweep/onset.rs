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

#[cfg(test)]
mod tests {
    use super::*;
    use capbench_judge::finding::sweep::point::{SweepPoint, SweepSeries};
    use capbench_judge::sweep::outcome::SweepScene;

    fn point(index: usize) -> SweepPoint {
        SweepPoint { index, at: None, label: format!("p{index}") }
    }

    fn buffered(index: usize) -> BufferedAtPoint {
        BufferedAtPoint { point: point(index), read_pps: 900.0, offered_pps: 1000.0 }
    }

    fn series() -> SweepSeries {
        SweepSeries { method: "recv".into(), scene: SweepScene { placement: None, load: None } }
    }

    /// Loss from the second point on.
    fn begins() -> LossBegins {
        LossBegins {
            series: series(),
            keeps_up_to: Some(point(0)),
            first_buffered: None,
            first_loss: LossAtPoint { point: point(1), loss_ratio: 0.25, places: Vec::new() },
            last: None,
            ends: None,
            limits: Vec::new(),
        }
    }

    #[test]
    fn loss_begins_at_a_point_or_is_hidden_before_it() {
        let loss = "25 % of the frames, at a place that no counter here reports.";
        assert_eq!(loss_begins(&begins()), format!("recv: loss begins between p0 and p1: {loss}"));
        let at_once = LossBegins { keeps_up_to: None, ..begins() };
        let first = format!("recv: frames are lost from the first point on, p1: {loss}");
        assert_eq!(loss_begins(&at_once), first);
        let hidden = LossBegins { first_buffered: Some(buffered(1)), ..begins() };
        let reads = "it reads 900 of 1,000 frames per second, and buffers hold the rest. Longer trials lose frames there. Loss begins \
                     at p1";
        let kept = format!("recv: it keeps up with the load up to p0. At p1 {reads}: {loss}");
        assert_eq!(loss_begins(&hidden), kept);
        let never_kept = LossBegins { keeps_up_to: None, ..hidden };
        let never = format!("recv: at p1 it does not keep up. There {reads}: {loss}");
        assert_eq!(loss_begins(&never_kept), never);
    }

    #[test]
    fn loss_ends_or_is_hidden_after_it() {
        let ends = LossEnds { from: point(2), only_by_buffers: None, keeps_up_from: Some(point(2)) };
        assert_eq!(loss_ends(&ends), " Loss ends at p2.");
        let hidden = LossEnds { only_by_buffers: Some(buffered(2)), keeps_up_from: Some(point(3)), ..ends };
        assert_eq!(
            loss_ends(&hidden),
            " Loss ends at p2 only because of its buffers: it reads 900 of 1,000 frames per second, and buffers hold the rest. \
             Longer trials lose frames there. It keeps up from p3 on."
        );
    }

    #[test]
    fn the_generator_is_the_limit_where_a_method_keeps_up() {
        let fact = HardlyAnyLoss {
            series: series(),
            lossy: vec![point(0), point(2)],
            generator_limits: Some(GeneratorLimits::WhereItKeepsUp),
            hidden: None,
            limits: Vec::new(),
        };
        assert_eq!(
            hardly_any_loss(&fact),
            "recv: frames are lost in some trials and not in most, at p0, p2. Where it keeps up, the limit is the generator."
        );
    }
}
