//! Flags of `capbench soak`.

use std::time::Duration;

use capbench_frames::Pps;
use clap::Args;

use super::positive_duration;
use super::scene::{SceneFlags, otherwise};

/// What to hold, and for how long.
#[derive(Args, Clone, Debug)]
#[command(
    next_help_heading = "Soak",
    mut_arg("method", |arg| otherwise(arg, "packet-v3")),
    mut_arg("size", |arg| otherwise(arg, "64")),
    mut_arg("placement", |arg| otherwise(arg, "same")),
    mut_arg("quiet", |arg| otherwise(arg, "500ms")),
    mut_arg("repeats", |arg| arg.hide(true)),
)]
pub struct SoakFlags {
    /// Load, such as 100000, 250k or 1.5Mpps
    #[arg(long, value_name = "RATE")]
    pub rate: Pps,
    /// How long to send, such as 10m, 12h or 3d
    #[arg(long = "for", value_name = "TIME", value_parser = positive_duration)]
    pub length: Duration,
    /// Length of an interval; after each the generator pauses until every frame is accounted for
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = interval)]
    pub interval: Duration,
    /// Share of the sent frames that may be lost, such as 1e-6 or 0.1%; more ends with exit code 3
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pub max_loss: f64,
    #[command(flatten)]
    pub scene: SceneFlags,
}

/// The least and the most that an interval lasts: its pause is to be short beside it, and planned times have to fit into
/// the frames' stamps.
const LEAST: Duration = Duration::from_millis(500);
const MOST: Duration = Duration::from_secs(3600);

fn interval(text: &str) -> Result<Duration, String> {
    let length = positive_duration(text)?;
    if (LEAST..=MOST).contains(&length) {
        Ok(length)
    } else {
        Err("an interval lasts between 500ms and 1h".into())
    }
}

/// A share from 0 to below 1, or in percent.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let refuse = || format!("\"{text}\" is no share; write for example 0, 1e-6 or 0.1%");
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 100.0));
    let share = number.parse::<f64>().map_err(|_| refuse())? / unit;
    if (0.0..1.0).contains(&share) { Ok(share) } else { Err(format!("{text}: a share is from 0 to below 1")) }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_are_numbers_or_percent() {
        assert_eq!(
            (share("0"), share("1e-6"), share("0.5%"), share("0.5 %")),
            (Ok(0.0), Ok(1e-6), Ok(0.005), Ok(0.005))
        );
        for text in ["1", "100%", "-0.1", "x", "", "%", "NaN"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
