//! Clusters as a tree's record has them: ranges of clusters of one size.

/// Ranges of clusters of one size: the last entry of each and its size. `flush` is the tree's `fAutoFlush`: if it is a
/// number of entries, it is the size of the clusters after the last range; if it is a number of bytes, one cluster is
/// after it, because a cluster that ended with its tree does not show the size of others.
///
/// Source: `TTree::MarkEventCluster`, `TTree::TClusterIterator`.
pub(crate) fn cluster_ranges(sizes: &[u64], flush: i64) -> (Vec<i64>, Vec<i64>) {
    let after = match u64::try_from(flush) {
        Ok(flush @ 1..) => match sizes.split_last() {
            Some((&last, before)) if last <= flush => {
                1 + before.iter().rev().take_while(|&&size| size == flush).count()
            }
            _ => 0,
        },
        // ROOT guesses the size of clusters that are in no range.
        Ok(_) => 0,
        Err(_) => sizes.len().min(1),
    };
    let (mut ends, mut range_sizes) = (Vec::new(), Vec::new());
    let mut end = 0;
    let mut is_closed = true;
    for &size in &sizes[..sizes.len() - after] {
        end += size as i64;
        let size = size as i64;
        match (ends.last_mut(), range_sizes.last()) {
            // The last cluster of a range may be shorter.
            (Some(last), Some(&range)) if !is_closed && size <= range => {
                *last = end - 1;
                is_closed = size < range;
            }
            _ => {
                ends.push(end - 1);
                range_sizes.push(size);
                is_closed = false;
            }
        }
    }
    (ends, range_sizes)
}

#[cfg(test)]
mod tests {
    use super::cluster_ranges;

    #[test]
    fn clusters_of_one_size_are_one_range() {
        let ranges = cluster_ranges;
        assert_eq!(ranges(&[], 10), (vec![], vec![]));
        assert_eq!(ranges(&[7], 10), (vec![], vec![]));
        assert_eq!(ranges(&[10, 10, 10, 4], 10), (vec![], vec![]));
        assert_eq!(ranges(&[10, 10, 20, 20, 5], 20), (vec![19], vec![10]));
        assert_eq!(ranges(&[10, 4, 10, 10, 4], 10), (vec![13], vec![10]));
        assert_eq!(ranges(&[5, 3, 9, 2], 9), (vec![7], vec![5]));
        assert_eq!(ranges(&[20], 10), (vec![19], vec![20]));
    }

    #[test]
    fn a_cluster_that_ended_with_its_tree_is_no_measure() {
        let ranges = |sizes: &[u64]| cluster_ranges(sizes, -30_000_000);
        assert_eq!(ranges(&[]), (vec![], vec![]));
        assert_eq!(ranges(&[7]), (vec![], vec![]));
        assert_eq!(ranges(&[1, 50]), (vec![0], vec![1]));
        assert_eq!(ranges(&[1, 1, 1]), (vec![1], vec![1]));
        assert_eq!(cluster_ranges(&[1, 1, 1], 100_000), (vec![1], vec![1]));
        assert_eq!(cluster_ranges(&[1, 50], 0), (vec![0, 50], vec![1, 50]));
        assert_eq!(cluster_ranges(&[50], 0), (vec![49], vec![50]));
    }
}
