//! Which host interfaces may be used. RFC 6815 (an applicability statement to RFC 2544): benchmarks belong in isolated test
//! networks, because they use a link's full capacity.

use std::net::IpAddr;

use crate::links::{Link, Links};
use crate::{HostError, Result};

/// The interface `name`, if test traffic may be sent on it.
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
