//! The short form: each target with its whole corpus, and then with mutated inputs for about a second.
//!
//! `TENURE_FUZZ_SEED=N` sets the seed instead of a fresh one, and `TENURE_FUZZ_MILLIS=N` the duration. A failing input
//! is written to a file; `TENURE_FUZZ_INPUT=FILE` runs that alone.

#[path = "short/mutation.rs"]
mod mutation;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mutation::mutated;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use tenure_fuzz::{TARGETS, Target};

/// The duration of mutation, in ms.
const MILLIS: u64 = 1_000;

/// The limit of a single input, also on a busy machine.
const LONGEST: Duration = Duration::from_secs(20);

macro_rules! targets {
    ($($name:ident)*) => {
        /// The targets that have a test.
        const TESTED: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { run(stringify!($name)); })*
    };
}

targets! { core events rows pages names requests peers policy tokens jwt certificates config audit client service }

#[test]
fn every_target_is_tested_and_has_a_corpus() {
    let mut named: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(named, TESTED);
    assert!(named.iter().all(|name| !corpus(name).is_empty()), "a corpus is empty");
    let folders = fs::read_dir(folder()).expect("a corpus folder").map(|entry| entry.expect("readable").file_name());
    let mut corpora: Vec<String> = folders.map(|name| name.to_string_lossy().into_owned()).collect();
    named.sort_unstable();
    corpora.sort_unstable();
    assert_eq!(corpora, named, "a corpus without a target, or a target without a corpus");
}

#[test]
fn generated_seeds_match_the_corpus() {
    for (target, name, input) in tenure_fuzz::seeds::all() {
        let kept = fs::read(folder().join(target).join(name)).ok();
        assert_eq!(kept, Some(input), "{target}/{name}: cargo run -p tenure-fuzz --example seeds");
    }
}

fn run(name: &str) {
    let target = TARGETS.iter().find(|(known, _)| *known == name).expect("a target");
    if let Some(file) = std::env::var_os("TENURE_FUZZ_INPUT") {
        return target.1(&fs::read(file).expect("readable"));
    }
    let inputs = corpus(name);
    let seed = variable("TENURE_FUZZ_SEED").unwrap_or_else(rand::random);
    inputs.iter().for_each(|input| attempt(target, input, "kept"));
    let mut rng = SmallRng::seed_from_u64(seed);
    let until = Instant::now() + Duration::from_millis(variable("TENURE_FUZZ_MILLIS").unwrap_or(MILLIS));
    let mut runs = 0;
    while Instant::now() < until {
        runs += 1;
        attempt(target, &mutated(&inputs, &mut rng), &format!("number {runs} of seed {seed}"));
    }
    println!("{name}: {} kept inputs, {runs} changed ones of seed {seed}", inputs.len());
}

/// Runs a target once. If it panics, prints which input it was.
fn attempt((name, target): &Target, input: &[u8], which: &str) {
    let began = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| target(input)));
    let took = began.elapsed();
    if outcome.is_err() || took > LONGEST {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}"));
        fs::write(&file, input).expect("writable");
        let file = file.display();
        println!(
            "{name}: the input {which} fails after {took:?}. Repeat with \
             TENURE_FUZZ_INPUT={file} cargo test -p tenure-fuzz {name}"
        );
    }
    if let Err(panic) = outcome {
        resume_unwind(panic);
    }
    assert!(took <= LONGEST, "an input of {} bytes took {took:?}", input.len());
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The corpus of a target, sorted by file name.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let files = fs::read_dir(folder().join(name)).into_iter().flatten().map(|entry| entry.expect("readable").path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort_unstable();
    files.into_iter().map(|file| fs::read(file).expect("readable")).collect()
}
