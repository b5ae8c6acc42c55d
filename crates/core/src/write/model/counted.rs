//! Arrays with a length: `float *x; //[n]`, numbers of which another member of the class says how many there are.
//!
//! Format page: `docs/format/streamerinfo.md`. Source: `TStreamerInfo::WriteBufferAux` (`WriteBasicPointer`).

use std::sync::Arc;

use crate::column::Number;
use crate::error::{Error, Result};
use crate::write::model::class::{Class, Member, Type};
use crate::write::model::columns::Column;

impl Class {
    /// The number of a member, or of one of a base's: what ROOT finds as a counter by that name.
    pub(super) fn counter(members: &[Member], name: &str) -> Option<Number> {
        let own = members.iter().find(|member| !member.is_base && &*member.name == name);
        match own {
            Some(member) => match member.kind {
                Type::Number(number) => Some(number),
                _ => None,
            },
            None => members.iter().rev().find_map(|member| match &member.kind {
                Type::Object(base) if member.is_base => Self::counter(&base.members, name),
                _ => None,
            }),
        }
    }

    /// The class that declares the length of an array: this one, or a base.
    pub(super) fn declaring(&self, counter: &str) -> &Self {
        if self.members.iter().any(|member| !member.is_base && &*member.name == counter) {
            return self;
        }
        let base = self.members.iter().rev().find_map(|member| match &member.kind {
            Type::Object(base) if member.is_base && Self::counter(&base.members, counter).is_some() => Some(base),
            _ => None,
        });
        base.map_or(self, |base| base.declaring(counter))
    }

    /// Refuses an array with a length that no member before it counts.
    pub(super) fn check_counter(&self, member: &Member, before: &[Member]) -> Result<()> {
        let Type::Counted(_, counter) = &member.kind else { return Ok(()) };
        match Self::counter(before, counter) {
            None | Some(Number::Bool | Number::F32 | Number::F64) => Err(Error::mismatch(format!(
                "member {} is counted by {counter}, which is no whole number before it",
                member.name
            ))),
            Some(_) => Ok(()),
        }
    }
}

impl Column {
    /// Refuses arrays whose lengths are not those that their counters say. Empty ones fit any length: their pointers
    /// are null.
    pub(super) fn check_counts(class: &Arc<Class>, columns: &[Self]) -> Result<()> {
        for (index, (member, column)) in class.members.iter().zip(columns).enumerate() {
            let (Type::Counted(_, name), Self::Lists(ends, _)) = (&member.kind, column) else { continue };
            let Some((number, counts)) = counter(&class.members[..index], columns, name) else { continue };
            let mut before = 0;
            for (row, (&end, count)) in ends.iter().zip(counts.chunks_exact(number.bytes())).enumerate() {
                let (items, count) = (end - before, number.whole(count));
                before = end;
                if count < 0 || items > 0 && i64::try_from(items) != Ok(count) {
                    return Err(Error::mismatch(format!(
                        "{} has {items} numbers in object {row}, and {name}, which counts them, is {count}",
                        member.name
                    ))
                    .in_object(&member.name));
                }
            }
        }
        Ok(())
    }
}

/// The counter of a name among members, or those of a base, and its values.
fn counter<'c>(members: &[Member], columns: &'c [Column], name: &str) -> Option<(Number, &'c [u8])> {
    let both = || members.iter().zip(columns);
    match both().find(|(member, _)| !member.is_base && &*member.name == name) {
        Some((member, column)) => match (&member.kind, column) {
            (Type::Number(number), Column::Numbers(_, bytes)) => Some((*number, bytes)),
            _ => None,
        },
        None => both().rev().find_map(|(member, column)| match (&member.kind, column) {
            (Type::Object(base), Column::Record(_, columns)) if member.is_base => counter(&base.members, columns, name),
            _ => None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::model::branch::BranchSpec;

    #[test]
    fn lengths_are_those_that_counters_say() {
        let counted = |counter: &str| {
            let base = Arc::new(Class::new("Base").member("n", Type::Number(Number::I32)));
            Arc::new(Class::new("A").base(base).member("x", Type::Counted(Number::F32, counter.into())))
        };
        let class = counted("n");
        let values = |counts: &[i32; 2], ends: [u64; 2]| {
            let lists = Column::Lists(ends.to_vec(), Box::new(Column::from(&[0.5_f32, 1.5])));
            Column::Record(2, vec![Column::Record(2, vec![Column::from(counts)]), lists])
        };
        let kind = Type::Object(Arc::clone(&class));
        kind.check().unwrap();
        values(&[2, 0], [2, 2]).check(&kind).unwrap();
        // Null pointers.
        values(&[2, 7], [2, 2]).check(&kind).unwrap();
        assert!(values(&[-1, 2], [0, 2]).check(&kind).unwrap_err().message().contains("is -1"));
        assert!(values(&[1, 1], [2, 2]).check(&kind).unwrap_err().message().contains("x has 2 numbers in object 0"));
        assert!(Type::Object(counted("m")).check().is_err());
        BranchSpec::object("a", class, 99).check_new().unwrap();
        let short = Class::new("A").member("n", Type::Number(Number::I16));
        let short = short.member("x", Type::Counted(Number::F32, "n".into()));
        assert!(BranchSpec::object("a", short.into(), 99).check_new().is_err());
    }
}
