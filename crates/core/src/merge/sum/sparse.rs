//! Histograms of many dimensions: `THnSparse` in all its types, and `THn`.
//!
//! Source: `THnBase::Merge`, `THnBase::AddInternal`, `THnSparseArrayChunk`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::column::Number;
use crate::error::{Error, Result};
use crate::hist::{Cells, SparseChunks, chunk_list};
use crate::schema::draft_members::{float, floats, put, unfit, whole};
use crate::schema::{Datum, Draft};

/// Whether a class is one of sparse histograms.
pub(super) fn is_sparse(class: &str) -> bool {
    class.starts_with("THnSparseT<TArray")
}

/// Whether a class is one of full histograms.
pub(super) fn is_full(class: &str) -> bool {
    ["char", "short", "int", "long", "Long64_t", "float", "double"].iter().any(|of| class == format!("THnT<{of}>"))
}

/// Adds the bins of a histogram that has the same axes.
pub(super) fn add(sum: &mut Draft, next: &Draft) -> Result<()> {
    let (mine, others) = (axes(sum)?, axes(next)?);
    if mine != others {
        return Err(Error::mismatch(format!("axes do not have the same bins: {mine:?} and {others:?}")));
    }
    let weighted = |draft: &Draft| Ok::<_, Error>(float(draft, "fTsumw2")? >= 0.0);
    let weighted = (weighted(sum)?, weighted(next)?);
    let mut new = sum.clone();
    if weighted.1 && !weighted.0 {
        put(&mut new, "fTsumw2", 0.0);
    }
    if weighted.1 {
        add_statistics(&mut new, next)?;
    }
    let weighted = weighted.0 || weighted.1;
    if is_sparse(sum.class()) {
        add_sparse(&mut new, next, weighted)?
    } else {
        add_full(&mut new, next, weighted)?
    }
    let entries = float(sum, "fEntries")? + float(next, "fEntries")?;
    put(&mut new, "fEntries", entries);
    *sum = new;
    Ok(())
}

/// Sums over what was filled, which those have that sum squared weights.
fn add_statistics(sum: &mut Draft, next: &Draft) -> Result<()> {
    for name in ["fTsumw", "fTsumw2"] {
        let all = float(sum, name)? + float(next, name)?;
        put(sum, name, all);
    }
    for name in ["fTsumwx", "fTsumwx2"] {
        let (mut all, more) = (floats(sum, name)?, floats(next, name)?);
        if all.len() != more.len() {
            return Err(Error::malformed(format!("{name} has not a number for each axis"))
                .wanted(all.len() as u64, more.len() as u64));
        }
        all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
        put(sum, name, all);
    }
    Ok(())
}

/// How many bins each axis has.
fn axes(draft: &Draft) -> Result<Vec<i64>> {
    let axes = draft.member("fAxes").and_then(Datum::as_draft).and_then(|axes| axes.member("items"));
    let axes = axes.and_then(Datum::as_list).ok_or_else(|| unfit(draft, "fAxes"))?;
    let axis = |axis: &Datum| whole(axis.as_draft().ok_or_else(|| unfit(draft, "fAxes"))?, "fNbins");
    axes.iter().map(axis).collect()
}

/// Bins in an order, each with its coordinates as the chunks have them.
struct Bins {
    width: usize,
    coordinates: Vec<u8>,
    contents: Vec<f64>,
    squares: Vec<f64>,
}

fn bins(draft: &Draft) -> Result<Bins> {
    let SparseChunks { width, coordinates, contents, squares } = SparseChunks::read(draft)?;
    let contents: Vec<f64> = (0..contents.len()).map(|bin| contents.get(bin)).collect();
    // Without squares, those of a bin are its content.
    let squares = if squares.is_empty() { contents.clone() } else { squares };
    Ok(Bins { width, coordinates, contents, squares })
}

fn add_sparse(sum: &mut Draft, next: &Draft, weighted: bool) -> Result<()> {
    let (mut mine, others) = (bins(sum)?, bins(next)?);
    if others.width == 0 {
        return Ok(());
    }
    if mine.width != 0 && mine.width != others.width {
        return Err(Error::malformed("coordinates of bins are not of one size"));
    }
    let width = others.width;
    let template = chunk_list(sum)?.first().or(chunk_list(next)?.first()).and_then(Datum::as_draft).cloned();
    let template = template.ok_or_else(|| unfit(sum, "fBinContent"))?;
    let kind = template.member("fContent").and_then(Datum::as_draft).and_then(|array| array.member("This"));
    let kind = kind.and_then(Cells::read).ok_or_else(|| unfit(&template, "fContent"))?;
    let size = usize::try_from(whole(sum, "fChunkSize")?).ok().filter(|size| (1..=kind.len()).contains(size));
    let size = size.ok_or_else(|| unfit(sum, "fChunkSize"))?;

    // Bins are added in the type that holds them.
    let known = mine.contents.len();
    let mut places: HashMap<Vec<u8>, usize> =
        mine.coordinates.chunks_exact(width).enumerate().map(|(bin, at)| (at.to_vec(), bin)).collect();
    let mut targets = Vec::with_capacity(others.contents.len());
    for at in others.coordinates.chunks_exact(width) {
        let new = places.len();
        let place = *places.entry(at.to_vec()).or_insert(new);
        if place >= mine.contents.len() {
            mine.coordinates.extend_from_slice(at);
            mine.contents.push(0.0);
            mine.squares.push(0.0);
        }
        targets.push(place);
    }
    let count = mine.contents.len();
    let mut contents = kind.zeros(count);
    (0..known).for_each(|bin| contents.add(bin, mine.contents[bin]));
    for (place, (content, square)) in targets.iter().zip(others.contents.iter().zip(&others.squares)) {
        contents.add(*place, *content);
        mine.squares[*place] += square;
    }

    let mut old = chunk_list(sum)?.to_vec().into_iter();
    let mut new = Vec::new();
    for first in (0..count).step_by(size) {
        let end = (first + size).min(count);
        let mut part = kind.zeros(size);
        (first..end).for_each(|bin| part.add(bin - first, contents.get(bin)));
        // A new chunk is one of its own, and not another pointer to the first.
        let again = || template.another();
        let mut chunk = old.next().as_ref().and_then(Datum::as_draft).cloned().unwrap_or_else(again);
        let missing = || Error::internal("a bin has no coordinates");
        let coordinates = mine.coordinates.get(first * width..end * width).ok_or_else(missing)?;
        put(&mut chunk, "fCoordinatesSize", coordinates.len() as i64);
        put(&mut chunk, "fCoordinates", Datum::Numbers(Number::I8, coordinates.to_vec()));
        put(&mut chunk, "fSingleCoordinateSize", width as i64);
        if let Some(array) = chunk.member_mut("fContent").and_then(Datum::as_draft_mut) {
            put(array, "This", part.datum());
        }
        if weighted {
            let squares = mine.squares.get(first..end);
            let mut squares = squares.ok_or_else(|| Error::internal("a bin has no sum of squares"))?.to_vec();
            squares.resize(size, 0.0);
            put(&mut chunk, "fSumw2", Arc::new(Draft::new("TArrayD").with("This", squares)));
        }
        new.push(Datum::from(Arc::new(chunk)));
    }
    put(sum, "fFilledBins", count as i64);
    if let Some(array) = sum.member_mut("fBinContent").and_then(Datum::as_draft_mut) {
        put(array, "items", new);
    }
    Ok(())
}

fn add_full(sum: &mut Draft, next: &Draft, weighted: bool) -> Result<()> {
    let cells = |draft: &Draft| {
        let data = draft.member("fArray").and_then(Datum::as_draft).and_then(|array| array.member("fData"));
        data.and_then(Cells::read).ok_or_else(|| unfit(draft, "fArray"))
    };
    // Without squares, those of a bin are its content.
    let squares = |draft: &Draft| match draft.member("fSumw2").and_then(Datum::as_draft) {
        Some(array) => floats(array, "fData"),
        None => Ok(Vec::new()),
    };
    let (mut mine, others) = (cells(sum)?, cells(next)?);
    if others.is_empty() {
        return Ok(());
    }
    if mine.is_empty() {
        mine = others.zeros(others.len());
    }
    if mine.len() != others.len() {
        return Err(Error::malformed("bins do not fit the axes").wanted(mine.len() as u64, others.len() as u64));
    }
    if weighted {
        let squares = |draft: &Draft, cells: &Cells| match squares(draft)? {
            squares if squares.is_empty() => Ok((0..cells.len()).map(|bin| cells.get(bin)).collect()),
            squares if squares.len() == cells.len() => Ok(squares),
            squares => {
                Err(Error::malformed("fSumw2 does not fit the axes").wanted(cells.len() as u64, squares.len() as u64))
            }
        };
        let (mut all, more): (Vec<f64>, Vec<f64>) = (squares(sum, &mine)?, squares(next, &others)?);
        all.iter_mut().zip(more).for_each(|(square, more)| *square += more);
        if let Some(array) = sum.member_mut("fSumw2").and_then(Datum::as_draft_mut) {
            put(array, "fData", all);
        }
    }
    (0..others.len()).for_each(|bin| mine.add(bin, others.get(bin)));
    if let Some(array) = sum.member_mut("fArray").and_then(Datum::as_draft_mut) {
        put(array, "fData", mine.datum());
    }
    Ok(())
}
