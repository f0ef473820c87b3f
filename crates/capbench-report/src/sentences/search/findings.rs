//! Findings of searches, in sentences with their trials.
use crate::groups::grouped as grouped_by;
use crate::naming::{list, time};
use crate::sentences::sorted;
use capbench_judge::search::ranking::{self, Ranked, Ranking, Repeated};
use capbench_judge::search::{
    End, GoalResult, Held, HighLoss, LossEvents, LossNumbers, Losses, MaximumSource, SearchOutcome, Status,
};
use capbench_model::figures::{count, grouped};
use capbench_results::Finding;

/// Findings of all searches of a run: each alone, those of one set-up together, and methods against each other.
pub(crate) fn find(searches: &[SearchOutcome]) -> Vec<Finding> {
    let mut findings: Vec<_> = ranking::of(searches).iter().map(of_ranking).collect();
    findings.extend(ranking::repeated(searches).iter().map(of_repeats));
    findings.extend(searches.iter().flat_map(of_search));
    findings
}

/// What limits each goal, the related numbers, doubts, the bounds, and the limit of the search.
fn of_search(search: &SearchOutcome) -> Vec<Finding> {
    let scene = search.frame_size.as_ref().zip(search.placement.as_ref());
    let scene = scene.map(|(size, placement)| format!("{size}-byte frames, placement {placement}"));
    let who = search.method.as_ref().map_or("the search".into(), ToString::to_string);
    let finding = |text: String, trials: Vec<u32>| Finding { scene: scene.clone(), text, fact: None, trials };
    // What is true of several goals is said once.
    let about = |said: fn(&GoalResult) -> Option<String>| {
        let known = search.goals.iter().filter_map(|goal| Some((said(goal)?, goal)));
        grouped_by(known, |(said, _)| said.clone()).into_iter().map(|(said, goals)| {
            let names: Vec<&str> = goals.iter().map(|(_, goal)| goal.goal.name.as_str()).collect();
            let head = if names.len() == 1 { "goal" } else { "goals" };
            let trials = goals.iter().flat_map(|(_, goal)| goal.trials()).collect();
            finding(format!("{who}, {head} {}: {said}.", list(&names)), sorted(trials))
        })
    };
    let mut findings: Vec<_> = about(loss).collect();
    let LossNumbers { strict_lossless: strict, ndr, pdr, loss_events, .. } = &search.numbers;
    let mut trials =
        sorted([strict, ndr, pdr].iter().flat_map(|found| found.trials.iter().copied()).collect());
    if trials.is_empty() {
        trials.clone_from(&search.trials);
    }
    let events = loss_events.as_ref().map_or_else(|| "how often frames are lost is unknown".into(), events);
    let goals = [("NDR", ndr), ("PDR", pdr)];
    let goals = goals.into_iter().filter_map(|(name, found)| Some(format!("{name} {}", by_goal(found)?)));
    let parts: Vec<String> = [lossless(strict)].into_iter().chain(goals).chain([events]).collect();
    findings.push(finding(format!("{who}: {}.", parts.join("; ")), trials));
    findings.extend(about(doubt));
    findings.extend(about(stalls));
    let bounds = |goal: &GoalResult| {
        let text = match (goal.best_bounds(), &goal.lower, &goal.upper, &goal.reason) {
            (None, None, None, Some(reason)) => format!("{}: no bound is known: {reason}", goal.goal.name),
            _ => format!("{goal}{}", forwarded(goal)),
        };
        finding(format!("{who}, goal {text}."), sorted(goal.trials()))
    };
    findings.extend(search.goals.iter().map(bounds));
    let tested = search.maximum.as_ref().and_then(|maximum| Some((maximum, maximum.self_test.as_ref()?)));
    if let Some((maximum, test)) = tested {
        let limit = match maximum.source {
            MaximumSource::LineRate => ", the line rate",
            _ if test.held => "",
            _ => ", though it kept none of the rates that were tried",
        };
        findings.push(finding(
            format!(
                "maximum load of the search: {} packets/s{limit}; the generator sent {} without a plan.",
                grouped(maximum.load_pps.get()),
                grouped(test.unpaced_pps.floor())
            ),
            test.tries.iter().map(|one| one.trial).collect(),
        ));
    }
    if let Some(buffered) = &search.buffered {
        findings.push(finding(format!("{who}: {buffered}."), buffered.trials.clone()));
    }
    if search.ended != End::Complete {
        let text = format!("{who}: the search is incomplete: {}.", search.ended);
        findings.push(finding(text, search.trials.clone()));
    }
    findings
}

/// How far its bounds can be trusted: they may differ by chance, or depend on trials that the host disturbed.
fn doubt(goal: &GoalResult) -> Option<String> {
    let (lower, upper) = goal.best_bounds()?;
    let shares = lower.high_loss.as_ref().zip(upper.high_loss.as_ref());
    let chance = goal.apart.filter(|apart| !apart.is_told()).zip(shares).map(|(apart, (low, high))| {
        let nearest = match apart.nearest.map(|loads| loads.map(grouped)) {
            Some([from, to]) => {
                format!("the nearest loads that are distinguished are {from} and {to} packets/s")
            }
            None => "no loads that were tried around them are distinguished".into(),
        };
        let (low, high, chance) = (share(low), share(high), apart.by_chance);
        format!(
            "{low} of full length lost frames at the lower bound, {high} at the upper: the bounds can differ by chance \
             (p = {chance:.2}); {nearest}"
        )
    });
    let disturbed = lower.disturbed.len() + upper.disturbed.len();
    let disturbed = (disturbed > 0).then(|| {
        let all = lower.trials.len() + upper.trials.len();
        format!("the host disturbed {disturbed} of the {all} trials that decide the bounds")
    });
    let parts: Vec<_> = [chance, disturbed].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The limit, and where frames were lost at the upper bound.
fn loss(goal: &GoalResult) -> Option<String> {
    let upper = goal.best_upper()?;
    let lost = upper.losses.as_ref().map(|losses| format!("lost {}", places(losses)));
    let backlogged = upper.backlogged.map(|backlogged| {
        format!(
            "{} of {} frames that count as lost were in buffers when sending ended",
            count(backlogged.frames),
            count(backlogged.of)
        )
    });
    let mut parts: Vec<_> = [lost, backlogged].into_iter().flatten().collect();
    let is_known = !parts.is_empty();
    parts.extend(goal.limit.map(|limit| format!("the limit is {}", limit.words())));
    is_known.then(|| format!("at {} packets/s {}", grouped(upper.intended_pps.floor()), parts.join("; ")))
}

/// A note if loss at the upper bound comes from single moments, not from too high a load.
fn stalls(goal: &GoalResult) -> Option<String> {
    goal.stalls().map(|moments| {
        format!(
            "only {} of the {} intervals of 100 ms at that load lost frames: the host stalls now and then; the load itself \
             is not too high",
            moments.lossy_windows, moments.windows
        )
    })
}

/// The number of lossy trials, with the compatible shares of loss.
fn share(high: &HighLoss) -> String {
    format!(
        "{} of {} trials ({:.0} to {:.0} %)",
        high.trials,
        high.of,
        (high.low * 100.0).floor(),
        (high.high * 100.0).ceil()
    )
}

/// Where frames were lost, and in which burst lengths.
fn places(losses: &Losses) -> String {
    let all: u64 = losses.lost.iter().map(|lost| lost.frames).sum();
    let places: Vec<_> = losses
        .lost
        .iter()
        .map(|lost| {
            let percent = lost.frames as f64 * 100.0 / all as f64;
            format!("{} ({percent:.0} %)", lost.place.words())
        })
        .collect();
    let places =
        if places.is_empty() { "at a place that no counter here reports".into() } else { places.join(", ") };
    let longest = losses.moments.filter(|moments| moments.longest_frames > 0).map(|moments| {
        format!(
            ", up to {} frames or {:.1} ms in a row",
            moments.longest_frames,
            moments.longest_ns as f64 / 1e6
        )
    });
    format!("{places}{}", longest.unwrap_or_default())
}

fn spread(repeated: &Repeated) -> String {
    let median = &repeated.lower_pps;
    let interval = median.low.zip(median.high).zip(median.level).map(|((low, high), level)| {
        format!(
            "; median within {} to {} at {:.0} %",
            grouped(low.floor()),
            grouped(high.floor()),
            level * 100.0
        )
    });
    let known = repeated.regular + repeated.at_least + repeated.coarser + repeated.without;
    let kinds = [
        (repeated.regular, "regular"),
        (repeated.at_least, "at least"),
        (repeated.searches.saturating_sub(known), "irregular"),
        (repeated.coarser, "with a coarser target"),
        (repeated.without, "without a lower bound"),
    ];
    let kinds: Vec<_> =
        kinds.iter().filter(|(count, _)| *count > 0).map(|(count, kind)| format!("{count} {kind}")).collect();
    let spread = (repeated.most_pps - repeated.least_pps) / median.median * 100.0;
    format!(
        "median {} packets/s, least {}, most {} ({spread:.1} % of the median){}; {} searches: {}",
        grouped(median.median.floor()),
        grouped(repeated.least_pps.floor()),
        grouped(repeated.most_pps.floor()),
        interval.unwrap_or_default(),
        repeated.searches,
        kinds.join(", ")
    )
}

fn of_repeats(repeated: &Repeated) -> Finding {
    Finding {
        scene: Some(format!("{}-byte frames, placement {}", repeated.frame_size, repeated.placement)),
        text: format!("{}, goal {}, lower bounds: {}.", repeated.method, repeated.goal, spread(repeated)),
        fact: None,
        trials: sorted(repeated.trials.clone()),
    }
}

fn bounds(ranked: &Ranked) -> String {
    let least = ranked.lower.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ranked.upper.iter().copied().fold(0.0, f64::max);
    match most.is_finite() {
        true => format!("{} {} to {}", ranked.method, grouped(least.floor()), grouped(most.floor())),
        false => format!("{} at least {}", ranked.method, grouped(least.floor())),
    }
}

/// The methods in order, and the pairs whose difference chance explains.
fn of_ranking(ranking: &Ranking) -> Finding {
    let mut text =
        format!("{} by method, highest first, packets/s: {}", ranking.goal, bounds(&ranking.methods[0]));
    for (nth, next) in ranking.methods[1..].iter().enumerate() {
        text.push_str(match ranking.is_above_next(nth) {
            None => ", ",
            Some(true) => ", then ",
            Some(false) => ", not distinguished from ",
        });
        text.push_str(&bounds(next));
    }
    if !ranking.is_told() {
        let searches = match ranking.fewest() {
            1 => "one search each".into(),
            few => format!("{few} searches each"),
        };
        text.push_str(&format!(
            "; {searches}: the order may be chance; {} searches of each decide it",
            ranking.needed
        ));
    }
    Finding {
        scene: ranking.scene.clone(),
        text: format!("{text}."),
        fact: None,
        trials: sorted(ranking.methods.iter().flat_map(|ranked| ranked.trials.iter().copied()).collect()),
    }
}

/// The conditional throughput, if it adds to the lower bound.
fn forwarded(goal: &GoalResult) -> String {
    match (goal.conditional_throughput_pps, &goal.lower) {
        (Some(forwarded), Some(lower))
            // Early versions also reported it for lower bounds.
            if goal.status != Status::AtLeast && forwarded < lower.achieved_pps =>
        {
            format!(", conditional throughput {} packets/s", grouped(forwarded.floor()))
        }
        _ => String::new(),
    }
}

/// The highest load up to which no trial lost a frame.
fn lossless(strict: &Held) -> String {
    match (strict.pps, strict.upper_pps) {
        (Some(pps), _) => {
            let at_least = if strict.at_least { "at least " } else { "" };
            let load = grouped(pps.floor());
            format!(
                "no trial of the search lost frames up to {at_least}{load} packets/s ({} of trials)",
                time(strict.seconds)
            )
        }
        (None, Some(upper)) => {
            format!(
                "no trial sent and delivered every frame, not even at {} packets/s",
                grouped(upper.floor())
            )
        }
        (None, None) => "no load without loss is known".into(),
    }
}

/// The load that a goal's search found, and the goal if it has another name than the number; `None` without such a goal.
fn by_goal(found: &Held) -> Option<String> {
    Some(match (found.pps, found.upper_pps) {
        (Some(pps), _) => {
            let at_least = if found.at_least { "at least " } else { "" };
            let goal = match found.by.as_str() {
                "ndr" | "pdr" => String::new(),
                other => format!(", goal {other}"),
            };
            let load = grouped(pps.floor());
            format!("{at_least}{load} packets/s ({} of trials{goal})", time(found.seconds))
        }
        (None, Some(upper)) => format!("below {} packets/s", grouped(upper.floor())),
        (None, None) => return None,
    })
}

fn events(events: &LossEvents) -> String {
    let at_least = if events.at_least { "at least " } else { "" };
    let times = match events.events {
        0 => "no frame was lost".into(),
        1 => format!("frames were lost {at_least}once"),
        count => format!("frames were lost {at_least}{count} times"),
    };
    let rate = match events.per_second_limits {
        Some([_, most]) if events.events == 0 => {
            format!(", which is below {most:.3} times per second at 95 %")
        }
        Some([least, most]) => {
            format!(", {:.3} times per second ({least:.3} to {most:.3})", events.per_second)
        }
        None => format!(", {:.3} times per second", events.per_second),
    };
    let discarded = match events.set_aside {
        0 => String::new(),
        repeated => format!(
            "; the host disturbed {repeated} of these trials, which the search repeated ({} of them lost frames)",
            events.set_aside_lossy
        ),
    };
    format!(
        "up to {} packets/s {times} in {} of trials{rate}{discarded}",
        grouped(events.up_to_pps.floor()),
        time(events.seconds)
    )
}
