//! Certificates and keys from files (PEM).

use std::io;
use std::path::Path;

use capbench_sys::host::Trust;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::{HttpError, Result};

/// Most octets of a file of a configuration.
pub(crate) const MOST_OCTETS: u64 = 1 << 20;

/// The error of a file that cannot be read, or that others control.
pub(crate) fn unreadable(flag: &'static str, path: &Path) -> impl FnOnce(io::Error) -> HttpError {
    move |source| HttpError::File { flag, path: path.into(), source }
}

/// The octets of a file with a secret.
pub(crate) fn read_secret(flag: &'static str, path: &Path) -> Result<Vec<u8>> {
    Trust::read_secret(path, MOST_OCTETS).map_err(unreadable(flag, path))
}

/// The error of a file that is read and wrong.
pub(crate) fn wrong(flag: &'static str, path: &Path, reason: String) -> HttpError {
    HttpError::Config { flag, path: path.into(), reason }
}

/// The certificates of a file, one or more. `flag` names the file.
pub(crate) fn certificates(flag: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let octets = Trust::for_settings().read(path, MOST_OCTETS).map_err(unreadable(flag, path))?;
    let all: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&octets).collect();
    let all =
        all.map_err(|error| wrong(flag, path, format!("this is no PEM file of certificates: {error}")))?;
    if all.is_empty() {
        return Err(wrong(flag, path, "it has no certificate (PEM)".into()));
    }
    Ok(all)
}

/// The private key of a file. `flag` names the file.
pub(crate) fn private_key(flag: &'static str, path: &Path) -> Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_slice(&read_secret(flag, path)?)
        .map_err(|error| wrong(flag, path, format!("this is no PEM file of a private key: {error}")))
}
