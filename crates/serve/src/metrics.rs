//! Metrics of a proxy, as Prometheus reads them.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// All numbers. Neither they nor their names reveal anything about a file or a client.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Answers by the first digit of their status, 1 to 5.
    answers: [Counter; 5],
    /// Answers with bytes of files for which nothing was asked of the upstream, but for the state of the file.
    pub(crate) hits: Counter,
    /// The others.
    pub(crate) misses: Counter,
    /// Bytes of files that went to clients.
    pub(crate) served_bytes: Counter,
    /// Reads of the upstream; each is one request, or few.
    pub(crate) upstream_reads: Counter,
    pub(crate) upstream_bytes: Counter,
    pub(crate) upstream_errors: Counter,
    /// Blocks that one client waited for since another one had asked.
    pub(crate) joined_blocks: Counter,
    pub(crate) connections: Counter,
    pub(crate) accepted: Counter,
    pub(crate) refused: Counter,
    /// Reads that clients wait for now.
    pub(crate) fetching: Counter,
    /// Baskets that were prefetched, and how many of them were asked for then.
    pub(crate) prefetched: Counter,
    pub(crate) prefetched_used: Counter,
}

impl Metrics {
    pub(crate) fn answered(&self, status: u16) {
        if let Some(count) = self.answers.get(usize::from(status / 100).wrapping_sub(1)) {
            count.add(1);
        }
    }

    /// In the text format of Prometheus, version 0.0.4.
    pub(crate) fn text(&self, evictions: u64) -> String {
        let mut text = String::new();
        let mut row = |name: &str, kind: &str, help: &str, value: u64| {
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "# HELP sapwood_proxy_{name} {help}\n# TYPE sapwood_proxy_{name} {kind}\nsapwood_proxy_{name} {value}"
            );
        };
        let (used, fetched) = (self.prefetched_used.get(), self.prefetched.get());
        row("hits_total", "counter", "Answers that came from the cache alone.", self.hits.get());
        row("misses_total", "counter", "Answers for which the upstream was read.", self.misses.get());
        row("served_bytes_total", "counter", "Bytes of files sent to clients.", self.served_bytes.get());
        row("upstream_reads_total", "counter", "Reads asked of the upstream.", self.upstream_reads.get());
        row("upstream_bytes_total", "counter", "Bytes that came from the upstream.", self.upstream_bytes.get());
        row("upstream_errors_total", "counter", "Reads of the upstream that failed.", self.upstream_errors.get());
        row("joined_blocks_total", "counter", "Blocks that another client had asked for.", self.joined_blocks.get());
        row("open_connections", "gauge", "Connections of clients.", self.connections.get());
        row("connections_total", "counter", "Connections that were served.", self.accepted.get());
        row("refused_connections_total", "counter", "Connections beyond the limit.", self.refused.get());
        row("waiting_reads", "gauge", "Reads that clients wait for.", self.fetching.get());
        row("evictions_total", "counter", "Files removed from the cache to make room.", evictions);
        row("prefetched_baskets_total", "counter", "Baskets fetched before they were asked for.", fetched);
        row("prefetched_baskets_used_total", "counter", "Of these, baskets that were asked for.", used);
        row("prefetched_baskets_unused", "gauge", "Of these, baskets that were not.", fetched.saturating_sub(used));
        text.push_str("# HELP sapwood_proxy_requests_total Answers by status.\n");
        text.push_str("# TYPE sapwood_proxy_requests_total counter\n");
        for (digit, count) in (1..).zip(&self.answers) {
            let _ = writeln!(text, "sapwood_proxy_requests_total{{status=\"{digit}xx\"}} {}", count.get());
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
        metrics.hits.add(7);
        for status in [206, 200, 404, 99, 0, 700] {
            metrics.answered(status);
        }
        let text = metrics.text(3);
        assert!(
            text.contains("\nsapwood_proxy_hits_total 7\n") && text.contains("\nsapwood_proxy_evictions_total 3\n")
        );
        assert!(text.contains("status=\"2xx\"} 2\n") && text.contains("status=\"4xx\"} 1\n"));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with("sapwood_proxy_") && value.parse::<u64>().is_ok(), "{line}");
        }
    }
}
