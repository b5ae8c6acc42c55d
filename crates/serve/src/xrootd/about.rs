//! Answers about files and folders: handles, states, names, locations.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::iter;
use futures_util::{FutureExt, StreamExt};
use sapwood::ErrorKind;
use sapwood_store::Listed;
use sapwood_store::xrootd_numbers::{code, kind};
use twox_hash::XxHash64;

use super::auth::is_token;
use super::exchange::Exchange;
use super::open_files::OpenFile;
use super::request::Place;
use super::trouble::Trouble;
use crate::access::Secret;
use crate::opened::Opened;
use crate::path::{Path, decoded};
use crate::upstream_reads::ending;

/// Maximum number of files in a folder that are looked at because the upstream does not list their states.
const MAX_LOOKS: usize = 100;
/// Files that are looked at together.
const LOOKS: usize = 8;
/// Names are sent in frames of this length.
const FRAME_BYTES: usize = 32 << 10;
/// The lead of names with states.
const STATES: &str = ".\n0 0 0 0\n";
const OF_FOLDER: u64 = kind::FOLDER | kind::READABLE | kind::EXECUTABLE;

/// A file or a folder that has a path.
pub(super) enum About {
    File(Arc<Opened>),
    Folder,
}

impl About {
    fn stat(&self) -> String {
        match self {
            Self::File(opened) => {
                stat(XxHash64::oneshot(0, opened.etag.as_bytes()), opened.len, kind::READABLE, opened.changed)
            }
            Self::Folder => stat(0, 0, OF_FOLDER, 0),
        }
    }
}

/// A state as the protocol has it.
fn stat(id: u64, len: u64, flags: u64, changed: i64) -> String {
    format!("{id} {len} {flags} {changed}")
}

/// The state of what the upstream lists with it.
fn known(one: &Listed) -> Option<String> {
    if one.is_folder {
        return Some(About::Folder.stat());
    }
    let len = one.len?;
    let id = XxHash64::oneshot(0, format!("{}\n{len}", one.name).as_bytes());
    Some(stat(id, len, kind::READABLE, one.modified.unwrap_or(0)))
}

fn with_end(mut text: String) -> Vec<u8> {
    text.push('\0');
    text.into_bytes()
}

impl Exchange {
    pub(super) async fn open(&mut self, place: &Place, with_stat: bool) -> Result<(), Trouble> {
        let secret = self.secret(place)?;
        let about = self.about(&place.path, &secret).await?;
        let stat = with_end(about.stat());
        let About::File(opened) = about else {
            return Err(Trouble::refused(code::IS_FOLDER, "this is a folder"));
        };
        let file = OpenFile {
            path: place.path.clone(),
            secret,
            etag: opened.etag.clone(),
            len: opened.len,
            stat: stat.clone(),
        };
        let mut answer = self.session.files.add(file)?.to_vec();
        if with_stat {
            // Without compression.
            answer.extend([0; 8]);
            answer.extend(stat);
        }
        self.ok(answer.into()).await
    }

    pub(super) async fn stat(&mut self, place: &Place) -> Result<(), Trouble> {
        let about = self.about(&place.path, &self.secret(place)?).await?;
        self.ok(with_end(about.stat()).into()).await
    }

    pub(super) async fn kinds(&mut self, places: &[Place]) -> Result<(), Trouble> {
        let mut kinds = Vec::with_capacity(places.len());
        for place in places {
            let about = self.about(&place.path, &self.secret(place)?).await?;
            kinds.push(if matches!(about, About::Folder) { kind::FOLDER as u8 } else { 0 });
        }
        self.ok(kinds.into()).await
    }

    /// All files are here, as far as clients need to know.
    pub(super) async fn locate(&mut self, place: &Place) -> Result<(), Trouble> {
        self.about(&place.path, &self.secret(place)?).await?;
        let answer = with_end(format!("Sr{}", self.here));
        self.ok(answer.into()).await
    }

    pub(super) async fn list(&mut self, place: &Place, with_stat: bool) -> Result<(), Trouble> {
        let secret = self.secret(place)?;
        let listed = self.listed(&place.path, &secret).await.map_err(|error| self.trouble(&error))?;
        let unknown = || listed.iter().filter(|one| !one.is_folder && one.len.is_none());
        let with_stat = with_stat && unknown().count() <= MAX_LOOKS;
        let mut looked = Vec::new();
        if with_stat {
            let looks = unknown().map(|one| self.look(place.path.below(&one.name), secret.clone()).boxed());
            looked = iter(looks.collect::<Vec<_>>()).buffered(LOOKS).collect().await;
        }
        let mut looked = looked.into_iter();
        let lines = listed.iter().map(|one| {
            // Otherwise clients ask for each state.
            let state = with_stat.then(|| known(one).or_else(|| looked.next()).unwrap_or_default());
            state.map_or_else(|| one.name.clone(), |state| format!("{}\n{state}", one.name))
        });
        let mut text = String::from(if with_stat { STATES } else { "" });
        for line in lines {
            if text.len() + line.len() > FRAME_BYTES && !text.is_empty() {
                self.so_far(Bytes::from(std::mem::take(&mut text))).await?;
            }
            text.push_str(&line);
            text.push('\n');
        }
        // A zero is in the place of the last line's end.
        text.pop();
        self.ok(with_end(text).into()).await
    }

    /// The state of a file that the upstream lists without it.
    fn look(&self, path: Path, secret: Secret) -> impl Future<Output = String> + Send + use<> {
        let files = Arc::clone(&self.service.files);
        async move {
            match files.open(&path, &secret).await {
                Ok(opened) => About::File(opened).stat(),
                Err(_) => stat(0, 0, kind::OTHER, 0),
            }
        }
    }

    /// Finds the file or folder of a path.
    pub(super) async fn about(&self, path: &Path, secret: &Secret) -> Result<About, Trouble> {
        if path.is_top() {
            return Ok(About::Folder);
        }
        let files = &self.service.files;
        let error = match files.open(path, secret).await {
            Ok(opened) => return Ok(About::File(opened)),
            Err(error) => error,
        };
        // Upstreams that list their folders have no file of the name of one.
        if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Mismatch) {
            return Err(self.trouble(&error));
        }
        match self.listed(path, secret).await {
            Ok(_) => Ok(About::Folder),
            // Too many names to be listed.
            Err(failed) if failed.kind() == ErrorKind::Limit => Ok(About::Folder),
            Err(failed) if matches!(failed.kind(), ErrorKind::TimedOut | ErrorKind::Cancelled) => {
                Err(self.trouble(&failed))
            }
            Err(_) => Err(self.trouble(&error)),
        }
    }

    /// Names in a folder. Lists of large folders take much memory: few are made at a time.
    async fn listed(&self, path: &Path, secret: &Secret) -> sapwood::Result<Vec<Listed>> {
        let _turn = self.service.lists.acquire().await.map_err(|_| ending())?;
        self.service.files.list(path, secret).await
    }

    /// The client's rights for a path: by a token after it, or those of its session.
    pub(super) fn secret(&self, place: &Place) -> Result<Secret, Trouble> {
        let access = &self.service.files.access;
        let shown = place.rest.split('&').find_map(|part| part.strip_prefix("authz="));
        let Some(shown) = shown.filter(|_| access.passes()) else { return Ok(self.session.secret.clone()) };
        if !self.session.is_tls {
            return Err(Trouble::refused(code::TLS_REQUIRED, "a token after a path is accepted over TLS alone"));
        }
        let malformed = || Trouble::refused(code::INVALID_ARGUMENT, "the token after the path is malformed");
        let shown = decoded(shown).ok_or_else(malformed)?;
        let token = shown.strip_prefix("Bearer ").unwrap_or(&shown).trim();
        if !is_token(token) {
            return Err(malformed());
        }
        let denied = || Trouble::refused(code::NOT_AUTHORIZED, "the token is not accepted");
        access.admit_token(token).ok_or_else(denied)
    }
}
