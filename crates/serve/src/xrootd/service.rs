//! The server of XRootD's protocol: what all its connections share.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::SecureRandom;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use super::auth::Gate;
use super::session::{SessionId, Sessions};
use crate::files::{Files, Supply};
use crate::prefetch::Prefetcher;

/// Checksums that are computed at a time, and how long a client waits for its turn before it has to ask again.
const CHECKSUMS: usize = 2;
pub(super) const CHECKSUM_TURN: Duration = Duration::from_secs(5);
/// Folders that are listed at a time.
const LISTS: usize = 4;

/// State that all connections share.
pub(crate) struct Service {
    pub(crate) files: Arc<Files>,
    pub(crate) supply: Arc<Supply>,
    pub(crate) prefetcher: Option<Arc<Prefetcher>>,
    pub(crate) gate: Gate,
    pub(crate) tls: Option<TlsAcceptor>,
    /// How long a client may send nothing, or take nothing.
    pub(crate) idle: Duration,
    pub(super) sessions: Sessions,
    pub(super) checksums: Semaphore,
    pub(super) lists: Semaphore,
    random: &'static dyn SecureRandom,
}

impl Service {
    pub(crate) fn new(
        files: &Arc<Files>,
        supply: &Arc<Supply>,
        prefetcher: Option<&Arc<Prefetcher>>,
        gate: Gate,
        tls: Option<TlsAcceptor>,
        idle: Duration,
    ) -> Self {
        Self {
            files: Arc::clone(files),
            supply: Arc::clone(supply),
            prefetcher: prefetcher.map(Arc::clone),
            gate,
            tls,
            idle,
            sessions: Sessions::default(),
            checksums: Semaphore::new(CHECKSUMS),
            lists: Semaphore::new(LISTS),
            random: rustls::crypto::ring::default_provider().secure_random,
        }
    }

    /// A name for a session that cannot be guessed.
    pub(super) fn new_id(&self) -> Option<SessionId> {
        let mut id = [0; 16];
        self.random.fill(&mut id).ok()?;
        Some(id)
    }
}
