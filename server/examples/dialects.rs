//! Prints all that databases are asked, as JSON: for the parsers in tests/dialects.

fn main() -> Result<(), serde_json::Error> {
    serde_json::to_writer_pretty(std::io::stdout().lock(), &tenure_server::store::dialects::said())
}
