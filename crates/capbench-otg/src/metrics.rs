//! Metrics of ports and flows. What is unknown, or not exact, is left out.

use capbench_frames::units::WIRE_OVERHEAD_OCTETS;

use crate::capturing::Recording;
use crate::error::{OtgError, Result};
use crate::model;
use crate::model::answers::{
    FlowMetric, Latency, MetricsResponse, PortMetric, Tag, TagValue, TaggedMetric, Timestamps,
};
use crate::model::requests::{FlowMetricsRequest, MetricsRequest, PortMetricsRequest, TaggedMetrics};
use crate::rates::Counts;
use crate::receiving::Tally;
use crate::session::{ConfiguredPort, Flow, FlowState, Session};

/// What a flow has received.
#[derive(Clone, Copy, Debug, Default)]
struct Received {
    tally: Tally,
    /// Whether every receiver is known to have counted all that came.
    is_exact: bool,
}

impl Session {
    /// Notes the counts of ports and flows for rates. Call it in equal intervals.
    pub fn note_rates(&mut self) {
        let of_port = |port: &ConfiguredPort| {
            let counters = port.port.counters().ok().and_then(|(counters, _)| counters);
            counters.map_or([0; 4], |c| [c.tx_packets, c.tx_bytes, c.rx_packets, c.rx_bytes])
        };
        let ports: Vec<_> = self.ports.iter().map(of_port).collect();
        let flows: Vec<_> = self.flows.iter().map(|flow| self.counts(flow)).collect();
        self.ports.iter_mut().zip(ports).for_each(|(port, counts)| port.rates.note(counts));
        self.flows.iter_mut().zip(flows).for_each(|(flow, counts)| flow.rates.note(counts));
    }

    fn counts(&self, flow: &Flow) -> Counts {
        let sent = flow.run.as_ref().map(|run| run.counts()).unwrap_or_default();
        let received = self.received(flow).tally;
        [sent.sent, sent.octets, received.frames, received.octets]
    }

    /// `POST /monitor/metrics`.
    pub fn metrics(&self, octets: &[u8]) -> Result<MetricsResponse> {
        let (request, _) = model::read(octets)?;
        match request {
            MetricsRequest::Port(request) => self.port_metrics(&request),
            MetricsRequest::Flow(request) => self.flow_metrics(&request),
        }
    }

    fn port_metrics(&self, request: &PortMetricsRequest) -> Result<MetricsResponse> {
        check(&request.column_names, PortMetric::COLUMNS, "port.column_names")?;
        let named = self.named(&request.port_names, "port.port_names")?;
        let all = (0..self.ports.len()).collect();
        let rows = if named.is_empty() { all } else { named };
        let rows = rows.into_iter().map(|at| Ok(self.port_row(at)?.only(&request.column_names)));
        Ok(MetricsResponse::PortMetrics { port_metrics: rows.collect::<Result<_>>()? })
    }

    fn port_row(&self, at: usize) -> Result<PortMetric> {
        let ConfiguredPort { port, recording, rates, .. } = &self.ports[at];
        let counters =
            port.counters().map_err(|source| OtgError::Host { path: format!("ports[{at}]"), source })?;
        let (counters, has_carrier) = counters;
        let sends =
            |flow: &&Flow| flow.transmitter == at && flow.run.as_ref().is_some_and(|run| !run.is_over());
        let rate = |at: usize| rates.per_s().map(|rates| rates[at]);
        Ok(PortMetric {
            name: port.name.clone(),
            transmit: Some(if self.flows.iter().any(|flow| sends(&flow)) { "started" } else { "stopped" }),
            location: Some(port.side.name().into()),
            link: Some(if has_carrier { "up" } else { "down" }),
            capture: Some(if recording.as_ref().is_some_and(Recording::is_running) {
                "started"
            } else {
                "stopped"
            }),
            frames_tx: counters.map(|counters| counters.tx_packets),
            frames_rx: counters.map(|counters| counters.rx_packets),
            bytes_tx: counters.map(|counters| counters.tx_bytes),
            bytes_rx: counters.map(|counters| counters.rx_bytes),
            frames_tx_rate: rate(0),
            bytes_tx_rate: rate(1),
            frames_rx_rate: rate(2),
            bytes_rx_rate: rate(3),
            // Thousands of octets per second.
            speed: port.line.map(|bits| (bits / 8e3) as u64),
        })
    }

    fn flow_metrics(&self, request: &FlowMetricsRequest) -> Result<MetricsResponse> {
        check(&request.metric_names, FlowMetric::COLUMNS, "flow.metric_names")?;
        let named = self.flows_named(&request.flow_names, "flow.flow_names")?;
        if let Some(at) = named.iter().find(|at| !self.flows[**at].config.metrics.enable) {
            let name = &self.flows[*at].config.name;
            let why = format!("\"{name}\" has no metrics; set flows[{at}].metrics.enable");
            return Err(OtgError::invalid("flow.flow_names", why));
        }
        let all = (0..self.flows.len()).filter(|at| self.flows[*at].config.metrics.enable).collect();
        let rows = if named.is_empty() { all } else { named };
        let row = |at: usize| self.flow_row(&self.flows[at], &request.tagged_metrics);
        let rows = rows.into_iter().map(|at| row(at).only(&request.metric_names));
        Ok(MetricsResponse::FlowMetrics { flow_metrics: rows.collect() })
    }

    /// What a flow has received, at all of its ports together.
    fn received(&self, flow: &Flow) -> Received {
        let Some(run) = &flow.run else { return Received { tally: Tally::default(), is_exact: true } };
        let number = self.number(flow);
        let receivers = flow.receivers.iter().filter_map(|at| self.ports[*at].receiver.as_ref());
        receivers.fold(Received { tally: Tally::default(), is_exact: true }, |all, receiver| Received {
            tally: all.tally.plus(&receiver.tally(number, run.trial()).0),
            is_exact: all.is_exact && receiver.flaw().is_none(),
        })
    }

    fn flow_row(&self, flow: &Flow, tags: &TaggedMetrics) -> FlowMetric {
        let metrics = &flow.config.metrics;
        let state = self.state(flow);
        let sent = flow.run.as_ref().map(|run| run.counts()).unwrap_or_default();
        let received = Some(self.received(flow)).filter(|all| all.is_exact && !flow.receivers.is_empty());
        let tally = received.map(|received| received.tally);
        let rates = if state == FlowState::Stopped { Some([0.0; 4]) } else { flow.rates.per_s() };
        let rate = |at: usize| rates.map(|rates| rates[at]).filter(|_| at < 2 || tally.is_some());
        let bits = |octets_at: usize, per: f64| rate(octets_at).map(|octets| octets * 8.0 / per);
        let layer_1 =
            |frames_at: usize| Some((rate(frames_at + 1)? + rate(frames_at)? * WIRE_OVERHEAD_OCTETS) * 8.0);
        FlowMetric {
            name: flow.config.name.clone(),
            port_tx: self.ports[flow.transmitter].port.name.clone(),
            port_rx: match flow.receivers[..] {
                [only] => Some(self.ports[only].port.name.clone()),
                _ => None,
            },
            transmit: Some(state.name()),
            frames_tx: Some(sent.sent),
            bytes_tx: Some(sent.octets),
            frames_rx: tally.map(|tally| tally.frames),
            bytes_rx: tally.map(|tally| tally.octets),
            frames_tx_rate: rate(0),
            frames_rx_rate: rate(2),
            tx_l1_rate_bps: layer_1(0),
            rx_l1_rate_bps: layer_1(2),
            tx_rate_bytes: rate(1),
            rx_rate_bytes: rate(3),
            tx_rate_bps: bits(1, 1.0),
            rx_rate_bps: bits(3, 1.0),
            tx_rate_kbps: bits(1, 1e3),
            rx_rate_kbps: bits(3, 1e3),
            tx_rate_mbps: bits(1, 1e6),
            rx_rate_mbps: bits(3, 1e6),
            loss: tally.filter(|_| metrics.loss).map(|tally| {
                let expected = sent.sent as f64 * metrics.expected_ratio(flow.receivers.len());
                if expected > 0.0 { (100.0 * (1.0 - tally.frames as f64 / expected)).max(0.0) } else { 0.0 }
            }),
            timestamps: tally.filter(|tally| metrics.timestamps && tally.frames > 0).map(|tally| {
                Timestamps {
                    first_timestamp_ns: tally.first_ns as f64,
                    last_timestamp_ns: tally.last_ns as f64,
                }
            }),
            latency: tally.filter(|_| metrics.latency.enable).and_then(|tally| latency(flow, &tally)),
            tagged_metrics: (tags.include && metrics.predefined_metric_tags.rx_name && tally.is_some())
                .then(|| self.tagged(flow, tags)),
        }
    }

    /// What each of its ports received.
    fn tagged(&self, flow: &Flow, tags: &TaggedMetrics) -> Vec<TaggedMetric> {
        let number = self.number(flow);
        let each = flow.receivers.iter().filter_map(|at| {
            let ConfiguredPort { port, receiver, .. } = &self.ports[*at];
            let run = flow.run.as_ref()?;
            let (tally, _) = receiver.as_ref()?.tally(number, run.trial());
            let value = TagValue::Str { str: port.name.clone() };
            let tags = vec![Tag { name: "rx_name", value }];
            Some(TaggedMetric { tags, frames_rx: tally.frames, bytes_rx: tally.octets })
        });
        each.filter(|metric| tags.has_row(metric.frames_rx)).collect()
    }
}

/// Time from the planned send time of each frame to its arrival; absent if somebody has set the clock meanwhile.
fn latency(flow: &Flow, tally: &Tally) -> Option<Latency> {
    let began_ns = flow.run.as_ref()?.began_ns()?;
    let [minimum_ns, maximum_ns, average_ns] = tally.delays(began_ns)?;
    Some(Latency { minimum_ns, maximum_ns, average_ns })
}

/// Refuses names that a row does not have.
fn check(names: &[String], columns: &[&str], path: &str) -> Result<()> {
    match names.iter().find(|name| !columns.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            Err(OtgError::invalid(path, format!("capbench has no \"{name}\"; it has {}", columns.join(", "))))
        }
    }
}
