//! What the tests of several crates share.
