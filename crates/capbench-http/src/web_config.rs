//! Prometheus' web configuration file: TLS and passwords of the server, in the format of the exporter-toolkit.
//!
//! A key that this server does not support is refused with its name: a setting that has no effect would be a hole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use capbench_sys::host::Trust;
use serde::Deserialize;

use crate::error::{HttpError, Result};
use crate::pem::{MOST_OCTETS, unreadable};

/// The file's content. Paths are relative to the folder of the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebConfig {
    /// Without it the server speaks plain HTTP.
    #[serde(default)]
    pub tls_server_config: Option<TlsServerConfig>,
    /// Users with the bcrypt hash of their password. Without any, everybody may ask.
    #[serde(default)]
    pub basic_auth_users: BTreeMap<String, String>,
}

/// TLS of the server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TlsServerConfig {
    pub cert_file: PathBuf,
    pub key_file: PathBuf,
    #[serde(default)]
    pub client_auth_type: ClientAuth,
    #[serde(default)]
    pub client_ca_file: Option<PathBuf>,
    #[serde(default)]
    pub min_version: TlsVersion,
}

impl TlsServerConfig {
    /// TLS with these files. Clients need a certificate if there is an authority of theirs.
    pub(crate) fn of_files(certificate: &Path, key: &Path, client_authority: Option<&Path>) -> Self {
        Self {
            cert_file: certificate.into(),
            key_file: key.into(),
            client_auth_type: match client_authority {
                Some(_) => ClientAuth::RequireAndVerifyClientCert,
                None => ClientAuth::NoClientCert,
            },
            client_ca_file: client_authority.map(Path::to_path_buf),
            min_version: TlsVersion::default(),
        }
    }
}

/// Which certificates clients must have, the weakest first. Go's two kinds that ask for a certificate and do not verify it are not supported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Deserialize)]
pub(crate) enum ClientAuth {
    #[default]
    NoClientCert,
    VerifyClientCertIfGiven,
    RequireAndVerifyClientCert,
}

/// The oldest allowed version of TLS. rustls has no older one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Deserialize)]
pub(crate) enum TlsVersion {
    #[default]
    TLS12,
    TLS13,
}

/// The flag that names the file.
pub(crate) const FLAG: &str = "--web-config";

/// Highest cost of a password's hash: each step doubles the time, and 14 is about a second.
const MOST_COST: u32 = 14;

impl WebConfig {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = Trust::for_settings().read_text(path, MOST_OCTETS).map_err(unreadable(FLAG, path))?;
        Self::parse(&text, path.parent().unwrap_or(Path::new(""))).map_err(|reason| HttpError::Config {
            flag: FLAG,
            path: path.into(),
            reason,
        })
    }

    pub(crate) fn parse(text: &str, folder: &Path) -> std::result::Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut config: Self =
            serde_saphyr::from_str(text).map_err(|error| first_line(&error.to_string()))?;
        for (user, hash) in &config.basic_auth_users {
            let cost = cost(hash).ok_or_else(|| {
                format!("basic_auth_users: {user}: this is no bcrypt hash; `htpasswd -nBC 10 \"\"` makes one")
            })?;
            if cost > MOST_COST {
                return Err(format!(
                    "basic_auth_users: {user}: cost {cost} of the hash is above {MOST_COST}"
                ));
            }
        }
        if let Some(tls) = &mut config.tls_server_config {
            let is_verified = tls.client_auth_type != ClientAuth::NoClientCert;
            match (is_verified, &tls.client_ca_file) {
                (true, None) => return Err("client_auth_type: clients are verified by client_ca_file, which is missing".into()),
                (false, Some(_)) => return Err("client_ca_file: it has no effect with client_auth_type: NoClientCert; write RequireAndVerifyClientCert".into()),
                _ => {}
            }
            for path in [&mut tls.cert_file, &mut tls.key_file].into_iter().chain(&mut tls.client_ca_file) {
                *path = folder.join(&*path);
            }
        }
        Ok(config)
    }

    /// The files that it names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let tls = self.tls_server_config.iter();
        tls.flat_map(|tls| [&tls.cert_file, &tls.key_file].into_iter().chain(&tls.client_ca_file))
            .map(PathBuf::as_path)
    }
}

/// The cost of a bcrypt hash; `None` if it is none.
fn cost(hash: &str) -> Option<u32> {
    let mut parts = hash.strip_prefix('$')?.split('$');
    let is_bcrypt = matches!(parts.next()?, "2a" | "2b" | "2y");
    let cost = parts.next()?.parse().ok()?;
    (is_bcrypt && parts.next()?.len() == 53 && parts.next().is_none()).then_some(cost)
}

/// YAML's errors show the file around the mistake in further lines.
pub(crate) fn first_line(text: &str) -> String {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> std::result::Result<WebConfig, String> {
        WebConfig::parse(text, Path::new("/etc/capbench"))
    }

    const HASH: &str = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi";

    #[test]
    fn the_toolkits_example_is_read() {
        let text = "tls_server_config:\n  cert_file: server.crt\n  key_file: /keys/server.key\n  client_auth_type: \
                    RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n  min_version: TLS13\nbasic_auth_users:\n  alice: ";
        let config = parse(&format!("{text}{HASH}\n")).unwrap();
        let files: Vec<_> = config.files().map(|path| path.display().to_string()).collect();
        assert_eq!(files, ["/etc/capbench/server.crt", "/keys/server.key", "/etc/capbench/ca.crt"]);
        assert_eq!(config.basic_auth_users["alice"], HASH);
        assert_eq!(config.tls_server_config.unwrap().min_version, TlsVersion::TLS13);
        assert!(parse("").unwrap().tls_server_config.is_none());
    }

    #[test]
    fn what_is_not_supported_is_refused_with_its_name() {
        let tls = "tls_server_config: {cert_file: a, key_file: b";
        for (text, word) in [
            ("http_server_config: {http2: true}", "http_server_config"),
            (&format!("{tls}, cipher_suites: [X]}}"), "cipher_suites"),
            (&format!("{tls}, min_version: TLS10}}"), "TLS10"),
            (&format!("{tls}, client_auth_type: RequireAnyClientCert}}"), "RequireAnyClientCert"),
            (&format!("{tls}, client_auth_type: RequireAndVerifyClientCert}}"), "client_ca_file"),
            (&format!("{tls}, client_ca_file: c}}"), "client_ca_file"),
            ("tls_server_config: {cert_file: a}", "key_file"),
            ("basic_auth_users: {alice: secret}", "alice"),
            (&format!("basic_auth_users: {{alice: \"{}\"}}", HASH.replace("$10$", "$31$")), "31"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(word) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
