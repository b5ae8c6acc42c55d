//! How values go from the columns of an RNTuple to those of a new one with the same fields.

use std::collections::HashMap;
use std::sync::Arc;

use crate::codec::Compression;
use crate::error::{Error, Result};
use crate::ntuple::{ColumnDescriptor, ColumnType, Descriptors, FieldId, Model, NTuple, Node, Role, Shape};
use crate::write::ntuple::layout::Layout;
use crate::write::page::field::{ColumnPlan, FieldSpec, Node as Target, number_type};
use crate::write::rewrite::ntuple::kept_fields::KeptFields;

/// The schema of the new RNTuple, what is read of the old one, and how that gets into its columns.
pub(crate) struct StoredLayout {
    pub(crate) schema: Descriptors,
    pub(crate) layout: Layout,
    /// Top-level fields that are read, and how.
    pub(crate) ids: Vec<FieldId>,
    pub(crate) models: Vec<Arc<Model>>,
}

/// A column of the new RNTuple.
struct NewColumn {
    kind: ColumnType,
    /// Bytes of an element in memory.
    wide: usize,
    compression: Compression,
    /// Bits and range, where the type does not tell.
    of: ColumnDescriptor,
}

struct Builder<'a, F> {
    from: &'a NTuple,
    /// Setting of each column's pages.
    found: Vec<Option<Compression>>,
    compression: F,
    /// By their numbers in the old one.
    columns: HashMap<usize, NewColumn>,
}

impl StoredLayout {
    /// Fields stay as they are. Of several representations one is left, lists may have as many items as there are, and
    /// numbers are split or not as it suits `compression`, which is asked with the field and the setting of its pages.
    pub(crate) fn new(
        from: &NTuple,
        kept: &KeptFields,
        compression: impl Fn(FieldId, Option<Compression>) -> Compression,
    ) -> Result<Self> {
        let mut builder = Builder { from, found: settings(from)?, compression, columns: HashMap::new() };
        let (mut ids, mut models, mut fields, mut nodes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for &id in from.top() {
            let Some(field) = from.fields().get(id).filter(|field| kept.has(id) && field.source.is_none()) else {
                continue;
            };
            let model = from.stored_model(id)?;
            nodes.push(builder.target(&model.node)?);
            fields.push(FieldSpec::new(Arc::clone(&field.name), model.kind.clone()));
            ids.push(id);
            models.push(model);
        }
        let Builder { columns, .. } = builder;
        // Columns without a value, because another representation is written, have no number any more.
        let old = from.schema();
        let mut numbers: HashMap<usize, usize> = HashMap::with_capacity(columns.len());
        let mut schema = Descriptors { columns: Vec::with_capacity(columns.len()), ..kept.pruned(old, 0, 0) };
        let new_fields: HashMap<FieldId, usize> =
            (0..from.fields().len()).filter(|&id| kept.has(id)).zip(0..).collect();
        let mut plans = Vec::with_capacity(columns.len());
        for column in 0..old.columns.len() {
            let Some(NewColumn { kind, wide, compression, of }) = columns.get(&column) else { continue };
            numbers.insert(column, plans.len());
            let bits =
                if matches!(kind, ColumnType::Real32Trunc | ColumnType::Real32Quant) { of.bits } else { kind.bits() };
            let range = of.range.filter(|_| *kind == ColumnType::Real32Quant);
            let compression = Some(*compression);
            let field = new_fields.get(&of.field).copied();
            let field = field.ok_or_else(|| Error::internal("a column that is kept belongs to a field that is not"))?;
            plans.push(ColumnPlan { kind: *kind, bits, range, wide: *wide, compression, is_used: true });
            schema.columns.push(ColumnDescriptor {
                kind: Some(*kind),
                code: kind.code(),
                bits,
                field,
                representation: 0,
                first_element: None,
                range,
            });
        }
        schema.aliases = old
            .aliases
            .iter()
            .filter_map(|alias| {
                let (column, field) = (*numbers.get(&alias.column)?, *new_fields.get(&alias.field)?);
                Some(crate::ntuple::AliasColumn { column, field })
            })
            .collect();
        for node in &mut nodes {
            node.renumber(&numbers);
        }
        let schema_fields = schema.fields.len();
        let projected = schema.projected();
        let layout = Layout { name: Arc::clone(&from.name), fields, nodes, plans, schema_fields, projected };
        Ok(Self { schema, layout, ids, models })
    }
}

impl<F: Fn(FieldId, Option<Compression>) -> Compression> Builder<'_, F> {
    /// Where the values of a node go; columns have the numbers of the old ones.
    fn target(&mut self, node: &Node) -> Result<Target> {
        Ok(match &node.shape {
            Shape::Numbers { to, buffer } => {
                let first = self.first(node, 0)?;
                let kind = match (&node.columns[..], first.kind) {
                    ([_], Some(kind)) => kind,
                    _ => number_type(*to, true),
                };
                let column = self.column(node, 0, kind, to.bytes())?;
                Target::Numbers { buffer: *buffer, number: *to, stored: *to, column }
            }
            Shape::Text { offsets, bytes } => {
                let ends = self.column(node, 0, ColumnType::SplitIndex64, 8)?;
                let kind = self.first(node, 1)?.kind.unwrap_or(ColumnType::Char);
                let chars = self.column(node, 1, kind, 1)?;
                Target::Text { offsets: *offsets, bytes: *bytes, ends, chars }
            }
            Shape::List { offsets, item } => {
                let ends = self.column(node, 0, ColumnType::SplitIndex64, 8)?;
                Target::List { offsets: *offsets, ends, item: Box::new(self.target(item)?) }
            }
            Shape::Variant { tags, items } => {
                let switch = self.column(node, 0, ColumnType::Switch, crate::write::page::field::SWITCH_BYTES)?;
                let items = items.iter().map(|item| self.target(item)).collect::<Result<_>>()?;
                Target::Variant { tags: *tags, switch, items }
            }
            Shape::Fixed { len, item } => {
                let len = usize::try_from(*len).map_err(|_| Error::internal("an array is too long"))?;
                Target::Fixed { len, item: Box::new(self.target(item)?) }
            }
            Shape::Record { members } => {
                let is_plain = self.from.fields().get(node.field).is_some_and(|field| field.role == Role::Plain);
                match &members[..] {
                    // Enumerations and atomics have the values of the field below.
                    [member] if is_plain => self.target(member)?,
                    members => Target::Record {
                        members: members.iter().map(|member| self.target(member)).collect::<Result<_>>()?,
                    },
                }
            }
            Shape::Optional { .. } | Shape::Counts { .. } | Shape::Streamed { .. } => {
                return Err(Error::internal("values are not as their columns store them"));
            }
        })
    }

    /// A column of the first representation of a node.
    fn first(&self, node: &Node, place: usize) -> Result<&ColumnDescriptor> {
        let column = node.columns.first().and_then(|columns| columns.get(place));
        self.from.column(*column.ok_or_else(|| Error::internal("a field has fewer columns than its type"))?)
    }

    /// Adds a column, and gives the number of the old one.
    fn column(&mut self, node: &Node, place: usize, kind: ColumnType, wide: usize) -> Result<usize> {
        let of = self.first(node, place)?.clone();
        let sets = node.columns.iter().filter_map(|columns| columns.get(place).copied());
        let found = sets.clone().find_map(|column| self.found.get(column).copied().flatten());
        let compression = (self.compression)(of.field, found);
        let was_raw = found.is_none_or(|found| found.level == 0);
        let kind = match (compression.level, kind.is_index()) {
            (0, _) => kind.plain(),
            // Numbers that are compressed already keep what was chosen for them.
            (_, false) if !was_raw => kind,
            _ => kind.split(),
        };
        let number = sets.clone().next().ok_or_else(|| Error::internal("a field has no column for its values"))?;
        self.columns.insert(number, NewColumn { kind, wide, compression, of });
        Ok(number)
    }
}

/// Compression of each column's pages, by the last cluster that has some.
pub(crate) fn settings(from: &NTuple) -> Result<Vec<Option<Compression>>> {
    let mut found = vec![None; from.schema().columns.len()];
    for cluster in (0..from.clusters()?.len()).rev() {
        let (_, columns) = from.cluster_pages(cluster)?;
        for (known, pages) in found.iter_mut().zip(columns) {
            if known.is_none() && !pages.pages.is_empty() {
                *known = i32::try_from(pages.compression).ok().and_then(Compression::from_root);
            }
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    Ok(found)
}
