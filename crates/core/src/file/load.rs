//! What is read from the store: the root directory, lists of keys, payloads, infos, and all records one by one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::walk::Placed;
use super::{Inner, Listing};
use crate::codec::{self, Block, LentScratch, MAX_BLOCK_BYTES};
use crate::container::{Directory, Key, Record, read_key_list};
use crate::error::{Error, ErrorKind, Result};
use crate::io::{ByteRange, load};
use crate::schema::{Description, Registry, StreamerInfo, read_infos_and_rules};
use crate::wire::Reader;

/// The first version of ROOT whose own classes are taken as ROOT 6.40 describes them, if a file describes none.
const MIN_ASSUMED_VERSION: i32 = 50_000;

impl Inner {
    /// Finds the root directory and its keys; walks the records if the list was never written, or is lost.
    pub(super) fn load_root(&mut self) -> Result<()> {
        self.load_root_keys().map_err(|error| match self.is_cut_off() && error.is_about_bytes() {
            // What cannot be read is in the part that is missing.
            true => Error::malformed("the file is cut off: it is shorter than its header says")
                .wanted(self.header.end, self.identity.len)
                .because(error),
            false => error,
        })
    }

    pub(super) fn is_cut_off(&self) -> bool {
        self.identity.len < self.header.end
    }

    fn load_root_keys(&mut self) -> Result<()> {
        let begin = u64::from(self.header.begin);
        self.root_key = self.key_at(begin)?;
        let at = begin + u64::from(self.header.nbytes_name);
        let bytes = self.read_up_to(at, 80)?;
        self.root = Directory::read(&mut Reader::new(&bytes)).map_err(|error| error.at(at))?;
        // A file that is shorter than its header says may have lost its list of keys, or only what came behind.
        let listed = match self.root.seek_keys {
            0 => Err(Error::malformed("the list of keys was never written")),
            seek => self.load_keys(seek, self.root.nbytes_keys),
        };
        match listed {
            Ok(keys) => self.keys = Arc::new(Listing::new(keys)),
            // A store that fails says nothing about the file.
            Err(error) if !error.is_about_bytes() => return Err(error),
            Err(error) => {
                let found = self.recover()?;
                if found.is_empty() && self.root.seek_keys != 0 {
                    return Err(error);
                }
                self.keys = Arc::new(Listing::new(found));
                self.recovered = true;
            }
        }
        Ok(())
    }

    fn load_keys(&self, seek: u64, nbytes: u32) -> Result<Vec<Key>> {
        let key = self.key_at(seek)?;
        let payload = if nbytes == key.nbytes || key.nbytes > 0 {
            self.payload(&key)?
        } else {
            return Err(Error::malformed("the list of keys is empty").at(seek));
        };
        let mut reader = Reader::with_origin(&payload, usize::from(key.keylen));
        read_key_list(&mut reader, &self.options.limits).map_err(|error| error.in_object("list of keys"))
    }

    /// The keys below a directory's key.
    pub(super) fn directory_keys(&self, key: &Key) -> Result<Arc<Listing>> {
        if let Ok(known) = self.directories.read()
            && let Some(listing) = known.get(&key.seek_key)
        {
            return Ok(Arc::clone(listing));
        }
        let payload = self.payload(key)?;
        let directory = Directory::read(&mut Reader::with_origin(&payload, usize::from(key.keylen)))?;
        let keys = match directory.seek_keys {
            0 => Vec::new(),
            seek => self.load_keys(seek, directory.nbytes_keys)?,
        };
        let listing = Arc::new(Listing::new(keys));
        if let Ok(mut known) = self.directories.write() {
            known.insert(key.seek_key, Arc::clone(&listing));
        }
        Ok(listing)
    }

    pub(super) fn payload(&self, key: &Key) -> Result<Bytes> {
        let bytes = self.stored_payload(key)?;
        self.inflated(key, bytes)
    }

    /// The payload of a record as it is stored.
    fn stored_payload(&self, key: &Key) -> Result<Bytes> {
        let start = key.payload_at();
        let limits = &self.options.limits;
        if u64::from(key.objlen) > limits.object_bytes {
            return Err(Error::limit("an object is larger than the limit", limits.object_bytes, u64::from(key.objlen)));
        }
        self.read(start..start.saturating_add(u64::from(key.stored_bytes())))
    }

    /// The payload of a record, of which these bytes are stored.
    fn inflated(&self, key: &Key, bytes: Bytes) -> Result<Bytes> {
        if !key.is_compressed() {
            return Ok(bytes);
        }
        let (start, stored) = (key.payload_at(), u64::from(key.stored_bytes()));
        let limits = &self.options.limits;
        if u64::from(key.objlen) > stored.saturating_mul(limits.expansion) {
            return Err(Error::limit(
                "an object inflates too far",
                stored.saturating_mul(limits.expansion),
                u64::from(key.objlen),
            )
            .at(start));
        }
        let mut inflated = vec![0; key.objlen as usize];
        self.inflate(&bytes, &mut inflated).map_err(|error| error.behind(start))?;
        Ok(inflated.into())
    }

    /// Inflates a chain, whose blocks may go to several threads: records of trees with many branches have some.
    fn inflate(&self, bytes: &[u8], into: &mut [u8]) -> Result<()> {
        let session = &self.options.session;
        let pool = if into.len() > MAX_BLOCK_BYTES { session.pool() } else { None };
        if pool.is_none() {
            return codec::inflate(bytes, into, &mut session.scratches().take());
        }
        let mut parts = Vec::new();
        let mut rest = into;
        let mut damaged = Ok(());
        for block in codec::blocks(bytes, rest.len()) {
            let block = match block {
                Ok(block) => block,
                // What is before it comes first.
                Err(error) => {
                    damaged = Err(error);
                    break;
                }
            };
            let (part, behind) = std::mem::take(&mut rest)
                .split_at_mut_checked(block.unsealed.len())
                .ok_or_else(|| Error::internal("a block is outside of what its chain holds"))?;
            parts.push((parts.len(), block, Mutex::new(part)));
            rest = behind;
        }
        let one = |scratch: &mut LentScratch, (number, block, part): &(usize, Block, Mutex<&mut [u8]>)| {
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(block.inflate(bytes, &mut part, scratch).map_err(|error| error.in_block(*number)))
        };
        // Whichever is done first, the error is that of the first damaged block.
        session.map_on(pool, &parts, || session.scratches().take(), one)?.into_iter().collect::<Result<()>>()?;
        damaged
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        if range.start > range.end || range.end > self.identity.len {
            return Err(Error::malformed("a record reaches beyond the end of the file")
                .at(range.start)
                .wanted(range.end, self.identity.len));
        }
        let slice = |bytes: &Bytes, start: u64| {
            let from = range.start.checked_sub(start)? as usize;
            let to = (range.end - start) as usize;
            (to <= bytes.len()).then(|| bytes.slice(from..to))
        };
        let tail_start = self.identity.len - self.tail.len() as u64;
        if let Some(known) = slice(&self.head, 0).or_else(|| slice(&self.tail, tail_start)) {
            return Ok(known);
        }
        let mut read = load(&*self.store, std::slice::from_ref(&range))?;
        read.pop().ok_or_else(|| Error::new(ErrorKind::Io, "the store delivered nothing").at(range.start))
    }

    /// At most `bytes` bytes: fewer at the end of the file.
    pub(super) fn read_up_to(&self, at: u64, bytes: u64) -> Result<Bytes> {
        let end = at.saturating_add(bytes).min(self.identity.len);
        self.read(at.min(end)..end)
    }

    pub(super) fn load_infos(&self) -> Result<Vec<StreamerInfo>> {
        self.load_infos_and_rules().map(|(infos, _)| infos)
    }

    /// The key of the record of infos, if there is one.
    fn info_key(&self) -> Result<Option<Key>> {
        let header = &self.header;
        let mut seek = header.seek_info;
        if self.recovered {
            // The newest info record found by the walk counts.
            let found = self.records()?.into_iter().rev().find_map(|Placed { at, record }| match record {
                Record::Key(key) if &*key.name == "StreamerInfo" && &*key.class == "TList" => Some(at),
                _ => None,
            });
            seek = found.unwrap_or(seek);
        }
        if seek == 0 || seek >= self.identity.len {
            return Ok(None);
        }
        match self.key_at(seek) {
            // It is in the part that is missing, or reaches into it.
            Ok(key) if self.is_cut_off() && key.room().end > self.identity.len => Ok(None),
            Err(error) if self.is_cut_off() && error.is_about_bytes() => Ok(None),
            found => found.map(Some),
        }
    }

    /// The payload of the record of infos as it is stored, if there is one.
    pub(super) fn stored_infos(&self) -> Result<Option<Bytes>> {
        self.info_key()?.map(|key| self.stored_payload(&key)).transpose()
    }

    /// The infos, and the rules of schema evolution that stand beside them.
    pub(super) fn load_infos_and_rules(&self) -> Result<(Vec<StreamerInfo>, Vec<String>)> {
        match self.info_key()? {
            Some(key) => self.infos_in(&key, self.payload(&key)?),
            None => Ok(Default::default()),
        }
    }

    fn infos_in(&self, key: &Key, payload: Bytes) -> Result<(Vec<StreamerInfo>, Vec<String>)> {
        read_infos_and_rules(&payload, usize::from(key.keylen), &self.options.limits)
            .map_err(|error| error.in_object("StreamerInfo"))
    }

    /// The classes that the file describes, shared with other files of its session that describe the same.
    pub(super) fn load_registry(&self) -> Result<Arc<Registry>> {
        let file_version = self.header.version;
        let Some(key) = self.info_key()? else {
            if self.is_cut_off() && self.header.seek_info != 0 {
                let words = "the file is cut off, and the description of its classes is in the part that is missing: \
                             `sapwood recover` brings back what is whole";
                return Err(Error::malformed(words).wanted(self.header.end, self.identity.len));
            }
            // Versions before describe no classes, and streamed some of ROOT's own in other ways.
            let may_assume = self.header.seek_info == 0 && file_version >= MIN_ASSUMED_VERSION;
            return Ok(Arc::new(if may_assume {
                Registry::of_root(file_version)
            } else {
                Registry::new(Vec::new(), file_version)
            }));
        };
        let stored = self.stored_payload(&key)?;
        let description = Description { stored, keylen: key.keylen, objlen: key.objlen, file_version };
        self.options.session.registries().find_or_read(&description, || {
            let (infos, _) = self.infos_in(&key, self.inflated(&key, description.stored.clone())?)?;
            Ok(Registry::new(infos, file_version))
        })
    }

    /// The keys of the root directory, by walking the records as `TFile::Recover` does.
    fn recover(&mut self) -> Result<Vec<Key>> {
        self.recovered = true;
        let root = self.root.seek_dir.max(u64::from(self.header.begin));
        let walked = self.records()?;
        let mut keys: Vec<Key> = Vec::new();
        let mut places: HashMap<(Arc<str>, u16), usize> = HashMap::new();
        for Placed { at, record } in walked {
            if let Record::Key(mut key) = record
                && key.seek_pdir == root
                && !matches!(&*key.class, "TFile" | "TBasket" | "")
                && !(&*key.name == "StreamerInfo" && &*key.class == "TList")
                && at != root
            {
                key.seek_key = at;
                // The later record of a name and cycle counts.
                match places.entry((Arc::clone(&key.name), key.cycle)) {
                    Entry::Occupied(place) => keys[*place.get()] = key,
                    Entry::Vacant(place) => {
                        place.insert(keys.len());
                        keys.push(key);
                    }
                }
            }
        }
        Ok(keys)
    }
}
