//! The console's paths: who is let do what, what is answered, and what is not.

mod bounds;
mod credentials;
mod desk;
mod files;
mod open;
mod streams;
