//! The words of `LossBegins`, `LossAtNamedPoints` and `HardlyAnyLoss`: at which points of a sweep a method loses frames, at which
//! places, and the limit.

use crate::sentences::{limits, places};
use capbench_judge::finding::sweep::loss::{BufferedAtPoint, HiddenByBuffers, LimitFrom, LossAtPoint};
use capbench_judge::finding::sweep::onset::{
    GeneratorLimits, HardlyAnyLoss, LastPoint, LossAtNamedPoints, LossBegins, LossEnds,
};
use capbench_judge::limit::Limit;
use capbench_model::figures::{grouped, percent};

/// Loss that begins at a point.
pub(super) fn loss_begins(fact: &LossBegins) -> String {
    let first_loss = &fact.first_loss.point.label;
    let begins = match (&fact.first_buffered, &fact.keeps_up_to) {
        (Some(buffered), Some(last_kept)) => format!(
            "it keeps up with the load up to {}. At {} {}",
            last_kept.label,
            buffered.point.label,
            buffers_before_loss(buffered, first_loss)
        ),
        (Some(buffered), None) => format!(
            "at {} it does not keep up. There {}",
            buffered.point.label,
            buffers_before_loss(buffered, first_loss)
        ),
        (None, Some(last_kept)) => format!("loss begins between {} and {first_loss}", last_kept.label),
        (None, None) => format!("frames are lost from the first point on, {first_loss}"),
    };
    let last = match &fact.last {
        Some(last) => last_point(last),
        None => String::new(),
    };
    let ends = match &fact.ends {
        Some(ends) => loss_ends(ends),
        None => String::new(),
    };
    format!(
        "{}: {begins}: {}.{last}{ends}{}",
        fact.series.method,
        loss_and_places(&fact.first_loss),
        limits(&fact.limits)
    )
}

/// What a method that does not keep up reads at a point where it has not yet lost frames, and where loss begins.
fn buffers_before_loss(buffered: &BufferedAtPoint, first_loss: &str) -> String {
    format!("{}. Longer trials lose frames there. Loss begins at {first_loss}", reads_and_buffers(buffered))
}

/// What happens at the last point of the axis.
fn last_point(last: &LastPoint) -> String {
    match last {
        LastPoint::Loses(loss) => format!(" At {} it loses {}.", loss.point.label, loss_and_places(loss)),
        LastPoint::Buffers(buffered) => {
            format!(" At {} {}.", buffered.point.label, reads_and_buffers(buffered))
        }
        LastPoint::Lossless(point) => format!(" At {} no frame is lost.", point.label),
    }
}

/// Where loss ends again, and whether only because buffers hide it.
fn loss_ends(ends: &LossEnds) -> String {
    let end = format!(" Loss ends at {}", ends.from.label);
    let Some(buffered) = &ends.only_by_buffers else { return format!("{end}.") };
    let keeps_up = match &ends.keeps_up_from {
        Some(first_kept) => format!(" It keeps up from {} on.", first_kept.label),
        None => String::new(),
    };
    format!(
        "{end} only because of its buffers: {}. Longer trials lose frames there.{keeps_up}",
        reads_and_buffers(buffered)
    )
}

/// Loss at points without an order.
pub(super) fn loss_at_named_points(fact: &LossAtNamedPoints) -> String {
    let mut losses = Vec::new();
    for loss in &fact.lossy {
        losses.push(format!("{} ({})", loss.point.label, loss_and_places(loss)));
    }
    let hidden = hidden_by_buffers(fact.hidden.as_ref());
    format!("{}: frames are lost at {}.{hidden}", fact.series.method, losses.join("; "))
}

/// No point loses frames in most of its visits.
pub(super) fn hardly_any_loss(fact: &HardlyAnyLoss) -> String {
    let generator = match fact.generator_limits {
        None => String::new(),
        Some(GeneratorLimits::Everywhere) => format!(" The limit is {}.", limits::words(Limit::Generator)),
        Some(GeneratorLimits::WhereItKeepsUp) => {
            format!(" Where it keeps up, the limit is {}.", limits::words(Limit::Generator))
        }
    };
    let lost = if fact.lossy.is_empty() {
        "no frame is lost at any point.".to_string()
    } else {
        let labels: Vec<&str> = fact.lossy.iter().map(|point| point.label.as_str()).collect();
        format!("frames are lost in some trials and not in most, at {}.", labels.join(", "))
    };
    let hidden = hidden_by_buffers(fact.hidden.as_ref());
    format!("{}: {lost}{generator}{hidden}{}", fact.series.method, limits(&fact.limits))
}

/// Points without loss where buffers hide, for the length of a trial, that frames arrive faster than they are read.
fn hidden_by_buffers(hidden: Option<&HiddenByBuffers>) -> String {
    let Some(HiddenByBuffers { points, reaches_end, first }) = hidden else { return String::new() };
    let where_hidden = if *reaches_end {
        format!("From {} on", first.point.label)
    } else {
        let labels: Vec<&str> = points.iter().map(|point| point.label.as_str()).collect();
        format!("At {}", labels.join(", "))
    };
    let at_first = if points.len() > 1 { format!("; at {} ", first.point.label) } else { ": ".into() };
    format!(
        " {where_hidden} only buffers prevent loss{at_first}{}. Longer trials or a smaller --ring show where loss begins.",
        reads_and_buffers(first)
    )
}

/// The limit, or the limits and from which point on each applies; empty without one.
fn limits(limits: &[LimitFrom]) -> String {
    match limits {
        [] => String::new(),
        [only] => format!(" The limit is {}.", limits::words(only.limit)),
        several => {
            let mut clauses = Vec::new();
            for LimitFrom { from, limit } in several {
                clauses.push(format!("from {} on {}", from.label, limits::words(*limit)));
            }
            format!(" The limits: {}.", clauses.join("; "))
        }
    }
}

/// How many of the arriving frames the application read.
fn reads_and_buffers(buffered: &BufferedAtPoint) -> String {
    format!(
        "it reads {} of {} frames per second, and buffers hold the rest",
        grouped(buffered.read_pps),
        grouped(buffered.offered_pps)
    )
}

/// The loss at a point, by place.
fn loss_and_places(loss: &LossAtPoint) -> String {
    let places = match loss.places.as_slice() {
        [] => "at a place that no counter here reports".into(),
        [only] => places::words(only.place).to_string(),
        several => {
            let mut shares = Vec::new();
            for part in several {
                shares.push(format!("{} of it {}", percent(part.share), places::words(part.place)));
            }
            shares.join(", ")
        }
    };
    format!("{} of the frames, {places}", percent(loss.loss_ratio))
}

#[cfg(test)]
mod tests {
    use super::{
        BufferedAtPoint, GeneratorLimits, HardlyAnyLoss, HiddenByBuffers, LastPoint, Limit, LimitFrom,
        LossAtNamedPoints, LossAtPoint, LossBegins, LossEnds, hardly_any_loss, last_point, limits,
        loss_at_named_points, loss_begins, loss_ends,
    };
    use crate::sentences::sweep::tests::{point, series};
    use capbench_judge::finding::sweep::loss::PlaceShare;
    use capbench_model::places::Place;

    /// A point at which 900 of 1,000 frames per second are read.
    fn buffered(index: usize) -> BufferedAtPoint {
        BufferedAtPoint { point: point(index), read_pps: 900.0, offered_pps: 1000.0 }
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

    #[test]
    fn the_last_point_and_each_limit_are_named() {
        let loss = LossAtPoint { point: point(5), loss_ratio: 0.5, places: Vec::new() };
        assert_eq!(
            last_point(&LastPoint::Loses(loss)),
            " At p5 it loses 50 % of the frames, at a place that no counter here reports."
        );
        assert_eq!(last_point(&LastPoint::Lossless(point(5))), " At p5 no frame is lost.");
        assert_eq!(
            last_point(&LastPoint::Buffers(buffered(5))),
            " At p5 it reads 900 of 1,000 frames per second, and buffers hold the rest."
        );
        let from = |index, limit| LimitFrom { from: point(index), limit };
        let one = [from(1, Limit::Backlog)];
        assert_eq!(limits(&one), format!(" The limit is {}.", limits::words(Limit::Backlog)));
        let two = [from(1, Limit::Backlog), from(3, Limit::Generator)];
        assert_eq!(
            limits(&two),
            format!(" The limits: from p1 on {}; from p3 on the generator.", limits::words(Limit::Backlog))
        );
    }

    #[test]
    fn loss_at_named_points_is_listed_with_its_places() {
        let share = |place, share| PlaceShare { place, share };
        let both = vec![share(Place::Ring, 0.75), share(Place::Backlog, 0.25)];
        let lossy = vec![
            LossAtPoint { point: point(0), loss_ratio: 0.5, places: vec![share(Place::Ring, 1.0)] },
            LossAtPoint { point: point(2), loss_ratio: 0.25, places: both },
        ];
        assert_eq!(
            loss_at_named_points(&LossAtNamedPoints { series: series(), lossy, hidden: None }),
            "recv: frames are lost at p0 (50 % of the frames, in the ring or socket queue); p2 (25 % of the frames, 75 % of it in \
             the ring or socket queue, 25 % of it in the softirq backlog)."
        );
    }

    #[test]
    fn points_whose_loss_buffers_hide_are_named() {
        let hidden = |points: Vec<usize>, reaches_end| {
            let points = points.into_iter().map(point).collect();
            let hidden = HiddenByBuffers { points, reaches_end, first: buffered(1) };
            hardly_any_loss(&HardlyAnyLoss {
                series: series(),
                lossy: Vec::new(),
                generator_limits: Some(GeneratorLimits::Everywhere),
                hidden: Some(hidden),
                limits: Vec::new(),
            })
        };
        let none = "recv: no frame is lost at any point. The limit is the generator.";
        let reads = "it reads 900 of 1,000 frames per second, and buffers hold the rest. Longer trials or a smaller --ring show \
                     where loss begins.";
        let from = format!("{none} From p1 on only buffers prevent loss; at p1 {reads}");
        assert_eq!(hidden(vec![1, 2], true), from);
        assert_eq!(hidden(vec![1], false), format!("{none} At p1 only buffers prevent loss: {reads}"));
    }
}
