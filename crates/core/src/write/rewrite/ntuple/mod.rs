//! An RNTuple written again: other clusters, pages and compression; fewer fields and entries.
//!
//! Values go from old pages to new ones as their columns store them: what a field's type makes of them does not matter.

pub(crate) mod append;
pub(crate) mod concat;
pub(crate) mod copy;
pub(crate) mod fill;
pub(crate) mod kept_fields;
pub(crate) mod late_fields;
pub(crate) mod pages;
pub(crate) mod schema;
pub(crate) mod stored_layout;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::codec::Compression;
use crate::container::Key;
use crate::error::{Error, Result};
use crate::file::File;
use crate::ntuple::{FieldId, NTuple, Role, columns_of};
use crate::progress;
use crate::read::Selection;
use crate::table::Table;
use crate::write::file::compatible::same_rules;
use crate::write::ntuple::{NTupleWriter, USUAL};
use crate::write::options::{NTupleOptions, Order, Pages};
use crate::write::rewrite::ntuple::copy::Copying;
use crate::write::rewrite::ntuple::kept_fields::KeptFields;
use crate::write::rewrite::ntuple::stored_layout::StoredLayout;
use crate::write::rewrite::sort::stored_rows::{from_rows, to_rows};
use crate::write::rewrite::sort::{IN_ORDER, Sort, SortBy};
use crate::write::rewrite::windows::{chosen, selection, windows};
use crate::write::writer::FileWriter;

/// How an RNTuple is rewritten.
///
/// # Example
///
/// ```
/// use sapwood::write::{NTupleRewrite, Pages};
/// // Two of the fields, whose pages are neither inflated nor decoded.
/// let few = NTupleRewrite {
///     pages: Pages::Keep,
///     fields: Some(vec!["x".into(), "y".into()]),
///     ..NTupleRewrite::default()
/// };
/// assert!(few.entries.is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct NTupleRewrite {
    /// New clusters and pages, or those that are there. Where the options name no compression, each column keeps its
    /// own.
    pub pages: Pages,
    /// The order in which pages that are kept stand in the file.
    pub order: Order,
    /// Top-level fields that are kept, with those that they show; none for all.
    pub fields: Option<Vec<Arc<str>>>,
    /// Entries that are kept, as ascending ranges that do not overlap; none for all.
    pub entries: Option<Vec<Range<u64>>>,
    /// Compression of the new pages of some fields, by their numbers; it is also that of the fields below.
    pub compression: HashMap<FieldId, Compression>,
    /// Sorts the entries; none to keep their order.
    pub sort: Option<SortBy>,
}

impl FileWriter {
    /// Writes an RNTuple of another file again, under the path `to`. Returns what it has no more: sets of attributes,
    /// if entries are chosen or sorted.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for an RNTuple or a field that is not there;
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for entries that are not there or do not rise, for entries chosen of
    /// pages that are kept, for an order of new pages that is not that of entries, and for columns that entries cannot
    /// be sorted by;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for new pages of fields that cannot be read; what reading a page
    /// or writing reports. Then there is no RNTuple.
    ///
    /// # Example
    ///
    /// ```
    /// # let [old, new] = ["a", "b"].map(|name| sapwood_testkit::scratch(&format!("ntuple-rewrite-{name}.root")));
    /// # use sapwood::column::{Kind, Number};
    /// # use sapwood::read::Column;
    /// # use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
    /// # let mut file = FileWriter::recreate(&old, WriteOptions::default())?;
    /// # let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I32 });
    /// # let mut ntuple = file.ntuple("n", vec![spec], NTupleOptions::default())?;
    /// # ntuple.extend(&[("x", Column::from_numbers(&[1, 2, 3]))])?;
    /// # ntuple.close()?;
    /// # file.close()?;
    /// use sapwood::write::{NTupleRewrite, Pages};
    /// let options = NTupleOptions { cluster_entries: Some(1), ..NTupleOptions::default() };
    /// let how = NTupleRewrite { pages: Pages::New(options), entries: Some(vec![1..3]), ..NTupleRewrite::default() };
    /// let mut file = FileWriter::recreate(&new, WriteOptions::default())?;
    /// file.rewrite_ntuple(&sapwood::File::open(&old)?, "n", "n", &how)?;
    /// file.close()?;
    /// assert_eq!(sapwood::File::open(&new)?.ntuple("n")?.clusters()?, [0..1, 1..2]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn rewrite_ntuple(&mut self, from: &File, path: &str, to: &str, how: &NTupleRewrite) -> Result<Vec<String>> {
        self.rewrite_ntuple_at(from, &from.key(path)?, to, how, None)
    }

    /// Writes the RNTuple of a key again. Pages that are kept are compressed as `again` says.
    pub(crate) fn rewrite_ntuple_at(
        &mut self,
        from: &File,
        key: &Key,
        to: &str,
        how: &NTupleRewrite,
        again: Option<Compression>,
    ) -> Result<Vec<String>> {
        let ntuple = from.ntuple_at(key)?;
        let kept = KeptFields::of(&ntuple, how.fields.as_deref()).map_err(|error| ntuple.place(error))?;
        if ntuple.fields().iter().any(|field| field.role == Role::Streamer) {
            let state = self.output.open_state()?;
            same_rules(from, &state).map_err(|error| error.in_object(to))?;
        }
        match &how.pages {
            Pages::New(_) if how.order != Order::Entry => {
                let words =
                    "new pages of an RNTuple stand cluster by cluster: only pages that are kept have another order";
                Err(ntuple.place(Error::mismatch(words)))
            }
            Pages::New(options) => self.repaginate(&ntuple, &kept, to, how, options.clone()),
            Pages::Keep if how.entries.is_some() => {
                let words = "pages are kept whole: entries are chosen where they are made anew";
                Err(ntuple.place(Error::mismatch(words)))
            }
            Pages::Keep if how.sort.is_some() => {
                let words = "pages that are kept hold their entries in order: sorting takes new ones";
                Err(ntuple.place(Error::mismatch(words)))
            }
            Pages::Keep => {
                let mut state = self.output.open_state()?;
                let place = self.output.folder_of(&mut state, to)?;
                let copying = Copying { kept, with_pages: true, order: how.order, again };
                self.output.copy_ntuple(&mut state, &ntuple, place, &copying)?;
                Ok(Vec::new())
            }
        }
    }

    /// Values into new pages.
    fn repaginate(
        &mut self,
        from: &Arc<NTuple>,
        kept: &KeptFields,
        to: &str,
        how: &NTupleRewrite,
        mut options: NTupleOptions,
    ) -> Result<Vec<String>> {
        let selection = selection(how.entries.as_deref(), from.entries).map_err(|error| from.place(error))?;
        let settings = Settings { options: &options, own: &how.compression };
        let StoredLayout { schema, layout, ids, models } =
            StoredLayout::new(from, kept, |field, found| settings.of(from, field, found))?;
        let names: Vec<Arc<str>> = layout.fields.iter().map(|field| Arc::clone(&field.name)).collect();
        options.description = Arc::clone(&from.description);
        let mut bytes = 0_u64;
        for &id in &ids {
            bytes = bytes.saturating_add(from.field_bytes(id)?.inflated).saturating_add(absent_bytes(from, id));
        }
        let table = Table::from(from);
        let session = self.output.options.session.clone();
        let mut notes = Vec::new();
        let sort = match &how.sort {
            Some(by) => {
                // Each entry has its start in memory, too.
                let starts = from.entries.saturating_mul(8).saturating_mul(ids.len() as u64);
                let all = u128::from(bytes.saturating_add(starts));
                let part = all * u128::from(selection.len()) / u128::from(from.entries.max(1));
                let sort = Sort::plan(&session, &table, by, &selection, part as u64);
                let sort = sort.map_err(|error| from.place(error))?;
                if sort.is_none() {
                    notes.push(IN_ORDER.to_owned());
                }
                sort
            }
            None => None,
        };
        let is_other = how.entries.is_some() || sort.is_some();
        let windows = match &sort {
            Some(sort) => sort.windows(from.entries, &from.clusters()?)?,
            None => chosen(windows(from.entries, &from.clusters()?, bytes), &selection)?,
        };
        let infos = from.file().infos()?.into_iter().map(Arc::new);
        self.output.open_state()?.describe(infos);
        let mut written = NTupleWriter::begin_with(&self.output, to, schema, layout, options)?;
        let fill = |written: &mut NTupleWriter| {
            if let Some(sort) = sort {
                let read = |window: &Selection| {
                    let columns = columns_of(from, &ids, &models, window, |_| Ok(()))?;
                    session.map(&columns, || (), |(), column| to_rows(column))
                };
                return sort.run(&windows, read, |rows, _| {
                    let fields: Vec<_> = models.iter().zip(rows).collect();
                    let columns = session.map(&fields, || (), |(), (model, rows)| from_rows(&model.kind, rows))?;
                    drop(fields);
                    let values: Vec<_> = names.iter().map(|name| &**name).zip(columns).collect();
                    written.extend(&values)
                });
            }
            windows.iter().enumerate().try_for_each(|(done, window)| {
                progress::at(done as u64, windows.len() as u64)?;
                let columns = columns_of(from, &ids, &models, window, |_| Ok(()))?;
                let values: Vec<_> = names.iter().map(|name| &**name).zip(columns).collect();
                written.extend(&values)
            })
        };
        let outcome = fill(&mut written).and_then(|()| {
            if is_other {
                let sets = from.attribute_sets.iter();
                notes.extend(sets.map(|set| format!("attributes {set} are left out: they are about other entries")));
            } else {
                self.output.copy_attributes(from, written.index())?;
            }
            Ok(notes)
        });
        self.finish_or_remove(written, to, outcome)
    }

    /// Ends an RNTuple that was filled, or removes it where that failed.
    pub(crate) fn finish_or_remove<T>(&mut self, written: NTupleWriter, to: &str, outcome: Result<T>) -> Result<T> {
        let closed = written.close();
        let outcome = outcome.and_then(|value| closed.map(|()| value));
        if outcome.is_err() {
            // The first error is what counts.
            let _ = self.save();
            let _ = self.remove(to);
        }
        outcome
    }
}

/// Compression of new pages.
struct Settings<'a> {
    options: &'a NTupleOptions,
    own: &'a HashMap<FieldId, Compression>,
}

impl Settings<'_> {
    /// That of a field: its own or that of a field above it, that of all, or the one its pages have.
    fn of(&self, from: &NTuple, field: FieldId, found: Option<Compression>) -> Compression {
        let mut at = Some(field);
        while let Some(id) = at {
            if let Some(&own) = self.own.get(&id) {
                return own;
            }
            at = from.fields().get(id).and_then(|field| field.parent);
        }
        self.options.compression.or(found).unwrap_or(USUAL)
    }
}

/// Bytes of values that are in no page, because their fields were added later: they take memory once they are read.
pub(crate) fn absent_bytes(from: &NTuple, id: FieldId) -> u64 {
    let mut sum = 0_u64;
    let mut todo = vec![id];
    while let Some(field) = todo.pop().and_then(|id| from.fields().get(id)) {
        todo.extend(&field.children);
        let columns = field.representations.first().into_iter().flatten();
        let is_late =
            columns.filter_map(|&column| from.column(column).ok()).any(|column| column.first_element.is_some());
        if is_late {
            sum = sum.saturating_add(from.per_entry(field.id).unwrap_or(0).saturating_mul(8));
        }
    }
    sum.saturating_mul(from.entries)
}
