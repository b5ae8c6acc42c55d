//! The browser: ROOT files as a local web page.
//!
//! Only programs of this machine reach it, and only those that know its token ([`admission`]). A request names a file
//! of the [`open_files`] and what is wanted of it; its answer is one JSON document in columns, of bounded size. Long
//! work says how far it is, and ends when the page that asked for it leaves ([`reply`]).

mod admission;
mod assets;
mod browsing;
mod counted;
mod drawing;
mod handler;
mod layout_data;
mod level;
mod live;
mod members;
mod nodes;
mod open_files;
mod opened;
mod options;
mod page_query;
mod picture;
mod raw;
mod reply;
mod search;
mod server;
mod stamp;
mod table;

pub use browsing::Browsing;
pub use options::{BrowseOptions, Lister, Opener};
pub use reply::Work;
pub use server::Browser;
