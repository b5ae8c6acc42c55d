//! Baskets: sealed segments of a branch.
//!
//! Format page: `docs/format/basket.md`. Source: `TBasket::Streamer`, `TBasket::ReadBasketBuffers`.

use std::ops::Range;

use bytes::Bytes;

use super::basket_header::{BasketHeader, GENERATE_OFFSETS};
use crate::codec::{self, Scratch};
use crate::container::Key;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::wire::{Limits, Reader};

/// A basket as stored: key, header and sealed payload.
#[derive(Clone, Debug)]
pub struct Basket {
    /// Its key; the names are left out.
    pub key: Key,
    /// `fNevBuf`.
    pub entries: u32,
    /// `fNevBufSize`: bytes per entry if there are no offsets.
    pub entry_bytes: u32,
    /// `fIOBits`.
    pub io_bits: u8,
    /// `fLast`: the end of the entries, counted from the key's first byte.
    pub last: u32,
    /// Whether offsets were left out, to be computed from the counts.
    pub offsets_left_out: bool,
    payload: Bytes,
    /// Whether the payload is inflated already.
    is_inflated: bool,
}

impl Basket {
    /// Reads key and header; the payload stays sealed.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if header and record contradict each other,
    /// [`Limit`](crate::ErrorKind::Limit) for payloads that would be too large,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for features of later versions.
    pub fn read(record: Bytes, limits: &Limits) -> Result<Self> {
        let mut basket = Self::read_head(&record, record.len() as u64, limits)?;
        basket.payload = record.slice(usize::from(basket.key.keylen)..basket.key.nbytes as usize);
        Ok(basket)
    }

    /// The same for a record of which only the first bytes are given: the payload is empty.
    pub(crate) fn read_head(head: &[u8], bytes: u64, limits: &Limits) -> Result<Self> {
        let mut reader = Reader::new(head);
        let key = Key::parse_nameless(&mut reader)?;
        let wrong = |what: &'static str, expected: u64, found: u64| {
            Err(Error::malformed(what).at(key.seek_key).wanted(expected, found))
        };
        if u64::from(key.nbytes) > bytes {
            return wrong("a basket is longer than its branch says", bytes, u64::from(key.nbytes));
        }
        // Only a basket embedded in a tree's record has a key without length.
        if key.nbytes < u32::from(key.keylen) {
            return wrong("a basket is shorter than its key", u64::from(key.keylen), u64::from(key.nbytes));
        }
        let BasketHeader { entry_bytes, io_bits, entries, last, flag, .. } =
            BasketHeader::read(&mut reader).map_err(|error| error.at(key.seek_key))?;
        if entries < 0 || last < i32::from(key.keylen) || last as u64 > u64::from(key.keylen) + u64::from(key.objlen) {
            return wrong(
                "a basket's header contradicts its record",
                u64::from(key.keylen) + u64::from(key.objlen),
                last as u32 as u64,
            );
        }
        // Entries may have no bytes, so that only the limit bounds their number: each gets an offset.
        if entries as u64 > limits.object_bytes / 4 {
            return Err(Error::limit("a basket has too many entries", limits.object_bytes / 4, entries as u64));
        }
        if u64::from(key.objlen) > limits.object_bytes {
            return Err(Error::limit("a basket is larger than the limit", limits.object_bytes, u64::from(key.objlen)));
        }
        let most = u64::from(key.stored_bytes()).saturating_mul(limits.expansion);
        if key.is_compressed() && u64::from(key.objlen) > most {
            return Err(Error::limit("a basket inflates too far", most, u64::from(key.objlen)).at(key.seek_key));
        }
        Ok(Self {
            entries: entries as u32,
            entry_bytes: entry_bytes as u32,
            io_bits,
            last: last as u32,
            offsets_left_out: flag >= 80,
            payload: Bytes::new(),
            is_inflated: false,
            key,
        })
    }

    /// Bytes of entry data once inflated.
    pub(crate) fn data_bytes(&self) -> usize {
        self.last as usize - usize::from(self.key.keylen)
    }

    /// Whether an array of entry offsets follows the data.
    pub fn has_offsets(&self) -> bool {
        self.key.objlen as usize > self.data_bytes() && self.entries > 0
    }

    /// Drops the sealed payload, and with it the memory that it is a part of.
    pub(crate) fn forget_payload(&mut self) {
        self.payload = Bytes::new();
    }

    /// The same basket with its payload inflated, in memory of its own.
    ///
    /// # Errors
    ///
    /// Those of inflating; [`Limit`](crate::ErrorKind::Limit) where the system has no such memory.
    pub(crate) fn inflated(mut self, memory: &Memory, scratch: &mut Scratch) -> Result<Self> {
        if self.is_inflated {
            return Ok(self);
        }
        let mut payload = memory.try_take(self.key.objlen as usize)?;
        match self.key.is_compressed() {
            true => {
                let at = self.key.payload_at();
                codec::inflate(&self.payload, &mut payload, scratch).map_err(|error| error.behind(at))?;
            }
            // A copy: the record lies among others that were read with it.
            false => payload.copy_from_slice(self.inflate(&mut Vec::new(), scratch)?),
        }
        self.payload = memory.lend(payload);
        self.is_inflated = true;
        Ok(self)
    }

    /// Whether its payload is compressed, and has to be inflated.
    pub(super) fn is_sealed(&self) -> bool {
        self.key.is_compressed() && !self.is_inflated
    }

    /// The sealed payload.
    pub fn sealed(&self) -> &Bytes {
        &self.payload
    }

    /// Inflates the payload into `memory`, which is reused from basket to basket; one that is not compressed is read
    /// where it lies.
    pub fn unseal<'m>(&'m self, memory: &'m mut Vec<u8>, scratch: &mut Scratch) -> Result<Unsealed<'m>> {
        let at = self.key.payload_at();
        self.open(self.inflate(memory, scratch)?).map_err(|error| error.at(at))
    }

    /// The inflated payload, not interpreted.
    pub(crate) fn inflate<'m>(&'m self, memory: &'m mut Vec<u8>, scratch: &mut Scratch) -> Result<&'m [u8]> {
        let at = self.key.payload_at();
        let bytes = self.key.objlen as usize;
        if !self.is_sealed() {
            let too_short = || Error::malformed("a raw basket is too short");
            return self
                .payload
                .get(..bytes)
                .ok_or_else(|| too_short().at(at).wanted(bytes as u64, self.payload.len() as u64));
        }
        if memory.len() < bytes {
            memory.resize(bytes, 0);
        }
        let inflated = &mut memory[..bytes];
        codec::inflate(&self.payload, inflated, scratch).map_err(|error| error.behind(at))?;
        Ok(inflated)
    }

    /// Data of entries that have `width` bytes each, whatever offsets say.
    pub(super) fn strided<'m>(&self, inflated: &'m [u8], width: usize) -> Unsealed<'m> {
        let (keylen, entries) = (u32::from(self.key.keylen), self.entries as usize);
        let data = &inflated[..self.data_bytes()];
        Unsealed { data, offsets: Offsets::Fixed(width), displacements: &[], keylen, entries }
    }

    /// Finds data and offsets in an inflated payload.
    pub(super) fn open<'m>(&self, inflated: &'m [u8]) -> Result<Unsealed<'m>> {
        let keylen = u32::from(self.key.keylen);
        let (data, rest) = inflated.split_at(self.data_bytes());
        let mut offsets = Offsets::Fixed(self.entry_bytes as usize);
        let mut displacements: &[[u8; 4]] = &[];
        if rest.is_empty() || self.entries == 0 {
            if self.offsets_left_out {
                offsets = Offsets::LeftOut;
            }
        } else {
            let mut reader = Reader::new(rest);
            let table = counted(&mut reader)?;
            if table.len() < self.entries as usize {
                return Err(Error::malformed("a basket has fewer offsets than entries")
                    .wanted(u64::from(self.entries), table.len() as u64));
            }
            let table = &table[..self.entries as usize];
            offsets =
                if self.io_bits & GENERATE_OFFSETS != 0 { Offsets::Differences(table) } else { Offsets::Table(table) };
            if reader.left() >= 4 {
                displacements = counted(&mut reader)?;
            }
        }
        Ok(Unsealed { data, offsets, displacements, keylen, entries: self.entries as usize })
    }
}

fn counted<'a>(reader: &mut Reader<'a>) -> Result<&'a [[u8; 4]]> {
    let count = reader.count()?;
    Ok(reader.take(count.saturating_mul(4))?.as_chunks().0)
}

/// The starts of the entries of a basket.
#[derive(Clone, Copy, Debug)]
enum Offsets<'m> {
    /// All entries have this many bytes.
    Fixed(usize),
    /// Big-endian, counted from the key's first byte.
    Table(&'m [[u8; 4]]),
    /// Big-endian differences from entry to entry; the first is 0.
    Differences(&'m [[u8; 4]]),
    /// Native-endian, of an embedded basket.
    Native(&'m [u8]),
    /// To be computed from the counts.
    LeftOut,
}

/// A basket's entries, inflated.
#[derive(Clone, Copy, Debug)]
pub struct Unsealed<'m> {
    /// Bytes of all entries.
    pub data: &'m [u8],
    /// Bytes of the key: positions in tags count from its first byte.
    pub keylen: u32,
    /// How many entries there are.
    pub entries: usize,
    offsets: Offsets<'m>,
    displacements: &'m [[u8; 4]],
}

impl<'m> Unsealed<'m> {
    /// An embedded basket: `buffer` begins with space for a key, `offsets` are native-endian, unless they were left
    /// out.
    pub fn embedded(
        buffer: &'m [u8],
        keylen: u32,
        entries: usize,
        entry_bytes: usize,
        offsets: &'m [u8],
        are_left_out: bool,
    ) -> Result<Self> {
        let data = buffer.get(keylen as usize..).ok_or_else(|| {
            Error::malformed("an embedded basket is shorter than its key")
                .wanted(u64::from(keylen), buffer.len() as u64)
        })?;
        let offsets = match (are_left_out, offsets.is_empty()) {
            (true, _) => Offsets::LeftOut,
            (false, true) => Offsets::Fixed(entry_bytes),
            (false, false) => Offsets::Native(offsets),
        };
        Ok(Self { data, keylen, entries, offsets, displacements: &[] })
    }

    /// A basket whose writer left its offsets out.
    #[cfg(test)]
    pub(crate) fn left_out(data: &'m [u8], entries: usize) -> Self {
        Self { data, keylen: 0, entries, offsets: Offsets::LeftOut, displacements: &[] }
    }

    /// Bytes of an entry, if all have the same and there is no offset table.
    pub fn fixed_bytes(&self) -> Option<usize> {
        match self.offsets {
            Offsets::Fixed(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Whether an array says where each entry starts.
    pub(crate) fn has_offset_array(&self) -> bool {
        matches!(self.offsets, Offsets::Table(_) | Offsets::Native(_))
    }

    /// Whether offsets must be computed from the counts.
    pub fn lacks_offsets(&self) -> bool {
        matches!(self.offsets, Offsets::LeftOut)
    }

    /// Starts of all entries and the end of the last, as positions in `data`, checked to be ascending and within the
    /// data.
    pub fn starts(&self, into: &mut Vec<u32>) -> Result<()> {
        self.starts_of(0..self.entries, into)
    }

    /// Starts of some entries and the end of the last, as positions in `data`, checked to be ascending and within the
    /// data.
    pub(crate) fn starts_of(&self, wanted: Range<usize>, into: &mut Vec<u32>) -> Result<()> {
        into.clear();
        let keylen = self.keylen;
        let last = wanted.end.saturating_add(1).min(self.entries);
        match self.offsets {
            Offsets::Fixed(bytes) => {
                let step = u32::try_from(bytes).unwrap_or(u32::MAX);
                if bytes.saturating_mul(self.entries) > self.data.len() {
                    return Err(Error::malformed("a basket is too short for its entries")
                        .wanted(bytes.saturating_mul(self.entries) as u64, self.data.len() as u64));
                }
                into.extend((wanted.start as u32..=wanted.end as u32).map(|entry| entry * step));
                return Ok(());
            }
            Offsets::Table(table) => {
                let table = table.get(wanted.start..last).unwrap_or_default();
                into.extend(table.iter().map(|word| u32::from_be_bytes(*word).wrapping_sub(keylen)));
            }
            Offsets::Differences(table) => {
                let mut at = 0_u32;
                let starts = table.iter().map(|word| {
                    at = at.wrapping_add(u32::from_be_bytes(*word));
                    at
                });
                into.extend(starts.take(last).skip(wanted.start));
            }
            Offsets::Native(bytes) => {
                let words = bytes.as_chunks::<4>().0.get(wanted.start..last).unwrap_or_default();
                into.extend(words.iter().map(|word| u32::from_ne_bytes(*word).wrapping_sub(keylen)));
            }
            Offsets::LeftOut => return Err(Error::unsupported("entry offsets were left out of the basket")),
        }
        if last == wanted.end {
            into.push(self.data.len() as u32);
        }
        let end = self.data.len() as u32;
        let rising = into.len() == wanted.len() + 1
            && into.windows(2).all(|pair| pair[0] <= pair[1])
            && into.last().is_none_or(|last| *last <= end);
        if !rising {
            return Err(Error::malformed("a basket's entry offsets do not rise within its data"));
        }
        Ok(())
    }

    /// Writes the ends of lists whose items have `wide` bytes each into `into`, as `i64` counted from `base`: one per
    /// entry.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if offsets are not ascending within the data, or an entry holds no
    /// whole number of items.
    pub(crate) fn list_ends(&self, wide: u32, base: i64, into: &mut [u8]) -> Result<()> {
        let wrong = || Error::malformed("a basket's entry offsets do not fit its data");
        let Offsets::Table(table) = self.offsets else {
            let mut starts = Vec::new();
            self.starts(&mut starts)?;
            for (out, pair) in into.as_chunks_mut::<8>().0.iter_mut().zip(starts.windows(2)) {
                if pair[1] % wide != 0 {
                    return Err(wrong());
                }
                *out = (base + i64::from(pair[1] / wide)).to_ne_bytes();
            }
            return Ok(());
        };
        if table.first().is_none_or(|first| u32::from_be_bytes(*first) != self.keylen) {
            return Err(wrong());
        }
        // Checked once at the end: the bits of remainders and of backward steps are collected in the loop.
        let (mut uneven, mut before, mut backwards) = (0, 0, false);
        let end = self.data.len() as u32;
        let next = table[1..].iter().map(|word| u32::from_be_bytes(*word).wrapping_sub(self.keylen)).chain([end]);
        if wide.is_power_of_two() {
            let (shift, mask) = (wide.trailing_zeros(), wide - 1);
            for (out, at) in into.as_chunks_mut::<8>().0.iter_mut().zip(next) {
                uneven |= at & mask;
                backwards |= at < before;
                before = at;
                *out = (base + i64::from(at >> shift)).to_ne_bytes();
            }
        } else {
            for (out, at) in into.as_chunks_mut::<8>().0.iter_mut().zip(next) {
                uneven |= at % wide;
                backwards |= at < before;
                before = at;
                *out = (base + i64::from(at / wide)).to_ne_bytes();
            }
        }
        if uneven != 0 || backwards || before != end { Err(wrong()) } else { Ok(()) }
    }

    /// By how much tags in an entry are off, because a circular tree moved it.
    pub(crate) fn displacement(&self, entry: usize, start: u32) -> i64 {
        match self.displacements.get(entry) {
            Some(word) => i64::from(start) + i64::from(self.keylen) - i64::from(i32::from_be_bytes(*word)),
            None => 0,
        }
    }
}
