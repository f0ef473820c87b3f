//! Certificates and keys from files (PEM).

use std::fs;
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::{HttpError, Result};

/// The octets of a file.
pub(crate) fn read(flag: &'static str, path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|source| HttpError::File { flag, path: path.into(), source })
}

/// The error of a file that is read and wrong.
pub(crate) fn wrong(flag: &'static str, path: &Path, reason: String) -> HttpError {
    HttpError::Config { flag, path: path.into(), reason }
}

/// The certificates of a file, one or more. `flag` names the file.
pub(crate) fn certificates(flag: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let octets = read(flag, path)?;
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
    PrivateKeyDer::from_pem_slice(&read(flag, path)?)
        .map_err(|error| wrong(flag, path, format!("this is no PEM file of a private key: {error}")))
}
