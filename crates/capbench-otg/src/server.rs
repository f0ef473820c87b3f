//! The HTTP interface: which request is which, and its answer.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use capbench_http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, ORIGIN, RETRY_AFTER};
use capbench_http::{
    Answer, AnswerBody, Body, Bytes, Incoming, Method, Port, Report, Request, Response, StatusCode, Turn,
    body,
};
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;

use crate::download;
use crate::engine::Options;
use crate::error::{OtgError, Result};
use crate::halt::Halt;
use crate::model::answers::{Failure, Version, Warnings};
use crate::model::config::Config;
use crate::model::requests::{ConfigUpdate, ControlState, Traffic, Transmit};
use crate::model::{COMPATIBLE, VERSION, read};
use crate::places::{Places, wait_for_place};
use crate::session::{Lease, Session};
use crate::threads::spawn;

/// Octets of a configuration of thousands of flows.
const MOST_CONFIG: usize = 16 << 20;

/// Octets of every other request, and of configurations that are read at the same time.
const MOST_BODY: usize = 1 << 20;

/// How often rates are noted and leases looked at.
const TICK: Duration = Duration::from_millis(500);

/// How often the end of a lease is looked for, also while a request runs.
const TICK_OF_LEASE: Duration = Duration::from_millis(100);

/// How long the end of the server waits for a request that has the session.
const FAREWELL: Duration = Duration::from_secs(3);

/// The server. Its clients share one configuration.
#[derive(Clone, Debug)]
pub struct Server {
    session: Arc<Mutex<Session>>,
    lease: Lease,
    halt: Halt,
    places: Places,
}

/// A request whose body is read.
struct Asking {
    method: Method,
    path: String,
    client: IpAddr,
    octets: Bytes,
    /// For a request that fetches a capture.
    capture_place: Option<OwnedSemaphorePermit>,
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
        let server = Self::new(options);
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
        let (lease, halt) = (server.lease.clone(), server.halt.clone());
        let end_what_is_over = move || {
            loop {
                thread::sleep(TICK_OF_LEASE);
                lease.halt_if_over(&halt);
            }
        };
        spawn("otg-lease", end_what_is_over)?;
        Ok(server)
    }

    fn new(options: Options) -> Self {
        let (lease, halt) = (Lease::new(options.lease), Halt::default());
        let session = Session::new(options, lease.clone(), halt.clone());
        Self { session: Arc::new(Mutex::new(session)), lease, halt, places: Places::default() }
    }

    /// Stops flows at once, then captures, and removes the files of captures. Returns whether it could: a request may have the
    /// session for longer than `FAREWELL`. What it leaves, the end of the process stops, and the next server removes.
    pub fn stop(&self) -> bool {
        self.halt.end();
        let until = Instant::now() + FAREWELL;
        loop {
            match self.session.try_lock() {
                Ok(mut session) => session.clear(),
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().clear(),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    thread::sleep(Duration::from_millis(5));
                    continue;
                }
                Err(TryLockError::WouldBlock) => return false,
            }
            return true;
        }
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        // A request that panicked was answered; the state is as far as it had come.
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a request, then has the session do it: nobody waits for a parser.
    fn answered(&self, asking: Asking) -> Response<AnswerBody> {
        let Asking { method, path, client, octets, capture_place } = asking;
        let answer = match (method.as_str(), path.as_str()) {
            ("POST", "/config") => Config::read(&octets)
                .and_then(|(config, text)| self.session().set_config(config, text, client))
                .and_then(json),
            ("PATCH", "/config") => read::<ConfigUpdate>(&octets)
                .and_then(|(update, text)| self.session().update_config(&update, &text, client))
                .and_then(json),
            ("GET", "/config") => {
                let octets = self.session().config();
                Ok(response(StatusCode::OK, "application/json", octets))
            }
            ("POST", "/control/state") => {
                read(&octets).and_then(|(state, _)| self.control(&state, client)).and_then(json)
            }
            ("POST", "/monitor/metrics") => {
                read(&octets).and_then(|(request, _)| self.session().metrics(&request)).and_then(json)
            }
            ("POST", "/monitor/capture") => self.capture(&octets, client, capture_place),
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
            _ => return nowhere(&method, &path),
        };
        answer.unwrap_or_else(|error| failure(&error))
    }

    /// Does a change of flows, captures or links.
    fn control(&self, state: &ControlState, client: IpAddr) -> Result<Warnings> {
        self.halt_if_busy(state, client);
        self.session().control(state, client)
    }

    /// Flows that their client stops end at once, also while other requests have the session or all places.
    fn halt_if_busy(&self, state: &ControlState, client: IpAddr) {
        let is_busy = || {
            self.places.requests.available_permits() == 0
                || matches!(self.session.try_lock(), Err(TryLockError::WouldBlock))
        };
        if let ControlState::Traffic(Traffic::FlowTransmit(wanted)) = state
            && wanted.state == Transmit::Stop
            && self.lease.is_of(client)
            && is_busy()
        {
            self.halt.flows(&wanted.flow_names);
        }
    }

    /// What a change of flows does before it has a place among other requests: a stop ends flows.
    async fn halt_before_place(&self, client: IpAddr, octets: &Bytes, turn: Option<&Turn>) -> Option<()> {
        let place = wait_for_place(&self.places.stops, turn).await?;
        let (server, octets) = (self.clone(), octets.clone());
        let halt = move || {
            let _place = place;
            // The answer to the request says what is wrong with it.
            if let Ok((state, _)) = read(&octets) {
                server.halt_if_busy(&state, client);
            }
        };
        // A parser delays no other connection. If it panics, it does so again for the answer.
        tokio::task::spawn_blocking(halt).await.ok().or(Some(()))
    }

    /// The session ends the capture. Its file takes time; other requests go on.
    fn capture(
        &self,
        octets: &[u8],
        client: IpAddr,
        place: Option<OwnedSemaphorePermit>,
    ) -> Result<Response<AnswerBody>> {
        let (request, text) = read(octets)?;
        let mut session = self.session();
        let asked = session.fetch(&request, text, client)?;
        let (most, folder) = (session.most_octets(), session.capture_folder().to_path_buf());
        drop(session);
        let ended = || OtgError::Conflict("the server ends".into());
        let body = download::body(asked, most, folder, place.ok_or_else(ended)?)?;
        Ok(response(StatusCode::OK, "application/octet-stream", body))
    }

    /// The body of a request. A large one has one place.
    async fn octets(
        &self,
        request: Request<Incoming>,
    ) -> std::result::Result<(Bytes, Option<OwnedSemaphorePermit>), Response<AnswerBody>> {
        let may_be_large = request.uri().path() == "/config" && request.method() == Method::POST;
        let is_large =
            may_be_large && request.body().size_hint().exact().is_none_or(|octets| octets > MOST_BODY as u64);
        let place = if is_large {
            let turn = request.extensions().get::<Turn>();
            Some(wait_for_place(&self.places.large_bodies, turn).await.ok_or_else(busy)?)
        } else {
            None
        };
        let most = if is_large { MOST_CONFIG } else { MOST_BODY };
        match body(request, most).await {
            Ok(octets) => Ok((octets, place)),
            Err(status) => {
                let why = match status {
                    StatusCode::PAYLOAD_TOO_LARGE => format!("the body is longer than {most} bytes"),
                    StatusCode::REQUEST_TIMEOUT => "the body did not come in time".into(),
                    _ => "the body did not come as a whole".into(),
                };
                Err(refusal(status, why))
            }
        }
    }
}

impl Answer for Server {
    async fn answer(&self, request: Request<Incoming>) -> Response<AnswerBody> {
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
        let turn = request.extensions().get::<Turn>().cloned();
        let (octets, large_body) = match self.octets(request).await {
            Ok(read) => read,
            Err(refusal) => return refusal,
        };
        self.lease.note_request(client);
        if path == "/control/state" && self.halt_before_place(client, &octets, turn.as_ref()).await.is_none()
        {
            return busy();
        }
        // First this one: clients that read slowly must not keep the places of others.
        let capture_place = if path == "/monitor/capture" {
            let Some(place) = wait_for_place(&self.places.captures, turn.as_ref()).await else {
                return busy();
            };
            Some(place)
        } else {
            None
        };
        let Some(place) = wait_for_place(&self.places.requests, turn.as_ref()).await else { return busy() };
        let (server, asking) = (self.clone(), Asking { method, path, client, octets, capture_place });
        // A start or a stop takes time; other clients' connections go on.
        let work = move || {
            let _places = (place, large_body);
            server.answered(asking)
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

fn nowhere(method: &Method, path: &str) -> Response<AnswerBody> {
    let Some((_, methods)) = PATHS.iter().find(|(known, _)| *known == path) else {
        return refusal(StatusCode::NOT_FOUND, format!("the model has no {path}"));
    };
    let mut answer =
        refusal(StatusCode::METHOD_NOT_ALLOWED, format!("{method} {path}: the model has here {methods}"));
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    answer
}

fn json(answer: impl Serialize) -> Result<Response<AnswerBody>> {
    let octets = serde_json::to_vec(&answer)
        .map_err(|error| OtgError::System { what: "the answer", source: std::io::Error::other(error) })?;
    Ok(response(StatusCode::OK, "application/json", octets))
}

fn failure(error: &OtgError) -> Response<AnswerBody> {
    of_failure(error.status(), error.kind(), error.to_string())
}

fn refusal(status: StatusCode, why: String) -> Response<AnswerBody> {
    of_failure(status, if status.is_server_error() { "internal" } else { "validation" }, why)
}

/// All places of requests of a kind are taken.
fn busy() -> Response<AnswerBody> {
    let why = "other requests have all places, and connections wait; repeat the request after a second";
    let mut answer = refusal(StatusCode::SERVICE_UNAVAILABLE, why.into());
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}

fn of_failure(status: StatusCode, kind: &'static str, why: String) -> Response<AnswerBody> {
    let body = Failure { code: status.as_u16(), kind, errors: vec![why] };
    // Its members are numbers and texts.
    response(status, "application/json", serde_json::to_vec(&body).unwrap_or_default())
}

fn response(status: StatusCode, kind: &'static str, body: impl Into<AnswerBody>) -> Response<AnswerBody> {
    let mut response = Response::new(body.into());
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
        let server = Server::new(options);
        let (asking, held) = (server.clone(), server.session());
        let (answers, answer) = mpsc::channel();
        let ask = move || {
            let client = Ipv4Addr::LOCALHOST.into();
            for path in ["/capabilities/version", "/config"] {
                let (method, path, octets) = (Method::GET, path.into(), Bytes::new());
                let asked = Asking { method, path, client, octets, capture_place: None };
                answers.send(asking.answered(asked).status()).unwrap();
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
