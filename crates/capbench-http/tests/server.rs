//! The server as clients see it: plain and over TLS, with clients that are slow, too many, too large or without a certificate.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use capbench_http::{
    Answer, AnswerBody, Client, HttpConfig, Incoming, Port, Protection, Reply, Request, Response, Result,
    StatusCode, body, text,
};
use capbench_testing::Scratch;
use capbench_testing::http::{ask, connect};
use capbench_testing::network::{eventually, privileges};
use capbench_testing::tls::{self, Authority, write_for_owner};
use rustls::ClientConfig;

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
    serve_port(open(protection).unwrap(), Echo)
}

fn serve_answers(answers: impl Answer) -> SocketAddr {
    serve_port(open(Protection::None).unwrap(), answers)
}

fn serve_port(port: Port, answers: impl Answer) -> SocketAddr {
    let address = port.address().unwrap();
    port.serve(answers, &[], |words| eprintln!("{words}")).unwrap();
    address
}

fn get(address: SocketAddr, headers: &str) -> String {
    ask(connect(address), &format!("GET / HTTP/1.1\r\nHost: localhost{headers}")).unwrap()
}

/// The same over TLS.
fn get_by_tls(address: SocketAddr, client: ClientConfig) -> std::io::Result<String> {
    ask(tls::over(connect(address), client), "GET / HTTP/1.1\r\nHost: localhost")
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
        let head = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {octets}\r\n\r\n"
        );
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

/// More than can be served for one client, fewer than are refused.
const MANY: usize = 40;

#[test]
fn connections_that_only_stand_there_lock_nobody_out() {
    let address = serve(None);
    let mut held: Vec<_> = (0..MANY).map(|_| connect(address)).collect();
    // Half of them have begun a request.
    for half in &mut held[..MANY / 2] {
        half.write_all(b"GET / HTTP/1.1\r\nHo").unwrap();
    }
    for _ in 0..2 {
        assert!(get(address, "").contains(COUNT), "this client has the same address");
    }
}

#[test]
fn a_client_with_too_many_connections_is_told_so() {
    let address = serve(None);
    let mut held = Vec::new();
    eventually("one is refused", || {
        held.extend((0..MANY + 10).map(|_| connect(address)));
        let answer = ask(connect(address), "GET / HTTP/1.1\r\nHost: localhost").unwrap_or_default();
        answer.starts_with("HTTP/1.1 503 ") && answer.ends_with("\r\n\r\nToo many connections\n")
    });
}

#[test]
fn a_client_that_does_not_read_its_answer_loses_its_place() {
    let address = serve_answers(Long);
    let greedy: Vec<_> = (0..MANY)
        .map(|_| {
            let mut stream = connect(address);
            stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            stream
        })
        .collect();
    let answer = ask(connect(address), "GET / HTTP/1.1\r\nHost: localhost").unwrap();
    assert!(answer.len() > LONG, "{} octets", answer.len());
    drop(greedy);
}

#[test]
fn a_page_under_a_name_of_its_own_reads_nothing() {
    let address = serve(None);
    for (host, status) in [("rebind.example:8443", 421), ("localhost:1", 200), ("[::1]", 200)] {
        let answer = ask(connect(address), &format!("GET / HTTP/1.1\r\nHost: {host}")).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {answer}");
    }
}

/// Answers with more than the buffers of a connection have.
#[derive(Clone)]
struct Long;

const LONG: usize = 32 << 20;

impl Answer for Long {
    async fn answer(&self, _: Request<Incoming>) -> Response<AnswerBody> {
        text(StatusCode::OK, "a".repeat(LONG))
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn over_tls_a_client_needs_the_certificate_that_the_file_asks_for() {
    let (folder, authority) = (Scratch::new(), Authority::new());
    let more =
        "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n  min_version: TLS13\n";
    let address = serve(Some(&authority.web_config(&folder, more)));
    let own = authority.issue("prometheus");
    let answer = get_by_tls(address, authority.client(Some(&own))).unwrap();
    assert!(answer.contains(COUNT), "{answer}");
    let foreign = Authority::new().issue("prometheus");
    for certificate in [None, Some(&foreign)] {
        let answer = get_by_tls(address, authority.client(certificate));
        assert!(answer.as_ref().map_or(true, String::is_empty), "{answer:?}");
    }
    let plain = ask(connect(address), "GET / HTTP/1.1\r\nHost: localhost");
    assert!(!plain.unwrap_or_default().contains("200 OK"), "without TLS nothing is served");
}

#[test]
fn a_renewed_certificate_is_used_without_a_restart_and_a_broken_one_is_not() {
    let (folder, authority) = (Scratch::new(), Authority::new());
    let address = serve(Some(&authority.web_config(&folder, "")));
    assert!(get_by_tls(address, authority.client(None)).unwrap().contains(COUNT));
    fs::write(folder.file("server.crt"), "broken").unwrap();
    assert!(
        get_by_tls(address, authority.client(None)).unwrap().contains(COUNT),
        "the old one is still used"
    );
    let next = Authority::new();
    next.web_config(&folder, "");
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
fn wrong_passwords_delay_nobody_whose_password_is_known() {
    let folder = Scratch::new();
    let file = folder.file("web.yml");
    // Each check takes a second or more.
    let hash = bcrypt::hash("secret", 12).unwrap();
    fs::write(&file, format!("basic_auth_users:\n  alice: {hash}\n")).unwrap();
    let address = serve(Some(Path::new(&file)));
    let header = |text: &str| format!("\r\nAuthorization: Basic {}", BASE64_STANDARD.encode(text));
    let right = header("alice:secret");
    assert!(get(address, &right).contains(COUNT));
    let wrong: Vec<_> = ["alice", "bob"].into_iter().cycle().take(12).collect();
    let mut wrong: Vec<_> = wrong
        .into_iter()
        .map(|user| {
            let mut stream = connect(address);
            let head = format!("GET / HTTP/1.1\r\nHost: localhost{}\r\n\r\n", header(&format!("{user}:no")));
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    assert!(get(address, &right).contains(COUNT));
    let last = wrong.last_mut().unwrap();
    last.set_nonblocking(true).unwrap();
    let unanswered = last.read(&mut [0]);
    assert!(unanswered.is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "it was asked before");
    // A refusal ends the connection.
    let mut answer = String::new();
    wrong[0].read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401 ") && answer.contains("connection: close"), "{answer}");
}

#[test]
fn a_reload_that_drops_a_protection_is_refused_while_another_one_remains() {
    let (folder, authority) = (Scratch::new(), Authority::new());
    let hash = bcrypt::hash("secret", 4).unwrap();
    let users = format!("basic_auth_users:\n  alice: {hash}\n");
    let clients = "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n";
    let address = serve(Some(&authority.web_config(&folder, &format!("{clients}{users}"))));
    let text = fs::read_to_string(folder.file("web.yml")).unwrap();
    fs::write(folder.file("web.yml"), text.replace(clients, "")).unwrap();
    let answer = get_by_tls(address, authority.client(None));
    assert!(answer.as_ref().map_or(true, String::is_empty), "a certificate is still needed: {answer:?}");
    let own = authority.issue("client");
    assert!(get_by_tls(address, authority.client(Some(&own))).unwrap().starts_with("HTTP/1.1 401 "));
}

#[test]
fn a_key_that_others_can_read_or_write_is_refused() {
    let (folder, authority) = (Scratch::new(), Authority::new());
    let config = authority.web_config(&folder, "");
    for (mode, words) in [(0o644, "may be read by everybody"), (0o666, "may be written by everybody")] {
        set_mode(&folder.file("server.key"), mode);
        let error = open(Protection::WebConfig(config.clone())).unwrap_err().to_string();
        assert!(error.contains("server.key") && error.contains(words), "{error}");
    }
    set_mode(&folder.file("server.key"), 0o640);
    open(Protection::WebConfig(config)).unwrap();
}

#[test]
fn root_a_web_configuration_of_another_user_is_refused() {
    let Some(()) = privileges() else { return };
    let (folder, authority) = (Scratch::new(), Authority::new());
    let config = authority.web_config(&folder, "");
    // What the configuration names is under the same rule.
    for name in ["web.yml", "ca.crt", "server.crt"] {
        chown(folder.file(name), Some(4711), None).unwrap();
        let more = "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n";
        let text = fs::read_to_string(&config).unwrap();
        if name == "ca.crt" {
            fs::write(&config, format!("{text}{more}")).unwrap();
        }
        let error = open(Protection::WebConfig(config.clone())).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("belongs to user 4711"), "{error}");
        chown(folder.file(name), Some(0), None).unwrap();
    }
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
    authority.web_config(&folder, "");
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

/// Redirects each client to another server.
#[derive(Clone)]
struct Elsewhere(SocketAddr);

impl Answer for Elsewhere {
    async fn answer(&self, _: Request<Incoming>) -> Response<AnswerBody> {
        let mut response = text(StatusCode::TEMPORARY_REDIRECT, String::new());
        let location = format!("http://{}/", self.0).parse().unwrap();
        response.headers_mut().insert("location", location);
        response
    }
}

#[test]
fn our_client_follows_no_redirect() {
    let address = serve_answers(Elsewhere(serve(None)));
    let client = Client::new(&HttpConfig::default(), Duration::from_secs(60)).unwrap();
    assert_eq!(client.post(&format!("http://{address}/"), b"{}").unwrap().status, 307);
    assert_eq!(client.get(&format!("http://{address}/")).unwrap().status, 307);
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
    let address = serve(Some(&authority.web_config(&folder, &more)));
    let (certificate, key) = authority.issue("client");
    for (name, content) in [("own.crt", certificate), ("own.key", key), ("password", "secret\n".into())] {
        write_for_owner(&folder.file(name), &content);
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

/// Octets of a long answer that the server could write.
static WRITTEN: AtomicUsize = AtomicUsize::new(0);

const OCTETS_OF_PARTS: usize = 16 << 20;

/// Answers with many parts.
#[derive(Clone)]
struct CountedParts;

impl Answer for CountedParts {
    async fn answer(&self, _request: Request<Incoming>) -> Response<AnswerBody> {
        let (mut parts, body) = AnswerBody::parts(());
        std::thread::spawn(move || {
            for octets in std::iter::repeat_n([0; 4096], OCTETS_OF_PARTS / 4096) {
                parts.write_all(&octets).unwrap();
                WRITTEN.fetch_add(octets.len(), Ordering::Relaxed);
            }
            parts.finish().unwrap();
        });
        Response::new(body)
    }
}

/// A client that reads slowly is seen to read only if the kernel keeps little for it.
#[test]
fn little_of_an_answer_waits_in_the_kernel() {
    let mut stream = connect(serve_answers(CountedParts));
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut before = 0;
    eventually("the server waits for its client", || {
        std::thread::sleep(Duration::from_millis(300));
        let last = std::mem::replace(&mut before, WRITTEN.load(Ordering::Relaxed));
        before > 0 && before == last
    });
    println!("{before} octets wait");
    assert!(before < 1 << 20, "{before}");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.len() > OCTETS_OF_PARTS, "{}", answer.len());
}
