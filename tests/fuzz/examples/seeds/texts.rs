//! Texts, as people and programs write them: of which target, under which name.

#[rustfmt::skip]
pub const TEXTS: &[(&str, &str, &str)] = &[
    ("rows", "written", "[[3,\"ann\",\"owner\",2000,null,7,0,null,\"{}\"],[4,\"bob\",\"\",2000,300,7,1,\"token:bob\",\"{\\\"key\\\":\\\"value\\\"}\"]]\n\
[[5,0,\"a\",\"held\",5,\"ann\",3,\"owner\",0,0,null,\"exclusive\",null,null,6,7,100,\"{}\"],[6,0,\"a\",\"waiting\",null,\"bob\",4,\"\",-1,20,null,\"permits\",2,3,null,null,null,\"{}\"],[6,1,\"b\",\"waiting\",null,\"bob\",4,\"\",-1,20,null,\"permits\",2,3,null,null,null,\"{}\"],[8,0,\"c\",\"lingering\",8,\"cid\",2,\"\",0,50,9,\"shared\",null,null,null,null,null,\"{}\"]]\n\
[[0,\"a\",5,1000,2000],[1,\"b\",null,null,null]]\n\
[[9,\"g\",10,10,11,\"config\",12,13,10,12],[20,\"h\",21,null,null,null,null,null,null,null]]\n\
[[9,10,\"ann\",3,\"owner\",\"{}\",\"left\"],[9,14,\"bob\",4,\"\",\"{}\",null]]"),
    ("pages", "name", "\x00team-a/job"),
    ("pages", "forged", "\x00bG9ja3MvZGVmYXVsdC8fYQ"),
    ("names", "below", "team-a/\n\
team-a/job\n\
team-a\n\
team-ab\n\
b/c"),
    ("names", "nested", "a/x\n\
a/x\n\
a\n\
a/b\n\
a/b/c\n\
a-x"),
    ("names", "sorted", "a\n\
b\n\
c"),
    ("requests", "acquire", "\x00\x12\x01a\x1a\x03ann\"\x02\x08\x05"),
    ("requests", "release", "\x01\x12\x01a\x1a\x03ann \x05"),
    ("requests", "list", "\x04\x1a\x01a"),
    ("peers", "acquire", ".\x08\x01\x10\x02\x1a\x0c\n\
\n\
\n\
\x03ann\x12\x00\x1a\x01a"),
    ("peers", "release", ".\x08\x01\x10\x02\x1a\x0c\x12\n\
\n\
\x03ann\x12\x01a\x18\x05"),
    ("peers", "verdict", "?\x12\x06\x08\x01\x18\x04\"\x01\x02"),
    ("policy", "teams", "[[roles.team]]\n\
verbs = [\"acquire\", \"read\"]\n\
names = [\"team-a\", \"b/c\"]\n\
namespaces = [\"default\"]\n\
[[roles.team]]\n\
verbs = [\"watch\"]\n\
[[roles.operator]]\n\
verbs = [\"operate\"]\n\
[[grants]]\n\
identity = \"token:ann\"\n\
roles = [\"team\", \"operator\"]\n\
[[grants]]\n\
identity = \"jwt:ops/*\"\n\
roles = [\"operator\"]\n\
[[grants]]\n\
identity = \"*\"\n\
roles = []\n"),
    ("tokens", "lines", "# who may\n\
\n\
ci/deploy sha256:3c469e9d6c5875d37a43f353d4f88e61fcf812c66eee3457465a40b0da4153e0\n\
ann@host sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a\n\
token"),
    ("jwt", "signed", "eyJhbGciOiJFZERTQSIsImtpZCI6Im91cnMifQ.eyJhdWQiOiJ0ZW51cmUiLCJleHAiOjQxMDI0NDQ4MDAsImlzcyI6Imlzc3VlciIsInN1YiI6ImFubiJ9.OPsbKyR3kuDlQn13R_zARwXyRJGpM8cHEKIY7XWOu1_QkIgUdQFT6OyLQf20OfRrqbJGcgvRKB-P5gc3bvHPCA"),
    ("jwt", "keys", "?{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"alg\":\"EdDSA\",\"use\":\"sig\",\"kid\":\"ours\",\"x\":\"iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w\"}]}"),
    ("jwt", "curve", "?{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"},{\"kty\":\"RSA\",\"n\":\"AQ\",\"e\":\"AQAB\"},{\"kty\":\"oct\",\"k\":\"AA\"}]}"),
    ("config", "all", "store_url = \"postgres://user:hushhush@host:5432,other/tenure?sslmode=require\"\n\
listen = \"0.0.0.0:7420\"\n\
tls_cert = \"cert.pem\"\n\
tls_key = \"key.pem\"\n\
tls_client_ca = \"ca.pem\"\n\
policy = \"policy.toml\"\n\
audit_log = \"-\"\n\
jwt_keys = \"https://example.com/keys\"\n\
jwt_issuer = \"issuer\"\n\
jwt_audience = \"tenure\"\n\
jwt_algorithms = \"RS256, EdDSA\"\n\
min_ttl = \"1s\"\n\
max_ttl = \"1h 30m\"\n\
server_lease = \"10s\"\n\
max_connections = 10\n\
log_format = \"json\"\n\
log_level = \"warn,tenure_server=debug\"\n\
label = \"one\"\n\
advertise = \"host:7420\"\n"),
    ("config", "around", "data_dir = \"data\"\n\
allow_insecure = true\n\
---\n\
HOME=/home/ann\n\
TENURE_MIN_TTL=1s\n\
RUST_LOG=debug\n\
TENURE_TOKEN=x"),
    ("audit", "nasty", "\x01\x05\x00\x10policy\x1ftoken:ann\x1f/tenure.v1.LockService/Evict\x1f\x1fann\x1feve\x1f\n\
{\"allowed\":true}\u{2028}\u{1f600}\x1fa\x1fb\x00"),
    ("client", "lock", "l\x0a\x01a\x12\x0a\x08\x05\x12\x01a\x18\x02 \x05 \x01"),
    ("client", "session", "s\x0a\x03ann\x10\x03\x1a\x02\x08\x05"),
    ("client", "event", "e\x08\x05\x12\x01a\x18\x02"),
    ("client", "refusal", "\x09\x08\x09\x12\x04told\x1aJ\x0a(type.googleapis.com/google.rpc.ErrorInfo\x12\x1e\x0a\x0dSESSION_ENDED\x12\x06tenure\x1a\x05\x0a\x01a\x12\x00"),
];
