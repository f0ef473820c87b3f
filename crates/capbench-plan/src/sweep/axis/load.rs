//! The offered load.

use capbench_frames::rates::Pps;
use capbench_judge::sweep::PointUnit;
use capbench_model::laboratory::Setup;
use capbench_model::trial::Load;

use super::{Request, Setting, contradiction};
use crate::Result;

/// An end of a range, frames per second.
fn end_pps(request: &Request<'_>, flag: &str, text: &str) -> Result<f64> {
    let load = (request.read_load)(flag, text).map_err(contradiction)?;
    load.pps().ok_or_else(|| contradiction(format!("{flag}: {text} is no end of a range; name a rate")))
}

impl Setting for Load {
    fn label(&self) -> String {
        self.to_string()
    }

    fn requested(request: &Request<'_>) -> Result<Vec<Self>> {
        let Some((from, to)) = request.ends else {
            let mut points = Vec::new();
            for text in request.points {
                points.push((request.read_load)("--points", text).map_err(contradiction)?);
            }
            points.extend(request.loads);
            if points.is_empty() {
                return Err(contradiction(
                    "a sweep of load needs loads: --rate 100k,200k,400k or --from 100k --to 1M",
                ));
            }
            return Ok(points);
        };
        if !request.loads.is_empty() {
            return Err(contradiction(
                "--rate: the loads are those from --from to --to; give one of the two",
            ));
        }
        let from_pps = end_pps(request, "--from", from)?;
        let to_pps = end_pps(request, "--to", to)?;
        let mut loads = Vec::new();
        for pps in request.spacing.steps(from_pps, to_pps, request.steps)? {
            loads.push(Self::Rate(Pps::new(pps)?));
        }
        Ok(loads)
    }

    fn apply(&self, _: &mut Setup, load: &mut Load) {
        *load = *self;
    }

    fn coordinate(&self) -> Option<(f64, PointUnit)> {
        self.pps().map(|pps| (pps, PointUnit::PacketsPerSecond))
    }

    fn at(&self, pps: f64) -> Option<Self> {
        Pps::new(pps).ok().map(Self::Rate)
    }
}
