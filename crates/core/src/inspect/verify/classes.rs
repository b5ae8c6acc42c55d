//! The StreamerInfo record: readable, and without contradictions.

use std::collections::HashMap;

use super::{Finding, Report};
use crate::file::File;
use crate::schema::{Detail, StreamerInfo};

pub(super) fn check_classes(file: &File, report: &mut Report) {
    let at = file.header().seek_info;
    let infos = match file.infos() {
        Ok(infos) => infos,
        Err(error) => {
            let finding = Finding::damage("the classes of the file cannot be read").because(&error);
            return report.add(finding.within("StreamerInfo").at(at));
        }
    };
    let mut known: HashMap<(&str, i32, u32), &StreamerInfo> = HashMap::new();
    let mut sums: HashMap<&str, Vec<u32>> = HashMap::new();
    for info in &infos {
        sums.entry(&info.name).or_default().push(info.checksum);
        let other = known.insert((&info.name, info.version, info.checksum), info);
        if other.is_some_and(|other| other.elements != info.elements) {
            let finding = Finding::unusual("a class stands twice in one version, with other members");
            report.add(finding.within(&*info.name).at(at));
        }
    }
    for info in &infos {
        for base in info.elements.iter().filter(|element| matches!(element.detail, Detail::Base { .. })) {
            // Older files say nothing.
            let sum = base.max_index[0] as u32;
            let known = sums.get(&*base.name);
            if sum != 0 && known.is_some_and(|known| !known.contains(&sum)) {
                let words = format!("a class names another checksum of its base {} than the file has", base.name);
                let expected = known.and_then(|known| known.first()).copied().unwrap_or(0);
                report.add(Finding::unusual(words).within(&*info.name).at(at).wanted(expected.into(), sum.into()));
            }
        }
    }
}
