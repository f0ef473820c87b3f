use capbench_model::units::ByteCount;
use serde_json::json;

use super::*;
use crate::model::of_value;
use crate::ports::Allowed;
use crate::tally::Tally;

const CLIENT: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

const TRIAL: TrialId = TrialId(7);

fn session(ports: Vec<ConfiguredPort>) -> Session {
    let options = Options {
        allowed: Allowed::default(),
        lease: Duration::from_secs(600),
        capture_size: ByteCount(1),
        capture_folder: std::env::temp_dir(),
    };
    let lease = Lease::new(options.lease);
    Session { ports, ..Session::new(options, lease, Halt::default()) }
}

/// A flow that was started.
fn flow(number: usize, transmitter: usize, receivers: &[usize]) -> Flow {
    let config = json!({
        "name": format!("f{number}"),
        "tx_rx": {"port": {"tx_name": "p", "rx_names": ["q"]}},
        "metrics": {"enable": true, "loss": true},
    });
    Flow {
        number,
        config: of_value(&config).unwrap(),
        transmitter,
        receivers: receivers.into(),
        stream: 0,
        trial: Some(TRIAL),
        rates: Rates::default(),
    }
}

/// What a port has sent of flow 0, and received of it.
fn reading(sent: Option<(u64, RunState)>, received: u64) -> Result<Answer> {
    let of_flow =
        |(frames, state)| (0, Sent { trial: TRIAL, frames, octets: 64 * frames, state, began_ns: None });
    let received = Received { tally: Tally::with_delays(TRIAL, received, 0), quiet: QUIET };
    let (sent, received) = (sent.into_iter().map(of_flow).collect(), [(0, received)].into());
    Ok(Answer::Reading(Box::new(Reading { sent, received, ..Reading::default() })))
}

/// Frames sent and received of flow 0, and its loss.
fn counts(session: &mut Session) -> (Option<u64>, Option<u64>, Option<f64>) {
    let request = of_value(&json!({"choice": "flow", "flow": {"flow_names": ["f0"]}})).unwrap();
    let metrics = session.metrics(&request).unwrap();
    let metrics = serde_json::to_value(metrics).unwrap();
    let row = &metrics["flow_metrics"][0];
    (row["frames_tx"].as_u64(), row["frames_rx"].as_u64(), row["loss"].as_f64())
}

#[test]
fn what_arrived_is_read_before_what_was_sent_and_loss_after_the_end() {
    let (sends, pauses, over) = (RunState::Sends, RunState::Pauses, RunState::Over(QUIET));
    // More is sent and received between the readings.
    let sent = [(5, sends), (12, sends), (20, over)].map(|sent| reading(Some(sent), 0));
    let transmitter = ConfiguredPort::scripted("p", sent);
    let receiver = ConfiguredPort::scripted("q", [10, 15].map(|received| reading(None, received)));
    let mut two = session(vec![transmitter, receiver]);
    two.flows.push(flow(0, 0, &[1]));
    assert_eq!(counts(&mut two), (Some(12), Some(10), None));
    assert_eq!(counts(&mut two), (Some(20), Some(15), Some(25.0)));
    assert!(two.warnings.is_empty(), "each port had an answer: {:?}", two.warnings);
    // A port that sends and receives the flow.
    let both = [(5, sends, 10), (12, sends, 11), (12, pauses, 12), (12, pauses, 12)];
    let both = both.map(|(sent, state, received)| reading(Some((sent, state)), received));
    let mut one = session(vec![ConfiguredPort::scripted("p", both)]);
    one.flows.push(flow(0, 0, &[0]));
    assert_eq!(counts(&mut one), (Some(12), Some(10), None));
    assert_eq!(counts(&mut one), (Some(12), Some(12), None));
}

#[test]
fn waiting_warnings_are_bounded() {
    const MORE: usize = 2 * MOST_WARNINGS;
    let is_closed = || OtgError::Conflict("the port is not open".into());
    let other: Vec<_> = (0..MORE).map(|_| Ok(Answer::Done)).collect();
    let refused: Vec<_> = (0..MORE).map(|_| Err(is_closed())).collect();
    for (answers, expected) in [(other, "port p: no reading"), (refused, "port p: the port is not open")] {
        let mut session = session(vec![ConfiguredPort::scripted("p", answers)]);
        (0..MORE).for_each(|_| session.read());
        let warnings = session.warnings;
        assert_eq!((warnings.len(), warnings[0].as_str()), (MOST_WARNINGS + 1, expected));
        assert_eq!(warnings[MOST_WARNINGS], "more than 1000 warnings; others are left out");
    }
}

/// A client waits for the time of one, not for the sum.
#[test]
fn engines_that_hang_are_given_up_together() {
    const PORTS: u32 = 4;
    let location = "exec:sleep 1000,eth1";
    let mut session = session((0..PORTS).map(|_| ConfiguredPort::new("p", location)).collect());
    let options = session.options.clone();
    for port in &mut session.ports {
        port.start(&location.parse().unwrap(), "", &options, &Halt::default()).unwrap();
    }
    let (patience, begun) = (Duration::from_secs(2), Instant::now());
    let reads = session.present().into_iter().map(|at| (at, Request::Read));
    let answers = session.answers(reads, patience);
    let took = begun.elapsed();
    assert!(patience <= took && took < patience * PORTS, "{took:?}");
    for (at, answer) in answers {
        let error = answer.unwrap_err().to_string();
        assert!(error.starts_with(&format!("ports[{at}].location: {location}: no answer")), "{error}");
    }
    assert!(session.present().is_empty());
    assert_eq!(session.warnings.len(), session.ports.len(), "{:?}", session.warnings);
}

#[test]
fn a_start_of_all_flows_leaves_out_those_of_lost_ports() {
    let mut session = session(vec![ConfiguredPort::new("p", "p"), ConfiguredPort::scripted("q", [])]);
    session.flows = [0, 1].map(|number| Flow { trial: None, ..flow(number, number, &[]) }).into();
    let mut start = |flows: &[&str]| {
        let flow_transmit = json!({"state": "start", "flow_names": flows});
        let traffic = json!({"choice": "flow_transmit", "flow_transmit": flow_transmit});
        let state = of_value(&json!({"choice": "traffic", "traffic": traffic})).unwrap();
        let answer = session.control(&state, CLIENT);
        (answer, [0, 1].map(|flow: usize| session.flows[flow].has_run()))
    };
    let (answer, has_run) = start(&[]);
    let warnings = answer.unwrap().warnings;
    let words = "port p is lost: its flows do not start; set the configuration again";
    assert_eq!(has_run, [false, true]);
    assert!(warnings.iter().any(|warning| warning == words), "{warnings:?}");
    let (answer, _) = start(&["f0", "f1"]);
    let refusal = answer.unwrap_err();
    assert!(matches!(&refusal, OtgError::Conflict(why) if why.starts_with("port p: p is lost")), "{refusal}");
}
