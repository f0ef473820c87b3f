//! `docs/agent.schema.json` is the schema of the calls and answers of an agent.
//!
//! `CAPBENCH_WRITE_SCHEMA=1 cargo test -p capbench-agent --lib schemas_are` writes it anew when a type has changed.

use capbench_lab::live::messages::{Arm, Go, Sent};
use capbench_model::clocks::ClockState;
use capbench_testing::schema;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::message::{
    Answer, Finish, Greeting, Half, Hello, HostTimes, PROTOCOL, Prepare, Prepared, Report, Reported, Request,
};

/// The calls of an agent, in their order.
#[derive(Serialize, JsonSchema)]
struct Calls {
    /// Every call as it is sent: JSON-RPC 2.0 behind `Content-Length: N` and an empty line.
    request: Request,
    /// Every answer as it is sent.
    answer: Answer,
    /// The controller and the agent introduce themselves.
    hello: Exchange<Greeting, Hello>,
    /// The agent takes an interface and prepares one side of a trial.
    prepare: Exchange<Prepare, Prepared>,
    /// The side reads its counters, opens, and is ready.
    arm: Exchange<Arm, ()>,
    /// The side sends. The answer comes when the last frame was sent.
    go: Exchange<Go, Sent>,
    /// The side ends the trial. The result is its half of the account: counts and durations.
    finish: Exchange<Finish, Half>,
    /// After a reconnect: what the agent that was lost said last.
    report: Exchange<Report, Option<Reported>>,
    /// Whether CLOCK_REALTIME of the agent's host is synchronised.
    clock: Exchange<(), ClockState>,
    /// An exchange of four timestamps, before and after a trial.
    time: Exchange<(), HostTimes>,
    /// The user wants to stop: sending and receiving end early. This message has no id and no answer.
    stop: Notification,
    /// The side gives up the armed trial.
    abandon: Exchange<(), ()>,
    /// The interface is free, with its former settings.
    release: Exchange<(), ()>,
}

/// A call and its answer.
#[derive(Serialize, JsonSchema)]
struct Exchange<P, R> {
    /// `params` of the call.
    params: P,
    /// `result` of the answer.
    result: R,
}

/// A message without an answer.
#[derive(Serialize, JsonSchema)]
struct Notification {
    /// `params` of the message.
    params: (),
}

fn schemas() -> [(&'static str, Value); 1] {
    let description = format!("Version {PROTOCOL} of the calls of `capbench agent`, and of its answers.");
    let mut calls = schema::of::<Calls>("Calls of capbench agent", &description, PROTOCOL);
    // A type of the standard library, whose members serde names.
    for (at, member, meaning) in [(0, "Ok", "The count."), (1, "Err", "Why it is unknown.")] {
        let variant = &mut calls["$defs"]["Result_of_CardCount_or_BlindCard"]["oneOf"][at];
        variant["properties"][member]["description"] = meaning.into();
    }
    [("agent", calls)]
}

#[test]
fn the_schemas_are_those_of_the_types() {
    schema::assert_are_files(&schemas());
}

#[test]
fn every_object_is_closed_and_every_member_described() {
    schema::assert_are_complete(&schemas());
}
