//! The requests of the Open Traffic Generator API that a generator is driven by.

use std::time::Duration;

use capbench_http::{Client, HttpConfig, HttpError, Reply};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::error::RefusedPath;
use crate::message::{Kind, Refusal, read};
use crate::{AgentError, Result};

/// A server of the API.
#[derive(Debug)]
pub(super) struct Api {
    client: Client,
    url: String,
}

/// Who serves; empty members are those that it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Version {
    /// The versions of the model that it understands.
    pub(super) api_spec_version: String,
    /// Its own version.
    pub(super) app_version: String,
}

/// What the server says of the port. Absent members are unknown.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct PortMetric {
    /// Frames that it sent since the last start.
    #[serde(deserialize_with = "number")]
    pub(super) frames_tx: Option<u64>,
    /// `started` or `stopped`.
    pub(super) transmit: Option<String>,
    /// `up`, `down`, or a text.
    pub(super) link: Option<String>,
    /// Thousands of octets per second.
    #[serde(deserialize_with = "number")]
    pub(super) speed: Option<u64>,
}

/// What the server says of a configuration.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Warnings {
    warnings: Vec<String>,
}

/// What the server says of ports.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Metrics {
    port_metrics: Vec<PortMetric>,
}

/// The model's error.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failure {
    errors: Vec<String>,
}

/// A number of 64 bits, which some servers write as text (ProtoJSON).
fn number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stated {
        Number(u64),
        Text(String),
        Other(IgnoredAny),
    }
    Ok(match Stated::deserialize(deserializer)? {
        Stated::Number(number) => Some(number),
        Stated::Text(text) => text.parse().ok(),
        Stated::Other(IgnoredAny) => None,
    })
}

/// Name of a port in the configuration.
fn port_name(number: usize) -> String {
    format!("p{number}")
}

impl Api {
    pub(super) fn new(url: &str, config: &HttpConfig, patience: Duration) -> Result<Self> {
        let url = url.trim_end_matches('/').to_string();
        let client = Client::new(config, patience).map_err(|error| refused(&url, &error))?;
        Ok(Self { client, url })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Who serves.
    pub(super) fn version(&self) -> Result<Version> {
        let reply = self.client.get(&format!("{}/capabilities/version", self.url));
        self.read("/capabilities/version", reply)
    }

    /// Sets a configuration with these ports, each with its flow if it has one. Returns the server's warnings.
    pub(super) fn configure(&self, ports: &[(String, Option<Value>)]) -> Result<Vec<String>> {
        let flow = |(number, (_, flow)): (usize, &(String, Option<Value>))| {
            let mut flow = flow.clone()?;
            flow["name"] = format!("capbench{number}").into();
            flow["tx_rx"] = json!({ "choice": "port", "port": { "tx_name": port_name(number) } });
            Some(flow)
        };
        let port = |(number, (location, _)): (usize, &(String, _))| json!({ "name": port_name(number), "location": location });
        let config = json!({
            "ports": ports.iter().enumerate().map(port).collect::<Vec<_>>(),
            "flows": ports.iter().enumerate().filter_map(flow).collect::<Vec<_>>(),
        });
        Ok(self.post::<Warnings>("/config", &config)?.warnings)
    }

    /// Gives the ports back.
    pub(super) fn clear(&self) -> Result<()> {
        self.post::<IgnoredAny>("/config", &json!({})).map(drop)
    }

    /// `start` or `stop`: of all flows.
    pub(super) fn transmit(&self, state: &str) -> Result<()> {
        let request = json!({
            "choice": "traffic",
            "traffic": { "choice": "flow_transmit", "flow_transmit": { "state": state } },
        });
        self.post::<IgnoredAny>("/control/state", &request).map(drop)
    }

    /// What a port sent since the last start, and whether it still sends.
    pub(super) fn metric(&self, port: usize) -> Result<PortMetric> {
        let request = json!({ "choice": "port", "port": { "port_names": [port_name(port)] } });
        let metrics: Metrics = self.post("/monitor/metrics", &request)?;
        let first = metrics.port_metrics.into_iter().next();
        first.ok_or_else(|| self.failed("its answer to /monitor/metrics has no row of the port".into()))
    }

    /// The error of a server that does not answer.
    pub(super) fn lost(&self, reason: String) -> AgentError {
        AgentError::Lost { location: format!("otg:{}", self.url), reason, exit_code: None }
    }

    /// The error of an answer that cannot be used.
    pub(super) fn failed(&self, reason: String) -> AgentError {
        AgentError::Refused {
            location: format!("otg:{}", self.url),
            refusal: Refusal::new(Kind::Failed, reason),
        }
    }

    fn post<A: for<'de> Deserialize<'de> + Default>(&self, path: &'static str, request: &Value) -> Result<A> {
        let reply = self.client.post(&format!("{}{path}", self.url), request.to_string().as_bytes());
        self.read(path, reply)
    }

    fn read<A: for<'de> Deserialize<'de> + Default>(
        &self,
        path: &'static str,
        reply: std::result::Result<Reply, HttpError>,
    ) -> Result<A> {
        let Reply { status, body } = reply.map_err(|error| self.lost(error.to_string()))?;
        if !(200..300).contains(&status) {
            let errors = read::<Failure>(&body).unwrap_or_default().errors;
            let why = RefusedPath { path, status, errors: errors.join("; ") }.to_string();
            let mut refusal = Refusal::new(Kind::Failed, why.trim_end_matches([':', ' ']));
            if matches!(status, 401 | 403) {
                refusal.kind = Kind::Privilege;
            }
            return Err(AgentError::Refused { location: format!("otg:{}", self.url), refusal });
        }
        if body.is_empty() {
            return Ok(A::default());
        }
        read(&body)
            .map_err(|error| self.failed(format!("its answer to {path} is not one of the OTG API: {error}")))
    }
}

/// Reads an answer as each of these.
#[cfg(any(test, fuzzing))]
pub(crate) fn read_any(octets: &[u8]) {
    let _ = read::<Version>(octets);
    let _ = read::<Warnings>(octets);
    let _ = read::<Metrics>(octets);
    let _ = read::<Failure>(octets);
    let _ = read::<IgnoredAny>(octets);
}

/// The error of a configuration that cannot be used.
pub(super) fn refused(url: &str, error: &HttpError) -> AgentError {
    AgentError::Refused {
        location: format!("otg:{url}"),
        refusal: Refusal::new(Kind::Usage, error.to_string()),
    }
}
