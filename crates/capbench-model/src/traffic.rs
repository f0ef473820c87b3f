//! The frames of a set-up's trials, as results name them.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use capbench_frames::FramePlan;
use capbench_frames::layout::Headers;
use capbench_frames::sizes::Sizes;

/// Headers, sizes and bursts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Traffic {
    /// The headers.
    pub headers: Headers,
    /// The sizes as requested; absent on a simulated path.
    pub sizes: Option<Sizes>,
    /// Whether small sizes were raised to what the headers need.
    pub is_raised: bool,
    /// Frames that the generator sends at once; absent if they are evenly spaced.
    pub burst: Option<NonZeroU32>,
}

impl Traffic {
    /// The traffic of a plan.
    pub fn of_plan(plan: &FramePlan, burst: Option<NonZeroU32>) -> Self {
        Self {
            headers: plan.layout().headers(),
            sizes: Some(plan.asked().clone()),
            is_raised: plan.sizes().is_raised(),
            burst,
        }
    }
}

impl From<Headers> for Traffic {
    fn from(headers: Headers) -> Self {
        Self { headers, sizes: None, is_raised: false, burst: None }
    }
}

const RAISED: &str = ", small sizes raised to what headers need";
const BURSTS: &str = ", in bursts of ";
const FRAMES: &str = " frames";

impl FromStr for Traffic {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rest, burst) = match text.split_once(BURSTS) {
            Some((rest, frames)) => {
                let frames = frames.trim_end_matches(FRAMES).parse();
                (rest, Some(frames.map_err(|_| format!("\"{text}\" is no traffic"))?))
            }
            None => (text, None),
        };
        let (rest, is_raised) = match rest.strip_suffix(RAISED) {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let (headers, sizes) = match rest.split_once(", ") {
            Some((headers, sizes)) => {
                (headers, Some(sizes.parse().map_err(|_| format!("\"{text}\" is no traffic"))?))
            }
            None => (rest, None),
        };
        Ok(Self { headers: headers.parse()?, sizes, is_raised, burst })
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.headers.fmt(f)?;
        if let Some(sizes) = &self.sizes {
            write!(f, ", {sizes}")?;
        }
        f.write_str(if self.is_raised { RAISED } else { "" })?;
        self.burst.map_or(Ok(()), |frames| write!(f, "{BURSTS}{frames}{FRAMES}"))
    }
}
