//! A context that brings numbered units of work of an RNTuple.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::write::ntuple::NTupleWriter;
use crate::write::ntuple::layout::Layout;
use crate::write::ntuple::units::{Member, Units};
use crate::write::options::NTupleOptions;

/// Brings numbered units of work of an RNTuple, one after another. Made by
/// [`ParallelNTupleWriter::numbered`](crate::write::ParallelNTupleWriter::numbered).
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::scratch("numbered-ntuple.root");
/// use sapwood::column::{Kind, Number};
/// use sapwood::read::Column;
/// use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::U8 });
/// let ntuple = file.parallel_ntuple("numbers", vec![spec], NTupleOptions::default())?;
/// let mut context = ntuple.numbered();
/// for number in [1, 0] {
///     let mut unit = context.unit(number)?;
///     unit.extend(&[("x", Column::from_numbers(&[number as u8; 2]))])?;
///     unit.close()?;
/// }
/// drop(context);
/// ntuple.close()?;
/// file.close()?;
/// let ntuple = sapwood::File::open(&path)?.ntuple("numbers")?;
/// let columns = sapwood::ntuple::columns(&ntuple, &[ntuple.field("x")?.id], 0..4)?;
/// assert_eq!(&columns[0].numbers::<u8>()?[..], [0, 0, 1, 1]);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct NumberedNTupleContext {
    member: Arc<Member>,
    layout: Arc<Layout>,
    options: NTupleOptions,
}

impl NumberedNTupleContext {
    pub(crate) fn new(units: &Arc<Units>, layout: &Arc<Layout>, options: &NTupleOptions) -> Self {
        Self { member: Arc::new(Member::new(units)), layout: Arc::clone(layout), options: options.clone() }
    }

    /// Begins the unit of a number. It is complete once its writer is closed, which blocks while too much waits for
    /// earlier units that other contexts can bring.
    ///
    /// # Errors
    ///
    /// [`Exists`](crate::ErrorKind::Exists) if the number was used before; [`Mismatch`](crate::ErrorKind::Mismatch)
    /// while the last unit of this context is open.
    ///
    /// # Example
    ///
    /// As that of [`NumberedNTupleContext`].
    pub fn unit(&mut self, number: u64) -> Result<NTupleWriter> {
        let units = &self.member.units;
        let placed = |error: Error| units.output.in_file(error.in_object(&self.layout.name));
        if Arc::strong_count(&self.member) > 1 {
            return Err(placed(Error::mismatch("the last unit of this context is still open")));
        }
        let unit = self.member.begin(number).map_err(placed)?;
        let (output, layout) = (Arc::clone(&units.output), Arc::clone(&self.layout));
        let writer = NTupleWriter::over(output, units.index, layout, self.options.clone(), true);
        Ok(writer.of_unit(unit))
    }
}
