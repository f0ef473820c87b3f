//! Who may ask: TLS certificates and passwords, read again when their files have changed.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, Metadata};
use std::hash::BuildHasher;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
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
    /// Which certificates clients need.
    client_auth: ClientAuth,
    /// The oldest allowed version of TLS.
    min_version: TlsVersion,
}

impl Rules {
    /// Whether clients must show who they are.
    pub(crate) fn names_clients(&self) -> bool {
        self.client_auth == ClientAuth::RequireAndVerifyClientCert || self.users.is_some()
    }

    /// Whether everybody may ask, without TLS.
    pub(crate) fn is_open(&self) -> bool {
        self.tls.is_none() && self.users.is_none()
    }

    /// Which protection it has no more; `None`: it has each that `before` has. A file that is written anew is empty for a moment.
    fn weakness(&self, before: &Self) -> Option<&'static str> {
        let lost = [
            (before.tls.is_some() && self.tls.is_none(), "it has no TLS any more"),
            (self.client_auth < before.client_auth, "clients would no longer need their certificates"),
            (self.min_version < before.min_version, "it allows an older version of TLS"),
            (before.users.is_some() && self.users.is_none(), "it asks for no password any more"),
        ];
        lost.into_iter().find_map(|(is_lost, words)| is_lost.then_some(words))
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
            let weaker = |(rules, seen): (Rules, _)| match (&self.protection, rules.weakness(&self.rules)) {
                (Protection::WebConfig(file), Some(weakness)) => Err(HttpError::Config {
                    flag: web_config::FLAG,
                    path: file.clone(),
                    reason: format!("{weakness}; start the server again if that is wanted"),
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
        let named = self.seen.iter().map(|(path, _)| path.clone());
        // A certificate is often a link to the newest one.
        let targets = self.seen.iter().filter_map(|(path, _)| fs::canonicalize(path).ok());
        named.chain(targets).map(|path| path.parent().unwrap_or(Path::new("/")).into()).collect()
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
    let users = (!config.basic_auth_users.is_empty()).then(|| Users::new(config.basic_auth_users));
    let (client_auth, min_version) =
        config.tls_server_config.map(|tls| (tls.client_auth_type, tls.min_version)).unwrap_or_default();
    Ok((Rules { tls, users, client_auth, min_version }, seen))
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
    known: Mutex<HashSet<[u8; 32]>>,
    /// Chooses the hash for a name that is no user's.
    stand_ins: RandomState,
}

/// Passwords that are checked at the same time. Others wait for their turn.
static CHECKS: Semaphore = Semaphore::const_new(1);

impl Users {
    /// At least one, with the hashes of their passwords.
    fn new(hashes: BTreeMap<String, String>) -> Self {
        Self { hashes: hashes.into_iter().collect(), known: Mutex::default(), stand_ins: RandomState::new() }
    }

    /// Whether the value of an Authorization header is that of a user (RFC 7617). A password that is not known yet is checked in a
    /// thread of its own: other connections go on.
    pub(crate) async fn may_ask(&self, authorization: Option<&[u8]>) -> bool {
        let Some(credentials) = authorization.and_then(credentials) else { return false };
        let digest: [u8; 32] = Sha256::digest(&credentials).into();
        if self.known().contains(&digest) {
            return true;
        }
        let Some((user, password)) = credentials.split_once(':') else { return false };
        let (hash, is_user) = self.hash_for(user);
        let (hash, password) = (hash.to_owned(), password.to_owned());
        let Ok(turn) = CHECKS.acquire().await else { return false };
        // Another connection may have had the same password meanwhile.
        if self.known().contains(&digest) {
            return true;
        }
        let check = move || {
            let _turn = turn;
            bcrypt::verify(password, &hash).unwrap_or(false)
        };
        let is_right = tokio::task::spawn_blocking(check).await.unwrap_or(false) && is_user;
        if is_right {
            self.known().insert(digest);
        }
        is_right
    }

    /// The hash of a user, and otherwise that of one of the users: a name that is no user's takes as long as one that is.
    fn hash_for(&self, name: &str) -> (&str, bool) {
        if let Some((_, hash)) = self.hashes.iter().find(|(known, _)| known == name) {
            return (hash, true);
        }
        let at = self.stand_ins.hash_one(name) % self.hashes.len() as u64;
        (&self.hashes[at as usize].1, false)
    }

    fn known(&self) -> MutexGuard<'_, HashSet<[u8; 32]>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn users(cost: u32) -> Users {
        let hash = |password| bcrypt::hash(password, cost).unwrap();
        Users::new([("alice".into(), hash("secret")), ("carol".into(), hash("other"))].into())
    }

    #[test]
    fn only_a_users_own_password_is_right() {
        let users = users(4);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let may_ask = |value: Option<&[u8]>| runtime.block_on(users.may_ask(value));
        let header = |text: &str| format!("Basic {}", BASE64_STANDARD.encode(text));
        for (text, is_right) in [
            ("alice:secret", true),
            ("alice:secret", true),
            ("alice:Secret", false),
            ("bob:secret", false),
            ("bob:other", false),
            ("carol:other", true),
            ("alice", false),
            ("", false),
        ] {
            assert_eq!(may_ask(Some(header(text).as_bytes())), is_right, "{text}");
        }
        assert!(!may_ask(None) && !may_ask(Some(b"Bearer x")) && !may_ask(Some(b"\xff")));
    }

    /// The cost of a hash is the time of its check.
    #[test]
    fn an_unknown_name_costs_what_a_user_costs() {
        let users = users(5);
        for name in ["bob", "dave", "", "alice "] {
            let (hash, is_user) = users.hash_for(name);
            assert!(!is_user && hash.starts_with("$2b$05$"), "{name}: {hash}");
        }
    }

    #[test]
    fn each_protection_is_compared() {
        let all = "tls_server_config: {cert_file: server.crt, key_file: server.key, client_ca_file: ca.crt, client_auth_type: \
                   RequireAndVerifyClientCert, min_version: TLS13}\nbasic_auth_users: {alice: HASH}\n";
        let rules = |text: &str| {
            let hash = "$2b$04$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi";
            let config = WebConfig::parse(&text.replace("HASH", hash), Path::new("/")).unwrap();
            let users = (!config.basic_auth_users.is_empty()).then(|| Users::new(config.basic_auth_users));
            let tls = config.tls_server_config.unwrap();
            Rules { tls: None, users, client_auth: tls.client_auth_type, min_version: tls.min_version }
        };
        let before = rules(all);
        let weakness = |from: &str, to: &str| rules(&all.replace(from, to)).weakness(&before);
        assert_eq!(weakness("", ""), None);
        assert_eq!(weakness("alice", "bob"), None);
        for (from, to, words) in [
            ("RequireAndVerifyClientCert", "VerifyClientCertIfGiven", "certificates"),
            ("client_ca_file: ca.crt, client_auth_type: RequireAndVerifyClientCert, ", "", "certificates"),
            (", min_version: TLS13", "", "older version of TLS"),
            ("basic_auth_users: {alice: HASH}", "", "password"),
        ] {
            assert!(weakness(from, to).unwrap().contains(words), "{from}");
            assert_eq!(before.weakness(&rules(&all.replace(from, to))), None);
        }
    }
}
