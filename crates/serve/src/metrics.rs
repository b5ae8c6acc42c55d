//! Metrics of a proxy, as Prometheus reads them.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::connections::Event;

/// A number that others read while it grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn sub(&self, less: u64) {
        self.0.fetch_sub(less, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A protocol of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    Xrootd,
}

/// Numbers of the clients of one protocol.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    /// Answers with bytes of files for which the upstream was asked for nothing but the state of the file.
    pub(crate) hits: Counter,
    /// The others.
    pub(crate) misses: Counter,
    /// Bytes of files that went to clients.
    pub(crate) served_bytes: Counter,
    pub(crate) connections: Counter,
    pub(crate) accepted: Counter,
    pub(crate) refused: Counter,
}

/// How an answer of XRootD ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok,
    Error,
    Wait,
}

/// All numbers. Neither they nor their names reveal anything about a file or a client.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    http: Clients,
    xrootd: Clients,
    /// Answers of http by the first digit of their status, 1 to 5.
    answers: [Counter; 5],
    /// Answers of XRootD by their [outcome](Outcome).
    outcomes: [Counter; 3],
    /// Reads of the upstream; each is one request, or few.
    pub(crate) upstream_reads: Counter,
    pub(crate) upstream_bytes: Counter,
    pub(crate) upstream_errors: Counter,
    /// Blocks that one client waited for since another one had asked.
    pub(crate) joined_blocks: Counter,
    /// Reads that clients wait for now.
    pub(crate) fetching: Counter,
    /// Baskets that were prefetched, and how many of them were asked for then.
    pub(crate) prefetched: Counter,
    pub(crate) prefetched_used: Counter,
}

/// A number of clients: its name, its kind, its help, its value.
type ClientRow = (&'static str, &'static str, &'static str, fn(&Clients) -> &Counter);

const CLIENT_ROWS: [ClientRow; 6] = [
    ("hits_total", "counter", "Answers that came from the cache alone.", |clients| &clients.hits),
    ("misses_total", "counter", "Answers for which the upstream was read.", |clients| &clients.misses),
    ("served_bytes_total", "counter", "Bytes of files sent to clients.", |clients| &clients.served_bytes),
    ("open_connections", "gauge", "Connections of clients.", |clients| &clients.connections),
    ("connections_total", "counter", "Connections that were served.", |clients| &clients.accepted),
    ("refused_connections_total", "counter", "Connections beyond the limit.", |clients| &clients.refused),
];

impl Metrics {
    /// The numbers of one protocol's clients.
    pub(crate) fn of(&self, protocol: Protocol) -> &Clients {
        match protocol {
            Protocol::Http => &self.http,
            Protocol::Xrootd => &self.xrootd,
        }
    }

    /// Counts an answer of http.
    pub(crate) fn answered(&self, status: u16) {
        if let Some(count) = self.answers.get(usize::from(status / 100).wrapping_sub(1)) {
            count.add(1);
        }
    }

    /// Counts an answer of XRootD.
    pub(crate) fn ended(&self, outcome: Outcome) {
        let [ok, error, wait] = &self.outcomes;
        match outcome {
            Outcome::Ok => ok.add(1),
            Outcome::Error => error.add(1),
            Outcome::Wait => wait.add(1),
        }
    }

    /// Counts what happens to a connection.
    pub(crate) fn note(&self, protocol: Protocol, event: Event) {
        let clients = self.of(protocol);
        match event {
            Event::Accepted => {
                clients.accepted.add(1);
                clients.connections.add(1);
            }
            Event::Ended => clients.connections.sub(1),
            Event::Refused => clients.refused.add(1),
        }
    }

    /// In the text format of Prometheus, version 0.0.4.
    pub(crate) fn text(&self, evictions: u64) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(text, "# HELP sapwood_proxy_{name} {help}\n# TYPE sapwood_proxy_{name} {kind}");
        };
        let row = |text: &mut String, name: &str, value: u64| {
            let _ = writeln!(text, "sapwood_proxy_{name} {value}");
        };
        for (name, kind, help, of) in CLIENT_ROWS {
            head(&mut text, name, kind, help);
            row(&mut text, name, of(&self.http).get() + of(&self.xrootd).get());
        }
        for (name, kind, help, of) in CLIENT_ROWS {
            head(&mut text, &format!("protocol_{name}"), kind, &format!("By protocol: {help}"));
            row(&mut text, &format!("protocol_{name}{{protocol=\"http\"}}"), of(&self.http).get());
            row(&mut text, &format!("protocol_{name}{{protocol=\"xrootd\"}}"), of(&self.xrootd).get());
        }
        let (used, fetched) = (self.prefetched_used.get(), self.prefetched.get());
        let others = [
            ("upstream_reads_total", "counter", "Reads asked of the upstream.", self.upstream_reads.get()),
            ("upstream_bytes_total", "counter", "Bytes that came from the upstream.", self.upstream_bytes.get()),
            ("upstream_errors_total", "counter", "Reads of the upstream that failed.", self.upstream_errors.get()),
            ("joined_blocks_total", "counter", "Blocks that another client had asked for.", self.joined_blocks.get()),
            ("waiting_reads", "gauge", "Reads that clients wait for.", self.fetching.get()),
            ("evictions_total", "counter", "Files removed from the cache to make room.", evictions),
            ("prefetched_baskets_total", "counter", "Baskets fetched before they were asked for.", fetched),
            ("prefetched_baskets_used_total", "counter", "Of these, baskets that were asked for.", used),
            ("prefetched_baskets_unused", "gauge", "Of these, baskets that were not.", fetched.saturating_sub(used)),
        ];
        for (name, kind, help, value) in others {
            head(&mut text, name, kind, help);
            row(&mut text, name, value);
        }
        head(&mut text, "requests_total", "counter", "Answers of http by status.");
        for (digit, count) in (1..).zip(&self.answers) {
            row(&mut text, &format!("requests_total{{status=\"{digit}xx\"}}"), count.get());
        }
        head(&mut text, "xrootd_requests_total", "counter", "Answers of XRootD by status.");
        for (status, count) in ["ok", "error", "wait"].into_iter().zip(&self.outcomes) {
            row(&mut text, &format!("xrootd_requests_total{{status=\"{status}\"}}"), count.get());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_are_as_prometheus_reads_them() {
        let metrics = Metrics::default();
        metrics.of(Protocol::Http).hits.add(3);
        metrics.of(Protocol::Xrootd).hits.add(4);
        metrics.ended(Outcome::Wait);
        for status in [206, 200, 404, 99, 0, 700] {
            metrics.answered(status);
        }
        let text = metrics.text(3);
        assert!(
            text.contains("\nsapwood_proxy_hits_total 7\n") && text.contains("\nsapwood_proxy_evictions_total 3\n")
        );
        assert!(text.contains("status=\"2xx\"} 2\n") && text.contains("status=\"4xx\"} 1\n"));
        assert!(text.contains("protocol_hits_total{protocol=\"xrootd\"} 4\n") && text.contains("\"wait\"} 1\n"));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with("sapwood_proxy_") && value.parse::<u64>().is_ok(), "{line}");
        }
    }
}
