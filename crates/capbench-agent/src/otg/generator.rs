//! The generator, and the end of a trial that it is.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use capbench_frames::SentFrames;
use capbench_frames::plan::FramePlan;
use capbench_http::HttpConfig;
use capbench_lab::LabError;
use capbench_lab::live::InterfaceCounts;
use capbench_lab::live::ends::TransmitEnd;
use capbench_lab::live::halves::TransmitHalf;
use capbench_lab::live::messages::{Arm, FinishSending, Go, PrepareSending, Sent};
use capbench_lab::receiver::SharedStart;
use capbench_model::environment::interface::{InterfaceFacts, PathInterface, Role};
use capbench_model::generator::GeneratorFacts;
use capbench_model::noise::Noise;
use capbench_model::reasons::Unverified;
use capbench_model::trial::Load;
use serde_json::{Value, json};

use super::api::{PortMetric, Version, refused};
use super::packet;
use super::server::Server;
use crate::location::Location;
use crate::message::{Hello, Kind, Port, PortState, PortStatus, Refusal};
use crate::waits::Waits;
use crate::{AgentError, Result};

/// The flag that names the HTTP configuration file.
const HTTP_CONFIG: &str = "--http-config";

/// More packets per second than any port of today sends: the smallest frames at 800 Gbit/s are 1.19 thousand million.
const MORE_THAN_ANY_PPS: u64 = 1_200_000_000;

/// By which share of the rate the API's whole packets per second may differ from it.
const LARGEST_ROUNDING: f64 = 0.01;

/// How often the generator is asked whether it has sent all frames, once it should have.
const POLL: Duration = Duration::from_millis(5);

/// How long a generator may go on sending after it was stopped.
const AFTER_STOP: Duration = Duration::from_secs(10);

/// The servers of a run. Generators on ports of one server share it.
#[derive(Debug)]
pub struct OtgServers {
    config: Option<PathBuf>,
    waits: Waits,
    stop: Arc<AtomicBool>,
    open: Vec<Arc<Server>>,
}

/// A port of a server of the API.
#[derive(Debug)]
pub struct OtgGenerator {
    server: Arc<Server>,
    /// Its number among the ports of this run there.
    port: usize,
    location: Location,
    hello: Hello,
}

impl OtgServers {
    /// With TLS and password of an HTTP configuration file. `stop` is set when the user wants to stop.
    pub fn new(config: Option<PathBuf>, waits: Waits, stop: Arc<AtomicBool>) -> Self {
        Self { config, waits, stop, open: Vec::new() }
    }

    /// Takes a port.
    ///
    /// # Errors
    /// The server cannot be reached, or does not allow the port.
    pub fn open(&mut self, location: &Location) -> Result<OtgGenerator> {
        let Location::Otg { url, interface } = location else {
            unreachable!("the caller opens only locations of this kind here");
        };
        let server = self.server(url)?;
        let port = server.add_port(interface)?;
        let PortMetric { speed, link, .. } = server.metric(port)?;
        if let Some(link) = link.filter(|link| link != "up") {
            return Err(AgentError::Lost {
                location: location.to_string(),
                reason: format!("the link of the port is not up: {link}"),
                exit_code: None,
            });
        }
        let hello = Hello {
            // It shares neither CPUs nor a clock with any agent.
            boot_id: location.to_string(),
            ports: vec![Port {
                role: Role::Transmit,
                interface: interface.clone(),
                state: PortStatus::Usable(Box::new(PortState {
                    index: 0,
                    peer: None,
                    namespace: None,
                    peer_namespace: None,
                    // The server refuses frames that are too long.
                    mtu: u32::MAX,
                    bits_per_second: speed.filter(|speed| *speed > 0).map(|speed| speed as f64 * 8e3),
                    facts: PathInterface {
                        role: Role::Transmit,
                        name: interface.clone(),
                        made_by_capbench: false,
                        placements: Vec::new(),
                        facts: InterfaceFacts::default(),
                    },
                })),
            }],
            ..Hello::default()
        };
        Ok(OtgGenerator { server, port, location: location.clone(), hello })
    }

    fn server(&mut self, url: &str) -> Result<Arc<Server>> {
        let wanted = url.trim_end_matches('/');
        if let Some(known) = self.open.iter().find(|server| server.url() == wanted) {
            return Ok(Arc::clone(known));
        }
        let config = self.config.as_deref();
        let config = config.map_or(Ok(HttpConfig::default()), |path| HttpConfig::read(HTTP_CONFIG, path));
        let config = config.map_err(|error| refused(url, &error))?;
        let server = Arc::new(Server::open(url, &config, self.waits, Arc::clone(&self.stop))?);
        self.open.push(Arc::clone(&server));
        Ok(server)
    }
}

impl OtgGenerator {
    /// Where it is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// What is known of its port, in the form in which agents introduce themselves. Nothing is known of its host.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// What it says of itself.
    pub fn facts(&self) -> GeneratorFacts {
        let Version { api_spec_version, app_version } = self.server.version();
        let known = |text: &str| Some(text.to_string()).filter(|text| !text.is_empty());
        GeneratorFacts::Otg { version: known(app_version), api: known(api_spec_version) }
    }

    /// Asks up to three times whether it is there again, if it could not be reached.
    ///
    /// # Errors
    /// It still cannot be.
    pub fn revive(&mut self) -> Result<()> {
        self.server.revive()
    }

    /// Shows the server that somebody uses the port.
    ///
    /// # Errors
    /// It cannot be reached.
    pub fn show_life(&mut self) -> Result<()> {
        self.server.show_life()
    }

    /// Whether its port has a speed.
    fn has_speed(&self) -> bool {
        let state = self.hello.ports.first().map(|port| &port.state);
        matches!(state, Some(PortStatus::Usable(port)) if port.bits_per_second.is_some())
    }

    fn unsupported(&self, what: &str, reason: &str) -> AgentError {
        let what = format!("{what} by {}", self.location);
        AgentError::Lab(LabError::Unsupported { what, reason: reason.into() })
    }

    fn failed(&self, reason: String) -> AgentError {
        let refusal = Refusal::new(Kind::Failed, reason);
        AgentError::Refused { location: self.location.to_string(), refusal }
    }
}

/// How much longer than its trial a generator may send: the API does not say when it began.
fn slack(duration: Duration) -> Duration {
    const LEAST: Duration = Duration::from_millis(50);
    LEAST.max(duration / 100)
}

/// When it is first asked, after the end of the trial: so late a server may begin without a lower rate in the results.
fn first_look(duration: Duration) -> Duration {
    const START: Duration = Duration::from_millis(10);
    START + duration / 1000
}

/// A generator with a prepared side.
#[derive(Debug)]
pub struct OtgSender<'g> {
    generator: &'g OtgGenerator,
    asked: PrepareSending,
    plan: FramePlan,
    armed: Option<Armed>,
}

/// A trial.
#[derive(Debug)]
struct Armed {
    arm: Arm,
    /// Absent at maximum load.
    intended: Option<u64>,
    /// The answer to the start, once it is awaited: when the flow began.
    start: Option<JoinHandle<Result<Instant>>>,
    /// From the answer to the start until it was seen that nothing is sent any more.
    elapsed: Duration,
    sent: u64,
    /// Frames that the port sent besides those of the trial.
    foreign: u64,
    warnings: Vec<String>,
}

impl<'g> OtgSender<'g> {
    /// Prepares the trials of a set-up.
    ///
    /// # Errors
    /// Something that the API cannot express.
    pub fn prepare(generator: &'g OtgGenerator, asked: PrepareSending) -> Result<Self> {
        let plan = FramePlan::new(asked.layout, asked.sizes.clone(), asked.mtu).map_err(LabError::from)?;
        if asked.layout.flows.get() > 1 && plan.sizes().sizes().len() > 1 {
            return Err(generator.unsupported(
                "several flows with several sizes",
                "the order of sizes is the generator's, so the flow of a lost frame would be unknown; name one size or one flow",
            ));
        }
        Ok(Self { generator, asked, plan, armed: None })
    }

    /// The flow of a trial.
    fn flow(&self, arm: &Arm, intended: Option<u64>) -> Result<Value> {
        let unsupported = |what: &str, reason| self.generator.unsupported(what, reason);
        if arm.burst.is_some() || matches!(arm.load, Load::Step(_)) {
            return Err(unsupported(
                &arm.load.to_string(),
                "capbench asks an OTG generator for constant rates only",
            ));
        }
        let most = u32::MAX;
        let (duration, numbers) = match intended {
            Some(frames) => {
                let frames = u32::try_from(frames).map_err(|_| {
                    unsupported(
                        &format!("{frames} frames"),
                        "the API counts up to 4,294,967,295 frames of a flow",
                    )
                })?;
                (json!({ "choice": "fixed_packets", "fixed_packets": { "packets": frames } }), frames)
            }
            None => {
                let seconds = arm.duration.as_secs_f64();
                (json!({ "choice": "fixed_seconds", "fixed_seconds": { "seconds": seconds } }), most)
            }
        };
        let rate = match arm.load.pps() {
            Some(pps) if (pps.round() - pps).abs() > pps * LARGEST_ROUNDING => {
                return Err(unsupported(&arm.load.to_string(), "the API has whole packets per second only"));
            }
            Some(pps) => json!({ "choice": "pps", "pps": pps.round() as u64 }),
            None if self.generator.has_speed() => json!({ "choice": "percentage", "percentage": 100 }),
            // Without a speed there is no percentage; a generator that is asked for more than it can sends what it can.
            None => json!({ "choice": "pps", "pps": MORE_THAN_ANY_PPS }),
        };
        let PrepareSending { stream, layout, ref sizes, .. } = self.asked;
        Ok(json!({
            "packet": packet::headers(&layout, arm.trial, stream, numbers.max(1)),
            "size": packet::size(sizes, self.plan.sizes()),
            "rate": rate,
            "duration": duration,
            "payload": { "choice": "fixed", "fixed": { "pattern": "00" } },
        }))
    }

    /// Waits until the generator has sent everything, without a message while it should send. One that is late by more than
    /// [`slack`] is stopped: what it has not sent then is unsent.
    fn wait(&self, arm: &Arm, intended: Option<u64>, began: Instant) -> Result<PortMetric> {
        let OtgGenerator { server, port, .. } = self.generator;
        let due = began + arm.duration;
        let until = due + slack(arm.duration);
        let (mut stopped, mut last): (Option<Instant>, _) = (None, None);
        server.pause((due + first_look(arm.duration)).saturating_duration_since(Instant::now()));
        loop {
            let metric = server.metric(*port)?;
            let sends = match (&metric.transmit, intended) {
                (Some(state), _) => state == "started",
                (None, Some(_)) if stopped.is_none() => metric.frames_tx < intended,
                // It has ended when its count stays the same.
                (None, _) => last.replace(metric.frames_tx) != Some(metric.frames_tx),
            };
            if !sends {
                return Ok(metric);
            }
            if stopped.is_some_and(|stopped| stopped.elapsed() >= AFTER_STOP) {
                return Err(self
                    .generator
                    .failed(format!("it still sends {AFTER_STOP:?} after it was stopped")));
            }
            if stopped.is_none() && (Instant::now() >= until || server.is_stopped()) {
                server.stop()?;
                stopped = Some(Instant::now());
            }
            std::thread::sleep(POLL);
        }
    }

    fn armed(&mut self) -> Result<&mut Armed> {
        let generator = self.generator;
        self.armed.as_mut().ok_or_else(|| generator.failed("no trial is armed".into()))
    }
}

impl TransmitEnd for OtgSender<'_> {
    fn arm(&mut self, arm: Arm, _: Option<SharedStart>) -> capbench_lab::Result<()> {
        let intended = arm.load.intended(arm.duration);
        let flow = self.flow(&arm, intended)?;
        self.generator.server.revive()?;
        let warnings = self.generator.server.set_flow(self.generator.port, arm.trial, flow)?;
        self.armed = Some(Armed {
            arm,
            intended,
            start: None,
            elapsed: Duration::ZERO,
            sent: 0,
            foreign: 0,
            warnings,
        });
        Ok(())
    }

    fn go(&mut self, go: Go) -> capbench_lab::Result<()> {
        let server = Arc::clone(&self.generator.server);
        // The answer is awaited later: other servers start meanwhile.
        self.armed()?.start = Some(std::thread::spawn(move || server.start(go.trial)));
        Ok(())
    }

    fn sent(&mut self) -> capbench_lab::Result<Vec<Sent>> {
        let armed = self.armed()?;
        let (arm, intended, start) = (armed.arm, armed.intended, armed.start.take());
        let start = start.ok_or_else(|| self.generator.failed("no trial has begun".into()))?;
        let began = start.join().map_err(|_| self.generator.failed("its start failed".into()))??;
        let metric = self.wait(&arm, intended, began)?;
        let elapsed = began.elapsed();
        let Some(counted) = metric.frames_tx else {
            return Err(self.generator.failed("frames_tx of the port is missing".into()).into());
        };
        // A port can send other frames, too; the flow has no more than its fixed number.
        let others = intended.map_or(0, |intended| counted.saturating_sub(intended));
        let stream = self.asked.stream;
        let armed = self.armed()?;
        armed.foreign = others;
        armed.sent = counted - others;
        // What it had sent at the first look, it had sent in time.
        let is_in_time = elapsed < arm.duration + first_look(arm.duration) + POLL;
        armed.elapsed = if is_in_time { arm.duration } else { elapsed };
        let end_ns = arm.duration.as_nanos() as u64;
        Ok(vec![Sent { stream, frames: armed.sent, end_ns, began: None, dropped: None }])
    }

    fn finish(&mut self, _: FinishSending) -> capbench_lab::Result<TransmitHalf> {
        self.armed()?;
        let Some(Armed { arm, intended, elapsed, sent, foreign, warnings, .. }) = self.armed.take() else {
            unreachable!("it was armed a line before");
        };

        let intended = intended.unwrap_or(sent);
        let location = &self.generator.location;
        let mut notes = Vec::new();
        for warning in warnings {
            notes.push(Noise::GeneratorWarning { location: location.to_string(), warning });
        }
        if foreign > 0 {
            notes.push(Noise::ForeignFramesSent { location: location.to_string(), frames: foreign });
        }
        Ok(TransmitHalf {
            stream: self.asked.stream,
            frames: SentFrames {
                intended,
                sent,
                unsent: intended.saturating_sub(sent),
                accepted: sent,
                ..SentFrames::default()
            },
            unverified_because: Some(Unverified::GeneratorCounts(location.to_string()).to_string()),
            elapsed,
            sending: elapsed.max(arm.duration),
            lateness: None,
            departed: None,
            generator: vec![self.generator.facts()],
            outruns: true,
            needs_far_napi: false,
            cpus: Vec::new(),
            interface: InterfaceCounts::default(),
            counts_each_frame: false,
            driver_counters: std::collections::BTreeMap::new(),
            notes,
            interruption: None,
            disturbers: None,
            clock: None,
        })
    }

    fn release(&mut self) {
        if self.armed.take().is_some() {
            // A server that cannot be reached stops by its own lease.
            let _ = self.generator.server.stop();
        }
    }

    fn is_lost(&self) -> bool {
        self.generator.server.is_lost()
    }
}
