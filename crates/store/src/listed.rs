//! A name in a folder of a server.

/// Something in a folder of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Its name, without the folder's.
    pub name: String,
    /// Whether it is a folder itself.
    pub is_folder: bool,
}

/// Whether a name can be that of something in a folder.
pub(crate) fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains('/') && !name.chars().any(char::is_control)
}
