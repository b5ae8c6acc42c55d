//! Clusters as a tree's record has them: ranges of clusters of one size.

/// Ranges of clusters of one size: the last entry of each and its size, and the size of the clusters after the last
/// range; `unknown` if there is none yet.
///
/// Source: `TTree::MarkEventCluster`, `TTree::TClusterIterator`.
pub(crate) fn clusters(sizes: &[u64], unknown: i64) -> (Vec<i64>, Vec<i64>, i64) {
    let (mut ends, mut range_sizes) = (Vec::new(), Vec::new());
    let Some((&last, before)) = sizes.split_last() else { return (ends, range_sizes, unknown) };
    let mut entries = 0;
    for (index, &size) in before.iter().enumerate() {
        entries += size;
        // The last cluster may be shorter and still belong to the range before it.
        let next = sizes.get(index + 1).copied().unwrap_or(size);
        let goes_on = next == size || index + 2 == sizes.len() && next < size;
        if !goes_on {
            ends.push(entries as i64 - 1);
            range_sizes.push(size as i64);
        }
    }
    let size = before.last().copied().filter(|&size| last <= size).unwrap_or(last);
    (ends, range_sizes, size as i64)
}

#[cfg(test)]
mod tests {
    use super::clusters;

    #[test]
    fn clusters_of_one_size_are_one_range() {
        let sizes = |sizes: &[u64]| clusters(sizes, -30_000_000);
        assert_eq!(sizes(&[]), (vec![], vec![], -30_000_000));
        assert_eq!(sizes(&[7]), (vec![], vec![], 7));
        assert_eq!(sizes(&[10, 10, 10, 4]), (vec![], vec![], 10));
        assert_eq!(sizes(&[10, 10, 20, 20, 5]), (vec![19], vec![10], 20));
        assert_eq!(sizes(&[10, 20]), (vec![9], vec![10], 20));
        assert_eq!(sizes(&[20, 10, 10]), (vec![19], vec![20], 10));
        assert_eq!(sizes(&[5, 3, 9, 2]), (vec![4, 7], vec![5, 3], 9));
    }
}
