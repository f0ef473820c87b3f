//! The generator, and the end of a trial that it is.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
use capbench_model::trial::Load;
use serde_json::{Value, json};

use super::api::{Api, PortMetric, Version, refused};
use super::packet;
use crate::location::Location;
use crate::message::{Hello, Kind, Port, PortState, PortStatus, Refusal};
use crate::waits::{RECONNECT, Waits};
use crate::{AgentError, Result};

/// The flag that names the HTTP configuration file.
const HTTP_CONFIG: &str = "--http-config";

/// More packets per second than any port of today sends: the smallest frames at 800 Gbit/s are 1.19 thousand million.
const MORE_THAN_ANY_PPS: u64 = 1_200_000_000;

/// How often the generator is asked whether it has sent all frames, once it should have.
const POLL: Duration = Duration::from_millis(20);

/// A port of a server of the API.
#[derive(Debug)]
pub struct OtgGenerator {
    api: Api,
    location: Location,
    hello: Hello,
    version: Version,
    waits: Waits,
    stop: Arc<AtomicBool>,
    is_lost: bool,
}

impl OtgGenerator {
    /// Takes the port, with the TLS and password of an HTTP configuration file. `stop` is set when the user wants to stop.
    ///
    /// # Errors
    /// The server cannot be reached, or does not allow the port.
    pub fn open(
        location: &Location,
        config: Option<&Path>,
        waits: Waits,
        stop: Arc<AtomicBool>,
    ) -> Result<Self> {
        let Location::Otg { url, interface } = location else {
            unreachable!("the caller opens only locations of this kind here");
        };
        let config = config.map_or(Ok(HttpConfig::default()), |path| HttpConfig::read(HTTP_CONFIG, path));
        let api = Api::new(
            url,
            interface,
            location.to_string(),
            &config.map_err(|error| refused(location, &error))?,
            waits.answer,
        )?;
        let version = api.version()?;
        api.configure(None)?;
        let PortMetric { speed, link, .. } = api.metric()?;
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
        Ok(Self { api, location: location.clone(), hello, version, waits, stop, is_lost: false })
    }

    /// Where it is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// What is known of its port, in the form in which agents introduce themselves. Nothing is known of its host.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// What it says of itself.
    pub fn describe(&self) -> String {
        let Version { api_spec_version, app_version } = &self.version;
        let known = |text: &str| if text.is_empty() { "unknown".to_string() } else { text.to_string() };
        format!("an OTG generator, version {}, API {}", known(app_version), known(api_spec_version))
    }

    /// Asks up to three times whether it is there again, if it could not be reached.
    ///
    /// # Errors
    /// It still cannot be.
    pub fn revive(&mut self) -> Result<()> {
        let mut pauses = RECONNECT.into_iter();
        while self.is_lost {
            match (self.api.version(), pauses.next()) {
                (Ok(_), _) => self.is_lost = false,
                (Err(_), Some(pause)) if !self.stop.load(Ordering::Relaxed) => std::thread::sleep(pause),
                (Err(error), _) => return Err(error),
            }
        }
        Ok(())
    }

    /// Shows the server that somebody uses the port.
    ///
    /// # Errors
    /// It cannot be reached.
    pub fn show_life(&mut self) -> Result<()> {
        self.noting(|api| api.version()).map(drop)
    }

    /// Whether its port has a speed.
    fn has_speed(&self) -> bool {
        let state = self.hello.ports.first().map(|port| &port.state);
        matches!(state, Some(PortStatus::Usable(port)) if port.bits_per_second.is_some())
    }

    /// Notes whether the server can be reached.
    fn noting<T>(&mut self, ask: impl FnOnce(&Api) -> Result<T>) -> Result<T> {
        let answer = ask(&self.api);
        self.is_lost |= answer.as_ref().is_err_and(AgentError::is_out_of_reach);
        answer
    }
}

impl Drop for OtgGenerator {
    fn drop(&mut self) {
        // Who cannot be reached keeps the port until its own lease ends.
        let _ = self.api.clear();
    }
}

/// How much longer than its trial a generator may send: the API does not say when it began.
fn slack(duration: Duration) -> Duration {
    const LEAST: Duration = Duration::from_millis(50);
    LEAST.max(duration / 100)
}

/// A generator with a prepared side.
#[derive(Debug)]
pub struct OtgSender<'g> {
    generator: &'g mut OtgGenerator,
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
    began: Option<Instant>,
    /// From the answer to the start until it was seen that nothing is sent any more.
    elapsed: Duration,
    sent: u64,
    warnings: Vec<String>,
}

impl<'g> OtgSender<'g> {
    /// Prepares the trials of a set-up.
    ///
    /// # Errors
    /// Something that the API cannot express.
    pub fn prepare(generator: &'g mut OtgGenerator, asked: PrepareSending) -> Result<Self> {
        let unsupported = |what: String, reason: &str| {
            AgentError::Lab(LabError::Unsupported {
                what: format!("{what} by {}", generator.location),
                reason: reason.into(),
            })
        };
        let plan = FramePlan::new(asked.layout, asked.sizes.clone(), asked.mtu).map_err(LabError::from)?;
        if asked.layout.flows.get() > 1 && plan.sizes().sizes().len() > 1 {
            let reason = "the order of sizes is the generator's, so the flow of a lost frame would be unknown; name one size or \
                          one flow";
            return Err(unsupported("several flows with several sizes".into(), reason));
        }
        Ok(Self { generator, asked, plan, armed: None })
    }

    /// The flow of a trial.
    fn flow(&self, arm: &Arm, intended: Option<u64>) -> Result<Value> {
        let unsupported = |what: String, reason: &str| {
            let what = format!("{what} by {}", self.generator.location);
            AgentError::Lab(LabError::Unsupported { what, reason: reason.into() })
        };
        if arm.burst.is_some() || matches!(arm.load, Load::Step(_)) {
            return Err(unsupported(
                arm.load.to_string(),
                "capbench asks an OTG generator for constant rates only",
            ));
        }
        let most = u32::MAX;
        let (duration, numbers) = match intended {
            Some(frames) => {
                let frames = u32::try_from(frames).map_err(|_| {
                    unsupported(
                        format!("{frames} frames"),
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
            // The model has whole packets per second.
            Some(pps) => json!({ "choice": "pps", "pps": (pps.round() as u64).max(1) }),
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
    fn wait(&mut self, arm: &Arm, intended: Option<u64>, began: Instant) -> Result<PortMetric> {
        let due = began + arm.duration;
        let until = due + slack(arm.duration);
        let mut stopped: Option<Instant> = None;
        loop {
            let now = Instant::now();
            if stopped.is_none() && (now >= until || self.generator.stop.load(Ordering::Relaxed)) {
                self.generator.noting(|api| api.transmit("stop"))?;
                stopped = Some(now);
            }
            if stopped.is_some() || now >= due {
                let metric = self.generator.noting(Api::metric)?;
                let sends = match &metric.transmit {
                    Some(state) => state == "started",
                    None => stopped.is_none() && metric.frames_tx < intended,
                };
                if !sends {
                    return Ok(metric);
                }
                if stopped.is_some_and(|stopped| stopped.elapsed() >= self.generator.waits.answer) {
                    let why =
                        format!("it still sends {:?} after it was stopped", self.generator.waits.answer);
                    return Err(AgentError::Refused {
                        location: self.generator.location.to_string(),
                        refusal: Refusal::new(Kind::Failed, why),
                    });
                }
            }
            std::thread::sleep(POLL);
        }
    }

    fn armed(&mut self) -> Result<&mut Armed> {
        let location = self.generator.location.to_string();
        self.armed.as_mut().ok_or(AgentError::Protocol {
            location,
            call: "a trial",
            reason: "it is not armed".into(),
        })
    }
}

impl TransmitEnd for OtgSender<'_> {
    fn arm(&mut self, arm: Arm, _: Option<SharedStart>) -> capbench_lab::Result<()> {
        let intended = arm.load.intended(arm.duration);
        let flow = self.flow(&arm, intended)?;
        self.generator.revive()?;
        let warnings = self.generator.noting(|api| api.configure(Some(flow)))?;
        self.armed = Some(Armed { arm, intended, began: None, elapsed: Duration::ZERO, sent: 0, warnings });
        Ok(())
    }

    fn go(&mut self, _: Go) -> capbench_lab::Result<()> {
        self.generator.noting(|api| api.transmit("start"))?;
        self.armed()?.began = Some(Instant::now());
        Ok(())
    }

    fn sent(&mut self) -> capbench_lab::Result<Vec<Sent>> {
        let &mut Armed { arm, intended, began, .. } = self.armed()?;
        let began = began.unwrap_or_else(Instant::now);
        let metric = self.wait(&arm, intended, began)?;
        let Some(counted) = metric.frames_tx else {
            return Err(AgentError::Protocol {
                location: self.generator.location.to_string(),
                call: "/monitor/metrics",
                reason: "frames_tx of the port is missing".into(),
            }
            .into());
        };
        let stream = self.asked.stream;
        let armed = self.armed()?;
        // A port can send other frames, too; the flow has no more than its fixed number.
        let others = intended.map_or(0, |intended| counted.saturating_sub(intended));
        if others > 0 {
            armed.warnings.push(format!("the port sent {others} frames more than the trial has"));
        }
        (armed.sent, armed.elapsed) = (counted - others, began.elapsed());
        let end_ns = arm.duration.as_nanos() as u64;
        Ok(vec![Sent { stream, frames: armed.sent, end_ns, began: None }])
    }

    fn finish(&mut self, _: FinishSending) -> capbench_lab::Result<TransmitHalf> {
        self.armed()?;
        let Some(Armed { arm, intended, elapsed, sent, warnings, .. }) = self.armed.take() else {
            unreachable!("it was armed a line before");
        };
        let intended = intended.unwrap_or(sent);
        let location = &self.generator.location;
        Ok(TransmitHalf {
            stream: self.asked.stream,
            frames: SentFrames {
                intended,
                sent,
                unsent: intended.saturating_sub(sent),
                accepted: sent,
                ..SentFrames::default()
            },
            unverified_because: Some(format!("frames_tx of {location} is the generator's own count")),
            elapsed,
            sending: elapsed.max(arm.duration),
            lateness: None,
            departed: None,
            generator: self.generator.describe(),
            outruns: true,
            needs_far_napi: false,
            cpus: Vec::new(),
            interface: InterfaceCounts::default(),
            counts_each_frame: false,
            driver_counters: std::collections::BTreeMap::new(),
            notes: warnings.into_iter().map(|warning| format!("{location}: {warning}")).collect(),
            interruption: None,
            clock: None,
        })
    }

    fn release(&mut self) {
        if self.armed.take().is_some_and(|armed| armed.began.is_some()) {
            // A server that cannot be reached stops by its own lease.
            let _ = self.generator.noting(|api| api.transmit("stop"));
        }
    }

    fn is_lost(&self) -> bool {
        self.generator.is_lost
    }
}
