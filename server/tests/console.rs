//! The console's paths: permitted callers, replies and rejections.

mod bounds;
mod credentials;
mod files;
mod open;
mod server;
mod streams;
