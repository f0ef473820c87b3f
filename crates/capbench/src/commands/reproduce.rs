//! `capbench reproduce`: the experiment of a publication on this host, next to its published tables.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use capbench_capture::methods;
use capbench_frames::{FrameLayout, FrameSize, Mtu, Sizes};
use capbench_lab::live::Path;
use capbench_lab::programs::Programs;
use capbench_model::TrialError;
use capbench_model::laboratory::Setup;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::SizeLabel;
use capbench_model::work::WorkModel;
use capbench_plan::PlanError;
use capbench_plan::cost::Spread;
use capbench_report::formats::text::wrapped;
use capbench_reproduce::publication::VENDORS;
use capbench_reproduce::{self, Conditions, PUBLICATIONS, Publication};

use super::measuring::Ready;
use crate::cli::reproduce::ReproduceFlags;
use crate::estimate;
use crate::exit::{Exit, Usage, print};

/// The name of all publications together.
const ALL: &str = "all";
/// The MTU of the virtual link: Ethernet's.
const MTU: Mtu = Mtu(1500);

/// The [`VENDORS`] whose methods cannot run here.
fn absent_vendors() -> Vec<&'static str> {
    let runs = |name: &str| {
        let spec = MethodSpec::plain(name);
        methods::find(&spec).is_ok_and(|method| (method.supported)(&spec).is_ok())
    };
    VENDORS.into_iter().filter(|name| !runs(name)).collect()
}

/// Runs the command.
pub fn run(flags: &ReproduceFlags) -> Result<Exit> {
    let publications = publications(&flags.key)?;
    let base = conditions(flags);
    let publications: Vec<(&Publication, Conditions)> = publications
        .into_iter()
        .map(|publication| {
            let visits = flags.visits.unwrap_or(publication.visits);
            (publication, Conditions { visits, ..base.clone() })
        })
        .collect();
    let absent = absent_vendors();
    let estimates: Vec<Spread> = publications
        .iter()
        .map(|(publication, conditions)| publication.estimate(conditions, &absent))
        .collect::<capbench_plan::Result<_>>()?;
    if flags.run.dry_run {
        print(&describe(&publications, &base, &estimates, &absent)?)?;
        return Ok(Exit::Done);
    }
    let ready = Ready::open(&path(flags), &Programs::default(), &flags.run)?;
    let trials = estimates.iter().map(|spread| spread.median.trials as usize).sum();
    let mut run = ready.begin("reproduce", &flags.run, vec![statement(&base)], trials)?;
    let mut stopped = false;
    let mut refused = Vec::new();
    for (publication, conditions) in &publications {
        match publication.run(conditions, &mut run.laboratory, &mut run.recorder) {
            Ok(is_stopped) => stopped = is_stopped,
            // This publication cannot run here; another may have a placement or method that can.
            Err(PlanError::Trial(error @ TrialError::Unsupported { .. })) => {
                run.recorder.leave_out_publication(&publication.key, &error);
                refused.push(error);
            }
            Err(error) => return Err(error.into()),
        }
        if stopped {
            break;
        }
    }
    if refused.len() == publications.len() {
        return Err(refused.remove(0).into());
    }
    let ended = run.end(stopped, |_| {})?;
    print(&ended.text())?;
    Ok(ended.exit_where(|_| false))
}

fn publications(key: &str) -> Result<Vec<&'static Publication>, Usage> {
    if key == ALL {
        return Ok(PUBLICATIONS.iter().collect());
    }
    capbench_reproduce::find(key).map(|publication| vec![publication]).ok_or_else(|| {
        let known: Vec<_> = PUBLICATIONS.iter().map(|publication| publication.key.as_str()).collect();
        Usage(format!("\"{key}\" is no publication; {} and {ALL} are", known.join(", ")))
    })
}

/// Conditions for every publication. Without `--visits` each has its own number.
fn conditions(flags: &ReproduceFlags) -> Conditions {
    let size = FrameSize::LEAST;
    let base = Setup {
        method: MethodSpec::plain(""),
        label: SizeLabel::Octets(size.octets()),
        sizes: Sizes::Fixed(size),
        layout: FrameLayout::default(),
        placement: PlacementChoice::Same,
        work: WorkModel::None.into(),
        capture: CaptureOptions::default(),
        moderation: None,
        transmit: flags.transmit.clone(),
        burst: None,
        quiet: flags.quiet,
        latency: None,
    };
    // A new order for each run. It is saved with sweeps, so that a run can repeat it.
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let visits = flags.visits.unwrap_or(1);
    Conditions { base, scale: flags.scale, visits, seed: flags.seed.unwrap_or(seed) }
}

fn path(flags: &ReproduceFlags) -> Path {
    match (&flags.tx, &flags.rx) {
        (Some(transmit), Some(receive)) => Path::Interfaces {
            transmit: transmit.clone(),
            receive: receive.clone(),
            isolated: flags.isolated,
        },
        _ => Path::Virtual { mtu: MTU, receive_by: flags.receive_by },
    }
}

fn statement(conditions: &Conditions) -> String {
    format!(
        "trials last {} of the published lengths, and 300 ms at least, of loke-2011 5 s (50 ms below a scale of \
         0.0025); they wait {:?} for missing frames, with no time to settle, where RFC 2544 asks for 2 s and 5 s; searches end at {} %; order by seed {}",
        conditions.scale,
        conditions.base.quiet,
        conditions.scale.width() * 100.0,
        conditions.seed
    )
}

fn describe(
    publications: &[(&Publication, Conditions)],
    base: &Conditions,
    estimates: &[Spread],
    absent: &[&str],
) -> Result<String> {
    let quiet = base.base.quiet;
    let mut text = String::new();
    let mut whole = Spread::default();
    for ((publication, conditions), spread) in publications.iter().zip(estimates) {
        let Publication { key, title, source, .. } = publication;
        wrapped(&mut text, &format!("{key}  "), "  ", &format!("{title} ({source})"));
        let methods = methods(publication, conditions)?;
        wrapped(&mut text, "  methods     ", "              ", &methods.join(", "));
        for step in publication.without(conditions, absent)? {
            let words = format!("{}: about {} trials", step.summary, step.trials()?);
            wrapped(&mut text, "  step        ", "              ", &words);
        }
        let _ = writeln!(text, "  visits      {}", conditions.visits);
        wrapped(&mut text, "  time        ", "              ", &estimate::time_of(*spread, quiet, 1));
        whole = Spread {
            least: whole.least.and(spread.least),
            median: whole.median.and(spread.median),
            most: whole.most.and(spread.most),
        };
    }
    let _ = writeln!(text, "scale         {}", base.scale);
    wrapped(&mut text, "time          ", "              ", &estimate::time_of(whole, quiet, 1));
    let missing = match absent {
        [] => String::new(),
        [one] => format!(", and without {one}, which needs a vendor's library"),
        some => format!(", and without {}, which need a vendor's library", some.join(" and ")),
    };
    let limits = format!("without noise, which adds to it{missing}");
    wrapped(&mut text, "              ", "              ", &limits);
    Ok(text)
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
