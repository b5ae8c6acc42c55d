//! A name in a folder of a server.

/// Something in a folder of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Its name, without the folder's.
    pub name: String,
    /// Whether it is a folder itself.
    pub is_folder: bool,
    /// Length of a file in bytes, if the server sends it with the names.
    pub len: Option<u64>,
    /// When a file was changed, in seconds since 1970, if the server sends it with the names.
    pub modified: Option<i64>,
}

impl Listed {
    /// A name alone.
    pub(crate) fn named(name: String, is_folder: bool) -> Self {
        Self { name, is_folder, len: None, modified: None }
    }
}

/// Whether a name can be that of something in a folder.
pub(crate) fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains('/') && !name.chars().any(char::is_control)
}
