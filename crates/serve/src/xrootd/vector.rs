//! Answers to vectors of ranges: each range after the 16 bytes that name it. A frame has whole ranges, since clients
//! read them from one frame.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use sapwood_store::xrootd_numbers::{code, status};

use super::exchange::Exchange;
use super::frame::head;
use super::open_files::OpenFile;
use super::request::Segment;
use super::trouble::Trouble;
use crate::answer::{Answer, Part};
use crate::metrics::{Outcome, Protocol};
use crate::opened::Opened;

/// Bytes that name a range.
const NAME_BYTES: usize = 16;
/// Length after which a frame ends with a range.
const FRAME_BYTES: usize = 128 << 10;

/// Ranges of the same file, one after another.
struct Run {
    file: Arc<OpenFile>,
    opened: Arc<Opened>,
    segments: Vec<Segment>,
}

impl Exchange {
    pub(super) async fn read_vector(&mut self, segments: &[Segment]) -> Result<(), Trouble> {
        let runs = self.runs(segments).await?;
        let count = runs.len();
        for (number, run) in (1..).zip(runs) {
            self.run(&run, number == 1, number == count).await?;
        }
        Ok(())
    }

    /// Finds the files of all ranges, and compares each range with its file.
    async fn runs(&self, segments: &[Segment]) -> Result<Vec<Run>, Trouble> {
        let mut runs: Vec<Run> = Vec::new();
        for segments in segments.chunk_by(|one, other| one.handle == other.handle) {
            let Some(first) = segments.first() else { continue };
            let file = self.file(first.handle)?;
            let opened = file.current(&self.service.files).await?;
            if segments.iter().any(|segment| segment.offset + u64::from(segment.bytes) > opened.len) {
                return Err(Trouble::refused(code::INVALID_ARGUMENT, "a range of the vector ends beyond the file"));
            }
            runs.push(Run { file, opened, segments: segments.to_vec() });
        }
        Ok(runs)
    }

    async fn run(&mut self, run: &Run, first: bool, last: bool) -> Result<(), Trouble> {
        let mut parts = VecDeque::new();
        let mut ranges = Vec::new();
        for segment in &run.segments {
            parts.push_back(Part::Text(name(segment)));
            if segment.bytes > 0 {
                let range = segment.offset..segment.offset + u64::from(segment.bytes);
                ranges.push(range.clone());
                parts.push_back(Part::Range(range));
            }
        }
        let supply = Arc::clone(&self.service.supply);
        let answer = Answer::new(Arc::clone(&run.opened), supply, Protocol::Xrootd, parts);
        let mut pieces = Pieces { answer, rest: Bytes::new() };
        let failed = |of: &Self, error| of.read_failed(&run.file.path, &run.file.secret, &run.opened, &error);
        pieces.answer.begin().await.map_err(|error| failed(self, error))?;
        if first {
            pieces.answer.count();
        }
        if let Some(prefetcher) = &self.service.prefetcher {
            prefetcher.saw(&run.opened, &ranges);
        }
        let mut frames = frames(&run.segments).into_iter().peekable();
        while let Some((bytes, of_file)) = frames.next() {
            let is_last = last && frames.peek().is_none();
            // All of the frame is in the cache before its head is sent, so that what fails can still be told.
            pieces.answer.ready(of_file).await.map_err(|error| failed(self, error))?;
            let writer = Arc::clone(&self.writer);
            let _room = writer.room().await?;
            let mut piece = pieces.next(bytes).await.map_err(|error| failed(self, error))?;
            let mut left = bytes - piece.len();
            let status = if is_last { status::OK } else { status::SO_FAR };
            let start = head(self.stream, status, bytes);
            self.begun = true;
            let mut frame = writer.frame().await?;
            frame.put(&start, piece).await?;
            while left > 0 {
                piece = pieces.next(left).await.map_err(|error| {
                    self.read_failed(&run.file.path, &run.file.secret, &run.opened, &error);
                    Trouble::Lost
                })?;
                left -= piece.len();
                frame.put(&[], piece).await?;
            }
            frame.end().await?;
        }
        if last {
            self.service.supply.metrics.ended(Outcome::Ok);
        }
        Ok(())
    }
}

/// The bytes of an answer, cut anew.
struct Pieces {
    answer: Answer,
    rest: Bytes,
}

impl Pieces {
    /// The next bytes, up to `most`. There are some.
    async fn next(&mut self, most: usize) -> sapwood::Result<Bytes> {
        if self.rest.is_empty() {
            let ended = || sapwood::Error::internal("a vector ends before its ranges do");
            self.rest = self.answer.next().await.ok_or_else(ended)??;
        }
        Ok(self.rest.split_to(most.min(self.rest.len())))
    }
}

fn name(segment: &Segment) -> Bytes {
    [&segment.handle[..], &segment.bytes.to_be_bytes(), &segment.offset.to_be_bytes()].concat().into()
}

/// The lengths of frames, and how much of each is bytes of the file.
fn frames(segments: &[Segment]) -> Vec<(usize, u64)> {
    let mut frames: Vec<(usize, u64)> = Vec::new();
    for segment in segments {
        let more = NAME_BYTES + segment.bytes as usize;
        match frames.last_mut().filter(|(bytes, _)| bytes + more <= FRAME_BYTES) {
            Some((bytes, of_file)) => (*bytes, *of_file) = (*bytes + more, *of_file + u64::from(segment.bytes)),
            None => frames.push((more, u64::from(segment.bytes))),
        }
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_whole_ranges() {
        let of = |sizes: &[u32]| {
            let segment = |bytes: &u32| Segment { handle: *b"abcd", offset: 1, bytes: *bytes };
            frames(&sizes.iter().map(segment).collect::<Vec<_>>())
        };
        assert_eq!(of(&[10, 0, 20]), [(78, 30)]);
        assert_eq!(of(&[2_000_000, 5, 131_056]), [(2_000_016, 2_000_000), (21, 5), (131_072, 131_056)]);
        assert_eq!(of(&[131_056]), [(131_072, 131_056)]);
        assert_eq!(
            name(&Segment { handle: *b"abcd", offset: 258, bytes: 3 })[..],
            *b"abcd\0\0\0\x03\0\0\0\0\0\0\x01\x02"
        );
    }
}
