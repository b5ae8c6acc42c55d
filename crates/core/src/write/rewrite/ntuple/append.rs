//! Adds entries to an RNTuple that is in the file, written by any program: they go into the columns that are there.

use std::sync::Arc;

use crate::codec::Compression;
use crate::container::Key;
use crate::error::{Error, Result};
use crate::file::split_cycle;
use crate::ntuple::{ColumnType, NTuple, Node, Role, Shape};
use crate::write::ntuple::NTupleWriter;
use crate::write::ntuple::layout::Layout;
use crate::write::options::NTupleOptions;
use crate::write::page::field::{ColumnPlan, FieldSpec, Node as Target, SWITCH_BYTES};
use crate::write::page::streamer::Streamer;
use crate::write::rewrite::ntuple::stored_layout::settings;
use crate::write::writer::FileWriter;

impl FileWriter {
    /// Opens an RNTuple of a file that is [updated](Self::update), to add entries to it. What is there stays as it is;
    /// new clusters follow those that are there, and each column keeps its compression where `options` name none.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound); [`Mismatch`](crate::ErrorKind::Mismatch) for an RNTuple that was
    /// written since the file was opened; [`Unsupported`](crate::ErrorKind::Unsupported) naming a field of a kind that
    /// cannot be written.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("append-ntuple.root");
    /// use sapwood::column::{Kind, Number};
    /// use sapwood::read::Column;
    /// use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I32 });
    /// let mut ntuple = file.ntuple("numbers", vec![spec], NTupleOptions::default())?;
    /// ntuple.extend(&[("x", Column::from_numbers(&[1, 2]))])?;
    /// ntuple.close()?;
    /// file.close()?;
    ///
    /// let mut file = FileWriter::update(&path, WriteOptions::default())?;
    /// let mut ntuple = file.append_ntuple("numbers", NTupleOptions::default())?;
    /// ntuple.extend(&[("x", Column::from_numbers(&[3]))])?;
    /// ntuple.close()?;
    /// file.close()?;
    /// assert_eq!(sapwood::File::open(&path)?.ntuple("numbers")?.entries, 3);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn append_ntuple(&mut self, path: &str, options: NTupleOptions) -> Result<NTupleWriter> {
        let (key, from) = self.ntuple_before(path)?;
        let layout = layout(&from, options.compression)?;
        let mut state = self.output.open_state()?;
        let grown = self.output.grown_ntuple(&mut state, &key, Vec::new())?;
        let index = grown.open(&mut state);
        drop(state);
        Ok(NTupleWriter::over(Arc::clone(&self.output), index, Arc::new(layout), options, false))
    }

    /// An RNTuple as it was when the file was opened.
    pub(crate) fn ntuple_before(&self, path: &str) -> Result<(Key, Arc<NTuple>)> {
        let Some(file) = self.output.before.clone() else {
            return Err(self.output.in_file(Error::mismatch("only files that are updated have RNTuples to add to")));
        };
        let mut state = self.output.open_state()?;
        let (folder, keys) = self.output.find(&mut state, path.trim_matches('/'))?;
        let key = keys.into_iter().next().ok_or_else(|| file.name(Error::not_found(format!("no key {path:?}"))))?;
        if state.folders[folder].newest(&key.name) != Some(&key) {
            let words = "only the newest cycle of an RNTuple can be added to";
            return Err(file.name(Error::mismatch(words).in_object(path)));
        }
        let was_there = file.key(&format!("{};{}", split_cycle(path).0, key.cycle)).is_ok_and(|known| known == key);
        if state.ntuple_of(&key).is_some() || !was_there {
            let words = "the RNTuple was written since the file was opened: close the file first";
            return Err(file.name(Error::mismatch(words).in_object(path)));
        }
        let from = file.ntuple_at(&key)?;
        Ok((key, from))
    }
}

/// How values go to the columns of an RNTuple: to those of the first representation of each field.
fn layout(from: &NTuple, compression: Option<Compression>) -> Result<Layout> {
    let settings = settings(from)?;
    let mut plans = Vec::with_capacity(from.schema().columns.len());
    for (column, setting) in from.schema().columns.iter().zip(settings) {
        // Those of other representations, and of fields that others show, stay unused.
        plans.push(ColumnPlan {
            kind: column.kind.unwrap_or(ColumnType::Byte),
            bits: column.bits,
            range: column.range,
            wide: 1,
            compression: if compression.is_none() { setting } else { None },
            is_used: false,
        });
    }
    let mut builder = Builder { from, plans };
    let (mut fields, mut nodes) = (Vec::new(), Vec::new());
    for &id in from.top() {
        let Some(field) = from.fields().get(id).filter(|field| field.source.is_none()) else { continue };
        let model = from.model(id)?;
        nodes.push(builder.target(&model.node).map_err(|error| from.in_field(id, error))?);
        let mut spec = FieldSpec::new(Arc::clone(&field.name), model.kind.clone());
        spec.description = Arc::clone(&field.description);
        fields.push(spec);
    }
    let schema_fields = from.schema().fields.len();
    let projected = from.schema().projected();
    Ok(Layout { name: Arc::clone(&from.name), fields, nodes, plans: builder.plans, schema_fields, projected })
}

struct Builder<'n> {
    from: &'n NTuple,
    plans: Vec<ColumnPlan>,
}

impl Builder<'_> {
    /// Where the values of a node go.
    fn target(&mut self, node: &Node) -> Result<Target> {
        let refused = |what: &str| Err(Error::unsupported(format!("{what} cannot be added to")));
        Ok(match &node.shape {
            Shape::Numbers { to, buffer } => {
                let column = self.column(node, 0)?;
                let stored = self.plans[column].kind.stored_number();
                let stored = stored.ok_or_else(|| Error::malformed("a field of numbers has a column of none"))?;
                self.plans[column].wide = stored.bytes();
                Target::Numbers { buffer: *buffer, number: *to, stored, column }
            }
            Shape::Text { offsets, bytes } => {
                let (ends, chars) = (self.column(node, 0)?, self.column(node, 1)?);
                self.plans[ends].wide = 8;
                Target::Text { offsets: *offsets, bytes: *bytes, ends, chars }
            }
            Shape::List { offsets, item } => {
                let ends = self.column(node, 0)?;
                self.plans[ends].wide = 8;
                Target::List { offsets: *offsets, ends, item: Box::new(self.target(item)?) }
            }
            Shape::Optional { tags, item } => {
                let ends = self.column(node, 0)?;
                self.plans[ends].wide = 8;
                Target::Optional { tags: *tags, ends, item: Box::new(self.target(item)?) }
            }
            Shape::Variant { tags, items } => {
                let switch = self.column(node, 0)?;
                self.plans[switch].wide = SWITCH_BYTES;
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
            Shape::Counts { .. } => return refused("a count of items that is no projected field"),
            Shape::Streamed { program, .. } => {
                let (ends, chars) = (self.column(node, 0)?, self.column(node, 1)?);
                self.plans[ends].wide = 8;
                let streamer = Streamer::new(Arc::clone(program), self.from.registry()?)?;
                Target::Streamed { streamer: Arc::new(streamer), buffers: Vec::new(), ends, chars }
            }
        })
    }

    /// A column of the first representation of a node, which is in use from now on.
    fn column(&mut self, node: &Node, place: usize) -> Result<usize> {
        let column = node.columns.first().and_then(|columns| columns.get(place)).copied();
        let column = column.ok_or_else(|| Error::internal("a field has fewer columns than its type"))?;
        let plan = self.plans.get_mut(column);
        let plan = plan.ok_or_else(|| Error::internal("a column of a field is not in the schema"))?;
        plan.is_used = true;
        Ok(column)
    }
}
