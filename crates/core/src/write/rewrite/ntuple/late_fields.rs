//! Fields that an RNTuple gets when it has entries: the footer describes them, and says where their values begin.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::ntuple::{ColumnDescriptor, Descriptors, FieldDescriptor, FieldId, NTuple};
use crate::write::rewrite::ntuple::kept_fields::KeptFields;

/// What top-level fields of another RNTuple add to the schema of one that has so many entries.
pub(crate) fn late_fields(first: &NTuple, other: &NTuple, fields: &[FieldId], entries: u64) -> Result<Descriptors> {
    let names: Vec<Arc<str>> =
        fields.iter().filter_map(|&id| other.fields().get(id)).map(|field| Arc::clone(&field.name)).collect();
    let kept = KeptFields::of(other, Some(&names)).map_err(|error| other.place(error))?;
    let found = kept.pruned(other.schema(), 0, 0);
    let before = first.schema().fields.len();
    let columns = kept.columns().zip(found.columns).map(|(old, column)| {
        let first_element = first_element(other, old, entries)?;
        Ok(ColumnDescriptor { field: column.field + before, first_element, ..column })
    });
    Ok(Descriptors {
        columns: columns.collect::<Result<_>>()?,
        fields: found
            .fields
            .into_iter()
            .map(|field| FieldDescriptor { parent: field.parent + before, ..field })
            .collect(),
        ..Descriptors::default()
    })
}

/// Elements that entries without a column would have in it; none where the column has no fixed number in an entry, or
/// there is no such entry. Of representations beyond the first it is negative: they are not in use at first.
fn first_element(other: &NTuple, column: usize, entries: u64) -> Result<Option<i64>> {
    let described = other.column(column)?;
    let field = other.fields().get(described.field);
    let field = field.ok_or_else(|| Error::internal("a column belongs to no field"))?;
    let set = field.representations.iter().position(|set| set.first() == Some(&column));
    let (Some(set), Some(per_entry)) = (set, other.per_entry(field.id)) else { return Ok(None) };
    let elements = entries.checked_mul(per_entry).and_then(|elements| i64::try_from(elements).ok());
    let elements = elements.ok_or_else(|| other.place(Error::malformed("a field has too many values")))?;
    Ok(Some(if set == 0 { elements } else { -elements }).filter(|&elements| elements != 0))
}
