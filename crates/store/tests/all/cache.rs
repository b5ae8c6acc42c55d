//! Both caches against the contract of stores, how many requests they save, and what happens to what they keep.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sapwood::io::{ByteRange, Ends, MemoryStore, Profile, Receive, Recorded, Store, load};
use sapwood::{Error, ErrorKind, Result};
use sapwood_store::{
    BlockCache, CacheKind, CacheOptions, NetOptions, WholeCache, clear_cache, list_cache, open, verify_cache,
};
use sapwood_testkit::http_server::{Fault, HttpServer, ServerConfig, Tag};
use sapwood_testkit::store_contract;

const BLOCK: u64 = 1 << 10;
const BLOCKS: CacheKind = CacheKind::Blocks;
const WHOLE: CacheKind = CacheKind::Whole;

/// Bytes that do not repeat themselves.
fn content(length: usize) -> Vec<u8> {
    let words = (0..length as u32).map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes());
    words.flatten().skip(1).step_by(3).take(length).collect()
}

/// A folder of one test, removed at its end.
struct Scrap(PathBuf);

impl Scrap {
    fn new(test: &str) -> Self {
        Self(std::env::temp_dir().join(format!("sapwood-cache-{test}-{}", std::process::id())))
    }

    fn options(&self, kind: CacheKind) -> CacheOptions {
        CacheOptions::new(kind, &self.0)
    }

    /// Files of the cache whose names end so.
    fn files(&self, end: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut waiting = vec![self.0.clone()];
        while let Some(folder) = waiting.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.path() {
                    path if path.is_dir() => waiting.push(path),
                    path if path.to_string_lossy().ends_with(end) => found.push(path),
                    _ => {}
                }
            }
        }
        found.sort();
        found
    }

    /// What is on storage, whatever it is.
    fn bytes(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        self.files("").iter().map(|path| path.metadata().expect("a file that is there").blocks() * 512).sum()
    }
}

impl Drop for Scrap {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn net(cache: CacheOptions) -> NetOptions {
    NetOptions { timeout: Duration::from_secs(5), retries: 1, cache: Some(cache), ..NetOptions::default() }
}

fn through(url: &str, cache: CacheOptions) -> Arc<dyn Store> {
    open(url, &net(cache)).expect("the URL of a server makes sense")
}

fn all(store: &dyn Store, length: usize) -> Vec<u8> {
    load(store, &[0..length as u64]).expect("what the server has")[0].to_vec()
}

/// A store whose state has a name.
struct Named {
    inner: Recorded<MemoryStore>,
    validator: Option<&'static str>,
}

fn named(content: &[u8], validator: Option<&'static str>) -> Arc<Named> {
    Arc::new(Named { inner: Recorded::new(MemoryStore::new("x", content.to_vec())), validator })
}

impl Store for Named {
    fn ends(&self, head: usize, tail: usize) -> Result<Ends> {
        let mut ends = self.inner.ends(head, tail)?;
        ends.identity.validator = self.validator.map(Into::into);
        Ok(ends)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        self.inner.read_ranges(ranges, into)
    }

    fn profile(&self) -> Profile {
        self.inner.profile()
    }
}

impl Named {
    /// What it was asked for since the last time.
    fn calls(&self) -> Vec<Vec<ByteRange>> {
        self.inner.take_calls().into_iter().map(|call| call.ranges).collect()
    }
}

#[test]
fn both_caches_fulfil_the_contract() {
    let configs = [
        ServerConfig::default(),
        ServerConfig { etag: Tag::None, ..ServerConfig::default() },
        ServerConfig { etag: Tag::Weak, ..ServerConfig::default() },
    ];
    for length in [0, 1, 700, BLOCK as usize, 300_000] {
        let content = content(length);
        let scrap = Scrap::new("contract");
        let memory = || MemoryStore::new("x", content.clone());
        for run in 0..3 {
            println!("{length} bytes, run {run}");
            store_contract::check(&BlockCache::new(memory(), "memory", &scrap.options(BLOCKS)), &content);
            store_contract::check(&WholeCache::new(memory(), "memory", &scrap.options(WHOLE)), &content);
            // A cache that may hold nothing.
            let none = CacheOptions { bytes: 0, ..scrap.options(BLOCKS) };
            store_contract::check(&BlockCache::new(memory(), "none", &none), &content);
            let none = CacheOptions { bytes: 0, ..scrap.options(WHOLE) };
            store_contract::check(&WholeCache::new(memory(), "none", &none), &content);
        }
        for config in &configs {
            let server = HttpServer::start(content.clone(), config.clone());
            for kind in [BLOCKS, BLOCKS, WHOLE, WHOLE] {
                store_contract::check(&*through(&server.url(), scrap.options(kind)), &content);
            }
        }
    }
}

#[test]
fn the_second_run_asks_once_and_for_no_data() {
    let bytes = content(3_000_000);
    let scrap = Scrap::new("second");
    let server = HttpServer::start(bytes.clone(), ServerConfig::default());
    let ranges: Vec<_> = (0..20_u64).map(|i| i * 140_000..i * 140_000 + 5_000).collect();
    for run in 0..3 {
        server.forget();
        let store = through(&server.url(), scrap.options(BLOCKS));
        let ends = store.ends(4_096, 65_536).unwrap();
        assert!(ends.head == bytes[..4_096] && ends.tail == bytes[3_000_000 - 65_536..]);
        assert_eq!((&*ends.identity.name, ends.identity.len), (&*server.url(), 3_000_000));
        let opened = server.requests();
        for (range, got) in ranges.iter().zip(load(&*store, &ranges).unwrap()) {
            assert!(got == bytes[range.start as usize..range.end as usize], "{range:?}");
        }
        assert_eq!((opened, server.requests()), if run == 0 { (2, 3) } else { (1, 1) });
        if run > 0 {
            assert_eq!(server.body_bytes(), 1, "the state of the file is asked for, and nothing of it");
        }
    }
    // Nothing was asked for but whole blocks around the ranges.
    let kept = list_cache(&scrap.0).unwrap();
    let blocks: u64 = ranges.iter().map(|range| range.end.div_ceil(BLOCK) - range.start / BLOCK).sum();
    assert_eq!((kept.len(), kept[0].kept_bytes), (1, blocks * BLOCK));
    assert_eq!(kept[0].validator.as_deref(), Some("\"v0\""));
}

#[test]
fn only_missing_blocks_are_asked_for_and_neighbours_together() {
    let bytes = content(10 * BLOCK as usize + 5);
    let scrap = Scrap::new("missing");
    let far = named(&bytes, Some("1"));
    let store = BlockCache::new(far.clone(), "x", &scrap.options(BLOCKS));
    store.ends(0, 0).unwrap();
    far.calls();
    load(&store, &[3 * BLOCK + 7..3 * BLOCK + 9]).unwrap();
    assert_eq!(far.calls(), [[3 * BLOCK..4 * BLOCK]]);
    load(&store, &[3 * BLOCK..3 * BLOCK + 9, 9 * BLOCK..9 * BLOCK + 1, 0..5 * BLOCK + 1, BLOCK..2 * BLOCK]).unwrap();
    assert_eq!(far.calls(), [[0..3 * BLOCK, 4 * BLOCK..6 * BLOCK, 9 * BLOCK..10 * BLOCK]]);
    load(&store, &[0..6 * BLOCK, 9 * BLOCK..10 * BLOCK]).unwrap();
    assert_eq!(far.calls().len(), 0);
    assert!(all(&store, bytes.len()) == bytes);
    assert_eq!(far.calls(), [[6 * BLOCK..9 * BLOCK, 10 * BLOCK..10 * BLOCK + 5]]);
}

#[test]
fn a_file_in_many_segments_is_read_in_one_piece() {
    let bytes = content(40_000_000);
    let scrap = Scrap::new("segments");
    let far = named(&bytes, Some("1"));
    let store = BlockCache::new(far.clone(), "x", &scrap.options(BLOCKS));
    load(&store, &[15_000_000..18_000_000]).unwrap();
    assert!(all(&store, bytes.len()) == bytes);
    assert_eq!(scrap.files(".blocks").len(), 3);
    far.calls();
    let again = BlockCache::new(far.clone(), "x", &scrap.options(BLOCKS));
    assert!(all(&again, bytes.len()) == bytes);
    assert_eq!(far.calls(), [[0..0, 40_000_000..40_000_000]]);
    assert!(verify_cache(&scrap.0).unwrap().iter().all(|file| file.damaged == 0 && file.kept_bytes == 40_000_000));
}

#[test]
fn what_is_damaged_is_asked_for_again_and_never_served() {
    let bytes = content(5 * BLOCK as usize);
    let scrap = Scrap::new("damage");
    let far = named(&bytes, Some("1"));
    let read = || {
        far.calls();
        let store = BlockCache::new(far.clone(), "x", &scrap.options(BLOCKS));
        assert!(load(&store, &[2 * BLOCK + 5..2 * BLOCK + 6]).unwrap()[0] == bytes[2 * BLOCK as usize + 5..][..1]);
        assert!(all(&store, bytes.len()) == bytes);
        let asked =
            far.calls().into_iter().flatten().filter(|range| range.start.is_multiple_of(BLOCK) && !range.is_empty());
        asked.map(|range| (range.end - range.start).div_ceil(BLOCK)).sum::<u64>()
    };
    read();
    assert_eq!(read(), 0);
    let path = &scrap.files(".blocks")[0];
    let file = || OpenOptions::new().read(true).write(true).open(path).unwrap();
    let flip = |at: u64| {
        let mut byte = [0];
        file().read_exact_at(&mut byte, at).unwrap();
        file().write_all_at(&[byte[0] ^ 0x10], at).unwrap();
    };
    // Behind the head and the table.
    let data = 4096 + 16 * ((16 << 20) / BLOCK);
    // A byte of a block; an entry of the table, and its complement.
    for (at, blocks) in [(data + 2 * BLOCK + 5, 1), (data, 1), (data + 5 * BLOCK - 1, 1), (4096 + 16, 1), (4096 + 8, 1)]
    {
        flip(at);
        let damaged = verify_cache(&scrap.0).unwrap()[0].damaged;
        assert_eq!(damaged, u64::from(at >= data), "an entry that is none is no damage: {at}");
        assert_eq!((read(), read()), (blocks, 0), "byte {at}");
    }
    // Two blocks that changed places.
    let (mut one, mut two) = (vec![0; BLOCK as usize], vec![0; BLOCK as usize]);
    file().read_exact_at(&mut one, data).unwrap();
    file().read_exact_at(&mut two, data + BLOCK).unwrap();
    file().write_all_at(&[two, one].concat(), data).unwrap();
    let mut entries = [0; 32];
    file().read_exact_at(&mut entries, 4096).unwrap();
    entries.rotate_left(16);
    file().write_all_at(&entries, 4096).unwrap();
    assert_eq!((read(), read()), (2, 0));
    // Cut off, in the blocks, in the table, in the head, at the start.
    for (length, blocks) in [(data + 4 * BLOCK + 9, 1), (data + 5, 5), (4096 + 3, 5), (10, 5), (0, 5)] {
        file().set_len(length).unwrap();
        assert_eq!((read(), read()), (blocks, 0), "{length} bytes");
    }
    flip(20); // the head, which says of which file
    assert_eq!((read(), read()), (5, 0));
    for path in scrap.files("ends") {
        std::fs::write(path, "nonsense").unwrap();
    }
    assert!(verify_cache(&scrap.0).unwrap().iter().any(|file| file.damaged == 1 && file.name.is_empty()));
    assert_eq!(read(), 4096 / BLOCK + 5, "both ends are asked for, the last of which is all of it, and no blocks");
    assert_eq!(read(), 0);
}

#[test]
fn a_file_that_changed_is_another_file() {
    let (old, new) = (content(300_000), content(300_001)[1..].to_vec());
    for kind in [BLOCKS, WHOLE] {
        for etag in [Tag::Strong, Tag::Weak, Tag::Modified, Tag::None] {
            let scrap = Scrap::new(&format!("changed-{}-{etag:?}", kind.as_str()));
            let server = HttpServer::start(old.clone(), ServerConfig { etag, ..ServerConfig::default() });
            let options = || scrap.options(kind);
            assert!(all(&*through(&server.url(), options()), old.len()) == old);
            let open = through(&server.url(), options());
            open.ends(10, 10).unwrap();
            server.replace_after(0, new.clone());
            let now = through(&server.url(), options());
            let ends = now.ends(4_096, 65_536).unwrap();
            assert!(ends.head == new[..4_096] && ends.tail == new[new.len() - 65_536..], "{kind:?} {etag:?}");
            assert!(all(&*now, new.len()) == new, "{kind:?} {etag:?}");
            if kind == BLOCKS {
                // Who had it open sees the state that it was opened in, or an error.
                assert!(all(&*open, old.len()) == old);
                assert_eq!(open.ends(4_096, 65_536).unwrap_err().kind(), ErrorKind::Changed, "{etag:?}");
            }
        }
    }
}

#[test]
fn a_server_that_names_no_state_is_asked_for_the_ends_each_time() {
    let bytes = content(500_000);
    let scrap = Scrap::new("unnamed");
    let server = HttpServer::start(bytes.clone(), ServerConfig { etag: Tag::None, ..ServerConfig::default() });
    all(&*through(&server.url(), scrap.options(BLOCKS)), bytes.len());
    server.forget();
    assert!(all(&*through(&server.url(), scrap.options(BLOCKS)), bytes.len()) == bytes);
    // Both ends together.
    assert_eq!((server.requests(), server.body_bytes()), (2, 4_096 + 65_536));
}

#[test]
fn threads_and_stores_share_a_folder() {
    let bytes = content(6_000_000);
    for kind in [BLOCKS, WHOLE] {
        let scrap = Scrap::new(&format!("threads-{}", kind.as_str()));
        let server = HttpServer::start(bytes.clone(), ServerConfig::default());
        std::thread::scope(|scope| {
            for start in 0..4_u64 {
                let (scrap, server, bytes) = (&scrap, &server, &bytes);
                scope.spawn(move || {
                    let store = through(&server.url(), scrap.options(kind));
                    let ranges: Vec<_> =
                        (0..40).map(|i| (i * 7 + start * 11) % 40 * 150_000).map(|at| at..at + 150_000).collect();
                    for ranges in ranges.chunks(7) {
                        for (range, got) in ranges.iter().zip(load(&*store, ranges).unwrap()) {
                            assert!(got == bytes[range.start as usize..range.end as usize]);
                        }
                    }
                });
            }
        });
        if kind == WHOLE {
            assert!(server.body_bytes() < 6_400_000, "fetched once: {}", server.body_bytes());
        }
        let kept = verify_cache(&scrap.0).unwrap();
        assert!(kept.len() == 1 && kept[0].damaged == 0 && kept[0].kept_bytes == 6_000_000, "{kept:?}");
        assert_eq!(scrap.files("unfinished").len(), 0);
    }
}

/// Reads as the environment says: the other process of the test below.
#[test]
fn another_process() {
    let Ok(url) = std::env::var("SAPWOOD_TEST_URL") else { return };
    let kind = std::env::var("SAPWOOD_TEST_KIND").unwrap().parse().unwrap();
    let options = CacheOptions::new(kind, std::env::var("SAPWOOD_TEST_DIR").unwrap());
    let bytes = content(9_000_000);
    let store = through(&url, options.clone());
    for start in (0..9_000_000).step_by(100_000) {
        let got = load(&*store, &[start..start + 100_000]).unwrap();
        assert!(got[0] == bytes[start as usize..][..100_000]);
    }
    assert!(options.notices.take().is_empty());
}

#[test]
fn processes_share_a_folder() {
    let bytes = content(9_000_000);
    for kind in [BLOCKS, WHOLE] {
        let scrap = Scrap::new(&format!("processes-{}", kind.as_str()));
        let server = HttpServer::start(bytes.clone(), ServerConfig::default());
        let start = || {
            std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "cache::another_process"])
                .env("SAPWOOD_TEST_URL", server.url())
                .env("SAPWOOD_TEST_KIND", kind.as_str())
                .env("SAPWOOD_TEST_DIR", &scrap.0)
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        };
        for mut child in [start(), start(), start()] {
            assert!(child.wait().unwrap().success());
        }
        if kind == WHOLE {
            assert!(server.body_bytes() < 9_400_000, "fetched once: {}", server.body_bytes());
        }
        let kept = verify_cache(&scrap.0).unwrap();
        assert!(kept.len() == 1 && kept[0].damaged == 0 && kept[0].kept_bytes == 9_000_000, "{kept:?}");
        server.forget();
        assert!(start().wait().unwrap().success());
        assert_eq!((server.requests(), server.body_bytes()), (1, 1));
    }
}

#[test]
fn a_cache_holds_no_more_than_it_may() {
    let bytes = content(30_000_000);
    let scrap = Scrap::new("bound");
    let options = CacheOptions { bytes: 40_000_000, ..scrap.options(BLOCKS) };
    for name in ["a", "b", "c", "a"] {
        let far = named(&bytes, Some("1"));
        let store = BlockCache::new(far.clone(), name, &options);
        for start in (0..30_000_000).step_by(1_000_000) {
            load(&store, &[start..start + 1_000_000]).unwrap();
            assert!(scrap.bytes() <= 40_000_000, "{} bytes", scrap.bytes());
        }
        // What was read last is there.
        far.calls();
        load(&BlockCache::new(far.clone(), name, &options), &[29_000_000..30_000_000]).unwrap();
        assert_eq!(far.calls().len(), 1);
    }
    assert!(scrap.bytes() > 20_000_000);
    // A file that alone is longer is not fetched.
    let small = CacheOptions { bytes: 20_000_000, ..scrap.options(WHOLE) };
    let store = WholeCache::new(named(&bytes, Some("1")), "a", &small);
    assert!(all(&store, bytes.len()) == bytes);
    assert_eq!(small.notices.take().len(), 1);
    assert_eq!(scrap.files(".root").len(), 0);
    // Others go where it fits.
    let whole = CacheOptions { bytes: 40_000_000, ..scrap.options(WHOLE) };
    assert!(all(&WholeCache::new(named(&bytes, Some("1")), "a", &whole), bytes.len()) == bytes);
    assert!(whole.notices.take().is_empty() && scrap.files(".root").len() == 1 && scrap.bytes() <= 40_000_000);
}

#[test]
fn a_segment_that_was_removed_while_it_is_open_is_made_again() {
    let bytes = content(20 * BLOCK as usize);
    let scrap = Scrap::new("removed");
    let far = named(&bytes, Some("1"));
    let store = BlockCache::new(far.clone(), "x", &scrap.options(BLOCKS));
    load(&store, &[0..5 * BLOCK]).unwrap();
    assert!(clear_cache(&scrap.0).unwrap().files > 0);
    assert_eq!(scrap.files("").len(), 0);
    load(&store, &[5 * BLOCK..9 * BLOCK]).unwrap();
    assert_eq!(list_cache(&scrap.0).unwrap()[0].kept_bytes, 4 * BLOCK);
    assert!(all(&store, bytes.len()) == bytes);
}

/// Whether permissions are something to this user.
fn is_root() -> bool {
    let scrap = Scrap::new("root");
    std::fs::create_dir(&scrap.0).expect("a folder");
    std::fs::set_permissions(&scrap.0, PermissionsExt::from_mode(0o500)).expect("our own folder");
    let wrote = std::fs::write(scrap.0.join("x"), "x").is_ok();
    std::fs::set_permissions(&scrap.0, PermissionsExt::from_mode(0o700)).expect("our own folder");
    wrote
}

#[test]
fn where_nothing_can_be_kept_reading_goes_on() {
    let bytes = content(300_000);
    let server = HttpServer::start(bytes.clone(), ServerConfig::default());
    let mut places = vec![PathBuf::from("/dev/null/x"), PathBuf::from("/proc/none")];
    let scrap = Scrap::new("denied");
    std::fs::create_dir(&scrap.0).unwrap();
    std::fs::set_permissions(&scrap.0, PermissionsExt::from_mode(0o500)).unwrap();
    if !is_root() {
        places.push(scrap.0.clone());
    }
    for place in places {
        for kind in [BLOCKS, WHOLE] {
            let options = CacheOptions::new(kind, &place);
            let store = through(&server.url(), options.clone());
            assert!(all(&*store, bytes.len()) == bytes, "{place:?}");
            let said = options.notices.take();
            assert!(said.iter().any(|said| said.contains(&*place.to_string_lossy())), "{said:?}");
            store_contract::check(&*through(&server.url(), options), &bytes);
        }
    }
}

#[test]
fn a_folder_that_may_be_read_only_is_read() {
    let bytes = content(300_000);
    let scrap = Scrap::new("readonly");
    let far = named(&bytes, Some("1"));
    load(&BlockCache::new(far.clone(), "x", &scrap.options(BLOCKS)), &[0..BLOCK]).unwrap();
    for path in scrap.files("") {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o400)).unwrap();
        std::fs::set_permissions(path.parent().unwrap(), PermissionsExt::from_mode(0o500)).unwrap();
    }
    far.calls();
    let options = scrap.options(BLOCKS);
    assert!(all(&BlockCache::new(far.clone(), "x", &options), bytes.len()) == bytes);
    assert_eq!(far.calls()[1], [BLOCK..300_000], "the first block is kept");
    assert_eq!(options.notices.take().len(), usize::from(!is_root()));
    for path in scrap.files("") {
        std::fs::set_permissions(path.parent().unwrap(), PermissionsExt::from_mode(0o700)).unwrap();
    }
}

#[test]
fn what_a_download_leaves_half_done_is_removed_and_the_server_read() {
    struct Breaks(MemoryStore);

    impl Store for Breaks {
        fn ends(&self, head: usize, tail: usize) -> Result<Ends> {
            self.0.ends(head, tail)
        }

        fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
            if ranges.iter().any(|range| range.end > 5_000_000) {
                return Err(Error::new(ErrorKind::Io, "the link broke"));
            }
            self.0.read_ranges(ranges, into)
        }

        fn profile(&self) -> Profile {
            self.0.profile()
        }
    }

    let bytes = content(9_000_000);
    let scrap = Scrap::new("half");
    let options = scrap.options(WHOLE);
    let store = WholeCache::new(Breaks(MemoryStore::new("x", bytes.clone())), "x", &options);
    assert_eq!(load(&store, &[3_000_000..3_000_010]).unwrap(), [&bytes[3_000_000..3_000_010]]);
    let said = options.notices.take();
    assert!(said.len() == 1 && said[0].contains("the link broke"), "{said:?}");
    assert_eq!(scrap.files(".root").len() + scrap.files("unfinished").len(), 0);
    // The next one fetches it.
    let store = WholeCache::new(MemoryStore::new("x", bytes.clone()), "x", &options);
    assert!(all(&store, bytes.len()) == bytes && options.notices.take().is_empty());
    // Cut short: fetched again.
    let path = &scrap.files(".root")[0];
    OpenOptions::new().write(true).open(path).unwrap().set_len(100).unwrap();
    let store = WholeCache::new(MemoryStore::new("x", bytes.clone()), "x", &options);
    assert!(all(&store, bytes.len()) == bytes);
    // A byte that turned over: nothing but `verify` looks at all of it.
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(&[bytes[8_000_000] ^ 1], 8_000_000).unwrap();
    assert_eq!(verify_cache(&scrap.0).unwrap()[0].damaged, 1);
    let store = WholeCache::new(MemoryStore::new("x", bytes.clone()), "x", &options);
    assert!(all(&store, bytes.len()) == bytes, "it was removed, and is fetched anew");
    assert!(verify_cache(&scrap.0).unwrap().iter().all(|file| file.damaged == 0));
}

#[test]
fn errors_of_the_server_reach_the_reader() {
    let bytes = content(300_000);
    let scrap = Scrap::new("trouble");
    let server = HttpServer::start(bytes.clone(), ServerConfig::default());
    for kind in [BLOCKS, WHOLE] {
        all(&*through(&server.url(), scrap.options(kind)), bytes.len());
        server.spoil(&[Fault::Status(403, None)]);
        let error = through(&server.url(), scrap.options(kind)).ends(10, 10).unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::Denied,
            "a client that may not read the file of the server may not read our copy"
        );
    }
}

#[test]
fn nothing_secret_is_kept_and_no_name_leads_out_of_the_folder() {
    let bytes = content(100_000);
    let scrap = Scrap::new("secrets");
    let server = HttpServer::start(bytes.clone(), ServerConfig::default());
    for kind in [BLOCKS, WHOLE] {
        for place in ["/../../../etc/x", "/..%2f..%2fx", "/a?token=hunter2&authz=hunter2", "/a#hunter2"] {
            let url = format!("http://me:hunter2@{}{place}", server.address());
            assert!(all(&*through(&url, scrap.options(kind)), bytes.len()) == bytes, "{url}");
        }
    }
    let files = scrap.files("");
    assert!(files.len() > 8);
    for path in files {
        let inside = path.strip_prefix(&scrap.0).unwrap();
        assert!(inside.components().count() <= 3, "{inside:?}");
        let found = std::fs::read(&path).unwrap();
        assert!(!found.windows(7).any(|window| window == b"hunter2"), "{path:?}");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
        assert_eq!(path.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700, "{path:?}");
    }
    assert!(Path::new("/etc/passwd").exists());
}

#[test]
fn a_damaged_copy_is_repaired_when_it_is_read() {
    const PART: usize = 4 << 20;
    let bytes = content(2 * PART + 1_000);
    let scrap = Scrap::new("copy");
    let far = named(&bytes, Some("1"));
    let open = || WholeCache::new(far.clone(), "x", &scrap.options(WHOLE));
    assert!(all(&open(), bytes.len()) == bytes);
    let path = &scrap.files(".root")[0];
    let file = || OpenOptions::new().read(true).write(true).open(path).unwrap();
    for at in [7, PART + 5, 2 * PART + 999] {
        let mut byte = [0];
        file().read_exact_at(&mut byte, at as u64).unwrap();
        file().write_all_at(&[byte[0] ^ 0x10], at as u64).unwrap();
        far.calls();
        let store = open();
        // What lies in another part is read without asking.
        let other = if at < PART { 2 * PART } else { 0 };
        assert!(load(&store, &[other as u64..other as u64 + 10]).unwrap()[0] == bytes[other..other + 10]);
        let asked = |calls: Vec<Vec<ByteRange>>| calls.into_iter().flatten().filter(|range| !range.is_empty()).count();
        assert_eq!(asked(far.calls()), 0);
        assert!(load(&store, &[at as u64..at as u64 + 1]).unwrap()[0] == bytes[at..=at], "{at}");
        assert_eq!(asked(far.calls()), 1, "the part, once");
        assert_eq!(verify_cache(&scrap.0).unwrap()[0].damaged, 0, "{at}");
    }
    // A copy that was cut off while it is open.
    let store = open();
    file().set_len(PART as u64 + 1).unwrap();
    assert!(all(&store, bytes.len()) == bytes);
    // One that is damaged and cannot be repaired is not used, nor is the read refused.
    let store = open();
    assert!(load(&store, &[0..10]).unwrap()[0] == bytes[..10]);
    file().write_all_at(b"damage", PART as u64).unwrap();
    std::fs::rename(path, path.with_extension("moved")).unwrap();
    std::fs::create_dir(path).unwrap();
    assert!(all(&store, bytes.len()) == bytes);
}
