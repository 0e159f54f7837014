//! The lines of a program's output that explain its failure, for the end of a long log.

use std::collections::VecDeque;

/// How many lines are kept.
const LINES: usize = 24;

/// How many lines after one that announces a failure belong to it.
const AFTER: usize = 3;

/// Starts of lines, without indentation, that announce a failure: of Rust, Go, pytest, Maven and Node, and of
/// this program.
const STARTS: [&str; 12] = [
    "thread '",
    "error:",
    "error[",
    "Error:",
    "panic:",
    "--- FAIL",
    "FAIL",
    "E   ",
    "[ERROR]",
    "not ok",
    "✖",
    "assertion",
];

/// The lines of a failure so far.
#[derive(Default)]
pub struct Excerpt {
    causes: VecDeque<String>,
    last: VecDeque<String>,
    follow: usize,
}

impl Excerpt {
    /// Takes the next line of the output.
    pub fn take(&mut self, line: &str) {
        let text = line.trim_start();
        let is_stage = text.starts_with("== ") && text.contains(" FAILED");
        if is_stage || STARTS.iter().any(|start| text.starts_with(start)) {
            self.follow = AFTER + 1;
        }
        if self.follow > 0 {
            self.follow -= 1;
            push(&mut self.causes, line);
        }
        push(&mut self.last, line);
    }

    /// The lines that explain the failure, or else the last lines.
    pub fn text(&self) -> String {
        let lines = if self.causes.is_empty() { &self.last } else { &self.causes };
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

fn push(lines: &mut VecDeque<String>, line: &str) {
    if lines.len() == LINES {
        lines.pop_front();
    }
    lines.push_back(line.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(lines: &[&str]) -> String {
        let mut excerpt = Excerpt::default();
        lines.iter().for_each(|line| excerpt.take(line));
        excerpt.text()
    }

    #[test]
    fn excerpt_has_the_lines_after_a_panic() {
        let lines = ["test a ... ok", "thread 'b' panicked at src/b.rs:3:", "left: 1", "right: 2", "note: x", "later"];
        assert_eq!(excerpt(&lines), lines[1..5].join("\n"));
    }

    #[test]
    fn excerpt_has_the_cause_of_each_stage() {
        let lines = ["FAILED deny", "passed a", "passed b", "passed c", "passed d", "== deny FAILED: x", "y"];
        assert_eq!(excerpt(&lines), [&lines[..4], &lines[5..]].concat().join("\n"));
    }

    #[test]
    fn excerpt_is_the_end_without_a_known_cause() {
        let lines: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(excerpt(&lines), lines[100 - LINES..].join("\n"));
    }
}
