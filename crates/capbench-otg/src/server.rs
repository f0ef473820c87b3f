//! The HTTP interface: which request is which, and its answer.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use capbench_http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, ORIGIN};
use capbench_http::{
    Answer, Bytes, Full, Incoming, Method, Port, Report, Request, Response, StatusCode, body,
};
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::engine::Options;
use crate::error::{OtgError, Result};
use crate::model::answers::{Failure, Version};
use crate::model::{COMPATIBLE, VERSION};
use crate::session::Session;
use crate::threads::spawn;

/// Octets of a request: a configuration of thousands of flows.
const MOST_BODY: usize = 16 << 20;

/// How often rates are noted and leases looked at.
const TICK: Duration = Duration::from_millis(500);

/// Requests that are read or answered at a time, also those whose client has left: each can have [`MOST_BODY`].
const MOST_REQUESTS: usize = 8;

/// The server. Its clients share one configuration.
#[derive(Clone, Debug)]
pub struct Server {
    session: Arc<Mutex<Session>>,
    requests: Arc<Semaphore>,
}

impl Server {
    /// Serves at an open port until the process ends. [`Server::stop`] ends what runs for clients.
    ///
    /// # Errors
    /// Only this host may be served without TLS and without knowing who asks. The system starts no thread.
    pub fn start(port: Port, options: Options, report: Report) -> Result<Self> {
        let is_local = port.address().is_some_and(|address| address.ip().is_loopback());
        if !(is_local || port.has_tls() && port.names_clients()) {
            return Err(OtgError::Flag(
                "--listen: other hosts are served by TLS, and to clients that show who they are; listen on 127.0.0.1, or give \
                 --tls-cert, --tls-key and --client-ca, or --web-config with users or client certificates"
                    .into(),
            ));
        }
        let session = Arc::new(Mutex::new(Session::new(options)));
        let server = Self { session, requests: Arc::new(Semaphore::new(MOST_REQUESTS)) };
        port.serve(server.clone(), &[], report)?;
        let watched = server.clone();
        let watch = move || {
            loop {
                thread::sleep(TICK);
                let mut session = watched.session();
                session.note_rates();
                if let Some(client) = session.end_lease() {
                    report(&format!(
                        "flows and captures of {client} stopped: it sent no request for the time of --lease"
                    ));
                }
            }
        };
        spawn("otg-watch", watch)?;
        Ok(server)
    }

    /// Stops flows and captures, and removes the files of captures.
    pub fn stop(&self) {
        self.session().clear();
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        // A request that panicked was answered; the state is as far as it had come.
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self, method: &Method, path: &str, client: IpAddr, octets: &[u8]) -> Response<Full<Bytes>> {
        // Only what needs it waits for it: an engine that hangs holds it for its patience.
        let session = || {
            let mut session = self.session();
            session.note_request(client);
            session
        };
        let answer = match (method.as_str(), path) {
            ("POST", "/config") => session().set_config(octets, client).and_then(json),
            ("PATCH", "/config") => session().update_config(octets, client).and_then(json),
            ("GET", "/config") => json(session().config()),
            ("POST", "/control/state") => session().control(octets, client).and_then(json),
            ("POST", "/monitor/metrics") => session().metrics(octets).and_then(json),
            ("POST", "/monitor/capture") => {
                let mut session = session();
                let (asked, most) = (session.fetch(octets, client), session.most_octets());
                // A large file takes time; other requests go on.
                drop(session);
                let octets = asked.and_then(|asked| asked.octets(most));
                octets.map(|octets| response(StatusCode::OK, "application/octet-stream", octets))
            }
            ("GET", "/capabilities/version") => json(Version {
                api_spec_version: COMPATIBLE,
                sdk_version: VERSION,
                app_version: env!("CARGO_PKG_VERSION"),
            }),
            ("PATCH", "/config/append" | "/config/delete")
            | ("POST", "/control/action" | "/monitor/states") => {
                return refusal(
                    StatusCode::NOT_IMPLEMENTED,
                    format!("{method} {path}: capbench does not support this request of the model"),
                );
            }
            _ => return nowhere(method, path),
        };
        answer.unwrap_or_else(|error| failure(&error))
    }
}

impl Answer for Server {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (method, path) = (request.method().clone(), request.uri().path().to_string());
        let client =
            request.extensions().get::<SocketAddr>().map_or(Ipv4Addr::LOCALHOST.into(), SocketAddr::ip);
        // A page in a browser could send a request to this host; no script of the API does it so.
        let kind = request.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        let is_json = kind.is_some_and(|kind| kind.starts_with(b"application/json"));
        if request.headers().contains_key(ORIGIN) || (method != Method::GET && !is_json) {
            let why =
                "a request comes from a program, not from a page, and has Content-Type: application/json";
            return refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, why.into());
        }
        let Ok(place) = Arc::clone(&self.requests).acquire_owned().await else {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "the server ends".into());
        };
        let octets = match body(request, MOST_BODY).await {
            Ok(octets) => octets,
            Err(status) => {
                let why = match status {
                    StatusCode::PAYLOAD_TOO_LARGE => format!("the body is longer than {MOST_BODY} bytes"),
                    StatusCode::REQUEST_TIMEOUT => "the body did not come in time".into(),
                    _ => "the body did not come as a whole".into(),
                };
                return refusal(status, why);
            }
        };
        let server = self.clone();
        // A start or a stop takes time; other clients' connections go on.
        let work = move || {
            let _place = place;
            server.answered(&method, &path, client, &octets)
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
            refusal(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the server failed; its standard error says why".into(),
            )
        })
    }
}

/// The paths of the model, with the methods that each has.
const PATHS: [(&str, &str); 9] = [
    ("/config", "GET, POST, PATCH"),
    ("/config/append", "PATCH"),
    ("/config/delete", "PATCH"),
    ("/control/state", "POST"),
    ("/control/action", "POST"),
    ("/monitor/metrics", "POST"),
    ("/monitor/states", "POST"),
    ("/monitor/capture", "POST"),
    ("/capabilities/version", "GET"),
];

fn nowhere(method: &Method, path: &str) -> Response<Full<Bytes>> {
    let Some((_, methods)) = PATHS.iter().find(|(known, _)| *known == path) else {
        return refusal(StatusCode::NOT_FOUND, format!("the model has no {path}"));
    };
    let mut answer =
        refusal(StatusCode::METHOD_NOT_ALLOWED, format!("{method} {path}: the model has here {methods}"));
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    answer
}

fn json(answer: impl Serialize) -> Result<Response<Full<Bytes>>> {
    let octets = serde_json::to_vec(&answer)
        .map_err(|error| OtgError::System { what: "the answer", source: std::io::Error::other(error) })?;
    Ok(response(StatusCode::OK, "application/json", octets))
}

fn failure(error: &OtgError) -> Response<Full<Bytes>> {
    of_failure(error.status(), error.kind(), error.to_string())
}

fn refusal(status: StatusCode, why: String) -> Response<Full<Bytes>> {
    of_failure(status, if status.is_server_error() { "internal" } else { "validation" }, why)
}

fn of_failure(status: StatusCode, kind: &'static str, why: String) -> Response<Full<Bytes>> {
    let body = Failure { code: status.as_u16(), kind, errors: vec![why] };
    // Its members are numbers and texts.
    response(status, "application/json", serde_json::to_vec(&body).unwrap_or_default())
}

fn response(status: StatusCode, kind: &'static str, octets: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(octets.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use capbench_model::units::ByteCount;

    use super::*;
    use crate::ports::Allowed;

    /// An engine that hangs makes a request hold the session for long.
    #[test]
    fn the_version_is_answered_while_a_request_has_the_session() {
        let (allowed, capture_size) = (Allowed::default(), ByteCount(1));
        let (lease, capture_folder) = (Duration::from_secs(600), std::env::temp_dir());
        let options = Options { allowed, lease, capture_size, capture_folder };
        let session = Arc::new(Mutex::new(Session::new(options)));
        let server = Server { session, requests: Arc::new(Semaphore::new(1)) };
        let (asking, held) = (server.clone(), server.session());
        let (answers, answer) = mpsc::channel();
        let ask = move || {
            let client = Ipv4Addr::LOCALHOST.into();
            for path in ["/capabilities/version", "/config"] {
                answers.send(asking.answered(&Method::GET, path, client, b"").status()).unwrap();
            }
        };
        let asked = spawn("test", ask).unwrap();
        assert_eq!(answer.recv_timeout(Duration::from_secs(60)), Ok(StatusCode::OK));
        assert!(answer.try_recv().is_err(), "the configuration is of the session");
        drop(held);
        assert_eq!(answer.recv(), Ok(StatusCode::OK));
        asked.join().unwrap();
    }
}
