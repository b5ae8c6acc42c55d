//! Stores against their contract.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sapwood::io::{LocalFile, MemoryStore, Recorded};
use sapwood_testkit::{Faulty, Throttled, store_contract};

/// Bytes that do not repeat within 64 KiB.
fn content(bytes: usize) -> Vec<u8> {
    (0..bytes.div_ceil(2)).flat_map(|i| (i as u16).to_be_bytes()).take(bytes).collect()
}

fn memory_store(bytes: usize) -> MemoryStore {
    MemoryStore::new("memory", content(bytes))
}

struct Scrap(PathBuf);

impl Drop for Scrap {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn every_store_keeps_the_contract() {
    for bytes in [0, 1, 2, 10, 1_000, 50_000] {
        let content = content(bytes);
        let path = Scrap(std::env::temp_dir().join(format!("sapwood-contract-{}-{bytes}", std::process::id())));
        std::fs::write(&path.0, &content).unwrap();
        store_contract::check(&LocalFile::open(&path.0).unwrap(), &content);
        store_contract::check(&memory_store(bytes), &content);
        store_contract::check(&Recorded::new(memory_store(bytes)), &content);
        store_contract::check(&Arc::new(memory_store(bytes)), &content);
        store_contract::check(&Faulty::new(memory_store(bytes), []), &content);
        let link = Throttled::new(memory_store(bytes), Duration::from_micros(50), 1 << 40);
        store_contract::check(&link, &content);
    }
}
