//! Runs the target named by the environment under libFuzzer.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tenure_fuzz::{TARGETS, Target};

/// The environment variable with the target's name.
const NAME: &str = "TENURE_FUZZ_TARGET";

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var(NAME).unwrap_or_default();
    let known: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("{NAME} must be one of {}, not {name:?}", known.join(", ")))
});

fuzz_target!(init: { LazyLock::force(&TARGET); }, |data: &[u8]| TARGET.1(data));
