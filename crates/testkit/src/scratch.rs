//! Paths of files that a test or an example writes.

use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A path in a temporary directory of its own, which is removed with all that is in it when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

/// The path of a file that does not exist yet.
///
/// # Panics
///
/// Where the system's temporary directory takes no directory.
pub fn scratch(name: &str) -> Scratch {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("sapwood-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    Scratch { path: directory.join(name) }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(directory) = self.path.parent() {
            std::fs::remove_dir_all(directory).ok();
        }
    }
}

/// The path of a file in `examples/data`.
pub fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data").join(name)
}
