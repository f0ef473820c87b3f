//! Scrapes of the metrics of a command that runs.

use std::io::{Read, Write};
use std::net::TcpStream;

use capbench_testing::network::{PATIENCE, Place, eventually};

/// The port of `--metrics`. Each test has its own network namespaces.
pub const PORT: &str = "9873";

/// Metrics of a command in the namespace of a place, as one scrape shows them.
pub struct Scrape(pub String);

impl Scrape {
    /// What the server shows now.
    pub fn of(place: &Place) -> Self {
        let text = place.inside(|| {
            let mut stream = TcpStream::connect(format!("127.0.0.1:{PORT}")).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        });
        assert!(text.starts_with("HTTP/1.0 200 OK\r\n"), "{text}");
        Self(text)
    }

    /// The sum of the series with this name and these labels.
    pub fn sum(&self, name: &str, labels: &[&str]) -> u64 {
        let lines = self.0.lines().filter(|line| {
            let is_its = line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']));
            is_its && labels.iter().all(|label| line.contains(label))
        });
        lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
    }

    /// Windows so far.
    pub fn windows(&self) -> u64 {
        self.sum("capbench_windows_total", &["interface=\"right\""])
    }

    /// Windows in which rings lost frames.
    pub fn lossy_windows(&self) -> u64 {
        self.sum("capbench_lossy_windows_total", &["interface=\"right\"", "place=\"ring\""])
    }

    /// A scrape that shows all counts up to now: a window has begun and ended since.
    pub fn settled(place: &Place) -> Self {
        let begin = Self::of(place).windows();
        let mut last = None;
        eventually("two windows end", || {
            let scrape = Self::of(place);
            let is_settled = scrape.windows() >= begin + 2;
            last = Some(scrape);
            is_settled
        });
        last.unwrap()
    }
}
