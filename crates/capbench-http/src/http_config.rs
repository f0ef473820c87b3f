//! Prometheus' HTTP configuration file: TLS and a password of a client, in the format of `promtool --http.config.file`.
//!
//! A key that this client does not support is refused with its name.

use std::path::{Path, PathBuf};

use capbench_sys::host::Trust;
use rustls::pki_types::CertificateDer;
use serde::Deserialize;
use ureq::tls::PrivateKey;

use crate::error::{HttpError, Result};
use crate::pem::{self, MOST_OCTETS, certificates, unreadable};
use crate::web_config::first_line;

/// The file's content. Paths are relative to the folder of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpConfig {
    #[serde(default)]
    basic_auth: Option<BasicAuth>,
    #[serde(default)]
    tls_config: TlsConfig,
}

/// A user of the server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct BasicAuth {
    username: String,
    #[serde(default)]
    password: Option<String>,
    #[serde(default)]
    password_file: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct TlsConfig {
    /// Who signs the server's certificate; absent: those whom the system trusts.
    #[serde(default)]
    ca_file: Option<PathBuf>,
    /// The client's certificate and its key.
    #[serde(default)]
    cert_file: Option<PathBuf>,
    #[serde(default)]
    key_file: Option<PathBuf>,
    /// Whether any certificate of the server is accepted.
    #[serde(default)]
    insecure_skip_verify: bool,
}

/// What the files of a configuration hold.
#[derive(Default)]
pub(crate) struct Credentials {
    pub(crate) authorities: Vec<CertificateDer<'static>>,
    pub(crate) own: Option<(Vec<CertificateDer<'static>>, PrivateKey<'static>)>,
    /// Name and password.
    pub(crate) user: Option<(String, String)>,
}

impl HttpConfig {
    /// Reads a file, which the flag names.
    ///
    /// # Errors
    /// It cannot be read, or has a mistake.
    pub fn read(flag: &'static str, path: &Path) -> Result<Self> {
        let text = Trust::for_settings().read_text(path, MOST_OCTETS).map_err(unreadable(flag, path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, folder).map_err(|reason| HttpError::Config { flag, path: path.into(), reason })
    }

    pub(crate) fn parse(text: &str, folder: &Path) -> std::result::Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut config: Self =
            serde_saphyr::from_str(text).map_err(|error| first_line(&error.to_string()))?;
        let Self { basic_auth, tls_config } = &mut config;
        if tls_config.cert_file.is_some() != tls_config.key_file.is_some() {
            return Err("tls_config: cert_file and key_file need each other".into());
        }
        if let Some(BasicAuth { password, password_file, .. }) = basic_auth
            && password.is_some() == password_file.is_some()
        {
            return Err("basic_auth: it needs password or password_file".into());
        }
        let of_tls = [&mut tls_config.ca_file, &mut tls_config.cert_file, &mut tls_config.key_file];
        let of_user = basic_auth.iter_mut().map(|user| &mut user.password_file);
        for path in of_tls.into_iter().chain(of_user).flatten() {
            *path = folder.join(&*path);
        }
        Ok(config)
    }

    pub(crate) fn skips_verification(&self) -> bool {
        self.tls_config.insecure_skip_verify
    }

    /// Reads the files that it names.
    pub(crate) fn credentials(&self) -> Result<Credentials> {
        let Self { basic_auth, tls_config: TlsConfig { ca_file, cert_file, key_file, .. } } = self;
        let own = cert_file.as_ref().zip(key_file.as_ref());
        let own = own.map(|(chain, key)| {
            let octets = pem::read_secret("key_file", key)?;
            let own = PrivateKey::from_pem(&octets);
            let own = own.map_err(|error| pem::wrong("key_file", key, error.to_string()))?;
            Ok((certificates("cert_file", chain)?, own))
        });
        Ok(Credentials {
            authorities: ca_file.as_ref().map_or(Ok(Vec::new()), |path| certificates("ca_file", path))?,
            own: own.transpose()?,
            user: basic_auth.as_ref().map(BasicAuth::read).transpose()?,
        })
    }
}

impl BasicAuth {
    fn read(&self) -> Result<(String, String)> {
        let flag = "password_file";
        let of_file = self.password_file.as_ref().map(|path| {
            let octets = pem::read_secret(flag, path)?;
            String::from_utf8(octets).map_err(|error| pem::wrong(flag, path, error.utf8_error().to_string()))
        });
        let password = of_file.transpose()?.map(|text| text.trim().to_owned());
        Ok((self.username.clone(), password.or(self.password.clone()).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> std::result::Result<HttpConfig, String> {
        HttpConfig::parse(text, Path::new("/etc/capbench"))
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        let config = parse(
            "basic_auth: {username: alice, password_file: secret}\ntls_config:\n  ca_file: ca.crt\n  cert_file: /keys/a.crt\n  \
             key_file: a.key\n",
        );
        let HttpConfig { basic_auth, tls_config } = config.unwrap();
        let in_folder = |name| Some(Path::new("/etc/capbench").join(name));
        assert_eq!(basic_auth.unwrap().password_file, in_folder("secret"));
        assert_eq!([tls_config.ca_file, tls_config.key_file], [in_folder("ca.crt"), in_folder("a.key")]);
        assert_eq!(tls_config.cert_file, Some("/keys/a.crt".into()));
        assert_eq!(parse("").unwrap(), HttpConfig::default());
    }

    #[test]
    fn what_is_not_supported_is_refused_with_its_name() {
        for (text, word) in [
            ("proxy_url: http://proxy", "proxy_url"),
            ("tls_config: {server_name: ctl}", "server_name"),
            ("tls_config: {cert_file: a}", "key_file"),
            ("basic_auth: {username: alice}", "password_file"),
            ("basic_auth: {username: alice, password: a, password_file: b}", "password_file"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(word) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
