//! Decoding allocates nothing once it has started: twice the baskets take no more allocations.

#![allow(unsafe_code, reason = "a counting allocator is one")]
#![allow(clippy::unwrap_used, reason = "tests may")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::PathBuf;

use sapwood::{File, OpenOptions, Session, read};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it came; counting touches a cell of this thread only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promised.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of one read, after another of the same entries has warmed everything up.
fn allocations(branch: &str, entries: u64) -> (u64, usize) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/baskets.root");
    let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
    let file = File::open_with(path, options).unwrap();
    let tree = file.tree("events").unwrap();
    let id = tree.branch(branch).unwrap().id;
    let read = || read::columns(&tree, &[id], 0..entries).unwrap();
    drop(read());
    let before = COUNT.with(Cell::get);
    let columns = read();
    let count = COUNT.with(Cell::get) - before;
    drop(columns);
    let baskets = tree.branches()[id].baskets().iter().filter(|basket| basket.entries.start < entries).count();
    (count, baskets)
}

#[test]
fn more_baskets_take_no_more_allocations() {
    for branch in ["x", "v", "vf", "event"] {
        let ((few, few_baskets), (many, many_baskets)) = (allocations(branch, 1500), allocations(branch, 3000));
        assert!(many_baskets >= few_baskets + 15, "{branch}: {few_baskets} and {many_baskets} baskets");
        // Buffers that double as they grow, and the list of what to fetch: logarithmic, not one a basket.
        let grown = many.saturating_sub(few);
        assert!(
            grown * 4 <= (many_baskets - few_baskets) as u64,
            "{branch}: {few} allocations for {few_baskets} baskets, {many} for {many_baskets}"
        );
    }
}
