//! Values of flags: durations and shares.

use std::time::Duration;

use capbench_frames::{Pps, StatedRate};

/// Longer than any measurement, and short enough for every time that is computed from it.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Reads a duration such as `500ms` or `1m 30s`; plain numbers are seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let refuse = || format!("\"{text}\" is not a duration; write for example 500ms, 10s or 2m");
    let duration = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| refuse())?,
        Err(_) => humantime::parse_duration(text).map_err(|_| refuse())?,
    };
    if duration > LONGEST {
        return Err(format!("\"{text}\" is longer than 366 days; give a shorter duration"));
    }
    Ok(duration)
}

/// As [`duration`], but longer than nothing.
pub fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("a duration of 0 measures nothing".into()),
        some => Ok(some),
    }
}

/// Reads a share from 0 to below 1, or in percent.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 100.0));
    let share = number.parse::<f64>().ok().map(|number| number / unit);
    let refuse = || format!("\"{text}\" is no share below 1; write for example 0, 1e-6 or 5%");
    share.filter(|share| (0.0..1.0).contains(share)).ok_or_else(refuse)
}

/// Reads a rate in frames per second. The other side chooses the frame size, so bits per second would be no limit of frames.
pub fn frames_per_second(text: &str) -> Result<Pps, String> {
    match text.parse().map_err(|error: capbench_frames::FrameError| error.to_string())? {
        StatedRate::Frames(rate) => Ok(rate),
        _ => Err(format!(
            "\"{text}\" depends on the frame size, which the other side chooses; write frames per second, such as 20M"
        )),
    }
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
