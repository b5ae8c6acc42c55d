//! One branch of a scan: its baskets, their entries, and the buffers for the values.

use std::ops::Range;
use std::sync::Arc;

use bytes::BytesMut;

use super::decode::{Counts, Decoding};
use super::selection::Piece;
use super::{Column, Selection};
use crate::column::{Arena, BufferId, BufferKind, Kind, Part, Prim, ends};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::schema::Objects;
use crate::tree::{Basket, BasketBytes, BasketPlace, Branch, BranchId, Form, Interpretation, Tree};

/// What a scan does with one branch.
pub(super) struct Scan<'t> {
    pub(super) tree: &'t Tree,
    pub(super) branch: &'t Branch,
    pub(super) interpretation: Arc<Interpretation>,
    /// The entries that are read.
    pub(super) selection: Selection,
    /// The baskets that hold them.
    pub(super) pieces: Vec<Piece>,
    pub(super) shape: Shape,
    /// The branch that counts for this one, and the entries of which its counts are needed.
    pub(super) counted_by: Option<(BranchId, Selection)>,
    /// The counts, once they were read.
    pub(super) counts: Option<Arc<Counts>>,
    /// The first of the baskets, if a step before this one carried it over.
    carried: Option<Basket>,
    /// Whether a basket that is cut is carried over to the next step.
    carries: bool,
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
    /// Finds the baskets. Reads none of them.
    pub(super) fn new(tree: &'t Tree, id: BranchId, selection: &Selection) -> Result<Self> {
        let branch = tree.branches().get(id).ok_or_else(|| Error::not_found("no such branch"))?;
        let place = |error: Error| tree.place(error.in_object(&branch.path).in_object(&tree.name));
        let interpretation = tree.interpretation(id)?;
        let (has, wanted) = (branch.entry_range(), selection.span());
        if !selection.is_empty() && (has.start > wanted.start || has.end < wanted.end) {
            let message = format!("the branch has entries {} to {}", has.start, has.end);
            return Err(place(Error::mismatch(message).wanted(wanted.end, has.end)));
        }
        let pieces = selection.pieces(branch.baskets()).map_err(place)?;
        let counted_by = match (interpretation.form, branch.leaves.first().and_then(|leaf| leaf.count)) {
            (Form::CountedBy { counter, .. }, _) => Some((counter, selection.clone())),
            // If a basket has no offsets, they are computed from the counts of all its entries.
            (Form::Jagged { .. }, Some((counter, _))) if counter != id && branch.io_bits & 1 != 0 => {
                let whole = pieces.iter().map(|piece| branch.baskets()[piece.basket].entries.clone());
                Some((counter, Selection::of_ranges(whole).map_err(place)?))
            }
            _ => None,
        };
        let mut shape = shape(&interpretation);
        let is_part = |piece: &&Piece| {
            let held = &branch.baskets()[piece.basket].entries;
            piece.rows as u64 != held.end - held.start
        };
        if matches!(shape, Shape::List { .. }) && pieces.iter().filter(is_part).count() > MOST_PARTS {
            // The headers do not tell the sizes.
            shape = Shape::Grown;
        }
        let selection = selection.clone();
        let carries = tree.carried().is_wanted();
        let stored_at = |piece: &Piece| branch.baskets()[piece.basket].stored_at();
        let first = if carries { pieces.first().and_then(stored_at) } else { None };
        let carried = first.and_then(|seek| tree.carried().get((seek, 0)));
        Ok(Self { tree, branch, interpretation, selection, pieces, shape, counted_by, counts: None, carried, carries })
    }

    /// A basket that the step before carried over.
    pub(super) fn carried(&self, basket: usize) -> Option<&Basket> {
        let is_first = || self.pieces.first().is_some_and(|first| first.basket == basket);
        self.carried.as_ref().filter(|_| is_first())
    }

    /// Whether a basket reaches beyond the last entry that is read, and is carried over.
    pub(super) fn carries(&self, basket: usize) -> bool {
        self.carries
            && self.pieces.last().is_some_and(|last| last.basket == basket)
            && self.selection.span().end < self.place(basket).entries.end
    }

    /// What is wanted of a basket: ascending ranges, counted from its first entry.
    pub(super) fn wanted(&self, piece: &Piece) -> impl DoubleEndedIterator<Item = Range<usize>> + Clone + use<'_> {
        self.selection.rows(piece, &self.place(piece.basket).entries)
    }

    /// Whether a branch counts for this one, and has its counts for these entries.
    pub(super) fn is_counted_by(&self, id: BranchId, entries: &Selection) -> bool {
        self.counted_by.as_ref().is_some_and(|(counter, needed)| *counter == id && needed.is_within(entries))
    }

    pub(super) fn place(&self, basket: usize) -> &'t BasketPlace {
        &self.branch.baskets()[basket]
    }

    /// Bytes of a basket as stored, also where it is carried over and not read.
    pub(super) fn all_bytes(&self, basket: usize) -> u64 {
        match self.place(basket).bytes {
            BasketBytes::Stored { nbytes, .. } => u64::from(nbytes),
            BasketBytes::Embedded(_) => 0,
        }
    }

    /// Bytes of a basket that are read.
    pub(super) fn stored_bytes(&self, basket: usize) -> u64 {
        if self.carried(basket).is_some() { 0 } else { self.all_bytes(basket) }
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
            counts: self.counts.as_deref(),
        }
    }

    /// Adds where an error happened.
    pub(super) fn error(&self, basket: usize, error: Error) -> Error {
        self.name(error.in_basket(basket as u32))
    }

    /// Where its file ends; of another file only the store knows.
    pub(super) fn file_end(&self) -> u64 {
        if self.branch.file_name.is_empty() { self.tree.file().identity().len } else { u64::MAX }
    }

    /// Adds which branch it is.
    pub(super) fn name(&self, error: Error) -> Error {
        let is_here = self.branch.file_name.is_empty();
        let error = if is_here { error } else { error.in_file(Arc::clone(&self.branch.file_name)) };
        self.tree.place(error.in_object(&self.branch.path).in_object(&self.tree.name))
    }
}

/// Lists in more baskets than this of which only some entries are wanted are decoded in any order, and copied to their
/// place; in fewer (the first one and the last one of a range) they are decoded in order.
const MOST_PARTS: usize = 2;

impl Counts {
    /// The counts in a column of them.
    pub(super) fn new(entries: &Selection, column: &Column) -> Result<Self> {
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
        Ok(Self { entries: entries.clone(), ends, values: number.wholes(&column.buffer(*buffer)).collect() })
    }
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

/// Bytes of all rows that are left, with a margin, by those of some which take `here` of the `left` bytes in baskets.
fn expected(bytes: usize, (left, here): (u64, u64)) -> usize {
    let expected = bytes as u128 * u128::from(left) / u128::from(here).max(1);
    usize::try_from(expected + expected / 8 + 64).unwrap_or(usize::MAX)
}

/// A piece of each buffer of a result, with the number of items before it.
pub(super) type Places = Vec<(BytesMut, i64)>;

/// The column of one branch while it is filled.
pub(super) struct Answer {
    buffers: Vec<Growing>,
    /// Bytes in baskets, before compression, of the rows that have no pieces yet.
    undecoded: u64,
    /// Bytes that it may still use.
    left_bytes: u64,
    pub(super) rows: usize,
    pub(super) objects: Objects,
    memory: Memory,
    /// The rows of baskets that are decoded one after another: its numbers and texts are those of the column.
    growing: Option<Part>,
    /// Whether there is memory for the objects behind pointers, and the most that is reserved for a member of theirs.
    is_sized: bool,
    most_bytes: usize,
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
    /// Bytes so far, where they stay in a part.
    kept_bytes: usize,
}

impl Growing {
    /// Bytes to reserve, by those of the last piece.
    fn expected(&self, bytes: usize, shares: (u64, u64)) -> usize {
        if self.is_exact { self.most_bytes } else { expected(bytes, shares).min(self.most_bytes) }
    }

    /// The next piece, for `rows` rows. It determines what is reserved for later ones, by the bytes that all rows which
    /// are left take in baskets, and those that these take `here`.
    fn slot(&mut self, bytes: usize, rows: usize, shares: (u64, u64)) -> Result<BytesMut> {
        let expected = self.expected(bytes, shares);
        let piece = match (self.kind, self.handed) {
            (BufferKind::Ends, 0) => {
                // Offsets begin with 0.
                let mut zero = self.arena.slot(8, || expected.max(bytes + 8))?;
                zero.fill(0);
                self.arena.fill(zero);
                self.arena.slot(bytes, || bytes)?
            }
            _ => self.arena.slot(bytes, || expected)?,
        };
        self.handed += rows;
        Ok(piece)
    }
}

impl Answer {
    /// An empty column of the entries of a scan.
    pub(super) fn new(scan: &Scan<'_>, memory: &Memory) -> Result<Self> {
        let rows = scan.selection.len();
        let limits = &scan.tree.file().options().limits;
        let has = scan.branch.entry_range();
        let all = (has.end - has.start).max(1);
        // Proportional to the entries, with a margin for baskets of different sizes; and no more than the baskets can
        // hold, whatever the tree's record says.
        let share = u128::from(scan.branch.tot_bytes) * u128::from(rows) / u128::from(all);
        let held = scan.pieces.iter().map(|piece| scan.most_bytes(piece.basket));
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
            Growing { arena, kind, most_bytes, is_exact, handed: 0, items: 0, kept_bytes: 0 }
        });
        let buffers: Vec<Growing> = buffers.collect();
        if total > limits.answer_bytes {
            return Err(Error::limit("the answer is larger than the limit", limits.answer_bytes, total));
        }
        let left_bytes = limits.answer_bytes;
        let (memory, objects) = (memory.clone(), Objects::default());
        let most_bytes = usize::try_from(bound.saturating_mul(2)).unwrap_or(usize::MAX);
        Ok(Self {
            buffers,
            undecoded: share,
            left_bytes,
            rows: 0,
            objects,
            memory,
            growing: None,
            is_sized: false,
            most_bytes,
            spare: Vec::new(),
        })
    }

    /// The next piece of a buffer, as wide as `bytes`, for `rows` rows that take `stored` bytes of a basket before
    /// compression.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) if the result becomes too large.
    pub(super) fn slot(&mut self, buffer: BufferId, bytes: usize, rows: usize, stored: u64) -> Result<BytesMut> {
        self.spend(bytes)?;
        self.buffers[buffer as usize].slot(bytes, rows, (self.undecoded.max(stored), stored))
    }

    fn spend(&mut self, bytes: usize) -> Result<()> {
        let too_large = || Error::limit("the answer is larger than the limit", self.left_bytes, bytes as u64);
        self.left_bytes = self.left_bytes.checked_sub(bytes as u64).ok_or_else(too_large)?;
        Ok(())
    }

    /// Notes that all buffers have their pieces for rows that take so many bytes of a basket.
    pub(super) fn pass(&mut self, stored: u64) {
        self.undecoded = self.undecoded.saturating_sub(stored);
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
    pub(super) fn places(&mut self, kinds: &[BufferKind], part: &Part, slots: &mut Places, stored: u64) -> Result<()> {
        for (id, kind) in kinds.iter().enumerate() {
            let id = id as BufferId;
            slots.push(match kind {
                BufferKind::Numbers(_) | BufferKind::Bytes => {
                    (self.slot(id, part.bytes(id).len(), part.rows, stored)?, 0)
                }
                BufferKind::Ends | BufferKind::Objects => self.words_place(id, *kind, part, stored)?,
            });
        }
        self.pass(stored);
        Ok(())
    }

    /// A piece for the ends or the numbers of objects of a part, with the items before it.
    fn words_place(&mut self, id: BufferId, kind: BufferKind, part: &Part, stored: u64) -> Result<(BytesMut, i64)> {
        let words = part.words(id);
        let (wide, items) = match kind {
            BufferKind::Ends => (8, i64::from(ends::total(words))),
            _ => (4, 0),
        };
        let base = self.base(id, items);
        Ok((self.slot(id, wide * words.len(), part.rows, stored)?, base))
    }

    /// The part that baskets are decoded into one after another; [`keep`](Self::keep) takes it back after each.
    pub(super) fn growing(&mut self, kinds: &[BufferKind]) -> Part {
        self.growing.take().unwrap_or_else(|| Part::new(kinds))
    }

    /// Takes back the part with the rows of one more basket. Its numbers and texts stay; the rest is copied, since it
    /// counts from the basket's first row.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) if the result becomes too large.
    pub(super) fn keep(&mut self, kinds: &[BufferKind], mut part: Part, stored: u64) -> Result<()> {
        let shares = (self.undecoded.max(stored), stored);
        for (id, kind) in kinds.iter().enumerate() {
            let id = id as BufferId;
            if matches!(kind, BufferKind::Ends | BufferKind::Objects) {
                let (mut slot, base) = self.words_place(id, *kind, &part, stored)?;
                place_words(*kind, part.words(id), base, &mut slot);
                self.fill(id, slot);
                continue;
            }
            let most = usize::try_from(self.left_bytes).unwrap_or(usize::MAX);
            let buffer = &mut self.buffers[id as usize];
            let (before, now) = (buffer.kept_bytes, part.bytes(id).len());
            if before == 0 && shares.0 > shares.1 {
                // The first rows tell how many bytes there will be.
                part.reserve(id, &self.memory, buffer.expected(now, shares).min(most))?;
            }
            buffer.kept_bytes = now;
            let added = now.checked_sub(before).ok_or_else(|| Error::internal("a column lost values that it had"))?;
            self.spend(added)?;
        }
        if !self.is_sized && shares.0 > shares.1 {
            let most = self.most_bytes.min(usize::try_from(self.left_bytes).unwrap_or(usize::MAX));
            self.objects.reserve(&self.memory, |bytes| expected(bytes, shares).min(most))?;
            // Pointers may be null at first.
            self.is_sized = !self.objects.is_empty();
        }
        self.pass(stored);
        part.keep_bytes();
        self.growing = Some(part);
        Ok(())
    }

    /// The whole column.
    pub(super) fn finish(mut self, scan: &Scan<'_>) -> Result<Column> {
        let pointing = scan.shape == Shape::Pointing;
        let objects = pointing.then(|| {
            self.objects.share(&self.memory);
            Arc::new(self.objects)
        });
        let mut kept = self.growing.take();
        let memory = self.memory;
        let whole = |(id, mut buffer): (usize, Growing)| {
            if let (Some(part), BufferKind::Numbers(_) | BufferKind::Bytes) = (&mut kept, buffer.kind) {
                return Ok(memory.lend_vec(part.take_bytes(id as BufferId)));
            }
            if buffer.handed == 0 && buffer.kind == BufferKind::Ends {
                let nothing = buffer.slot(0, 0, (0, 0))?;
                buffer.arena.fill(nothing);
            }
            Ok(buffer.arena.join())
        };
        let buffers = self.buffers.into_iter().enumerate().map(whole).collect::<Result<_>>()?;
        let registry = pointing.then(|| scan.tree.registry());
        let column = Column::new(scan.interpretation.kind.clone(), self.rows, buffers, objects).described(registry);
        column.check(scan.selection.len()).map_err(|error| scan.name(error))?;
        Ok(column)
    }
}

/// Copies a part to its final position, once, while it is in the cache.
pub(super) fn place(kinds: &[BufferKind], part: &Part, slots: &mut Places) {
    for ((id, kind), (slot, base)) in kinds.iter().enumerate().zip(slots) {
        let id = id as BufferId;
        match kind {
            BufferKind::Numbers(_) | BufferKind::Bytes => slot.copy_from_slice(part.bytes(id)),
            BufferKind::Ends | BufferKind::Objects => place_words(*kind, part.words(id), *base, slot),
        }
    }
}

/// Copies ends, which count from `base` on, or numbers of objects.
fn place_words(kind: BufferKind, words: &[u32], base: i64, slot: &mut [u8]) {
    if kind == BufferKind::Objects {
        for (out, object) in slot.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *out = object.to_ne_bytes();
        }
        return;
    }
    for (out, end) in slot.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *out = (base + i64::from(*end)).to_ne_bytes();
    }
}
