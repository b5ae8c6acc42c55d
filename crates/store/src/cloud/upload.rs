//! Files that are sent to clouds: in one request, or in parts that become a file when all are there.

use std::fmt;
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use object_store::{MultipartUpload, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult};
use sapwood::io::Store;
use sapwood::{Error, ErrorKind, Result};

use super::url::{CloudUrl, words};
use super::{Bucket, CloudStore, Login};
use crate::NetOptions;
use crate::net::{block_on, link};
use crate::upload::{Finished, Remote, Step, check_ends, exists};

/// A longer file is sent in parts, each of at least so many bytes.
const PART_BYTES: u64 = 16 << 20;
/// The most parts that every cloud takes.
const MOST_PARTS: u64 = 10_000;
/// Parts that are on their way at a time.
const PARALLEL: usize = 4;
/// A part is handed on in pieces of so many bytes.
const PIECE_BYTES: usize = 256 << 10;

/// A file that is sent to a bucket.
pub(crate) struct CloudUpload {
    url: String,
    login: Login,
    options: NetOptions,
}

impl fmt::Debug for CloudUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CloudUpload").field(&self.login).finish()
    }
}

impl CloudUpload {
    pub(crate) fn new(url: &str, options: &NetOptions) -> Result<Self> {
        let place = CloudUrl::parse(url)?;
        let named = |error: Error| error.in_file(Arc::clone(&place.name));
        let link = link(options).map_err(named)?;
        let login = Login { place: place.clone(), settings: options.clouds.clone(), timeout: options.timeout };
        login.bucket(&link).map_err(named)?;
        Ok(Self { url: url.to_owned(), login, options: options.clone() })
    }

    fn store(&self) -> Result<CloudStore> {
        CloudStore::new(&self.url, &self.options)
    }

    /// What is there under the name; that asks for the region of the bucket, too.
    fn is_there(&self) -> Result<bool> {
        match self.store()?.ends(1, 0) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn put_whole(&self, bucket: &Bucket, file: &Finished, replaces: bool) -> Result<PutResult> {
        let mode = if replaces { PutMode::Overwrite } else { PutMode::Create };
        let options = PutOptions { mode, ..PutOptions::default() };
        let content = payload(file, 0..file.bytes)?;
        bucket.store.put_opts(&self.login.place.key, content, options).await.map_err(refused)
    }

    async fn put_parts(&self, parts: &mut dyn MultipartUpload, file: &Finished) -> Result<()> {
        let bytes = PART_BYTES.max(file.bytes.div_ceil(MOST_PARTS));
        let mut waiting = file.parts(bytes);
        let mut begin = |range| payload(file, range).map(|content| parts.put_part(content));
        let mut working = FuturesUnordered::new();
        for range in waiting.by_ref().take(PARALLEL) {
            working.push(begin(range)?);
        }
        while let Some(done) = working.next().await {
            done.map_err(refused)?;
            if let Some(range) = waiting.next() {
                working.push(begin(range)?);
            }
        }
        Ok(())
    }

    /// Sends and names the file.
    fn send(&self, bucket: &Bucket, file: &Finished, replaces: bool, step: &mut dyn FnMut(Step)) -> Result<PutResult> {
        if file.bytes <= PART_BYTES {
            return block_on(self.put_whole(bucket, file, replaces));
        }
        let begun = bucket.store.put_multipart_opts(&self.login.place.key, PutMultipartOptions::default());
        let mut parts = block_on(async { begun.await.map_err(refused) })?;
        let sent = block_on(self.put_parts(&mut *parts, file)).and_then(|()| {
            // Each part has a checksum in its signature, which the cloud has compared.
            step(Step::Naming);
            if !replaces && self.is_there()? {
                return Err(exists());
            }
            block_on(async { parts.complete().await.map_err(refused) })
        });
        if sent.is_err() {
            // Parts are no file, but they are paid for.
            let _ = block_on(async { parts.abort().await.map_err(refused) });
        }
        sent
    }

    fn check(&self, file: &Finished, put: &PutResult) -> Result<()> {
        let store = self.store()?;
        let tag = |text: &str| text.replace("&quot;", "").trim_matches('"').to_owned();
        let found = store.ends(0, 0)?.identity.validator;
        if let (Some(put), Some(found)) = (&put.e_tag, &found)
            && tag(put) != tag(found)
        {
            return Err(Error::new(ErrorKind::Changed, "another file was given the name meanwhile"));
        }
        check_ends(file, &store)
    }
}

impl Remote for CloudUpload {
    fn name(&self) -> &str {
        &self.login.place.name
    }

    fn file_name(&self) -> &str {
        self.login.place.key.filename().unwrap_or_default()
    }

    fn exists(&self) -> Result<bool> {
        self.is_there()
    }

    fn put(&self, file: &Finished, replaces: bool, step: &mut dyn FnMut(Step)) -> Result<()> {
        let mut put = || {
            // Amazon says by a read where the bucket is.
            if self.is_there()? && !replaces {
                return Err(exists());
            }
            let link = link(&self.options)?;
            let bucket = self.login.bucket(&link)?;
            let _inside = link.runtime.enter();
            let put = self.send(&bucket, file, replaces, step)?;
            step(Step::Checking);
            let checked = self.check(file, &put);
            if checked.as_ref().is_err_and(|error| error.kind() == ErrorKind::Checksum) {
                let _ = block_on(async { bucket.store.delete(&self.login.place.key).await.map_err(refused) });
            }
            checked
        };
        put().map_err(|error| error.in_file(Arc::clone(&self.login.place.name)))
    }
}

/// A range of the file, as it is sent.
fn payload(file: &Finished, range: std::ops::Range<u64>) -> Result<PutPayload> {
    let bytes = file.read(range)?;
    let pieces = (0..bytes.len()).step_by(PIECE_BYTES);
    Ok(pieces.map(|start| bytes.slice(start..bytes.len().min(start + PIECE_BYTES))).collect())
}

/// What the cloud said.
fn refused(error: object_store::Error) -> Error {
    use object_store::Error as Refusal;
    let why = words(&error);
    let kind = match &error {
        Refusal::AlreadyExists { .. } | Refusal::Precondition { .. } => return exists().because(why),
        Refusal::NotFound { .. } => ErrorKind::NotFound,
        Refusal::PermissionDenied { .. } | Refusal::Unauthenticated { .. } => ErrorKind::Denied,
        Refusal::NotSupported { .. } | Refusal::NotImplemented { .. } => ErrorKind::Unsupported,
        _ => ErrorKind::Io,
    };
    Error::new(kind, "the cloud refused").because(why)
}
