//! What is fetched before it is asked for.

use std::sync::Arc;

use sapwood::column::{Kind, ListOf, Native, Number};
use sapwood::inspect::layout::{Extent, Layout};
use sapwood::read::Column;
use sapwood::tree::BasketBytes;
use sapwood::write::{BranchSpec, Every, FieldSpec, FileWriter, NTupleOptions, TreeOptions, Values, WriteOptions};
use sapwood::{File, OpenOptions};
use sapwood_serve::{Proxy, ProxyOptions};
use sapwood_store::HttpStore;
use sapwood_store::xrootd_numbers::request;
use sapwood_testkit::http_server::{Fault, HttpServer, ServerConfig};

use crate::common::xrootd_client::{Client, segment};
use crate::common::{Scrap, content, get, metric, options, quick, until};

const CLUSTERS: usize = 6;
const ENTRIES: usize = 40_000;

/// A tree of three branches, a basket of 160 kB of each in each cluster.
fn file(scrap: &Scrap) -> Vec<u8> {
    let path = scrap.0.join("file.root");
    let mut file = FileWriter::recreate(&path, WriteOptions::default()).expect("a file to write");
    let options = TreeOptions { auto_flush: Every::Entries(ENTRIES as u64), ..TreeOptions::default() };
    let specs = ["x", "y", "z"].map(|name| BranchSpec::number(name, Number::I32)).to_vec();
    let mut tree = file.tree("t", specs, options).expect("a tree");
    let all = <i32 as Native>::read(&content(4 * CLUSTERS * ENTRIES));
    let values = ["x", "y", "z"].map(|name| (name, Values::from(&all)));
    tree.extend(&values).expect("rows");
    tree.close().and_then(|()| file.close()).expect("a whole file");
    std::fs::read(path).expect("what was written")
}

/// The header that asks for baskets of these branches in one cluster.
fn baskets(file: &File, branches: &[&str], cluster: usize) -> String {
    let tree = file.tree("t").expect("the tree");
    let ranges = branches.iter().map(|branch| match tree.branch(branch).expect("a branch").baskets()[cluster].bytes {
        BasketBytes::Stored { seek, nbytes } => format!("{seek}-{}", seek + u64::from(nbytes) - 1),
        BasketBytes::Embedded(_) => panic!("baskets of this tree are records"),
    });
    format!("Range: bytes={}\r\n", ranges.collect::<Vec<_>>().join(","))
}

#[test]
fn the_next_cluster_is_there_before_it_is_asked_for() {
    let scrap = Scrap::new("ahead");
    let bytes = file(&scrap);
    let local = File::open(scrap.0.join("file.root")).unwrap();
    assert_eq!(local.tree("t").unwrap().clusters().len(), CLUSTERS);
    for prefetch in [true, false] {
        let server = HttpServer::start(bytes.clone(), ServerConfig::default());
        let options = options(&format!("http://{}", server.address()), &scrap);
        let proxy = Proxy::start(ProxyOptions { prefetch, ..options }).unwrap();
        let last = CLUSTERS - 1;
        assert_eq!(get(&proxy, "/f", &baskets(&local, &["x", "z"], last - 1)).status, 206);
        if prefetch {
            until("both baskets come", || metric(&proxy, "prefetched_baskets_total") == 2);
        }
        server.forget();
        let hits = metric(&proxy, "hits_total");
        assert_eq!(get(&proxy, "/f", &baskets(&local, &["x", "z"], last)).status, 206);
        assert_eq!(server.requests(), usize::from(!prefetch), "{:?}", server.seen());
        assert_eq!(metric(&proxy, "hits_total") - hits, u64::from(prefetch));
        if prefetch {
            until("they are used", || metric(&proxy, "prefetched_baskets_used_total") == 2);
            assert_eq!(
                (metric(&proxy, "prefetched_baskets_total"), metric(&proxy, "prefetched_baskets_unused")),
                (2, 0)
            );
        }
    }
}

#[test]
fn the_next_cluster_is_there_for_clients_of_xrootd_too() {
    let scrap = Scrap::new("ahead-xrootd");
    let bytes = file(&scrap);
    let local = File::open(scrap.0.join("file.root")).unwrap();
    let place = |branch: &str, cluster: usize| {
        let tree = local.tree("t").unwrap();
        match tree.branch(branch).unwrap().baskets()[cluster].bytes {
            BasketBytes::Stored { seek, nbytes } => (seek, nbytes),
            BasketBytes::Embedded(_) => panic!("baskets of this tree are records"),
        }
    };
    let server = HttpServer::start(bytes.clone(), ServerConfig::default());
    let options = options(&format!("http://{}", server.address()), &scrap).xrootd(([127, 0, 0, 1], 0).into());
    let proxy = Proxy::start(ProxyOptions { prefetch: true, ..options }).unwrap();
    let (mut client, handle) = Client::opened(&proxy, "/f");
    // A vector, and then a single range.
    let vector: Vec<u8> = ["x", "z"]
        .into_iter()
        .flat_map(|branch| {
            let (seek, nbytes) = place(branch, 1);
            segment(handle, seek, nbytes)
        })
        .collect();
    assert_eq!(client.ask(request::READ_VECTOR, [0; 16], &vector).status, 0);
    until("both baskets come", || metric(&proxy, "prefetched_baskets_total") == 2);
    server.forget();
    let (seek, nbytes) = place("x", 2);
    let answer = client.read(handle, seek, nbytes);
    assert!(answer.data == bytes[seek as usize..seek as usize + nbytes as usize]);
    assert_eq!(metric(&proxy, "protocol_hits_total{protocol=\"xrootd\"}"), 1);
    until("the next one comes", || metric(&proxy, "prefetched_baskets_total") == 3);
    until("it is used", || metric(&proxy, "prefetched_baskets_used_total") == 1);
}

/// An RNTuple of two fields of numbers and one of lists, several pages of each in each cluster.
fn ntuple(scrap: &Scrap) -> Vec<u8> {
    let path = scrap.0.join("ntuple.root");
    let mut file = FileWriter::recreate(&path, WriteOptions::default()).expect("a file to write");
    let number = |buffer| Kind::Number { buffer, number: Number::I32 };
    let lists = Kind::List { offsets: 0, of: ListOf::Sequence, item: Box::new(number(1)) };
    let specs =
        vec![FieldSpec::new("x", number(0)), FieldSpec::new("y", number(0)), FieldSpec::new("lists", lists.clone())];
    let options = NTupleOptions { page_bytes: 65_536, ..NTupleOptions::default() };
    let mut ntuple = file.ntuple("n", specs, options).expect("an RNTuple");
    for cluster in 0..CLUSTERS {
        let bytes = content(4 * (CLUSTERS + 2 * ENTRIES)).split_off(4 * cluster);
        let values: Vec<i32> = <i32 as Native>::read(&bytes).into_iter().take(2 * ENTRIES).collect();
        let ends: Vec<u8> = (0..=ENTRIES as i64).flat_map(|row| (2 * row).to_ne_bytes()).collect();
        let items: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let lists = Column::from_buffers(lists.clone(), ENTRIES, vec![ends.into(), items.into()]);
        // Equal pages would be stored once.
        let other = |values: &[i32], bits: i32| values.iter().map(|value| value ^ bits).collect::<Vec<i32>>();
        let numbers = Column::from_numbers(&other(&values[..ENTRIES], 1 << 20));
        let y = Column::from_numbers(&other(&values[ENTRIES..], 1 << 21));
        ntuple.extend(&[("x", numbers), ("y", y), ("lists", lists)]).expect("rows");
        ntuple.flush().expect("a cluster");
    }
    ntuple.close().and_then(|()| file.close()).expect("a whole file");
    std::fs::read(path).expect("what was written")
}

#[test]
fn pages_of_the_next_cluster_are_there_before_they_are_asked_for() {
    let scrap = Scrap::new("pages");
    let bytes = ntuple(&scrap);
    let layout = Layout::of(&File::open(scrap.0.join("ntuple.root")).unwrap().ntuple("n").unwrap()).unwrap();
    assert_eq!((layout.clusters.len(), layout.branches.len()), (CLUSTERS, 4));
    // Pages of the field `y` and of the values of the lists.
    let pages = |cluster: usize| {
        let entries = &layout.clusters[cluster].entries;
        let wanted = |page: &&Extent| [1, 3].contains(&page.branch) && entries.contains(&page.entries.start);
        layout.baskets.iter().filter(wanted).map(|page| (page.at, page.at + page.bytes)).collect::<Vec<_>>()
    };
    let header = |pages: &[(u64, u64)]| {
        let ranges: Vec<_> = pages.iter().map(|(start, end)| format!("{start}-{}", end - 1)).collect();
        format!("Range: bytes={}\r\n", ranges.join(","))
    };
    let server = HttpServer::start(bytes, ServerConfig::default());
    let options = options(&format!("http://{}", server.address()), &scrap);
    let proxy = Proxy::start(ProxyOptions { prefetch: true, ..options }).unwrap();
    let last = CLUSTERS - 1;
    let coming = pages(last);
    assert!(coming.len() >= 6, "{coming:?}");
    assert_eq!(get(&proxy, "/f", &header(&pages(last - 1))).status, 206);
    until("the pages come", || metric(&proxy, "prefetched_baskets_total") == coming.len() as u64);
    server.forget();
    assert_eq!(get(&proxy, "/f", &header(&coming)).status, 206);
    assert_eq!(server.requests(), 0, "{:?}", server.seen());
}

#[test]
fn prefetch_does_not_change_values() {
    let scrap = Scrap::new("values");
    let bytes = file(&scrap);
    let local = File::open(scrap.0.join("file.root")).unwrap().tree("t").unwrap();
    let server = HttpServer::start(bytes, ServerConfig::default());
    let options = options(&format!("http://{}", server.address()), &scrap);
    let proxy = Proxy::start(ProxyOptions { prefetch: true, ..options }).unwrap();
    let url = format!("{}/f", proxy.url());
    let store = Arc::new(HttpStore::new(&url, &quick()).unwrap());
    let far = File::from_store(store, OpenOptions::default()).unwrap().tree("t").unwrap();
    let read = |tree: &Arc<sapwood::tree::Tree>| -> Vec<i32> {
        let mut all = Vec::new();
        for batch in tree.scan(&["x", "y"]).unwrap().step_bytes(300_000) {
            let batch = batch.unwrap();
            all.extend(batch.column("x").unwrap().numbers::<i32>().unwrap());
            all.extend(batch.column("y").unwrap().numbers::<i32>().unwrap());
        }
        all
    };
    assert!(read(&far) == read(&local));
}

#[test]
fn failures_of_prefetch_do_not_reach_clients() {
    let scrap = Scrap::new("wrong");
    let mut bytes = file(&scrap);
    let local = File::open(scrap.0.join("file.root")).unwrap();
    let first = baskets(&local, &["x"], 0);
    // What looks like a ROOT file, what is none, what is a broken one, and an upstream that fails at once after the
    // first read.
    let garbage = [b"root".to_vec(), content(500_000)].concat();
    let end = bytes.len();
    let broken = {
        let mut broken = bytes.clone();
        broken[end - 2_000..].fill(0x5A);
        broken
    };
    for (content, fails) in
        [(garbage, false), (content(500_000), false), (broken, false), (std::mem::take(&mut bytes), true)]
    {
        let server = HttpServer::start(content.clone(), ServerConfig::default());
        let options = options(&format!("http://{}", server.address()), &scrap);
        let proxy = Proxy::start(ProxyOptions { prefetch: true, ..options }).unwrap();
        get(&proxy, "/f", "If-None-Match: *\r\n");
        if fails {
            server.spoil(&[Fault::None]);
            server.spoil(&[Fault::Status(503, Some(0)); 2]);
        }
        for _ in 0..3 {
            let got = get(&proxy, "/f", &first);
            let said = got.header("Content-Range").trim_start_matches("bytes ");
            let (from, to) = said.split('/').next().and_then(|range| range.split_once('-')).unwrap();
            assert!(got.body == content[from.parse().unwrap()..=to.parse().unwrap()]);
        }
    }
}
