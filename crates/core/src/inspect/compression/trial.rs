//! Sampled pieces compressed with a setting: what they come to, and the time of a processor that it takes.

use rayon::prelude::*;
use rustix::time::{ClockId, clock_gettime};

use super::sample::{BranchSample, Piece};
use crate::codec::{Compression, Scratch, deflate, deflate_block, inflate};
use crate::error::Result;
use crate::session::Session;

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

/// The sampled pieces of a branch in blocks that end after so many entries; whole where they have no entries of their
/// own. What no codec makes smaller is stored as it is, as the writer does.
pub(super) fn try_blocks(
    branch: &BranchSample,
    how: Compression,
    entries: u64,
    scratch: &mut Scratch,
) -> Result<BlockTrial> {
    let (mut bytes, mut seconds, mut blocks) = (0_u64, 0.0, 0_u64);
    let (mut chain, mut back, mut memory, mut starts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for piece in &branch.pieces {
        let ends = match &piece.basket {
            Some(basket) => {
                basket.unseal(&mut memory, scratch)?.starts(&mut starts)?;
                let step = usize::try_from(entries).unwrap_or(usize::MAX).max(1);
                let mut ends: Vec<usize> = starts.iter().skip(step).step_by(step).map(|end| *end as usize).collect();
                // Offsets behind the entries are a block of their own.
                ends.extend(starts.last().map(|end| *end as usize));
                ends.push(piece.bytes.len());
                ends
            }
            None => vec![piece.bytes.len()],
        };
        chain.clear();
        let (mut from, mut of_piece) = (0, Vec::new());
        for end in ends {
            let Some(block) = piece.bytes.get(from..end).filter(|block| !block.is_empty()) else { continue };
            from = end;
            let at = chain.len();
            if !deflate_block(block, how, usize::MAX, &mut chain, scratch)? {
                chain.extend_from_slice(block);
            }
            of_piece.push((at, block.len()));
        }
        let stored = chain.len() < piece.bytes.len();
        bytes += piece.beside + if stored { chain.len() } else { piece.bytes.len() } as u64;
        blocks += of_piece.len() as u64;
        if !stored {
            continue;
        }
        let most = of_piece.iter().map(|(_, length)| *length).max().unwrap_or(0);
        back.resize(most.max(back.len()), 0);
        let (done, took) =
            timed(|| of_piece.iter().try_for_each(|&(at, length)| inflate(&chain[at..], &mut back[..length], scratch)));
        done?;
        seconds += took;
    }
    Ok(BlockTrial {
        bytes: (bytes as f64 * branch.factor).round() as u64,
        entry_seconds: seconds / blocks.max(1) as f64,
    })
}
