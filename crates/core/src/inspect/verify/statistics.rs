//! Statistics of a file against its values.

use super::finding::{Finding, Report};
use crate::file::File;
use crate::inspect::index;

/// Computes the statistics again that are stored for a file, and compares them.
pub(super) fn check_statistics(file: &File, report: &mut Report) {
    let Some(side) = file.statistics() else {
        if let Some(words) = file.statistics_notice() {
            report.add(Finding::note(words));
        }
        return;
    };
    match index::check(file, side) {
        Ok(checked) => {
            for name in checked.wrong {
                let words = "its statistics are not those of its values, and cuts lose entries: `sapwood index` makes \
                             new ones";
                report.add(Finding::damage(words).within(name));
            }
            for name in checked.stale {
                let words = "its statistics are those of another state of the file, and are not used";
                report.add(Finding::note(words).within(name));
            }
        }
        // Whatever cannot be read is found elsewhere, too.
        Err(error) => report.add(Finding::note("the statistics cannot be compared with the values").because(&error)),
    }
}
