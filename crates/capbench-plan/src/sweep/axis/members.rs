//! The number of members that share a method's frames. How they share them is a setting of the method.

use std::num::NonZeroU16;

use capbench_judge::sweep::PointUnit;
use capbench_model::laboratory::Setup;
use capbench_model::members;
use capbench_model::method_spec::MethodSpec;
use capbench_model::trial::Load;

use super::{Request, Setting, Spacing, contradiction};
use crate::Result;

/// A number of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberCount(pub NonZeroU16);

impl MemberCount {
    fn read(text: &str) -> std::result::Result<Self, String> {
        members::members(text).map(Self)
    }

    /// Reads an end of a range.
    fn end(flag: &str, text: &str) -> Result<Self> {
        Self::read(text).map_err(|why| contradiction(format!("{flag}: {why}")))
    }

    /// The numbers from one to another; if they are more than `most`, so many of them with this spacing.
    fn range(from: Self, to: Self, most: usize, spacing: Spacing) -> Result<Vec<Self>> {
        let from = f64::from(from.0.get());
        let to = f64::from(to.0.get());
        let all = (to - from).max(0.0) as usize + 1;
        let steps = if all <= most {
            Spacing::Linear.steps(from, to, all)?
        } else {
            spacing.steps(from, to, most)?
        };
        Ok(steps.into_iter().filter_map(|count| NonZeroU16::new(count as u16)).map(Self).collect())
    }
}

impl Setting for MemberCount {
    fn label(&self) -> String {
        match self.0.get() {
            1 => "1 member".into(),
            several => format!("{several} members"),
        }
    }

    fn requested(request: &Request<'_>) -> Result<Vec<Self>> {
        if let Some((from, to)) = request.ends {
            let from = Self::end("--from", from)?;
            let to = Self::end("--to", to)?;
            return Self::range(from, to, request.steps, request.spacing);
        }
        if !request.points.is_empty() {
            return request.listed(Self::read);
        }
        let cpus = u16::try_from(request.cpus.unwrap_or(0)).unwrap_or(u16::MAX);
        match NonZeroU16::new(cpus).filter(|cpus| cpus.get() > 1) {
            Some(cpus) => Self::range(Self(NonZeroU16::MIN), Self(cpus), request.steps, Spacing::Geometric),
            None if cpus == 1 => Err(contradiction(
                "this process may use one CPU, so members would share it; allow more (taskset), or name --points 1,2,4",
            )),
            None => Err(contradiction(
                "the CPUs of another host are not known here; name --points, for example 1,2,4,8",
            )),
        }
    }

    fn apply(&self, setup: &mut Setup, _: &mut Load) {
        setup.method = setup.method.with_members(Some(self.0));
    }

    fn of_series(method: &MethodSpec) -> MethodSpec {
        method.with_members(None)
    }

    fn coordinate(&self) -> Option<(f64, PointUnit)> {
        Some((self.0.get().into(), PointUnit::Members))
    }

    fn at(&self, count: f64) -> Option<Self> {
        NonZeroU16::new(count as u16).map(Self)
    }
}
