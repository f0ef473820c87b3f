//! The table of capture methods.

use crate::backends::{packet_v1, packet_v2, packet_v3, recv, recvmmsg};
use crate::capture::Capture;
use crate::error::{CaptureError, Result};
use crate::options::{CaptureOptions, Interface};

/// What there is to know of a method before it runs.
#[derive(Debug)]
pub struct Method {
    /// Its name on the command line and in results.
    pub name: &'static str,
    /// One line about how it works.
    pub summary: &'static str,
    /// The privilege that it needs, as in capabilities(7).
    pub privilege: &'static str,
    /// The command line's options that it heeds.
    pub options: &'static [&'static str],
    /// Whether its options can be, before anything is opened.
    pub check: fn(&Interface, &CaptureOptions) -> Result<()>,
    /// Whether it can run here, or why not.
    pub supported: fn() -> std::result::Result<(), String>,
}

/// Work to be done with a capture whose method is known at run time only.
pub trait Visitor {
    /// What comes of it.
    type Output;

    /// Does the work; compiled once for each method.
    fn visit<C: Capture>(self, capture: C) -> Self::Output;
}

/// Makes the list of methods and the way from a name to a method out of one row each.
macro_rules! methods {
    ($($module:ident::$type:ident),+ $(,)?) => {
        /// All methods, in the order of tables.
        pub static METHODS: &[&Method] = &[$(&$module::METHOD),+];

        /// Opens the method called `name` in the calling thread's namespace and hands it to `visitor`.
        ///
        /// # Errors
        /// An unknown name, or what opening the method says.
        pub fn open_with<V: Visitor>(
            name: &str,
            interface: &Interface,
            options: &CaptureOptions,
            visitor: V,
        ) -> Result<V::Output> {
            $(if name == $module::METHOD.name {
                return Ok(visitor.visit($module::$type::open(interface, options)?));
            })+
            Err(unknown(name))
        }
    };
}

methods! {
    recv::Recv,
    recvmmsg::Recvmmsg,
    packet_v1::PacketV1,
    packet_v2::PacketV2,
    packet_v3::PacketV3,
}

/// The method called `name`.
///
/// # Errors
/// [`CaptureError::UnknownMethod`] with the names that there are.
pub fn find(name: &str) -> Result<&'static Method> {
    METHODS.iter().copied().find(|method| method.name == name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> CaptureError {
    let known: Vec<_> = METHODS.iter().map(|method| method.name).collect();
    CaptureError::UnknownMethod { name: name.into(), known: known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::{METHODS, find};

    #[test]
    fn names_are_unique_and_found() {
        for method in METHODS {
            assert_eq!(find(method.name).unwrap().name, method.name);
            assert_eq!(METHODS.iter().filter(|other| other.name == method.name).count(), 1);
        }
        let text = find("packet-v4").unwrap_err().to_string();
        assert!(text.contains("packet-v4") && text.contains("packet-v3"), "{text}");
    }
}
