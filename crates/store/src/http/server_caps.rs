//! Capabilities of a server, as its answers show them, and measurements of its link.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sapwood::io::Profile;

use crate::net::{LinkStats, PARALLEL};

/// The most ranges of one request: what an Apache answers as it comes.
pub(crate) const MOST_RANGES: usize = 200;
/// What is tried when that was too much, before one range is asked for at a time.
const FEW_RANGES: usize = 16;
/// The most bytes of one request: more are asked for side by side.
pub(crate) const REQUEST_BYTES: u64 = 8 << 20;

/// What is known of a server. Others read it while it changes; all of it is advice.
#[derive(Debug)]
pub(crate) struct ServerCaps {
    /// Ranges that it answers in one request.
    ranges: AtomicUsize,
    /// It knows of no ranges, and sends the whole file.
    whole_only: AtomicBool,
    /// It refuses requests for the last bytes (`bytes=-100`).
    no_suffixes: AtomicBool,
    pub(crate) link_stats: LinkStats,
}

impl ServerCaps {
    pub(crate) fn new() -> Self {
        let (whole_only, no_suffixes) = Default::default();
        Self { ranges: AtomicUsize::new(MOST_RANGES), whole_only, no_suffixes, link_stats: LinkStats::new() }
    }

    /// Ranges that one request may have.
    pub(crate) fn ranges(&self) -> usize {
        self.ranges.load(Ordering::Relaxed)
    }

    /// Whether only the whole file can be had.
    pub(crate) fn whole_only(&self) -> bool {
        self.whole_only.load(Ordering::Relaxed)
    }

    /// Whether the last bytes can be asked for without knowing the length.
    pub(crate) fn has_suffixes(&self) -> bool {
        !self.no_suffixes.load(Ordering::Relaxed)
    }

    /// A request for the last bytes was refused. False if that was known.
    pub(crate) fn refused_suffix(&self) -> bool {
        !self.no_suffixes.swap(true, Ordering::Relaxed)
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

    /// How the store likes to be read.
    pub(crate) fn profile(&self) -> Profile {
        Profile {
            latency_ns: self.link_stats.latency_ns(),
            bandwidth_bytes: self.link_stats.bandwidth_bytes(),
            request_bytes: REQUEST_BYTES,
            // Where a request has one range, so many of them are on their way together.
            ranges: self.ranges().max(PARALLEL),
            parallel: if self.ranges() > 1 { PARALLEL } else { 1 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_remembered_and_never_forgotten() {
        let caps = ServerCaps::new();
        assert_eq!(caps.profile().ranges, MOST_RANGES);
        caps.refused(100);
        assert_eq!(caps.ranges(), FEW_RANGES);
        caps.refused(5);
        caps.refused(200);
        assert_eq!((caps.ranges(), caps.profile().ranges), (1, PARALLEL));
    }
}
