//! Lists in text files: of inputs, and of objects.

use crate::error::{Error, Result};

/// The most bytes that a list may have.
const MOST_BYTES: u64 = 1 << 30;

/// Names of inputs, those that begin with `@` replaced by the lines of the file that they name, which may be such
/// names, too; lines that begin with `#` are left out.
///
/// # Errors
///
/// [`NotFound`](crate::ErrorKind::NotFound) and what else reading a list reports; [`Limit`](crate::ErrorKind::Limit)
/// for lists that name themselves.
///
/// # Example
///
/// ```
/// # let list = std::env::temp_dir().join("sapwood-inputs.txt");
/// std::fs::write(&list, "# spring\none.root\ntwo.root\n")?;
/// let inputs = sapwood::merge::inputs_of(&[format!("@{}", list.display()), "three.root".to_owned()])?;
/// assert_eq!(inputs, ["one.root", "two.root", "three.root"]);
/// # std::fs::remove_file(list).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn inputs_of(names: &[String]) -> Result<Vec<String>> {
    let mut inputs = Vec::new();
    names.iter().try_for_each(|name| gather(name, 0, &mut inputs))?;
    Ok(inputs)
}

/// The lines of a text file that are neither empty nor, beginning with `#`, a remark: names of objects, say.
///
/// # Errors
///
/// [`NotFound`](crate::ErrorKind::NotFound) and what else reading the file reports.
///
/// # Example
///
/// ```
/// # let list = std::env::temp_dir().join("sapwood-names.txt");
/// std::fs::write(&list, "# all runs\nRuns\n")?;
/// assert_eq!(sapwood::merge::names_of(list.to_str().unwrap_or_default())?, ["Runs"]);
/// # std::fs::remove_file(list).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn names_of(path: &str) -> Result<Vec<String>> {
    let read = || {
        let bytes = std::fs::metadata(path)?.len();
        if bytes > MOST_BYTES {
            return Err(Error::limit("a list is too long", MOST_BYTES, bytes));
        }
        Ok(std::fs::read_to_string(path)?)
    };
    let text = read().map_err(|error: Error| error.in_file(path))?;
    Ok(text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect())
}

fn gather(name: &str, depth: u32, inputs: &mut Vec<String>) -> Result<()> {
    /// Lists that name lists.
    const DEEPEST: u32 = 20;
    let Some(list) = name.strip_prefix('@') else {
        inputs.push(name.to_owned());
        return Ok(());
    };
    if depth > DEEPEST {
        return Err(Error::limit("lists name each other", u64::from(DEEPEST), u64::from(depth)).in_file(list));
    }
    names_of(list)?.iter().try_for_each(|line| gather(line, depth + 1, inputs))
}
