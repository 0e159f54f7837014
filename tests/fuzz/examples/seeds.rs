//! Writes the first inputs of each target's corpus, from real encodings: `cargo run -p tenure-fuzz --example seeds`. What a fuzzer
//! finds is kept beside them.

#[path = "seeds/texts.rs"]
mod texts;

use std::fs;
use std::path::Path;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tenure_core::{Event, Recorded, Revision, ServerId};
use tenure_server::store::encode_events;

/// Targets that draw from their whole input, and those that do so after a sign.
const DRAWN: [&str; 3] = ["core", "service", "audit"];
const SIGNED: [&str; 5] = ["events", "rows", "peers", "jwt", "certificates"];

fn main() -> std::io::Result<()> {
    // Choices that are drawn: any will do.
    for seed in 0..4 {
        for target in DRAWN {
            write(target, &format!("drawn-{seed}"), &random(seed, 300))?;
        }
        for target in SIGNED {
            write(target, &format!("drawn-{seed}"), &[b"!", &random(seed, 200)[..]].concat())?;
        }
    }
    for (target, name, text) in texts::TEXTS {
        write(target, name, text.as_bytes())?;
    }
    for (name, event) in events() {
        write("events", name, encode_events(&[Recorded { revision: Revision(3), event }]).as_bytes())?;
    }
    Ok(())
}

fn events() -> Vec<(&'static str, Event)> {
    vec![
        ("adopted", Event::ServerAdopted { dead: ServerId(7), by: ServerId(8) }),
        ("lost", Event::HistoryLost { after: Revision(2) }),
    ]
}

fn random(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    SmallRng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

fn write(target: &str, name: &str, input: &[u8]) -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), input)
}
