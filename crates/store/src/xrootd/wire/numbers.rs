//! Numbers of XRootD's protocol, for its client here and for servers of it.
//!
//! # Example
//!
//! ```
//! use sapwood_store::xrootd_numbers::{HELLO, code, request};
//! assert_eq!((HELLO.len(), request::OPEN), (20, 3010));
//! assert_eq!(code::NOT_FOUND, 3011);
//! ```

/// The first bytes of a client: it speaks this protocol.
pub const HELLO: [u8; 20] = {
    let mut hello = [0; 20];
    (hello[15], hello[18], hello[19]) = (4, 0x07, 0xDC); // 4 and 2012
    hello
};

/// The spoken version of the protocol: 5.2.
pub const VERSION: u32 = 0x520;
/// Pages of a read by pages begin at multiples of this in the file.
pub const PAGE_BYTES: u64 = 4096;
/// Maximum number of ranges in a vector, if the server does not name another one.
pub const MAX_VECTOR: usize = 1024;
/// Maximum number of bytes in a range of a vector, if the server does not name another one.
pub const MAX_VECTOR_BYTES: u64 = 2_097_136;
/// Maximum number of further connections in a session.
pub const MAX_PATHS: usize = 15;

/// Requests.
pub mod request {
    /// A proof of who the client is.
    pub const AUTH: u16 = 3000;
    /// Facts about the server or a file.
    pub const QUERY: u16 = 3001;
    /// New permissions.
    pub const CHANGE_MODE: u16 = 3002;
    /// The client has finished with a file.
    pub const CLOSE: u16 = 3003;
    /// The names in a folder.
    pub const LIST: u16 = 3004;
    /// Versions and flags.
    pub const PROTOCOL: u16 = 3006;
    /// The beginning of a session.
    pub const LOGIN: u16 = 3007;
    /// A new folder.
    pub const MAKE_FOLDER: u16 = 3008;
    /// A new name for a file.
    pub const RENAME: u16 = 3009;
    /// A file by its path.
    pub const OPEN: u16 = 3010;
    /// A sign of life.
    pub const PING: u16 = 3011;
    /// A point to return to while a file is written.
    pub const CHECKPOINT: u16 = 3012;
    /// One range.
    pub const READ: u16 = 3013;
    /// The end of a file.
    pub const REMOVE: u16 = 3014;
    /// The end of a folder.
    pub const REMOVE_FOLDER: u16 = 3015;
    /// Written bytes are to be on storage.
    pub const SYNC: u16 = 3016;
    /// The state of a file or a folder.
    pub const STAT: u16 = 3017;
    /// A value for the server's monitoring.
    pub const SET: u16 = 3018;
    /// Bytes for a file.
    pub const WRITE: u16 = 3019;
    /// Attributes of a file.
    pub const ATTRIBUTES: u16 = 3020;
    /// Files that will be wanted.
    pub const PREPARE: u16 = 3021;
    /// The kinds of several paths.
    pub const STAT_KINDS: u16 = 3022;
    /// The end of a session.
    pub const END: u16 = 3023;
    /// A further connection for a session.
    pub const BIND: u16 = 3024;
    /// Several ranges.
    pub const READ_VECTOR: u16 = 3025;
    /// Bytes for a file, by pages with sums.
    pub const WRITE_PAGES: u16 = 3026;
    /// The location of a file.
    pub const LOCATE: u16 = 3027;
    /// A new length.
    pub const TRUNCATE: u16 = 3028;
    /// One range, by pages with sums.
    pub const READ_PAGES: u16 = 3030;
    /// Several ranges for a file.
    pub const WRITE_VECTOR: u16 = 3031;
    /// Ranges of other files for a file.
    pub const CLONE: u16 = 3032;
}

/// Flags of a client in its request for the protocol.
pub mod ability {
    /// It can speak TLS.
    pub const TLS: u8 = 2;
    /// It wants TLS from here on.
    pub const WANTS_TLS: u8 = 4;
    /// The bits that say what comes next.
    pub const NEXT: u8 = 0x0F;
    /// A further connection for a session comes next.
    pub const NEXT_BIND: u8 = 1;
    /// A login comes next.
    pub const NEXT_LOGIN: u8 = 3;
}

/// Flags of a server in its answer to that.
pub mod server {
    /// It has data.
    pub const DATA: u32 = 1;
    /// It reads another server.
    pub const PROXY: u32 = 0x200;
    /// It has reads by pages.
    pub const PAGES: u32 = 0x0020_0000;
    /// Data need TLS.
    pub const TLS_DATA: u32 = 0x0100_0000;
    /// The login needs TLS.
    pub const TLS_LOGIN: u32 = 0x0400_0000;
    /// All after the login needs TLS.
    pub const TLS_SESSION: u32 = 0x0800_0000;
    /// TLS begins after this answer.
    pub const GO_TLS: u32 = 0x4000_0000;
    /// It has TLS.
    pub const HAVE_TLS: u32 = 0x8000_0000;
}

/// Options for opening a file.
pub mod open {
    /// The file is to be replaced.
    pub const DELETE: u16 = 0x2;
    /// The file must not exist.
    pub const NEW: u16 = 0x8;
    /// To read.
    pub const READ: u16 = 0x10;
    /// To read and write.
    pub const UPDATE: u16 = 0x20;
    /// With all folders of its path.
    pub const MAKE_PATH: u16 = 0x100;
    /// To write at its end.
    pub const APPEND: u16 = 0x200;
    /// The answer is to have the file's state.
    pub const STAT: u16 = 0x400;
    /// The file disappears unless it is closed.
    pub const PERSIST_ON_CLOSE: u16 = 0x1000;
    /// To write only.
    pub const WRITE: u16 = 0x8000;
}

/// Kinds of queries.
pub mod query {
    /// The checksum of a file.
    pub const CHECKSUM: u16 = 3;
    /// Values of the configuration.
    pub const CONFIG: u16 = 7;
}

/// Option of a list: with the state of each name.
pub const LIST_STAT: u8 = 2;

/// Flags in the state of a file.
pub mod kind {
    /// It may be executed, or entered.
    pub const EXECUTABLE: u64 = 1;
    /// A folder.
    pub const FOLDER: u64 = 2;
    /// Neither a file nor a folder.
    pub const OTHER: u64 = 4;
    /// It can be read.
    pub const READABLE: u64 = 16;
}

/// States of answers.
pub mod status {
    /// The whole answer, or its last part.
    pub const OK: u16 = 0;
    /// A part; more follows.
    pub const SO_FAR: u16 = 4000;
    /// Unasked.
    pub const ATTENTION: u16 = 4001;
    /// Authentication has another round.
    pub const AUTH_MORE: u16 = 4002;
    /// An error.
    pub const ERROR: u16 = 4003;
    /// Another server.
    pub const REDIRECT: u16 = 4004;
    /// To be asked again later.
    pub const WAIT: u16 = 4005;
    /// The answer comes later, unasked.
    pub const WAIT_RESPONSE: u16 = 4006;
    /// Pages with sums, after the body.
    pub const PAGES: u16 = 4007;
}

/// Codes of errors.
pub mod code {
    /// An argument that makes no sense.
    pub const INVALID_ARGUMENT: u32 = 3000;
    /// A missing argument.
    pub const MISSING_ARGUMENT: u32 = 3001;
    /// An argument that is too long.
    pub const ARGUMENT_TOO_LONG: u32 = 3002;
    /// The handle is unknown.
    pub const FILE_NOT_OPEN: u32 = 3004;
    /// The file system failed.
    pub const FILE_SYSTEM: u32 = 3005;
    /// A request out of its order, or an unknown one.
    pub const INVALID_REQUEST: u32 = 3006;
    /// A read failed.
    pub const INPUT_OUTPUT: u32 = 3007;
    /// Too much at a time.
    pub const NO_MEMORY: u32 = 3008;
    /// Not for this client.
    pub const NOT_AUTHORIZED: u32 = 3010;
    /// Nothing has this name.
    pub const NOT_FOUND: u32 = 3011;
    /// The server failed.
    pub const SERVER: u32 = 3012;
    /// The server cannot do that.
    pub const UNSUPPORTED: u32 = 3013;
    /// No server has it.
    pub const NO_SERVER: u32 = 3014;
    /// Neither a file nor a folder.
    pub const NOT_A_FILE: u32 = 3015;
    /// A folder.
    pub const IS_FOLDER: u32 = 3016;
    /// The name is taken.
    pub const ALREADY_THERE: u32 = 3018;
    /// It is being done.
    pub const IN_PROGRESS: u32 = 3020;
    /// Too many clients.
    pub const OVERLOADED: u32 = 3024;
    /// Nothing is written here.
    pub const READ_ONLY: u32 = 3025;
    /// TLS is needed.
    pub const TLS_REQUIRED: u32 = 3028;
    /// No copy of it is left.
    pub const NO_REPLICAS: u32 = 3029;
    /// The proof is not accepted.
    pub const AUTH_FAILED: u32 = 3030;
    /// It took too long.
    pub const TIMED_OUT: u32 = 3034;
    /// Another server took too long.
    pub const TIMER_EXPIRED: u32 = 3035;
}
