//! The seed inputs of the targets that read more than text, built from their meaning. They are in the corpus, beside
//! the texts, which are edited by hand: `cargo run -p tenure-fuzz --example seeds` writes them.

mod calls;
mod commands;
mod messages;
mod tokens;

/// An input with its target and its name, which describes it.
pub type Seed = (&'static str, &'static str, Vec<u8>);

/// All seeds.
///
/// # Panics
/// If a seed does not match its name: the contract, or a target's drawing from its bytes, has changed.
#[must_use]
pub fn all() -> Vec<Seed> {
    [commands::seeds(), messages::seeds(), calls::seeds(), tokens::seeds()].concat()
}
