//! Which host interfaces may be used. RFC 6815 (an applicability statement to RFC 2544): benchmarks belong in isolated test
//! networks, because they use a link's full capacity.

use std::net::IpAddr;

use capbench_sys::host::interface::LinkLayer;

use crate::links::{Link, Links};
use crate::{HostError, Result};

/// The interface `name`, if test traffic may be sent on it. Says nothing about the type of its link.
pub(super) fn check(links: &Links, name: &str, isolated: bool) -> Result<Link> {
    let link = present_and_up(links, name)?;
    if !link.carrier {
        return Err(refused(name, "has no carrier; plug in the cable or set the other end up"));
    }
    if !isolated {
        unused(links, &link)?;
    }
    Ok(link)
}

/// Checks that no other traffic uses an interface.
pub(super) fn unused(links: &Links, link: &Link) -> Result<()> {
    // Every interface gets a link-local IPv6 address when it is set up, so that shows no use.
    let addresses: Vec<String> = links
        .addresses(link.index)?
        .iter()
        .filter(|address| !matches!(address, IpAddr::V6(address) if address.is_unicast_link_local()))
        .map(ToString::to_string)
        .collect();
    let default = links.default_routes()?.contains(&link.index);
    match objection(&addresses, default) {
        Some(why) => Err(HostError::InUse { interface: link.name.clone(), why }),
        None => Ok(()),
    }
}

/// What the packets of an interface begin with: the one place that decides which links capbench works with.
pub(super) fn layer(interface: &str, hardware_type: u16) -> Result<LinkLayer> {
    LinkLayer::of_hardware_type(hardware_type).ok_or_else(|| {
        let reason = format!(
            "has packets of another kind (ARPHRD {hardware_type}); capbench captures and sends Ethernet frames, and the IP packets of \
             tun, PPP, WireGuard and IP tunnels"
        );
        HostError::LinkType { interface: interface.into(), reason }
    })
}

/// Checks that an interface has Ethernet frames.
pub(super) fn ethernet(link: &Link) -> Result<()> {
    match layer(&link.name, link.hardware_type)? {
        LinkLayer::Ethernet => Ok(()),
        LinkLayer::Ip => {
            let reason = format!(
                "has IP packets without an Ethernet header (ARPHRD {}), and this command sends or expects Ethernet frames; name an \
                 Ethernet interface. On this one record, count, why and `send --replay` of a file with link type RAW work",
                link.hardware_type
            );
            Err(HostError::LinkType { interface: link.name.clone(), reason })
        }
    }
}

/// The interface `name`, if it can receive anything.
pub(super) fn present_and_up(links: &Links, name: &str) -> Result<Link> {
    let link = links.by_name(name)?;
    if link.up {
        Ok(link)
    } else {
        Err(refused(name, &format!("is down; `ip link set {name} up` sets it up")))
    }
}

/// The reason not to use an interface.
fn objection(addresses: &[String], default_route: bool) -> Option<String> {
    match (default_route, addresses) {
        (true, _) => Some("carries a default route".into()),
        (false, [only]) => Some(format!("has the address {only}")),
        (false, [first, rest @ ..]) => Some(format!("has the address {first} and {} more", rest.len())),
        (false, []) => None,
    }
}

fn refused(interface: &str, reason: &str) -> HostError {
    HostError::Interface { interface: interface.into(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_without_ethernet_are_distinguished_from_unknown_links() {
        assert_eq!(layer("eth0", 1).unwrap(), LinkLayer::Ethernet);
        assert_eq!(layer("tun0", 65_534).unwrap(), LinkLayer::Ip);
        let error = layer("can0", 280).unwrap_err().to_string();
        assert!(error.starts_with("interface can0: has packets of another kind (ARPHRD 280)"), "{error}");
    }

    #[test]
    fn a_default_route_or_an_address_is_an_objection() {
        let address = |last: u8| format!("10.0.0.{last}");
        assert_eq!(objection(&[], false), None);
        assert_eq!(objection(&[], true).unwrap(), "carries a default route");
        assert_eq!(objection(&[address(1)], true).unwrap(), "carries a default route");
        assert_eq!(objection(&[address(1)], false).unwrap(), "has the address 10.0.0.1");
        assert_eq!(
            objection(&[address(1), address(2)], false).unwrap(),
            "has the address 10.0.0.1 and 1 more"
        );
    }
}
