//! The HTTP server for scrapers: one thread, a few connections, small requests.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use capbench_sys::host::{CpuId, affinity};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::access::{Access, Rules};
use crate::error::{MetricsError, Result};
use crate::series::{Form, Metrics};

/// Connections at the same time. A further one is closed at once.
const MOST_CONNECTIONS: usize = 32;

/// Octets of the headers of a request.
const MOST_HEADER: usize = 16 << 10;

/// Time for the handshake of TLS, and for the headers of a request. An idle connection is closed after it, too.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest life of a connection. A scraper then makes a new one.
const LIFE: Duration = Duration::from_secs(300);

/// Pause after a failed accept(2), for example without a free file descriptor.
const REST: Duration = Duration::from_millis(100);

/// The only page.
const PATH: &str = "/metrics";

/// Reports what the server cannot do while it runs.
pub type Report = fn(&str);

/// An open port, with the rules of who may read.
#[derive(Debug)]
pub struct Port {
    listener: TcpListener,
    access: Access,
    /// The CPUs that the server may use.
    cpus: Vec<CpuId>,
}

impl Port {
    /// Opens a port, and reads the web configuration. The server later runs on the CPUs that the calling thread may use now.
    ///
    /// # Errors
    /// The port cannot be opened, or a file is wrong.
    pub fn open(address: SocketAddr, web_config: Option<&Path>) -> Result<Self> {
        let access = Access::new(web_config)?;
        let bind = |source| MetricsError::Bind { address, source };
        let listener = TcpListener::bind(address).map_err(bind)?;
        listener.set_nonblocking(true).map_err(bind)?;
        let cpus = affinity::allowed_cpus().map_err(|error| MetricsError::Server(io::Error::other(error)))?;
        Ok(Self { listener, access, cpus })
    }

    /// The address: with port 0 the system has chosen one.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Folders that the server reads from while it runs.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.access.folders()
    }

    /// Serves the metrics in a thread of its own until the process ends. The thread keeps off the CPUs in `pinned`, unless no other
    /// one may be used.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn serve(self, metrics: Metrics, pinned: &[CpuId], report: Report) -> Result<()> {
        let Self { listener, access, cpus } = self;
        let free: Vec<_> = cpus.iter().copied().filter(|cpu| !pinned.contains(cpu)).collect();
        let cpus = if free.is_empty() { cpus } else { free };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(MetricsError::Server)?;
        let run = move || {
            if let Err(error) = affinity::restrict_current_thread(&cpus) {
                report(&format!("the server of --metrics runs on any CPU: {error}"));
            }
            if let Err(error) = runtime.block_on(accept(listener, access, metrics, report)) {
                report(&format!("--metrics: the server has ended: {error}"));
            }
        };
        thread::Builder::new().name("capbench-http".into()).spawn(run).map_err(MetricsError::Server)?;
        Ok(())
    }
}

/// Accepts connections for ever.
async fn accept(
    listener: TcpListener,
    mut access: Access,
    metrics: Metrics,
    report: Report,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(REST).await;
            continue;
        };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else { continue };
        let rules = access.rules(|error| report(&format!("{error}; the rules before stay in force")));
        let metrics = metrics.clone();
        tokio::spawn(async move {
            // A client that leaves, or is too slow, is no failure of ours.
            let _ = timeout(LIFE, connection(stream, rules, metrics)).await;
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, rules: Arc<Rules>, metrics: Metrics) {
    match &rules.tls {
        None => requests(stream, &rules, metrics).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = timeout(PATIENCE, tls.0.accept(stream)).await {
                requests(stream, &rules, metrics).await;
            }
        }
    }
}

/// Answers the requests of a connection.
async fn requests(stream: impl AsyncRead + AsyncWrite + Unpin, rules: &Rules, metrics: Metrics) {
    let answer = |request: Request<Incoming>| {
        let response = answer(&request, rules, &metrics);
        async move { Ok::<_, Infallible>(response) }
    };
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(MOST_HEADER)
        .serve_connection(TokioIo::new(stream), service_fn(answer));
    // It fails if the client leaves.
    let _ = served.await;
}

fn answer(request: &Request<Incoming>, rules: &Rules, metrics: &Metrics) -> Response<Full<Bytes>> {
    let header = |name| request.headers().get(name).map(HeaderValue::as_bytes);
    if let Some(users) = &rules.users
        && !users.may_read(header(AUTHORIZATION))
    {
        let mut refusal = text(StatusCode::UNAUTHORIZED, "Unauthorized\n".into());
        let realm = HeaderValue::from_static("Basic realm=\"capbench\", charset=\"UTF-8\"");
        refusal.headers_mut().insert(WWW_AUTHENTICATE, realm);
        return refusal;
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, "GET and HEAD only\n".into());
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refusal;
    }
    if request.uri().path() != PATH {
        return text(StatusCode::NOT_FOUND, format!("the metrics are at {PATH}\n"));
    }
    let form = form(header(ACCEPT));
    let mut response = text(StatusCode::OK, metrics.text(form));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(form.content_type()));
    response
}

fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The form that a client asks for (RFC 9110, Accept): OpenMetrics only if it is named and not excluded by `q=0`.
fn form(accept: Option<&[u8]>) -> Form {
    let accept = accept.and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default();
    let wants = |range: &str| {
        let mut parts = range.split(';').map(str::trim);
        let is_named =
            parts.next().is_some_and(|name| name.eq_ignore_ascii_case("application/openmetrics-text"));
        is_named && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    };
    if accept.split(',').any(wants) { Form::OpenMetrics } else { Form::Prometheus }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openmetrics_is_for_those_who_ask_for_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accept, expected) in [
            (Some(prometheus), Form::OpenMetrics),
            (Some("text/plain;version=0.0.4, application/openmetrics-text;q=0"), Form::Prometheus),
            (Some("*/*"), Form::Prometheus),
            (None, Form::Prometheus),
        ] {
            assert_eq!(form(accept.map(str::as_bytes)), expected, "{accept:?}");
        }
    }
}
