//! A setting for each branch, as few rules: one for all, and those of patterns and names that are worth a rule.

use std::collections::BTreeMap;

use crate::codec::{Compression, CompressionByName};

/// More rules make lines that are too long to read.
const MOST_RULES: usize = 24;
/// A rule gains at least this share of the whole.
const LEAST_GAIN: f64 = 0.001;

/// What each branch costs with each setting: branch by branch, setting by setting.
pub(super) struct Costs<'a> {
    pub(super) paths: Vec<&'a str>,
    pub(super) settings: &'a [Compression],
    pub(super) costs: Vec<f64>,
}

impl Costs<'_> {
    fn of(&self, branch: usize, setting: usize) -> f64 {
        self.costs.get(branch * self.settings.len() + setting).copied().unwrap_or(f64::INFINITY)
    }

    /// The setting with which branches cost least together, the first of several, and this cost.
    fn best(&self, branches: &[usize]) -> (usize, f64) {
        let mut best = (0, f64::INFINITY);
        for setting in 0..self.settings.len() {
            let cost = branches.iter().map(|&branch| self.of(branch, setting)).sum::<f64>();
            if cost < best.1 {
                best = (setting, cost);
            }
        }
        best
    }

    /// The rules that cost least.
    pub(super) fn rules(&self) -> CompressionByName {
        let all: Vec<usize> = (0..self.paths.len()).collect();
        let (general, whole) = self.best(&all);
        let least = whole * LEAST_GAIN;
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for &branch in &all {
            if let Some(head) = head(self.paths[branch]) {
                groups.entry(head).or_default().push(branch);
            }
        }
        let mut setting = vec![general; all.len()];
        let mut found: Vec<(f64, String, usize)> = Vec::new();
        for (head, members) in groups.iter().filter(|(_, members)| members.len() > 1) {
            let (own, cost) = self.best(members);
            let gain = members.iter().map(|&branch| self.of(branch, general)).sum::<f64>() - cost;
            if own != general && gain > least {
                members.iter().for_each(|&branch| setting[branch] = own);
                found.push((gain, format!("{head}*"), own));
            }
        }
        for &branch in &all {
            let (own, cost) = self.best(&[branch]);
            let gain = self.of(branch, setting[branch]) - cost;
            if own != setting[branch] && gain > least {
                found.push((gain, self.paths[branch].to_owned(), own));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut rules = CompressionByName::default();
        rules.insert("*", self.settings.get(general).copied().unwrap_or_default());
        for (_, pattern, own) in found.into_iter().take(MOST_RULES) {
            rules.insert(&pattern, self.settings.get(own).copied().unwrap_or_default());
        }
        rules
    }
}

/// The beginning of a name that others may share: up to the first mark between words.
fn head(path: &str) -> Option<&str> {
    let end = path.find(['_', '.', '/'])?;
    path.get(..=end).filter(|head| !head.contains(['*', '?', '[', '=']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(paths: &[&str], costs: &[f64]) -> Vec<String> {
        let settings: Vec<Compression> = ["lz4:4", "zstd:5"].map(|text| text.parse().unwrap()).into();
        Costs { paths: paths.to_vec(), settings: &settings, costs: costs.to_vec() }.rules().to_texts()
    }

    #[test]
    fn one_setting_where_nothing_else_gains() {
        assert_eq!(rules(&["a", "b"], &[1.0, 2.0, 1.0, 2.0]), ["lz4:4"]);
        assert_eq!(rules(&["a", "b"], &[1.0, 1.0, 1.0, 1.0]), ["lz4:4"], "the first of equal ones");
        assert_eq!(rules(&["a", "b"], &[1_000.0, 2_000.0, 1.1, 1.0]), ["lz4:4"], "too little to name it");
        assert_eq!(rules(&[], &[]), ["lz4:4"]);
    }

    #[test]
    fn branches_of_one_beginning_share_a_pattern() {
        let paths = ["Muon_pt", "Muon_eta", "Muon_q", "run", "event"];
        let costs = [1.0, 9.0, 1.0, 9.0, 3.0, 1.0, 50.0, 5.0, 50.0, 5.0];
        assert_eq!(rules(&paths, &costs), ["zstd:5", "Muon_*=lz4:4", "Muon_q=zstd:5"]);
    }

    #[test]
    fn the_number_of_rules_is_bounded() {
        let paths: Vec<String> = (0..100).map(|number| format!("b{number}")).collect();
        let paths: Vec<&str> = paths.iter().map(|path| &**path).collect();
        let costs: Vec<f64> =
            (0..100).flat_map(|branch| if branch % 2 == 0 { [1.0, 3.0] } else { [4.0, 1.0] }).collect();
        assert_eq!(rules(&paths, &costs).len(), 1 + MOST_RULES);
    }
}
