//! A load that a user requires of a method.

use std::str::FromStr;

use capbench_frames::Pps;

use crate::error::ParseError;
use crate::method_spec::MethodSpec;

/// A load that a method must sustain.
#[derive(Clone, Debug)]
pub struct Requirement<R = Pps> {
    /// The method.
    pub method: MethodSpec,
    /// The load.
    pub rate: R,
}

impl<R: FromStr> FromStr for Requirement<R> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A method's argument can contain colons; a rate contains none.
        let refuse = || ParseError::Requirement(text.into()).to_string();
        let (method, rate) = text.rsplit_once(':').ok_or_else(refuse)?;
        Ok(Self { method: method.parse()?, rate: rate.parse().map_err(|_| refuse())? })
    }
}
