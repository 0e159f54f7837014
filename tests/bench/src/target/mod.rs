//! What is measured: how it is started, and how clients connect to it.

pub mod store;
pub mod tenure;
