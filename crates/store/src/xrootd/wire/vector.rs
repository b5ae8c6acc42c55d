//! The body of an answer to a vector of ranges: each with 16 bytes that say which one it is.

use super::Broken;

const HEAD_BYTES: usize = 16;

/// Takes the body in any cut. Frames may end anywhere.
#[derive(Debug, Default)]
pub(crate) struct Vector {
    head: [u8; HEAD_BYTES],
    /// How many bytes of it are there.
    have: usize,
    /// Where the next byte of the range belongs, and how many are missing.
    at: u64,
    left: u64,
}

impl Vector {
    /// Hands out what `bytes` say: offsets and data.
    pub(crate) fn feed<E: From<Broken>>(
        &mut self,
        mut bytes: &[u8],
        out: &mut impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while !bytes.is_empty() {
            if self.left == 0 {
                let (here, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.have));
                if let Some(place) = self.head.get_mut(self.have..self.have + here.len()) {
                    place.copy_from_slice(here);
                }
                self.have += here.len();
                bytes = rest;
                if self.have < HEAD_BYTES {
                    return Ok(());
                }
                self.have = 0;
                let [_, _, _, _, a, b, c, d, offset @ ..] = self.head;
                let length = i32::from_be_bytes([a, b, c, d]);
                self.left = u64::try_from(length).map_err(|_| Broken("a range of a negative length"))?;
                self.at = u64::from_be_bytes(offset);
                if self.at.checked_add(self.left).is_none() {
                    return Err(Broken("a range beyond all files").into());
                }
                continue;
            }
            let take = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            let (here, rest) = bytes.split_at(take);
            out(self.at, here)?;
            self.at += take as u64;
            self.left -= take as u64;
            bytes = rest;
        }
        Ok(())
    }

    /// Whether the body may end here.
    pub(crate) fn may_end(&self) -> bool {
        self.have == 0 && self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(ranges: &[(u64, &[u8])]) -> Vec<u8> {
        let one = |(offset, data): &(u64, &[u8])| {
            [b"hand", &(data.len() as u32).to_be_bytes()[..], &offset.to_be_bytes(), data].concat()
        };
        ranges.iter().flat_map(one).collect()
    }

    fn gather(body: &[u8], cut: usize) -> Result<(Vec<(u64, u8)>, bool), Broken> {
        let (mut vector, mut got) = (Vector::default(), Vec::new());
        for piece in body.chunks(cut) {
            vector.feed::<Broken>(piece, &mut |offset, data| {
                got.extend(data.iter().enumerate().map(|(i, byte)| (offset.wrapping_add(i as u64), *byte)));
                Ok(())
            })?;
        }
        Ok((got, vector.may_end()))
    }

    #[test]
    fn a_body_is_read_in_any_cut() {
        let body = body(&[(5, b"abc"), (100, b""), (0, b"x")]);
        for cut in 1..=body.len() {
            let (got, whole) = gather(&body, cut).unwrap();
            assert_eq!(got, [(5, b'a'), (6, b'b'), (7, b'c'), (0, b'x')]);
            assert!(whole);
        }
        for end in 1..body.len() {
            let whole = gather(&body[..end], 7).unwrap().1;
            assert_eq!(whole, [19, 35].contains(&end), "{end}");
        }
    }

    #[test]
    fn any_bytes_are_ranges_or_errors() {
        let good = body(&[(5, b"abc"), (1 << 40, &[7; 60]), (0, b"x")]);
        let mut state = 3_u64;
        for round in 0..20_000 {
            let mut bytes = good.clone();
            for _ in 0..=round % 3 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (state >> 33) as usize % bytes.len();
                bytes[at] = (state >> 50) as u8;
            }
            if let Ok((got, _)) = gather(&bytes, 1 + round % 30) {
                assert!(got.len() <= bytes.len());
            }
        }
        let negative = [&b"hand"[..], &[0xFF; 4], &[0; 8]].concat();
        assert!(gather(&negative, 99).is_err());
        assert!(gather(&[&b"hand"[..], &[0, 0, 0, 9], &[0xFF; 8]].concat(), 99).is_err());
    }
}
