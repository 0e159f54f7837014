//! The tests of the models in one binary.

mod declared;
mod flaws;
mod plain_calls;
mod protocol;
