//! The page as scrapers see it.

use capbench_http::{Port, Protection};
use capbench_metrics::{Family, Metrics};
use capbench_testing::http::{ask, connect};

#[test]
fn the_form_depends_on_the_client_and_only_the_metrics_are_there_to_read() {
    let metrics = Metrics::new("1.2.3");
    metrics.add(Family::Received, vec![("interface", "eth0".into())], 7);
    let port = Port::open("--metrics", "127.0.0.1:0".parse().unwrap(), Protection::None).unwrap();
    let address = port.address().unwrap();
    port.serve(metrics, &[], |words| eprintln!("{words}")).unwrap();
    let ask = |head: &str| ask(connect(address), head).unwrap();
    let get = |headers: &str| ask(&format!("GET /metrics HTTP/1.1\r\nHost: localhost{headers}"));

    let count = "\ncapbench_received_frames_total{interface=\"eth0\"} 7\n";
    let plain = get("");
    assert!(
        plain.starts_with("HTTP/1.1 200 OK\r\n") && plain.contains("text/plain; version=0.0.4"),
        "{plain}"
    );
    assert!(plain.contains("# TYPE capbench_received_frames_total counter\n"), "{plain}");
    assert!(plain.contains(count) && !plain.contains("# EOF"), "{plain}");
    let open = get("\r\nAccept: application/openmetrics-text;version=1.0.0,*/*;q=0.1");
    assert!(open.contains("application/openmetrics-text; version=1.0.0"), "{open}");
    assert!(open.contains("# TYPE capbench_received_frames counter\n"), "{open}");
    assert!(open.contains(count) && open.ends_with("# EOF\n"), "{open}");

    let status = |head: &str| ask(head).lines().next().unwrap().to_string();
    assert_eq!(status("GET / HTTP/1.1\r\nHost: localhost"), "HTTP/1.1 404 Not Found");
    assert_eq!(status("POST /metrics HTTP/1.1\r\nHost: localhost"), "HTTP/1.1 405 Method Not Allowed");
    assert_eq!(status("HEAD /metrics HTTP/1.1\r\nHost: localhost"), "HTTP/1.1 200 OK");
}
