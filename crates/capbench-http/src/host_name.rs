//! Whether a Host header names the host that it reached (RFC 9110, section 7.2).

use std::net::IpAddr;
use std::sync::LazyLock;

/// Whether the value of a Host header is an address or a name of this host, with or without a port. Any other name may be one that
/// its owner has made resolve to an address of this host.
pub(crate) fn names_this_host(value: &[u8]) -> bool {
    let Ok(value) = std::str::from_utf8(value) else { return false };
    let without_port = match value.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|octet| octet.is_ascii_digit()) => name,
        _ => value,
    };
    if let Some(address) = without_port.strip_prefix('[') {
        return address
            .strip_suffix(']')
            .is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok());
    }
    let name = without_port.strip_suffix('.').unwrap_or(without_port).to_ascii_lowercase();
    name.parse::<IpAddr>().is_ok()
        || name == "localhost"
        || name.ends_with(".localhost")
        || OWN.as_ref() == Some(&name)
}

/// The name that this host has itself, as `/etc/hosts` maps it to 127.0.1.1. Read once, before the process confines itself.
pub(crate) static OWN: LazyLock<Option<String>> = LazyLock::new(|| {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_ascii_lowercase()).filter(|name| !name.is_empty())
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_own_names_are_of_this_host_and_others_are_not() {
        let own = OWN.clone().unwrap();
        for name in
            ["127.0.0.1", "127.0.0.1:8443", "[::1]:1", "localhost", "LOCALHOST:80", "a.localhost.", &own]
        {
            assert!(names_this_host(name.as_bytes()), "{name}");
        }
        for name in ["", ":80", "rebind.example:8443", "localhost.example", "127.0.0.1.example", "[::1", "x"]
        {
            assert!(!names_this_host(name.as_bytes()), "{name}");
        }
        assert!(!names_this_host(b"\xff"));
    }
}
