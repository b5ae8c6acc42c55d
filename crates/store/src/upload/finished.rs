//! A finished file on this machine, as it is read to be sent.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use sapwood::{Error, ErrorKind, Result, interrupt, progress};
use tokio::time::Sleep;

/// What is read of it at once.
const STEP_BYTES: u64 = 256 << 10;

/// A finished file.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    path: PathBuf,
    file: Arc<File>,
    pub(crate) bytes: u64,
    /// So far it was read.
    at: Arc<AtomicU64>,
}

impl Finished {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let named = |error: io::Error| Error::from(error).in_file(path.to_string_lossy());
        let file = File::open(path).map_err(named)?;
        let bytes = file.metadata().map_err(named)?.len();
        Ok(Self { path: path.to_owned(), file: Arc::new(file), bytes, at: Arc::default() })
    }

    pub(crate) fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let length = range.end.min(self.bytes).saturating_sub(range.start);
        let mut buffer = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut buffer, range.start).map_err(|error| {
            let words = format!("cannot read the finished file {}", self.path.display());
            Error::new(ErrorKind::Io, words).at(range.start).because(error)
        })?;
        self.at.fetch_max(range.end, Ordering::Relaxed);
        Ok(buffer.into())
    }

    /// Does `work` in this thread, and tells how far the file was read meanwhile.
    pub(crate) fn telling<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if !progress::is_told() {
            return work();
        }
        progress::at(0, self.bytes)?;
        let (at, bytes) = (Arc::clone(&self.at), self.bytes);
        interrupt::also_heeding(move || progress::at(at.load(Ordering::Relaxed), bytes), work)
    }

    pub(crate) fn adler32(&self) -> Result<u32> {
        sapwood::merge::adler32(&self.path)
    }

    /// Cut into ranges of at most so many bytes.
    pub(crate) fn parts(&self, bytes: u64) -> impl Iterator<Item = Range<u64>> + use<> {
        let all = self.bytes;
        (0..all.div_ceil(bytes.max(1))).map(move |number| number * bytes..((number + 1) * bytes).min(all))
    }
}

/// The file as the body of a request.
///
/// It is read in the threads of the network, where a step of a file that was just written waits for no disk.
#[derive(Debug)]
pub(crate) struct Body {
    file: Finished,
    at: u64,
    sent: Arc<AtomicU64>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Body {
    /// The first byte follows after `pause`, so that the server can refuse the request, or send it elsewhere, by its
    /// head. `sent` counts bytes.
    pub(crate) fn new(file: &Finished, sent: Arc<AtomicU64>, pause: Duration) -> Self {
        let pause = (!pause.is_zero()).then(|| Box::pin(tokio::time::sleep(pause)));
        Self { file: file.clone(), at: 0, sent, pause }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>>>> {
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        let (start, end) = (self.at, (self.at + STEP_BYTES).min(self.file.bytes));
        if start == end {
            return Poll::Ready(None);
        }
        let read = self.file.read(start..end);
        self.at = end;
        self.sent.fetch_add(end - start, Ordering::Relaxed);
        Poll::Ready(Some(read.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.at == self.file.bytes
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.file.bytes - self.at)
    }
}
