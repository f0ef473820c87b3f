//! A generator that is a stand-in: a server of the API that counts as a test wants.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_frames::stamp::{StreamId, TrialId};
use capbench_frames::units::Mtu;
use capbench_frames::{FrameLayout, FrameSize, Sizes};
use capbench_lab::LabError;
use capbench_lab::live::ends::TransmitEnd;
use capbench_lab::live::halves::TransmitHalf;
use capbench_lab::live::messages::{Arm, FinishSending, Go, PrepareSending};
use capbench_model::noise::Noise;
use capbench_model::trial::Load;
use serde_json::{Value, json};

use super::{OtgGenerator, OtgSender, OtgServers};
use crate::location::Location;
use crate::waits::Waits;

/// What the stand-in answers to a request, by path and body.
type Answers = dyn Fn(&str, &Value) -> (u16, Value) + Send + Sync;

/// What the requests were.
type Requests = Arc<Mutex<Vec<(String, Value)>>>;

/// Serves until the process ends.
fn serve(answers: Box<Answers>) -> (Location, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Requests::default();
    let noted = Arc::clone(&requests);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (path, body) = read(stream.as_ref().unwrap());
            let (status, answer) = answers(&path, &body);
            noted.lock().unwrap().push((path, body));
            let text = answer.to_string();
            let head =
                format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", text.len());
            stream.unwrap().write_all((head + &text).as_bytes()).unwrap();
        }
    });
    (Location::Otg { url, interface: "p1".into() }, requests)
}

fn read(stream: &TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        lines.push(line);
    }
    let length = lines
        .iter()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let path = lines[0].split(' ').nth(1).unwrap_or_default().to_string();
    (path, serde_json::from_slice(&body).unwrap_or_default())
}

/// A server that has sent all its frames when it is asked, and says this of its port.
fn counting(metric: Value) -> Box<Answers> {
    Box::new(move |path, _| match path {
        "/monitor/metrics" => (200, json!({ "port_metrics": [metric] })),
        _ => (200, json!({})),
    })
}

fn open(location: &Location) -> crate::Result<OtgGenerator> {
    let [answer, drain, grace] = [2, 1, 1].map(Duration::from_secs);
    OtgServers::new(None, Waits { answer, drain, grace }, Arc::default()).open(location)
}

fn prepared(generator: &OtgGenerator) -> OtgSender<'_> {
    prepared_as(generator, StreamId(3))
}

fn prepared_as(generator: &OtgGenerator, stream: StreamId) -> OtgSender<'_> {
    let asked = PrepareSending {
        stream,
        transmit: "packet-tx".parse().unwrap(),
        layout: FrameLayout::default(),
        sizes: Sizes::Fixed(FrameSize::LEAST),
        mtu: Mtu(1500),
        cpus: Vec::new(),
        is_virtual: false,
    };
    OtgSender::prepare(generator, asked).unwrap()
}

fn arm(load: Load, duration: Duration) -> Arm {
    let trial = TrialId(7);
    Arm { trial, load, burst: None, duration, is_first: false, stays_open: false, in_turns: false }
}

/// A trial of 100 frames in 100 ms.
fn trial(sender: &mut OtgSender<'_>) -> capbench_lab::Result<TransmitHalf> {
    sender.arm(arm(Load::Rate(Pps::new(1000.0).unwrap()), Duration::from_millis(100)), None)?;
    let trial = TrialId(7);
    sender.go(Go { trial, head_start: Duration::ZERO, with_others: false })?;
    let sent = sender.sent()?;
    let half = sender.finish(FinishSending { trial, delivered: 100 })?;
    assert_eq!((sent[0].frames, sent[0].stream), (half.frames.sent, StreamId(3)));
    Ok(half)
}

#[test]
fn a_trial_is_a_configuration_a_start_and_a_count_that_nobody_verified() {
    let (location, requests) = serve(counting(json!({
        "frames_tx": "100", "transmit": "stopped", "link": "up", "speed": 1_250_000,
    })));
    let generator = open(&location).unwrap();
    let half = trial(&mut prepared(&generator)).unwrap();
    assert_eq!((half.frames.intended, half.frames.sent, half.frames.unsent), (100, 100, 0));
    assert!(half.unverified_because.unwrap().contains("is the generator's own count"));
    assert!(half.notes.is_empty() && !half.counts_each_frame);
    drop(generator);
    let requests = requests.lock().unwrap();
    let paths: Vec<_> = requests.iter().map(|(path, _)| path.as_str()).collect();
    let of_trial = ["/config", "/control/state", "/monitor/metrics"];
    assert_eq!(paths[..3], ["/capabilities/version", "/config", "/monitor/metrics"]);
    assert_eq!((&paths[3..6], paths[6]), (&of_trial[..], "/config"), "it is not asked while it sends");
    let flow = &requests[3].1["flows"][0];
    assert_eq!(flow["rate"], json!({ "choice": "pps", "pps": 1000 }));
    assert_eq!(flow["duration"]["fixed_packets"]["packets"], 100);
    assert_eq!(requests[3].1["ports"], json!([{ "name": "p0", "location": "p1" }]));
    assert_eq!(requests[6].1, json!({}), "the port is given back");
}

#[test]
fn generators_on_ports_of_one_server_have_one_configuration_and_one_start() {
    let (location, requests) = serve(counting(json!({ "frames_tx": 100, "transmit": "stopped" })));
    let Location::Otg { url, .. } = &location else { panic!("it is one") };
    let second = Location::Otg { url: format!("{url}/"), interface: "p2".into() };
    let mut servers = OtgServers::new(None, Waits::default(), Arc::default());
    let generators = [&location, &second].map(|location| servers.open(location).unwrap());
    let mut senders =
        [(&generators[0], 0), (&generators[1], 1)].map(|(one, stream)| prepared_as(one, StreamId(stream)));
    let load = Load::Rate(Pps::new(1000.0).unwrap());
    for number in [7, 8] {
        let trial = TrialId(number);
        let arm = Arm { trial, ..arm(load, Duration::from_millis(100)) };
        // The second one takes no part in the second trial.
        let taking_part = if number == 7 { 2 } else { 1 };
        senders[..taking_part].iter_mut().for_each(|sender| sender.arm(arm, None).unwrap());
        let go = Go { trial, head_start: Duration::ZERO, with_others: true };
        senders[..taking_part].iter_mut().for_each(|sender| sender.go(go).unwrap());
        for sender in &mut senders[..taking_part] {
            assert_eq!(sender.sent().unwrap()[0].frames, 100);
            sender.finish(FinishSending { trial, delivered: 100 }).unwrap();
        }
        let requests = requests.lock().unwrap();
        let configured = requests.iter().rfind(|(path, _)| path == "/config").unwrap();
        assert_eq!(configured.1["flows"].as_array().unwrap().len(), taking_part);
        assert_eq!(configured.1["ports"].as_array().unwrap().len(), 2);
        let starts = requests.iter().filter(|(path, _)| path == "/control/state").count();
        assert_eq!(starts, usize::from(number) - 6);
    }
}

#[test]
fn frames_beyond_those_of_the_flow_are_not_the_trials() {
    let (location, _) = serve(counting(json!({ "frames_tx": 103, "transmit": "stopped" })));
    let generator = open(&location).unwrap();
    let half = trial(&mut prepared(&generator)).unwrap();
    assert_eq!(half.frames.sent, 100);
    let location = generator.location().to_string();
    assert_eq!(half.notes, [Noise::ForeignFramesSent { location, frames: 3 }]);
}

#[test]
fn a_generator_that_is_late_is_stopped_and_its_other_frames_are_unsent() {
    let stopped = AtomicBool::new(false);
    let (location, _) = serve(Box::new(move |path, body| match path {
        "/control/state" => {
            stopped.store(body["traffic"]["flow_transmit"]["state"] == "stop", Ordering::Relaxed);
            (200, json!({}))
        }
        "/monitor/metrics" => {
            let transmit = if stopped.load(Ordering::Relaxed) { "stopped" } else { "started" };
            (200, json!({ "port_metrics": [{ "frames_tx": 60, "transmit": transmit }] }))
        }
        _ => (200, json!({})),
    }));
    let generator = open(&location).unwrap();
    let half = trial(&mut prepared(&generator)).unwrap();
    assert_eq!((half.frames.sent, half.frames.unsent), (60, 40));
    assert!(half.sending > Duration::from_millis(100), "{:?}", half.sending);
}

#[test]
fn what_the_server_refuses_or_lacks_is_named() {
    let refusing = |path, status| {
        serve(Box::new(move |asked, body| match asked == path && body["flows"][0].is_object() {
            true => {
                (status, json!({ "code": status, "errors": ["flows[0].packet[1]: igmpv1 is not supported"] }))
            }
            false => counting(json!({ "frames_tx": 0 }))(asked, body),
        }))
    };
    let (location, _) = refusing("/config", 400);
    let error = trial(&mut prepared(&open(&location).unwrap())).unwrap_err().to_string();
    assert!(error.contains("/config is refused with status 400: flows[0].packet[1]: igmpv1"), "{error}");
    let (location, _) = serve(counting(json!({ "transmit": "stopped" })));
    let error = trial(&mut prepared(&open(&location).unwrap())).unwrap_err().to_string();
    assert!(error.contains("frames_tx of the port is missing"), "{error}");
    let (location, _) = serve(counting(json!({ "link": "down" })));
    assert!(open(&location).unwrap_err().to_string().ends_with("the link of the port is not up: down"));
    let (location, _) = serve(Box::new(|_, _| (200, json!("nonsense"))));
    assert!(open(&location).unwrap_err().to_string().contains("/capabilities/version"));
    let nobody = Location::Otg { url: "http://127.0.0.1:1".into(), interface: "p1".into() };
    assert!(open(&nobody).unwrap_err().is_out_of_reach());
}

#[test]
fn what_the_model_cannot_express_is_unsupported() {
    let (location, _) = serve(counting(json!({})));
    let generator = open(&location).unwrap();
    let mut sender = prepared(&generator);
    let rate = |pps| Pps::new(pps).unwrap();
    let step = capbench_frames::Step { before: rate(1.0), at: Duration::from_secs(1), after: rate(2.0) };
    for (load, seconds) in [
        (Load::Step(step), 2),
        (Load::Rate(rate(1e8)), 60),
        (Load::Rate(rate(0.4)), 10),
        (Load::Rate(rate(2.5)), 10),
    ] {
        let error = sender.arm(arm(load, Duration::from_secs(seconds)), None).unwrap_err();
        assert!(matches!(error, LabError::Unsupported { .. }), "{error}");
    }
}
