//! One function a fuzz target: any bytes in, no panic.
//!
//! To add a target: a function here, a row in [`TARGETS`], a folder `fuzz/seeds/<name>/` with at least one seed, and in
//! `fuzz/` a file of three lines with its `[[bin]]`. Seeds are replayed by the plain tests; each crash becomes one.

use sapwood::codec::{self, Algorithm, BlockTable, Compression, Scratch};

/// A fuzz target: it must accept any bytes.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: &[(&str, Target)] = &[("chain", chain), ("deflate", deflate)];

/// Reads a chain of blocks. The first 3 bytes are its unsealed size, little-endian, cut to 1 MiB.
pub fn chain(data: &[u8]) {
    let Some((&[a, b, c], bytes)) = data.split_first_chunk::<3>() else { return };
    let unsealed_bytes = (u32::from_le_bytes([a, b, c, 0]) as usize).min(1 << 20);
    let table = BlockTable::walk(bytes, unsealed_bytes);
    let (mut whole, mut scratch) = (vec![0; unsealed_bytes], Scratch::default());
    if codec::inflate(bytes, &mut whole, &mut scratch).is_err() {
        return;
    }
    let table = table.expect("what inflates has a table");
    assert_eq!(table.unsealed_bytes(), unsealed_bytes);
    let want = unsealed_bytes / 3..unsealed_bytes - unsealed_bytes / 3;
    let mut part = vec![0; want.len()];
    table.inflate_range(bytes, want.clone(), &mut part, &mut scratch).expect("what inflates does so in part");
    assert_eq!(part, whole[want.clone()]);
    part.fill(0);
    codec::inflate_range(bytes, unsealed_bytes, want.clone(), &mut part, &mut scratch).expect("with a walk too");
    assert_eq!(part, whole[want]);
}

/// Packs what follows the first 2 bytes, which choose codec and level, and reads it back.
pub fn deflate(data: &[u8]) {
    let Some((&[codec, level], bytes)) = data.split_first_chunk::<2>() else { return };
    let algorithm = Algorithm::ALL[usize::from(codec) % Algorithm::ALL.len()];
    let how = Compression { algorithm, level: level % 12 };
    let (mut chain, mut scratch) = (vec![1, 2, 3], Scratch::default());
    match codec::deflate(bytes, how, &mut chain, &mut scratch).expect("memory is there") {
        false => assert_eq!(chain, [1, 2, 3]),
        true => {
            assert!(chain.len() - 3 < bytes.len());
            let mut back = vec![0; bytes.len()];
            codec::inflate(&chain[3..], &mut back, &mut scratch).expect("what was packed can be read");
            assert_eq!(back, bytes);
        }
    }
}
