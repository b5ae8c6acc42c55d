//! Whether and where to look for statistics of files, by the environment.

use std::ffi::OsString;

use sapwood::UseStatistics;

/// Options for statistics: `SAPWOOD_STATISTICS=off` switches them off, and `SAPWOOD_STATISTICS_FOLDER` names a folder
/// of side files.
///
/// # Example
///
/// ```
/// use sapwood::OpenOptions;
/// use sapwood_store::environment;
/// let options = OpenOptions { statistics: environment::statistics(), ..OpenOptions::default() };
/// assert!(options.statistics.is_on);
/// ```
pub fn statistics() -> UseStatistics {
    of(|name| std::env::var_os(name))
}

fn of(variable: impl Fn(&str) -> Option<OsString>) -> UseStatistics {
    let is_off = variable("SAPWOOD_STATISTICS").is_some_and(|value| value == "off" || value == "0");
    let folder = variable("SAPWOOD_STATISTICS_FOLDER").filter(|folder| !folder.is_empty());
    UseStatistics { is_on: !is_off, folder: folder.map(Into::into), ..UseStatistics::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_switch_statistics_off_and_name_a_folder() {
        let of = |known: &'static [(&str, &str)]| {
            of(|name| known.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).into()))
        };
        assert!(of(&[]).is_on && of(&[]).folder.is_none());
        assert!(!of(&[("SAPWOOD_STATISTICS", "off")]).is_on && !of(&[("SAPWOOD_STATISTICS", "0")]).is_on);
        assert!(of(&[("SAPWOOD_STATISTICS", "on")]).is_on);
        let folder = of(&[("SAPWOOD_STATISTICS_FOLDER", "/data/index")]).folder;
        assert_eq!(folder.as_deref(), Some(std::path::Path::new("/data/index")));
        assert_eq!(of(&[("SAPWOOD_STATISTICS_FOLDER", "")]).folder, None);
    }
}
