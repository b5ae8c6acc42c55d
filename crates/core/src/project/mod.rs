//! PROJECTS: the classes that a file describes, as source code: Rust types, Python dataclasses or C++ headers.
//!
//! What `TFile::MakeProject` is in ROOT. Classes that ROOT itself has are left out; those that others are made of stand
//! first.

mod cpp;
mod cpp_forward;
mod cpp_names;
mod cpp_order;
mod fields;
mod language;
mod model;
mod python;
mod rust;

use crate::error::Result;
use crate::schema::StreamerInfo;
pub use fields::infos_of;
pub use language::Language;
use model::Project;

/// Source code of classes: those that are named and what they are made of, or all that are not ROOT's own. Of several
/// versions the newest counts. Members that the language cannot express are comments that say why.
///
/// # Errors
///
/// [`NotFound`](crate::ErrorKind::NotFound) for a name that no info has.
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::project::{Language, makeproject};
/// use sapwood::write::{Class, Type};
/// let hit = Class::new("Hit").with_version(2).member("charge", Type::Number(Number::F32));
/// let source = makeproject(&[hit.info()], Language::Rust, &[])?;
/// assert!(source.ends_with("#[entry(version = 2)]\npub struct Hit {\n    pub charge: f32,\n}\n"));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn makeproject(infos: &[StreamerInfo], language: Language, classes: &[&str]) -> Result<String> {
    let project = Project::new(infos, language, classes)?;
    Ok(match language {
        Language::Rust => rust::source(&project),
        Language::Python => python::source(&project),
        Language::Cpp => cpp::source(&project),
    })
}
