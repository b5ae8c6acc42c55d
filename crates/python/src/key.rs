//! Keys: what is known of an object before it is read.

use pyo3::prelude::*;
use sapwood::container::datime_text;

/// A key of a directory.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Key {
    pub(crate) path: String,
    pub(crate) key: sapwood::container::Key,
    /// The number of an object in the record, if that is meant.
    pub(crate) inside: Option<u32>,
}

#[pymethods]
impl Key {
    /// Its path below the directory that was listed; its name where it was looked up alone.
    #[getter]
    fn path(&self) -> &str {
        &self.path
    }

    /// The number of an object in the record, if that is meant.
    #[getter]
    fn inside(&self) -> Option<u32> {
        self.inside
    }

    /// Makes the key of an object in the record of this key.
    fn within(&self, id: u32) -> Self {
        Self { path: self.path.clone(), key: self.key.clone(), inside: Some(id) }
    }

    /// Name of the object.
    #[getter]
    fn name(&self) -> &str {
        &self.key.name
    }

    /// Number among objects of the same name.
    #[getter]
    fn cycle(&self) -> u16 {
        self.key.cycle
    }

    /// Class of the object.
    #[getter]
    fn classname(&self) -> &str {
        &self.key.class
    }

    /// Whether it is a directory.
    #[getter]
    fn is_directory(&self) -> bool {
        self.key.is_directory()
    }

    /// Whether it is a tree, by one of ROOT's own classes.
    #[getter]
    fn is_tree(&self) -> bool {
        self.key.is_tree()
    }

    /// Whether it is an RNTuple.
    #[getter]
    fn is_ntuple(&self) -> bool {
        self.key.is_ntuple()
    }

    /// Title of the object.
    #[getter]
    fn title(&self) -> &str {
        &self.key.title
    }

    /// Where the record begins.
    #[getter]
    fn seek(&self) -> u64 {
        self.key.seek_key
    }

    /// Bytes of the record, key included.
    #[getter]
    fn nbytes(&self) -> u32 {
        self.key.nbytes
    }

    /// Bytes of the object once inflated.
    #[getter]
    fn objlen(&self) -> u32 {
        self.key.objlen
    }

    /// Bytes of the key itself.
    #[getter]
    fn keylen(&self) -> u16 {
        self.key.keylen
    }

    /// When it was written.
    #[getter]
    fn date(&self) -> String {
        datime_text(self.key.datime)
    }
}
