//! chrony: `chronyc -c tracking`, a line of comma-separated fields (chronyc(1)).

use super::nanoseconds;

/// Without names of servers, as CSV.
pub(super) const COMMAND: &[&str] = &["chronyc", "-n", "-c", "tracking"];

/// Places of the fields in the line.
const SYSTEM_TIME: usize = 4;
const ROOT_DELAY: usize = 10;
const ROOT_DISPERSION: usize = 11;
const LEAP_STATUS: usize = 13;

/// The largest error of the clock, as chronyc(1) bounds it: the correction that is left, the root dispersion, and half of the root
/// delay.
pub(super) fn error_ns(text: &str) -> Result<u64, String> {
    let fields: Vec<&str> = text.trim().split(',').collect();
    let seconds = |place: usize| {
        let number: Option<f64> = fields.get(place).and_then(|field| field.parse().ok());
        number.filter(|number| number.is_finite()).ok_or_else(|| "its answer is not understood".to_string())
    };
    let error = seconds(SYSTEM_TIME)?.abs() + seconds(ROOT_DISPERSION)? + seconds(ROOT_DELAY)? / 2.0;
    match fields.get(LEAP_STATUS) {
        Some(&"Not synchronised") => Err("not synchronised".into()),
        Some(_) => Ok(nanoseconds(error)),
        None => Err("its answer is not understood".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_that_of_the_manual_page() {
        let line = "CB00710F,203.0.113.15,3,1493810400.123,0.000006523,-0.000006747,0.000035822,-3.225,0.001,0.129,0.013639022,0.001100737,64.2,Normal";
        assert_eq!(error_ns(line), Ok(6_523 + 1_100_737 + 6_819_511));
        let negative = line.replace("0.000006523", "-0.000006523");
        assert_eq!(error_ns(&negative), error_ns(line));
    }

    #[test]
    fn a_daemon_that_follows_nothing_states_no_error() {
        let line = "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,-31.420,0.000,0.000,1.000000000,1.000000000,0.0,Not synchronised";
        assert_eq!(error_ns(line), Err("not synchronised".into()));
        for odd in [
            "",
            "506 Cannot talk to daemon",
            "a,b,c,d,e,f,g,h,i,j,k,l,m,Normal",
            &line.replace("1.000000000", "inf"),
        ] {
            assert_eq!(error_ns(odd), Err("its answer is not understood".into()), "{odd}");
        }
    }
}
