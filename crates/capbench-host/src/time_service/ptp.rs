//! PTP: `pmc` of linuxptp, asked over the socket of ptp4l on this host (pmc(8)). It prints a field on a line, its name first.

/// Boundary hops 0: only this host.
pub(super) const COMMAND: &[&str] = &["pmc", "-u", "-b", "0", "GET PORT_DATA_SET", "GET CURRENT_DATA_SET"];

/// The largest error of the clock that ptp4l steers: its offset from the master, and what unequal ways there and back can hide,
/// which is the mean path delay.
pub(super) fn error_ns(text: &str) -> Result<u64, String> {
    let values = |name: &str| {
        let name = name.to_string();
        text.lines().filter_map(move |line| {
            let mut words = line.split_whitespace();
            (words.next()? == name).then(|| words.next()).flatten()
        })
    };
    let states: Vec<&str> = values("portState").collect();
    if states.is_empty() {
        return Err("ptp4l does not answer".into());
    }
    if !states.contains(&"SLAVE") {
        // A master follows nobody over PTP, and states no error of its clock.
        return Err(format!("ptp4l's port is {}", states.join(", ")));
    }
    let number = |name: &str| -> Option<f64> {
        values(name).next()?.parse().ok().filter(|number: &f64| number.is_finite())
    };
    let sum = number("offsetFromMaster")
        .zip(number("meanPathDelay"))
        .map(|(offset, delay)| offset.abs() + delay.abs());
    sum.map(|ns| ns.ceil() as u64).ok_or_else(|| "its answer is not understood".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "sending: GET PORT_DATA_SET
sending: GET CURRENT_DATA_SET
\tb49691.fffe.00a0b1-1 seq 0 RESPONSE MANAGEMENT PORT_DATA_SET
\t\tportIdentity            b49691.fffe.00a0b1-1
\t\tportState               SLAVE
\t\tlogMinDelayReqInterval  0
\t\tpeerMeanPathDelay       0
\tb49691.fffe.00a0b1-0 seq 1 RESPONSE MANAGEMENT CURRENT_DATA_SET
\t\tstepsRemoved     1
\t\toffsetFromMaster -42.5
\t\tmeanPathDelay    671.0
";

    #[test]
    fn offset_and_path_delay_bound_the_error_of_a_slave() {
        assert_eq!(error_ns(ANSWER), Ok(714));
    }

    #[test]
    fn a_port_that_follows_nobody_states_no_error() {
        for state in ["UNCALIBRATED", "MASTER", "GRAND_MASTER"] {
            let found = error_ns(&ANSWER.replace("SLAVE", state));
            assert_eq!(found, Err(format!("ptp4l's port is {state}")));
        }
        assert_eq!(error_ns("sending: GET PORT_DATA_SET\n"), Err("ptp4l does not answer".into()));
        assert_eq!(error_ns(&ANSWER.replace("671.0", "nan")), Err("its answer is not understood".into()));
    }
}
