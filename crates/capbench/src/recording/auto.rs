//! `--method auto`: the method that the user's last conclusive bench of this host recommends. A method that names code, such as a
//! library path, is never chosen.

use std::path::Path;

use capbench_capture::methods;
use capbench_host::environment;
use capbench_judge::recommendation::Recommendation;
use capbench_model::method_spec::MethodSpec;

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
        return Err("the last conclusive bench was on another host or kernel".into());
    }
    let time = humantime::format_rfc3339_seconds(
        std::time::UNIX_EPOCH + std::time::Duration::from_secs(saved.started_unix_s),
    );
    let (taken, passed_over) = choice(&saved.recommended);
    let reasons = passed_over.iter().map(|(method, why)| format!("; passed over {method}: {why}"));
    let reasons: String = reasons.collect();
    match taken {
        Some(method) => Ok((method, format!("recommended by the bench of {time}{reasons}"))),
        None => Err(format!("the bench of {time} recommends no method to record by{reasons}")),
    }
}

/// The method would cut the host off from its network.
const TAKES_FRAMES: &str = "the host would not receive its frames";
/// A library's path must not come from results.
const NAMES_CODE: &str = "only --method can name a device or a library";

/// Methods that only `--method` can select, each with the reason.
type OnlyByName<'r> = Vec<(&'r MethodSpec, &'static str)>;

/// The best method that leaves the host its frames and names no code, and the better methods that only `--method` can select. A
/// method that sustained no load without loss is not chosen.
fn choice(recommended: &Recommendation) -> (Option<MethodSpec>, OnlyByName<'_>) {
    let mut passed_over = Vec::new();
    let Some(ranking) = recommended.headline().filter(|_| recommended.is_conclusive()) else {
        return (None, passed_over);
    };
    for ranked in ranking.methods.iter().filter(|ranked| ranked.lossless.lower_pps.is_some()) {
        let Some(spec) = ranked.method.known().filter(|spec| super::check_method(spec).is_ok()) else {
            continue;
        };
        match methods::find(spec) {
            Ok(_) if spec.names_code() => passed_over.push((spec, NAMES_CODE)),
            Ok(method) if (method.takes_frames)(spec) => passed_over.push((spec, TAKES_FRAMES)),
            Ok(_) => return (Some(spec.clone()), passed_over),
            Err(_) => {}
        }
    }
    (None, passed_over)
}

/// Chooses by any octets, for the fuzz target.
#[cfg(any(test, fuzzing))]
pub(crate) fn understand(octets: &[u8]) {
    if let Ok(saved) = recommended::within_memory(octets) {
        std::hint::black_box(choice(&saved.recommended));
    }
}

#[cfg(test)]
mod tests;
