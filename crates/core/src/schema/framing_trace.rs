//! The framing of an object besides its values: versions, byte counts, bits of collections.
//!
//! Columns do not hold it, and readers of values do not need it, but rewriting an object unchanged does. So the
//! executor records it on request, step by step, and the encoder replays it at the same steps.

use std::collections::HashMap;
use std::sync::Arc;

use crate::wire::Frame;

/// One frame, and what a class with a custom streamer has besides its values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stamp {
    /// The version word.
    pub(super) version: i16,
    /// Whether a byte count comes first.
    pub(super) counted: bool,
    /// What follows a version of 0.
    pub(super) checksum: Option<u32>,
    /// Version of the items of a collection that is streamed member by member.
    pub(super) items: Option<(i16, Option<u32>)>,
    /// `fUniqueID` of a collection.
    pub(super) id: u32,
    /// `fBits` of a collection.
    pub(super) bits: u32,
    /// The ProcessID of a referenced object.
    pub(super) pid: u16,
    /// Bytes that are kept as they are.
    pub(super) raw: Option<Arc<[u8]>>,
}

impl Stamp {
    pub(super) fn of(frame: Frame) -> Self {
        Self { version: frame.version, counted: frame.end.is_some(), ..Self::default() }
    }
}

/// Step of the frame around the whole object.
pub(super) const WHOLE: u32 = u32::MAX;

/// The stamps of one object, by the steps of its program, equal neighbours once.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace(HashMap<u32, Vec<(Stamp, usize)>>);

impl Trace {
    pub(super) fn push(&mut self, step: u32, stamp: Stamp) {
        let stamps = self.0.entry(step).or_default();
        match stamps.last_mut() {
            Some((last, times)) if *last == stamp => *times += 1,
            _ => stamps.push((stamp, 1)),
        }
    }
}

impl Trace {
    /// The last stamp of a step that is as wanted.
    pub(super) fn last(&self, step: u32, is_wanted: impl Fn(&Stamp) -> bool) -> Option<&Stamp> {
        self.0.get(&step)?.iter().rev().map(|(stamp, _)| stamp).find(|stamp| is_wanted(stamp))
    }
}

/// Replays a trace. Objects may have changed since: if a step has more items than before, the last stamp applies to the
/// rest.
#[derive(Default)]
pub(super) struct Replay<'t> {
    trace: Option<&'t Trace>,
    at: HashMap<u32, (usize, usize)>,
}

impl<'t> Replay<'t> {
    pub(super) fn new(trace: Option<&'t Trace>) -> Self {
        Self { trace, at: HashMap::new() }
    }

    pub(super) fn next(&mut self, step: u32) -> Option<&'t Stamp> {
        let stamps = self.trace?.0.get(&step)?;
        let (run, used) = self.at.entry(step).or_insert((0, 0));
        let (stamp, times) = stamps.get(*run)?;
        if *used < *times {
            *used += 1;
            return Some(stamp);
        }
        if let Some((stamp, _)) = stamps.get(*run + 1) {
            (*run, *used) = (*run + 1, 1);
            return Some(stamp);
        }
        Some(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_come_back_in_order_and_the_last_one_stays() {
        let stamp = |version| Stamp { version, ..Stamp::default() };
        let mut trace = Trace::default();
        for version in [1, 1, 2] {
            trace.push(7, stamp(version));
        }
        let mut replay = Replay::new(Some(&trace));
        let versions: Vec<i16> = (0..5).map(|_| replay.next(7).unwrap().version).collect();
        assert_eq!(versions, [1, 1, 2, 2, 2]);
        assert!(replay.next(8).is_none() && Replay::default().next(7).is_none());
    }
}
