//! Sampled pieces compressed with a setting: what they come to, and the time of a processor that it takes.

use rayon::prelude::*;
use rustix::time::{ClockId, clock_gettime};

use super::sample::{BranchSample, Piece};
use crate::codec::{BlockTable, Compression, RandomAccess, Scratch, deflate, inflate};
use crate::error::Result;
use crate::inspect::io_cost::Reader;
use crate::session::Session;
use crate::write::Payload;

/// What a branch, or a whole tree, comes to with a setting: in the whole file, as far as the sample tells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trial {
    /// Stored bytes, those of keys or checksums included.
    pub bytes: u64,
    /// Seconds that one core takes to compress it.
    pub write_seconds: f64,
    /// Seconds that one core takes to inflate it.
    pub read_seconds: f64,
}

impl Trial {
    /// Seconds to fetch it at 100 MB/s, as a reader does to which [`Reader`] is the default, and to inflate it with one
    /// core.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::inspect::compression::Trial;
    /// let trial = Trial { bytes: 200_000_000, write_seconds: 9.0, read_seconds: 0.5 };
    /// assert_eq!(trial.fetch_seconds(), 2.5);
    /// ```
    pub fn fetch_seconds(&self) -> f64 {
        self.read_seconds + self.bytes as f64 / Reader::default().profile.bandwidth_bytes as f64
    }

    /// Both together.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            write_seconds: self.write_seconds + other.write_seconds,
            read_seconds: self.read_seconds + other.read_seconds,
        }
    }
}

/// A branch in blocks of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct BlockTrial {
    pub(super) bytes: u64,
    /// Seconds that one core takes to inflate the block of one entry.
    pub(super) entry_seconds: f64,
}

/// Seconds of a processor that this thread has used.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Seconds that work takes.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = processor_seconds();
    let done = work();
    (done, processor_seconds() - start)
}

/// Does work for each of so many numbers, on the session's threads; the order of the results is that of the numbers.
pub(super) fn each<T: Send>(
    session: &Session,
    count: usize,
    work: impl Fn(&mut Scratch, usize) -> Result<T> + Send + Sync,
) -> Result<Vec<T>> {
    match session.pool() {
        Some(pool) => pool.install(|| {
            (0..count)
                .into_par_iter()
                .with_max_len(1)
                .map_init(Scratch::default, |scratch, job| work(scratch, job))
                .collect()
        }),
        None => {
            let mut scratch = Scratch::default();
            (0..count).map(|job| work(&mut scratch, job)).collect()
        }
    }
}

/// The sampled pieces of a branch with a setting.
pub(super) fn try_setting(branch: &BranchSample, how: Compression, scratch: &mut Scratch) -> Result<Trial> {
    let (mut sum, mut chain, mut back) = (Trial::default(), Vec::new(), Vec::new());
    for Piece { bytes, beside, .. } in &branch.pieces {
        chain.clear();
        let (smaller, seconds) = timed(|| deflate(bytes, how, &mut chain, scratch));
        sum.write_seconds += seconds;
        sum.bytes += beside;
        if smaller? {
            sum.bytes += chain.len() as u64;
            if back.len() < bytes.len() {
                back.resize(bytes.len(), 0);
            }
            let (inflated, seconds) = timed(|| inflate(&chain, &mut back[..bytes.len()], scratch));
            inflated?;
            sum.read_seconds += seconds;
        } else {
            sum.bytes += bytes.len() as u64;
        }
    }
    Ok(scaled(sum, branch.factor))
}

fn scaled(sum: Trial, factor: f64) -> Trial {
    Trial {
        bytes: (sum.bytes as f64 * factor).round() as u64,
        write_seconds: sum.write_seconds * factor,
        read_seconds: sum.read_seconds * factor,
    }
}

/// The sampled baskets of a branch in blocks of entries, as the writer makes them.
pub(super) fn try_blocks(
    branch: &BranchSample,
    how: Compression,
    random_access: RandomAccess,
    scratch: &mut Scratch,
) -> Result<BlockTrial> {
    let (mut sum, mut seconds, mut blocks) = (0_u64, 0.0, 0_usize);
    let (mut chain, mut back) = (Vec::new(), Vec::new());
    for Piece { bytes, beside, basket } in &branch.pieces {
        chain.clear();
        let smaller = match basket {
            Some(basket) => {
                let (data_bytes, keylen) = (basket.data_bytes(), usize::from(basket.key.keylen));
                let payload = Payload { bytes, data_bytes, entries: basket.entries as usize, keylen };
                payload.deflate(how, random_access, &mut chain, scratch)?
            }
            None => deflate(bytes, how, &mut chain, scratch)?,
        };
        sum += beside + if smaller { chain.len() } else { bytes.len() } as u64;
        blocks += 1;
        if smaller {
            blocks += BlockTable::walk(&chain, bytes.len())?.blocks().len() - 1;
            back.resize(bytes.len().max(back.len()), 0);
            let (inflated, took) = timed(|| inflate(&chain, &mut back[..bytes.len()], scratch));
            inflated?;
            seconds += took;
        }
    }
    let bytes = (sum as f64 * branch.factor).round() as u64;
    Ok(BlockTrial { bytes, entry_seconds: seconds / blocks.max(1) as f64 })
}
