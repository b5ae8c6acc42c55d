//! Entries as opaque bytes: they can be cut into other baskets without being decoded.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::read::{has_offsets, needs_offsets};
use crate::tree::{BasketBytes, Branch, Tree, Unsealed};
use crate::write::basket::offsets::{Shape, offsets};

/// Consecutive entries of one branch, in the format of baskets.
#[derive(Debug, Default)]
pub(crate) struct RawEntries {
    /// Bytes of all entries.
    pub(crate) data: Vec<u8>,
    /// The start of each entry, and the end of the last.
    pub(crate) starts: Vec<usize>,
    /// Bytes of each entry, if the branch has no offsets.
    pub(crate) width: Option<usize>,
}

impl RawEntries {
    /// Adds the entries that follow.
    pub(crate) fn append(&mut self, more: Self) -> Result<()> {
        if self.starts.is_empty() {
            *self = more;
            return Ok(());
        }
        if self.width != more.width {
            return Err(Error::unsupported("entries of one size in one basket and of another in the next"));
        }
        let base = self.data.len();
        self.data.extend_from_slice(&more.data);
        self.starts.extend(more.starts.iter().skip(1).map(|start| base + start));
        Ok(())
    }

    /// The bytes of an entry; none if there are fewer.
    pub(crate) fn entry(&self, row: usize) -> Option<&[u8]> {
        self.data.get(*self.starts.get(row)?..*self.starts.get(row + 1)?)
    }

    /// These entries, in this order.
    pub(crate) fn in_order(&self, rows: &[u32]) -> Result<Self> {
        if self.starts.is_empty() {
            return Ok(Self::default());
        }
        let missing = || Error::internal("an entry that is sorted is missing");
        let mut taken = Self { width: self.width, ..Self::default() };
        taken.starts.reserve_exact(rows.len() + 1);
        taken.starts.push(0);
        let bytes = rows.iter().try_fold(0, |sum, &row| Some(sum + self.entry(row as usize)?.len()));
        taken.data.reserve_exact(bytes.ok_or_else(missing)?);
        for &row in rows {
            taken.data.extend_from_slice(self.entry(row as usize).ok_or_else(missing)?);
            taken.starts.push(taken.data.len());
        }
        Ok(taken)
    }

    /// Moves everything after the first rows out.
    pub(crate) fn split_off(&mut self, rows: usize) -> Self {
        let Some(&at) = self.starts.get(rows) else { return Self::default() };
        let starts = self.starts.iter().skip(rows).map(|start| start - at).collect();
        let rest = Self { data: self.data.split_off(at), starts, width: self.width };
        self.starts.truncate(rows + 1);
        rest
    }

    /// Bytes of rows.
    pub(crate) fn bytes_of(&self, rows: &Range<usize>) -> usize {
        self.span(rows).len()
    }

    fn span(&self, rows: &Range<usize>) -> Range<usize> {
        self.starts[rows.start]..self.starts[rows.end]
    }

    /// Appends entries in the format of a basket; none if they exceed 32-bit offsets.
    pub(crate) fn payload(&self, rows: &Range<usize>, keylen: usize, into: &mut Vec<u8>) -> Option<Shape> {
        let span = self.span(rows);
        let data_bytes = span.len();
        into.extend_from_slice(self.data.get(span.clone())?);
        if let Some(width) = self.width {
            return Some(Shape { data_bytes, width });
        }
        offsets(into, keylen, self.starts[rows.start + 1..rows.end + 1].iter().map(|end| end - span.start))?;
        Some(Shape { data_bytes, width: 0 })
    }
}

/// How entries lie in the baskets of a branch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryEncoding {
    /// Whether entries differ in length.
    varies: bool,
    /// Whether objects of an entry may refer to each other.
    has_tags: bool,
}

/// Whether the baskets of a branch hold the offsets of their entries once they are written: a basket in the record of
/// its tree is encoded anew.
pub(crate) fn offsets_once_written(tree: &Tree, branch: &Branch) -> Option<bool> {
    let first = branch.baskets().iter().find(|basket| !basket.entries.is_empty())?;
    match first.bytes {
        BasketBytes::Embedded(_) => Some(EntryEncoding::of(tree, branch).has_offsets()),
        BasketBytes::Stored { .. } => has_offsets(tree, branch),
    }
}

impl EntryEncoding {
    /// That of a branch.
    pub(crate) fn of(tree: &Tree, branch: &Branch) -> Self {
        // Some writers declare none, and have them.
        let varies = needs_offsets(tree, branch)
            .unwrap_or_else(|| branch.entry_offset_len > 0 || has_offsets(tree, branch) == Some(true));
        let may_have_tags = || tree.interpretation(branch.id).map_or(true, |found| found.program.may_have_tags());
        Self { varies, has_tags: varies && may_have_tags() }
    }

    /// Whether entries have offsets.
    pub(crate) fn has_offsets(self) -> bool {
        self.varies
    }

    /// For entries that keep their offsets in the basket: references by position stay valid.
    pub(crate) fn in_place(self) -> Self {
        Self { has_tags: false, ..self }
    }

    /// Extracts ranges of rows from a basket.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if there are fewer rows;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if entries cannot be moved.
    pub(crate) fn take(self, unsealed: &Unsealed<'_>, rows: impl Iterator<Item = Range<usize>>) -> Result<RawEntries> {
        let mut starts = Vec::new();
        unsealed.starts(&mut starts)?;
        let mut raw = RawEntries { starts: vec![0], ..RawEntries::default() };
        if !self.varies {
            let words = "a basket has entries of several lengths, and the type of its branch has one";
            let width = unsealed.fixed_bytes().or_else(|| only_length(&starts));
            raw.width = Some(width.ok_or_else(|| Error::malformed(words))?);
        }
        let too_few = || Error::malformed("a basket has fewer entries than its branch says");
        for rows in rows {
            let bounds = starts.get(rows.start..rows.end.saturating_add(1)).ok_or_else(too_few)?;
            let (Some(&first), Some(&last)) = (bounds.first(), bounds.last()) else { return Err(too_few()) };
            let base = raw.data.len();
            // There may be unused bytes after the last entry of fixed size.
            raw.data.extend_from_slice(unsealed.data.get(first as usize..last as usize).ok_or_else(too_few)?);
            raw.starts.extend(bounds.iter().skip(1).map(|&start| base + (start - first) as usize));
            if self.has_tags {
                check_tags(unsealed, rows.start, bounds)?;
            }
        }
        Ok(raw)
    }
}

/// The length of all entries with these starts; none if they differ.
fn only_length(starts: &[u32]) -> Option<usize> {
    let mut lengths = starts.windows(2).map(|pair| pair[1].checked_sub(pair[0]));
    let first = lengths.next().unwrap_or(Some(0))?;
    lengths.all(|length| length == Some(first)).then_some(first as usize)
}

/// Refuses entries whose objects may refer to each other by position: they begin and end at `bounds`.
fn check_tags(unsealed: &Unsealed<'_>, first: usize, bounds: &[u32]) -> Result<()> {
    for (index, bounds) in bounds.windows(2).enumerate() {
        let [start, end] = *bounds else { continue };
        let too_short = || Error::malformed("a basket is too short for its entries");
        let entry = unsealed.data.get(start as usize..end as usize).ok_or_else(too_short)?;
        let origin = i64::from(start) + i64::from(unsealed.keylen) - unsealed.displacement(first + index, start);
        if may_refer(entry, origin) {
            let words = "objects of an entry refer to each other by position, so that they cannot be moved";
            return Err(Error::unsupported(words));
        }
    }
    Ok(())
}

/// Whether a word of an entry may be the position of an object or a class in it, for an entry that was at `origin`.
/// ROOT can shift such words (`fDisplacement`), but shifts null pointers with them.
fn may_refer(entry: &[u8], origin: i64) -> bool {
    /// Added to positions, so that none is 0.
    const MAP_OFFSET: i64 = 2;
    const CLASS: u32 = 0x8000_0000;
    const FLAGS: u32 = 0xc000_0000;
    entry.windows(4).enumerate().any(|(at, word)| {
        let word = word.first_chunk().map_or(0, |word| u32::from_be_bytes(*word));
        let end = origin + at as i64 + MAP_OFFSET;
        // Objects are forgotten between entries; classes were not, in old files.
        match word & FLAGS == CLASS {
            true => (MAP_OFFSET..end).contains(&i64::from(word & !FLAGS)),
            false => (origin + MAP_OFFSET..end).contains(&i64::from(word)),
        }
    })
}
