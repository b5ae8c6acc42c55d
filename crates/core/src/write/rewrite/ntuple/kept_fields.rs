//! An RNTuple's schema with some of its top-level fields: those left out are not numbered any more.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::ntuple::{ColumnPages, Descriptors, Envelope, FieldId, Header, NTuple};

/// Which fields and columns are kept, and their new numbers.
#[derive(Debug)]
pub(crate) struct KeptFields {
    /// New numbers of fields by their old ones.
    fields: Vec<Option<usize>>,
    /// New numbers of columns by their old ones.
    columns: Vec<Option<usize>>,
    is_whole: bool,
}

impl KeptFields {
    /// These top-level fields, and the ones whose values projected fields among them show; all without a list.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for a name that no top-level field has.
    pub(crate) fn of(from: &NTuple, names: Option<&[Arc<str>]>) -> Result<Self> {
        let top_of = |mut id: FieldId| {
            while let Some(above) = from.fields().get(id).and_then(|field| field.parent) {
                id = above;
            }
            id
        };
        let named = |name: &Arc<str>| {
            let id = from.top().iter().copied().find(|&id| from.fields().get(id).is_some_and(|f| f.name == *name));
            id.ok_or_else(|| Error::not_found(format!("there is no top-level field {name:?}")))
        };
        let mut kept: HashSet<FieldId> = match names {
            Some(names) => names.iter().map(named).collect::<Result<_>>()?,
            None => from.top().iter().copied().collect(),
        };
        let sources = from.fields().iter().filter_map(|field| Some((top_of(field.id), top_of(field.source?))));
        let sources: Vec<(FieldId, FieldId)> = sources.collect();
        while sources.iter().any(|(shown, source)| kept.contains(shown) && kept.insert(*source)) {}
        let mut next = 0;
        let mut count = |is_kept: bool| {
            next += usize::from(is_kept);
            is_kept.then(|| next - 1)
        };
        let fields: Vec<Option<usize>> =
            from.fields().iter().map(|field| count(kept.contains(&top_of(field.id)))).collect();
        next = 0;
        let mut count = |is_kept: bool| {
            next += usize::from(is_kept);
            is_kept.then(|| next - 1)
        };
        let is_kept = |field: usize| fields.get(field).is_some_and(Option::is_some);
        let columns = from.schema().columns.iter().map(|column| count(is_kept(column.field))).collect();
        Ok(Self { is_whole: fields.iter().all(Option::is_some), fields, columns })
    }

    /// Whether a field is kept.
    pub(crate) fn has(&self, field: FieldId) -> bool {
        self.fields.get(field).is_some_and(Option::is_some)
    }

    /// Old numbers of the columns that are kept.
    pub(crate) fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        (0..).zip(&self.columns).filter(|(_, kept)| kept.is_some()).map(|(column, _)| column)
    }

    /// New numbers of the columns of each top-level field: runs of consecutive ones.
    pub(crate) fn columns_by_field(&self, from: &NTuple) -> Vec<Range<usize>> {
        let mut all: Vec<(FieldId, Range<usize>)> = Vec::new();
        for (new, old) in self.columns().enumerate() {
            let Ok(mut top) = from.column(old).map(|column| column.field) else { continue };
            while let Some(above) = from.fields().get(top).and_then(|field| field.parent) {
                top = above;
            }
            match all.last_mut().filter(|(last, _)| *last == top) {
                Some((_, columns)) => columns.end = new + 1,
                None => all.push((top, new..new + 1)),
            }
        }
        all.sort_by_key(|(top, _)| *top);
        all.into_iter().map(|(_, columns)| columns).collect()
    }

    /// The pages of kept columns in a cluster.
    pub(crate) fn pages(&self, columns: Vec<ColumnPages>) -> Vec<ColumnPages> {
        columns.into_iter().zip(&self.columns).filter(|(_, kept)| kept.is_some()).map(|(pages, _)| pages).collect()
    }

    /// The header under a name, and what the footer adds to it.
    pub(crate) fn schema(&self, from: &NTuple, name: &str) -> Result<(Envelope, Descriptors)> {
        if self.is_whole && *from.name == *name {
            return Ok((from.header().clone(), from.added()?));
        }
        let header = Header::read(from.header()).map_err(|error| from.place(error))?;
        let (fields, columns) = (header.schema.fields.len(), header.schema.columns.len());
        let schema = self.pruned(&header.schema, 0, 0);
        let added = self.pruned(&from.added()?, fields, columns);
        Ok((Header { name: name.into(), schema, ..header }.seal()?, added))
    }

    /// A part of the schema, whose first field and column have these numbers, without what is not kept.
    pub(crate) fn pruned(&self, part: &Descriptors, first_field: usize, first_column: usize) -> Descriptors {
        let field = |old: usize| self.fields.get(old).copied().flatten();
        let column = |old: usize| self.columns.get(old).copied().flatten();
        let fields = (first_field..).zip(&part.fields).filter_map(|(id, described)| {
            field(id)?;
            let parent = field(described.parent)?;
            let source = described.source.map(field);
            Some(crate::ntuple::FieldDescriptor { parent, source: source.flatten(), ..described.clone() })
        });
        let columns = (first_column..).zip(&part.columns).filter_map(|(id, described)| {
            column(id)?;
            Some(crate::ntuple::ColumnDescriptor { field: field(described.field)?, ..described.clone() })
        });
        let aliases = part.aliases.iter().filter_map(|alias| {
            Some(crate::ntuple::AliasColumn { column: column(alias.column)?, field: field(alias.field)? })
        });
        Descriptors {
            fields: fields.collect(),
            columns: columns.collect(),
            aliases: aliases.collect(),
            infos: part.infos.clone(),
        }
    }
}
