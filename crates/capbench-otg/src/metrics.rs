//! Metrics of ports and flows. What is unknown, or not exact, is left out.

use capbench_frames::units::WIRE_OVERHEAD_OCTETS;
use capbench_http::StatusCode;

use crate::error::{OtgError, Result};
use crate::messages::InterfaceCounts;
use crate::model::answers::{
    FlowMetric, Latency, MetricsResponse, PortMetric, Tag, TagValue, TaggedMetric, Timestamps,
};
use crate::model::requests::{FlowMetricsRequest, MetricsRequest, PortMetricsRequest, TaggedMetrics};
use crate::session::{ConfiguredPort, Flow, FlowState, Session};
use crate::tally::Tally;

impl Session {
    /// Notes the counts of ports and flows for rates. Call it in equal intervals.
    pub fn note_rates(&mut self) {
        self.read();
        for port in &mut self.ports {
            if let Some(Ok(InterfaceCounts { counts: Some(counts), .. })) = port.reading.interface {
                port.rates.note(counts);
            }
        }
        let of_flow = |flow: &Flow| {
            let (sent, received) = (self.sent(flow), self.tally(flow));
            let [frames, octets] = sent.map_or([0; 2], |sent| [sent.frames, sent.octets]);
            [frames, octets, received.frames, received.octets]
        };
        let flows: Vec<_> = self.flows.iter().map(of_flow).collect();
        self.flows.iter_mut().zip(flows).for_each(|(flow, counts)| flow.rates.note(counts));
    }

    /// `POST /monitor/metrics`.
    pub fn metrics(&mut self, request: &MetricsRequest) -> Result<MetricsResponse> {
        self.read();
        match request {
            MetricsRequest::Port(request) => self.port_metrics(request),
            MetricsRequest::Flow(request) => self.flow_metrics(request),
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

    /// A row without what is unknown of a lost port.
    fn port_row(&self, at: usize) -> Result<PortMetric> {
        let port = &self.ports[at];
        let ConfiguredPort { name, location, reading, rates, opened, .. } = port;
        let interface = reading.interface.clone().transpose().map_err(|reason| OtgError::Refused {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            reason: format!("ports[{at}]: {reason}"),
        })?;
        let state = |is_started: bool| if is_started { "started" } else { "stopped" };
        let sends = self.flows.iter().any(|flow| flow.transmitter == at && self.is_sent(flow));
        let count = |at: usize| interface?.counts.map(|counts| counts[at]);
        let rate = |at: usize| rates.per_s().map(|rates| rates[at]).filter(|_| interface.is_some());
        Ok(PortMetric {
            name: name.clone(),
            location: Some(location.clone()),
            transmit: Some(state(sends)),
            link: interface.map(|interface| if interface.has_link { "up" } else { "down" }),
            capture: (!port.is_lost()).then(|| state(reading.is_capturing)),
            frames_tx: count(0),
            bytes_tx: count(1),
            frames_rx: count(2),
            bytes_rx: count(3),
            frames_tx_rate: rate(0),
            bytes_tx_rate: rate(1),
            frames_rx_rate: rate(2),
            bytes_rx_rate: rate(3),
            // Thousands of octets per second.
            speed: opened.line.map(|bits| (bits / 8e3) as u64),
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

    /// What is known to have arrived of a flow, at all of its ports together.
    fn tally(&self, flow: &Flow) -> Tally {
        let tallies = flow.receivers.iter().filter_map(|at| Some(self.received(flow, *at)?.tally));
        tallies.fold(Tally::default(), |all, tally| all.plus(&tally))
    }

    /// The clock that stamps the frames of a flow at all of its ports; `None`: unknown, or several.
    fn clock(&self, flow: &Flow) -> Option<&String> {
        let mut clocks = flow.receivers.iter().map(|at| self.ports[*at].opened.clock.as_ref());
        let clock = clocks.next()??;
        clocks.all(|other| other == Some(clock)).then_some(clock)
    }

    fn flow_row(&self, flow: &Flow, tags: &TaggedMetrics) -> FlowMetric {
        let metrics = &flow.config.metrics;
        let state = self.state(flow);
        let (transmitter, run) = (&self.ports[flow.transmitter], self.sent(flow));
        // Of a lost port, only some of the frames are known.
        let is_known = !(transmitter.is_lost() && flow.has_run());
        let sent = is_known.then(|| run.map_or([0; 2], |run| [run.frames, run.octets]));
        let is_exact = flow.receivers.iter().all(|at| self.ports[*at].reading.flaw.is_none());
        let tally = (is_exact && !flow.receivers.is_empty()).then(|| self.tally(flow));
        let rates = if state == FlowState::Stopped { Some([0.0; 4]) } else { flow.rates.per_s() };
        let rate = |at: usize| rates.map(|rates| rates[at]).filter(|_| at < 2 || tally.is_some());
        let bits = |octets_at: usize, per: f64| rate(octets_at).map(|octets| octets * 8.0 / per);
        let layer_1 =
            |frames_at: usize| Some((rate(frames_at + 1)? + rate(frames_at)? * WIRE_OVERHEAD_OCTETS) * 8.0);
        FlowMetric {
            name: flow.config.name.clone(),
            port_tx: transmitter.name.clone(),
            port_rx: match flow.receivers[..] {
                [only] => Some(self.ports[only].name.clone()),
                _ => None,
            },
            transmit: Some(state.name()),
            frames_tx: sent.map(|[frames, _]| frames),
            bytes_tx: sent.map(|[_, octets]| octets),
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
            // Frames that are under way are not lost.
            loss: tally.zip(sent).filter(|_| metrics.loss && state == FlowState::Stopped).map(
                |(tally, [frames, _])| {
                    let expected = frames as f64 * metrics.expected_ratio(flow.receivers.len());
                    if expected > 0.0 {
                        (100.0 * (1.0 - tally.frames as f64 / expected)).max(0.0)
                    } else {
                        0.0
                    }
                },
            ),
            timestamps: tally
                .filter(|tally| metrics.timestamps && tally.frames > 0)
                .filter(|_| self.clock(flow).is_some())
                .map(|tally| Timestamps {
                    first_timestamp_ns: tally.first_ns as f64,
                    last_timestamp_ns: tally.last_ns as f64,
                }),
            latency: tally.filter(|_| metrics.latency.enable).and_then(|tally| self.latency(flow, &tally)),
            tagged_metrics: (tags.include && metrics.predefined_metric_tags.rx_name && tally.is_some())
                .then(|| self.tagged(flow, tags)),
        }
    }

    /// Time from the planned send time of each frame to its arrival. Absent if the two are not known to be times of one clock, or
    /// somebody has set it meanwhile.
    fn latency(&self, flow: &Flow, tally: &Tally) -> Option<Latency> {
        let clock = self.ports[flow.transmitter].opened.clock.as_ref()?;
        let began_ns = self.sent(flow)?.began_ns.filter(|_| self.clock(flow) == Some(clock))?;
        let [minimum_ns, maximum_ns, average_ns] = tally.delays(began_ns)?;
        Some(Latency { minimum_ns, maximum_ns, average_ns })
    }

    /// What each of its ports received.
    fn tagged(&self, flow: &Flow, tags: &TaggedMetrics) -> Vec<TaggedMetric> {
        let each = flow.receivers.iter().filter(|_| flow.has_run()).map(|at| {
            let tally = self.received(flow, *at).map(|received| received.tally).unwrap_or_default();
            let value = TagValue::Str { str: self.ports[*at].name.clone() };
            let tags = vec![Tag { name: "rx_name", value }];
            TaggedMetric { tags, frames_rx: tally.frames, bytes_rx: tally.octets }
        });
        each.filter(|metric| tags.has_row(metric.frames_rx)).collect()
    }
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
