//! The state of the client: pure, with the time passed in.
