//! The port: one thread, a few connections, small requests.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use capbench_sys::host::{CpuId, affinity};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::access::{Access, Protection, Rules};
use crate::answer_body::AnswerBody;
use crate::error::{HttpError, Result};

/// Connections at the same time. A further one is closed at once.
const MOST_CONNECTIONS: usize = 32;

/// Octets of the headers of a request.
const MOST_HEADER: usize = 16 << 10;

/// Time for the handshake of TLS, for the headers of a request, and for its body. An idle connection is closed after it, too.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest life of a connection. A client then makes a new one.
const LIFE: Duration = Duration::from_secs(300);

/// Time for the answer to a request that was there at the end of the connection's life.
const FAREWELL: Duration = Duration::from_secs(60);

/// Pause after a failed accept(2), for example without a free file descriptor.
const REST: Duration = Duration::from_millis(100);

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
        let bind = |source| HttpError::Bind { flag, address, source };
        let listener = TcpListener::bind(address).map_err(bind)?;
        listener.set_nonblocking(true).map_err(bind)?;
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
            if let Err(error) = runtime.block_on(accept(listener, access, answers, report)) {
                report(&format!("{flag}: the server has ended: {error}"));
            }
        };
        thread::Builder::new().name("capbench-http".into()).spawn(run).map_err(failed)?;
        Ok(())
    }
}

/// Accepts connections for ever.
async fn accept(
    listener: TcpListener,
    mut access: Access,
    answers: impl Answer,
    report: Report,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok((stream, client)) = listener.accept().await else {
            tokio::time::sleep(REST).await;
            continue;
        };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else { continue };
        let rules = access.rules(|error| report(&format!("{error}; the rules before stay in force")));
        let answers = answers.clone();
        tokio::spawn(async move {
            // A client that leaves, or is too slow, is no failure of ours.
            connection(stream, client, rules, answers).await;
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, client: SocketAddr, rules: Arc<Rules>, answers: impl Answer) {
    match &rules.tls {
        None => requests(stream, client, &rules, answers).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = timeout(PATIENCE, tls.0.accept(stream)).await {
                requests(stream, client, &rules, answers).await;
            }
        }
    }
}

/// Answers the requests of a connection.
async fn requests(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    client: SocketAddr,
    rules: &Rules,
    answers: impl Answer,
) {
    let answers = &answers;
    let answer = |mut request: Request<Incoming>| async move {
        request.extensions_mut().insert(client);
        let authorization = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let may_ask = rules.users.as_ref().is_none_or(|users| users.may_ask(authorization));
        Ok::<_, Infallible>(if may_ask { answers.answer(request).await } else { unauthorized() })
    };
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(MOST_HEADER)
        .serve_connection(TokioIo::new(stream), service_fn(answer));
    let mut served = pin!(served);
    // It fails if the client leaves.
    if timeout(LIFE, served.as_mut()).await.is_err() {
        // A request that is being answered gets its answer.
        served.as_mut().graceful_shutdown();
        let _ = timeout(FAREWELL, served).await;
    }
}

fn unauthorized() -> Response<AnswerBody> {
    let mut refusal = text(StatusCode::UNAUTHORIZED, "Unauthorized\n".into());
    let realm = HeaderValue::from_static("Basic realm=\"capbench\", charset=\"UTF-8\"");
    refusal.headers_mut().insert(WWW_AUTHENTICATE, realm);
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
    match timeout(PATIENCE, Limited::new(request.into_body(), most).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            Err(StatusCode::PAYLOAD_TOO_LARGE)
        }
        Ok(Err(_)) => Err(StatusCode::BAD_REQUEST),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}
