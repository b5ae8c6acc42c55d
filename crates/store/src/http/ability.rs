//! What a server can, as its answers show it, and how its link measures.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use sapwood::io::Profile;

use crate::net::PARALLEL;

/// The most ranges of one request: what an Apache answers as it comes.
pub(crate) const MOST_RANGES: usize = 200;
/// What is tried when that was too much, before one range is asked for at a time.
const FEW_RANGES: usize = 16;
/// The most bytes of one request: more are asked for side by side.
pub(crate) const REQUEST_BYTES: u64 = 8 << 20;

/// Bodies that are shorter say nothing of a bandwidth: they lie in some buffer already.
const MEASURED_BYTES: u64 = 256 << 10;
/// Before anything was measured: a server on the same continent.
const LATENCY_NS: u64 = 30_000_000;
const BANDWIDTH_BYTES: u64 = 50 << 20;

/// What is known of a server. Others read it while it changes; all of it is advice.
#[derive(Debug)]
pub(crate) struct Ability {
    /// Ranges that it answers in one request.
    ranges: AtomicUsize,
    /// It knows of no ranges, and sends the whole file.
    whole_only: AtomicBool,
    latency_ns: AtomicU64,
    bandwidth_bytes: AtomicU64,
    measured: AtomicBool,
}

impl Ability {
    pub(crate) fn new() -> Self {
        Self {
            ranges: AtomicUsize::new(MOST_RANGES),
            whole_only: AtomicBool::new(false),
            latency_ns: AtomicU64::new(LATENCY_NS),
            bandwidth_bytes: AtomicU64::new(BANDWIDTH_BYTES),
            measured: AtomicBool::new(false),
        }
    }

    /// Ranges that one request may have.
    pub(crate) fn ranges(&self) -> usize {
        self.ranges.load(Ordering::Relaxed)
    }

    /// Whether only the whole file can be had.
    pub(crate) fn whole_only(&self) -> bool {
        self.whole_only.load(Ordering::Relaxed)
    }

    /// A request with so many ranges was not answered as such.
    pub(crate) fn refused(&self, ranges: usize) {
        let fewer = if ranges > FEW_RANGES { FEW_RANGES } else { 1 };
        self.ranges.fetch_min(fewer, Ordering::Relaxed);
    }

    /// A request with several ranges brought the first one alone, or no sense.
    pub(crate) fn one_at_a_time(&self) {
        self.ranges.store(1, Ordering::Relaxed);
    }

    /// A request with one range was answered with all.
    pub(crate) fn knows_no_ranges(&self) {
        self.whole_only.store(true, Ordering::Relaxed);
    }

    /// So long did the first byte take. What is shorter than known before is believed at once by half, what is longer may have
    /// been a connection that had to be made, or a busy server.
    pub(crate) fn answered_in(&self, time: Duration) {
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

    /// So many bytes came in so much time after the first.
    pub(crate) fn flowed(&self, bytes: u64, time: Duration) {
        if bytes < MEASURED_BYTES {
            return;
        }
        let nanos = time.as_nanos().max(1);
        let sample = u64::try_from(u128::from(bytes) * 1_000_000_000 / nanos).unwrap_or(u64::MAX);
        let sample = sample.clamp(100_000, 10 << 30);
        let known = self.bandwidth_bytes.load(Ordering::Relaxed);
        self.bandwidth_bytes.store(known / 4 * 3 + sample / 4, Ordering::Relaxed);
    }

    /// How the store likes to be read.
    pub(crate) fn profile(&self) -> Profile {
        Profile {
            latency_ns: self.latency_ns.load(Ordering::Relaxed),
            bandwidth_bytes: self.bandwidth_bytes.load(Ordering::Relaxed).max(1),
            request_bytes: REQUEST_BYTES,
            // One at a time, so many are still on their way together.
            ranges: self.ranges().max(PARALLEL),
            parallel: PARALLEL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_remembered_and_never_forgotten() {
        let ability = Ability::new();
        assert_eq!(ability.profile().ranges, MOST_RANGES);
        ability.refused(100);
        assert_eq!(ability.ranges(), FEW_RANGES);
        ability.refused(5);
        ability.refused(200);
        assert_eq!((ability.ranges(), ability.profile().ranges), (1, PARALLEL));
    }

    #[test]
    fn measurements_come_near_the_truth() {
        let ability = Ability::new();
        ability.answered_in(Duration::from_millis(90)); // with a connection to be made
        for _ in 0..10 {
            ability.answered_in(Duration::from_millis(10));
            ability.flowed(10 << 20, Duration::from_millis(1000));
        }
        ability.flowed(100, Duration::from_nanos(1));
        let profile = ability.profile();
        assert!((10_000_000..11_000_000).contains(&profile.latency_ns), "{profile:?}");
        assert!((10 << 20..16 << 20).contains(&profile.bandwidth_bytes), "{profile:?}");
        ability.answered_in(Duration::from_secs(60)); // once is nothing
        assert!(ability.profile().latency_ns < 12_000_000);
    }
}
