//! The engine of a port in another process than its server: it reads requests from standard input, and writes answers to
//! standard output.
//!
//! The end of the input, a signal, and a controller that is silent for the lease end it with all that it runs.

use std::io::{self, BufReader, BufWriter, IsTerminal, Read, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};

use capbench_agent::framing;

use crate::engine::{Answered, Engine, Options};
use crate::error::{OtgError, Result};
use crate::halt::Halt;
use crate::messages::{self, Answer, Numbered, Refusal, Reply};
use crate::threads::spawn;

/// Octets of a part of a capture. Other answers are sent between parts.
const PART: usize = 1 << 18;

/// An engine that waits for its controller.
#[derive(Debug)]
pub struct Agent {
    options: Options,
    news: Receiver<News>,
    /// For the thread that reads requests, and for signals.
    sender: Sender<News>,
    halt: Halt,
}

#[derive(Debug)]
enum News {
    Request(Vec<u8>),
    /// The end of the connection, or a signal.
    End,
    /// The connection carries something else.
    Failure(io::Error),
}

/// A message to the controller.
enum Message {
    Reply(Vec<u8>),
    /// The thread of a capture waits until its part is sent.
    Part(Vec<u8>, SyncSender<()>),
}

impl Agent {
    /// With the interfaces that its controller may use.
    ///
    /// # Errors
    /// One is not of this namespace, or does not exist. Nobody but another capbench can be the controller.
    pub fn new(options: Options) -> Result<Self> {
        if io::stdin().is_terminal() {
            let why = "--agent: its input is a terminal; capbench otg --port ssh:HOST/IF starts it";
            return Err(OtgError::Flag(why.into()));
        }
        if let Some(text) = options.allowed.interfaces.iter().find(|text| text.contains([':', '/'])) {
            let why = format!("--port {text}: with --agent, write an interface of this namespace");
            return Err(OtgError::Flag(why));
        }
        options.check()?;
        let (sender, news) = mpsc::channel();
        Ok(Self { options, news, sender, halt: Halt::default() })
    }

    /// Ends it when it is called.
    pub fn end(&self) -> impl FnOnce() + Send + 'static {
        let (sender, halt) = (self.sender.clone(), self.halt.clone());
        move || {
            halt.end();
            // It may have ended already.
            sender.send(News::End).unwrap_or_default();
        }
    }

    /// Answers requests until the connection ends.
    ///
    /// # Errors
    /// What else ended it.
    pub fn serve(
        self,
        requests: impl Read + Send + 'static,
        answers: impl Write + Send + 'static,
    ) -> Result<()> {
        let Self { options, news, sender, halt } = self;
        let lease = options.lease;
        let (to_controller, messages) = mpsc::channel();
        let at_end = halt.clone();
        spawn("otg-read", move || read(BufReader::new(requests), &sender, &at_end))?;
        // A controller that reads nothing must not keep flows running: only this thread waits for it.
        spawn("otg-write", move || write(answers, &messages))?;
        let mut engine = Engine::new(options, halt);
        loop {
            let octets = match news.recv_timeout(lease) {
                Ok(News::Request(octets)) => octets,
                Ok(News::End) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(News::Failure(source)) => {
                    return Err(OtgError::System {
                        what: "the input is not a message of capbench otg",
                        source,
                    });
                }
                Err(RecvTimeoutError::Timeout) => {
                    let why = format!("no request for {lease:?} (--lease)");
                    let (path, location) = (String::new(), "the controller".into());
                    return Err(OtgError::Lost { path, location, reason: why });
                }
            };
            let Numbered { id, request } = messages::read_message(&octets).map_err(|error| {
                let source = io::Error::new(io::ErrorKind::InvalidData, error);
                OtgError::System { what: "a request is not a message of capbench otg", source }
            })?;
            match engine.answer(request) {
                Ok(Answered::Now(answer)) => send(&to_controller, id, Ok(answer)),
                Ok(Answered::Octets(read_back)) => {
                    let to_controller = to_controller.clone();
                    let send_octets = move || {
                        let parts = Parts { to: &to_controller, id };
                        let mut parts = BufWriter::with_capacity(PART, parts);
                        let sent = read_back(&mut parts).and_then(|()| parts.flush().map_err(unsent));
                        send(&to_controller, id, sent.map(|()| Answer::Done));
                    };
                    spawn("otg-capture", send_octets)?;
                }
                Err(error) => send(&to_controller, id, Err(error)),
            }
        }
    }
}

fn read(mut requests: impl io::BufRead, to: &Sender<News>, halt: &Halt) {
    loop {
        let news = match framing::read(&mut requests) {
            Ok(Some(octets)) => News::Request(octets),
            Ok(None) => News::End,
            Err(error) => News::Failure(error),
        };
        let is_last = !matches!(news, News::Request(_));
        if is_last {
            // The engine may be busy with a request.
            halt.end();
        }
        if to.send(news).is_err() || is_last {
            return;
        }
    }
}

fn write(mut answers: impl Write, messages: &Receiver<Message>) {
    for message in messages {
        let (octets, sent) = match message {
            Message::Reply(octets) => (octets, None),
            Message::Part(octets, sent) => (octets, Some(sent)),
        };
        // The end of the input ends the engine.
        if framing::write(&mut answers, &octets).is_err() {
            return;
        }
        // Its thread waits.
        if let Some(sent) = sent {
            sent.send(()).unwrap_or_default();
        }
    }
}

fn send(to: &Sender<Message>, id: u64, answer: Result<Answer>) {
    let refusal = |error: OtgError| Refusal { status: error.status().as_u16(), reason: error.to_string() };
    let reply = serde_json::to_vec(&Reply { id, answer: answer.map_err(refusal) });
    // Its members are numbers and texts. Without a controller, nobody waits for it.
    to.send(Message::Reply(reply.unwrap_or_default())).unwrap_or_default();
}

fn unsent(source: io::Error) -> OtgError {
    OtgError::System { what: "a capture cannot be sent to the controller", source }
}

/// Sends what is written as parts of a capture, each after the one before.
struct Parts<'c> {
    to: &'c Sender<Message>,
    id: u64,
}

impl Write for Parts<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let part = &octets[..octets.len().min(PART)];
        let (sent, is_sent) = sync_channel(1);
        let message = Message::Part(messages::part(self.id, part), sent);
        if self.to.send(message).is_ok() && is_sent.recv().is_ok() {
            Ok(part.len())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::units::ByteCount;

    use super::*;
    use crate::messages::Request;
    use crate::ports::Allowed;

    fn agent(lease: Duration) -> Agent {
        let (sender, news) = mpsc::channel();
        let (allowed, capture_size) = (Allowed::default(), ByteCount(1));
        let capture_folder = std::env::temp_dir();
        let halt = Halt::default();
        Agent { options: Options { allowed, lease, capture_size, capture_folder }, news, sender, halt }
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn it_ends_with_its_input_at_a_signal_and_without_requests() {
        agent(LONG).serve(io::empty(), io::sink()).unwrap();
        let (silent, _controller) = io::pipe().unwrap();
        let (end, signalled) = (agent(LONG), silent.try_clone().unwrap());
        end.end()();
        end.serve(signalled, io::sink()).unwrap();
        let error = agent(Duration::from_millis(1)).serve(silent, io::sink()).unwrap_err().to_string();
        assert_eq!(error, "the controller: no request for 1ms (--lease)");
    }

    #[test]
    fn what_is_no_request_ends_it() {
        for (input, expected) in [
            (&b"hello\r\n\r\n"[..], "the input is not a message of capbench otg: "),
            (b"Content-Length: 2\r\n\r\n{}", "a request is not a message of capbench otg: "),
        ] {
            let error = agent(LONG).serve(input, io::sink()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_request_is_answered_with_its_number() {
        let (requests, mut controller) = io::pipe().unwrap();
        let (answers, to_controller) = io::pipe().unwrap();
        let request = serde_json::to_vec(&Numbered { id: 7, request: Request::Go }).unwrap();
        framing::write(&mut controller, &request).unwrap();
        let serving = spawn("test", move || agent(LONG).serve(requests, to_controller)).unwrap();
        let octets = framing::read(&mut BufReader::new(answers)).unwrap().unwrap();
        let Reply { id, answer } = serde_json::from_slice(&octets).unwrap();
        let Refusal { status, reason } = answer.unwrap_err();
        assert_eq!((id, status, reason.as_str()), (7, 409, "the port is not open"));
        drop(controller);
        serving.join().unwrap().unwrap();
    }
}
