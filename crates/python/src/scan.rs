//! Items of lists on lines of their own, and the table of them.

use pyo3::prelude::*;
use sapwood::query::{self, Item};

use crate::column::Column;
use crate::errors::{raise, run};

/// An item of a scan as a value of Python, and back.
#[derive(FromPyObject, IntoPyObject)]
pub(crate) enum Cell {
    Unsigned(u64),
    Whole(i64),
    Number(f64),
    Text(String),
}

/// A line of a scan: row, the number of the item, and items.
type Line = (usize, usize, Vec<Option<Cell>>);

/// The lines of the rows of some columns of equal length, an item of each list a line: at most about so many, of whole
/// rows, from a row on. Gives the next row, too.
#[pyfunction]
pub(crate) fn item_lines(
    py: Python<'_>,
    columns: Vec<Py<Column>>,
    first: usize,
    most: usize,
) -> PyResult<(Vec<Line>, usize)> {
    let columns: Vec<sapwood::read::Column> = columns.iter().map(|column| column.get().0.clone()).collect();
    let rows = columns.iter().map(|column| column.len).min().unwrap_or(0);
    run(py, || {
        let of_rows = query::ItemLines::new(&columns);
        let (mut lines, mut row) = (Vec::new(), first);
        while row < rows && lines.len() < most {
            let mut instance = 0;
            of_rows.of_row(row, &mut |items| {
                lines.push((row, instance, items.iter().map(|item| item.clone().map(Cell::from)).collect()));
                instance += 1;
                Ok::<(), sapwood::Error>(())
            })?;
            row += 1;
        }
        Ok((lines, row))
    })
}

impl From<Item> for Cell {
    fn from(item: Item) -> Self {
        match item {
            Item::Number(value) => Self::Number(value),
            Item::Whole(value) => Self::Whole(value),
            Item::Unsigned(value) => Self::Unsigned(value),
            Item::Text(text) => Self::Text(text),
        }
    }
}

impl From<Cell> for Item {
    fn from(cell: Cell) -> Self {
        match cell {
            Cell::Number(value) => Self::Number(value),
            Cell::Whole(value) => Self::Whole(value),
            Cell::Unsigned(value) => Self::Unsigned(value),
            Cell::Text(text) => Self::Text(text),
        }
    }
}

/// The table of a scan, line by line.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct ItemTable(query::ItemTable);

#[pymethods]
impl ItemTable {
    #[new]
    fn new(names: Vec<String>, formats: &str, width: usize, precision: usize, has_lists: bool) -> PyResult<Self> {
        query::ItemTable::new(&names, formats, width, precision, has_lists).map(Self).map_err(raise)
    }

    /// The lines above the rows.
    fn head(&self) -> String {
        self.0.head()
    }

    /// The line of an item of an entry.
    fn row(&self, entry: u64, instance: usize, cells: Vec<Option<Cell>>) -> String {
        let items: Vec<Option<Item>> = cells.into_iter().map(|cell| cell.map(Item::from)).collect();
        self.0.row(entry, instance, &items)
    }

    /// The line below the rows.
    fn end(&self) -> String {
        self.0.end()
    }
}

/// The expressions of a text with colons between, `y:x`.
#[pyfunction]
pub(crate) fn split_expressions(text: &str) -> PyResult<Vec<String>> {
    query::split_expressions(text).map_err(raise)
}
