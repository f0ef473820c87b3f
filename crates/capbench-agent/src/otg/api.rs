//! The requests of the Open Traffic Generator API that a generator is driven by.

use std::time::Duration;

use capbench_http::{Client, HttpConfig, HttpError, Reply};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::message::{Kind, Refusal};
use crate::{AgentError, Result};

/// Name of the port in the configuration, and of the flow.
const PORT: &str = "tx";
const FLOW: &str = "capbench";

/// A server of the API, with one of its ports.
#[derive(Debug)]
pub(super) struct Api {
    client: Client,
    url: String,
    /// Where the port is, in the server's words.
    port: String,
    /// Both, as the user named them.
    location: String,
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

/// The model's error.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failure {
    errors: Vec<String>,
}

/// A number of 64 bits, which some servers write as text (ProtoJSON).
fn number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<u64>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    })
}

impl Api {
    pub(super) fn new(
        url: &str,
        port: &str,
        location: String,
        config: &HttpConfig,
        patience: Duration,
    ) -> Result<Self> {
        let client = Client::new(config, patience).map_err(|error| refused(&location, &error))?;
        Ok(Self { client, url: url.trim_end_matches('/').into(), port: port.into(), location })
    }

    /// Who serves.
    pub(super) fn version(&self) -> Result<Version> {
        let reply = self.client.get(&format!("{}/capabilities/version", self.url));
        self.read("/capabilities/version", reply)
    }

    /// Sets a configuration with this flow, or with the port alone. Returns the server's warnings.
    pub(super) fn configure(&self, flow: Option<Value>) -> Result<Vec<String>> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Warnings {
            warnings: Vec<String>,
        }
        let flows = flow.into_iter().map(|mut flow| {
            flow["name"] = FLOW.into();
            flow["tx_rx"] = json!({ "choice": "port", "port": { "tx_name": PORT } });
            flow
        });
        let config = json!({
            "ports": [{ "name": PORT, "location": self.port }],
            "flows": flows.collect::<Vec<_>>(),
        });
        Ok(self.post::<Warnings>("/config", &config)?.warnings)
    }

    /// Gives the port back.
    pub(super) fn clear(&self) -> Result<()> {
        self.post::<Value>("/config", &json!({})).map(drop)
    }

    /// `start` or `stop`: lets the flow be sent.
    pub(super) fn transmit(&self, state: &str) -> Result<()> {
        let request = json!({
            "choice": "traffic",
            "traffic": { "choice": "flow_transmit", "flow_transmit": { "state": state } },
        });
        self.post::<Value>("/control/state", &request).map(drop)
    }

    /// What the port sent since the last start, and whether it still sends.
    pub(super) fn metric(&self) -> Result<PortMetric> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Metrics {
            port_metrics: Vec<PortMetric>,
        }
        let request = json!({ "choice": "port", "port": { "port_names": [PORT] } });
        let metrics: Metrics = self.post("/monitor/metrics", &request)?;
        metrics.port_metrics.into_iter().next().ok_or_else(|| AgentError::Protocol {
            location: self.location.clone(),
            call: "/monitor/metrics",
            reason: "it has no row of the port".into(),
        })
    }

    fn post<A: for<'de> Deserialize<'de> + Default>(&self, path: &'static str, request: &Value) -> Result<A> {
        let reply = self.client.post(&format!("{}{path}", self.url), request.to_string().as_bytes());
        self.read(path, reply)
    }

    fn read<A: for<'de> Deserialize<'de> + Default>(
        &self,
        call: &'static str,
        reply: std::result::Result<Reply, HttpError>,
    ) -> Result<A> {
        let location = || self.location.clone();
        let Reply { status, body } = reply.map_err(|error| AgentError::Lost {
            location: location(),
            reason: error.to_string(),
            exit_code: None,
        })?;
        if !(200..300).contains(&status) {
            let text = serde_json::from_slice::<Failure>(&body)
                .map_or(String::new(), |failure| failure.errors.join("; "));
            let kind = if matches!(status, 401 | 403) { Kind::Privilege } else { Kind::Failed };
            let why =
                if text.is_empty() { format!("status {status}") } else { format!("status {status}: {text}") };
            return Err(AgentError::Refused {
                location: location(),
                refusal: Refusal::new(kind, format!("{call} is refused with {why}")),
            });
        }
        if body.is_empty() {
            return Ok(A::default());
        }
        serde_json::from_slice(&body).map_err(|error| AgentError::Protocol {
            location: location(),
            call,
            reason: error.to_string(),
        })
    }
}

/// The error of a configuration that cannot be used.
pub(super) fn refused(location: &impl std::fmt::Display, error: &HttpError) -> AgentError {
    AgentError::Refused {
        location: location.to_string(),
        refusal: Refusal::new(Kind::Usage, error.to_string()),
    }
}
