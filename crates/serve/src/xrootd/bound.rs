//! Further connections of a session, which carry answers alone.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::select;
use sapwood_store::xrootd_numbers::status;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::exchange::fail;
use super::frame::{StreamId, head};
use super::session::Session;
use super::trouble::Trouble;
use super::writer::Writer;

/// Joins a session, until it or this connection ends.
pub(super) async fn serve(
    session: &Arc<Session>,
    stream: StreamId,
    writer: &Arc<Writer>,
    reader: &mut (impl AsyncRead + Unpin),
) -> Result<(), Trouble> {
    let mut ended = session.ended();
    let number = match session.bind(writer) {
        Ok(number) => number,
        Err(trouble) => {
            fail(writer, stream, trouble).await?;
            return Err(Trouble::Lost);
        }
    };
    // Also if this is dropped in the middle.
    let _path = BoundPath { session, number };
    let answer = Bytes::copy_from_slice(&[number]);
    if writer.send(&head(stream, status::OK, 1), answer).await.is_ok() {
        // Clients send nothing more by it: anything that comes is its end.
        let mut byte = [0];
        let more = pin!(reader.read(&mut byte));
        let broke = pin!(writer.broke());
        let over = pin!(ended.wait_for(|ended| *ended));
        select(select(more, broke), over).await;
    }
    Err(Trouble::Lost)
}

/// A further connection of a session, as long as it is served.
struct BoundPath<'s> {
    session: &'s Session,
    number: u8,
}

impl Drop for BoundPath<'_> {
    fn drop(&mut self) {
        self.session.unbind(self.number);
    }
}
