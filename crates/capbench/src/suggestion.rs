//! What the user may have meant by a name that does not exist.

use capbench_capture::{CaptureError, METHODS};
use capbench_host::HostError;
use capbench_host::links::Links;
use capbench_lab::LabError;
use capbench_lab::programs::Programs;

/// Least likeness, from 0 to 1, at which a name is suggested (Jaro).
const ALIKE: f64 = 0.75;

/// The candidate that is most like a name; `None` if none is like it.
pub fn nearest<'c>(asked: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let rated = candidates.map(|candidate| (strsim::jaro(asked, candidate), candidate));
    let best =
        rated.filter(|(likeness, _)| *likeness >= ALIKE).max_by(|one, other| one.0.total_cmp(&other.0));
    best.map(|(_, candidate)| candidate)
}

/// The method, program or interface that the user may have meant, if an unknown one is the error.
pub fn for_error(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        let capture = cause.downcast_ref().or_else(|| match cause.downcast_ref() {
            Some(LabError::Capture(error)) => Some(error),
            _ => None,
        });
        if let Some(CaptureError::UnknownMethod { name, .. }) = capture {
            return nearest(name, METHODS.iter().map(|method| method.name)).map(String::from);
        }
        if let Some(LabError::UnknownProgram { name, .. }) = cause.downcast_ref() {
            let programs = Programs::default();
            let found = nearest(name, programs.rows().iter().map(|program| program.name.as_str()));
            return found.map(|name| format!("cmd:{name}"));
        }
        let host = cause.downcast_ref().or_else(|| match cause.downcast_ref() {
            Some(LabError::Host(error)) => Some(error),
            _ => None,
        });
        let Some(HostError::NoInterface { interface }) = host else { return None };
        let links = Links::of_current_namespace().and_then(|links| links.all()).ok()?;
        nearest(interface, links.iter().map(|link| link.name.as_str())).map(String::from)
    })
}

#[cfg(test)]
mod tests {
    use super::{for_error, nearest};
    use capbench_host::HostError;
    use capbench_lab::programs::Programs;

    #[test]
    fn the_name_most_alike_is_suggested_and_nothing_where_none_is_alike() {
        let names = ["bench", "search", "eth0", "eth1"];
        let found = |asked| nearest(asked, names.into_iter());
        assert_eq!([found("bnech"), found("ehh1"), found("wlan")], [Some("bench"), Some("eth1"), None]);
    }

    #[test]
    fn methods_programs_and_interfaces_are_suggested() {
        let programs = Programs::default();
        let of_method = |text: &str| {
            for_error(&capbench_lab::subject::find(&text.parse().unwrap(), &programs).unwrap_err().into())
        };
        assert_eq!(of_method("paket-v3").as_deref(), Some("packet-v3"));
        assert_eq!(of_method("cmd:tcpdmp").as_deref(), Some("cmd:tcpdump"));
        assert_eq!(of_method("qqq"), None);
        let no_interface = HostError::NoInterface { interface: "lo0".into() };
        assert_eq!(for_error(&no_interface.into()).as_deref(), Some("lo"));
    }
}
