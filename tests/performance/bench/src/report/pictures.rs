//! The charts of the works.

use super::chart::{Figure, Line, Picture, Stroke};

/// All charts.
pub fn all() -> Vec<Picture> {
    let picture = |work, title, figure, lines| Picture { work, title, figure, lines };
    vec![
        picture("pairs", "Pairs of acquire and release a second, by clients at once", Figure::Rate, pairs()),
        picture("pairs", "p99 of a pair of acquire and release in ms, by clients at once", Figure::P99, pairs()),
        picture("handover", "p50 of a handover in ms, by waiters", Figure::P50, handover()),
        picture("handover", "p99 of a handover in ms, by waiters", Figure::P99, handover()),
        picture("watchers", "p99 until the last watcher has a change in ms, by watchers", Figure::P99, watchers()),
        picture("held", "Seconds to load a restarted server, by locks held", Figure::Extra("load_in_seconds"), held()),
        picture("held", "Pairs of acquire and release a second, by locks held", Figure::Rate, held()),
        picture("idle", "Server memory in MB, by quiet sessions", Figure::Extra("server_memory_in_MB"), idle()),
    ]
}

fn line(target: &'static str, label: &'static str, color: &'static str, stroke: Stroke) -> Line {
    Line { target, label, color, stroke }
}

fn pairs() -> Vec<Line> {
    vec![
        line("tenure-stream-sqlite", "Tenure, library, SQLite", BLUE, Stroke::Bold),
        line("tenure-stream-postgres", "Tenure, library, PostgreSQL", INDIGO, Stroke::Bold),
        line("tenure-stream-mariadb", "Tenure, library, MariaDB", TEAL, Stroke::Bold),
        line("tenure-plain-postgres", "Tenure, plain calls, PostgreSQL", INDIGO, Stroke::Dashed),
        line("redis-always", "Redis, fsync always", RED, Stroke::Thin),
        line("valkey-always", "Valkey, fsync always", RED, Stroke::Dashed),
        line("zookeeper", "ZooKeeper", GREEN, Stroke::Thin),
        line("etcd-txn", "etcd", ORANGE, Stroke::Thin),
        line("table-postgres", "hand-made table, PostgreSQL", GREY, Stroke::Thin),
    ]
}

fn handover() -> Vec<Line> {
    vec![
        line("tenure-stream-postgres", "Tenure, library, PostgreSQL", INDIGO, Stroke::Bold),
        line("redis-redisson", "Redis, as Redisson locks", RED, Stroke::Thin),
        line("zookeeper-recipe", "ZooKeeper, Curator's recipe", GREEN, Stroke::Thin),
        line("etcd-lock", "etcd, Lock service", ORANGE, Stroke::Thin),
    ]
}

fn watchers() -> Vec<Line> {
    vec![
        line("tenure-watch-postgres", "Tenure, PostgreSQL", INDIGO, Stroke::Bold),
        line("etcd-watch", "etcd", ORANGE, Stroke::Thin),
    ]
}

fn held() -> Vec<Line> {
    vec![
        line("tenure-stream-sqlite", "Tenure, SQLite", BLUE, Stroke::Bold),
        line("tenure-stream-postgres", "Tenure, PostgreSQL", INDIGO, Stroke::Bold),
    ]
}

fn idle() -> Vec<Line> {
    vec![
        line("tenure-sessions-postgres", "Tenure, sessions", INDIGO, Stroke::Bold),
        line("etcd-leases", "etcd, leases", ORANGE, Stroke::Thin),
    ]
}

// Colors that are legible on white and on black.
const BLUE: &str = "#2f81f7";
const INDIGO: &str = "#8250df";
const TEAL: &str = "#1b9aaa";
const RED: &str = "#d1242f";
const GREEN: &str = "#2da44e";
const ORANGE: &str = "#e16f24";
const GREY: &str = "#8c959f";
