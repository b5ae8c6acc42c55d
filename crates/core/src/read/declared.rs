//! What the classes of a file say of a column with pointers, before any value is read.

use std::sync::Arc;

use super::follow::{DEEPEST, items};
use crate::column::{Field, Kind};
use crate::error::{Error, Result};
use crate::schema::{Registry, Target};

/// The type of the columns of a branch once they are [followed](super::Column::followed), as far as the file's classes
/// determine it: the numbers of its buffers are meaningless.
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) if it depends on the values: pointers to objects of several classes,
/// or of one that contains itself.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let tree = sapwood::File::open(path)?.tree("t")?;
/// let branch = tree.interpretation(tree.branch("n")?.id)?;
/// assert_eq!(sapwood::read::declared(&branch.kind, tree.registry())?, branch.kind);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn declared(kind: &Kind, registry: &Registry) -> Result<Kind> {
    declared_in(kind, registry, &mut Vec::new())
}

fn declared_in(kind: &Kind, registry: &Registry, within: &mut Vec<Arc<str>>) -> Result<Kind> {
    Ok(match kind {
        Kind::List { offsets, of, item } => {
            Kind::List { offsets: *offsets, of: *of, item: Box::new(declared_in(item, registry, within)?) }
        }
        Kind::Fixed { len, item } => Kind::Fixed { len: *len, item: Box::new(declared_in(item, registry, within)?) },
        Kind::Record { class, fields } => {
            if let Some(items) = items(kind) {
                return declared_in(&items, registry, within);
            }
            let mut made = Vec::with_capacity(fields.len());
            for field in fields {
                made.push(Field { kind: declared_in(&field.kind, registry, within)?, ..field.clone() });
            }
            Kind::Record { class: Arc::clone(class), fields: made }
        }
        Kind::Pointer { class, .. } if within.contains(class) || within.len() >= DEEPEST => {
            return Err(Error::unsupported(format!("class {class} contains itself: its type depends on the values")));
        }
        Kind::Pointer { class, .. } if !registry.is_final(class) => {
            return Err(Error::unsupported(format!(
                "pointers to {class} may lead to objects of several classes: their type depends on the values"
            )));
        }
        Kind::Pointer { class, .. } => {
            let target = Target::Members { class: Arc::clone(class), version: None, checksum: None };
            let program = registry.program(&target)?;
            within.push(Arc::clone(class));
            let of = declared_in(&program.kind, registry, within);
            within.pop();
            Kind::OneOf { tags: 0, of: vec![of?] }
        }
        plain => plain.clone(),
    })
}
