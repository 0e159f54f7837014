//! The console's paths: permitted callers, replies and rejections.

mod bounds;
mod credentials;
mod desk;
mod files;
mod open;
mod streams;
