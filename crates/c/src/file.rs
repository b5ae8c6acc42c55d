//! Files that are read: their objects, and the tables among them.

use std::ffi::c_char;

use sapwood::io::OtherFiles;
use sapwood::{File, OpenOptions};
use sapwood_store::{NetOptions, environment, found_beside};

use crate::argument::{free, give, object, place, text};
use crate::error::{SapwoodError, call};
use crate::listing::{SapwoodKey, SapwoodKeys, Texts};
use crate::options::{SapwoodSession, session_or_own};
use crate::table::SapwoodTable;

/// A file that is open for reading. Threads may share it.
pub struct SapwoodFile(File);

/// Opens a path, or a URL of http(s)://, root(s)://, dcap://, s3://, gs:// or az://. Without a session (NULL) the file
/// has one of its own, on all cores. Settings of the network are those of the environment, as the `sapwood` command
/// takes them.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_open(
    path: *const c_char,
    session: *const SapwoodSession,
    out: *mut *mut SapwoodFile,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (path, out, session) = unsafe { (text(path, "path")?, place(out, "out")?, session_or_own(session)?) };
        let beside = |of: &str, name: &str| environment::open(found_beside(of, name)?, NetOptions::default());
        let options = OpenOptions { session, other_files: OtherFiles::new(beside), ..OpenOptions::default() };
        give(out, SapwoodFile(File::from_store(environment::open(path, NetOptions::default())?, options)?));
        Ok(())
    })
}

/// Lists the objects of a file; with `recursive` those of its directories, too.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_file_keys(
    file: *const SapwoodFile,
    recursive: bool,
    out: *mut *mut SapwoodKeys,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (file, out) = unsafe { (object(file, "file")?, place(out, "out")?) };
        let mut texts = Texts::default();
        let keys = file.0.keys(recursive)?;
        let rows = keys.iter().map(|found| SapwoodKey {
            path: texts.keep(&found.path),
            class_name: texts.keep(&found.key.class),
            title: texts.keep(&found.key.title),
            cycle: found.key.cycle,
            is_table: found.key.has_entries(),
        });
        let rows = rows.collect();
        give(out, SapwoodKeys::new(rows, texts));
        Ok(())
    })
}

/// Opens a tree or an RNTuple of a file by its path, like "folder/events" or "events;2". It keeps the file open.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_file_table(
    file: *const SapwoodFile,
    path: *const c_char,
    out: *mut *mut SapwoodTable,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (file, path, out) = unsafe { (object(file, "file")?, text(path, "path")?, place(out, "out")?) };
        give(out, SapwoodTable(file.0.table(path)?));
        Ok(())
    })
}

/// Closes a file. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_file_free(file: *mut SapwoodFile) {
    // SAFETY: as the crate's.
    unsafe { free(file) }
}
