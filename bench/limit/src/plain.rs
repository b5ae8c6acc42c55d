//! What the compiled programs of the engine are compared with: a decoder that looks up each value's type when it comes
//! to it, as ROOT did before it compiled its streamer actions. It inflates as the limit does and fills the same
//! columns.

use crate::index::{Basket, Branch, Step};
use crate::{Column, be32};

/// The next value of the file to its place in a column; gives what lies behind it.
fn value<'a>(from: &'a [u8], to: &mut [u8], at: usize, width: usize, widen: bool) -> &'a [u8] {
    match (width, widen) {
        (1, _) => to[at] = from[0],
        (2, _) => {
            let x = u16::from_be_bytes([from[0], from[1]]);
            to[2 * at..2 * at + 2].copy_from_slice(&x.to_ne_bytes());
        }
        (4, false) => {
            let x = be32(from, 0) as u32;
            to[4 * at..4 * at + 4].copy_from_slice(&x.to_ne_bytes());
        }
        (4, true) => {
            let x = f64::from(f32::from_bits(be32(from, 0) as u32));
            to[8 * at..8 * at + 8].copy_from_slice(&x.to_ne_bytes());
        }
        _ => {
            let x = u64::from_be_bytes(from[..8].try_into().expect("eight bytes"));
            to[8 * at..8 * at + 8].copy_from_slice(&x.to_ne_bytes());
        }
    }
    &from[width..]
}

/// One basket of whole objects, value by value.
pub fn place_rows(d: &[u8], b: &Branch, k: &Basket, columns: &mut [Column]) {
    let (mut from, mut n) = (d, k.first_value);
    for i in 0..k.entries {
        let (mut c, mut count) = (0, 0);
        for step in &b.steps {
            match *step {
                Step::Skip(bytes) => from = &from[bytes..],
                Step::Member { width, times, widen } => {
                    for t in 0..times {
                        from = value(from, &mut columns[c].values, (k.first_entry + i) * times + t, width, widen);
                    }
                    c += 1;
                }
                Step::Count => {
                    count = be32(from, 0);
                    from = &from[4..];
                    columns[c].offsets[k.first_entry + i + 1] = (n + count) as i64;
                }
                Step::Element { width, widen } => {
                    for t in 0..count {
                        from = value(from, &mut columns[c].values, n + t, width, widen);
                    }
                    c += 1;
                }
            }
        }
        n += count;
    }
}
