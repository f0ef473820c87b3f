//! `capbench reproduce`: the experiment of a publication on this host, next to its published tables.

use std::time::Duration;

use anyhow::Result;
use capbench_capture::methods;
use capbench_frames::{FrameSize, Sizes};
use capbench_judge::durations::Planned;
use capbench_judge::thresholds::REPRODUCTION_VISITS;
use capbench_model::TrialError;
use capbench_model::laboratory::Laboratory;
use capbench_model::method_spec::MethodSpec;
use capbench_plan::PlanError;
use capbench_plan::cost::{Cost, Spread};
use capbench_report::formats::text::wrapped;
use capbench_reproduce::publication::VENDORS;
use capbench_reproduce::{self, Conditions, PUBLICATIONS, Publication, Scale};
use capbench_results::Kind;
use clap::Args;

use super::recorder::Recorder;
use super::scene::{Scene, plain_setup};
use super::scene_flags::{PathFlags, RunFlags};
use super::{Ended, Plan, seed, words};
use crate::exit::{Exit, Usage};
use crate::flag_values::positive_duration;

/// The name of all publications together.
const ALL: &str = "all";
/// The MTU of the virtual link: Ethernet's.
const MTU: u32 = 1500;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reproduce")]
pub struct ReproduceFlags {
    /// The publication: dain-2004, deri-2004, cesnet-2008, loke-2011 or libtrace-2012; or all
    #[arg(value_name = "KEY")]
    key: String,
    /// Length of trials as a part of the published one; 1 is as published. Each takes less than 15 minutes at the default,
    /// on two CPUs, and hours at 1
    #[arg(long, value_name = "X", default_value = "0.005", allow_negative_numbers = true)]
    scale: Scale,
    /// How often each point is visited, in a new random order each time; one visit distinguishes nothing [default:
    /// 9, of which one may contradict the others]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    visits: Option<u32>,
    /// Names the random order of the points; the same seed gives the same order [default: the time]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// How long a trial waits for missing frames after the last one that arrives; RFC 2544 waits 2s
    #[arg(long, value_name = "TIME", value_parser = positive_duration, default_value = "200ms")]
    quiet: Duration,
    #[command(flatten)]
    path: PathFlags,
    #[command(flatten)]
    run: RunFlags,
}

/// A publication as it will be run.
struct Part {
    publication: &'static Publication,
    estimate: Spread,
}

struct Reproduce {
    parts: Vec<Part>,
    /// Conditions of every publication.
    base: Conditions,
    /// Methods that need a vendor's library which is not here.
    absent: Vec<&'static str>,
}

pub fn run(flags: &ReproduceFlags) -> Result<Exit> {
    let publications = publications(&flags.key)?;
    let setup = plain_setup(Sizes::Fixed(FrameSize::LEAST), &flags.path, flags.quiet)?;
    let visits = flags.visits.unwrap_or(REPRODUCTION_VISITS);
    let base = Conditions { base: setup, scale: flags.scale, visits, seed: seed(flags.seed) };
    let absent = absent_vendors();
    let mut parts = Vec::new();
    for publication in publications {
        let estimate = publication.estimate(&base, &absent)?;
        parts.push(Part { publication, estimate });
    }
    super::run(Scene::of_path(&flags.path, MTU, &flags.run)?, Reproduce { parts, base, absent })
}

fn publications(key: &str) -> Result<Vec<&'static Publication>, Usage> {
    if key == ALL {
        return Ok(PUBLICATIONS.iter().collect());
    }
    capbench_reproduce::find(key).map(|publication| vec![publication]).ok_or_else(|| {
        let known = words::list(PUBLICATIONS.iter().map(|publication| &publication.key));
        Usage(format!("\"{key}\" is no publication; {known} and {ALL} are"))
    })
}

impl Plan for Reproduce {
    const KIND: Kind = Kind::Reproduce;

    fn describe(&self, _: &Scene) -> Result<String> {
        let quiet = self.base.base.quiet;
        let mut text = String::new();
        let row = |text: &mut String, head: &str, words: &str| {
            wrapped(text, &format!("{head:<14}"), &" ".repeat(14), words);
        };
        let mut whole = Spread::default();
        for Part { publication, estimate } in &self.parts {
            let Publication { key, title, source, .. } = publication;
            wrapped(&mut text, &format!("{key}  "), "  ", &format!("{title} ({source})"));
            row(&mut text, "  methods", &methods(publication, &self.base)?.join(", "));
            for step in publication.without(&self.base, &self.absent)? {
                row(&mut text, "  step", &format!("{}: about {} trials", step.summary, step.trials()?));
            }
            row(&mut text, "  time", &words::time_of(*estimate, quiet, 1));
            whole = Spread {
                least: whole.least.and(estimate.least),
                median: whole.median.and(estimate.median),
                most: whole.most.and(estimate.most),
            };
        }
        row(&mut text, "visits", &self.base.visits.to_string());
        row(&mut text, "scale", &self.base.scale.to_string());
        row(&mut text, "time", &words::time_of(whole, quiet, 1));
        let missing = match &self.absent[..] {
            [] => String::new(),
            [one] => format!(", and without {one}, which needs a vendor's library"),
            some => format!(", and without {}, which need a vendor's library", some.join(" and ")),
        };
        row(&mut text, "", &format!("with repeats of disturbed trials{missing}"));
        Ok(text)
    }

    fn fit(&mut self, _: &Scene, _: &mut dyn Laboratory) -> Result<()> {
        Ok(())
    }

    fn planned(&self) -> Result<Planned> {
        let mut cost = Cost::default();
        for part in &self.parts {
            cost = cost.and(part.estimate.median);
        }
        Ok(cost.planned(self.base.base.quiet))
    }

    fn statements(&self, _: &Scene) -> Vec<String> {
        let Conditions { base, scale, seed, .. } = &self.base;
        vec![format!(
            "trials last {scale} of the published lengths, but at least {:?}, of loke-2011 at least 5 s ({:?} below a scale of {}); \
             they wait {:?} for missing frames, with no time to settle, where RFC 2544 asks for 2 s and 5 s; searches \
             end at {} %; order by seed {seed}",
            Scale::LEAST_TRIAL,
            Scale::LEAST_CHECK,
            Scale::LEAST_EVIDENCE,
            base.quiet,
            scale.width() * 100.0,
        )]
    }

    fn run(&mut self, laboratory: &mut dyn Laboratory, recorder: &mut Recorder) -> Result<Ended> {
        let mut refused = Vec::new();
        for Part { publication, .. } in &self.parts {
            match publication.run(&self.base, laboratory, recorder) {
                Ok(true) => return Ok(true.into()),
                Ok(false) => {}
                // This publication cannot run here; another may have a placement or method that can.
                Err(PlanError::Trial(error @ TrialError::Unsupported { .. })) => {
                    recorder.leave_out_publication(&publication.key, &error);
                    refused.push(error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        if refused.len() == self.parts.len() {
            return Err(refused.remove(0).into());
        }
        Ok(Ended::default())
    }
}

/// The [`VENDORS`] whose methods cannot run here.
fn absent_vendors() -> Vec<&'static str> {
    let runs = |name: &str| {
        let spec = MethodSpec::plain(name);
        methods::find(&spec).is_ok_and(|method| (method.supported)(&spec).is_ok())
    };
    VENDORS.into_iter().filter(|name| !runs(name)).collect()
}

/// Methods of a publication, each once.
fn methods(publication: &Publication, conditions: &Conditions) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for setup in publication.plan(conditions)?.iter().flat_map(|step| step.setups()) {
        let name = setup.method.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::publications;

    #[test]
    fn publications_have_names_and_all_is_every_one() {
        assert_eq!(publications("all").unwrap().len(), 5);
        assert_eq!(publications("loke-2011").unwrap()[0].key, "loke-2011");
        let refusal = publications("loke-2012").unwrap_err().to_string();
        assert!(refusal.contains("loke-2012") && refusal.contains("libtrace-2012 and all are"), "{refusal}");
    }
}
