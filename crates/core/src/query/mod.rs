//! QUERIES: expressions over the columns of a tree or an RNTuple, cuts, and histograms of them.
//!
//! One language for all that takes an expression: that of `TTree::Draw` (`TTreeFormula`), and that of uproot, which is
//! written in Python. An expression is parsed (`token`, `parse`, `syntax`), its names become columns and its values get
//! types (`bind`), and it is computed for some thousand rows at a time (`evaluate`), while these are in the processor's
//! cache. Nothing of it is ever run as code.
//!
//! # The language
//!
//! - **Numbers** are computed as ROOT does, in double precision; whole numbers stay whole where `+ - * // %` and
//!   bits are computed of them. `x / 0.` is infinite (ROOT: 0), `sqrt(-1)` is NaN (ROOT: 1).
//! - **Operators** bind as in C: `|| && | & == != < <= > >= << >> + - * / // %`, then signs, then `**`. `^` is a power
//!   of fractions. Where Python reads the same characters differently, brackets are asked for.
//! - **Lists**: what is computed with a list is computed for each item. `v[2]` is the item of each entry, as in ROOT;
//!   `v[:, 2]` is the same in uproot's spelling, `v[:, -1]` the last one, `v[:, :2]` the first two, `v[v > 3]` those
//!   above 3, `v[i]` the item that another branch names.
//! - **Over a list**: `Sum$ Min$ Max$ MinIf$ MaxIf$ Length$` over all items of an entry, as in ROOT; `sum any all min
//!   max argmin argmax mean count` over the innermost lists, as Awkward Array does. `pair_first(v)` and
//!   `pair_second(v)` are the two sides of all pairs of items.
//! - **In the loop**: `Entry$ Entries$ Iteration$ Length$ Alt$(v[3], 0)`.
//! - **Functions** of C, of `TMath::` and of NumPy.
//! - **Text**: `name == "mu"`, `strstr(name, "mu")`.
//! - **Names** are those of branches and leaves, with members behind points; `get("any name")` takes what is no name.
//!   Those of friends stand behind the friend's name, or alone where no other has them.
//!
//! # Example
//!
//! ```
//! # let path = sapwood_testkit::example("nano.root");
//! use sapwood::query::Query;
//! let tree = sapwood::File::open(path)?.tree("Events")?;
//! let query = Query::new(&tree).value("Sum$(Jet_pt)")?.cut("nJet > 2 && Jet_pt[0] > 20")?;
//! let found = query.read(0..tree.entries)?;
//! assert_eq!(found.columns[0].len as u64, found.entries.len());
//! # Ok::<(), sapwood::Error>(())
//! ```

mod align;
mod bind;
mod bind_defined;
mod bound;
mod collect;
mod collection;
mod collection_calls;
mod columns;
mod compute;
mod defined;
mod distributions;
mod draw;
mod estimate;
mod evaluate;
mod event_list;
mod fault;
mod filling;
mod formula;
mod friend;
mod function;
mod gather;
mod graph;
mod index;
mod interval;
mod interval_functions;
mod item_table;
mod items;
mod joint;
mod load;
mod loaded;
mod lookup;
mod lumi_mask;
mod names;
mod number;
mod objects;
mod pairing;
mod parse;
mod path;
mod points;
mod queries;
mod ranks;
mod record_batches;
mod reduce;
mod select;
mod shapes;
mod skip;
mod source;
mod span;
mod special;
mod step;
mod steps;
mod stored_friends;
mod syntax;
mod token;
mod tree_index;
mod value;
mod vector;

pub use align::Lengths;
pub(crate) use defined::Scope;
pub use draw::{Draw, draw_many, draw_with};
pub use event_list::EventList;
pub(crate) use filling::{Bins, Filling, Target};
pub use formula::{Formula, Function, FunctionAxis, Parameter};
pub(crate) use graph::{Builder, Graph, Measures, Piece, Positions, Spot, ValueId, Want};
pub use graph::{Compute, Explained};
pub use item_table::ItemTable;
pub use items::{Item, ItemLines};
pub use lookup::{FoundEntry, Lookup};
pub use lumi_mask::LumiMask;
pub(crate) use parse::check_expression;
pub use parse::split_expressions;
pub use points::Points;
pub(crate) use points::Wholes;
pub use record_batches::{RecordBatches, batch_of};
pub use select::{Answer, Query};
pub use skip::Decided;
pub use source::{Friend, Source};
pub use tree_index::TreeIndex;
