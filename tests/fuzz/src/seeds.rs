//! The first inputs of the targets that read more than text, built from what they mean. They are in the corpus, beside the texts,
//! which are edited by hand: `cargo run -p tenure-fuzz --example seeds` writes them.

mod calls;
mod commands;
mod messages;
mod tokens;

/// An input with its target and its name, which says what is in it.
pub type Seed = (&'static str, &'static str, Vec<u8>);

/// All of them.
///
/// # Panics
/// If one is not what its name says: the contract, or what a target draws from its bytes, has changed.
#[must_use]
pub fn all() -> Vec<Seed> {
    [commands::seeds(), messages::seeds(), calls::seeds(), tokens::seeds()].concat()
}
