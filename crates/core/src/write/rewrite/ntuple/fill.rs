//! Adds fields with values for all entries to an RNTuple that is in the file, written by any program.
//!
//! A field that is added later usually has no pages for the clusters before: readers take its values there as zeros.
//! The columns of these fields are not marked so. Each cluster gets their pages, and a new page list leads to them.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::interrupt;
use crate::ntuple::{AliasColumn, ColumnPages, Descriptors, NTuple};
use crate::read::Column;
use crate::write::file::state::{Output, State};
use crate::write::ntuple::USUAL;
use crate::write::ntuple::layout::{Layout, Source};
use crate::write::options::NTupleOptions;
use crate::write::page::buffer::ClusterBuffer;
use crate::write::page::field::{FieldSpec, Schema};
use crate::write::page::seal::{Recycler, Sealing, seal};
use crate::write::page::state::NTupleState;
use crate::write::writer::FileWriter;

/// The pages of new columns in each cluster, and the records that hold these.
#[derive(Default)]
struct Filled {
    clusters: Vec<Vec<ColumnPages>>,
    rooms: Vec<Range<u64>>,
    stored: u64,
}

impl FileWriter {
    /// Adds fields to an RNTuple of a file that is [updated](Self::update), with a value for each of its entries.
    /// Pages of other fields stay as they are. The next save shows the new fields.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound); [`Exists`](crate::ErrorKind::Exists) if a field has the name already;
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for another number of values than entries, and for an RNTuple that was
    /// written since the file was opened. The RNTuple stays as it was then.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("fill-fields.root");
    /// use sapwood::column::{Kind, Number};
    /// use sapwood::read::Column;
    /// use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
    /// let field = |name: &str| FieldSpec::new(name, Kind::Number { buffer: 0, number: Number::I32 });
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let mut ntuple = file.ntuple("numbers", vec![field("x")], NTupleOptions::default())?;
    /// ntuple.extend(&[("x", Column::from_numbers(&[1, 2, 3]))])?;
    /// ntuple.close()?;
    /// file.close()?;
    ///
    /// let mut file = FileWriter::update(&path, WriteOptions::default())?;
    /// let squares = Column::from_numbers(&[1, 4, 9]);
    /// file.fill_fields("numbers", vec![field("square")], &[("square", squares)], &NTupleOptions::default())?;
    /// file.close()?;
    ///
    /// let ntuple = sapwood::File::open(&path)?.ntuple("numbers")?;
    /// let columns = sapwood::ntuple::columns(&ntuple, &[ntuple.field("square")?.id], 0..3)?;
    /// assert_eq!(&columns[0].numbers::<i32>()?[..], [1, 4, 9]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn fill_fields(
        &mut self,
        path: &str,
        fields: Vec<FieldSpec>,
        values: &[(&str, Column)],
        options: &NTupleOptions,
    ) -> Result<()> {
        self.output.check_process()?;
        let (key, from) = self.ntuple_before(path)?;
        let compression = options.compression.unwrap_or(USUAL);
        check_names(&from, &fields).map_err(|error| from.place(error))?;
        let (mut schema, nodes) = Schema::new(&fields, compression).map_err(|error| from.place(error))?;
        // All clusters get their pages: nothing of them is late.
        schema.descriptors.begin_at(0, from.schema().fields.len())?;
        let layout = Layout {
            name: Arc::clone(&from.name),
            fields,
            nodes,
            plans: schema.columns,
            schema_fields: 0,
            projected: Vec::new(),
        };
        let (sources, rows) = layout.sources(values).map_err(|error| from.place(error))?;
        if rows as u64 != from.entries {
            let error = Error::mismatch("new fields have another number of values than the RNTuple has entries");
            return Err(from.place(error.wanted(from.entries, rows as u64)));
        }
        let sealing = Sealing {
            compression,
            page_bytes: options.page_bytes.clamp(64, 1 << 29),
            with_checksums: options.with_checksums,
        };
        let mut state = self.output.open_state()?;
        let grown = self.output.grown_ntuple(&mut state, &key, Vec::new())?;
        let lists = missing_lists(&from, grown.written()).map_err(|error| from.place(error))?;
        let mut filled = Filled::default();
        let outcome = fill(&self.output, &mut state, grown.written(), &layout, &sources, &sealing, &mut filled);
        if let Err(error) = outcome {
            // Nothing leads to these pages.
            filled.rooms.into_iter().for_each(|room| self.output.release_as_gap(&mut state, room));
            return Err(from.place(error));
        }
        let index = grown.open(&mut state);
        let written = state.ntuples.get_mut(index).ok_or_else(|| Error::internal("an RNTuple has no state"))?;
        written.clusters.iter_mut().zip(lists).for_each(|(cluster, lists)| cluster.columns.extend(lists));
        add(&from, written, schema.descriptors, filled);
        Ok(())
    }
}

/// Checks that the RNTuple has no field of these names.
fn check_names(from: &NTuple, fields: &[FieldSpec]) -> Result<()> {
    let top = from.top().iter().filter_map(|&id| from.fields().get(id));
    let known: HashSet<&str> = top.map(|field| &*field.name).collect();
    let mut names = fields.iter().flat_map(|field| std::iter::once(&field.name).chain(&field.counter));
    match names.find(|name| known.contains(&***name)) {
        None => Ok(()),
        Some(name) => Err(Error::new(crate::ErrorKind::Exists, format!("the RNTuple has a field {name:?} already"))),
    }
}

/// Writes the pages of the new columns, cluster by cluster.
fn fill(
    output: &Output,
    state: &mut State,
    written: &NTupleState,
    layout: &Layout,
    sources: &[Source<'_>],
    sealing: &Sealing,
    filled: &mut Filled,
) -> Result<()> {
    let session = &output.options.session;
    let recycler = Recycler::default();
    let mut elements = vec![0_u64; layout.plans.len()];
    let mut buffer = ClusterBuffer::new(&layout.plans, session.memory().clone());
    for cluster in &written.clusters {
        interrupt::check()?;
        let row = |entry: u64| usize::try_from(entry).map_err(|_| Error::mismatch("there are too many entries"));
        let rows = row(cluster.entries.start)?..row(cluster.entries.end)?;
        for (node, column) in sources {
            buffer.append(node, column, rows.clone(), true)?;
        }
        buffer.rows = rows.len() as u64;
        let sealed = seal(&layout.plans, &buffer, sealing, session, &recycler)?;
        let mut columns = output.write_pages(state, &sealed, written.max_key_bytes, &mut filled.rooms)?;
        for (column, before) in columns.iter_mut().zip(&mut elements) {
            column.first_element = Some(*before);
            *before += column.elements();
        }
        filled.stored += sealed.stored;
        filled.clusters.push(columns);
        recycler.give_back(sealed);
        buffer.clear();
    }
    Ok(())
}

/// Columns that each cluster does not list: those of fields that were added after it have no pages there.
fn missing_lists(from: &NTuple, written: &NTupleState) -> Result<Vec<Vec<ColumnPages>>> {
    let mut seen = vec![0_u64; from.schema().columns.len()];
    let mut all = Vec::with_capacity(written.clusters.len());
    for cluster in &written.clusters {
        let mut missing = Vec::new();
        for (column, seen) in cluster.columns.iter().zip(&mut seen) {
            if let Some(first) = column.first_element {
                *seen = first.saturating_add(column.elements());
            }
        }
        for number in cluster.columns.len()..seen.len() {
            let described = from.column(number)?;
            let elements = match (described.representation, described.first_element) {
                // Another representation has the values.
                (1.., _) => None,
                (0, Some(first)) => {
                    let per_entry = from.per_entry(described.field).unwrap_or(1);
                    Some(cluster.entries.end.saturating_mul(per_entry).min(first.unsigned_abs()))
                }
                (0, None) => seen.get(number).copied(),
            };
            let compression = USUAL.to_root() as u32;
            missing.push(ColumnPages { pages: Vec::new(), first_element: elements, compression });
        }
        all.push(missing);
    }
    Ok(all)
}

/// Adds the new columns to the schema and to the clusters, whose page lists are written anew.
fn add(from: &NTuple, written: &mut NTupleState, more: Descriptors, filled: Filled) {
    let before = from.schema().columns.len();
    written.added.fields.extend(more.fields);
    written.added.columns.extend(more.columns);
    let shifted = |alias: AliasColumn| AliasColumn { column: before + alias.column, ..alias };
    written.added.aliases.extend(more.aliases.into_iter().map(shifted));
    written.elements.resize(before + filled.clusters.first().map_or(0, Vec::len), 0);
    for (cluster, columns) in written.clusters.iter_mut().zip(filled.clusters) {
        for (place, column) in (before..).zip(&columns) {
            if let Some(elements) = written.elements.get_mut(place) {
                *elements = column.first_element.unwrap_or(0) + column.elements();
            }
        }
        cluster.columns.extend(columns);
    }
    written.stored += filled.stored;
    (written.is_open, written.changed) = (false, true);
}
