//! The bytes of a tree's record: made of drafts once, and of the bytes before as long as the tree grows.
//!
//! Page: `docs/decisions/wide-trees.md`.

use std::sync::Arc;

use crate::error::Result;
use crate::schema::{Encoder, StreamerInfo};
use crate::write::record::create::create;
use crate::write::record::figures::{TreeFigures, names, watched};
use crate::write::record::state::TreeState;
use crate::write::record::update::update;

/// The payload of the record of a tree as far as it was published, and the classes that it takes to read it: none if
/// they were given before. `keylen` is that of its key.
///
/// # Errors
///
/// Those of [`Encoder::record`].
pub(crate) fn payload(tree: &mut TreeState, keylen: usize) -> Result<(Vec<u8>, Vec<Arc<StreamerInfo>>)> {
    if let Some(template) = &tree.template {
        let figures = TreeFigures::new(tree);
        let payload = template.record(keylen, figures.list_bytes(), |figure, into| figures.put(figure, into))?;
        if !tree.is_open {
            tree.template = None;
        }
        return Ok((payload, Vec::new()));
    }
    let draft = Arc::new(match &tree.base {
        Some(base) => update(tree, base)?,
        None => create(tree)?,
    });
    // One that is closed is not written again.
    let is_written_again = tree.is_open && tree.base.is_none();
    let Some(names) = is_written_again.then(|| names(tree)).flatten() else {
        return Encoder::record(keylen, &draft);
    };
    let (written, template) = Encoder::record_and_template(keylen, &draft, watched, names)?;
    tree.template = template;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Compression;
    use crate::column::Number;
    use crate::write::basket::PlacedBasket;
    use crate::write::model::branch::{BranchKind, BranchSpec, Item};
    use crate::write::model::class::{Class, Type};
    use crate::write::options::TreeOptions;

    fn specs() -> Vec<BranchSpec> {
        let number = |number| Type::Number(number);
        let hit = Class::new("Hit").member("x", number(Number::F32)).member("n", Type::vector(number(Number::I32)));
        let hit = Arc::new(hit);
        let event = Class::new("Event").base(Arc::new(Class::new("Base").member("run", number(Number::U32))));
        let event = event.member("hits", Type::vector(Type::Object(Arc::clone(&hit))));
        let event = event.member("best", Type::Object(Arc::clone(&hit)));
        let event = event.member("more", Type::vector(Type::Object(hit)));
        let point = Arc::new(Class::new("Point").member("x", number(Number::F32)).member("i", number(Number::I16)));
        vec![
            BranchSpec::number("x", Number::F64),
            BranchSpec::counter("n"),
            BranchSpec::object("event", Arc::new(event.clone()), 99),
            BranchSpec::jagged("v", Number::I32, "n"),
            BranchSpec::text("text"),
            BranchSpec::vector("w", Item::Number(Number::F32), 2),
            BranchSpec::leaves("point", point),
            BranchSpec::object("whole", Arc::new(event), 0),
            BranchSpec::counter_of("few", Number::U8),
            BranchSpec::jagged("u", Number::F32, "few"),
            BranchSpec::new("list", BranchKind::Object(Type::vector(Type::vector(number(Number::U16))), 0)),
        ]
    }

    #[test]
    fn a_record_written_again_is_the_one_made_anew() -> Result<()> {
        let mut tree =
            TreeState::new(0, "t".into(), &specs(), Compression::default(), &TreeOptions { ..Default::default() })?;
        let mut seek = 1000;
        for round in 0..40_u64 {
            let keylen = if round < 20 { 60 } else { 72 };
            let made = Encoder::record(keylen, &Arc::new(create(&tree)?))?.0;
            let had_template = tree.template.is_some();
            let (found, classes) = payload(&mut tree, keylen)?;
            assert!(found == made, "round {round}");
            assert_eq!((had_template, classes.is_empty()), (round > 0, round > 0));
            assert!(tree.template.is_some());
            let entries = tree.entries;
            let rows = 10 + round / 7;
            for (index, branch) in tree.branches.iter_mut().enumerate() {
                let baskets = if branch.layout.has_data() { (index as u64 + round) % 3 } else { 0 };
                for _ in 0..baskets {
                    let nbytes = 100 + seek as u32 % 77;
                    branch.add(PlacedBasket { seek, nbytes, first_entry: entries }, 30_000 + 111 * round);
                    seek += u64::from(nbytes) << (round / 2);
                }
                branch.most = branch.most.max(round * index as u64 / 2);
            }
            tree.entries += rows;
            tree.clusters.push(rows);
        }
        tree.is_open = false;
        assert!(payload(&mut tree, 60)?.0 == Encoder::record(60, &Arc::new(create(&tree)?))?.0);
        assert!(tree.template.is_none(), "nothing is kept of a tree that is closed");
        Ok(())
    }
}
