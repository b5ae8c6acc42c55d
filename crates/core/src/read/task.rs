//! One basket: what its header tells, how it is decoded, and where its values go.

use std::ops::Range;
use std::time::Instant;

use bytes::{Bytes, BytesMut};

use super::decode;
use super::embedded::embedded;
use super::in_flight::Origin;
use super::scan::{Answer, Places, Scan, Shape, place};
use crate::codec::LentScratch;
use crate::column::{Part, Prim, decode_numbers};
use crate::error::{Error, Result};
use crate::io::own_offset;
use crate::schema::Objects;
use crate::session::Session;
use crate::tree::{Basket, BasketBytes};

/// One basket of a scan's branch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// The index of the branch in the scan.
    pub(super) scan: usize,
    /// The index of the piece.
    pub(super) position: usize,
    /// The number of the basket in the branch.
    pub(super) basket: usize,
}

/// Where the bytes of a basket come from. Embedded ones have none of their own.
pub(super) fn origin(scans: &[Scan<'_>], segment: &Segment) -> Result<Origin> {
    let scan = &scans[segment.scan];
    let place = scan.place(segment.basket);
    let BasketBytes::Stored { seek, nbytes } = place.bytes else { return Ok(Origin::Here(Bytes::new())) };
    if scan.carried(segment.basket).is_some() {
        return Ok(Origin::Here(Bytes::new()));
    }
    let (range, len) = (seek..seek.saturating_add(u64::from(nbytes)), scan.file_end());
    if range.end > len {
        let error = Error::malformed("a basket reaches beyond the end of the file");
        return Err(scan.error(segment.basket, error.at(seek).wanted(range.end, len)));
    }
    Ok(Origin::Stored(range, place.entries.start))
}

/// The workspace that a thread keeps from basket to basket.
pub(super) struct Workspace {
    scratch: LentScratch,
    memory: Vec<u8>,
    starts: Vec<u32>,
}

impl Workspace {
    pub(super) fn new(session: &Session) -> Self {
        Self { scratch: session.scratches().take(), memory: Vec::new(), starts: Vec::new() }
    }
}

/// One basket to decode.
pub(super) struct Task {
    segment: Segment,
    /// Key and header, if the basket is a record.
    basket: Option<Basket>,
    work: Work,
    /// Whether nothing is left to do.
    is_done: bool,
    outcome: Result<()>,
}

enum Work {
    /// Numbers to their final position.
    Fixed(BytesMut),
    /// Numbers and ends to their final position; with the number of items before them.
    List { values: BytesMut, ends: BytesMut, base: i64 },
    /// Rows to a part, which has no position yet.
    Part(Part, Places),
    /// A part to its final position.
    Place(Part, Places),
    /// Rows behind those of the baskets before.
    Grow(Part),
    /// Rows that were decoded in order, and are where they stay.
    Kept,
}

impl Task {
    /// Reads a basket's header and assigns the positions that are known before it is inflated. Of tasks that are
    /// `alone`, each is settled before the next one is made.
    pub(super) fn new(
        scan: &Scan<'_>,
        answer: &mut Answer,
        segment: Segment,
        record: Bytes,
        workspace: &mut Workspace,
        alone: bool,
    ) -> Result<Self> {
        let prepared = header(scan, segment, record).and_then(|mut basket| {
            let work = position(scan, answer, segment, &mut basket, workspace, alone)?;
            let is_done = matches!(work, Work::Kept);
            Ok(Self { segment, basket, work, is_done, outcome: Ok(()) })
        });
        prepared.map_err(|error| scan.error(segment.basket, error))
    }

    /// Does what is left to do. An error is there for [`assign`](Self::assign).
    pub(super) fn run(&mut self, scans: &[Scan<'_>], workspace: &mut Workspace) {
        if self.is_done {
            return;
        }
        let scan = &scans[self.segment.scan];
        let from = scan.tree.file().perf().now();
        let outcome = run(scan, self, workspace);
        // Baskets of parts are already recorded.
        if !matches!(self.work, Work::Place(..)) {
            note(scan, self.segment, self.basket.as_ref(), from);
        }
        self.outcome = outcome.map_err(|error| scan.error(self.segment.basket, error));
        self.is_done = true;
        // The bytes are not needed while others are waited for.
        if let Some(basket) = &mut self.basket {
            basket.forget_payload();
        }
    }

    /// Whether nothing is left to do.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Bytes of its basket, as stored; none for one in the tree's own record.
    pub(super) fn stored_bytes(&self, scans: &[Scan<'_>]) -> u64 {
        scans[self.segment.scan].stored_bytes(self.segment.basket)
    }

    /// Bytes of its basket once it is inflated.
    pub(super) fn unpacked_bytes(&self) -> u64 {
        self.basket.as_ref().map_or(0, |basket| basket.key.objlen.into())
    }

    /// Assigns positions in entry order, once its size is known: then it has to be [`run`](Self::run) again, if this
    /// says so.
    ///
    /// # Errors
    ///
    /// Those of decoding; [`Limit`](crate::ErrorKind::Limit) if the answer becomes too large.
    pub(super) fn assign(&mut self, scans: &[Scan<'_>], answers: &mut [Answer]) -> Result<bool> {
        std::mem::replace(&mut self.outcome, Ok(()))?;
        if let Work::Part(part, places) = &mut self.work {
            let (part, mut places) = (std::mem::take(part), std::mem::take(places));
            let scan = &scans[self.segment.scan];
            let stored = stored_bytes(self.basket.as_ref(), part.rows);
            let placed = answers[self.segment.scan].places(&scan.interpretation.buffers, &part, &mut places, stored);
            placed.map_err(|error| scan.error(self.segment.basket, error))?;
            self.work = Work::Place(part, places);
            self.is_done = false;
        }
        Ok(!self.is_done)
    }

    /// Joins its values with those of the baskets before.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) if the answer becomes too large.
    pub(super) fn settle(self, scans: &[Scan<'_>], answers: &mut [Answer]) -> Result<()> {
        let (scan, answer) = (&scans[self.segment.scan], &mut answers[self.segment.scan]);
        answer.rows += scan.pieces[self.segment.position].rows;
        match self.work {
            Work::Fixed(slot) => answer.fill(0, slot),
            Work::List { values, ends, .. } => {
                answer.fill(0, values);
                answer.fill(1, ends);
            }
            Work::Place(mut part, mut places) => {
                for (buffer, (slot, _)) in places.drain(..).enumerate() {
                    answer.fill(buffer as u32, slot);
                }
                part.clear();
                answer.spare.push((part, places));
            }
            Work::Grow(part) => {
                let stored = stored_bytes(self.basket.as_ref(), part.rows);
                let kept = answer.keep(&scan.interpretation.buffers, part, stored);
                kept.map_err(|error| scan.error(self.segment.basket, error))?;
            }
            Work::Part(..) => return Err(Error::internal("a basket was decoded and has no position")),
            Work::Kept => {}
        }
        Ok(())
    }
}

/// Carries a basket over to the next step if this one cuts it, and drops it if it is read to its end. One of several
/// blocks of which single entries are wanted is left: each step inflates the blocks that it needs.
fn carry(scan: &Scan<'_>, segment: Segment, basket: &mut Option<Basket>, workspace: &mut Workspace) -> Result<()> {
    let (tree, place) = (scan.tree, scan.place(segment.basket));
    let Some(at) = place.stored_at().map(|seek| (seek, 0)) else { return Ok(()) };
    if scan.carries(segment.basket) {
        let (next, budget) = (scan.selection.span().end, tree.cache().budget());
        let is_one_range = || scan.wanted(&scan.pieces[segment.position]).nth(1).is_none();
        let fits = |whole: &mut Basket| {
            (is_one_range() || !whole.is_divided())
                && tree.carried().has_room(at, whole.key.objlen.into(), next, budget)
        };
        if let Some(whole) = basket.take_if(fits) {
            let whole = whole.inflated(tree.file().options().session.memory(), &mut workspace.scratch)?;
            tree.carried().carry(at, whole.clone(), whole.key.objlen.into(), next, budget);
            *basket = Some(whole);
        }
    } else if scan.carried(segment.basket).is_some() {
        tree.carried().finish(at);
    }
    Ok(())
}

/// Records that a basket was inflated and decoded, if recording is on. One that was carried over is recorded already.
fn note(scan: &Scan<'_>, segment: Segment, basket: Option<&Basket>, from: Option<Instant>) {
    if let (Some(from), Some(Basket { key, .. }), None) = (from, basket, scan.carried(segment.basket)) {
        let unpacked = u64::from(key.keylen) + u64::from(key.objlen);
        scan.tree.file().perf().note_basket(key.seek_key, u64::from(key.nbytes), unpacked, from);
    }
}

/// Reads a basket's header. None for a basket in the tree's own record.
fn header(scan: &Scan<'_>, segment: Segment, record: Bytes) -> Result<Option<Basket>> {
    let BasketBytes::Stored { seek, .. } = scan.place(segment.basket).bytes else { return Ok(None) };
    let basket = match scan.carried(segment.basket) {
        Some(carried) => carried.clone(),
        None => {
            let basket = Basket::read(record, &scan.tree.file().options().limits)?;
            // ROOT checks this word, too: the record may be something else.
            let seek = own_offset(seek);
            if basket.key.seek_key != seek {
                let error = Error::malformed("a basket's key names another offset");
                return Err(error.at(seek).wanted(seek, basket.key.seek_key));
            }
            basket
        }
    };
    let end = scan.wanted(&scan.pieces[segment.position]).next_back().map_or(0, |wanted| wanted.end);
    if end > basket.entries as usize {
        return Err(Error::malformed("a basket has fewer entries than its branch says")
            .wanted(end as u64, u64::from(basket.entries)));
    }
    Ok(Some(basket))
}

/// Assigns the positions that are known before a basket is inflated, and says what is left to do.
fn position(
    scan: &Scan<'_>,
    answer: &mut Answer,
    segment: Segment,
    basket: &mut Option<Basket>,
    workspace: &mut Workspace,
    alone: bool,
) -> Result<Work> {
    let rows = scan.pieces[segment.position].rows;
    let stored = stored_bytes(basket.as_ref(), rows);
    Ok(match (scan.shape, basket.as_ref()) {
        (Shape::Fixed { prim, count }, _) => {
            let bytes = rows.checked_mul(count * prim.number().bytes());
            let entry_bytes = count * prim.bytes();
            match (bytes, basket) {
                (Some(bytes), None) => Work::Fixed(answer.slot(0, bytes, rows, stored)?),
                (Some(bytes), Some(basket)) if basket.data_bytes() == entry_bytes * basket.entries as usize => {
                    Work::Fixed(answer.slot(0, bytes, rows, stored)?)
                }
                (_, basket) => {
                    let (entries, found) =
                        basket.as_ref().map_or((0, 0), |basket| (basket.entries, basket.data_bytes()));
                    if found == 0 && entries > 0 {
                        // ROOT 6.40 writes nothing for split `std::array` and arrays of enums.
                        return Err(Error::unsupported("ROOT wrote entries without a byte: their values are lost"));
                    }
                    return Err(Error::malformed("a basket's length and its entries do not agree")
                        .wanted(entry_bytes as u64 * u64::from(entries), found as u64));
                }
            }
        }
        (Shape::List { prim, per_item }, Some(basket))
            if rows == basket.entries as usize
                && basket.has_offsets()
                && basket.data_bytes() % (prim.bytes() * per_item) == 0 =>
        {
            let items = basket.data_bytes() / (prim.bytes() * per_item);
            let base = answer.base(1, items as i64);
            let values = answer.slot(0, items * per_item * prim.number().bytes(), rows, stored)?;
            let ends = answer.slot(1, 8 * rows, rows, stored)?;
            answer.pass(stored);
            Work::List { values, ends, base }
        }
        (Shape::List { .. }, _) => {
            // The header does not determine the size: decode here, in order, so that later pieces get their position.
            let kinds = &scan.interpretation.buffers;
            let (mut part, mut places) = answer.part(kinds);
            in_order(scan, answer, segment, basket, workspace, &mut part)?;
            let stored = stored_bytes(basket.as_ref(), part.rows);
            answer.places(kinds, &part, &mut places, stored)?;
            Work::Place(part, places)
        }
        // Objects get their numbers in the order of entries.
        (Shape::Pointing, _) => {
            let kinds = &scan.interpretation.buffers;
            let mut part = answer.growing(kinds);
            in_order(scan, answer, segment, basket, workspace, &mut part)?;
            let stored = stored_bytes(basket.as_ref(), part.rows);
            answer.keep(kinds, part, stored)?;
            Work::Kept
        }
        // One basket at a time: its rows are decoded to where they stay.
        (Shape::Grown, _) if alone => Work::Grow(answer.growing(&scan.interpretation.buffers)),
        (Shape::Grown, _) => {
            let (part, places) = answer.part(&scan.interpretation.buffers);
            Work::Part(part, places)
        }
    })
}

/// Bytes that rows take in their basket, before compression.
fn stored_bytes(basket: Option<&Basket>, rows: usize) -> u64 {
    let share = |basket: &Basket| {
        let all = u128::from(basket.key.objlen) * rows as u128 / u128::from(basket.entries).max(1);
        u64::try_from(all).unwrap_or(u64::MAX)
    };
    basket.map_or(0, share)
}

/// Decodes a basket immediately, before later ones get their positions.
fn in_order(
    scan: &Scan<'_>,
    answer: &mut Answer,
    segment: Segment,
    basket: &mut Option<Basket>,
    workspace: &mut Workspace,
    part: &mut Part,
) -> Result<()> {
    let from = scan.tree.file().perf().now();
    carry(scan, segment, basket, workspace)?;
    grow(scan, segment, basket.as_ref(), workspace, part, &mut answer.objects)?;
    note(scan, segment, basket.as_ref(), from);
    Ok(())
}

/// Decodes one basket to the target of its task.
fn run(scan: &Scan<'_>, task: &mut Task, workspace: &mut Workspace) -> Result<()> {
    if !matches!(task.work, Work::Place(..)) {
        carry(scan, task.segment, &mut task.basket, workspace)?;
    }
    match (&mut task.work, scan.shape) {
        (Work::Fixed(slot), Shape::Fixed { prim, count }) => {
            let wanted = scan.wanted(&scan.pieces[task.segment.position]);
            let sizes = (count * prim.bytes(), count * prim.number().bytes());
            let unsealed = match &task.basket {
                Some(basket) => basket.unseal_entries(
                    wanted.clone(),
                    Some(sizes.0),
                    &mut workspace.memory,
                    &mut workspace.scratch,
                )?,
                None => stored_in_tree(scan, task.segment)?,
            };
            fixed(prim, unsealed.data, wanted, sizes, slot)
        }
        (Work::List { values, ends, base }, Shape::List { prim, per_item }) => {
            let basket = task.basket.as_ref().ok_or_else(|| Error::internal("lists have no basket"))?;
            let unsealed = basket.unseal(&mut workspace.memory, &mut workspace.scratch)?;
            let wide = (prim.bytes() * per_item) as u32;
            unsealed.list_ends(wide, *base, ends)?;
            decode_numbers(prim, unsealed.data, values);
            Ok(())
        }
        (Work::Part(part, _) | Work::Grow(part), _) => {
            grow(scan, task.segment, task.basket.as_ref(), workspace, part, &mut Objects::default())
        }
        (Work::Place(part, places), _) => {
            place(&scan.interpretation.buffers, part, places);
            Ok(())
        }
        (Work::Kept, _) => Ok(()),
        // Not Ok: the piece would keep old bytes of reused memory, and they would be returned as values.
        (Work::Fixed(_) | Work::List { .. }, _) => Err(Error::internal("a basket is of another shape than its branch")),
    }
}

/// Copies the wanted entries, of one size in the basket and another in the answer, one after another.
fn fixed(
    prim: Prim,
    data: &[u8],
    wanted: impl Iterator<Item = Range<usize>>,
    (stored_bytes, bytes): (usize, usize),
    slot: &mut [u8],
) -> Result<()> {
    let mut rest = slot;
    for want in wanted {
        let (from, to) = (want.start * stored_bytes, want.end * stored_bytes);
        let too_short =
            || Error::malformed("a basket is too short for its entries").wanted(to as u64, data.len() as u64);
        let from = data.get(from..to).ok_or_else(too_short)?;
        let outgrown = || Error::internal("a basket has more wanted entries than its piece of the answer has room for");
        let (piece, others) = rest.split_at_mut_checked(want.len() * bytes).ok_or_else(outgrown)?;
        decode_numbers(prim, from, piece);
        rest = others;
    }
    match rest.len() {
        0 => Ok(()),
        // The rest would keep old bytes of reused memory, and they would be returned as values.
        left => Err(Error::internal("a basket did not fill its piece of the answer").wanted(0, left as u64)),
    }
}

fn stored_in_tree<'t>(scan: &Scan<'t>, segment: Segment) -> Result<crate::tree::Unsealed<'t>> {
    match scan.place(segment.basket).bytes {
        BasketBytes::Embedded(id) => embedded(scan.tree, id),
        BasketBytes::Stored { .. } => Err(Error::malformed("a basket was not fetched")),
    }
}

/// Decodes the wanted entries of one basket into a part.
fn grow(
    scan: &Scan<'_>,
    segment: Segment,
    basket: Option<&Basket>,
    workspace: &mut Workspace,
    part: &mut Part,
    objects: &mut Objects,
) -> Result<()> {
    let Workspace { scratch, memory, starts } = workspace;
    let (first_entry, wanted) = (scan.place(segment.basket).entries.start, scan.wanted(&scan.pieces[segment.position]));
    let unsealed = match basket {
        Some(basket) => {
            let width = decode::width(&scan.interpretation, basket.data_bytes(), basket.entries as usize);
            basket.unseal_entries(wanted.clone(), width, memory, scratch)?
        }
        None => stored_in_tree(scan, segment)?,
    };
    decode::decode(&scan.decoding(), &unsealed, first_entry, wanted, starts, part, objects)
}
