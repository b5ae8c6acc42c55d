//! Rows that are pushed straight into the columns that wait.

use crate::error::{Error, Result};
use crate::write::model::class::Type;
use crate::write::model::columns::Column;
use crate::write::tree::TreeWriter;

impl TreeWriter {
    /// Pushes one row into the objects of the first branch, which must be its only one. Nothing is checked until
    /// [`write_whole_clusters`](Self::write_whole_clusters), which must follow sooner or later.
    #[inline]
    pub(crate) fn push(&mut self, row: impl FnOnce(&mut Column)) {
        if let Some(objects) = self.pending.first_mut().and_then(|pending| pending.objects_mut()) {
            row(objects);
            self.rows += 1;
        }
    }

    /// Rows that wait, and their bytes in memory.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        (self.rows, self.waiting_bytes(self.rows))
    }

    /// Writes the clusters that are whole.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where rows that were pushed are none of the type: they are dropped with all that wait.
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
        self.write_whole()
    }
}
