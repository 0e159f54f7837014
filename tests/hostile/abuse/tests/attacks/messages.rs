//! Invalid gRPC and protobuf over valid HTTP/2: each call is rejected with its own status, and leaks nothing else.

use http::{Method, Request};
use tenure_abuse::{Attack, GrpcCaller, GrpcResponse, Target, assert_no_leaks, many, message};

/// gRPC codes.
mod status {
    pub const UNKNOWN: i32 = 2;
    pub const INVALID_ARGUMENT: i32 = 3;
    pub const UNIMPLEMENTED: i32 = 12;
    pub const INTERNAL: i32 = 13;
}

const ACQUIRE: &str = "/tenure.v1.LockService/Acquire";
const CONNECT: &str = "/tenure.v1.ClientService/Connect";
const WATCH: &str = "/tenure.v1.WatchService/Watch";

/// The length prefix of a message.
fn prefix(compressed: u8, length: u32) -> Vec<u8> {
    [&[compressed][..], &length.to_be_bytes()].concat()
}

/// A length-delimited field.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = value.len();
    while length >= 0x80 {
        bytes.push(0x80 | u8::try_from(length & 0x7f).unwrap());
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    [bytes, value.to_vec()].concat()
}

/// Nested groups, which proto3 parsers only skip.
fn nested(depth: usize) -> Vec<u8> {
    [[0x0b | 0x70].repeat(depth), [0x0c | 0x70].repeat(depth)].concat()
}

/// Bodies that no call accepts.
fn bodies() -> Vec<(&'static str, Vec<u8>, Vec<i32>)> {
    use status::{INTERNAL, INVALID_ARGUMENT, UNKNOWN};
    let unreadable = vec![INTERNAL, INVALID_ARGUMENT];
    let incomplete = vec![INTERNAL, UNKNOWN, INVALID_ARGUMENT];
    vec![
        ("half of a prefix", vec![0, 0], incomplete.clone()),
        ("a truncated message", [prefix(0, 100), vec![0; 10]].concat(), incomplete),
        ("a message of 4 GiB", [prefix(0, u32::MAX), vec![0; 10]].concat(), vec![INVALID_ARGUMENT]),
        ("a message of 4 MiB and a byte", prefix(0, (4 << 20) + 1), vec![INVALID_ARGUMENT]),
        ("a compressed flag without compression", [prefix(1, 1), vec![0]].concat(), vec![INTERNAL]),
        ("an invalid flag", [prefix(7, 1), vec![0]].concat(), vec![INTERNAL]),
        ("field 0", message(&[0x02, 0]), unreadable.clone()),
        ("a varint of 11 bytes", message(&[[0x20].to_vec(), vec![0xff; 11]].concat()), unreadable.clone()),
        ("a length beyond the message", message(&[0x12, 0xff, 0xff, 0xff, 0xff, 0x0f]), unreadable.clone()),
        ("an invalid wire type", message(&[0x17]), unreadable.clone()),
        ("a wire type of another field", message(&[0x08, 1]), unreadable.clone()),
        ("invalid UTF-8", message(&field(1, &[0xff, 0xfe])), unreadable.clone()),
        ("half of a surrogate pair", message(&field(1, &[0xed, 0xa0, 0x80])), unreadable.clone()),
        ("groups 100,000 deep", message(&nested(100_000)), unreadable.clone()),
        ("an endless group", message(&[0x7b]), unreadable),
    ]
}

fn assert_rejected(name: &str, path: &str, answer: &GrpcResponse, codes: &[i32]) {
    assert_eq!(answer.http, 200, "{name} for {path}: {answer:?}");
    assert!(answer.grpc.is_some_and(|code| codes.contains(&code)), "{name} for {path}: {answer:?}, none of {codes:?}");
    assert_no_leaks(&answer.text);
    answer.headers.iter().for_each(|(_, value)| assert_no_leaks(value));
}

#[tokio::test]
async fn invalid_messages_are_rejected() {
    let target = Target::shared().await;
    let attack = async || {
        let caller = GrpcCaller::connect(target.address()).await.unwrap();
        for path in [ACQUIRE, CONNECT, WATCH] {
            for (name, body, codes) in bodies() {
                let answer =
                    caller.call(path, &[], &body).await.unwrap_or_else(|error| panic!("{name} for {path}: {error:#}"));
                assert_rejected(name, path, &answer, &codes);
            }
        }
    };
    target.run_repeatedly(Attack::named("invalid messages"), attack).await;
}

#[tokio::test]
async fn unknown_paths_content_types_and_methods_are_rejected() {
    let target = Target::shared().await;
    let attack = async {
        let caller = GrpcCaller::connect(target.address()).await.unwrap();
        let long = format!("/{}", "x".repeat(8_000));
        let paths = [
            "/",
            "//",
            "/tenure.v1.LockService",
            "/tenure.v1.LockService/",
            "/tenure.v1.LockService/acquire",
            "/tenure.v1.LockService/Acquire/",
            "/tenure.v1.LockService/Acquire/..",
            "/tenure.v1.LockService/../x",
            "/tenure.v1.ClientService/Other",
            "/tenure.v1.WatchService/Other",
            "/tenure.v2.LockService/Acquire",
            "/tenure.v1.LockService/%41cquire",
            "/metrics",
            "/%00",
            &long,
        ];
        for path in paths {
            let answer = caller.call(path, &[], &message(&[])).await.unwrap();
            assert_rejected("an unknown path", path, &answer, &[status::UNIMPLEMENTED]);
        }
        for kind in ["application/json", "text/plain", "", "application/grpc-web", "application/grpcx"] {
            for path in [ACQUIRE, CONNECT, WATCH] {
                let answer = caller.call(path, &[("content-type", kind)], &message(&[])).await.unwrap();
                assert_eq!((answer.http, answer.grpc, &answer.text[..]), (415, None, ""), "{kind} for {path}");
            }
        }
        for method in [Method::GET, Method::PUT, Method::DELETE, Method::OPTIONS, Method::HEAD] {
            for path in [ACQUIRE, CONNECT, WATCH] {
                let request = Request::builder().method(method.clone()).uri(format!("http://localhost{path}"));
                let request = request.header("content-type", "application/grpc").body(()).unwrap();
                let answer = caller.send_request(request, &message(&[])).await.unwrap();
                assert_eq!((answer.http, answer.grpc, &answer.text[..]), (405, None, ""), "{method} for {path}");
            }
        }
    };
    target.run(Attack::named("unknown calls"), attack).await;
}

/// 10 KiB of DEFLATE that decode to 10 MiB of zeros: a hand-made gzip member with one block of fixed codes.
fn bomb() -> Vec<u8> {
    let mut bits = Bits::default();
    // The last block, of fixed codes; a literal 0 (00110000); then repeated copies of 258 bytes (11000101) from
    // distance one (00000).
    bits.put(0b1, 1);
    bits.put(0b01, 2);
    bits.put(0b0000_1100, 8);
    for _ in 0..40_000 {
        bits.put(0b1010_0011, 8);
        bits.put(0, 5);
    }
    bits.put(0, 7);
    [vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], bits.bytes, vec![0; 8]].concat()
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: usize,
}

impl Bits {
    /// Adds `many` bits, the lowest first.
    fn put(&mut self, bits: u32, many: usize) {
        for at in 0..many {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= u8::from(bits >> at & 1 == 1) << (self.used % 8);
            }
            self.used += 1;
        }
    }
}

#[tokio::test]
async fn compressed_messages_are_rejected() {
    let target = Target::shared().await;
    let bomb = bomb();
    let compressed = [prefix(1, u32::try_from(bomb.len()).unwrap()), bomb].concat();
    let attack = async || {
        let caller = GrpcCaller::connect(target.address()).await.unwrap();
        for path in [ACQUIRE, CONNECT, WATCH] {
            for encoding in ["gzip", "deflate", "zstd", "snappy", "x"] {
                for _ in 0..many(1, 20) {
                    let answer = caller.call(path, &[("grpc-encoding", encoding)], &compressed).await.unwrap();
                    assert_rejected(encoding, path, &answer, &[status::UNIMPLEMENTED]);
                }
            }
            let answer = caller.call(path, &[("grpc-encoding", "identity")], &compressed).await.unwrap();
            assert_rejected("identity", path, &answer, &[status::INTERNAL]);
        }
    };
    target.run_repeatedly(Attack::named("compression bombs"), attack).await;
}

/// Several messages where one is expected, and messages of the maximum size.
#[tokio::test]
async fn oversized_requests_are_rejected() {
    let target = Target::shared().await;
    let names: Vec<u8> = field(2, b"n").repeat(50_000);
    let labels: Vec<u8> = (0..10_000_u32)
        .flat_map(|at| field(8, &[field(1, &at.to_be_bytes().map(|byte| byte & 0x7f)), field(2, b"v")].concat()))
        .collect();
    let attack = async {
        let caller = GrpcCaller::connect(target.address()).await.unwrap();
        for (name, body) in
            [("50,000 names", names), ("10,000 labels", labels), ("a name of 3 MiB", field(2, &vec![b'n'; 3 << 20]))]
        {
            let answer = caller.call(ACQUIRE, &[], &message(&body)).await.unwrap();
            assert_rejected(name, ACQUIRE, &answer, &[status::INVALID_ARGUMENT]);
        }
        let answer = caller.call(ACQUIRE, &[], &message(&[]).repeat(10_000)).await.unwrap();
        assert!(answer.grpc.is_some_and(|code| code != 0), "{answer:?}");
    };
    target.run(Attack::named("large messages").memory(128), attack).await;
}

/// CVE-2023-32732: malformed binary headers must not affect the connection.
#[tokio::test]
async fn invalid_grpc_headers_affect_only_their_call() {
    let target = Target::shared().await;
    let attack = async {
        let caller = GrpcCaller::connect(target.address()).await.unwrap();
        let long = "9".repeat(9_000);
        for (name, value) in [
            ("x-bin", "!!! no base64 !!!"),
            ("grpc-trace-bin", "===="),
            ("grpc-status-details-bin", "~"),
            ("grpc-timeout", "yesterday"),
            ("grpc-timeout", &long),
            ("grpc-timeout", "-1S"),
            ("grpc-accept-encoding", ",,,;q=x"),
            ("grpc-encoding", ""),
            ("user-agent", "tenure"),
            ("host", "/etc/passwd"),
        ] {
            let answer = caller.call("/tenure.v1.LockService/ListLocks", &[(name, value)], &message(&[])).await;
            let answer = answer.unwrap_or_else(|error| panic!("{name}: {error:#}"));
            assert_eq!(answer.http, 200, "{name}: {answer:?}");
            assert_no_leaks(&answer.text);
            if name == "grpc-timeout" {
                assert_eq!(answer.grpc, Some(status::INVALID_ARGUMENT), "{value}: {answer:?}");
                assert!(answer.text.contains(name), "{answer:?}");
            }
        }
    };
    target.run(Attack::named("invalid gRPC headers"), attack).await;
}
