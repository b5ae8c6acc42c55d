//! One branch of a scan: its baskets, their entries, and the buffers for the values.

use std::ops::Range;
use std::sync::Arc;

use bytes::BytesMut;

use super::Column;
use super::decode::{Counts, Decoding};
use crate::column::{Arena, BufferId, BufferKind, Kind, Part, Prim};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::schema::Objects;
use crate::tree::{BasketBytes, BasketPlace, Branch, BranchId, Form, Interpretation, Tree};

/// What a scan does with one branch.
pub(super) struct Scan<'t> {
    pub(super) tree: &'t Tree,
    pub(super) branch: &'t Branch,
    pub(super) interpretation: Arc<Interpretation>,
    /// A basket, and which of its entries.
    pub(super) segments: Vec<(usize, Range<usize>)>,
    pub(super) shape: Shape,
    counts: Option<Counts>,
}

/// What a basket's header alone determines about the sizes of its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    /// Entries of one length: sizes are known from the entries.
    Fixed {
        /// Type of the numbers.
        prim: Prim,
        /// Numbers an entry.
        count: usize,
    },
    /// Lists of numbers with nothing between: sizes are known once the header is.
    List {
        /// Type of the numbers.
        prim: Prim,
        /// Numbers an item.
        per_item: usize,
    },
    /// Sizes are known once it is decoded.
    Grown,
    /// As grown; and objects behind pointers go into one table, basket by basket.
    Pointing,
}

impl<'t> Scan<'t> {
    pub(super) fn new(tree: &'t Tree, id: BranchId, entries: &Range<u64>, read: ReadBranch) -> Result<Self> {
        let branch = tree.branches().get(id).ok_or_else(|| Error::not_found("no such branch"))?;
        let place = |error: Error| tree.place(error.in_object(&branch.path).in_object(&tree.name));
        let interpretation = tree.interpretation(id)?;
        if !branch.file_name.is_empty() {
            return Err(place(Error::unsupported(format!("its baskets are in another file, {:?}", branch.file_name))));
        }
        let has = branch.entry_range();
        if !entries.is_empty() && (has.start > entries.start || has.end < entries.end) {
            let message = format!("the branch has entries {} to {}", has.start, has.end);
            return Err(place(Error::mismatch(message).wanted(entries.end, has.end)));
        }
        let baskets = branch.baskets();
        let first = baskets.partition_point(|basket| basket.entries.end <= entries.start);
        let last = baskets.partition_point(|basket| basket.entries.start < entries.end).max(first);
        let touched = first..last;
        let segments: Vec<_> = touched
            .clone()
            .map(|index| (index, crate::tree::wanted(&baskets[index].entries, entries)))
            .filter(|(_, want)| !want.is_empty())
            .collect();
        let mut covered = entries.start;
        for (index, want) in &segments {
            let start = baskets[*index].entries.start;
            if start + want.start as u64 != covered {
                let message = "a branch's baskets do not follow one another: one is missing, or is listed twice";
                let error = Error::malformed(message).in_basket(*index as u32);
                return Err(place(error.wanted(covered, start + want.start as u64)));
            }
            covered = start + want.end as u64;
        }
        if covered < entries.end {
            return Err(place(Error::malformed("a branch lacks baskets").wanted(entries.end, covered)));
        }
        let counts = match (interpretation.form, branch.leaves.first().and_then(|leaf| leaf.count)) {
            (Form::CountedBy { counter, .. }, _) => Some(read_counts(tree, counter, entries, read).map_err(place)?),
            // If a basket has no offsets, they are computed from the counts of all its entries.
            (Form::Jagged { .. }, Some((counter, _))) if counter != id && branch.io_bits & 1 != 0 => {
                let whole = match (baskets.get(touched.start), baskets[..touched.end].last()) {
                    (Some(first), Some(last)) if !touched.is_empty() => first.entries.start..last.entries.end,
                    _ => entries.clone(),
                };
                Some(read_counts(tree, counter, &whole, read).map_err(place)?)
            }
            _ => None,
        };
        let shape = shape(&interpretation);
        Ok(Self { tree, branch, interpretation, segments, shape, counts })
    }

    pub(super) fn place(&self, basket: usize) -> &'t BasketPlace {
        &self.branch.baskets()[basket]
    }

    pub(super) fn stored_bytes(&self, basket: usize) -> u64 {
        match self.place(basket).bytes {
            BasketBytes::Stored { nbytes, .. } => u64::from(nbytes),
            BasketBytes::Embedded(_) => 0,
        }
    }

    /// The most bytes that a basket can hold once inflated.
    fn most_bytes(&self, basket: usize) -> u64 {
        let limits = &self.tree.file().options().limits;
        match self.place(basket).bytes {
            BasketBytes::Stored { nbytes, .. } => u64::from(nbytes).saturating_mul(limits.expansion),
            BasketBytes::Embedded(_) => limits.object_bytes,
        }
        .min(limits.object_bytes)
    }

    pub(super) fn decoding(&self) -> Decoding<'_> {
        Decoding {
            interpretation: &self.interpretation,
            registry: self.tree.registry(),
            limits: &self.tree.file().options().limits,
            counts: self.counts.as_ref(),
        }
    }

    /// Adds where an error happened.
    pub(super) fn error(&self, basket: usize, error: Error) -> Error {
        self.name(error.in_basket(basket as u32))
    }

    /// Adds which branch it is.
    pub(super) fn name(&self, error: Error) -> Error {
        self.tree.place(error.in_object(&self.branch.path).in_object(&self.tree.name))
    }
}

/// Reads entries of a branch: a scan needs those of its counter.
pub(super) type ReadBranch = fn(&Tree, BranchId, Range<u64>) -> Result<Column>;

/// Reads the counts that a branch holds.
fn read_counts(tree: &Tree, counter: BranchId, entries: &Range<u64>, read: ReadBranch) -> Result<Counts> {
    let column = read(tree, counter, entries.clone())?;
    let (ends, kind) = match &column.kind {
        Kind::List { offsets, item, .. } => {
            let bytes = column.buffer(*offsets);
            let ends = bytes.as_chunks::<8>().0.iter().skip(1).map(|chunk| u64::from_ne_bytes(*chunk)).collect();
            (Some(ends), &**item)
        }
        kind => (None, kind),
    };
    let Kind::Number { buffer, number } = kind else {
        return Err(Error::mismatch("the branch that counts holds no numbers"));
    };
    Ok(Counts { first_entry: entries.start, ends, values: number.wholes(&column.buffer(*buffer)).collect() })
}

fn shape(interpretation: &Interpretation) -> Shape {
    if interpretation.kind.has_pointers() {
        return Shape::Pointing;
    }
    match (interpretation.form, interpretation.program.single_run()) {
        (Form::Rows | Form::RowsOrNothing, Some((prim, count))) => Shape::Fixed { prim, count },
        (Form::Jagged { prim, per_item, .. }, _) => match &interpretation.buffers[..] {
            // Buffer 0 has the numbers, buffer 1 the ends: nothing else grows.
            [BufferKind::Numbers(_), BufferKind::Ends] => Shape::List { prim, per_item },
            _ => Shape::Grown,
        },
        _ => Shape::Grown,
    }
}

/// A piece of each buffer of a result, with the number of items before it.
pub(super) type Places = Vec<(BytesMut, i64)>;

/// The column of one branch while it is filled.
pub(super) struct Answer {
    buffers: Vec<Growing>,
    /// Rows of the whole column.
    wanted: usize,
    /// Bytes that it may still use.
    left_bytes: u64,
    pub(super) rows: usize,
    pub(super) objects: Objects,
    /// Parts to reuse, with capacity for their pieces.
    pub(super) spare: Vec<(Part, Places)>,
}

/// One buffer of the column.
struct Growing {
    arena: Arena,
    kind: BufferKind,
    /// The most that is reserved at once: exact if entries have one length, else from the branch's uncompressed bytes.
    most_bytes: usize,
    is_exact: bool,
    /// Rows whose pieces were handed out.
    handed: usize,
    /// Items so far, for a buffer of ends.
    items: i64,
}

impl Growing {
    /// The next piece, for `rows` of `wanted` rows. It determines what is reserved for later ones, since baskets of a
    /// branch are similar.
    fn slot(&mut self, bytes: usize, rows: usize, wanted: usize) -> Result<BytesMut> {
        let (most, exact) = (self.most_bytes, self.is_exact);
        let left = wanted.saturating_sub(self.handed) as u128;
        let expected = move || {
            if exact {
                return most;
            }
            let alike = bytes as u128 * left / (rows as u128).max(1);
            usize::try_from(alike + alike / 8 + 64).map_or(most, |alike| alike.min(most))
        };
        let piece = match (self.kind, self.handed) {
            (BufferKind::Ends, 0) => {
                // Offsets begin with 0.
                let mut zero = self.arena.slot(8, || expected().max(bytes + 8))?;
                zero.fill(0);
                self.arena.fill(zero);
                self.arena.slot(bytes, || bytes)?
            }
            _ => self.arena.slot(bytes, expected)?,
        };
        self.handed += rows;
        Ok(piece)
    }
}

impl Answer {
    /// An empty column of `entries`.
    pub(super) fn new(scan: &Scan<'_>, memory: &Memory, entries: &Range<u64>) -> Result<Self> {
        let rows = entries.end.saturating_sub(entries.start);
        let limits = &scan.tree.file().options().limits;
        let has = scan.branch.entry_range();
        let all = (has.end - has.start).max(1);
        // Proportional to the entries, with a margin for baskets of different sizes; and no more than the baskets can
        // hold, whatever the tree's record says.
        let share = u128::from(scan.branch.tot_bytes) * u128::from(rows) / u128::from(all);
        let held = scan.segments.iter().map(|&(basket, _)| scan.most_bytes(basket));
        let held = held.fold(0_u64, u64::saturating_add);
        let share = u64::try_from(share).unwrap_or(u64::MAX).min(held);
        let bound = share.saturating_add(share / 4).saturating_add(4096);
        let mut total = share;
        let buffers = scan.interpretation.buffers.iter().map(|&kind| {
            let (most, is_exact) = match (kind, scan.shape) {
                (_, Shape::Fixed { prim, count }) => {
                    (rows.saturating_mul((count * prim.number().bytes()) as u64), true)
                }
                (BufferKind::Ends, Shape::List { .. }) => (rows.saturating_add(1).saturating_mul(8), true),
                (BufferKind::Numbers(_), Shape::List { prim, .. }) => {
                    (bound.saturating_mul(prim.number().bytes() as u64) / prim.bytes() as u64, false)
                }
                (BufferKind::Ends, _) => (rows.saturating_add(1).saturating_mul(8).saturating_add(bound), false),
                // Double32_t may take twice the bytes.
                _ => (bound.saturating_mul(2), false),
            };
            total = total.max(if is_exact { most } else { 0 });
            let (arena, most_bytes) = (Arena::new(memory), usize::try_from(most).unwrap_or(usize::MAX));
            Growing { arena, kind, most_bytes, is_exact, handed: 0, items: 0 }
        });
        let buffers: Vec<Growing> = buffers.collect();
        if total > limits.answer_bytes {
            return Err(Error::limit("the answer is larger than the limit", limits.answer_bytes, total));
        }
        let (wanted, left_bytes) = (rows as usize, limits.answer_bytes);
        Ok(Self { buffers, wanted, left_bytes, rows: 0, objects: Objects::default(), spare: Vec::new() })
    }

    /// The next piece of a buffer, as wide as `bytes`, for `rows` rows.
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) if the result becomes too large.
    pub(super) fn slot(&mut self, buffer: BufferId, bytes: usize, rows: usize) -> Result<BytesMut> {
        self.left_bytes = self
            .left_bytes
            .checked_sub(bytes as u64)
            .ok_or_else(|| Error::limit("the answer is larger than the limit", self.left_bytes, bytes as u64))?;
        self.buffers[buffer as usize].slot(bytes, rows, self.wanted)
    }

    /// Takes back a filled piece.
    pub(super) fn fill(&mut self, buffer: BufferId, slot: BytesMut) {
        self.buffers[buffer as usize].arena.fill(slot);
    }

    /// Items before the next piece of a buffer of ends; adds `items` for the piece handed out.
    pub(super) fn base(&mut self, buffer: BufferId, items: i64) -> i64 {
        let base = &mut self.buffers[buffer as usize].items;
        let before = *base;
        *base += items;
        before
    }

    /// A part to decode into.
    pub(super) fn part(&mut self, kinds: &[BufferKind]) -> (Part, Places) {
        self.spare.pop().unwrap_or_else(|| (Part::new(kinds), Vec::new()))
    }

    /// Pieces for all buffers of a part, with the items before each.
    pub(super) fn places(&mut self, kinds: &[BufferKind], part: &Part, slots: &mut Places) -> Result<()> {
        for (id, kind) in kinds.iter().enumerate() {
            let (id, rows) = (id as BufferId, part.rows);
            slots.push(match kind {
                BufferKind::Numbers(_) | BufferKind::Bytes => (self.slot(id, part.bytes(id).len(), rows)?, 0),
                BufferKind::Objects => (self.slot(id, 4 * part.words(id).len(), rows)?, 0),
                BufferKind::Ends => {
                    let words = part.words(id);
                    let base = self.base(id, i64::from(words.last().copied().unwrap_or(0)));
                    (self.slot(id, 8 * words.len(), rows)?, base)
                }
            });
        }
        Ok(())
    }

    /// The whole column.
    pub(super) fn finish(self, scan: &Scan<'_>) -> Result<Column> {
        let pointing = scan.shape == Shape::Pointing;
        let objects = pointing.then(|| Arc::new(self.objects));
        let whole = |mut buffer: Growing| {
            if buffer.handed == 0 && buffer.kind == BufferKind::Ends {
                let nothing = buffer.slot(0, 0, 0)?;
                buffer.arena.fill(nothing);
            }
            Ok(buffer.arena.join())
        };
        let buffers = self.buffers.into_iter().map(whole).collect::<Result<_>>()?;
        let registry = pointing.then(|| scan.tree.registry());
        Ok(Column::new(scan.interpretation.kind.clone(), self.rows, buffers, objects).described(registry))
    }
}

/// Copies a part to its final position, once, while it is in the cache.
pub(super) fn place(kinds: &[BufferKind], part: &Part, slots: &mut Places) {
    for ((id, kind), (slot, base)) in kinds.iter().enumerate().zip(slots) {
        let id = id as BufferId;
        match kind {
            BufferKind::Numbers(_) | BufferKind::Bytes => slot.copy_from_slice(part.bytes(id)),
            BufferKind::Ends => {
                for (out, end) in slot.as_chunks_mut::<8>().0.iter_mut().zip(part.words(id)) {
                    *out = (*base + i64::from(*end)).to_ne_bytes();
                }
            }
            BufferKind::Objects => {
                for (out, object) in slot.as_chunks_mut::<4>().0.iter_mut().zip(part.words(id)) {
                    *out = object.to_ne_bytes();
                }
            }
        }
    }
}
