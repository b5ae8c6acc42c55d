//! Which fields of an RNTuple have the members of an object.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::members::all_names;
use crate::column::{Field, Kind};
use crate::error::{Error, Result};
use crate::ntuple::{FieldId, Model, NTuple, columns_of};
use crate::read::{Joined, Selection};
use crate::write::Type;

/// The fields that a type is read from.
pub(super) struct Fields {
    ids: Vec<FieldId>,
    models: Vec<Arc<Model>>,
    /// Whether they are the members, and not the object.
    are_members: bool,
}

impl Fields {
    /// A field, or without a path the top-level fields as members. Members that the type does not have are not read.
    pub(super) fn new(ntuple: &NTuple, path: &str, wanted: &Type) -> Result<Self> {
        let mut names = HashSet::new();
        all_names(wanted, &mut names);
        let are_members = path.is_empty();
        let ids: Vec<FieldId> = match are_members {
            true => {
                let is_wanted =
                    |&id: &FieldId| ntuple.fields().get(id).is_some_and(|field| names.contains(&*field.name));
                ntuple.top().iter().copied().filter(is_wanted).collect()
            }
            false => vec![ntuple.field(path)?.id],
        };
        let models = ids.iter().map(|&id| ntuple.model_of_members(id, &names)).collect::<Result<_>>()?;
        Ok(Self { ids, models, are_members })
    }

    /// Bytes of an entry once inflated, on average; of all members of its records.
    pub(super) fn row_bytes(&self, ntuple: &NTuple) -> Result<u64> {
        let mut all: u64 = 0;
        for &id in &self.ids {
            all = all.saturating_add(ntuple.field_bytes(id)?.inflated);
        }
        Ok(all / ntuple.entries.max(1) + 1)
    }

    /// Reads entries.
    pub(super) fn read(&self, ntuple: &NTuple, entries: Range<u64>) -> Result<(Kind, Joined)> {
        let selection = Selection::try_from(entries)?;
        let columns = columns_of(ntuple, &self.ids, &self.models, &selection, |_| Ok(()))?;
        let mut whole = Joined::default();
        let kinds: Vec<Kind> = columns.iter().map(|column| whole.column(column)).collect();
        if !self.are_members {
            let kind = kinds.into_iter().next().ok_or_else(|| Error::internal("a field gave no column"))?;
            return Ok((kind, whole));
        }
        let member = |(&id, kind): (&FieldId, Kind)| {
            let name = ntuple.fields().get(id).map_or_else(|| "".into(), |field| Arc::clone(&field.name));
            Field { name, kind, base: false }
        };
        let fields = self.ids.iter().zip(kinds).map(member).collect();
        Ok((Kind::Record { class: Arc::clone(&ntuple.name), fields }, whole))
    }
}
