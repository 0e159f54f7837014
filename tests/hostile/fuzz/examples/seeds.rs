//! Writes the generated seed inputs into the corpus; the others are edited by hand.

use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (target, name, input) in tenure_fuzz::seeds::all() {
        fs::create_dir_all(corpus.join(target))?;
        fs::write(corpus.join(target).join(name), input)?;
    }
    Ok(())
}
