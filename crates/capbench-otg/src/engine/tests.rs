use capbench_frames::StreamId;
use capbench_record::file::{CaptureReader, Record};
use capbench_testing::Scratch;
use capbench_testing::network::{Place, eventually, privileges};
use serde_json::json;

use super::*;
use crate::messages::RunState;
use crate::model::text_of;

/// Both ends of a pair, each with its engine, and so many flows from `a0` to `b0`, at a rate without end.
struct Pair {
    a: Engine,
    b: Engine,
    last_trial: u16,
    folder: Scratch,
}

impl Pair {
    fn new(place: &Place, flows: usize, pps: u64) -> Self {
        place.ip("link add name a0 type veth peer name b0");
        ["a0", "b0"].into_iter().for_each(|end| drop(place.ip(&format!("link set dev {end} arp off up"))));
        eventually("the pair has carrier", || place.ip("-o link show dev b0").contains("LOWER_UP"));
        let folder = Scratch::new();
        let engine = |interface: &str| {
            let options = Options {
                allowed: Allowed { interfaces: vec![interface.into()], isolated: false, max_rate: None },
                lease: Duration::from_secs(600),
                capture_size: ByteCount(1 << 20),
                capture_folder: folder.path().into(),
            };
            let mut engine = Engine::new(options, Halt::default());
            let open = Open {
                protocol: PROTOCOL,
                path: "ports".into(),
                name: interface.into(),
                interface: interface.into(),
                layer1: Vec::new(),
                capture: Some(text_of(&json!({"name": "c", "port_names": [interface]}))),
                counted_flows: Some(flows),
            };
            done(&mut engine, Request::Open(Box::new(open)));
            engine
        };
        let (mut a, b) = (engine("a0"), engine("b0"));
        let flow = |number: usize| {
            let flow = json!({
                "name": format!("f{number}"),
                "tx_rx": {"port": {"tx_name": "a0", "rx_names": ["b0"]}},
                "packet": [{"choice": "ethernet"}, {"choice": "ipv4"}, {"choice": "udp"}],
                "rate": {"pps": pps},
                "metrics": {"enable": true},
            });
            PlannedFlow { number, stream: number, path: format!("flows[{number}]"), flow: text_of(&flow) }
        };
        done(&mut a, Request::Plan { flows: (0..flows).map(flow).collect(), memory_elsewhere: 0 });
        done(&mut a, Request::Adopt);
        Self { a, b, last_trial: 0, folder }
    }

    /// As a session does it.
    fn start(&mut self, flows: &[usize]) -> Result<TrialId> {
        self.last_trial += 1;
        let trial = TrialId(self.last_trial);
        self.a.answer(Request::Prepare { flows: flows.into(), trial })?;
        self.a.answer(Request::End { flows: flows.into() })?;
        let route = |flow: &usize| Route { trial, stream: StreamId(*flow as u8), flow: *flow as u16 };
        self.b.answer(Request::Route(flows.iter().map(route).collect()))?;
        self.a.answer(Request::Go)?;
        Ok(trial)
    }

    /// What has arrived of flow 0.
    fn received(&mut self, trial: TrialId) -> u64 {
        let received = read(&mut self.b).received;
        received.get(&0).filter(|it| it.tally.trial == Some(trial)).map_or(0, |it| it.tally.frames)
    }

    fn runs(&self) -> usize {
        self.a.port.as_ref().unwrap().runs.len()
    }
}

fn done(engine: &mut Engine, request: Request) -> Answer {
    match engine.answer(request) {
        Ok(Answered::Now(answer)) => answer,
        Ok(Answered::Octets(_)) => panic!("octets"),
        Err(error) => panic!("{error}"),
    }
}

fn read(engine: &mut Engine) -> Reading {
    let Answer::Reading(reading) = done(engine, Request::Read) else { panic!("no reading") };
    *reading
}

#[test]
fn root_a_start_ends_the_runs_that_it_replaces() {
    let Some(()) = privileges() else { return };
    let place = Place::new("a0");
    place.inside(|| {
        let mut pair = Pair::new(&place, 2, 20_000);
        for _ in 0..20 {
            pair.start(&[0, 1]).unwrap();
            assert_eq!(pair.runs(), 1);
        }
        // One flow goes on in its run, the other one has another.
        let trial = pair.start(&[1]).unwrap();
        assert_eq!(pair.runs(), 2);
        let reading = read(&mut pair.a);
        assert_eq!((reading.sent[&0].state, reading.sent[&1].trial), (RunState::Sends, trial));
        done(&mut pair.a, Request::End { flows: vec![0, 1] });
        assert_eq!(pair.runs(), 0);
        // No frame of a run that has ended comes after the counts were cleared.
        done(&mut pair.a, Request::Clear);
        let trial = pair.start(&[0]).unwrap();
        eventually("frames arrive", || pair.received(trial) > 100);
        done(&mut pair.a, Request::Stop);
        let (sent, interface) = (read(&mut pair.a).sent, read(&mut pair.a).interface.unwrap().unwrap());
        assert_eq!((sent.len(), sent[&0].trial), (1, trial));
        assert_eq!(interface.counts.unwrap()[0], sent[&0].frames);
        eventually("all have arrived", || pair.received(trial) == sent[&0].frames);
    });
}

#[test]
fn root_a_port_has_a_limited_number_of_runs() {
    let Some(()) = privileges() else { return };
    let place = Place::new("a0");
    place.inside(|| {
        let mut pair = Pair::new(&place, MOST_RUNS + 1, 1);
        for flow in 0..MOST_RUNS {
            pair.start(&[flow]).unwrap();
        }
        let refusal = pair.start(&[MOST_RUNS]).unwrap_err();
        assert!(
            matches!(&refusal, OtgError::Conflict(why) if why.contains("flows of 16 starts")),
            "{refusal}"
        );
        pair.start(&[3]).unwrap();
        done(&mut pair.a, Request::Command { flows: vec![5], command: Command::Stop });
        eventually("one has stopped", || matches!(read(&mut pair.a).sent[&5].state, RunState::Over(_)));
        pair.start(&[MOST_RUNS]).unwrap();
        let not_sent = done(&mut pair.a, Request::Command { flows: vec![4, 5], command: Command::Resume });
        assert!(matches!(&not_sent, Answer::NotSent(flows) if flows == &[5]), "{not_sent:?}");
    });
}

/// Nobody waits for a capture that is read back: the port has another one meanwhile.
#[test]
fn root_a_capture_is_read_back_without_its_port() {
    let Some(()) = privileges() else { return };
    let place = Place::new("a0");
    place.inside(|| {
        let mut pair = Pair::new(&place, 1, 1000);
        done(&mut pair.b, Request::Record { starts: true });
        let trial = pair.start(&[0]).unwrap();
        eventually("frames arrive", || pair.received(trial) > 0);
        done(&mut pair.a, Request::Stop);
        let sent = read(&mut pair.a).sent[&0].frames;
        eventually("all have arrived", || pair.received(trial) == sent);
        let Ok(Answered::Octets(read_back)) =
            pair.b.answer(Request::Fetch(text_of(&json!({"port_name": "b0"}))))
        else {
            panic!("no octets")
        };
        done(&mut pair.b, Request::Record { starts: true });
        assert!(read(&mut pair.b).is_capturing);
        pair.b.port = None;
        // A server that ends does not wait for the answer.
        assert!(pair.folder.path().read_dir().unwrap().next().is_none(), "the files are removed");
        let mut octets = Vec::new();
        read_back(&mut octets).unwrap();
        let mut reader = CaptureReader::new(&*octets).unwrap();
        let mut frames = 0;
        while let Some(record) = reader.next_record().unwrap() {
            frames += u64::from(matches!(record, Record::Packet(_)));
        }
        assert_eq!(frames, sent);
    });
}

/// A link that is down for longer than a receiver tolerates failures is no failure.
#[test]
fn root_a_receiver_counts_again_when_its_link_is_up_again() {
    let Some(()) = privileges() else { return };
    let place = Place::new("a0");
    place.inside(|| {
        let mut pair = Pair::new(&place, 1, 1000);
        done(&mut pair.b, Request::SetLink { up: false });
        let down = Instant::now();
        eventually("twice the tolerated time has passed", || down.elapsed() > Duration::from_secs(2));
        assert_eq!(read(&mut pair.b).flaw, None);
        done(&mut pair.b, Request::SetLink { up: true });
        eventually("the pair has carrier", || read(&mut pair.a).interface.unwrap().unwrap().has_link);
        let trial = pair.start(&[0]).unwrap();
        eventually("frames arrive", || pair.received(trial) > 10);
    });
}
