//! Who may ask: TLS certificates and passwords, read again when their files have changed.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest, Sha256};
use tokio_rustls::TlsAcceptor;

use crate::error::{HttpError, Result};
use crate::pem::{certificates, private_key};
use crate::web_config::{self, ClientAuth, TlsServerConfig, TlsVersion, WebConfig};

/// What decides who may ask.
#[derive(Clone, Debug)]
pub enum Protection {
    /// Plain HTTP for everybody.
    None,
    /// A web configuration file of Prometheus.
    WebConfig(PathBuf),
    /// A certificate and its key, with the authority of the clients' certificates, if they need one.
    Tls {
        /// The flag that names the files.
        flag: &'static str,
        /// The server's certificate, PEM.
        certificate: PathBuf,
        /// Its key, PEM.
        key: PathBuf,
        /// The authority that signs the clients' certificates, PEM.
        client_authority: Option<PathBuf>,
    },
}

impl Protection {
    /// By a certificate and its key, which this flag names, or by a web configuration file; without both, none.
    pub fn of_files(
        flag: &'static str,
        certificate_and_key: Option<(PathBuf, PathBuf)>,
        client_authority: Option<PathBuf>,
        web_config: Option<PathBuf>,
    ) -> Self {
        match (certificate_and_key, web_config) {
            (Some((certificate, key)), _) => Self::Tls { flag, certificate, key, client_authority },
            (None, Some(file)) => Self::WebConfig(file),
            (None, None) => Self::None,
        }
    }

    fn flag(&self) -> &'static str {
        if let Self::Tls { flag, .. } = self { flag } else { web_config::FLAG }
    }

    /// Its configuration, with the file that it is from.
    fn read(&self) -> Result<(WebConfig, Option<&Path>)> {
        match self {
            Self::None => Ok((WebConfig::default(), None)),
            Self::WebConfig(file) => Ok((WebConfig::read(file)?, Some(file))),
            Self::Tls { certificate, key, client_authority, .. } => {
                let tls = TlsServerConfig::of_files(certificate, key, client_authority.as_deref());
                Ok((WebConfig { tls_server_config: Some(tls), ..WebConfig::default() }, None))
            }
        }
    }
}

/// What a file looked like when it was read: inode, size, and time of change.
type Seen = Option<(u64, u64, i64, i64)>;

/// The rules of one state of the files.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Absent: plain HTTP.
    pub(crate) tls: Option<TlsAcceptorOf>,
    /// Absent: everybody may ask.
    pub(crate) users: Option<Users>,
    /// Whether clients need a certificate.
    verifies_clients: bool,
}

impl Rules {
    /// Whether clients must show who they are.
    pub(crate) fn names_clients(&self) -> bool {
        self.verifies_clients || self.users.is_some()
    }

    /// Whether it is open to clients to whom `before` is closed: a file that is written anew is empty for a moment.
    fn is_weaker_than(&self, before: &Self) -> bool {
        before.tls.is_some() && self.tls.is_none() || before.names_clients() && !self.names_clients()
    }
}

/// An acceptor that can be printed.
#[derive(Clone)]
pub(crate) struct TlsAcceptorOf(pub(crate) TlsAcceptor);

impl std::fmt::Debug for TlsAcceptorOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsAcceptor")
    }
}

/// The rules, and the files that they were read from.
#[derive(Debug)]
pub(crate) struct Access {
    protection: Protection,
    seen: Vec<(PathBuf, Seen)>,
    rules: Arc<Rules>,
}

impl Access {
    /// Reads the files.
    ///
    /// # Errors
    /// A file that cannot be read or is wrong.
    pub(crate) fn new(protection: Protection) -> Result<Self> {
        let (rules, seen) = read(&protection)?;
        Ok(Self { protection, seen, rules: Arc::new(rules) })
    }

    /// Whether clients must show who they are.
    pub(crate) fn names_clients(&self) -> bool {
        self.rules.names_clients()
    }

    /// Whether clients need TLS.
    pub(crate) fn has_tls(&self) -> bool {
        self.rules.tls.is_some()
    }

    /// The rules now. If a file has changed and is wrong or protects less, the rules before are kept, and the error is passed to
    /// `report` once a change.
    pub(crate) fn rules(&mut self, report: impl Fn(&HttpError)) -> Arc<Rules> {
        if self.seen.iter().any(|(path, seen)| look(path) != *seen) {
            let weaker = |(rules, seen): (Rules, _)| match &self.protection {
                Protection::WebConfig(file) if rules.is_weaker_than(&self.rules) => Err(HttpError::Config {
                    flag: web_config::FLAG,
                    path: file.clone(),
                    reason: "it protects less than before; start the server again if that is wanted".into(),
                }),
                _ => Ok((rules, seen)),
            };
            match read(&self.protection).and_then(weaker) {
                Ok((rules, seen)) => (self.rules, self.seen) = (Arc::new(rules), seen),
                Err(error) => {
                    report(&error);
                    self.seen.iter_mut().for_each(|(path, seen)| *seen = look(path));
                }
            }
        }
        Arc::clone(&self.rules)
    }

    /// The folders of all files that it reads, which a confined process must still be able to read.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        self.seen.iter().map(|(path, _)| path.parent().unwrap_or(Path::new("/")).into()).collect()
    }
}

fn look(path: &Path) -> Seen {
    let of = |found: Metadata| (found.ino(), found.size(), found.mtime(), found.mtime_nsec());
    fs::metadata(path).ok().map(of)
}

fn read(protection: &Protection) -> Result<(Rules, Vec<(PathBuf, Seen)>)> {
    // What is seen before reading: a change meanwhile is then read at the next connection.
    let before = if let Protection::WebConfig(file) = protection { look(file) } else { None };
    let (config, file) = protection.read()?;
    let mut seen: Vec<_> = file.iter().map(|file| (file.to_path_buf(), before)).collect();
    seen.extend(config.files().map(|path| (path.to_path_buf(), look(path))));
    let tls = config.tls_server_config.as_ref().map(|tls| acceptor(tls, protection.flag())).transpose()?;
    let users = (!config.basic_auth_users.is_empty()).then(|| Users {
        hashes: config.basic_auth_users.into_iter().collect(),
        known: HashSet::new().into(),
    });
    let mut tls_config = config.tls_server_config.iter();
    let verifies_clients =
        tls_config.any(|tls| tls.client_auth_type == ClientAuth::RequireAndVerifyClientCert);
    Ok((Rules { tls, users, verifies_clients }, seen))
}

fn acceptor(tls: &TlsServerConfig, flag: &'static str) -> Result<TlsAcceptorOf> {
    let wrong = |path: &Path, reason: String| HttpError::Config { flag, path: path.into(), reason };
    let key = private_key(flag, &tls.key_file)?;
    let provider = Arc::new(ring::default_provider());
    let versions: &[_] = match tls.min_version {
        TlsVersion::TLS12 => &[&TLS12, &TLS13],
        TlsVersion::TLS13 => &[&TLS13],
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(|error| wrong(&tls.cert_file, error.to_string()))?;
    let builder = match &tls.client_ca_file {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(flag, path)? {
                roots.add(certificate).map_err(|error| wrong(path, error.to_string()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            let verifier = match tls.client_auth_type {
                ClientAuth::VerifyClientCertIfGiven => verifier.allow_unauthenticated(),
                ClientAuth::NoClientCert | ClientAuth::RequireAndVerifyClientCert => verifier,
            };
            let verifier = verifier.build().map_err(|error| wrong(path, error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder
        .with_single_cert(certificates(flag, &tls.cert_file)?, key)
        .map_err(|error| wrong(&tls.cert_file, error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptorOf(TlsAcceptor::from(Arc::new(config))))
}

/// Users and their passwords.
#[derive(Debug)]
pub(crate) struct Users {
    hashes: Vec<(String, String)>,
    /// Digests of credentials that were right: bcrypt is slow on purpose, and a scraper comes every few seconds.
    known: std::sync::Mutex<HashSet<[u8; 32]>>,
}

/// The hash of no password: an unknown user takes as long as a wrong password.
const NOBODY: &str = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi";

impl Users {
    /// Whether the value of an Authorization header is that of a user (RFC 7617).
    pub(crate) fn may_ask(&self, authorization: Option<&[u8]>) -> bool {
        let Some(credentials) = authorization.and_then(credentials) else { return false };
        let digest: [u8; 32] = Sha256::digest(&credentials).into();
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if known.contains(&digest) {
            return true;
        }
        let Some((user, password)) = credentials.split_once(':') else { return false };
        let hash = self.hashes.iter().find(|(known, _)| known == user).map(|(_, hash)| hash.as_str());
        let is_right = bcrypt::verify(password, hash.unwrap_or(NOBODY)).unwrap_or(false) && hash.is_some();
        if is_right {
            known.insert(digest);
        }
        is_right
    }
}

/// User and password of a header's value.
fn credentials(value: &[u8]) -> Option<String> {
    let (scheme, code) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    let octets = BASE64_STANDARD.decode(code.trim()).ok()?;
    scheme.eq_ignore_ascii_case("basic").then(|| String::from_utf8(octets).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_users_own_password_is_right() {
        let hash = bcrypt::hash("secret", 4).unwrap();
        let users = Users { hashes: vec![("alice".into(), hash)], known: HashSet::new().into() };
        let header = |text: &str| format!("Basic {}", BASE64_STANDARD.encode(text));
        for (text, is_right) in [
            ("alice:secret", true),
            ("alice:secret", true),
            ("alice:Secret", false),
            ("bob:secret", false),
            ("alice", false),
            ("", false),
        ] {
            assert_eq!(users.may_ask(Some(header(text).as_bytes())), is_right, "{text}");
        }
        assert!(!users.may_ask(None) && !users.may_ask(Some(b"Bearer x")) && !users.may_ask(Some(b"\xff")));
    }
}
