//! Seals the pages of a cluster: encoded, compressed, with a checksum.
//!
//! Source: `RPageSink::SealPage`.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use twox_hash::XxHash3_64;

use crate::codec::{Compression, Scratch, deflate};
use crate::error::Result;
use crate::ntuple::{ColumnPages, Locator, Page, encode};
use crate::session::Session;
use crate::write::page::buffer::ClusterBuffer;
use crate::write::page::field::ColumnPlan;

/// How pages are sealed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealing {
    pub(crate) compression: Compression,
    /// Bytes of the elements of a page in memory.
    pub(crate) page_bytes: usize,
    pub(crate) with_checksums: bool,
}

/// The pages of a cluster, one after another, and where each column's are from the first byte on.
#[derive(Debug, Default)]
pub(crate) struct SealedCluster {
    /// Sealed pages, each with its checksum.
    pub(crate) pages: Vec<Vec<u8>>,
    /// Pages of each column; positions count from the first byte of the first page.
    pub(crate) columns: Vec<ColumnPages>,
    /// Stored bytes, and bytes before compression.
    pub(crate) stored: u64,
    pub(crate) unpacked: u64,
}

/// One page to seal.
struct Job {
    column: usize,
    elements: Range<usize>,
    sealed: Result<Vec<u8>>,
    unpacked: usize,
}

#[derive(Default)]
struct Workspace {
    scratch: Scratch,
    encoded: Vec<u8>,
}

/// Seals the buffered elements. The same elements give the same bytes, whatever the threads.
pub(crate) fn seal(
    plans: &[ColumnPlan],
    buffer: &ClusterBuffer,
    how: &Sealing,
    session: &Session,
) -> Result<SealedCluster> {
    let mut jobs = Vec::new();
    for (column, plan) in plans.iter().enumerate() {
        let count = buffer.columns[column].len() / plan.wide;
        let step = (how.page_bytes / plan.memory_bytes()).max(1);
        for start in (0..count).step_by(step) {
            let elements = start..count.min(start + step);
            jobs.push(Job { column, elements, sealed: Ok(Vec::new()), unpacked: 0 });
        }
    }
    let workspaces: Vec<Mutex<Workspace>> = (0..session.threads().max(1)).map(|_| Mutex::default()).collect();
    let work = |job: &mut Job| {
        let own = rayon::current_thread_index().unwrap_or(0) % workspaces.len();
        // A workspace holds nothing that a panic could leave inconsistent.
        let mut workspace = workspaces[own].lock().unwrap_or_else(PoisonError::into_inner);
        let plan = &plans[job.column];
        let elements = &buffer.columns[job.column][job.elements.start * plan.wide..job.elements.end * plan.wide];
        let Workspace { scratch, encoded } = &mut *workspace;
        encoded.clear();
        encode(plan.kind, plan.bits, plan.range, elements, encoded);
        job.unpacked = encoded.len();
        let mut stored = Vec::new();
        let compression = plan.compression.unwrap_or(how.compression);
        job.sealed = deflate(encoded, compression, &mut stored, scratch).map(|smaller| {
            if !smaller {
                stored.extend_from_slice(encoded);
            }
            if how.with_checksums {
                let checksum = XxHash3_64::oneshot(&stored);
                stored.extend_from_slice(&checksum.to_le_bytes());
            }
            stored
        });
    };
    match session.pool() {
        Some(pool) if jobs.len() > 1 => pool.install(|| jobs.par_iter_mut().with_max_len(1).for_each(work)),
        _ => jobs.iter_mut().for_each(work),
    }
    place(plans, jobs, how)
}

/// Gives pages their places. Equal pages are stored once, as ROOT does.
fn place(plans: &[ColumnPlan], jobs: Vec<Job>, how: &Sealing) -> Result<SealedCluster> {
    let of_column = |plan: &ColumnPlan| {
        let compression = plan.compression.unwrap_or(how.compression).to_root() as u32;
        ColumnPages { pages: Vec::new(), first_element: Some(0), compression }
    };
    let mut cluster = SealedCluster { columns: plans.iter().map(of_column).collect(), ..Default::default() };
    let mut known: HashMap<(u64, usize), Vec<(usize, u64)>> = HashMap::new();
    for job in jobs {
        let sealed = job.sealed?;
        cluster.unpacked += job.unpacked as u64;
        let bytes = sealed.len() as u64 - if how.with_checksums { 8 } else { 0 };
        let same = known.entry((XxHash3_64::oneshot(&sealed), sealed.len())).or_default();
        let found = same.iter().find(|(page, _)| cluster.pages.get(*page) == Some(&sealed)).map(|&(_, at)| at);
        let at = found.unwrap_or_else(|| {
            let at = cluster.stored;
            same.push((cluster.pages.len(), at));
            cluster.stored += sealed.len() as u64;
            cluster.pages.push(sealed);
            at
        });
        if let Some(column) = cluster.columns.get_mut(job.column) {
            column.pages.push(Page {
                elements: job.elements.len() as u32,
                has_checksum: how.with_checksums,
                locator: Locator::File { at, bytes },
            });
        }
    }
    Ok(cluster)
}
