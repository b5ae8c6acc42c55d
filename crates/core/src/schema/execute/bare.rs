//! Objects without headers: what the Streamer of a class writes that streams the members and nothing else.

use super::super::program::{Program, Span, Step, Versions};
use super::{Machine, Order, numbers};
use crate::column::Part;
use crate::error::{Error, Result};
use crate::wire::{Frame, Reader};

/// Classes within each other that are looked into.
const MAX_DEPTH: u32 = 16;

impl Machine<'_> {
    /// Decodes `n` objects of a class without headers if the bytes up to `end` are those of their members exactly: with
    /// headers the objects would need more. Returns whether it did.
    pub(super) fn bare(
        &self,
        program: &Program,
        versions: &Versions,
        reader: &mut Reader<'_>,
        end: usize,
        n: usize,
        part: &mut Part,
    ) -> Result<bool> {
        let [body] = &*versions.bodies else { return Ok(false) };
        let left = end.saturating_sub(reader.at());
        // Traced entries are written again, with headers.
        if n == 0 || left == 0 || self.objects.trace.is_some() || !left.is_multiple_of(n) {
            return Ok(false);
        }
        if bytes_of(program, body.span, 0) != Some(left / n) {
            return Ok(false);
        }
        if let [Step::Run { fields, bytes }] = steps(program, body.span) {
            numbers(fields, *bytes as usize, reader, n, Order::Rows, part)?;
            return Ok(true);
        }
        for _ in 0..n {
            one(program, body.span, reader, part)?;
        }
        Ok(true)
    }

    /// The error for an object that cannot be decoded: if it has neither a byte count nor a version that the file
    /// describes, its class has its own Streamer.
    #[cold]
    pub(super) fn explained(error: Error, versions: &Versions, frame: Frame, at: usize) -> Error {
        let is_described = versions.bodies.iter().any(|body| body.version == i32::from(frame.version));
        if frame.end.is_some() || is_described {
            return error;
        }
        Error::unsupported(format!(
            "the objects of class {} do not begin with a header: the class has its own Streamer, and the file does not \
             describe what that writes. Branch.basket() has the bytes",
            versions.class
        ))
        .at(at as u64)
        .because(error)
    }
}

fn steps(program: &Program, span: Span) -> &[Step] {
    &program.steps[span.start as usize..span.end as usize]
}

/// The bytes of an object without headers, if all objects have the same number.
fn bytes_of(program: &Program, span: Span, depth: u32) -> Option<usize> {
    let mut sum = 0_usize;
    for step in steps(program, span) {
        let bytes = match step {
            Step::Run { bytes, .. } => *bytes as usize,
            Step::Class { versions, .. } if depth < MAX_DEPTH => match &*versions.bodies {
                [body] => bytes_of(program, body.span, depth + 1)?,
                _ => return None,
            },
            _ => return None,
        };
        sum = sum.checked_add(bytes)?;
    }
    Some(sum)
}

/// One object whose size [`bytes_of`] found.
fn one(program: &Program, span: Span, reader: &mut Reader<'_>, part: &mut Part) -> Result<()> {
    for step in steps(program, span) {
        match step {
            Step::Run { fields, bytes } => numbers(fields, *bytes as usize, reader, 1, Order::Rows, part)?,
            Step::Class { versions, .. } => match &*versions.bodies {
                [body] => one(program, body.span, reader, part)?,
                _ => return Err(Error::internal("an object without a header has several versions")),
            },
            _ => return Err(Error::internal("an object without a header has members of no fixed size")),
        }
    }
    Ok(())
}
