//! The port: one thread, a few connections, small requests.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use capbench_sys::host::{CpuId, affinity};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HOST, HeaderValue, WWW_AUTHENTICATE,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{timeout, timeout_at};

use crate::access::{Access, Protection, Rules};
use crate::answer_body::AnswerBody;
use crate::connections::{Connections, Place, Turn};
use crate::error::{HttpError, Result};
use crate::host_name::{self, names_this_host};
use crate::progress::Progress;

/// Octets of the headers of a request.
const MOST_HEADER: usize = 16 << 10;

/// Time for the handshake of TLS, for the headers of a request, and for its body. An idle connection is closed after it, too.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest life of a connection. A client then makes a new one.
const LIFE: Duration = Duration::from_secs(300);

/// Time for the answer to a request that was there at the end of the connection's life.
const FAREWELL: Duration = Duration::from_secs(60);

/// Octets of an answer that the kernel keeps for a client; it takes twice as much memory for them. It grows by itself to megabytes
/// otherwise, and a client that reads slowly is then seen to read nothing for many seconds.
const SEND_BUFFER: usize = 64 << 10;

/// Pause after a failed accept(2), for example without a free file descriptor.
const REST: Duration = Duration::from_millis(100);

/// Refused connections that get the answer 503 at the same time. Others are closed.
const MOST_REFUSED: usize = 16;

/// Time for reading what a refused client sends, so that it gets the refusal.
const REFUSAL: Duration = Duration::from_secs(1);

/// What a refused client gets.
const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 21\r\n\
    Retry-After: 1\r\nConnection: close\r\n\r\nToo many connections\n";

/// Reports what the server cannot do while it runs.
pub type Report = fn(&str);

/// Answers requests of clients that may ask. A clone for each connection.
pub trait Answer: Clone + Send + Sync + 'static {
    /// Answers a request. Its body is read by [`body`], or not at all. Among its extensions is the client's [`SocketAddr`].
    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Response<AnswerBody>> + Send;
}

/// An open port, with the rules of who may ask.
#[derive(Debug)]
pub struct Port {
    flag: &'static str,
    listener: TcpListener,
    access: Access,
    /// The CPUs that the server may use.
    cpus: Vec<CpuId>,
}

impl Port {
    /// Opens the port that a flag names, and reads the files of the protection. The server later runs on the CPUs that the calling
    /// thread may use now.
    ///
    /// # Errors
    /// The port cannot be opened, or a file is wrong.
    pub fn open(flag: &'static str, address: SocketAddr, protection: Protection) -> Result<Self> {
        let access = Access::new(protection)?;
        LazyLock::force(&host_name::OWN);
        let bind = |source| HttpError::Bind { flag, address, source };
        let listener = TcpListener::bind(address).map_err(bind)?;
        listener.set_nonblocking(true).map_err(bind)?;
        // Its connections inherit it.
        set_socket_send_buffer_size(&listener, SEND_BUFFER).map_err(|error| bind(error.into()))?;
        let cpus = affinity::allowed_cpus()
            .map_err(|error| HttpError::Server { flag, source: io::Error::other(error) })?;
        Ok(Self { flag, listener, access, cpus })
    }

    /// The address: with port 0 the system has chosen one.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Whether clients must show who they are: by a certificate or a password.
    pub fn names_clients(&self) -> bool {
        self.access.names_clients()
    }

    /// Whether it speaks TLS now.
    pub fn has_tls(&self) -> bool {
        self.access.has_tls()
    }

    /// Folders that the server reads from while it runs.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.access.folders()
    }

    /// Serves in a thread of its own until the process ends. The thread keeps off the CPUs in `pinned`, unless no other one may be
    /// used.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn serve(self, answers: impl Answer, pinned: &[CpuId], report: Report) -> Result<()> {
        let Self { flag, listener, access, cpus } = self;
        let free: Vec<_> = cpus.iter().copied().filter(|cpu| !pinned.contains(cpu)).collect();
        let cpus = if free.is_empty() { cpus } else { free };
        let failed = |source| HttpError::Server { flag, source };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(failed)?;
        let run = move || {
            if let Err(error) = affinity::restrict_current_thread(&cpus) {
                report(&format!("the server of {flag} runs on any CPU: {error}"));
            }
            if let Err(error) = runtime.block_on(accept(flag, listener, access, answers, report)) {
                report(&format!("{flag}: the server has ended: {error}"));
            }
        };
        thread::Builder::new().name("capbench-http".into()).spawn(run).map_err(failed)?;
        Ok(())
    }
}

/// Accepts connections for ever.
async fn accept(
    flag: &'static str,
    listener: TcpListener,
    mut access: Access,
    answers: impl Answer,
    report: Report,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let connections = Connections::default();
    tokio::spawn(keep_order(flag, connections.clone(), report));
    let refusals = Arc::new(Semaphore::new(MOST_REFUSED));
    loop {
        let Ok((stream, client)) = listener.accept().await else {
            tokio::time::sleep(REST).await;
            continue;
        };
        let rules = access.rules(|error| report(&format!("{error}; the rules before stay in force")));
        let (answers, connections, refusals) = (answers.clone(), connections.clone(), Arc::clone(&refusals));
        let Some(entry) = connections.enter(client.ip(), Instant::now()) else {
            tokio::spawn(refuse(stream, rules, refusals));
            continue;
        };
        tokio::spawn(async move {
            let granted = either(timeout(PATIENCE, connections.place(entry)), gone(&stream)).await;
            match granted {
                // A client that leaves, or is too slow, is no failure of ours.
                None => {}
                Some(Ok(Some(place))) => connection(stream, client, place, rules, answers).await,
                Some(Ok(None) | Err(_)) => {
                    connections.note_refused(client.ip());
                    refuse(stream, rules, refusals).await;
                }
            }
        });
    }
}

/// Waits until a client has left, also if it has sent something before.
async fn gone(stream: &TcpStream) {
    // Nothing else wakes it: the connection has no interest in urgent data.
    while stream.ready(Interest::PRIORITY).await.is_ok_and(|ready| !ready.is_read_closed()) {}
}

/// Waits for a result, up to the end of something else.
async fn either<T>(result: impl Future<Output = T>, end: impl Future<Output = ()>) -> Option<T> {
    let (mut result, mut end) = (pin!(result), pin!(end));
    poll_fn(|context| match result.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending => end.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// Ends connections whose places others wait for, and reports it.
async fn keep_order(flag: &'static str, connections: Connections, report: Report) {
    loop {
        let now = Instant::now();
        let next_end = connections.end_late(now);
        let (words, next_report) = connections.report(now);
        if let Some(words) = words {
            report(&format!("{flag}: {words}"));
        }
        match next_end.into_iter().chain(next_report).min() {
            // It is looked at again in both cases.
            Some(next) => timeout_at(next.into(), connections.changed()).await.unwrap_or_default(),
            None => connections.changed().await,
        }
    }
}

/// Answers a refused client that there are too many connections; without TLS only.
async fn refuse(stream: TcpStream, rules: Arc<Rules>, refusals: Arc<Semaphore>) {
    if rules.tls.is_some() {
        return;
    }
    let Ok(_few) = refusals.try_acquire() else { return };
    let tell = async {
        stream.writable().await?;
        // It fits into the empty buffer of the connection.
        stream.try_write(BUSY)?;
        let stream = stream.into_std()?;
        stream.shutdown(Shutdown::Write)?;
        let stream = TcpStream::from_std(stream)?;
        // What is not read when the connection is closed would take the answer back.
        let mut unread = [0; 1024];
        loop {
            stream.readable().await?;
            match stream.try_read(&mut unread) {
                Ok(0) => return io::Result::Ok(()),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
    };
    // A client that leaves is no failure of ours.
    let _ = timeout(REFUSAL, tell).await;
}

async fn connection(
    stream: TcpStream,
    client: SocketAddr,
    mut place: Place,
    rules: Arc<Rules>,
    answers: impl Answer,
) {
    let turn = place.turn();
    // Everybody can reach another address, but only programs of this host reach this one.
    let is_local = stream.local_addr().is_ok_and(|address| address.ip().to_canonical().is_loopback());
    let client = ClientOf { address: client, turn, is_local };
    let served = async {
        match &rules.tls {
            None => requests(stream, client, &rules, answers).await,
            Some(tls) => {
                if let Ok(Ok(stream)) = timeout(PATIENCE, tls.0.accept(stream)).await {
                    requests(stream, client, &rules, answers).await;
                }
            }
        }
    };
    either(served, place.ended()).await;
}

/// The client of a connection.
struct ClientOf {
    address: SocketAddr,
    turn: Turn,
    /// Whether it has connected to an address of this host alone.
    is_local: bool,
}

/// Answers the requests of a connection.
async fn requests(
    stream: impl AsyncRead + AsyncWrite + AsRawFd + Unpin,
    client: ClientOf,
    rules: &Rules,
    answers: impl Answer,
) {
    let (answers, client) = (&answers, &client);
    let answer = |request: Request<Incoming>| async move {
        client.turn.take();
        let mut response = answer_one(request, client, rules, answers).await;
        if client.turn.is_awaited() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        client.turn.give_to_client();
        Ok::<_, Infallible>(response)
    };
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(MOST_HEADER)
        .serve_connection(TokioIo::new(Progress::new(stream, client.turn.clone())), service_fn(answer));
    let mut served = pin!(served);
    // It fails if the client leaves.
    if timeout(LIFE, served.as_mut()).await.is_err() {
        // A request that is being answered gets its answer.
        served.as_mut().graceful_shutdown();
        let _ = timeout(FAREWELL, served).await;
    }
}

/// Answers a request, if its client may ask.
async fn answer_one(
    mut request: Request<Incoming>,
    client: &ClientOf,
    rules: &Rules,
    answers: &impl Answer,
) -> Response<AnswerBody> {
    // A page of a browser on this host reaches it under a name of its own, which resolves to this address (DNS rebinding).
    let host = request.headers().get(HOST);
    if client.is_local && rules.is_open() && !host.is_none_or(|host| names_this_host(host.as_bytes())) {
        let why = "The Host header has to name this host: localhost, or an address\n";
        return text(StatusCode::MISDIRECTED_REQUEST, why.into());
    }
    if let Some(users) = &rules.users
        && !users.may_ask(request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes)).await
    {
        return unauthorized();
    }
    request.extensions_mut().insert(client.address);
    request.extensions_mut().insert(client.turn.clone());
    answers.answer(request).await
}

fn unauthorized() -> Response<AnswerBody> {
    let mut refusal = text(StatusCode::UNAUTHORIZED, "Unauthorized\n".into());
    let realm = HeaderValue::from_static("Basic realm=\"capbench\", charset=\"UTF-8\"");
    refusal.headers_mut().insert(WWW_AUTHENTICATE, realm);
    // Each further password needs a connection, and so its turn.
    refusal.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    refusal
}

/// An answer of plain text, which nobody keeps.
pub fn text(status: StatusCode, body: String) -> Response<AnswerBody> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The body of a request of up to `most` octets, and otherwise the status of the refusal.
///
/// # Errors
/// It is longer, or the client is too slow or leaves.
pub async fn body(request: Request<Incoming>, most: usize) -> std::result::Result<Bytes, StatusCode> {
    if request.body().size_hint().lower() > most as u64 {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    let turn = request.extensions().get::<Turn>().cloned();
    turn.iter().for_each(Turn::give_to_client);
    let collected = timeout(PATIENCE, Limited::new(request.into_body(), most).collect()).await;
    turn.iter().for_each(Turn::take);
    match collected {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            Err(StatusCode::PAYLOAD_TOO_LARGE)
        }
        Ok(Err(_)) => Err(StatusCode::BAD_REQUEST),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}
