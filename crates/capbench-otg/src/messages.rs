//! What a session asks the engine of a port, and the answers. Over a connection, each is one message of JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use capbench_frames::{StreamId, TrialId};
use capbench_model::bounded_json;
use serde::{Deserialize, Serialize};

use crate::model::text::Text;
use crate::tally::Tally;

/// The version of these messages. Both ends have the same.
pub const PROTOCOL: u32 = 3;

/// Largest number of flows of a configuration: a few hundred KiB each.
pub const MOST_FLOWS: usize = 4096;

/// A request to the engine of a port. Flows have the numbers of the configuration.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Takes the interface. Every other request comes after it.
    Open(Box<Open>),
    /// Checks flows, and keeps what they send until `Adopt`. Flows of other ports need so many octets of the memory for frames.
    Plan {
        flows: Vec<PlannedFlow>,
        memory_elsewhere: usize,
    },
    /// From now on, flows send what the last `Plan` has.
    Adopt,
    /// Opens a sender for flows. The trailers of their frames have this trial. Nothing is sent yet.
    Prepare {
        flows: Vec<usize>,
        trial: TrialId,
    },
    /// Closes the sender that is prepared.
    Discard,
    /// Ends flows, waits until their frames have left, and forgets their counts.
    End {
        flows: Vec<usize>,
    },
    /// Counts of the interface, and losses of its receiver, begin at 0.
    Clear,
    /// Sets which flow a stream of a trial is.
    Route(Vec<Route>),
    /// The prepared sender begins.
    Go,
    /// Commands flows that are sent. The answer has those that are not.
    Command {
        flows: Vec<usize>,
        command: Command,
    },
    /// Reads counts and states.
    Read,
    /// Starts or stops the capture. A start replaces the capture before.
    Record {
        starts: bool,
    },
    /// Ends the capture, and returns what this request of the model asks for.
    Fetch(Text),
    SetLink {
        up: bool,
    },
    /// Ends flows with these names, or all, at once. It comes also while another request is outstanding.
    Halt {
        flows: Vec<String>,
    },
    /// Ends flows and the capture, and sets the link up if a client has set it down.
    Stop,
}

/// A port as the configuration has it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Open {
    pub protocol: u32,
    /// Where the configuration has its location.
    pub path: String,
    pub name: String,
    pub interface: String,
    /// Settings of layer 1 in the model's form.
    pub layer1: Vec<Text>,
    /// Its capture in the model's form.
    pub capture: Option<Text>,
    /// The number of flows to count; `None`: it receives none.
    pub counted_flows: Option<usize>,
}

/// A flow that the port sends.
#[derive(Debug, Serialize, Deserialize)]
pub struct PlannedFlow {
    pub number: usize,
    /// Its number among the flows of its port.
    pub stream: usize,
    /// Where the request has it.
    pub path: String,
    /// The flow in the model's form.
    pub flow: Text,
}

/// Which flow a stream of a trial is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Route {
    pub trial: TrialId,
    pub stream: StreamId,
    pub flow: u16,
}

/// What a flow that is sent is to do.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Command {
    Stop,
    Pause,
    Resume,
}

/// An answer of the engine of a port.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    Done,
    Opened(Opened),
    /// The octets of memory that all flows of the port need as planned.
    Planned {
        memory: usize,
    },
    /// The flows that were not sent.
    NotSent(Vec<usize>),
    Reading(Box<Reading>),
}

/// What is known of an open port.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Opened {
    /// The speed of its line in bits per second, if it has one.
    pub line: Option<f64>,
    /// Identifies the clock that stamps its frames; `None`: unknown.
    pub clock: Option<String>,
}

/// Counts and states of a port.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Reading {
    /// Its interface, or why that cannot be read.
    pub interface: Option<std::result::Result<InterfaceCounts, String>>,
    /// Whether it captures.
    pub is_capturing: bool,
    /// Whether a client has set its link down.
    pub is_held_down: bool,
    /// The last run of each flow that it sends.
    pub sent: BTreeMap<usize, Sent>,
    /// What arrived of each flow that it receives.
    pub received: BTreeMap<usize, Received>,
    /// Why `received` is not exact.
    pub flaw: Option<String>,
    /// What no reading has reported before.
    pub warnings: Vec<String>,
}

/// Counts of an interface since the last start of flows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct InterfaceCounts {
    pub has_link: bool,
    /// Frames and octets that were sent, frames and octets that were received; absent where the interface has no counters.
    pub counts: Option<[u64; 4]>,
}

/// What was sent of a run of a flow.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Sent {
    pub trial: TrialId,
    pub frames: u64,
    /// FCS included.
    pub octets: u64,
    pub state: RunState,
    /// The start on the kernel's clock, in nanoseconds since 1970; absent if somebody has set the clock since then.
    pub began_ns: Option<u64>,
}

/// What a run of a flow does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunState {
    Sends,
    Pauses,
    /// Nothing is sent any more, for so long.
    Over(Duration),
}

/// What arrived of a run of a flow, and how long ago its last frame was read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Received {
    pub tally: Tally,
    pub quiet: Duration,
}

/// A request with its number.
#[derive(Debug, Serialize, Deserialize)]
pub struct Numbered {
    pub id: u64,
    pub request: Request,
}

/// The answer to the request with this number.
#[derive(Debug, Serialize, Deserialize)]
pub struct Reply {
    pub id: u64,
    pub answer: std::result::Result<Answer, Refusal>,
}

/// Memory of a message, as a multiple of its length: texts of flows are kept as they are, the counts of a flow are numbers.
const MEMORY: usize = 8;

/// Reads a message.
///
/// # Errors
/// It is no such message, or takes more memory than one.
pub fn read_message<M: for<'de> Deserialize<'de>>(octets: &[u8]) -> serde_json::Result<M> {
    bounded_json::from_slice(octets, MEMORY)
}

/// Why a request failed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Refusal {
    /// The HTTP status that says so.
    pub status: u16,
    pub reason: String,
}

/// A message that has a part of a capture, and belongs to the request with this number: this octet, the number in 8, the part.
/// JSON begins otherwise.
const PART: u8 = 0;

/// Writes such a message.
pub fn part(id: u64, octets: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(9 + octets.len());
    message.push(PART);
    message.extend(id.to_be_bytes());
    message.extend(octets);
    message
}

/// The number and the part of such a message; `None`: it is none.
pub fn of_part(message: &[u8]) -> Option<(u64, &[u8])> {
    let (id, octets) = message.strip_prefix(&[PART])?.split_first_chunk()?;
    Some((u64::from_be_bytes(*id), octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of delays have more than 64 bits, and numbers of flows are keys.
    #[test]
    fn a_reading_is_read_as_written() {
        let tally = Tally::with_delays(TrialId(7), 3, i128::from(u64::MAX) * 3);
        let received = Received { tally, quiet: Duration::from_millis(3) };
        let reading = Reading { received: [(4095, received)].into(), ..Reading::default() };
        let reply = Reply { id: 5, answer: Ok(Answer::Reading(Box::new(reading))) };
        let Reply { id: 5, answer: Ok(Answer::Reading(read)) } =
            read_message(&serde_json::to_vec(&reply).unwrap()).unwrap()
        else {
            panic!("{reply:?}")
        };
        assert_eq!((read.received[&4095].tally, read.received[&4095].quiet), (tally, received.quiet));
    }

    #[test]
    fn a_part_is_no_json_and_has_its_number() {
        assert_eq!(of_part(&part(258, b"abc")), Some((258, &b"abc"[..])));
        assert_eq!(of_part(&serde_json::to_vec(&Reply { id: 1, answer: Ok(Answer::Done) }).unwrap()), None);
        assert_eq!(of_part(&part(1, b"")[..8]), None);
    }
}
