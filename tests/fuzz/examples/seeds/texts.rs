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
];
