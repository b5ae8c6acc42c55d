//! Connections: how many there may be, for how long they may be silent, and what is done beyond the limit.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// Connections beyond the limit that are told so; those beyond these are closed.
const REFUSALS: usize = 64;
const REFUSAL_TIME: Duration = Duration::from_secs(5);
/// Connections that have sent nothing. They do not count as connections, and the oldest is closed for the next one.
const MAX_SILENT: usize = 256;
/// How long a connection may send nothing.
const SILENT_TIME: Duration = Duration::from_secs(10);

/// What happens to a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Accepted,
    Ended,
    Refused,
}

/// Speaks a protocol with clients.
pub(crate) trait Speak: Send + Sync + 'static {
    /// Speaks with one client until one of both ends it, or `stopped` changes. A client that is not `admitted` only
    /// learns that there are too many.
    fn speak(
        &self,
        stream: TcpStream,
        admitted: bool,
        stopped: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send;

    fn note(&self, _event: Event) {}
}

/// Accepts connections.
pub(crate) struct Acceptor<S> {
    speaker: Arc<S>,
    permits: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    silent: Mutex<VecDeque<AbortHandle>>,
    idle: Duration,
    stopped: watch::Receiver<bool>,
}

impl<S: Speak> Acceptor<S> {
    /// Each connection takes one of `permits`; a client that sends nothing for `idle` is not kept.
    pub(crate) fn new(
        speaker: Arc<S>,
        permits: Arc<Semaphore>,
        idle: Duration,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        let refusals = Arc::new(Semaphore::new(REFUSALS));
        Self { speaker, permits, refusals, silent: Mutex::default(), idle, stopped }
    }

    pub(crate) async fn accept(self, listener: tokio::net::TcpListener) {
        let acceptor = Arc::new(self);
        let mut stopped = acceptor.stopped.clone();
        loop {
            let accepted = match select(pin!(listener.accept()), pin!(stopped.changed())).await {
                Either::Left((accepted, _)) => accepted,
                Either::Right(_) => return,
            };
            match accepted {
                Ok((stream, _)) => acceptor.await_first_byte(stream),
                // Out of files, or a client that left: the next may do.
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// Receives a connection once it has sent something: those that never do cannot keep others out.
    fn await_first_byte(self: &Arc<Self>, stream: TcpStream) {
        let acceptor = Arc::clone(self);
        let waiting = tokio::spawn(async move {
            let mut stopped = acceptor.stopped.clone();
            let mut first = [0];
            let has_sent = {
                let sent = timeout(acceptor.idle.min(SILENT_TIME), stream.peek(&mut first));
                matches!(select(pin!(sent), pin!(stopped.changed())).await, Either::Left((Ok(Ok(1)), _)))
            };
            if has_sent {
                acceptor.receive(stream);
            }
        });
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        if silent.len() >= MAX_SILENT {
            silent.retain(|waiting| !waiting.is_finished());
        }
        if silent.len() >= MAX_SILENT
            && let Some(oldest) = silent.pop_front()
        {
            oldest.abort();
        }
        silent.push_back(waiting.abort_handle());
    }

    fn receive(self: &Arc<Self>, stream: TcpStream) {
        let acceptor = Arc::clone(self);
        let _ = stream.set_nodelay(true);
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            self.speaker.note(Event::Accepted);
            tokio::spawn(async move {
                acceptor.speak(stream, true).await;
                acceptor.speaker.note(Event::Ended);
                drop(permit);
            });
            return;
        }
        self.speaker.note(Event::Refused);
        if let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() {
            tokio::spawn(async move {
                let _ = timeout(REFUSAL_TIME, acceptor.speak(stream, false)).await;
                drop(permit);
            });
        }
    }

    async fn speak(&self, stream: TcpStream, admitted: bool) {
        self.speaker.speak(stream, admitted, self.stopped.clone()).await;
    }
}
