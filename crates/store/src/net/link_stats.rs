//! Latency and bandwidth of a link, measured while it is used.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Bodies that are shorter do not tell that a link is fast: they lie in some buffer already.
const MEASURED_BYTES: u64 = 256 << 10;
/// Bodies of so much tell that a link is slow.
const LITTLE_BYTES: u64 = 32 << 10;
/// Before anything was measured: a server on the same continent.
const LATENCY_NS: u64 = 30_000_000;
const BANDWIDTH_BYTES: u64 = 50 << 20;

/// Latency and bandwidth of a link, as they were of late. Others read it while it changes; all of it is advice.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use sapwood_store::LinkStats;
/// let link_stats = LinkStats::new();
/// link_stats.answered_in(Duration::from_millis(2));
/// link_stats.flowed(1 << 20, Duration::from_millis(10));
/// assert_eq!(link_stats.latency_ns(), 2_000_000);
/// assert!(link_stats.bandwidth_bytes() > 50 << 20);
/// ```
#[derive(Debug)]
pub struct LinkStats {
    latency_ns: AtomicU64,
    bandwidth_bytes: AtomicU64,
    measured: AtomicBool,
    /// Whether the bandwidth is more than a guess.
    flowed: AtomicBool,
}

impl LinkStats {
    /// Of a link that nothing is known of.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood_store::LinkStats::new().latency_ns(), 30_000_000);
    /// ```
    pub fn new() -> Self {
        Self {
            latency_ns: AtomicU64::new(LATENCY_NS),
            bandwidth_bytes: AtomicU64::new(BANDWIDTH_BYTES),
            measured: AtomicBool::new(false),
            flowed: AtomicBool::new(false),
        }
    }

    /// From a request to its first byte.
    ///
    /// # Example
    ///
    /// ```
    /// assert!(sapwood_store::LinkStats::new().latency_ns() > 0);
    /// ```
    pub fn latency_ns(&self) -> u64 {
        self.latency_ns.load(Ordering::Relaxed)
    }

    /// Bytes a second; never none.
    ///
    /// # Example
    ///
    /// ```
    /// assert!(sapwood_store::LinkStats::new().bandwidth_bytes() > 0);
    /// ```
    pub fn bandwidth_bytes(&self) -> u64 {
        self.bandwidth_bytes.load(Ordering::Relaxed).max(1)
    }

    /// So long did the first byte take. A shorter time than known before counts by half at once, what is longer
    /// may have been a connection that had to be made, or a busy server.
    ///
    /// # Example
    ///
    /// ```
    /// let link_stats = sapwood_store::LinkStats::default();
    /// link_stats.answered_in(std::time::Duration::from_millis(1));
    /// assert_eq!(link_stats.latency_ns(), 1_000_000);
    /// ```
    pub fn answered_in(&self, time: Duration) {
        let sample = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1);
        let known = self.latency_ns.load(Ordering::Relaxed);
        let next = if !self.measured.swap(true, Ordering::Relaxed) {
            sample
        } else if sample < known {
            known - (known - sample) / 2
        } else {
            known + (sample - known).min(known) / 8
        };
        self.latency_ns.store(next, Ordering::Relaxed);
    }

    /// So many bytes came in so much time after the first. Few say nothing. The first link that is slower than was
    /// guessed counts at once: gaps are read for as long as it is thought faster. One that is faster may have been a
    /// buffer.
    ///
    /// # Example
    ///
    /// ```
    /// let link_stats = sapwood_store::LinkStats::default();
    /// link_stats.flowed(1 << 20, std::time::Duration::from_secs(1));
    /// assert_eq!(link_stats.bandwidth_bytes(), 1 << 20);
    /// ```
    pub fn flowed(&self, bytes: u64, time: Duration) {
        if bytes < LITTLE_BYTES {
            return;
        }
        let nanos = time.as_nanos().max(1);
        let sample = u64::try_from(u128::from(bytes) * 1_000_000_000 / nanos).unwrap_or(u64::MAX);
        let sample = sample.clamp(100_000, 10 << 30);
        let known = self.bandwidth_bytes.load(Ordering::Relaxed);
        let is_measured = bytes >= MEASURED_BYTES;
        let is_first =
            if is_measured { !self.flowed.swap(true, Ordering::Relaxed) } else { !self.flowed.load(Ordering::Relaxed) };
        let next = match is_first && sample < known {
            true => sample,
            false if is_measured => known / 4 * 3 + sample / 4,
            false => return,
        };
        self.bandwidth_bytes.store(next, Ordering::Relaxed);
    }
}

impl Default for LinkStats {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_slow_answer_replaces_the_guess_and_a_fast_one_does_not() {
        let link_stats = LinkStats::new();
        link_stats.flowed(300_000, Duration::from_millis(240));
        assert_eq!(link_stats.bandwidth_bytes(), 1_250_000);
        link_stats.flowed(300_000, Duration::from_millis(24));
        assert!((2_000_000..5_000_000).contains(&link_stats.bandwidth_bytes()), "{link_stats:?}");
        let little = LinkStats::new();
        little.flowed(230_000, Duration::from_millis(230));
        assert_eq!(little.bandwidth_bytes(), 1_000_000, "the record of a small tree over ADSL");
        little.flowed(230_000, Duration::from_millis(1));
        assert_eq!(little.bandwidth_bytes(), 1_000_000, "which may have been in a buffer");
        let buffered = LinkStats::new();
        buffered.flowed(300_000, Duration::from_micros(1));
        assert!(buffered.bandwidth_bytes() < 3 << 30 && buffered.bandwidth_bytes() > BANDWIDTH_BYTES);
    }

    #[test]
    fn measurements_come_near_the_truth() {
        let link_stats = LinkStats::new();
        link_stats.answered_in(Duration::from_millis(90)); // with a connection to be made
        for _ in 0..10 {
            link_stats.answered_in(Duration::from_millis(10));
            link_stats.flowed(10 << 20, Duration::from_millis(1000));
        }
        link_stats.flowed(100, Duration::from_nanos(1));
        assert!((10_000_000..11_000_000).contains(&link_stats.latency_ns()), "{link_stats:?}");
        assert!((10 << 20..16 << 20).contains(&link_stats.bandwidth_bytes()), "{link_stats:?}");
        link_stats.answered_in(Duration::from_secs(60)); // once is nothing
        assert!(link_stats.latency_ns() < 12_000_000);
    }
}
