//! Speaks XRootD's protocol with each client that connects.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::connection::Connection;
use super::greeting::greet;
use super::service::Service;
use crate::connections::{Event, Speak};
use crate::metrics::Protocol;
use crate::write_timeout::WriteTimeout;

/// How long the first words of a client may take.
const GREETING: Duration = Duration::from_secs(30);

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
