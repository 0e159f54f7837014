//! Hand-written header blocks (RFC 7541). Only encodings that need no dynamic table on this side: literals, and
//! references to the server's table.

/// A header that the server does not add to its table.
#[must_use]
pub fn literal(name: &str, value: &[u8]) -> Vec<u8> {
    literal_field(0x00, name, value)
}

/// A header that the server adds to its table, as index 62 until the next one is added.
#[must_use]
pub fn incremental(name: &str, value: &[u8]) -> Vec<u8> {
    literal_field(0x40, name, value)
}

/// A reference to a table entry; 1 to 61 are the static table.
#[must_use]
pub fn indexed(index: usize) -> Vec<u8> {
    integer(0x80, 7, index)
}

/// A dynamic table size update.
#[must_use]
pub fn table_size(size: usize) -> Vec<u8> {
    integer(0x20, 5, size)
}

/// The headers of a gRPC call to this path.
#[must_use]
pub fn call(path: &str) -> Vec<u8> {
    [
        literal(":method", b"POST"),
        literal(":scheme", b"http"),
        literal(":path", path.as_bytes()),
        literal(":authority", b"localhost"),
        literal("content-type", b"application/grpc"),
        literal("te", b"trailers"),
    ]
    .concat()
}

fn literal_field(first: u8, name: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    for text in [name.as_bytes(), value] {
        bytes.extend(integer(0, 7, text.len()));
        bytes.extend(text);
    }
    bytes
}

/// An integer with a prefix of `bits` bits (section 5.1).
fn integer(first: u8, bits: u32, value: usize) -> Vec<u8> {
    let most = (1_usize << bits) - 1;
    let low = |value: usize| u8::try_from(value & 0x7f).unwrap_or_default();
    if value < most {
        return vec![first | low(value)];
    }
    let mut bytes = vec![first | low(most)];
    let mut rest = value - most;
    while rest >= 0x80 {
        bytes.push(0x80 | low(rest));
        rest >>= 7;
    }
    bytes.push(low(rest));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_match_the_examples_of_the_rfc() {
        // RFC 7541, appendix C.1.
        assert_eq!(integer(0, 5, 10), [10]);
        assert_eq!(integer(0, 5, 1337), [31, 154, 10]);
        assert_eq!(indexed(62), [0x80 | 62]);
        assert_eq!(literal("te", b"x"), [0, 2, b't', b'e', 1, b'x']);
    }
}
