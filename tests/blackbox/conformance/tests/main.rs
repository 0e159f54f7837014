//! The stores' tests in one binary: each further one would link the whole server again, and start the databases again.

mod frozen;
mod hidden_identity;
mod hosts;
mod interrupted;
mod limits;
mod memory;
mod mysql;
mod opening;
mod postgres;
mod proxy;
mod recovery;
mod sqlite;
