//! `--method auto`: the method that the user's last bench of this host recommends, as far as it is certain: one that no other method
//! is known to beat. A method that names code, such as a library path, is never chosen. What is certain is decided in
//! `recommendation/certain.rs` of capbench-judge.

use std::fmt::Display;
use std::path::Path;

use capbench_capture::methods;
use capbench_host::environment;
use capbench_judge::recommendation::{CertainChoice, Question, Ranking, Recommendation};
use capbench_model::figures::grouped;
use capbench_model::method_spec::MethodSpec;
use capbench_model::saved::SavedMethod;

use crate::recommended;

/// The method without a usable recommendation.
const FALLBACK: &str = "packet-v3";

/// The method, and why it was chosen.
pub fn choose() -> (MethodSpec, String) {
    let found = match recommended::folder() {
        Some(folder) => choose_from(&folder),
        None => Err("neither XDG_STATE_HOME nor HOME names a folder with a recommendation".into()),
    };
    found.unwrap_or_else(|why| {
        (MethodSpec::plain(FALLBACK), format!("{why}; `capbench bench` finds out what suits this host"))
    })
}

/// The method that the bench recommends that is saved in a folder, or why there is none.
fn choose_from(folder: &Path) -> Result<(MethodSpec, String), String> {
    let saved = recommended::read(folder)
        .map_err(|error| format!("the recommendation in {} is not used: {error}", folder.display()))?;
    let Some(saved) = saved else {
        return Err(format!("no bench with a certain answer is saved in {}", folder.display()));
    };
    if saved.host != environment::host().map_err(|error| error.to_string())? {
        return Err("the last bench with a certain answer was on another host or kernel".into());
    }
    let time = humantime::format_rfc3339_seconds(
        std::time::UNIX_EPOCH + std::time::Duration::from_secs(saved.started_unix_s),
    );
    let Some(certain) = saved.recommended.certain_choice() else {
        return Err(format!("nothing is certain in the bench of {time}"));
    };
    let Choice { method, passed_over } = choice(&saved.recommended, &certain);
    let mut reasons = String::new();
    for PassedOver { method, why } in passed_over {
        reasons += &format!("; passed over {method}: {why}");
    }
    match method {
        Some(method) => {
            let bench = format!("{time}{}", asked_words(saved.recommended.question));
            let origin = origin(&certain, &method, &bench);
            Ok((method, format!("{origin}{reasons}")))
        }
        None => Err(format!("the bench of {time} recommends no method to record by{reasons}")),
    }
}

/// What the bench was asked for, if not for the highest rate: another method may be best at another load.
fn asked_words(question: Question) -> String {
    match question {
        Question::HighestRate => String::new(),
        Question::CheapestAt { pps } => format!(" at {} packets/s", grouped(pps)),
    }
}

/// What the bench says of the method.
fn origin(certain: &CertainChoice<'_>, method: &MethodSpec, time: impl Display) -> String {
    let may_be_best = certain.may_be_best();
    if certain.is_decided() || !may_be_best.iter().any(|best| **best == *method) {
        return format!("recommended by the bench of {time}");
    }
    let mut names = may_be_best[0].to_string();
    for best in &may_be_best[1..] {
        names += &format!(", {best}");
    }
    format!("one of {names}: the bench of {time} shows that the other methods are worse")
}

/// The method would cut the host off from its network.
const TAKES_FRAMES: &str = "the host would not receive its frames";
/// A library's path must not come from results.
const NAMES_CODE: &str = "only --method can name a device or a library";

/// What is chosen of a bench.
#[derive(Debug, Default, PartialEq)]
struct Choice<'r> {
    method: Option<MethodSpec>,
    /// Better methods that only `--method` can select.
    passed_over: Vec<PassedOver<'r>>,
}

/// A method that is not chosen, and the reason.
#[derive(Debug, PartialEq)]
struct PassedOver<'r> {
    method: &'r MethodSpec,
    why: &'static str,
}

/// The best method that leaves the host its frames and names no code. A method that captured nothing is not chosen.
fn choice<'r>(recommended: &'r Recommendation, certain: &CertainChoice<'r>) -> Choice<'r> {
    let mut choice = Choice::default();
    let Some(ranking) = recommended.headline() else { return choice };
    for method in best_first(ranking, certain) {
        if !ranking.shows_capture(method) {
            continue;
        }
        let Some(spec) = method.known().filter(|spec| super::check_method(spec).is_ok()) else { continue };
        let Ok(found) = methods::find(spec) else { continue };
        if spec.names_code() {
            choice.passed_over.push(PassedOver { method: spec, why: NAMES_CODE });
        } else if (found.takes_frames)(spec) {
            choice.passed_over.push(PassedOver { method: spec, why: TAKES_FRAMES });
        } else {
            choice.method = Some(spec.clone());
            break;
        }
    }
    choice
}

/// All methods, those that may be best before the others.
fn best_first<'r>(ranking: &'r Ranking, certain: &CertainChoice<'r>) -> Vec<&'r SavedMethod> {
    let may_be_best = certain.may_be_best();
    let mut methods = may_be_best.clone();
    for ranked in &ranking.methods {
        if !may_be_best.contains(&&ranked.method) {
            methods.push(&ranked.method);
        }
    }
    methods
}

/// Chooses by any octets, for the fuzz target.
#[cfg(any(test, fuzzing))]
pub(crate) fn understand(octets: &[u8]) {
    if let Ok(saved) = recommended::within_memory(octets)
        && let Some(certain) = saved.recommended.certain_choice()
    {
        std::hint::black_box(choice(&saved.recommended, &certain));
    }
}

#[cfg(test)]
mod tests;
