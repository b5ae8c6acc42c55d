//! The sending half of a connection. Answers to several requests take turns on it, a frame at a time.

use std::io;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, WriteHalf};
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit, watch};

use super::trouble::Trouble;

/// Pieces of files that are in memory for a connection: one that is being sent, and the next.
const PIECES: usize = 2;

/// A connection, with TLS or without.
pub(super) trait Wire: AsyncRead + AsyncWrite + Unpin + Send + Sync {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + Sync> Wire for T {}

/// The sending half of a connection.
pub(super) struct Writer {
    half: Mutex<WriteHalf<Box<dyn Wire>>>,
    pieces: Semaphore,
    /// True once a frame could not be sent whole: nothing that follows would make sense.
    broken: watch::Sender<bool>,
}

impl Writer {
    pub(super) fn new(half: WriteHalf<Box<dyn Wire>>) -> Self {
        let (broken, _) = watch::channel(false);
        Self { half: Mutex::new(half), pieces: Semaphore::new(PIECES), broken }
    }

    /// Room for a piece of a file.
    pub(super) async fn room(&self) -> Result<SemaphorePermit<'_>, Trouble> {
        self.pieces.acquire().await.map_err(|_| Trouble::Lost)
    }

    /// Sends a frame.
    pub(super) async fn send(&self, head: &[u8], data: Bytes) -> Result<(), Trouble> {
        let mut frame = self.frame().await?;
        frame.put(head, data).await?;
        frame.end().await
    }

    /// Begins a frame that is sent in pieces. Others wait until it ends.
    pub(super) async fn frame(&self) -> Result<Frame<'_>, Trouble> {
        let half = self.half.lock().await;
        if *self.broken.borrow() {
            return Err(Trouble::Lost);
        }
        Ok(Frame { half, broken: &self.broken, is_whole: false })
    }

    /// Waits until a frame could not be sent whole.
    pub(super) async fn broke(&self) {
        // The sender lives as long as this.
        let _ = self.broken.subscribe().wait_for(|broken| *broken).await;
    }
}

/// A frame that is being sent. Unless it is ended, the connection is.
pub(super) struct Frame<'a> {
    half: MutexGuard<'a, WriteHalf<Box<dyn Wire>>>,
    broken: &'a watch::Sender<bool>,
    is_whole: bool,
}

impl Frame<'_> {
    pub(super) async fn put(&mut self, head: &[u8], data: Bytes) -> Result<(), Trouble> {
        lost(self.half.write_all_buf(&mut head.chain(data)).await)
    }

    pub(super) async fn end(mut self) -> Result<(), Trouble> {
        lost(self.half.flush().await)?;
        self.is_whole = true;
        Ok(())
    }
}

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        if !self.is_whole {
            self.broken.send_replace(true);
        }
    }
}

fn lost<T>(done: io::Result<T>) -> Result<T, Trouble> {
    done.map_err(|_| Trouble::Lost)
}
