//! Work of the application per packet; the queue in front of it does not change.

use capbench_judge::sweep::PointUnit;
use capbench_model::laboratory::Setup;
use capbench_model::trial::Load;
use capbench_model::work::WorkModel;

use super::{Axis, Point, Request, Setting, Spacing, contradiction};
use crate::Result;

impl Axis {
    /// Work from `from` to `to` at this number of points, in the unit of the two. Fails for models of different kinds or
    /// without a number, for ends out of order, and for fewer than 2 points.
    pub fn work(from: WorkModel, to: WorkModel, points: usize, spacing: Spacing) -> Result<Self> {
        Self::new(range(from, to, points, spacing)?.into_iter().map(Point::Work).collect())
    }
}

fn range(from: WorkModel, to: WorkModel, points: usize, spacing: Spacing) -> Result<Vec<WorkModel>> {
    let mut range = Vec::new();
    match (from, to) {
        (WorkModel::Loop(from), WorkModel::Loop(to)) => {
            for iterations in spacing.steps(from.into(), to.into(), points)? {
                range.push(WorkModel::Loop(iterations as u32));
            }
        }
        (WorkModel::Nanoseconds(from), WorkModel::Nanoseconds(to)) => {
            for ns in spacing.steps(from.into(), to.into(), points)? {
                range.push(WorkModel::Nanoseconds(ns as u32));
            }
        }
        _ => {
            return Err(contradiction(format!(
                "there are no steps from work {from} to work {to}; give loop:N and loop:M, or ns:N and ns:M"
            )));
        }
    }
    Ok(range)
}

impl Setting for WorkModel {
    fn label(&self) -> String {
        format!("work {self}")
    }

    fn requested(request: &Request<'_>) -> Result<Vec<Self>> {
        if request.base.work.model != Self::None {
            return Err(contradiction(
                "--work: work is what is varied; name it by --points or --from and --to",
            ));
        }
        if let Some((from, to)) = request.ends {
            let from = from.parse().map_err(contradiction)?;
            let to = to.parse().map_err(contradiction)?;
            return range(from, to, request.steps, request.spacing);
        }
        if !request.points.is_empty() {
            return request.listed(str::parse);
        }
        range(Self::Nanoseconds(0), Self::Nanoseconds(10_000), request.steps, request.spacing)
    }

    fn apply(&self, setup: &mut Setup, _: &mut Load) {
        setup.work.model = *self;
    }

    fn coordinate(&self) -> Option<(f64, PointUnit)> {
        match *self {
            Self::Nanoseconds(ns) => Some((ns.into(), PointUnit::Nanoseconds)),
            Self::Loop(iterations) => Some((iterations.into(), PointUnit::Iterations)),
            _ => None,
        }
    }

    fn at(&self, number: f64) -> Option<Self> {
        match self {
            Self::Nanoseconds(_) => Some(Self::Nanoseconds(number as u32)),
            Self::Loop(_) => Some(Self::Loop(number as u32)),
            _ => None,
        }
    }
}
