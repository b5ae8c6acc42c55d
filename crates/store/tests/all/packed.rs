//! Packed files against the contract of stores, and how often their blocks are read and inflated.

use std::process::Command;
use std::sync::Arc;

use sapwood::io::{LocalFile, MemoryStore, Recorded, Store, load};
use sapwood::{ErrorKind, File, OpenOptions};
use sapwood_store::{HttpStore, NetOptions, PackOptions, PackedStore, open, pack, unpack};
use sapwood_testkit::http_server::{HttpServer, ServerConfig};
use sapwood_testkit::{Scratch, scratch, store_contract};

const PLAIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");

/// Bytes that do not repeat themselves, and can be compressed.
fn content(length: usize) -> Vec<u8> {
    (0..length as u32).flat_map(|i| (i / 3).wrapping_mul(2_654_435_761).to_be_bytes()).take(length).collect()
}

fn packed(plain: &[u8], block_bytes: usize) -> Vec<u8> {
    let path = scratch("x.zst");
    let options = PackOptions { block_bytes, ..PackOptions::default() };
    pack(&MemoryStore::new("plain", plain.to_vec()), &path, &options).expect("a file of the test");
    std::fs::read(&path).expect("a file of the test")
}

/// A zip archive with a member in front of the one that counts.
fn zipped(plain: &[u8], deflated: bool) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (name, plain) in [("first", &b"first"[..]), ("d/x", plain)] {
        let mut crc = libdeflater::Crc::new();
        crc.update(plain);
        let stored = if deflated { miniz_oxide::deflate::compress_to_vec(plain, 1) } else { plain.to_vec() };
        let method = if deflated { 8_u16 } else { 0 };
        let mut common = Vec::new();
        common.extend(20_u16.to_le_bytes());
        common.extend(0_u16.to_le_bytes());
        common.extend(method.to_le_bytes());
        common.extend(0_u32.to_le_bytes());
        common.extend(crc.sum().to_le_bytes());
        common.extend((stored.len() as u32).to_le_bytes());
        common.extend((plain.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend(0_u16.to_le_bytes());
        let at = archive.len() as u32;
        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend(name.as_bytes());
        archive.extend(stored);
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(common);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let at = archive.len() as u32;
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06\0\0\0\0\x02\0\x02\0");
    archive.extend((directory.len() as u32).to_le_bytes());
    archive.extend(at.to_le_bytes());
    archive.extend(7_u16.to_le_bytes());
    archive.extend(b"comment");
    archive
}

/// An image with the file `d/x`, where `mksquashfs` is at hand: in CI it must be.
fn image(plain: &[u8], options: &[&str]) -> Option<Vec<u8>> {
    let folder = scratch("files");
    std::fs::create_dir_all(folder.join("d")).expect("a file of the test");
    std::fs::write(folder.join("d/x"), plain).expect("a file of the test");
    std::fs::write(folder.join("other"), b"other").expect("a file of the test");
    let path = scratch("image.sqfs");
    let made = Command::new("mksquashfs")
        .arg(&*folder)
        .arg(&*path)
        .args(options)
        .args(["-noappend", "-quiet", "-no-progress"])
        .stdout(std::process::Stdio::null())
        .status();
    match made {
        Ok(status) => assert!(status.success(), "mksquashfs failed"),
        Err(_) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: there is no mksquashfs (squashfs-tools)");
            return None;
        }
        Err(error) => panic!("mksquashfs (squashfs-tools) is needed: {error}"),
    }
    Some(std::fs::read(&path).expect("a file of the test"))
}

fn memory(bytes: Vec<u8>) -> MemoryStore {
    MemoryStore::new("packed", bytes)
}

#[test]
fn seekable_files_fulfil_the_contract() {
    for length in [0, 1, 1_023, 1_024, 1_025, 100_000] {
        let content = content(length);
        for block_bytes in [1_024, 64 << 10] {
            let bytes = packed(&content, block_bytes);
            store_contract::check(&PackedStore::seekable(memory(bytes.clone())), &content);
            store_contract::check(&PackedStore::seekable(memory(bytes)).keeping(3_000), &content);
        }
    }
}

#[test]
fn members_of_archives_fulfil_the_contract() {
    for length in [0, 1, 1_000, 100_000, (1 << 20) + 1, 3 << 20] {
        let content = content(length);
        for deflated in [false, true] {
            let archive = zipped(&content, deflated);
            store_contract::check(&PackedStore::zip(memory(archive.clone()), "d/x"), &content);
            // Something may be in front of it.
            let behind = [&[7; 1_000][..], &archive].concat();
            store_contract::check(&PackedStore::zip(memory(behind), "d/x").keeping(0), &content);
        }
    }
}

#[test]
fn files_of_images_fulfil_the_contract() {
    for codec in ["gzip", "xz", "lz4", "zstd"] {
        for (length, options) in [
            (0, &["-b", "4096"][..]),
            (1, &["-b", "4096"]),
            (8_192, &["-b", "4096"]),
            (100_000, &["-b", "4096"]),
            (100_000, &["-b", "4096", "-always-use-fragments"]),
            (100_000, &["-b", "131072", "-always-use-fragments", "-noF"]),
            (100_000, &["-b", "4096", "-noD", "-noI"]),
            (3_000_000, &["-b", "1048576"]),
        ] {
            println!("{codec}, {length} bytes, {options:?}");
            let mut content = content(length);
            if length == 100_000 {
                content[20_000..60_000].fill(0); // a hole
            }
            let Some(image) = image(&content, &[&["-comp", codec], options].concat()) else { return };
            store_contract::check(&PackedStore::squashfs(memory(image), "d/x"), &content);
        }
    }
}

#[test]
fn images_of_the_seeds_are_read() {
    let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/packed_squashfs");
    let plain: Vec<u8> =
        (0..3_000_u64).flat_map(|i| (((i * 2_654_435_761) >> 20) as u32 & 0xffff).to_le_bytes()).collect();
    let hole = [&plain[..100], &[0; 16_384], &plain].concat();
    for codec in ["gzip", "xz", "lz4", "zstd", "raw"] {
        let image = std::fs::read(seeds.join(codec)).unwrap();
        store_contract::check(&PackedStore::squashfs(memory(image.clone()), "d/x"), &plain);
        store_contract::check(&PackedStore::squashfs(memory(image), "/hole"), &hole);
    }
    let other = std::fs::read(seeds.join("../packed_zstd/other_writer")).unwrap();
    store_contract::check(&PackedStore::seekable(memory(other)), &plain);
}

#[test]
fn a_large_image_is_read_without_its_tables() {
    // Some thousand names, each of a long listing, in front of the one that is meant.
    let folder = scratch("many");
    std::fs::create_dir_all(folder.join("d")).unwrap();
    for index in 0..3_000 {
        std::fs::write(folder.join(format!("d/{index:05}-{}", "n".repeat(100))), b"").unwrap();
    }
    let content = content(70_000);
    std::fs::write(folder.join("d/x"), &content).unwrap();
    let path = scratch("image.sqfs");
    let made = Command::new("mksquashfs").arg(&*folder).arg(&*path).args(["-noI", "-quiet", "-no-progress"]).status();
    if made.is_err() && std::env::var_os("CI").is_none() {
        eprintln!("skipped: there is no mksquashfs (squashfs-tools)");
        return;
    }
    assert!(made.unwrap().success());
    let image = Arc::new(Recorded::new(LocalFile::open(&path).unwrap()));
    let store = PackedStore::squashfs(Arc::clone(&image), "d/x");
    store_contract::check(&store, &content);
    assert!(std::fs::metadata(&path).unwrap().len() > 300_000, "the tables are longer than what is read of the end");
}

#[test]
fn each_block_is_inflated_once_and_neighbours_are_one_range() {
    let content = content(100 * 1_024);
    let inner = Arc::new(Recorded::new(memory(packed(&content, 1_024))));
    let store = PackedStore::seekable(Arc::clone(&inner));
    store.ends(0, 0).unwrap();
    assert_eq!(inner.take_calls().len(), 1);

    // Blocks 3 and 4, 10, 50 and 51, each wanted several times.
    let ranges = [3_500..4_500, 10_240..10_241, 11_000..11_200, 51_300..53_000, 3_072..3_073, 4_100..5_120];
    let got = load(&store, &ranges).unwrap();
    for (range, got) in ranges.iter().zip(got) {
        assert!(got == content[range.start as usize..range.end as usize], "{range:?}");
    }
    assert_eq!(store.inflated().blocks, 5);
    assert_eq!(store.inflated().bytes, 5 * 1_024);
    let calls = inner.take_calls();
    assert_eq!(calls.iter().map(|call| call.ranges.len()).collect::<Vec<_>>(), [3], "one call of three ranges");

    // They are kept; of others only those are read that are not.
    load(&store, &ranges).unwrap();
    assert!(inner.take_calls().is_empty());
    load(&store, &[2_050..6_000]).unwrap();
    assert_eq!(store.inflated().blocks, 7, "blocks 2 and 5 as well");
    assert_eq!(inner.take_calls()[0].ranges.len(), 2);
    // Those that were taken whole are not: 3 and 4.
    load(&store, &[0..content.len() as u64]).unwrap();
    assert_eq!(store.inflated().blocks, 7 + 100 - 5);
}

#[test]
fn what_is_kept_is_bounded() {
    let content = content(100 * 1_024);
    let store = PackedStore::seekable(memory(packed(&content, 1_024))).keeping(10 * 1_024);
    let parts = |blocks: std::ops::Range<u64>| blocks.map(|block| block * 1_024..block * 1_024 + 9).collect::<Vec<_>>();
    load(&store, &parts(0..100)).unwrap();
    load(&store, &parts(90..100)).unwrap();
    assert_eq!(store.inflated().blocks, 100, "the last ten are kept");
    load(&store, &parts(0..10)).unwrap();
    assert_eq!(store.inflated().blocks, 110, "the first ten are not");
}

#[test]
fn threads_that_want_the_same_blocks_inflate_them_once() {
    let content = content(200 * 1_024);
    let store = PackedStore::seekable(memory(packed(&content, 1_024)));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let ranges: Vec<_> = (0..200_u64).map(|block| block * 1_024 + 5..block * 1_024 + 900).collect();
                for (range, got) in ranges.iter().zip(load(&store, &ranges).unwrap()) {
                    assert!(got == content[range.start as usize..range.end as usize], "{range:?}");
                }
            });
        }
    });
    assert_eq!(store.inflated().blocks, 200);
}

#[test]
fn a_deflated_member_is_inflated_in_front_of_a_byte_once() {
    let content = content(5 << 20);
    let archive = zipped(&content, true);
    let inner = Arc::new(Recorded::new(memory(archive.clone())));
    let store = PackedStore::zip(Arc::clone(&inner), "d/x").keeping(0);
    let last = content.len() as u64 - 10..content.len() as u64;
    load(&store, std::slice::from_ref(&last)).unwrap();
    let read: u64 = inner.take_calls().iter().map(|call| call.bytes()).sum();
    assert!(read >= archive.len() as u64 * 9 / 10, "all of it: {read}");
    // The second time from where the inflater was kept.
    for range in [last, 0..10, (2 << 20) + 5..(2 << 20) + 10] {
        load(&store, std::slice::from_ref(&range)).unwrap();
        let read: u64 = inner.take_calls().iter().map(|call| call.bytes()).sum();
        assert!(read <= archive.len() as u64 / 4, "a fifth of it: {read}");
    }
    assert_eq!(store.inflated().blocks, 4);
}

#[test]
fn remote_packed_files_take_few_requests() {
    let content = content(1_000_000);
    let server = HttpServer::start(packed(&content, 10_000), ServerConfig::default());
    let inner = HttpStore::new(&server.url(), &NetOptions::default()).unwrap();
    store_contract::check(&PackedStore::seekable(inner), &content);

    server.forget();
    let inner = HttpStore::new(&server.url(), &NetOptions::default()).unwrap();
    let store = PackedStore::seekable(inner);
    store.ends(100, 100).unwrap();
    // Both ends of the packed file at once, then the first and the last block in one.
    assert_eq!(server.requests(), 3);
    load(&store, &[500_000..500_010, 200_000..215_000, 700_000..700_001]).unwrap();
    assert_eq!(server.requests(), 4);
    assert_eq!(store.inflated().blocks, 2 + 1 + 2 + 1);
}

#[test]
fn places_in_packed_files_are_opened() {
    let folder = scratch("packed");
    std::fs::create_dir_all(&*folder).unwrap();
    let plain = std::fs::read(PLAIN).unwrap();
    std::fs::write(folder.join("x.root.zst"), packed(&plain, 4_096)).unwrap();
    std::fs::write(folder.join("a.zip"), zipped(&plain, true)).unwrap();
    std::fs::write(folder.join("b.ZIP"), zipped(&packed(&plain, 4_096), false)).unwrap();
    let place = |name: &str| format!("{}/{name}", folder.display());
    // A member has its name from the helper above: what is a packed file in it is opened by hand.
    for name in ["x.root.zst", "a.zip:d/x", "a.zip:/d/x"] {
        for place in [place(name), format!("file://{}", place(name))] {
            let store = open(&place, &NetOptions::default()).unwrap();
            let file = File::from_store(store, OpenOptions::default()).unwrap();
            assert_eq!(file.tree("t").unwrap().entries, 60, "{place}");
        }
    }
    let inner = open(&place("b.ZIP:d/x"), &NetOptions::default()).unwrap();
    store_contract::check(&PackedStore::seekable(inner), &plain);

    let server = HttpServer::start(zipped(&plain, false), ServerConfig::default());
    let url = format!("http://{}/data/a.zip:d/x?ticket=1", server.address());
    let store = open(&url, &NetOptions::default()).unwrap();
    assert_eq!(File::from_store(store, OpenOptions::default()).unwrap().tree("t").unwrap().entries, 60);

    let error = open(&place("a.zip"), &NetOptions::default()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let error = open(&place("a.zip:nothing"), &NetOptions::default()).unwrap().ends(0, 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("no member \"nothing\"; it begins with \"first\", \"d/x\""), "{error}");
    assert_eq!(open("no-such.zip:x", &NetOptions::default()).err().unwrap().kind(), ErrorKind::NotFound);
}

/// A file whose name is packed, and the one that it becomes.
fn pair() -> (Scratch, Scratch) {
    (scratch("x.root.zst"), scratch("x.root"))
}

#[test]
fn files_come_back_byte_for_byte() {
    for length in [0, 1, 1_024, 20_000_000] {
        let content = content(length);
        for (threads, level) in [(1, 1), (3, 9)] {
            let (to, back) = pair();
            let options = PackOptions { threads, level, ..PackOptions::default() };
            let report = pack(&memory(content.clone()), &to, &options).unwrap();
            assert_eq!((report.bytes, report.blocks), (length as u64, length.div_ceil(64 << 10) as u64));
            assert_eq!(report.packed_bytes, std::fs::metadata(&to).unwrap().len());
            let store = PackedStore::seekable(LocalFile::open(&to).unwrap());
            assert_eq!(unpack(&store, &back, false).unwrap(), length as u64);
            assert!(std::fs::read(&back).unwrap() == content);
        }
    }
}

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    let content = content(3_000_000);
    let write = |threads| {
        let to = scratch("x.zst");
        pack(&memory(content.clone()), &to, &PackOptions { threads, ..PackOptions::default() }).unwrap();
        std::fs::read(&to).unwrap()
    };
    assert!(write(1) == write(4));
}

#[test]
fn plain_zstd_reads_what_is_packed_and_finds_damage() {
    let content = content(1_000_000);
    let mut bytes = packed(&content, 64 << 10);
    assert!(zstd::stream::decode_all(&bytes[..]).unwrap() == content);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    assert!(zstd::stream::decode_all(&bytes[..]).is_err());
}

#[test]
fn nothing_is_left_of_a_file_that_was_not_packed_or_unpacked() {
    let (to, back) = pair();
    pack(&memory(content(100_000)), &to, &PackOptions::default()).unwrap();
    assert_eq!(pack(&memory(content(5)), &to, &PackOptions::default()).unwrap_err().kind(), ErrorKind::Exists);
    let mut damaged = std::fs::read(&to).unwrap();
    damaged[1_000] ^= 1;
    let store = PackedStore::seekable(memory(damaged));
    assert!(unpack(&store, &back, true).is_err());
    assert_eq!(std::fs::read_dir(back.parent().unwrap()).unwrap().count(), 0);
    for wrong in [
        PackOptions { block_bytes: 0, ..PackOptions::default() },
        PackOptions { block_bytes: 1 << 30, ..PackOptions::default() },
        PackOptions { level: 0, ..PackOptions::default() },
        PackOptions { level: 23, ..PackOptions::default() },
    ] {
        assert_eq!(pack(&memory(content(5)), &back, &wrong).unwrap_err().kind(), ErrorKind::Mismatch);
    }
}

#[test]
fn files_that_are_compressed_inside_are_told_apart() {
    let (to, _) = pair();
    let next = |seed: &u64| Some(seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    let numbers = std::iter::successors(Some(1_u64), next);
    let mut noise: Vec<u8> = numbers.map(|number| (number >> 40) as u8).take(100_000).collect();
    let options = PackOptions { replaces: true, ..PackOptions::default() };
    assert!(!pack(&memory(noise.clone()), &to, &options).unwrap().is_compressed_inside, "it is no ROOT file");
    noise.splice(0..0, std::fs::read(PLAIN).unwrap()[..100].iter().copied()); // the header
    let report = pack(&memory(noise), &to, &options).unwrap();
    assert!(report.advice("x.root").unwrap().contains("sapwood rewrite x.root plain.root --compression zlib:0"));
    // The setting counts where much is gained by what is not of trees.
    let mut plain = std::fs::read(PLAIN).unwrap();
    plain.extend(vec![7; 300_000]);
    assert_eq!(pack(&memory(plain), &to, &options).unwrap().advice("x.root"), None);
}
