//! The exit code of each error.

use std::io;

use capbench_agent::AgentError;
use capbench_agent::message::Kind;
use capbench_capture::CaptureError;
use capbench_dataset::DatasetError;
use capbench_frames::FrameError;
use capbench_host::HostError;
use capbench_judge::JudgeError;
use capbench_lab::LabError;
use capbench_model::TrialError;
use capbench_plan::PlanError;
use capbench_record::RecordError;
use capbench_traffic::TrafficError;
use capbench_tune::TuneError;

use super::{DISK_FULL, FAILED, Failure, PRIVILEGE, UNSUPPORTED, USAGE, Unsupported, Usage};

pub(super) fn of_error(error: &anyhow::Error) -> u8 {
    let of = |cause: &(dyn std::error::Error + 'static)| {
        let is_of_flags =
            matches!(cause.downcast_ref(), Some(DatasetError::Comparison(_) | DatasetError::Label(..)));
        let fixed = [
            (
                cause.is::<Usage>() || cause.is::<FrameError>() || cause.is::<JudgeError>() || is_of_flags,
                USAGE,
            ),
            (cause.is::<Unsupported>(), UNSUPPORTED),
        ];
        let fixed = fixed.into_iter().find_map(|(is_so, code)| is_so.then_some(code));
        fixed
            .or_else(|| cause.downcast_ref::<Failure>().map(|failure| failure.code))
            .or_else(|| cause.downcast_ref().map(of_plan))
            .or_else(|| cause.downcast_ref().map(of_trial))
            .or_else(|| cause.downcast_ref().map(of_lab))
            .or_else(|| cause.downcast_ref().map(of_agent))
            .or_else(|| cause.downcast_ref().map(of_host))
            .or_else(|| cause.downcast_ref().map(of_record))
            .or_else(|| cause.downcast_ref().map(of_capture))
            .or_else(|| cause.downcast_ref().map(of_traffic))
            .or_else(|| cause.downcast_ref().map(of_tune))
    };
    error.chain().find_map(of).unwrap_or(FAILED)
}

fn of_plan(error: &PlanError) -> u8 {
    match error {
        PlanError::Trial(error) => of_trial(error),
        PlanError::Definition { .. }
        | PlanError::Goal { .. }
        | PlanError::Search { .. }
        | PlanError::TooShort { .. }
        | PlanError::Sweep { .. } => USAGE,
        PlanError::Observer(_) | PlanError::File { .. } => FAILED,
    }
}

/// The exit code of a trial that failed.
pub fn of_trial(error: &TrialError) -> u8 {
    match error {
        TrialError::Unsupported { .. } => UNSUPPORTED,
        TrialError::Frame(_) => USAGE,
        TrialError::Laboratory(_) => LabError::inside(error).map_or(FAILED, of_lab),
    }
}

fn of_lab(error: &LabError) -> u8 {
    match error {
        LabError::Host(error) => of_host(error),
        LabError::Unsupported { .. } => UNSUPPORTED,
        LabError::UnknownProgram { .. } | LabError::Definition { .. } | LabError::Frame(_) => USAGE,
        LabError::Capture(error) => of_capture(error),
        LabError::Traffic(error) => of_traffic(error),
        LabError::Remote(error) => error.downcast_ref().map_or(FAILED, of_agent),
        _ => FAILED,
    }
}

fn of_agent(error: &AgentError) -> u8 {
    match error {
        AgentError::Refused { refusal, .. } => match refusal.kind {
            Kind::Failed => FAILED,
            Kind::Usage => USAGE,
            Kind::Unsupported => UNSUPPORTED,
            Kind::Privilege => PRIVILEGE,
        },
        AgentError::Protocol { .. } => UNSUPPORTED,
        AgentError::Lab(error) => of_lab(error),
        // An agent that could not begin has said why by its own exit code.
        AgentError::Lost { exit_code: Some(code @ FAILED..=DISK_FULL), .. } => *code,
        AgentError::Start { .. } | AgentError::Lost { .. } | AgentError::Link { .. } => FAILED,
    }
}

/// The kind of an agent's error, from which the controller's exit code follows.
pub fn kind_of(error: &LabError) -> Kind {
    match of_lab(error) {
        USAGE => Kind::Usage,
        UNSUPPORTED => Kind::Unsupported,
        PRIVILEGE => Kind::Privilege,
        _ => Kind::Failed,
    }
}

fn of_host(error: &HostError) -> u8 {
    match error {
        HostError::Privilege { .. } => PRIVILEGE,
        HostError::Unsupported { .. } | HostError::LinkType { .. } => UNSUPPORTED,
        HostError::Cpu { .. } | HostError::InUse { .. } | HostError::NoInterface { .. } => USAGE,
        _ => FAILED,
    }
}

fn of_capture(error: &CaptureError) -> u8 {
    match error {
        CaptureError::Privilege { .. } => PRIVILEGE,
        CaptureError::UnknownMethod { .. }
        | CaptureError::RingTooLarge { .. }
        | CaptureError::Spec { .. }
        | CaptureError::Filter { .. }
        | CaptureError::Option { .. } => USAGE,
        CaptureError::Unsupported { .. } | CaptureError::Library { .. } => UNSUPPORTED,
        CaptureError::Call { .. } | CaptureError::Removed { .. } | CaptureError::Batches { .. } => FAILED,
    }
}

fn of_record(error: &RecordError) -> u8 {
    match error {
        RecordError::Capture(error) => of_capture(error),
        RecordError::Option { .. } | RecordError::WriteBuffer { .. } | RecordError::FileOption { .. } => {
            USAGE
        }
        // `ENOSPC` and `EDQUOT`.
        RecordError::Output { source, .. }
            if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) =>
        {
            DISK_FULL
        }
        RecordError::WorkerPool { .. } | RecordError::Worker { .. } | RecordError::Output { .. } => FAILED,
    }
}

fn of_traffic(error: &TrafficError) -> u8 {
    match error {
        TrafficError::Privilege { .. } => PRIVILEGE,
        TrafficError::Unsupported { .. } => UNSUPPORTED,
        TrafficError::Sys(_) | TrafficError::Refused { .. } | TrafficError::TooLong { .. } => FAILED,
        _ => USAGE,
    }
}

fn of_tune(error: &TuneError) -> u8 {
    match error {
        TuneError::Host(error) => of_host(error),
        TuneError::InUse { .. } | TuneError::Name { .. } => USAGE,
        TuneError::State { .. }
        | TuneError::Unfinished { .. }
        | TuneError::OtherInterface { .. }
        | TuneError::Gone { .. } => FAILED,
    }
}
