//! What trials must have in common to be compared.

use std::fmt;
use std::str::FromStr;

use capbench_model::running::CaptureFacts;
use serde::{Deserialize, Serialize};

use capbench_model::saved::{SavedMethod, SavedPlacement, SavedTraffic, SavedTransmit, SavedWork};
use capbench_model::trial::{Load, LoadShape, Phase, TrialResult};
use capbench_model::work::Work;

/// A property of a set-up that may differ between the sides of a comparison if the user permits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Field {
    /// The capture method.
    Method,
    /// The CPUs of each task.
    Placement,
    /// Frame size.
    Size,
    /// Headers and flows.
    Traffic,
    /// The transmit method.
    Transmit,
    /// Work per packet.
    Work,
    /// The load.
    Load,
}

impl Field {
    /// All properties.
    pub const ALL: [Self; 7] =
        [Self::Method, Self::Placement, Self::Size, Self::Traffic, Self::Transmit, Self::Work, Self::Load];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::Placement => "placement",
            Self::Size => "size",
            Self::Traffic => "traffic",
            Self::Transmit => "transmit",
            Self::Work => "work",
            Self::Load => "load",
        }
    }
}

impl FromStr for Field {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|field| field.name() == text).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|field| field.name()).collect();
            format!("\"{text}\" is nothing that can differ; {} are", names.join(", "))
        })
    }
}

/// A set-up with its load. Absent fields may differ, or do not apply.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Setup {
    /// The capture method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<SavedMethod>,
    /// The placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<SavedPlacement>,
    /// The frame size, or the name of a mix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_size: Option<String>,
    /// Headers and flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<SavedTraffic>,
    /// The transmit method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmit: Option<SavedTransmit>,
    /// Work per packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<SavedWork>,
    /// The load in words: a rate, maximum load, the common load of a bench, a goal of a search, a point of a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// Ring, blocks and other granted capture settings; present if a run has several values in set-ups that are otherwise equal:
    /// their median would represent none of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
}

/// The load that a bench finds for all its methods. It differs between runs.
pub const COMMON_LOAD: &str = "common load";

/// The load of a trial in words, as far as the user set it.
pub fn load_words(phase: Phase, intended_pps: Option<f64>, shape: Option<&LoadShape>) -> String {
    match (phase, shape, intended_pps) {
        (Phase::CommonLoad, ..) => COMMON_LOAD.into(),
        (_, Some(shape), _) => format!("{shape:?}"),
        (_, None, Some(pps)) => format!("{pps:.0} packets/s"),
        (_, None, None) => Load::Maximum.to_string(),
    }
}

/// The load of the result of a search in words.
pub fn goal_words(goal: &str) -> String {
    format!("goal {goal}")
}

impl Setup {
    /// The set-up of a trial. `point` is its point of a sweep, if the other fields do not contain it.
    pub fn from_trial(trial: &TrialResult, point: Option<&str>) -> Self {
        let profile = &trial.profile;
        let load = load_words(trial.phase, trial.intended_pps, trial.load.as_ref());
        let load = match point {
            Some(point) => format!("{load}, {point}"),
            None => load,
        };
        Self {
            method: Some(profile.method.clone()),
            placement: Some(profile.placement.clone()),
            frame_size: Some(profile.frame_size.to_string()),
            traffic: Some(profile.traffic.clone()),
            transmit: Some(profile.transmit.clone()),
            work: Some(profile.work.clone()),
            load: Some(load),
            capture: trial.capture.as_ref().map(CaptureFacts::sizes),
        }
    }

    /// The value of a field as text.
    pub fn value(&self, field: Field) -> Option<String> {
        match field {
            Field::Method => self.method.as_ref().map(ToString::to_string),
            Field::Placement => self.placement.as_ref().map(ToString::to_string),
            Field::Size => self.frame_size.clone(),
            Field::Traffic => self.traffic.as_ref().map(ToString::to_string),
            Field::Transmit => self.transmit.as_ref().map(ToString::to_string),
            Field::Work => self.work.as_ref().map(ToString::to_string),
            Field::Load => self.load.clone(),
        }
    }

    /// Whether a field has the same value in another set-up.
    pub fn is_equal_in(&self, other: &Self, field: Field) -> bool {
        match field {
            Field::Method => self.method == other.method,
            Field::Placement => self.placement == other.placement,
            Field::Size => self.frame_size == other.frame_size,
            Field::Traffic => self.traffic == other.traffic,
            Field::Transmit => self.transmit == other.transmit,
            Field::Work => self.work == other.work,
            Field::Load => self.load == other.load,
        }
    }

    fn clear(&mut self, field: Field) {
        match field {
            Field::Method => self.method = None,
            Field::Placement => self.placement = None,
            Field::Size => self.frame_size = None,
            Field::Traffic => self.traffic = None,
            Field::Transmit => self.transmit = None,
            Field::Work => self.work = None,
            Field::Load => self.load = None,
        }
    }

    /// The same set-up without these fields, in which it may differ from others.
    pub fn across(&self, fields: &[Field]) -> Self {
        let mut without = self.clone();
        for field in fields {
            without.clear(*field);
        }
        without
    }

    /// What all these set-ups have in common.
    pub fn common(setups: &[&Self]) -> Self {
        let Some((first, others)) = setups.split_first() else { return Self::default() };
        let mut common = (*first).clone();
        for field in Field::ALL {
            if others.iter().any(|other| !other.is_equal_in(first, field)) {
                common.clear(field);
            }
        }
        if others.iter().any(|other| other.capture != first.capture) {
            common.capture = None;
        }
        common
    }

    /// The same set-up without the method: tables group methods by it.
    pub fn scene(&self) -> Self {
        Self { method: None, ..self.clone() }
    }

    /// The same set-up without the capture settings.
    pub fn without_capture(&self) -> Self {
        Self { capture: None, ..self.clone() }
    }

    /// The same set-up without method and capture settings: what methods have in common that are measured at one load, each with its
    /// own buffers.
    pub fn common_scene(&self) -> Self {
        Self { method: None, capture: None, ..self.clone() }
    }
}

/// The set-up in words, without headers and transmit method, which are the same in most runs.
impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = self.work.as_ref().filter(|work| **work != Work::NONE);
        let parts = [
            self.method.as_ref().map(ToString::to_string),
            self.frame_size.as_ref().map(|size| format!("{size} B")),
            self.placement.as_ref().map(|placement| format!("placement {placement}")),
            work.map(|work| format!("work {work}")),
            self.load.clone(),
            self.capture.clone(),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        if parts.is_empty() { f.write_str("all set-ups") } else { f.write_str(&parts.join(", ")) }
    }
}
