//! The thread that reads calls, and what it shares with the one that answers them.
//!
//! It sleeps in read(2) while frames are sent, and notices at once when the connection ends: then sending stops. What else runs
//! goes on to its end, so that it can be reported after a reconnect.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::framing;
use crate::message::{ErrorObject, INVALID_REQUEST, JSON_RPC, Kind, NO_JSON, Refusal, Request, read};

/// A call, or why a message is none.
pub(super) type Call = Result<Request, ErrorObject>;

/// The state of the connection. All accesses are sequentially consistent: of an end of the connection and a begin of sending,
/// one sees the other.
#[derive(Debug)]
pub(super) struct Line {
    /// Ends sending and receiving early.
    stop: Arc<AtomicBool>,
    is_lost: AtomicBool,
    is_sending: AtomicBool,
    was_cut: AtomicBool,
}

impl Line {
    pub(super) fn new(stop: Arc<AtomicBool>) -> Self {
        let [is_lost, is_sending, was_cut] = [false; 3].map(AtomicBool::new);
        Self { stop, is_lost, is_sending, was_cut }
    }

    /// Starts the thread that reads the calls. It sleeps until the connection ends: only then can it be joined.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub(super) fn read(
        self: &Arc<Self>,
        calls: impl Read + Send + 'static,
    ) -> io::Result<(Receiver<io::Result<Call>>, JoinHandle<()>)> {
        let (sender, receiver) = sync_channel(1);
        let line = Arc::clone(self);
        let reader = std::thread::Builder::new()
            .name("capbench-calls".into())
            .spawn(move || line.pass_on(BufReader::new(calls), &sender))?;
        Ok((receiver, reader))
    }

    /// Whether the connection has ended.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::SeqCst)
    }

    /// Whether the connection ended while frames were sent.
    pub(super) fn was_cut(&self) -> bool {
        self.was_cut.load(Ordering::SeqCst)
    }

    /// Sends frames. If the connection ends meanwhile, sending ends. `None`: it has ended before.
    pub(super) fn while_sending<T>(&self, send: impl FnOnce() -> T) -> Option<T> {
        self.is_sending.store(true, Ordering::SeqCst);
        let sent = (!self.is_lost()).then(send);
        self.is_sending.store(false, Ordering::SeqCst);
        sent
    }

    fn end(&self) {
        self.is_lost.store(true, Ordering::SeqCst);
        if self.is_sending.load(Ordering::SeqCst) {
            self.was_cut.store(true, Ordering::SeqCst);
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Reads calls until the connection ends.
    fn pass_on(&self, mut calls: impl BufRead, to: &SyncSender<io::Result<Call>>) {
        loop {
            match next(&mut calls) {
                Ok(Some(Ok(Request { id: None, method, .. }))) => {
                    // The only message without an answer.
                    if method == "stop" {
                        self.stop.store(true, Ordering::Relaxed);
                    }
                }
                Ok(Some(call)) => {
                    if to.send(Ok(call)).is_err() {
                        return;
                    }
                }
                Ok(None) => return self.end(),
                Err(error) => {
                    self.end();
                    let _ = to.send(Err(error));
                    return;
                }
            }
        }
    }
}

fn next(calls: &mut impl BufRead) -> io::Result<Option<Call>> {
    Ok(framing::read(calls)?.map(|octets| parsed(&octets)))
}

fn parsed(octets: &[u8]) -> Call {
    let refused = |code, why| ErrorObject::new(code, Refusal::new(Kind::Usage, why));
    let request: Request = read(octets).map_err(|error| {
        let code = if error.is_data() { INVALID_REQUEST } else { NO_JSON };
        refused(code, format!("the message is no call: {error}"))
    })?;
    if request.jsonrpc == JSON_RPC {
        return Ok(request);
    }
    Err(refused(INVALID_REQUEST, format!("the message is of JSON-RPC {:?}, not {JSON_RPC}", request.jsonrpc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_connection_stops_sending_and_nothing_else() {
        let stop = Arc::new(AtomicBool::new(false));
        let line = Line::new(Arc::clone(&stop));
        assert_eq!(line.while_sending(|| 1), Some(1));
        line.end();
        assert!(line.is_lost() && !line.was_cut() && !stop.load(Ordering::Relaxed));
        assert_eq!(line.while_sending(|| 1), None, "no frame is sent for nobody");
        let line = Line::new(Arc::clone(&stop));
        line.while_sending(|| line.end());
        assert!(line.was_cut() && stop.load(Ordering::Relaxed));
    }
}
