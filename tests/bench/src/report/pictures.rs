//! Which pictures are drawn of which works.

use super::chart::{Figure, Line, Picture, Stroke};

/// All of them.
pub fn all() -> Vec<Picture> {
    vec![
        Picture {
            work: "pairs",
            title: "Pairs of acquire and release a second, by clients at once",
            figure: Figure::Rate,
            lines: pairs(),
        },
        Picture {
            work: "pairs",
            title: "p99 of a pair of acquire and release in ms, by clients at once",
            figure: Figure::P99,
            lines: pairs(),
        },
    ]
}

fn pairs() -> Vec<Line> {
    let line = |target, label, color, stroke| Line { target, label, color, stroke };
    vec![
        line("tenure-stream-sqlite", "Tenure, library, SQLite", BLUE, Stroke::Bold),
        line("tenure-stream-postgres", "Tenure, library, PostgreSQL", INDIGO, Stroke::Bold),
        line("tenure-stream-mariadb", "Tenure, library, MariaDB", TEAL, Stroke::Bold),
        line("tenure-plain-postgres", "Tenure, plain calls, PostgreSQL", INDIGO, Stroke::Dashed),
        line("redis-always", "Redis, fsync always", RED, Stroke::Thin),
        line("zookeeper", "ZooKeeper", GREEN, Stroke::Thin),
        line("etcd-txn", "etcd", ORANGE, Stroke::Thin),
        line("table-postgres", "hand-made table, PostgreSQL", GREY, Stroke::Thin),
    ]
}

// These can be read on white and on black.
const BLUE: &str = "#2f81f7";
const INDIGO: &str = "#8250df";
const TEAL: &str = "#1b9aaa";
const RED: &str = "#d1242f";
const GREEN: &str = "#2da44e";
const ORANGE: &str = "#e16f24";
const GREY: &str = "#8c959f";
