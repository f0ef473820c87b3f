//! A client of other programs' HTTP servers: requests with a body of JSON, one after another, each bounded in time.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustls::crypto::ring;
use ureq::Agent;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE};
use ureq::tls::{Certificate, ClientCert, RootCerts, TlsConfig};

use crate::error::{HttpError, Result};
use crate::http_config::{Credentials, HttpConfig};

/// Most octets of an answer.
const MOST_ANSWER: u64 = 16 << 20;

/// A client with one configuration of TLS and passwords.
#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
    authorization: Option<String>,
}

/// An answer, of any status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The code.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl Client {
    /// A client that waits so long for an answer.
    ///
    /// # Errors
    /// A file that the configuration names cannot be read or is wrong.
    pub fn new(config: &HttpConfig, patience: Duration) -> Result<Self> {
        let credentials = config.credentials()?;
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
            .root_certs(RootCerts::Specific(Arc::new(authorities(&credentials))))
            .client_cert(own_certificate(&credentials))
            .disable_verification(config.skips_verification())
            .build();
        let agent = Agent::config_builder()
            .tls_config(tls)
            .timeout_global(Some(patience))
            // The file says what is used; the environment is that of other programs.
            .proxy(None)
            .http_status_as_error(false)
            // A server that the user has not named gets neither requests nor passwords.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("capbench/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        let basic =
            |(name, password)| format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}")));
        Ok(Self { agent, authorization: credentials.user.map(basic) })
    }

    /// Asks for what is at a URL.
    ///
    /// # Errors
    /// There is no answer, or the server does not show that it is the one of the URL.
    pub fn get(&self, url: &str) -> Result<Reply> {
        let mut request = self.agent.get(url);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        reply(url, request.call())
    }

    /// Sends JSON to a URL.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn post(&self, url: &str, json: &[u8]) -> Result<Reply> {
        let mut request = self.agent.post(url).header(CONTENT_TYPE, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        reply(url, request.send(json))
    }
}

fn reply(
    url: &str,
    answer: std::result::Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Result<Reply> {
    let failed = |source: ureq::Error| HttpError::Request { url: url.into(), source: Box::new(source) };
    let mut answer = answer.map_err(failed)?;
    let body = answer.body_mut().with_config().limit(MOST_ANSWER).read_to_vec().map_err(failed)?;
    Ok(Reply { status: answer.status().as_u16(), body })
}

/// Who may sign the server's certificate: those of the configuration, or those of the system.
fn authorities(credentials: &Credentials) -> Vec<Certificate<'static>> {
    if !credentials.authorities.is_empty() {
        return credentials.authorities.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    }
    // Some that cannot be read do not matter: a server that only they sign for is refused.
    let of_system = rustls_native_certs::load_native_certs().certs;
    of_system.iter().map(|der| Certificate::from_der(der).to_owned()).collect()
}

fn own_certificate(credentials: &Credentials) -> Option<ClientCert> {
    let (chain, key) = credentials.own.as_ref()?;
    let chain: Vec<_> = chain.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    Some(ClientCert::new_with_certs(&chain, key.to_owned()))
}
