//! Rows that are pushed straight into the buffered columns.

use crate::error::{Error, Result};
use crate::write::model::class::Type;
use crate::write::model::columns::Column;
use crate::write::tree::TreeWriter;

impl TreeWriter {
    /// Pushes one row into the objects of the first branch, which must be its only one. Nothing is checked until
    /// [`write_whole_clusters`](Self::write_whole_clusters), which must follow.
    #[inline]
    pub(crate) fn push(&mut self, row: impl FnOnce(&mut Column)) {
        if let Some(objects) = self.pending.first_mut().and_then(|pending| pending.objects_mut()) {
            row(objects);
            self.rows += 1;
        }
    }

    /// Buffered rows, and their bytes in memory.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        (self.rows, self.waiting_bytes(self.rows))
    }

    /// Writes the full clusters.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if pushed rows are not of the type: all buffered rows are dropped.
    pub(crate) fn write_whole_clusters(&mut self, kind: &Type) -> Result<()> {
        let rows = self.rows;
        if let Some(objects) = self.pending.first_mut().and_then(|pending| pending.objects_mut())
            && !(objects.len() == rows && objects.is_level())
        {
            *objects = Column::of(kind);
            self.rows = 0;
            let words = format!("entries of {} were pushed as something else; {rows} are dropped", kind.name());
            return Err(Error::mismatch(words));
        }
        self.write_full()
    }
}
