//! Which elements of which columns the wanted entries need.
//!
//! Of a whole cluster all elements are needed, and page lists say how many these are. Of a part of a cluster, the rows
//! of a list are known once the ends before the first and of the last wanted list are: these are read first.

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;

use super::elements::switches;
use super::fetch::{PageId, fetch, inflated};
use super::node::{Model, Node, Shape};
use super::pages::Live;
use super::whole_page::WholePage;
use super::{NTuple, PageLists};
use crate::codec::Scratch;
use crate::error::{Error, Result};
use crate::tree::PayloadKey;

/// Wanted entries of one cluster, counted from its first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) cluster: usize,
    pub(super) entries: Range<u64>,
}

/// A node of the fields that are read, with what of it is needed.
pub(super) struct Planned<'m> {
    pub(super) node: &'m Node,
    /// Elements of its first column in an entry, where no collection or variant is above.
    per_entry: Option<u64>,
    pub(super) below: Vec<usize>,
    /// Rows in each segment, counted in the cluster.
    pub(super) rows: Vec<Range<u64>>,
    /// Of lists and strings: the items or characters in each segment.
    pub(super) items: Vec<Range<u64>>,
    /// Of variants: the type of each row of each segment.
    pub(super) tags: Vec<Vec<i8>>,
}

/// The plan of one read.
pub(super) struct Plan<'m> {
    pub(super) ntuple: &'m NTuple,
    pub(super) lists: &'m PageLists,
    pub(super) segments: Vec<Segment>,
    pub(super) nodes: Vec<Planned<'m>>,
    live: HashMap<(usize, usize), Live>,
    /// Pages that were read to make the plan.
    pub(super) known: HashMap<u64, Bytes>,
    /// Inflated ones: of those that were read to make the plan, and those that the step before carried over.
    inflated: HashMap<PayloadKey, WholePage>,
    inflated_bytes: usize,
    /// The first entry that is not read, if pages that are cut there are carried over to the next step.
    pub(super) carries_to: Option<u64>,
}

/// An end that must be known: of row `row` of a node in a segment.
struct Needed {
    node: usize,
    segment: usize,
}

impl<'m> Plan<'m> {
    /// Plans the reading of fields for ranges of entries: sorted, disjoint, in the RNTuple.
    pub(super) fn new(
        ntuple: &'m NTuple,
        lists: &'m PageLists,
        fields: &'m [std::sync::Arc<Model>],
        entries: &[Range<u64>],
    ) -> Result<Self> {
        let next = entries.last().map(|last| last.end);
        let mut plan = Self {
            ntuple,
            lists,
            segments: segments(lists, entries),
            nodes: Vec::new(),
            live: HashMap::new(),
            known: HashMap::new(),
            inflated: HashMap::new(),
            inflated_bytes: 0,
            carries_to: next.filter(|_| ntuple.carried.is_wanted()),
        };
        let mut todo = Vec::new();
        for field in fields {
            let root = plan.add(&field.node, Some(1));
            for segment in 0..plan.segments.len() {
                plan.nodes[root].rows[segment] = plan.segments[segment].entries.clone();
                todo.push(Needed { node: root, segment });
            }
        }
        while !todo.is_empty() {
            let waiting = plan.resolve(todo)?;
            todo = plan.read_ends(waiting)?;
        }
        Ok(plan)
    }

    /// Numbers of the roots of the fields, in their order.
    fn add(&mut self, node: &'m Node, per_entry: Option<u64>) -> usize {
        let number = self.nodes.len();
        let count = self.segments.len();
        let wants_items = matches!(
            node.shape,
            Shape::Text { .. }
                | Shape::List { .. }
                | Shape::Optional { .. }
                | Shape::Counts { .. }
                | Shape::Streamed { .. }
        );
        self.nodes.push(Planned {
            node,
            per_entry,
            below: Vec::new(),
            rows: vec![0..0; count],
            items: vec![0..0; if wants_items { count } else { 0 }],
            tags: vec![Vec::new(); if matches!(node.shape, Shape::Variant { .. }) { count } else { 0 }],
        });
        let (children, per_entry): (Vec<&'m Node>, _) = match &node.shape {
            Shape::Numbers { .. } | Shape::Text { .. } | Shape::Counts { .. } | Shape::Streamed { .. } => {
                (vec![], None)
            }
            Shape::List { item, .. } | Shape::Optional { item, .. } => (vec![&**item], None),
            Shape::Variant { items, .. } => (items.iter().collect(), None),
            Shape::Fixed { len, item } => (vec![&**item], per_entry.map(|count| count.saturating_mul(*len))),
            Shape::Record { members } => (members.iter().collect(), per_entry),
        };
        for child in children {
            let child = self.add(child, per_entry);
            self.nodes[number].below.push(child);
        }
        number
    }

    /// The columns of a node that are in use in a cluster, and stay known.
    fn live(&mut self, node: usize, cluster: usize) -> Result<&Live> {
        if !self.live.contains_key(&(node, cluster)) {
            let live = self.find_live(node, cluster)?;
            self.live.insert((node, cluster), live);
        }
        self.known_live(node, cluster).ok_or_else(|| Error::internal("the columns of a cluster are not known"))
    }

    /// The columns of a node that are in use in a cluster, where they were needed to make the plan.
    pub(super) fn known_live(&self, node: usize, cluster: usize) -> Option<&Live> {
        self.live.get(&(node, cluster))
    }

    /// Finds the columns of a node that are in use in a cluster.
    pub(super) fn find_live(&self, node: usize, cluster: usize) -> Result<Live> {
        let planned = &self.nodes[node];
        let live = self.lists.live(self.ntuple, &planned.node.columns, cluster, planned.per_entry);
        live.map_err(|error| self.place(node, cluster, error))
    }

    /// Adds to an error what it is about.
    pub(super) fn place(&self, node: usize, cluster: usize, error: Error) -> Error {
        self.ntuple.in_field(self.nodes[node].node.field, error.in_object(&format!("cluster {cluster}")))
    }

    /// Hands rows down, as far as no page must be read; returns where one must.
    fn resolve(&mut self, mut todo: Vec<Needed>) -> Result<Vec<Needed>> {
        let mut waiting = Vec::new();
        while let Some(Needed { node, segment }) = todo.pop() {
            let rows = self.nodes[node].rows[segment].clone();
            let below = self.nodes[node].below.clone();
            let shape = &self.nodes[node].node.shape;
            match shape {
                Shape::Numbers { .. } => {}
                Shape::Fixed { len, .. } => {
                    let overflow = || Error::malformed("a fixed array has too many items");
                    let start = rows.start.checked_mul(*len).ok_or_else(overflow)?;
                    let end = rows.end.checked_mul(*len).ok_or_else(overflow)?;
                    for child in below {
                        self.nodes[child].rows[segment] = start..end;
                        todo.push(Needed { node: child, segment });
                    }
                }
                Shape::Record { .. } => {
                    for child in below {
                        self.nodes[child].rows[segment] = rows.clone();
                        todo.push(Needed { node: child, segment });
                    }
                }
                Shape::Variant { .. } if rows.is_empty() => {}
                Shape::Variant { .. } => waiting.push(Needed { node, segment }),
                Shape::Text { .. }
                | Shape::List { .. }
                | Shape::Optional { .. }
                | Shape::Counts { .. }
                | Shape::Streamed { .. } => {
                    let cluster = self.segments[segment].cluster;
                    let count = self.check_rows(node, segment)?;
                    let all = if rows.is_empty() {
                        Some(0)
                    } else if rows == (0..count) {
                        self.items_in(node, cluster)?
                    } else {
                        None
                    };
                    match all {
                        Some(all) => {
                            self.nodes[node].items[segment] = 0..all;
                            todo.extend(self.hand_items(node, segment));
                        }
                        None => waiting.push(Needed { node, segment }),
                    }
                }
            }
        }
        Ok(waiting)
    }

    /// Checks that the first column of a node has the wanted rows; returns how many it has.
    fn check_rows(&mut self, node: usize, segment: usize) -> Result<u64> {
        let (cluster, end) = (self.segments[segment].cluster, self.nodes[node].rows[segment].end);
        let count = self.live(node, cluster)?.columns.first().map_or(0, |column| column.count);
        if end > count {
            let error = Error::malformed("a column has fewer elements than the lists or entries that it belongs to");
            return Err(self.place(node, cluster, error.wanted(end, count)));
        }
        Ok(count)
    }

    /// How many items the lists of a node have in a whole cluster; none where only the lists tell.
    fn items_in(&mut self, node: usize, cluster: usize) -> Result<Option<u64>> {
        match &self.nodes[node].node.shape {
            Shape::Counts { .. } => Ok(None),
            Shape::Text { .. } | Shape::Streamed { .. } => {
                Ok(self.live(node, cluster)?.columns.get(1).map(|column| column.count))
            }
            _ => match self.nodes[node].below.first() {
                Some(&child) => self.rows_in(child, cluster),
                None => Ok(None),
            },
        }
    }

    /// How many rows a node has in a whole cluster, as far as its columns tell.
    fn rows_in(&mut self, node: usize, cluster: usize) -> Result<Option<u64>> {
        match &self.nodes[node].node.shape {
            Shape::Fixed { len, .. } => {
                let (len, child) = (*len, self.nodes[node].below[0]);
                Ok(self.rows_in(child, cluster)?.filter(|rows| rows % len == 0).map(|rows| rows / len))
            }
            Shape::Record { .. } => {
                for child in self.nodes[node].below.clone() {
                    if let Some(rows) = self.rows_in(child, cluster)? {
                        return Ok(Some(rows));
                    }
                }
                Ok(None)
            }
            _ => Ok(self.live(node, cluster)?.columns.first().map(|column| column.count)),
        }
    }

    /// Hands the items of lists to the node below.
    fn hand_items(&mut self, node: usize, segment: usize) -> Option<Needed> {
        let items = self.nodes[node].items[segment].clone();
        let child = *self.nodes[node].below.first()?;
        self.nodes[child].rows[segment] = items;
        Some(Needed { node: child, segment })
    }

    /// Reads the ends, and the switches, that wait for their pages, all in one call; returns what can go on.
    fn read_ends(&mut self, waiting: Vec<Needed>) -> Result<Vec<Needed>> {
        let mut wanted: Vec<PageId> = Vec::new();
        for Needed { node, segment } in &waiting {
            let (rows, cluster) = (self.nodes[*node].rows[*segment].clone(), self.segments[*segment].cluster);
            self.check_rows(*node, *segment)?;
            let is_variant = matches!(self.nodes[*node].node.shape, Shape::Variant { .. });
            let live = self.live(*node, cluster)?;
            let Some(column) = live.columns.first() else { continue };
            let elements = if is_variant {
                vec![rows]
            } else {
                let before = rows.start.checked_sub(1).map(|row| row..row + 1);
                before.into_iter().chain([rows.end - 1..rows.end]).collect()
            };
            let pages = elements.into_iter().flat_map(|elements| column.pages_of(elements)).map(|piece| PageId {
                node: *node,
                cluster,
                column: column.column,
                number: piece.number,
                page: piece.page,
            });
            wanted.extend(pages);
        }
        wanted.retain(|id| {
            let Ok(key) = id.key() else { return true };
            let is_ends = !matches!(self.nodes[id.node].node.shape, Shape::Variant { .. });
            let carried = self.inflated(id, is_ends);
            let is_known = self.known.contains_key(&key.0) || carried.is_some();
            // It stays, whatever other reads carry over meanwhile.
            self.inflated.extend(carried.map(|page| (key, page)));
            !is_known
        });
        fetch(self.ntuple, &wanted, |id, error| self.place(id.node, id.cluster, id.name(error)))?
            .into_iter()
            .for_each(|(at, bytes)| drop(self.known.insert(at, bytes)));
        let mut ready = Vec::new();
        for Needed { node, segment } in waiting {
            let cluster = self.segments[segment].cluster;
            let handed = if matches!(self.nodes[node].node.shape, Shape::Variant { .. }) {
                self.read_switches(node, segment)
            } else {
                self.read_bounds(node, segment)
            };
            ready.extend(handed.map_err(|error| self.place(node, cluster, error))?);
        }
        Ok(ready)
    }

    /// The items of the wanted lists of a segment.
    fn read_bounds(&mut self, node: usize, segment: usize) -> Result<Vec<Needed>> {
        let (rows, cluster) = (self.nodes[node].rows[segment].clone(), self.segments[segment].cluster);
        let start = match rows.start.checked_sub(1) {
            Some(before) => self.end_of(node, cluster, before)?,
            None => 0,
        };
        let end = self.end_of(node, cluster, rows.end - 1)?;
        if end < start {
            return Err(Error::malformed("the ends of lists or strings fall").wanted(start, end));
        }
        let most = match &self.nodes[node].node.shape {
            Shape::Counts { .. } => None,
            _ => self.items_in(node, cluster)?,
        };
        if let Some(most) = most.filter(|&most| end > most) {
            return Err(Error::malformed("a list or string ends beyond the items of its cluster").wanted(most, end));
        }
        self.nodes[node].items[segment] = start..end;
        Ok(self.hand_items(node, segment).into_iter().collect())
    }

    /// The end of a list, as its index column has it.
    fn end_of(&mut self, node: usize, cluster: usize, row: u64) -> Result<u64> {
        self.live(node, cluster)?;
        let live = self.live.get(&(node, cluster)).and_then(|live| live.columns.first());
        let column = live.ok_or_else(|| Error::internal("a list has no index column"))?;
        let Some(piece) = column.pages_of(row..row + 1).next() else { return Ok(0) };
        let id = PageId { node, cluster, column: column.column, number: piece.number, page: piece.page };
        let page = self.page(&id, true)?;
        if self.carries_to.is_some() && piece.want.end == piece.page.elements as usize {
            // Where it is the one before the first list, nothing else of its page is needed; where it is the last, the
            // page is carried over when it is decoded.
            self.ntuple.carried.finish(id.key()?);
        }
        let end = page.ends(piece.want).first_chunk();
        let end = end.ok_or_else(|| Error::internal("a page has fewer ends than elements"))?;
        Ok(u64::from_ne_bytes(*end))
    }

    /// The types of the wanted values of a variant, and the rows of each type.
    fn read_switches(&mut self, node: usize, segment: usize) -> Result<Vec<Needed>> {
        let (rows, cluster) = (self.nodes[node].rows[segment].clone(), self.segments[segment].cluster);
        let below = self.nodes[node].below.clone();
        let most = self.ntuple.file.options().limits.answer_bytes;
        let column = &self.live(node, cluster)?.columns;
        let column = column.first().ok_or_else(|| Error::internal("a variant has no switch column"))?;
        let absent = column.missing.min(rows.end).saturating_sub(rows.start);
        // These are in no page: their number is what the schema says.
        if absent > most {
            return Err(Error::limit("the answer is larger than the limit", most, absent));
        }
        let number = column.column;
        let pieces: Vec<_> = column.pages_of(rows.clone()).collect();
        let mut tags = vec![-1_i8; absent as usize];
        let mut ranges: Vec<Option<Range<u64>>> = vec![None; below.len()];
        for piece in pieces {
            let page = PageId { node, cluster, column: number, number: piece.number, page: piece.page };
            let whole = self.page(&page, false)?;
            for (place, tag) in switches(whole.elements()).skip(piece.want.start).take(piece.want.len()) {
                let Some(tag) = (tag as usize).checked_sub(1) else {
                    tags.push(-1);
                    continue;
                };
                let Some(range) = ranges.get_mut(tag) else {
                    let message = "a variant's value is of a type that the field does not have";
                    return Err(page.name(Error::malformed(message).wanted(below.len() as u64, tag as u64 + 1)));
                };
                let range = range.get_or_insert(place..place);
                if range.end != place {
                    let message = "the values of one type of a variant do not follow one another";
                    return Err(page.name(Error::malformed(message).wanted(range.end, place)));
                }
                let end = place.checked_add(1).ok_or_else(|| Error::malformed("a variant has too many values"));
                range.end = end.map_err(|error| page.name(error))?;
                tags.push(tag as i8);
            }
        }
        if tags.len() as u64 != rows.end - rows.start {
            let message = "a variant's column has fewer elements than its entries or lists";
            return Err(Error::malformed(message).wanted(rows.end - rows.start, tags.len() as u64));
        }
        self.nodes[node].tags[segment] = tags;
        let mut ready = Vec::new();
        for (child, range) in below.into_iter().zip(ranges) {
            self.nodes[child].rows[segment] = range.unwrap_or(0..0);
            ready.push(Needed { node: child, segment });
        }
        Ok(ready)
    }

    /// A page that need not be inflated any more: it was for the plan, or the step before carried it over. `is_ends`
    /// says that its elements are the ends of lists.
    pub(super) fn inflated(&self, id: &PageId, is_ends: bool) -> Option<WholePage> {
        let key = id.key().ok()?;
        let carried = || self.carries_to.and_then(|_| self.ntuple.carried.get(key));
        let found = self.inflated.get(&key).cloned().or_else(carried)?;
        let bits = self.ntuple.column(id.column).ok()?.bits;
        found.is(&id.page, bits, is_ends).then_some(found)
    }

    /// A page that was fetched for the plan, inflated. It is kept for the answer, as far as these are few: of many
    /// ranges of entries each has its own.
    fn page(&mut self, id: &PageId, is_ends: bool) -> Result<WholePage> {
        const MOST_BYTES: usize = 64 << 20;
        if let Some(page) = self.inflated(id, is_ends) {
            return Ok(page);
        }
        let key = id.key()?;
        let stored = self.known.get(&key.0).ok_or_else(|| Error::internal("a page was not fetched"))?;
        let perf = self.ntuple.file.perf();
        let from = perf.now();
        let page = inflated(self.ntuple, id, is_ends, stored, self.carries_to.is_some(), &mut Scratch::default());
        let page = page.map_err(|error| id.name_within(error))?;
        if let Some(from) = from {
            perf.note_basket(key.0, stored.len() as u64, page.memory_bytes() as u64, from);
        }
        let bytes = page.memory_bytes();
        if self.inflated_bytes + bytes <= MOST_BYTES && self.inflated.insert(key, page.clone()).is_none() {
            self.inflated_bytes += bytes;
        }
        Ok(page)
    }
}

/// Cuts ranges of entries where clusters end.
fn segments(lists: &PageLists, entries: &[Range<u64>]) -> Vec<Segment> {
    let mut segments = Vec::new();
    for wanted in entries {
        let first = lists.clusters.partition_point(|cluster| cluster.entries.end <= wanted.start);
        for (number, cluster) in lists.clusters.iter().enumerate().skip(first) {
            if cluster.entries.start >= wanted.end {
                break;
            }
            let start = wanted.start.max(cluster.entries.start) - cluster.entries.start;
            let end = wanted.end.min(cluster.entries.end) - cluster.entries.start;
            if start < end {
                segments.push(Segment { cluster: number, entries: start..end });
            }
        }
    }
    segments
}
