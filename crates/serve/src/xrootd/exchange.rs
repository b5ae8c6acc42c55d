//! One request of a client that is logged in, and its answer.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use sapwood::Error;
use sapwood_store::xrootd_numbers::status;

use super::frame::{StreamId, head};
use super::open_files::{Handle, OpenFile, unknown};
use super::request::Request;
use super::service::Service;
use super::session::Session;
use super::trouble::Trouble;
use super::writer::Writer;
use crate::access::Secret;
use crate::metrics::Outcome;
use crate::opened::Opened;
use crate::path::Path;

/// A request that is being answered.
pub(super) struct Exchange {
    pub(super) service: Arc<Service>,
    pub(super) session: Arc<Session>,
    /// The connection that the request came by, and its answer goes by.
    pub(super) writer: Arc<Writer>,
    pub(super) stream: StreamId,
    /// Our end of the connection, as the client reached it.
    pub(super) here: String,
    /// The open files that the request names, as they were when it came: it may be closed by the next request.
    pub(super) files: HashMap<Handle, Arc<OpenFile>>,
    /// Whether a part of the answer was sent.
    pub(super) begun: bool,
}

impl Exchange {
    /// Answers a request, by an error if need be. Errors are that the client cannot be reached.
    pub(super) async fn answer(mut self, request: Result<Request, Trouble>) -> Result<(), Trouble> {
        let answered = match request {
            Ok(request) => self.attempt(request).await,
            Err(trouble) => Err(trouble),
        };
        match answered {
            Ok(()) => Ok(()),
            Err(Trouble::Lost) => Err(Trouble::Lost),
            Err(trouble) => self.fail(trouble).await,
        }
    }

    async fn attempt(&mut self, request: Request) -> Result<(), Trouble> {
        match request {
            Request::Open { place, with_stat } => self.open(&place, with_stat).await,
            Request::Close { handle } => {
                self.session.files.close(handle)?;
                self.ok(Bytes::new()).await
            }
            Request::Stat { place } => self.stat(&place).await,
            Request::StatOpen { handle } => {
                let stat = self.file(handle)?.stat.clone();
                self.ok(stat.into()).await
            }
            Request::Kinds { places } => self.kinds(&places).await,
            Request::List { place, with_stat } => self.list(&place, with_stat).await,
            Request::Locate { place } => self.locate(&place).await,
            Request::Checksum { place } => self.checksum(&place).await,
            Request::ChecksumOpen { handle } => self.checksum_of_open(handle).await,
            Request::Config { names } => self.config(&names).await,
            Request::Read { segment, by } => self.read(&segment, by, false).await,
            Request::ReadPages { segment, by } => self.read(&segment, by, true).await,
            Request::ReadVector { segments } => self.read_vector(&segments).await,
            Request::Nothing => self.ok(Bytes::new()).await,
            Request::Protocol { .. }
            | Request::Login
            | Request::Auth { .. }
            | Request::Bind { .. }
            | Request::End { .. } => Err(Trouble::Lost),
        }
    }

    /// An open file that the request names.
    pub(super) fn file(&self, handle: Handle) -> Result<Arc<OpenFile>, Trouble> {
        self.files.get(&handle).cloned().ok_or_else(unknown)
    }

    /// Sends the whole answer, or its last part.
    pub(super) async fn ok(&mut self, data: Bytes) -> Result<(), Trouble> {
        self.service.supply.metrics.ended(Outcome::Ok);
        self.writer.send(&head(self.stream, status::OK, data.len()), data).await
    }

    /// Sends a part of the answer.
    pub(super) async fn so_far(&mut self, data: Bytes) -> Result<(), Trouble> {
        self.begun = true;
        self.writer.send(&head(self.stream, status::SO_FAR, data.len()), data).await
    }

    async fn fail(&mut self, trouble: Trouble) -> Result<(), Trouble> {
        let trouble = if self.begun { trouble.at_last() } else { trouble };
        self.service.supply.metrics.ended(match &trouble {
            Trouble::Wait(_) => Outcome::Wait,
            _ => Outcome::Error,
        });
        fail(&self.writer, self.stream, trouble).await
    }

    /// Translates an error of the upstream for the client.
    pub(super) fn trouble(&self, error: &Error) -> Trouble {
        Trouble::of(error, &self.service.files.upstream.host)
    }

    /// The trouble of a read. The next request looks at the file again.
    pub(super) fn read_failed(&self, path: &Path, secret: &Secret, opened: &Arc<Opened>, error: &Error) -> Trouble {
        self.service.files.forget(path, secret, opened);
        self.trouble(error)
    }
}

/// Sends the reason why a request fails.
pub(super) async fn fail(writer: &Writer, stream: StreamId, trouble: Trouble) -> Result<(), Trouble> {
    let (status, data) = match trouble {
        Trouble::Lost => return Err(Trouble::Lost),
        Trouble::Wait(seconds) => (status::WAIT, seconds.to_be_bytes().to_vec()),
        Trouble::Refused(code, words) => (status::ERROR, [&code.to_be_bytes(), words.as_bytes(), &[0]].concat()),
    };
    writer.send(&head(stream, status, data.len()), data.into()).await
}
