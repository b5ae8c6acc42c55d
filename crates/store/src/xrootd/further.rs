//! Connections that are to join a session.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use super::handshake::Start;
use super::url::Server;
use super::wire::SessionId;

/// The most that servers take, the first included.
const STREAMS: u8 = 16;

/// Connections that are to join a session.
pub(super) struct Further {
    pub(super) count: u8,
    pub(super) server: Server,
    /// Where the first one goes: a name may have several.
    pub(super) address: SocketAddr,
    pub(super) timeout: Duration,
    pub(super) id: SessionId,
    pub(super) tls: Option<Arc<ClientConfig>>,
}

impl fmt::Debug for Further {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the number of the session: any client that has it may join.
        f.debug_struct("Further").field("count", &self.count).field("address", &self.address).finish_non_exhaustive()
    }
}

impl Further {
    /// None where the first one is enough, or the server does not say how it calls the session.
    pub(super) fn of(
        start: Start<'_>,
        address: SocketAddr,
        id: Option<SessionId>,
        tls: Option<Arc<ClientConfig>>,
    ) -> Option<Self> {
        let count = start.options.streams.min(STREAMS).saturating_sub(1);
        let id = id.filter(|_| count > 0)?;
        Some(Self { count, server: start.server.clone(), address, timeout: start.timeout, id, tls })
    }
}
