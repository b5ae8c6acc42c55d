//! Further connections of a session: what is read alone comes by whichever has the least to bring.

use std::sync::{Arc, Weak};

use sapwood::{Error, ErrorKind};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Handle;

use super::further::Further;
use super::handshake::{answered, broke, greet, secured, within};
use super::session::Session;
use super::wire::Request;
use crate::net::RequestError;

/// Starts further connections, as many as are wanted; they are not awaited. Where a server takes none, the first one
/// does.
pub(super) fn widen(session: &Arc<Session>, runtime: &Handle) {
    let Some(further) = session.further().map(Arc::new) else { return };
    for _ in 0..further.count {
        let (further, session, inside) = (Arc::clone(&further), Arc::downgrade(session), runtime.clone());
        runtime.spawn(async move {
            let _ = within(&further.server.name(), further.timeout, Join(&further).join(&session, &inside)).await;
        });
    }
}

/// Joins a session with one connection more.
struct Join<'f>(&'f Further);

impl Join<'_> {
    async fn join(&self, session: &Weak<Session>, runtime: &Handle) -> Result<(), RequestError> {
        let name = self.0.server.name();
        let mut stream = TcpStream::connect(self.0.address).await.map_err(|error| broke(&name, error))?;
        let wants = self.0.tls.is_some();
        let protocol = Request::Protocol { able_tls: wants, want_tls: wants, joins: true };
        let protocol = greet(&mut stream, &name, &protocol).await?;
        match self.0.tls.clone() {
            // A session with TLS has it on all its connections.
            Some(tls) if protocol.goes_tls() => {
                let stream = secured(&self.0.server, self.0.timeout, tls, stream).await?;
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
        let name = self.0.server.name();
        let mut bytes = Vec::new();
        Request::Bind { session: self.0.id }.put(1, &mut bytes);
        stream.write_all(&bytes).await.map_err(|error| broke(&name, error))?;
        stream.flush().await.map_err(|error| broke(&name, error))?;
        let body = answered(&mut stream, &name, 1).await?;
        if let (Some(session), Some(path)) = (session.upgrade(), body.first()) {
            session.connection.join(runtime, *path, stream);
        }
        Ok(())
    }
}
