//! The body of an answer: octets, or parts as they are made. Parts wait for their client, not in memory.

use std::any::Any;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

/// Octets of a part.
const PART: usize = 64 << 10;

/// Parts that wait for the client.
const WAITING: usize = 2;

/// How long a client may read nothing of its answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The body of an answer.
#[allow(missing_debug_implementations)]
pub struct AnswerBody(Content);

enum Content {
    Whole(Full<Bytes>),
    Parts {
        parts: Receiver<Part>,
        has_ended: bool,
        /// Dropped when the body is sent, or its client has left.
        _held: Box<dyn Any + Send>,
    },
}

enum Part {
    Octets(Bytes),
    /// Without it, the body is incomplete.
    End,
}

/// Where the parts of a body are written, in a thread that may wait.
#[derive(Debug)]
pub struct Parts {
    to: Sender<Part>,
    octets: Vec<u8>,
    runtime: Handle,
}

impl AnswerBody {
    /// A body in parts, which are written elsewhere. `held` is dropped when it is sent, or its client has left. Call it where a
    /// request is answered.
    ///
    /// # Panics
    /// In a thread that answers no request.
    pub fn parts(held: impl Any + Send) -> (Parts, Self) {
        let (to, parts) = channel(WAITING);
        let body = Self(Content::Parts { parts, has_ended: false, _held: Box::new(held) });
        (Parts { to, octets: Vec::with_capacity(PART), runtime: Handle::current() }, body)
    }
}

impl From<Bytes> for AnswerBody {
    fn from(octets: Bytes) -> Self {
        Self(Content::Whole(Full::new(octets)))
    }
}

impl From<String> for AnswerBody {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl From<Vec<u8>> for AnswerBody {
    fn from(octets: Vec<u8>) -> Self {
        Bytes::from(octets).into()
    }
}

impl Parts {
    /// Ends the body, which is complete.
    ///
    /// # Errors
    /// The client has left, or reads nothing.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.send(Part::End)
    }

    fn send(&self, part: Part) -> io::Result<()> {
        // The timer is one of the runtime.
        match self.runtime.block_on(async { timeout(PATIENCE, self.to.send(part)).await }) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Write for Parts {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let taken = octets.len().min(PART - self.octets.len());
        self.octets.extend_from_slice(&octets[..taken]);
        if self.octets.len() == PART {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.octets.is_empty() {
            return Ok(());
        }
        let octets = std::mem::replace(&mut self.octets, Vec::with_capacity(PART));
        self.send(Part::Octets(octets.into()))
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.0 {
            Content::Whole(octets) => Pin::new(octets).poll_frame(context).map_err(|never| match never {}),
            Content::Parts { has_ended: true, .. } => Poll::Ready(None),
            Content::Parts { parts, has_ended, .. } => Poll::Ready(match ready!(parts.poll_recv(context)) {
                Some(Part::Octets(octets)) => Some(Ok(Frame::data(octets))),
                Some(Part::End) => {
                    *has_ended = true;
                    None
                }
                // The client must not take it as the end.
                None => Some(Err(io::ErrorKind::UnexpectedEof.into())),
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Content::Whole(octets) => octets.is_end_stream(),
            Content::Parts { has_ended, .. } => *has_ended,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Whole(octets) => octets.size_hint(),
            Content::Parts { .. } => SizeHint::default(),
        }
    }
}
