//! A part of a set-up as files have it: the value, or the text of another version that this one cannot read.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::method_spec::MethodSpec;
use crate::placement::PlacementName;
use crate::traffic::Traffic;
use crate::work::Work;
use capbench_frames::TransmitSpec;

/// A capture method in results.
pub type SavedMethod = Saved<MethodSpec>;
/// A placement in results.
pub type SavedPlacement = Saved<PlacementName>;
/// Work per packet in results.
pub type SavedWork = Saved<Work>;
/// A transmit method in results.
pub type SavedTransmit = Saved<TransmitSpec>;
/// Headers and sizes in results.
pub type SavedTraffic = Saved<Traffic>;

/// A value that files have as text. What is read is written alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(from = "String", into = "String")]
#[serde(bound(serialize = "T: Clone + fmt::Display", deserialize = "T: FromStr + fmt::Display"))]
#[schemars(inline, bound = "")]
pub enum Saved<T> {
    /// The value.
    Known(T),
    /// A text that is no such value: of an older or newer version, or of another program.
    Other(String),
}

/// An unknown value: empty text.
impl<T> Default for Saved<T> {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl<T> Saved<T> {
    /// The value; `None` for a text that is none.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Other(_) => None,
        }
    }
}

impl<T: FromStr + fmt::Display> From<&str> for Saved<T> {
    fn from(text: &str) -> Self {
        match text.parse::<T>() {
            Ok(value) if value.to_string() == text => Self::Known(value),
            _ => Self::Other(text.into()),
        }
    }
}

impl<T: FromStr + fmt::Display> From<String> for Saved<T> {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl<T: PartialEq> PartialEq<T> for Saved<T> {
    fn eq(&self, value: &T) -> bool {
        self.known() == Some(value)
    }
}

/// The value as it is written; `{:#}` writes equal values alike.
impl<T: fmt::Display> fmt::Display for Saved<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(value) => value.fmt(f),
            Self::Other(text) => f.pad(text),
        }
    }
}

/// In the order of their texts.
impl<T: Eq + fmt::Display> Ord for Saved<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        format!("{self:#}").cmp(&format!("{other:#}"))
    }
}

impl<T: Eq + fmt::Display> PartialOrd for Saved<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: fmt::Display> From<Saved<T>> for String {
    fn from(saved: Saved<T>) -> Self {
        saved.to_string()
    }
}

/// Tests compare with the text that a user would write.
#[cfg(any(test, feature = "testing"))]
mod with_text {
    use super::Saved;

    macro_rules! equals_text {
        ($($value:ty),*) => {$(
            impl PartialEq<&str> for Saved<$value> {
                fn eq(&self, text: &&str) -> bool {
                    let value = Self::from(*text);
                    *self == value
                }
            }
        )*};
    }
    equals_text!(
        crate::method_spec::MethodSpec,
        crate::placement::PlacementName,
        crate::work::Work,
        crate::traffic::Traffic,
        capbench_frames::TransmitSpec
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn set_ups_are_equal_if_their_values_are() {
        let method = |text: &str| SavedMethod::from(text);
        assert_eq!(method("recv+members=2+spin"), method("recv+spin+members=2"));
        assert_eq!(method("recv+members=2+fanout=hash"), method("recv+members=2"), "the usual way to share");
        assert_ne!(method("recv+members=2+fanout=lb"), method("recv+members=2"));
        assert_eq!(method("recv+spin+members=2").to_string(), "recv+spin+members=2");
        assert_eq!(method("recv+members=2+spin").cmp(&method("recv+spin+members=2")), Ordering::Equal);
        assert_eq!(SavedWork::from("ns:5000"), Work::Plan("ns:5000".parse().unwrap()));
    }

    #[test]
    fn what_this_version_writes_is_known() {
        for text in ["recv", "libpcap:/a/b.so+next", "cmd:tcpdump", "af-xdp+generic+members=4+fanout=queue"] {
            assert!(SavedMethod::from(text).known().is_some(), "{text}");
        }
        for text in ["same", "other", "custom"] {
            assert!(SavedPlacement::from(text).known().is_some(), "{text}");
        }
        for text in ["none", "ns:500+queue=2", "its own"] {
            assert!(SavedWork::from(text).known().is_some(), "{text}");
        }
        for text in ["packet-tx", "dpdk-tx:net_af_xdp+threads=2", "packet-tx+qdisc", "simulated"] {
            assert!(SavedTransmit::from(text).known().is_some(), "{text}");
        }
        for text in [
            "IPv4/UDP",
            "IPv6/TCP with a VLAN tag, 64",
            "IPv4/UDP, 64,128,1518, small sizes raised to what headers need",
            "IPv4/UDP, random:64-1518:7, small sizes raised to what headers need, in bursts of 16 frames",
            "IPv4/TCP, imix, in bursts of 2 frames",
        ] {
            assert!(SavedTraffic::from(text).known().is_some(), "{text}");
        }
    }

    fn assert_is_kept<T: FromStr + fmt::Display + Clone>(text: &str) {
        let json = serde_json::to_string(text).unwrap();
        let saved: Saved<T> = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&saved).unwrap(), json);
    }

    proptest! {
        #[test]
        fn every_text_of_a_file_is_written_as_it_was(text in "\\PC{0,40}|[a-z]{1,5}([+:][a-z]{1,4}(=[0-9]{1,2})?){0,3}") {
            assert_is_kept::<MethodSpec>(&text);
            assert_is_kept::<PlacementName>(&text);
            assert_is_kept::<Work>(&text);
            assert_is_kept::<TransmitSpec>(&text);
            assert_is_kept::<Traffic>(&text);
        }
    }
}
