//! Further connections of a session: what is read alone comes by whichever has the least to bring.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustls::ClientConfig;
use sapwood::{Error, ErrorKind};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Handle;

use super::session::{Session, Start, answered, broke, greet, secured, within};
use super::url::Server;
use super::wire::{Request, SessionId};
use crate::net::RequestError;

/// The most that servers take, the first included.
const STREAMS: u8 = 16;

/// Connections that are to join a session.
pub(super) struct Further {
    count: u8,
    server: Server,
    /// Where the first one goes: a name may have several.
    address: SocketAddr,
    timeout: Duration,
    id: SessionId,
    tls: Option<Arc<ClientConfig>>,
}

impl fmt::Debug for Further {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the number of the session: any client that has it may join.
        f.debug_struct("Further").field("count", &self.count).field("address", &self.address).finish_non_exhaustive()
    }
}

/// Starts further connections, as many as are wanted; they are not awaited. Where a server takes none, the first one
/// does.
pub(super) fn widen(session: &Arc<Session>, runtime: &Handle) {
    let Some(further) = session.further().map(Arc::new) else { return };
    for _ in 0..further.count {
        let (further, session, inside) = (Arc::clone(&further), Arc::downgrade(session), runtime.clone());
        runtime.spawn(async move {
            let _ = within(&further.server.name(), further.timeout, further.join(&session, &inside)).await;
        });
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
        let count = start.streams.min(STREAMS).saturating_sub(1);
        let id = id.filter(|_| count > 0)?;
        Some(Self { count, server: start.server.clone(), address, timeout: start.timeout, id, tls })
    }

    async fn join(&self, session: &Weak<Session>, runtime: &Handle) -> Result<(), RequestError> {
        let name = self.server.name();
        let mut stream = TcpStream::connect(self.address).await.map_err(|error| broke(&name, error))?;
        let wants = self.tls.is_some();
        let protocol = Request::Protocol { able_tls: wants, want_tls: wants, joins: true };
        let protocol = greet(&mut stream, &name, &protocol).await?;
        match self.tls.clone() {
            // A session with TLS has it on all its connections.
            Some(tls) if protocol.goes_tls() => {
                let stream = secured(&self.server, self.timeout, tls, stream).await?;
                self.bind(session, runtime, stream).await
            }
            None if !protocol.goes_tls() => self.bind(session, runtime, stream).await,
            _ => Err(RequestError::never(Error::new(
                ErrorKind::Denied,
                format!("{name} changed its requirements for TLS"),
            ))),
        }
    }

    async fn bind<S>(&self, session: &Weak<Session>, runtime: &Handle, mut stream: S) -> Result<(), RequestError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let name = self.server.name();
        let mut bytes = Vec::new();
        Request::Bind { session: self.id }.put(1, &mut bytes);
        stream.write_all(&bytes).await.map_err(|error| broke(&name, error))?;
        stream.flush().await.map_err(|error| broke(&name, error))?;
        let body = answered(&mut stream, &name, 1).await?;
        if let (Some(session), Some(path)) = (session.upgrade(), body.first()) {
            session.connection.join(runtime, *path, stream);
        }
        Ok(())
    }
}
