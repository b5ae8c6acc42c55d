//! Objects that are no trees.

use super::input::Input;
use crate::error::Result;
use crate::write::FileWriter;

/// Brings along the other objects of an input, and says how many; none of them where one cannot be copied. Classes that nobody adds up
/// are kept in all cycles of all inputs, as `hadd` keeps them.
pub(super) fn add(writer: &mut FileWriter, input: &Input) -> Result<u64> {
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
