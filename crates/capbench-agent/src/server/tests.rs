//! Calls that an agent refuses, without a network.

use std::io::Cursor;

use capbench_lab::LabError;
use capbench_model::clocks::ClockState;
use capbench_model::environment::Environment;
use serde_json::{Value, json};

use super::*;
use crate::message::{Hello, PortStatus};

fn agent(rules: &str) -> Agent {
    let allowed = rules.split_whitespace().map(|rule| rule.parse().unwrap()).collect();
    let kind_of = |error: &LabError| match error {
        LabError::Unsupported { .. } => Kind::Unsupported,
        _ => Kind::Failed,
    };
    Agent::new(Rules { allowed, ..Rules::default() }, Environment::default(), kind_of)
}

/// The answers of an agent to these calls.
fn answers(agent: Agent, calls: &[(&str, Value)]) -> Vec<Answer> {
    let request = |(id, (method, params)): (usize, &(&str, Value))| {
        serde_json::to_string(&Request::new(Some(id as u64), method, params).unwrap()).unwrap()
    };
    let messages: Vec<_> = calls.iter().enumerate().map(request).collect();
    answers_to(agent, &messages)
}

/// Its answers to these messages.
fn answers_to(agent: Agent, messages: &[impl AsRef<[u8]>]) -> Vec<Answer> {
    let mut stream = Vec::new();
    for message in messages {
        framing::write(&mut stream, message.as_ref()).unwrap();
    }
    let mut written = Vec::new();
    agent.serve(Cursor::new(stream), &mut written).unwrap();
    let mut rest = &*written;
    std::iter::from_fn(|| framing::read(&mut rest).unwrap())
        .map(|octets| serde_json::from_slice(&octets).unwrap())
        .collect()
}

fn result<T: serde::de::DeserializeOwned>(answer: &Answer) -> T {
    serde_json::from_str(answer.result.as_ref().unwrap().get()).unwrap()
}

fn refusal(answer: &Answer) -> (Kind, String) {
    let refusal = answer.error.clone().unwrap().data.unwrap();
    (refusal.kind, refusal.message)
}

const GREETING: fn() -> (&'static str, Value) = || ("hello", json!({"protocol": PROTOCOL, "trace": false}));

#[test]
fn an_agent_says_what_its_ports_can_do() {
    let all = answers(agent("send:lo receive:no-such-if"), &[GREETING()]);
    let hello: Hello = result(&all[0]);
    assert_eq!((hello.protocol, hello.ports.len()), (PROTOCOL, 2));
    assert!(!hello.boot_id.is_empty() && !hello.cpus.is_empty());
    let PortStatus::Refused(refusal) = &hello.ports[1].state else { panic!("{hello:?}") };
    assert!(refusal.message.contains("no-such-if"), "{refusal:?}");
}

#[test]
fn another_protocol_and_calls_before_hello_are_refused() {
    let all =
        answers(agent(""), &[("prepare", json!({})), ("hello", json!({"protocol": 99, "trace": false}))]);
    assert_eq!(refusal(&all[0]), (Kind::Usage, "prepare before hello".into()));
    let (kind, message) = refusal(&all[1]);
    assert!(kind == Kind::Unsupported && message.contains("version 2 ") && message.contains("version 99"));
}

#[test]
fn calls_that_do_not_fit_are_refused() {
    let calls = [GREETING(), ("dance", json!({})), ("arm", json!({"trial": 1})), ("go", json!({"trial": 1}))];
    let all = answers(agent("send:lo"), &calls);
    assert_eq!(refusal(&all[1]), (Kind::Unsupported, "\"dance\" is no call of this version".into()));
    assert!(refusal(&all[2]).1.starts_with("parameters of arm: missing field"));
    assert_eq!(refusal(&all[3]), (Kind::Usage, "no interface is prepared".into()));
}

#[test]
fn errors_have_the_codes_of_json_rpc() {
    let messages = [
        r#"{"jsonrpc": "2.0", "id": 1, "method""#,
        "[]",
        r#"{"jsonrpc": "1.0", "id": 2, "method": "hello"}"#,
        r#"{"jsonrpc": "2.0", "id": 3, "method": "hello"}"#,
        r#"{"jsonrpc": "2.0", "id": 4, "method": "hello", "params": {"protocol": 2, "trace": false, "new": 1}}"#,
        r#"{"jsonrpc": "2.0", "id": 5, "method": "dance"}"#,
        r#"{"jsonrpc": "2.0", "method": "dance"}"#,
        r#"{"jsonrpc": "2.0", "id": 6, "method": "release"}"#,
    ];
    let all = answers_to(agent(""), &messages);
    let codes: Vec<_> = all.iter().map(|one| (one.id, one.error.as_ref().map(|error| error.code))).collect();
    let expected = [
        (None, Some(-32700)),
        (None, Some(-32600)),
        (None, Some(-32600)),
        (Some(3), Some(-32602)),
        (Some(4), None),
        (Some(5), Some(-32601)),
        (Some(6), None),
    ];
    assert_eq!(codes, expected, "{all:?}");
}

#[test]
fn an_agent_says_its_build_and_its_limits() {
    let mut agent = agent("send:lo program:tcpdump");
    agent.rules.max_duration = Some(Duration::from_secs(10));
    agent.rules.isolated = vec!["lo".into()];
    agent.environment.capbench_version = "9.9.9".into();
    let all = answers(agent, &[GREETING()]);
    let hello: Hello = result(&all[0]);
    assert_eq!((hello.build.version, hello.max_duration), ("9.9.9".into(), Some(Duration::from_secs(10))));
    assert_eq!((hello.programs, hello.isolated), (vec!["tcpdump".into()], vec!["lo".into()]));
    assert!(hello.no_report_because.is_some(), "it has no folder");
}

#[test]
fn a_stream_that_is_none_of_a_controller_ends_the_agent() {
    for stream in ["GET / HTTP/1.1\r\n\r\n", "Content-Length: 1073741824\r\n\r\n"] {
        let ended = agent("").serve(Cursor::new(stream.to_string()), Vec::new());
        assert!(matches!(ended, Err(Ended::Stream(_))), "{stream}");
    }
    assert!(agent("").serve(Cursor::new(""), Vec::new()).is_ok());
}

#[test]
fn interfaces_methods_and_loads_are_allowed_by_the_command_line_alone() {
    use std::num::{NonZeroU32, NonZeroU64};

    use capbench_frames::rates::Pps;
    use capbench_frames::stamp::TrialId;
    use capbench_frames::units::Mtu;
    use capbench_lab::live::messages::{Arm, HostCpus, PrepareReceiving};
    use capbench_model::for_tests::setup;
    use capbench_model::laboratory::Setup;
    use capbench_model::members::Members;
    use capbench_model::trial::Load;
    use capbench_model::units::ByteCount;
    use capbench_sys::host::CpuId;

    let cpu = CpuId::new(0);
    let receiving = |method: &str| PrepareReceiving {
        setup: Setup { method: method.parse().unwrap(), ..setup(64) },
        streams: 1,
        untimed: Vec::new(),
        mtu: Mtu(1500),
        cpus: HostCpus { generators: Vec::new(), kernels: vec![cpu], application: cpu },
        is_virtual: false,
        polls_by_thread: false,
    };
    let rules = Rules {
        allowed: vec!["send:eth1".parse().unwrap(), "program:tcpdump".parse().unwrap()],
        max_rate: Some(Pps::new(1000.0).unwrap()),
        max_duration: Some(Duration::from_secs(10)),
        ..Rules::default()
    };
    use capbench_model::environment::interface::Role;
    assert!(rules.check_port(Role::Transmit, "eth1").is_ok());
    for (role, interface) in [(Role::Receive, "eth1"), (Role::Transmit, "eth0")] {
        let refusal = rules.check_port(role, interface).unwrap_err();
        assert!(refusal.kind == Kind::Privilege && refusal.message.contains("send:eth1, program:tcpdump"));
    }
    for method in ["packet-v3", "recv+busy-poll=50us", "cmd:tcpdump"] {
        assert_eq!(rules.check_method(&receiving(method)), Ok(()), "{method}");
    }
    for method in ["libpcap:/tmp/x.so", "dpdk:0000:03:00.0", "cmd:dumpcap", "cmd:./program"] {
        assert_eq!(rules.check_method(&receiving(method)).unwrap_err().kind, Kind::Privilege, "{method}");
    }
    for (method, ring, most) in [
        ("packet-v3", 64, 64),
        ("packet-v3+members=4", 16, 64),
        ("packet-v3", 65, 64),
        ("recv+members=3", 32, 64),
    ] {
        let rules = Rules { max_memory: ByteCount(most << 20), ..rules.clone() };
        let mut asked = receiving(method);
        asked.setup.capture.ring = ByteCount(ring << 20);
        let checked = rules.check_memory(&asked);
        if ring * u64::from(Members::count_of(&asked.setup.method)) <= most {
            assert_eq!(checked, Ok(()), "{method}");
            asked.setup.work = "ns:1+queue=1000000".parse().unwrap();
            assert!(rules.check_memory(&asked).is_err(), "a queue takes memory, too");
        } else {
            let refusal = checked.unwrap_err();
            assert!(
                refusal.kind == Kind::Privilege && refusal.message.contains("--max-memory"),
                "{refusal:?}"
            );
        }
    }
    let arm = |load, seconds| Arm {
        trial: TrialId(1),
        load,
        burst: None,
        duration: Duration::from_secs(seconds),
        is_first: false,
        stays_open: false,
        in_turns: false,
    };
    let rate = |pps: f64| Load::Rate(Pps::new(pps).unwrap());
    assert_eq!(rules.check_load(&arm(rate(1000.0), 10)), Ok(()));
    let burst =
        |frames| Load::Burst { frames: NonZeroU64::new(frames).unwrap(), rate: Pps::new(1000.0).unwrap() };
    assert_eq!(rules.check_load(&arm(burst(10_000), 1)), Ok(()));
    let at_once = |frames| Arm { burst: NonZeroU32::new(frames), ..arm(rate(1000.0), 1) };
    assert_eq!(rules.check_load(&at_once(1000)), Ok(()));
    for (arm, option) in [
        (arm(rate(1001.0), 1), "--max-rate"),
        (arm(Load::Maximum, 1), "--max-rate"),
        (at_once(1001), "--max-rate"),
        (arm(rate(1.0), 11), "--max-duration"),
        (arm(burst(10_001), 1), "--max-duration"),
    ] {
        let refusal = rules.check_load(&arm).unwrap_err();
        assert!(refusal.kind == Kind::Privilege && refusal.message.contains(option), "{refusal:?}");
    }
    let endless = rules.check_load(&arm(burst(u64::MAX), 1)).unwrap_err();
    assert!(endless.kind == Kind::Usage && endless.message.contains("78 hours"), "{endless:?}");
}

#[test]
fn an_agent_answers_for_its_clock() {
    let null = Value::Null;
    let calls = [GREETING(), ("time", null.clone()), ("time", null.clone()), ("clock", null)];
    let all = answers(agent("send:lo"), &calls);
    let hello: Hello = result(&all[0]);
    assert!(hello.clock_id.is_some() && hello.clock_id != Some(hello.boot_id), "a namespace of time, too");
    let (first, second): (HostTimes, HostTimes) = (result(&all[1]), result(&all[2]));
    let in_order = [first.received_ns, first.answered_ns, second.received_ns, second.answered_ns];
    assert!(in_order.is_sorted(), "{in_order:?}");
    let _: ClockState = result(&all[3]);
}
