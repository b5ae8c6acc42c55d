//! Objects that are no trees: added up by name where their class can be, kept side by side elsewhere.

use std::collections::HashMap;

use super::Sum;
use super::input::{Input, Place};
use super::report::Merged;
use crate::container::Key;
use crate::error::{Error, Result};
use crate::file::File;
use crate::schema::Draft;
use crate::write::FileWriter;

/// Sums of objects, by their paths.
#[derive(Default)]
pub(super) struct Sums {
    all: Vec<Growing>,
    places: HashMap<String, usize>,
}

/// A sum, and where it goes.
struct Growing {
    place: Place,
    sum: Sum,
    /// The object that it takes the place of, in a file that is appended to.
    old: Option<Key>,
}

impl Sums {
    /// Adds the objects of an input. One that cannot be added is an error, or left out with a notice.
    pub(super) fn add(&mut self, writer: &FileWriter, input: Input, skips: bool, merged: &mut Merged) -> Result<()> {
        let file = input.file;
        for (place, object) in input.sums {
            let path = place.path();
            match self.add_one(writer, &file, place, &path, object) {
                Ok(()) => {}
                Err(error) if skips => merged.notices.push(format!("left out: {error}")),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn add_one(&mut self, writer: &FileWriter, file: &File, place: Place, path: &str, object: Draft) -> Result<()> {
        let within = |error: Error| file.name(error.in_object(path));
        let known = self.places.get(path).and_then(|&known| self.all.get_mut(known));
        if let Some(known) = known {
            return known.sum.add(&object).map_err(within);
        }
        let old = writer.newest(&place.folder, &place.key.name)?;
        let there = old.as_ref().map(|key| writer.draft_before(key)).transpose()?.flatten();
        let sum = match there {
            Some(there) => Sum::new(there).and_then(|mut sum| sum.add(&object).map(|()| sum)),
            None => Sum::new(object),
        };
        let sum = sum.map_err(within)?;
        self.places.insert(path.to_owned(), self.all.len());
        self.all.push(Growing { place, sum, old });
        Ok(())
    }

    /// Writes all sums, and says how many.
    pub(super) fn finish(self, writer: &mut FileWriter) -> Result<u64> {
        let count = self.all.len() as u64;
        for Growing { place, sum, old } in self.all {
            writer.put_object(&place.folder, &place.key, sum.finish(), old.as_ref())?;
        }
        Ok(count)
    }
}

/// Brings along the objects of an input that nobody adds up, in all cycles, as `hadd` keeps them; says how many, and none of them where
/// one cannot be copied.
pub(super) fn copy(writer: &mut FileWriter, input: &Input) -> Result<u64> {
    let mut copied = Vec::with_capacity(input.objects.len());
    for place in &input.objects {
        match writer.copy_object(&input.file, &place.key, &place.folder) {
            Ok(one) => copied.extend(one),
            Err(error) => {
                writer.remove_copied(copied)?;
                return Err(error);
            }
        }
    }
    Ok(copied.len() as u64)
}
