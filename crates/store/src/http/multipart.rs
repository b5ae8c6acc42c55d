//! Bodies of the type `multipart/byteranges`, as they arrive.
//!
//! Each part says by its `Content-Range` how many bytes it has, and these are counted: nothing is searched for in them.
//! A file may hold whatever a server uses as its boundary; some always use the same.

use super::content_range::ContentRange;

/// The longest line between parts. Servers are content with a hundred bytes.
const LINE_BYTES: usize = 8 << 10;
/// The most bytes between two parts: boundary and headers.
const HEAD_BYTES: usize = 32 << 10;

/// Why a body is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken(pub(crate) &'static str);

/// Takes bytes with their offset in the file, and the length of the file where their part knows it.
pub(crate) type Each<'a, E> = dyn FnMut(u64, &[u8], Option<u64>) -> Result<(), E> + 'a;

/// Takes a body piece by piece, and says of which offset in the file its bytes are.
#[derive(Debug)]
pub(crate) struct Multipart {
    state: State,
    /// The line so far, without its end.
    line: Vec<u8>,
    /// Bytes since the last part ended.
    head_bytes: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// Outside of a part: a boundary comes, or was the last one.
    Between,
    /// In the headers of a part. `last` if the boundary may have been the last.
    Headers { found: Option<ContentRange>, last: bool },
    /// In the bytes of a part.
    Data { offset: u64, left: u64, total: Option<u64> },
    /// After the last boundary.
    End,
}

impl Multipart {
    pub(crate) fn new() -> Self {
        Self { state: State::Between, line: Vec::new(), head_bytes: 0 }
    }

    /// Takes the next piece of the body.
    pub(crate) fn feed<E: From<Broken>>(&mut self, mut piece: &[u8], each: &mut Each<'_, E>) -> Result<(), E> {
        while !piece.is_empty() {
            match &mut self.state {
                State::End => return Ok(()),
                State::Data { offset, left, total } => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(piece.len());
                    let (data, rest) = piece.split_at(here);
                    each(*offset, data, *total)?;
                    *offset += here as u64; // no further than the end, which is a u64
                    *left -= here as u64;
                    if *left == 0 {
                        self.state = State::Between;
                        self.head_bytes = 0;
                    }
                    piece = rest;
                }
                State::Between | State::Headers { .. } => {
                    let end = piece.iter().position(|byte| *byte == b'\n');
                    let (line, rest) = piece.split_at(end.map_or(piece.len(), |end| end + 1));
                    self.head_bytes += line.len();
                    if self.line.len() + line.len() > LINE_BYTES || self.head_bytes > HEAD_BYTES {
                        return Err(Broken("too much stands between two parts").into());
                    }
                    self.line.extend_from_slice(line);
                    if end.is_some() {
                        let mut line = std::mem::take(&mut self.line);
                        while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
                            line.pop();
                        }
                        self.line(&line)?;
                        line.clear();
                        self.line = line;
                    }
                    piece = rest;
                }
            }
        }
        Ok(())
    }

    /// Takes a whole line outside of the bytes of parts.
    fn line(&mut self, line: &[u8]) -> Result<(), Broken> {
        match &mut self.state {
            State::Between => {
                if line.starts_with(b"--") {
                    self.state = State::Headers { found: None, last: line.len() > 4 && line.ends_with(b"--") };
                }
                // Else what stands before the first boundary, or the end of the line that bytes end with.
                Ok(())
            }
            State::Headers { found, last } if line.is_empty() => match found.take() {
                Some(ContentRange { range: Some(range), total }) => {
                    self.state = State::Data { offset: range.start, left: range.end - range.start, total };
                    Ok(())
                }
                // Without its length a part cannot be skipped: what is in it would be taken for headers.
                _ if *last => {
                    self.state = State::End;
                    Ok(())
                }
                _ => Err(Broken("a part has no Content-Range")),
            },
            State::Headers { found, last } => {
                if let Some(at) = line.iter().position(|byte| *byte == b':') {
                    let (name, value) = (&line[..at], &line[at + 1..]);
                    if name.trim_ascii().eq_ignore_ascii_case(b"content-range") {
                        let range = ContentRange::parse(value).filter(|range| range.range.is_some());
                        *found = Some(range.ok_or(Broken("malformed Content-Range of a part"))?);
                    }
                    return Ok(());
                }
                if *last {
                    self.state = State::End; // words after the last boundary
                    return Ok(());
                }
                Err(Broken("malformed header of a part"))
            }
            State::Data { .. } | State::End => Ok(()),
        }
    }

    /// Whether the body may end here: not in the bytes of a part.
    pub(crate) fn may_end(&self) -> bool {
        !matches!(self.state, State::Data { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APACHE: &[u8] = b"\r\n--4a\r\nContent-range: bytes 0-4/30\r\n\r\nhello\r\n--4a\r\n\
        Content-range: bytes 10-15/30\r\n\r\n--4a\r\n\r\n--4a--\r\n";
    const XROOTD: &[u8] = b"\r\n--123456\r\nContent-type: text/plain; charset=UTF-8\r\n\
        Content-range: bytes 3-9/10\r\n\r\n--12345\r\n--123456\r\nContent-type: text/plain; charset=UTF-8\r\n\
        Content-range: bytes 0-0/10\r\n\r\n-\r\n--123456--\r\n";
    const BARE: &[u8] = b"preamble\n--x\nCONTENT-RANGE:bytes 7-8/*\n\nab\n--x--";

    type Found = Vec<(u64, Vec<u8>, Option<u64>)>;

    /// Feeds a body in pieces of so many bytes; joins what follows on.
    fn parse(body: &[u8], step: usize) -> Result<(Found, bool), Broken> {
        let (mut found, mut parser): (Found, _) = (Vec::new(), Multipart::new());
        for piece in body.chunks(step) {
            parser.feed(piece, &mut |offset, bytes: &[u8], total| {
                match found.last_mut() {
                    Some((start, data, _)) if *start + data.len() as u64 == offset => data.extend(bytes),
                    _ => found.push((offset, bytes.to_vec(), total)),
                }
                Ok::<(), Broken>(())
            })?;
        }
        Ok((found, parser.may_end()))
    }

    #[test]
    fn bodies_of_real_servers_are_read_in_pieces_of_any_length() {
        for step in 1..200 {
            let (found, ends) = parse(APACHE, step).unwrap();
            assert_eq!(found, [(0, b"hello".to_vec(), Some(30)), (10, b"--4a\r\n".to_vec(), Some(30))]);
            assert!(ends);
            let (found, _) = parse(XROOTD, step).unwrap();
            assert_eq!(found, [(3, b"--12345".to_vec(), Some(10)), (0, b"-".to_vec(), Some(10))]);
            assert_eq!(parse(BARE, step).unwrap().0, [(7, b"ab".to_vec(), None)]);
        }
    }

    #[test]
    fn a_body_that_is_cut_anywhere_gives_right_bytes_and_no_more() {
        for body in [APACHE, XROOTD, BARE] {
            let whole: Vec<(u64, u8)> = bytes(parse(body, 1000).unwrap().0);
            for cut in 0..body.len() {
                let (found, ends) = parse(&body[..cut], 3).unwrap();
                let found = bytes(found);
                assert!(whole.starts_with(&found), "cut at {cut}");
                assert!(ends || found.len() < whole.len(), "cut at {cut}");
            }
        }
    }

    fn bytes(found: Found) -> Vec<(u64, u8)> {
        found.into_iter().flat_map(|(start, data, _)| (start..).zip(data)).collect()
    }

    #[test]
    fn parts_without_a_length_are_refused() {
        for body in [
            "--x\r\n\r\ndata\r\n--x--",
            "--x\r\nContent-Range: bytes 5-1/9\r\n\r\n",
            "--x\r\nContent-Range: bytes */9\r\n\r\n",
            "--x\r\nno header\r\n\r\n",
        ] {
            assert!(parse(body.as_bytes(), 7).is_err(), "{body}");
        }
        let endless = [b"--x\r\n".to_vec(), b"a: b\r\n".repeat(20_000)].concat();
        assert!(parse(&endless, 1000).is_err());
        assert!(parse(&vec![b'x'; 100_000], 1000).is_err());
        assert_eq!(parse(b"--x--\r\n\r\nContent-Range: bytes 0-1/5\r\n\r\nab", 9).unwrap().0, []);
    }

    /// Bytes that a body never held must not come out of a mutated one with a length that was not in it: only that it
    /// ends, and stays within its bounds, can be asked of it.
    #[test]
    fn mutated_bodies_end_in_errors_or_bytes() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below.max(1) as u64) as usize
        };
        let (mut good, mut bad) = (0, 0);
        for _ in 0..20_000 {
            let mut body = [APACHE, XROOTD, BARE][random(3)].to_vec();
            for _ in 0..=random(4) {
                if body.is_empty() {
                    break;
                }
                let at = random(body.len());
                match random(4) {
                    0 => body[at] = random(256) as u8,
                    1 => drop(body.remove(at)),
                    2 => body.insert(at, b"\r\n-:09/ "[random(8)]),
                    _ => body.truncate(at.max(1)),
                }
            }
            let bytes_in = body.len();
            match parse(&body, 1 + random(40)) {
                Ok((found, _)) => {
                    good += 1;
                    assert!(found.iter().map(|(_, data, _)| data.len()).sum::<usize>() <= bytes_in);
                }
                Err(_) => bad += 1,
            }
        }
        assert!(good > 1_000 && bad > 1_000, "{good} {bad}");
    }
}
