//! The server as clients see it: plain and over TLS, with clients that are slow, too many, too large or without a certificate.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use capbench_http::{
    Answer, AnswerBody, Client, HttpConfig, Incoming, Port, Protection, Reply, Request, Response, Result,
    StatusCode, body, text,
};
use capbench_testing::Scratch;
use capbench_testing::http::{ask, connect};
use capbench_testing::network::eventually;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A certificate authority of a test.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate and its key, in PEM.
    fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec![name.into()]).unwrap().signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// A client that trusts it, with a certificate in PEM or without one.
    fn client(&self, certificate: Option<&(String, String)>) -> ClientConfig {
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
}

/// Answers with the length of the body that it reads, up to this many octets.
#[derive(Clone)]
struct Echo;

const MOST: usize = 1000;

impl Answer for Echo {
    async fn answer(&self, request: Request<Incoming>) -> Response<AnswerBody> {
        match body(request, MOST).await {
            Ok(octets) => text(StatusCode::OK, format!("{} octets\n", octets.len())),
            Err(status) => text(status, String::new()),
        }
    }
}

fn open(protection: Protection) -> Result<Port> {
    Port::open("--flag", "127.0.0.1:0".parse().unwrap(), protection)
}

fn serve(web_config: Option<&Path>) -> SocketAddr {
    let protection = web_config.map_or(Protection::None, |file| Protection::WebConfig(file.into()));
    serve_with(protection)
}

fn serve_with(protection: Protection) -> SocketAddr {
    let port = open(protection).unwrap();
    let address = port.address().unwrap();
    port.serve(Echo, &[], |words| eprintln!("{words}")).unwrap();
    address
}

fn get(address: SocketAddr, headers: &str) -> String {
    ask(connect(address), &format!("GET / HTTP/1.1\r\nHost: x{headers}")).unwrap()
}

/// The same over TLS.
fn get_by_tls(address: SocketAddr, client: ClientConfig) -> std::io::Result<String> {
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(client), name).unwrap();
    ask(StreamOwned::new(connection, connect(address)), "GET / HTTP/1.1\r\nHost: localhost")
}

const COUNT: &str = "\n0 octets\n";

#[test]
fn a_request_without_sense_is_refused() {
    assert!(ask(connect(serve(None)), "nonsense").unwrap().starts_with("HTTP/1.1 400 Bad Request"));
}

#[test]
fn a_body_is_read_up_to_the_limit() {
    let address = serve(None);
    let post = |octets: usize, sent: usize| {
        let mut stream = connect(address);
        let head =
            format!("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {octets}\r\n\r\n");
        stream.write_all(format!("{head}{}", "a".repeat(sent)).as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    };
    assert!(post(MOST, MOST).ends_with("1000 octets\n"));
    assert!(post(MOST + 1, 1).starts_with("HTTP/1.1 413 "));
    // After ten seconds.
    assert!(post(MOST, 1).starts_with("HTTP/1.1 408 "));
}

#[test]
fn a_header_of_one_mib_is_refused() {
    let address = serve(None);
    let mut stream = connect(address);
    // The server may close the connection before everything is written.
    let _ = stream.write_all(format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(1 << 20)).as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert!(get(address, "").contains(COUNT), "others are served");
}

#[test]
fn a_slow_client_delays_nobody_and_is_cut_off() {
    let address = serve(None);
    let mut slow = connect(address);
    slow.write_all(b"GET / HTTP/1.1\r\nHo").unwrap();
    assert!(get(address, "").contains(COUNT));
    let mut answer = Vec::new();
    // After ten seconds; the time-out of the stream is a minute.
    let ended = slow.read_to_end(&mut answer);
    assert!(ended.is_ok() || ended.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
    assert!(!String::from_utf8_lossy(&answer).contains("200 OK"));
}

#[test]
fn connections_beyond_the_limit_are_closed() {
    let address = serve(None);
    let begin = Instant::now();
    // They wait for requests, so one more is closed at once.
    let held: Vec<_> = (0..32).map(|_| connect(address)).collect();
    let mut further = connect(address);
    assert!(matches!(further.read(&mut [0]), Ok(0) | Err(_)));
    assert!(begin.elapsed() < Duration::from_secs(9), "not by the time-out");
    drop(held);
    eventually("there is room again", || {
        ask(connect(address), "GET / HTTP/1.1\r\nHost: x").is_ok_and(|answer| answer.contains(COUNT))
    });
}

/// A web configuration with certificates in its folder.
fn configured(folder: &Scratch, authority: &Authority, more: &str) -> PathBuf {
    let (certificate, key) = authority.issue("localhost");
    for (name, content) in [("server.crt", certificate), ("server.key", key), ("ca.crt", authority.0.pem())] {
        fs::write(folder.file(name), content).unwrap();
    }
    let text = format!("tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n{more}");
    fs::write(folder.file("web.yml"), text).unwrap();
    folder.file("web.yml")
}

#[test]
fn over_tls_a_client_needs_the_certificate_that_the_file_asks_for() {
    let (folder, authority) = (Scratch::new(), Authority::new());
    let more =
        "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n  min_version: TLS13\n";
    let address = serve(Some(&configured(&folder, &authority, more)));
    let own = authority.issue("prometheus");
    let answer = get_by_tls(address, authority.client(Some(&own))).unwrap();
    assert!(answer.contains(COUNT), "{answer}");
    let foreign = Authority::new().issue("prometheus");
    for certificate in [None, Some(&foreign)] {
        let answer = get_by_tls(address, authority.client(certificate));
        assert!(answer.as_ref().map_or(true, String::is_empty), "{answer:?}");
    }
    let plain = ask(connect(address), "GET / HTTP/1.1\r\nHost: x");
    assert!(!plain.unwrap_or_default().contains("200 OK"), "without TLS nothing is served");
}

#[test]
fn a_renewed_certificate_is_used_without_a_restart_and_a_broken_one_is_not() {
    let (folder, authority) = (Scratch::new(), Authority::new());
    let address = serve(Some(&configured(&folder, &authority, "")));
    assert!(get_by_tls(address, authority.client(None)).unwrap().contains(COUNT));
    fs::write(folder.file("server.crt"), "broken").unwrap();
    assert!(
        get_by_tls(address, authority.client(None)).unwrap().contains(COUNT),
        "the old one is still used"
    );
    let next = Authority::new();
    configured(&folder, &next, "");
    assert!(get_by_tls(address, next.client(None)).unwrap().contains(COUNT));
    assert!(get_by_tls(address, authority.client(None)).is_err(), "the old authority did not sign it");
}

#[test]
fn a_password_is_asked_for() {
    let folder = Scratch::new();
    let file = folder.file("web.yml");
    let hash = bcrypt::hash("secret", 4).unwrap();
    fs::write(&file, format!("basic_auth_users:\n  prometheus: {hash}\n")).unwrap();
    let address = serve(Some(Path::new(&file)));
    let answer = get(address, "");
    assert!(answer.starts_with("HTTP/1.1 401 ") && answer.contains("www-authenticate: Basic"), "{answer}");
    let with = |text: &str| {
        let code = BASE64_STANDARD.encode(text);
        get(address, &format!("\r\nAuthorization: Basic {code}"))
    };
    assert!(with("prometheus:secret").contains(COUNT));
    assert!(with("prometheus:wrong").starts_with("HTTP/1.1 401 "));
    // An editor may empty a file before it writes it.
    fs::write(&file, "").unwrap();
    assert!(get(address, "").starts_with("HTTP/1.1 401 "), "the server does not open itself");
}

#[test]
fn a_wrong_configuration_is_refused_at_the_start() {
    let folder = Scratch::new();
    let file = folder.file("web.yml");
    let refusal = || open(Protection::WebConfig(file.clone())).unwrap_err().to_string();
    assert!(refusal().contains("web.yml"));
    fs::write(&file, "tls_server_config: {cert_file: no.crt, key_file: no.key}").unwrap();
    assert!(refusal().starts_with("--web-config: cannot read ") && refusal().contains("no.key"));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let error = Port::open("--flag", taken.local_addr().unwrap(), Protection::None).unwrap_err();
    assert!(error.to_string().starts_with("--flag 127.0.0.1:"), "{error}");
}

#[test]
fn files_named_by_flags_do_what_a_web_configuration_does() {
    let (folder, authority) = (Scratch::new(), Authority::new());
    configured(&folder, &authority, "");
    let file = |name: &str| folder.file(name);
    let tls = |client_authority| Protection::Tls {
        flag: "--tls-cert",
        certificate: file("server.crt"),
        key: file("server.key"),
        client_authority,
    };
    let own = authority.issue("client");
    let (anybody, clients) = (serve_with(tls(None)), serve_with(tls(Some(file("ca.crt")))));
    assert!(get_by_tls(anybody, authority.client(None)).unwrap().contains(COUNT));
    assert!(get_by_tls(clients, authority.client(Some(&own))).unwrap().contains(COUNT));
    let refused = get_by_tls(clients, authority.client(None));
    assert!(refused.as_ref().map_or(true, String::is_empty), "{refused:?}");
    fs::remove_file(file("server.key")).unwrap();
    assert!(open(tls(None)).unwrap_err().to_string().starts_with("--tls-cert: cannot read "));
}

/// What our own client says of a server with this HTTP configuration file.
fn asked(address: SocketAddr, folder: &Scratch, config: &str) -> std::result::Result<(u16, String), String> {
    let (file, url) = (folder.file("http.yml"), format!("https://localhost:{}/", address.port()));
    fs::write(&file, config).unwrap();
    let config = HttpConfig::read("--http-config", Path::new(&file)).unwrap();
    let client = Client::new(&config, Duration::from_secs(20)).map_err(|error| error.to_string())?;
    let Reply { status, body } = client.post(&url, b"{}").map_err(|error| error.to_string())?;
    Ok((status, String::from_utf8(body).unwrap()))
}

#[test]
fn our_client_shows_its_certificate_and_password_and_checks_the_servers() {
    let (folder, authority) = (Scratch::new(), Authority::new());
    let hash = bcrypt::hash("secret", 4).unwrap();
    let more = format!(
        "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\nbasic_auth_users:\n  alice: {hash}\n"
    );
    let address = serve(Some(&configured(&folder, &authority, &more)));
    let (certificate, key) = authority.issue("client");
    for (name, content) in [("own.crt", certificate), ("own.key", key), ("password", "secret\n".into())] {
        fs::write(folder.file(name), content).unwrap();
    }
    let own = "cert_file: own.crt, key_file: own.key";
    let user = "basic_auth: {username: alice, password_file: password}";
    let good = asked(address, &folder, &format!("tls_config: {{ca_file: ca.crt, {own}}}\n{user}\n"));
    assert_eq!(good.unwrap(), (200, "2 octets\n".into()));
    let unknown = asked(address, &folder, &format!("tls_config: {{ca_file: ca.crt, {own}}}\n"));
    assert_eq!(unknown.unwrap().0, 401);
    let any =
        asked(address, &folder, &format!("tls_config: {{insecure_skip_verify: true, {own}}}\n{user}\n"));
    assert_eq!(any.unwrap().0, 200);
    let unsigned = asked(address, &folder, &format!("tls_config: {{{own}}}\n{user}\n")).unwrap_err();
    assert!(unsigned.starts_with("https://localhost:") && unsigned.contains("certificate"), "{unsigned}");
    assert!(asked(address, &folder, &format!("tls_config: {{ca_file: ca.crt}}\n{user}\n")).is_err());
    let missing = asked(address, &folder, "tls_config: {ca_file: none.crt}").unwrap_err();
    assert!(missing.contains("ca_file: cannot read") && missing.contains("none.crt"), "{missing}");
}
