//! The server of XRootD's protocol: what all its connections share.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::SecureRandom;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::auth::Gate;
use super::connection::Connection;
use super::greeting::greet;
use super::session::{SessionId, Sessions};
use crate::connections::{Event, Speak};
use crate::files::{Files, Supply};
use crate::metrics::Protocol;
use crate::prefetch::Prefetcher;
use crate::write_timeout::WriteTimeout;

/// How long the first words of a client may take.
const GREETING: Duration = Duration::from_secs(30);
/// Checksums that are computed at a time.
const CHECKSUMS: usize = 2;

/// What all connections share.
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

/// Speaks XRootD's protocol.
pub(crate) struct Xrootd(pub(crate) Arc<Service>);

impl Speak for Xrootd {
    async fn speak(&self, stream: TcpStream, admitted: bool, stopped: watch::Receiver<bool>) {
        let (Ok(peer), Ok(here)) = (stream.peer_addr(), stream.local_addr()) else { return };
        let stream = WriteTimeout::new(stream, self.0.idle);
        let greeted = timeout(self.0.idle.min(GREETING), greet(&self.0, stream)).await;
        if let Ok(Some(greeted)) = greeted {
            Connection::new(Arc::clone(&self.0), greeted, admitted, peer, here).run(stopped).await;
        }
    }

    fn note(&self, event: Event) {
        self.0.supply.metrics.note(Protocol::Xrootd, event);
    }
}
