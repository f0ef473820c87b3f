//! CESNET (2008): standard stack, PF_RING and szedata2 by best effort and by RFC 2544, over frame sizes and IMIX, with the
//! application on the CPU of the interrupts or on another.

mod claims;
mod sheets;

use std::time::Duration;

use capbench_capture::MethodSpec;
use capbench_traffic::sizes::Sizes;
use capbench_traffic::units::FrameSize;

use super::conditions::Conditions;
use super::material::{Material, Seen};
use super::publication::{Compared, Publication};
use super::published::CESNET_1;
use super::step::{Case, Doing, Step, gigabit};
use crate::error::{MeasureError, Result};
use crate::laboratory::Setup;
use crate::placement::PlacementChoice;
use crate::search::{Goal, Ratio, SearchPlan, Strategy, Width};
use crate::trial::{Load, SizeLabel};

pub(super) static PUBLICATION: Publication = Publication {
    key: "cesnet-2008",
    title: "T. Mrazek, J. Vykopal: Packet capture benchmark on 1 GE",
    source: "CESNET technical report 22/2008",
    then: "A Spirent TestCenter at 1 Gbit/s into one host; a libpcap counter over the standard stack (libpcap 0.9.7), PF_RING, and \
           szedata2 on a COMBO6X card; 13 frame sizes and IMIX, best effort and RFC 2544 throughput with trials of 60 s; the \
           application on the CPU that handles the interrupts, or on another.",
    here: "The same sizes at the rates of a wire of 1 Gbit/s over a virtual link, or over --tx and --rx. libpcap of 2008 read by \
           recv, so recv takes its place beside libpcap of today; packet-v3 stands beside PF_RING and szedata2 as the ring that \
           every kernel has. Throughput is searched for with recv up to the wire's rate, once at each size; below a scale of 0.1 at \
           the sizes of RFC 2544 only.",
    visits: 2,
    beyond: &[
        (
            "Driver parameters (InterruptThrottleRate, RxIntDelay) changed little.",
            "This experiment leaves them as they are, and a virtual link has none; `capbench sweep coalesce` measures it on a card.",
        ),
        (
            "Rates of a hardware generator on a wire of 1 Gbit/s.",
            "The generator is a thread of this host: it is asked for the wire's rate and no more, and where it does not reach \
             that it is marked.",
        ),
    ],
    plan,
    compare,
};

/// Of a trial: 60 s in the report's searches; it does not say how long best effort lasted, so that is taken for it, too.
const LENGTH: Duration = Duration::from_secs(60);
const BEST_EFFORT: &str = "best-effort";
const IMIX: &str = "imix";
const THROUGHPUT: &str = "throughput";

const STACK: &str = "recv";
const RING: &str = "packet-v3";
const PF_RING: &str = "pf-ring";
const SZEDATA2: &str = "szedata2";
const METHODS: [&str; 5] = [STACK, "libpcap", RING, PF_RING, SZEDATA2];
const SEARCHED: [&str; 3] = [STACK, PF_RING, SZEDATA2];
const PLACEMENTS: [PlacementChoice; 2] = [PlacementChoice::Same, PlacementChoice::Other];
/// The mix of table 7.
const MIX: &str = "imix-cesnet";

/// The frame sizes of all tables, largest first.
fn sizes() -> Vec<u16> {
    CESNET_1.numbers("frame_bytes").into_iter().flatten().map(|octets| octets as u16).collect()
}

/// Those of them that RFC 2544 lists; the report chose the others at random.
const STANDARD: [u16; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

/// The frame sizes at which throughput is searched for, largest first: searches take most of the time.
fn searched_sizes(conditions: &Conditions) -> Vec<u16> {
    sizes().into_iter().filter(|octets| conditions.scale.is_full() || STANDARD.contains(octets)).collect()
}

fn setup(conditions: &Conditions, method: &str, placement: PlacementChoice, octets: u16) -> Result<Setup> {
    Ok(Setup {
        method: MethodSpec::plain(method),
        label: SizeLabel::Octets(octets),
        sizes: Sizes::Fixed(FrameSize::new(octets.into())?),
        placement,
        ..conditions.base.clone()
    })
}

fn plan(conditions: &Conditions) -> Result<Vec<Step>> {
    let duration = conditions.scale.of(LENGTH);
    let case = |setup: Setup| -> Result<Case> {
        let octets = setup.sizes.sequence(&setup.layout)?.mean_octets();
        Ok(Case { setup, load: Load::Rate(gigabit(octets)?), duration })
    };
    let (mut best_effort, mut imix, mut searches) = (Vec::new(), Vec::new(), Vec::new());
    for placement in PLACEMENTS {
        for method in METHODS {
            for octets in sizes() {
                best_effort.push(case(setup(conditions, method, placement, octets)?)?);
            }
            let mixed = Setup {
                label: SizeLabel::Named(MIX.into()),
                sizes: MIX.parse()?,
                ..setup(conditions, method, placement, 64)?
            };
            imix.push(case(mixed)?);
        }
        for method in SEARCHED {
            for octets in searched_sizes(conditions) {
                let plan = search(conditions, duration, octets)?;
                searches.push((setup(conditions, method, placement, octets)?, plan));
            }
        }
    }
    let trials = |cases| Doing::Trials { cases, visits: conditions.visits, seed: conditions.seed };
    Ok(vec![
        Step {
            name: BEST_EFFORT,
            summary: "tables 1 to 3: best effort at wire speed".into(),
            doing: trials(best_effort),
        },
        Step { name: IMIX, summary: "table 7: the mix at wire speed".into(), doing: trials(imix) },
        Step {
            name: THROUGHPUT,
            summary: "tables 4 to 6: RFC 2544 throughput by binary search".into(),
            doing: Doing::Searches(searches),
        },
    ])
}

fn search(conditions: &Conditions, trial: Duration, octets: u16) -> Result<SearchPlan> {
    let width = Ratio::new(conditions.scale.width()).map_err(|reason| MeasureError::Search { reason })?;
    let goal = Goal {
        name: "rfc2544".into(),
        strategy: Strategy::Binary,
        loss_ratio: Ratio::ZERO,
        exceed_ratio: Ratio::ZERO,
        width: Width::Relative(width),
        final_duration: trial,
        duration_sum: trial,
        initial_duration: trial,
        preceding_targets: 0,
    };
    let plan = SearchPlan::new(vec![goal]);
    Ok(SearchPlan { maximum_pps: Some(gigabit(octets.into())?), quiet: conditions.base.quiet, ..plan })
}

fn compare(material: &Material<'_>) -> Compared {
    Compared { tables: sheets::all(material), findings: claims::all(material) }
}

/// Best effort of a method with one frame size.
fn best_effort<'m>(
    material: &Material<'m>,
    method: &str,
    placement: PlacementChoice,
    octets: u16,
) -> Seen<'m> {
    let placement = placement.to_string();
    material.seen(BEST_EFFORT, method, |trial| {
        trial.profile.placement == placement && trial.profile.frame_size == SizeLabel::Octets(octets)
    })
}

/// The mix with a method.
fn mixed<'m>(material: &Material<'m>, method: &str, placement: PlacementChoice) -> Seen<'m> {
    let placement = placement.to_string();
    material.seen(IMIX, method, |trial| trial.profile.placement == placement)
}

/// What a search has found: a load without loss, and whether that is a throughput or only held at least.
struct Found<'m> {
    pps: f64,
    at_least: bool,
    trials: &'m [u32],
}

/// The search of a method with one frame size; `None` where there was none, or nothing was held.
fn found<'m>(
    material: &Material<'m>,
    method: &str,
    placement: PlacementChoice,
    octets: u16,
) -> Option<Found<'m>> {
    use crate::search::Status;
    let searches = &material.step(THROUGHPUT)?.searches;
    let placement = placement.to_string();
    let search = searches.iter().find(|search| {
        search.method.as_deref() == Some(method)
            && search.placement.as_deref() == Some(placement.as_str())
            && search.frame_size == Some(SizeLabel::Octets(octets))
    })?;
    let goal = search.goals.first()?;
    let lower = goal.lower.as_ref()?;
    Some(Found { pps: lower.achieved_pps, at_least: goal.status != Status::Regular, trials: &lower.trials })
}
