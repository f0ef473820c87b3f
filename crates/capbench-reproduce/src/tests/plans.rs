//! What is planned, and the texts of tables and claims, word by word.

use capbench_report::sentences::{claim_words, table_notes};
use std::fmt::Write;

use super::super::PUBLICATIONS;
use super::super::publication::{VENDORS, find};
use super::super::step::Action;
use super::*;
use capbench_judge::reproduction::Answer;
use capbench_judge::thresholds::REPRODUCTION_VISITS;

#[test]
fn plans_are_those_of_the_publications() {
    let conditions = conditions(2);
    let mut text = String::new();
    for publication in PUBLICATIONS.iter() {
        for step in publication.plan(&conditions).unwrap() {
            let _ = writeln!(text, "{} {}: {}", publication.key, step.name, step.summary);
            match &step.action {
                Action::Sweep(plan) => {
                    let points: Vec<_> = plan.axis.points().iter().map(ToString::to_string).collect();
                    let methods: Vec<_> = plan.methods.iter().map(ToString::to_string).collect();
                    let _ = writeln!(
                        text,
                        "  {} x {} at {} for {:?}, {} times, ring {}, sizes {}",
                        methods.join(" "),
                        points.join(" "),
                        plan.loads[0],
                        plan.duration,
                        plan.repeats,
                        plan.base.capture.ring,
                        plan.base.sizes
                    );
                }
                Action::Trials { cases, visits, .. } => {
                    for case in cases {
                        let _ = writeln!(
                            text,
                            "  {} {} {} at {} for {:?}, {} times",
                            case.setup.method,
                            case.setup.label(),
                            case.setup.placement,
                            case.load,
                            case.duration,
                            case.frequency.visits(*visits)
                        );
                    }
                }
                Action::Searches(searches) => {
                    for (setup, plan) in searches {
                        let _ = writeln!(
                            text,
                            "  {} {} {} to {:.0}: {}",
                            setup.method,
                            setup.label(),
                            setup.placement,
                            plan.maximum_pps.unwrap().get(),
                            capbench_report::sentences::goal_help::words(&plan.goals[0])
                        );
                    }
                }
            }
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn methods_of_vendors_that_run_here_are_in_the_plan_and_its_time() {
    let (publication, conditions) = (find("cesnet-2008").unwrap(), conditions(1));
    let trials = |absent: &[&str]| {
        let steps = publication.without(&conditions, absent).unwrap();
        let planned: usize = steps.iter().map(|step| step.trials().unwrap()).sum();
        (planned, publication.estimate(&conditions, absent).unwrap().median.trials)
    };
    let (with, without) = (trials(&["szedata2"]), trials(&VENDORS));
    assert!(with.0 > without.0 && with.1 > without.1, "{with:?} {without:?}");
}

#[test]
fn each_takes_less_than_a_quarter_of_an_hour_unless_more_is_asked_for() {
    let default = conditions(REPRODUCTION_VISITS);
    let published = Conditions { scale: Scale::PUBLISHED, ..default.clone() };
    for publication in PUBLICATIONS.iter() {
        let [seconds, published_s] = [&default, &published].map(|conditions| {
            let estimate = publication.estimate(conditions, &VENDORS).unwrap();
            estimate.median.time(conditions.base.quiet).as_secs_f64()
        });
        assert!((60.0..900.0).contains(&seconds), "{}: {seconds} s", publication.key);
        assert!(published_s > 3.0 * seconds, "{}: {published_s} s", publication.key);
    }
}

fn claims(text: &mut String, reproduction: &Reproduction) {
    for judgement in &reproduction.findings {
        let Judgement { claim, answer, trials, .. } = judgement;
        let said = claim_words(judgement);
        let answer = match answer {
            Answer::Holds => "Holds here",
            Answer::Changed => "Does not hold here",
            Answer::Inconclusive => "Undecided",
            Answer::NotTestable => "Not testable here",
        };
        let _ = writeln!(text, "{answer} ({} trials): {claim}\n  {said}", trials.len());
    }
}

fn tables(text: &mut String, reproduction: &Reproduction) {
    for table in &reproduction.tables {
        let curves = table.curves.map(|curves| format!(", curves of {curves:?}")).unwrap_or_default();
        let _ = writeln!(text, "\n{}: {}{curves}", table.id, table.caption);
        let heads = table.columns.iter().map(|column| {
            format!("{:?} {} {} {}", column.side, column.method, column.what, column.quantity.unit())
        });
        let _ = writeln!(text, "{} | {}", table.rows_are.heading, heads.collect::<Vec<_>>().join(" | "));
        for row in &table.rows {
            let cells = row.cells.iter().zip(&table.columns).map(|(cell, column)| cell.text(column.quantity));
            let _ = writeln!(text, "{} | {}", row.label, cells.collect::<Vec<_>>().join(" | "));
        }
        for note in table_notes(table) {
            let _ = writeln!(text, "{note}");
        }
    }
}

#[test]
fn tables_and_claims_say_what_they_said() {
    let cards = ["pf-ring", "szedata2"].map(|name| SimulatedMethod::new(name, 1e6));
    let with_cards = path(methods().into_iter().chain(cards).collect());
    let weak = SimulatedLaboratory::new(90_000.0, methods());
    let mut text = String::new();
    for publication in PUBLICATIONS.iter() {
        let key = &publication.key;
        for (what, visits, laboratory) in [
            ("an ordinary path", 2, path(methods())),
            ("with cards", 2, with_cards.clone()),
            ("a weak generator", 2, weak.clone()),
            ("one visit", 1, path(methods())),
        ] {
            let (reproduction, _) = run(key, visits, &mut laboratory.clone());
            let _ = writeln!(text, "\n## {key}, {what}\n");
            claims(&mut text, &reproduction);
            if what == "an ordinary path" {
                tables(&mut text, &reproduction);
            }
        }
    }
    assert!(!text.contains(['{', '}']), "something was not filled in: {text}");
    assert!(!text.contains("\n  \n"), "a claim without a text: {text}");
    insta::assert_snapshot!(text);
}
