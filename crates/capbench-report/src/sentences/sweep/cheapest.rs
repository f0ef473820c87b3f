//! The cheapest method and ring that keep up without loss. A method counts as cheaper only if chance does not explain the
//! difference.
use std::ptr;

use capbench_judge::sweep::Analysis;
use capbench_judge::sweep::contrasts::{Evidence, Lead, Leads};
use capbench_judge::sweep::outcome::{Reading, Series, Swept, numbers};
use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;
use capbench_results::Finding;

use crate::sentences::time;

/// A method that keeps up at a point, with its cost there.
#[derive(Clone, Copy)]
struct Candidate<'r> {
    series: &'r Series,
    reading: &'r Reading,
    cost_ns: f64,
}

/// Costs that differ by less than this share are equal: the kernel's clock is coarser.
const SAME: f64 = 0.05;

pub(super) fn find(swept: &Swept<'_>, findings: &mut Vec<Finding>) {
    for scene in swept.scenes() {
        // Users choose a ring; other axes are not a choice.
        let is_chosen = swept.outcome.axis.shows(Analysis::Buffers);
        if !is_chosen && scene.len() < 2 {
            continue;
        }
        // The cheaper method leads.
        let leads = Leads::by(&scene, |reading| {
            let costs = costs(swept, reading).unwrap_or_default();
            costs.into_iter().map(|cost| -cost).collect()
        });
        let costs = Costs { swept, leads: leads.told };
        if is_chosen { costs.of_rings(&scene, findings) } else { costs.by_point(&scene, findings) }
    }
}

/// The cost per packet in each trial of a method that keeps up; `None` if it does not, or a trial does not know its cost.
fn costs(swept: &Swept<'_>, reading: &Reading) -> Option<Vec<f64>> {
    let cost = |trial: &TrialResult| trial.total_ns_per_packet();
    keeps_up(swept, reading).then(|| swept.of(reading).map(cost).collect())?
}

fn keeps_up(swept: &Swept<'_>, reading: &Reading) -> bool {
    reading.back_to_back.is_none() && swept.keeps_up(reading)
}

/// Methods of a scene, and which of them are proven cheaper than others.
struct Costs<'s, 'r> {
    swept: &'s Swept<'r>,
    leads: Vec<Lead<'r>>,
}

/// The statement about a point.
#[derive(PartialEq)]
enum Said<'r> {
    /// Only this method keeps up.
    Alone(&'r SavedMethod),
    /// Methods that are not proven more expensive than another one, in the order of the scene.
    Cheapest(Vec<&'r SavedMethod>),
}

impl<'r> Costs<'_, 'r> {
    /// The statement at each point; equal neighbours share one.
    fn by_point(&self, scene: &[&'r Series], findings: &mut Vec<Finding>) {
        let mut runs: Vec<(Said<'r>, Vec<usize>, Vec<Candidate<'r>>)> = Vec::new();
        for point in 0..self.swept.outcome.points.len() {
            let at = |reading: &Reading| reading.point == point;
            let candidates = self.candidates(scene, at);
            let Some(said) = self.said(scene, &candidates, at) else { continue };
            match runs.last_mut().filter(|run| run.0 == said) {
                Some(run) => {
                    run.1.push(point);
                    run.2.extend(candidates);
                }
                None => runs.push((said, vec![point], candidates)),
            }
        }
        for (said, points, candidates) in runs {
            let [first, ..] = points.as_slice() else { continue };
            let last = points[points.len() - 1];
            let label = |point: usize| self.swept.outcome.points[point].label.as_str();
            let range = if *first == last {
                label(last).into()
            } else {
                format!("{} to {}", label(*first), label(last))
            };
            let text = format!("{range}: {}.", self.words(&said, &candidates));
            push(scene, text, &candidates, findings);
        }
    }

    /// The statement about methods at one point; `None` if too few costs are known.
    fn said(
        &self,
        scene: &[&'r Series],
        candidates: &[Candidate<'r>],
        at: impl Fn(&Reading) -> bool,
    ) -> Option<Said<'r>> {
        let readings = scene.iter().flat_map(|series| &series.readings);
        let keeping = readings.filter(|reading| at(reading) && keeps_up(self.swept, reading)).count();
        let first = candidates.first()?;
        match (keeping, candidates.len()) {
            (1, 1) => return Some(Said::Alone(&first.series.method)),
            (_, 1) => return None,
            _ => {}
        }
        let is_dearer = |candidate: &Candidate<'r>| self.is_dearer(first, candidate).is_some();
        let alike =
            |series: &&&Series| candidates.iter().any(|one| ptr::eq(one.series, **series) && !is_dearer(one));
        Some(Said::Cheapest(scene.iter().filter(alike).map(|series| &series.method).collect()))
    }

    fn words(&self, said: &Said<'r>, candidates: &[Candidate<'r>]) -> String {
        match said {
            Said::Alone(method) => {
                format!(
                    "only {method} keeps up without loss, at {} of CPU time per packet",
                    range(candidates, method)
                )
            }
            Said::Cheapest(methods) => match methods.as_slice() {
                [cheapest] => format!(
                    "of the methods that keep up without loss, {cheapest} costs least, {} of CPU time per packet{}",
                    range(candidates, cheapest),
                    self.evidence(candidates, cheapest)
                ),
                alike => {
                    let list: Vec<_> = alike
                        .iter()
                        .map(|method| format!("{method} ({})", range(candidates, method)))
                        .collect();
                    format!(
                        "of the methods that keep up without loss, the cheapest by CPU time per packet cannot be distinguished \
                         from each other: {}",
                        list.join(", ")
                    )
                }
            },
        }
    }

    /// The weakest evidence that a method is cheaper than the others.
    fn evidence(&self, candidates: &[Candidate<'r>], cheapest: &SavedMethod) -> String {
        let own = candidates.iter().filter(|candidate| candidate.series.method == *cheapest);
        let evidence = own.flat_map(|own| {
            let others = candidates.iter().filter(|other| other.reading.point == own.reading.point);
            others.filter_map(|other| self.is_dearer(own, other))
        });
        evidence.reduce(Evidence::weaker).map_or(String::new(), |evidence| format!(" ({evidence})"))
    }

    /// The evidence that one method is notably more expensive than another at the latter's point.
    fn is_dearer(&self, than: &Candidate<'r>, candidate: &Candidate<'r>) -> Option<Evidence> {
        let is_there = |lead: &&Lead<'r>| lead.points.iter().any(|(one, _)| one.point == than.reading.point);
        self.lead(than, candidate, is_there)
    }

    /// The best evidence among the leads of one method over another, if its cost is low enough.
    fn lead(
        &self,
        ahead: &Candidate<'r>,
        behind: &Candidate<'r>,
        counts: impl Fn(&&Lead<'r>) -> bool,
    ) -> Option<Evidence> {
        let is_notable = behind.cost_ns - ahead.cost_ns > SAME * behind.cost_ns;
        let of_both =
            |lead: &&Lead<'r>| ptr::eq(lead.ahead, ahead.series) && ptr::eq(lead.behind, behind.series);
        let leads = self.leads.iter().filter(|lead| is_notable && of_both(lead) && counts(lead));
        leads.map(|lead| lead.evidence).min_by(|a, b| a.by_chance.total_cmp(&b.by_chance))
    }

    /// Methods that keep up with known costs, cheapest first.
    fn candidates(&self, scene: &[&'r Series], at: impl Fn(&Reading) -> bool) -> Vec<Candidate<'r>> {
        let all =
            scene.iter().flat_map(|&series| series.readings.iter().map(move |reading| (series, reading)));
        let mut candidates: Vec<Candidate<'r>> = all
            .filter(|(_, reading)| at(reading) && costs(self.swept, reading).is_some())
            .filter_map(|(series, reading)| {
                Some(Candidate { series, reading, cost_ns: reading.total_ns_per_packet?.median })
            })
            .collect();
        candidates.sort_by(|a, b| a.cost_ns.total_cmp(&b.cost_ns));
        candidates
    }

    /// The cheapest of all rings and methods. Methods are compared at the same rings; of rings with equal cost the smallest
    /// wins.
    fn of_rings(&self, scene: &[&'r Series], findings: &mut Vec<Finding>) {
        let candidates = self.candidates(scene, |_| true);
        let Some(first) = candidates.first() else { return };
        let name = |candidate: &Candidate<'_>| {
            format!("{} with {}", candidate.series.method, self.swept.label(candidate.reading))
        };
        let cost = format!("{} of CPU time per packet", time(first.cost_ns));
        if candidates.len() == 1 {
            push(
                scene,
                format!("only {} keeps up without loss, at {cost}.", name(first)),
                &candidates,
                findings,
            );
            return;
        }
        let mut text = format!(
            "of {} pairs of method and ring that keep up without loss, {} costs least, {cost}",
            candidates.len(),
            name(first)
        );
        let others = scene.iter().filter(|series| !ptr::eq(**series, first.series));
        let best_of_others = others
            .filter_map(|series| candidates.iter().find(|candidate| ptr::eq(candidate.series, *series)));
        let (mut proof, mut doubtful): (Option<Evidence>, Vec<String>) = (None, Vec::new());
        for other in best_of_others {
            match self.lead(first, other, |_| true) {
                Some(evidence) => proof = Some(proof.map_or(evidence, |known| known.weaker(evidence))),
                None => doubtful.push(other.series.method.to_string()),
            }
        }
        match (doubtful.as_slice(), proof) {
            ([], None) => {}
            ([], Some(evidence)) => text.push_str(&format!(" ({evidence})")),
            (methods, _) => {
                text.push_str(&format!(", from which {} cannot be distinguished", methods.join(", ")))
            }
        }
        let alike = candidates.iter().filter(|other| other.cost_ns - first.cost_ns <= SAME * other.cost_ns);
        if let Some(smallest) = alike.min_by_key(|candidate| candidate.reading.point) {
            text.push_str("; of those that cost the same within 5 %, the smallest ring is ");
            text.push_str(&match ptr::eq(smallest, first) {
                true => "its own".into(),
                false => format!("that of {}, at {}", name(smallest), time(smallest.cost_ns)),
            });
        }
        push(scene, format!("{text}."), &candidates, findings);
    }
}

/// The cost range of a method at these points.
fn range(candidates: &[Candidate<'_>], method: &SavedMethod) -> String {
    let costs = candidates
        .iter()
        .filter(|candidate| candidate.series.method == *method)
        .map(|candidate| candidate.cost_ns);
    let (least, most) =
        costs.fold((f64::INFINITY, 0.0_f64), |(least, most), cost| (least.min(cost), most.max(cost)));
    if most - least < 1.0 { time(most) } else { format!("{} to {}", time(least), time(most)) }
}

fn push(scene: &[&Series], text: String, candidates: &[Candidate<'_>], findings: &mut Vec<Finding>) {
    let scene = scene.first().and_then(|series| series.scene());
    findings.push(Finding {
        scene,
        text,
        fact: None,
        trials: numbers(candidates.iter().map(|candidate| candidate.reading)),
    });
}
