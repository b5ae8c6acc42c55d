//! The fields of an RNTuple that is written, and where their values go.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::file::distance;
use crate::read::Column;
use crate::write::page::buffer::ClusterBuffer;
use crate::write::page::field::{ColumnPlan, FieldSpec, Node};
use crate::write::page::stored::stored_values;

/// Where the values of a field go, and its values.
pub(crate) type Source<'v> = (Node, Cow<'v, Column>);

/// The layout that all writers of an RNTuple share: its fields, and how their values become pages.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) name: Arc<str>,
    pub(crate) fields: Vec<FieldSpec>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) plans: Vec<ColumnPlan>,
    /// Fields of the schema, those below others included.
    pub(crate) schema_fields: usize,
    /// Names of top-level fields that show values of others, and take none.
    pub(crate) projected: Vec<Arc<str>>,
}

impl Layout {
    /// The error of a name that no field has.
    fn unknown(&self, name: &str) -> Error {
        if self.projected.iter().any(|projected| **projected == *name) {
            let words = format!("the field {name:?} shows values of another field, and takes none: leave it out");
            return Error::mismatch(words);
        }
        let mut near: Vec<_> = self.fields.iter().map(|field| (distance(name, &field.name), &field.name)).collect();
        near.sort();
        let names: Vec<_> = near.iter().take(5).map(|(_, name)| format!("{name:?}")).collect();
        Error::not_found(format!("there is no field {name:?}; nearest: {}", names.join(", ")))
    }

    /// For each field the column of its values, checked before anything is buffered; and the number of rows.
    pub(crate) fn sources<'v>(&self, values: &'v [(&str, Column)]) -> Result<(Vec<Source<'v>>, usize)> {
        let mut given: HashMap<&str, &Column> = HashMap::with_capacity(values.len());
        let known: HashSet<&str> = self.fields.iter().map(|field| &*field.name).collect();
        let mut rows: Option<(usize, &str)> = None;
        for (name, column) in values {
            if !known.contains(name) {
                return Err(self.unknown(name));
            }
            match rows {
                Some((wanted, first)) if wanted != column.len => {
                    let message = format!("field {name:?} was given another number of values than {first:?}");
                    return Err(Error::mismatch(message).wanted(wanted as u64, column.len as u64));
                }
                _ => rows = Some((column.len, name)),
            }
            if given.insert(name, column).is_some() {
                return Err(Error::mismatch(format!("field {name:?} was given values twice")));
            }
        }
        let rows = rows.map_or(0, |(rows, _)| rows);
        let mut sources = Vec::with_capacity(self.fields.len());
        for (field, node) in self.fields.iter().zip(&self.nodes) {
            let column = given.get(&*field.name).copied();
            let column =
                column.ok_or_else(|| Error::mismatch(format!("field {:?} was given no values", field.name)))?;
            let source = node.bound(&column.kind).and_then(|bound| {
                let (bound, column) = stored_values(bound, column, &self.plans)?;
                ClusterBuffer::check(&bound, &column, 0..rows)?;
                Ok((bound, column))
            });
            sources.push(source.map_err(|error| error.in_object(&field.name))?);
        }
        Ok((sources, rows))
    }
}
