//! One RNTuple that many threads fill.
//!
//! Source: `ROOT::RNTupleParallelWriter`, `RNTupleFillContext`.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::write::file::state::Output;
use crate::write::ntuple::layout::Layout;
use crate::write::ntuple::numbered::NumberedNTupleContext;
use crate::write::ntuple::units::Units;
use crate::write::ntuple::{NTupleWriter, USUAL};
use crate::write::options::NTupleOptions;
use crate::write::page::field::FieldSpec;

/// An RNTuple that many threads fill, each through a context of its own. Entries are numbered in the order in which
/// clusters are committed.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::scratch("parallel-ntuple.root");
/// use sapwood::column::{Kind, Number};
/// use sapwood::read::Column;
/// use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I32 });
/// let ntuple = file.parallel_ntuple("numbers", vec![spec], NTupleOptions::default())?;
/// std::thread::scope(|scope| {
///     for thread in 0..4 {
///         let mut context = ntuple.context();
///         scope.spawn(move || {
///             context.extend(&[("x", Column::from_numbers(&[thread; 10]))])?;
///             context.close()
///         });
///     }
/// });
/// assert_eq!(&*ntuple.fields()[0].name, "x");
/// ntuple.close()?;
/// file.close()?;
/// assert_eq!(sapwood::File::open(&path)?.ntuple("numbers")?.entries, 40);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct ParallelNTupleWriter {
    output: Arc<Output>,
    index: usize,
    layout: Arc<Layout>,
    options: NTupleOptions,
    units: Arc<Units>,
    is_closed: bool,
}

impl ParallelNTupleWriter {
    pub(crate) fn begin(
        output: &Arc<Output>,
        path: &str,
        fields: Vec<FieldSpec>,
        options: NTupleOptions,
    ) -> Result<Self> {
        let (output, index, layout, options) = NTupleWriter::begin(output, path, fields, options)?.into_parts();
        let compression = options.compression.unwrap_or(USUAL);
        let units = Arc::new(Units::new(&output, index, compression, options.auto_save_bytes));
        Ok(Self { output, index, layout, options, units, is_closed: false })
    }

    /// A context for one thread: it seals its own clusters, and only their writing waits for others. Close it before
    /// the RNTuple.
    ///
    /// # Example
    ///
    /// As that of [`ParallelNTupleWriter`].
    pub fn context(&self) -> NTupleWriter {
        let (output, layout) = (Arc::clone(&self.output), Arc::clone(&self.layout));
        NTupleWriter::over(output, self.index, layout, self.options.clone(), true)
    }

    /// A context that brings numbered units of work: their entries are in the order of the numbers, from 0 on, and the
    /// bytes of the file do not depend on the threads. Make one for each thread before any begins, since waiting for a
    /// number that no open context can bring is an error; close them before the RNTuple.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("numbered-units.root");
    /// use sapwood::column::{Kind, Number};
    /// use sapwood::read::Column;
    /// use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::U8 });
    /// let ntuple = file.parallel_ntuple("numbers", vec![spec], NTupleOptions::default())?;
    /// let mut unit = ntuple.numbered().unit(0)?;
    /// unit.extend(&[("x", Column::from_numbers(&[7_u8]))])?;
    /// unit.close()?;
    /// ntuple.close()?;
    /// file.close()?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn numbered(&self) -> NumberedNTupleContext {
        NumberedNTupleContext::new(&self.units, &self.layout, &self.options)
    }

    /// The fields.
    pub fn fields(&self) -> &[FieldSpec] {
        &self.layout.fields
    }

    /// Entries of the clusters that are committed: a save shows as many.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) once the file is closed.
    ///
    /// # Example
    ///
    /// See [`save`](Self::save).
    pub fn entries(&self) -> Result<u64> {
        let state = self.output.open_state()?;
        let ntuple = state.ntuples.get(self.index).ok_or_else(|| Error::internal("an RNTuple has no state"))?;
        Ok(ntuple.entries)
    }

    /// Makes what is committed visible to every reader; gives the entries that the RNTuple has then.
    ///
    /// # Errors
    ///
    /// What the sink reports.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("parallel-ntuple-save.root");
    /// # use sapwood::column::{Kind, Number};
    /// # use sapwood::read::Column;
    /// # use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
    /// # let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// # let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I32 });
    /// let ntuple = file.parallel_ntuple("numbers", vec![spec], NTupleOptions::default())?;
    /// let mut context = ntuple.context();
    /// context.extend(&[("x", Column::from_numbers(&[1, 2, 3]))])?;
    /// context.flush()?;
    /// assert_eq!((ntuple.entries()?, ntuple.save()?), (3, 3));
    /// # context.close()?;
    /// # ntuple.close()?;
    /// # file.close()?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn save(&self) -> Result<u64> {
        let mut state = self.output.open_state()?;
        self.output.save(&mut state)?;
        let ntuple = state.ntuples.get(self.index).ok_or_else(|| Error::internal("an RNTuple has no state"))?;
        Ok(ntuple.entries)
    }

    /// Writes one page list for all clusters. The file's next save shows them.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) while contexts are open: their rows are not lost, and the RNTuple ends
    /// with the file; and for a numbered unit that was never begun: those after it are in the RNTuple nevertheless.
    pub fn close(mut self) -> Result<()> {
        let open = Arc::strong_count(&self.layout) - 1;
        if open > 0 {
            let message = format!("{open} contexts of the RNTuple are still open: close them first");
            return Err(self.output.in_file(Error::mismatch(message).in_object(&self.layout.name)));
        }
        self.finish()
    }

    fn finish(&mut self) -> Result<()> {
        self.output.check_process()?;
        if std::mem::replace(&mut self.is_closed, true) {
            return Ok(());
        }
        let units = self.units.finish().map_err(|error| self.output.in_file(error.in_object(&self.layout.name)));
        let mut state = self.output.open_state()?;
        units.and(self.output.end_ntuple(&mut state, self.index, self.options.compression.unwrap_or(USUAL)))
    }
}

impl Drop for ParallelNTupleWriter {
    fn drop(&mut self) {
        // Call `close` to get the error.
        let _ = self.finish();
    }
}
