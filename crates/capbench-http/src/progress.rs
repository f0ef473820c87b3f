//! A stream that notes when its client reads.

use std::io;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use capbench_sys::tcp::acknowledged_octets;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::connections::Turn;

/// How often a write that waits looks at what the client's kernel has acknowledged.
const LOOK: Duration = Duration::from_millis(250);

/// Octets that renew a client's turn. With its 2 s, a client that takes 4 KB/s keeps its place.
const LEAST: u64 = 8 << 10;

/// A stream, and the turn of its client. The turn is renewed by each write that completes, and while a write waits by what the
/// client's kernel acknowledges: over a slow link, the kernel here completes a write in tens of seconds.
///
/// A kernel may acknowledge what its program reads in large steps. Linux frees a packet of the receive queue when all of it is read,
/// and joins packets: on loopback up to 130 KB.
pub(crate) struct Progress<S> {
    stream: S,
    turn: Turn,
    next_look: Pin<Box<Sleep>>,
    /// At the last renewal; absent: nothing was looked at since the last completed write.
    acknowledged: Option<u64>,
}

impl<S: AsRawFd> Progress<S> {
    pub(crate) fn new(stream: S, turn: Turn) -> Self {
        Self { stream, turn, next_look: Box::pin(sleep(LOOK)), acknowledged: None }
    }

    fn note_write(&mut self) {
        self.turn.note_progress();
        self.next_look.as_mut().reset(Instant::now() + LOOK);
        self.acknowledged = None;
    }

    /// Looks for progress while a write waits, now or later.
    fn look(&mut self, context: &mut Context<'_>) {
        while self.next_look.as_mut().poll(context).is_ready() {
            self.next_look.as_mut().reset(Instant::now() + LOOK);
            // Without the count, completed writes are the client's only progress.
            let Ok(acknowledged) = acknowledged_octets(&self.stream) else { continue };
            let before = *self.acknowledged.get_or_insert(acknowledged);
            if acknowledged - before >= LEAST {
                self.turn.note_progress();
                self.acknowledged = Some(acknowledged);
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Progress<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // What a client sends renews nothing: one octet now and then would keep its place.
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + AsRawFd + Unpin> AsyncWrite for Progress<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, octets);
        match written {
            Poll::Ready(Ok(1..)) => self.note_write(),
            Poll::Pending => self.look(context),
            Poll::Ready(_) => {}
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // TLS writes here what it has encrypted.
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_pending() {
            self.look(context);
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};
    use rustix::net::{AddressFamily, SocketType, connect, socket};

    use super::*;
    use crate::connections::Connections;

    /// A connection whose client keeps little in its kernel, as on a network without large segments.
    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        set_socket_send_buffer_size(&listener, 64 << 10).unwrap();
        let client = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        set_socket_recv_buffer_size(&client, 8 << 10).unwrap();
        connect(&client, &listener.local_addr().unwrap()).unwrap();
        (listener.accept().unwrap().0, client.into())
    }

    /// When the connection ends, after it has not changed for several looks: nothing renews it any more.
    async fn settled_end(connections: &Connections) -> std::time::Instant {
        let mut before = None;
        for _ in 0..100 {
            let end = connections.end_late(std::time::Instant::now()).unwrap();
            if before == Some(end) {
                return end;
            }
            before = Some(end);
            sleep(LOOK * 3).await;
        }
        panic!("the turn of a client that reads nothing is renewed again and again");
    }

    #[test]
    fn a_client_that_reads_less_than_a_write_waits_for_renews_its_turn() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (server, mut client) = connection();
            server.set_nonblocking(true).unwrap();
            let server = tokio::net::TcpStream::from_std(server).unwrap();
            let connections = Connections::default();
            let address = client.peer_addr().unwrap().ip();
            let entry = connections.enter(address, std::time::Instant::now()).unwrap();
            let place = connections.place(entry).await.unwrap();
            let mut stream = Progress::new(server, place.turn());
            tokio::spawn(async move {
                while poll_fn(|context| Pin::new(&mut stream).poll_write(context, &[0; 64 << 10]))
                    .await
                    .is_ok()
                {}
            });
            let unread = settled_end(&connections).await;
            client.read_exact(&mut [0; 12 << 10]).unwrap();
            let read = settled_end(&connections).await;
            assert!(read > unread, "12 KiB renew the turn");
        });
    }
}
