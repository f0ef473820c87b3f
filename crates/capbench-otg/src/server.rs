//! The HTTP interface: which request is which, and its answer.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use capbench_http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use capbench_http::{
    Answer, Bytes, Full, Incoming, Method, Port, Report, Request, Response, StatusCode, body,
};
use serde::Serialize;

use crate::error::{OtgError, Result};
use crate::model::answers::{Failure, Version};
use crate::model::{COMPATIBLE, VERSION};
use crate::session::{Options, Session};

/// Octets of a request: a configuration of thousands of flows.
const MOST_BODY: usize = 16 << 20;

/// How often rates are noted and leases looked at.
const TICK: Duration = Duration::from_millis(500);

/// The server. Its clients share one configuration.
#[derive(Clone, Debug)]
pub struct Server(Arc<Mutex<Session>>);

impl Server {
    /// Serves at an open port until the process ends. [`Server::stop`] ends what runs for clients.
    ///
    /// # Errors
    /// Without TLS only this host may be served. The system starts no thread.
    pub fn start(port: Port, options: Options, report: Report) -> Result<Self> {
        let is_local = port.address().is_some_and(|address| address.ip().is_loopback());
        if !is_local && !port.has_tls() {
            return Err(OtgError::Flag(
                "--listen: without TLS only this host is served; listen on 127.0.0.1, or give --tls-cert and --tls-key, or \
                 --web-config"
                    .into(),
            ));
        }
        let server = Self(Arc::new(Mutex::new(Session::new(options))));
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
        thread::Builder::new()
            .name("otg-watch".into())
            .spawn(watch)
            .map_err(|source| OtgError::System { what: "no thread for leases", source })?;
        Ok(server)
    }

    /// Stops flows and captures, and removes the files of captures.
    pub fn stop(&self) {
        self.session().clear();
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        // A request that panicked was answered; the state is as far as it had come.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self, method: &Method, path: &str, client: IpAddr, octets: &[u8]) -> Response<Full<Bytes>> {
        let mut session = self.session();
        session.note_request(client);
        let answer = match (method.as_str(), path) {
            ("POST", "/config") => session.set_config(octets, client).and_then(json),
            ("PATCH", "/config") => session.update_config(octets, client).and_then(json),
            ("GET", "/config") => json(session.config()),
            ("POST", "/control/state") => session.control(octets, client).and_then(json),
            ("POST", "/monitor/metrics") => session.metrics(octets).and_then(json),
            ("POST", "/monitor/capture") => session
                .captured(octets, client)
                .map(|octets| response(StatusCode::OK, "application/octet-stream", octets)),
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
        let octets = match body(request, MOST_BODY).await {
            Ok(octets) => octets,
            Err(status) => return refusal(status, "the body is too long, or did not come in time".into()),
        };
        let server = self.clone();
        // A start or a stop takes time; other clients' connections go on.
        let work = move || server.answered(&method, &path, client, &octets);
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
