//! Mutations of inputs.

use rand::rngs::SmallRng;
use rand::{Rng, RngExt};

/// The maximum length of a mutated input.
const LONGEST: usize = 4_096;

/// The maximum number of mutations at once.
const CHANGES: usize = 6;

/// Bytes with much influence on the meaning: ends, signs, and the syntax of JSON, TOML, URLs and protobuf.
const SYNTAX: &[u8] = b"\0\x01\x08\x0a\x12\x1a\x7f\x80\xff \"'\\/*#,.:;-=@[]{}%0129aZ\n\r\t\x1b\x1f";

/// One of these inputs with a few mutations.
pub fn mutated(inputs: &[Vec<u8>], rng: &mut SmallRng) -> Vec<u8> {
    let mut input = any(inputs, rng).to_vec();
    for _ in 0..rng.random_range(1..=CHANGES) {
        let at = rng.random_range(0..=input.len());
        match rng.random_range(0..8) {
            0 => change(&mut input, at, |byte| byte ^ 1 << rng.random_range(0..8)),
            1 => change(&mut input, at, |_| rng.random()),
            2 => change(&mut input, at, |_| SYNTAX[rng.random_range(0..SYNTAX.len())]),
            3 => input.insert(at, SYNTAX[rng.random_range(0..SYNTAX.len())]),
            4 => {
                let mut bytes = vec![0; rng.random_range(1..=8)];
                rng.fill_bytes(&mut bytes);
                input.splice(at..at, bytes);
            }
            5 => drop(input.drain(at..(at + rng.random_range(1..=16)).min(input.len()))),
            6 => {
                let copied = piece(&input, rng).to_vec();
                input.splice(at..at, copied);
            }
            _ => {
                let other = piece(any(inputs, rng), rng).to_vec();
                let end = (at + other.len()).min(input.len());
                input.splice(at..if rng.random() { end } else { at }, other);
            }
        }
    }
    input.truncate(LONGEST);
    input
}

fn any<'i>(inputs: &'i [Vec<u8>], rng: &mut SmallRng) -> &'i [u8] {
    match inputs {
        [] => &[],
        inputs => &inputs[rng.random_range(0..inputs.len())],
    }
}

fn change(input: &mut [u8], at: usize, new: impl FnOnce(u8) -> u8) {
    if let Some(byte) = input.get_mut(at) {
        *byte = new(*byte);
    }
}

fn piece<'i>(input: &'i [u8], rng: &mut SmallRng) -> &'i [u8] {
    let begin = rng.random_range(0..=input.len());
    &input[begin..(begin + rng.random_range(1..=32)).min(input.len())]
}
