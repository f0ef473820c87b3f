//! The offered load.

use capbench_frames::rates::Pps;
use capbench_model::laboratory::Setup;
use capbench_model::trial::Load;

use super::{Request, Setting, contradiction};
use crate::Result;

impl Setting for Load {
    fn label(&self) -> String {
        self.to_string()
    }

    fn requested(request: &Request<'_>) -> Result<Vec<Self>> {
        let Some((from, to)) = request.ends else {
            let points = request.points.iter().map(|text| (request.load)("--points", text));
            let mut points: Vec<_> = points.collect::<std::result::Result<_, _>>().map_err(contradiction)?;
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
        let end = |flag, text: &str| {
            let rate = (request.load)(flag, text).map_err(contradiction)?.pps();
            rate.ok_or_else(|| contradiction(format!("{flag}: {text} is no end of a range; name a rate")))
        };
        let steps = request.spacing.steps(end("--from", from)?, end("--to", to)?, request.steps)?;
        steps.into_iter().map(|rate| Ok(Self::Rate(Pps::new(rate)?))).collect()
    }

    fn apply(&self, _: &mut Setup, load: &mut Load) {
        *load = *self;
    }

    fn coordinate(&self) -> Option<(f64, &'static str)> {
        self.pps().map(|pps| (pps, "packets/s"))
    }

    fn at(&self, pps: f64) -> Option<Self> {
        Pps::new(pps).ok().map(Self::Rate)
    }
}
