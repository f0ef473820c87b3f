//! What identifies a host in results: keyed hashes, so that nobody learns the identifiers of the system.

use sha2::{Digest, Sha256};

/// The identifier of this host, a hash of its machine-id(5); `None` if it has none.
pub fn host_id() -> Option<String> {
    hashed_file("/etc/machine-id")
}

/// A hash of the identifier in a file; `None` if there is none.
pub fn hashed_file(file: &str) -> Option<String> {
    let id = std::fs::read_to_string(file).ok().filter(|id| !id.trim().is_empty())?;
    Some(hashed(id.trim()))
}

/// A hash of an identifier, with the key that machine-id(5) asks programs to use.
pub fn hashed(id: &str) -> String {
    let digest = Sha256::digest(format!("capbench host {id}"));
    digest.iter().take(8).map(|octet| format!("{octet:02x}")).collect()
}
