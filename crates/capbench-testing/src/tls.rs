//! A certificate authority of a test, the files of a server that it signs, and clients that trust it.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::scratch::Scratch;

/// The name of the server in its certificate.
const NAME: &str = "localhost";

/// A certificate authority.
#[allow(missing_debug_implementations, reason = "it has a key")]
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

#[allow(clippy::missing_panics_doc, reason = "a failure is one of the test")]
impl Authority {
    /// A new one.
    #[allow(clippy::new_without_default, reason = "it makes a key")]
    pub fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate and its key, in PEM.
    pub fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec![name.into()]).unwrap().signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// A client that trusts it, with a certificate in PEM or without one.
    pub fn client(&self, certificate: Option<&(String, String)>) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let Some((certificate, key)) = certificate else { return builder.with_no_client_auth() };
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        builder.with_client_auth_cert(chain, key).unwrap()
    }

    /// Writes a web configuration with a certificate of the server, its key and this authority as `server.crt`, `server.key` and
    /// `ca.crt` next to it. `more` follows the lines of the server's TLS.
    pub fn web_config(&self, folder: &Scratch, more: &str) -> PathBuf {
        let (certificate, key) = self.issue(NAME);
        for (name, content) in [("server.crt", certificate), ("server.key", key), ("ca.crt", self.0.pem())] {
            write_for_owner(&folder.file(name), &content);
        }
        let text = format!("tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n{more}");
        fs::write(folder.file("web.yml"), text).unwrap();
        folder.file("web.yml")
    }
}

/// Writes a file that only its owner can read.
///
/// # Panics
/// It cannot be written.
pub fn write_for_owner(path: &Path, content: &str) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// TLS over a connection; the handshake comes with the first octets.
///
/// # Panics
/// Never: the configuration is a test's.
pub fn over(stream: TcpStream, client: ClientConfig) -> StreamOwned<ClientConnection, TcpStream> {
    let name = ServerName::try_from(NAME).unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(client), name).unwrap(), stream)
}
