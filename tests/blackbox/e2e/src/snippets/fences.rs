//! Finds shell snippets in Markdown.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The comment before a snippet that cannot run in a test.
const NOT_RUN: (&str, &str) = ("<!-- not run: ", " -->");

/// The info strings of shell code blocks.
const SHELL: [&str; 4] = ["sh", "bash", "shell", "console"];

/// Folders that are generated, and translations, whose snippets are those of the originals.
const IGNORED: [&str; 5] = ["target", "node_modules", "build", "dist", "ko"];

/// A snippet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The page, relative to the root of the tree.
    pub page: PathBuf,
    /// The line on which it starts.
    pub line: usize,
    /// Its text, without the common indentation.
    pub text: String,
    /// The reason why it is not run, if the page gives one.
    pub not_run: Option<String>,
}

impl Fence {
    /// Its commands, one per line: continuation lines joined, without comments and empty lines.
    pub fn commands(&self) -> impl Iterator<Item = String> {
        let joined = self.text.replace("\\\n", " ");
        let lines: Vec<String> = joined.lines().map(|line| line.trim().to_owned()).collect();
        lines.into_iter().filter(|line| !line.is_empty() && !line.starts_with('#'))
    }

    /// Returns whether one of its commands contains this word.
    #[must_use]
    pub fn has_word(&self, word: &str) -> bool {
        self.commands().any(|command| {
            command.split(|char: char| char.is_whitespace() || "()|;&".contains(char)).any(|one| one == word)
        })
    }
}

/// The shell snippets of all pages below this folder.
///
/// # Errors
/// If a page cannot be read.
pub fn fences(root: &Path) -> anyhow::Result<Vec<Fence>> {
    let mut pages = Vec::new();
    find(root, &mut pages)?;
    pages.sort();
    let mut fences = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).with_context(|| format!("reading {}", page.display()))?;
        fences.extend(of_page(page.strip_prefix(root)?, &text));
    }
    Ok(fences)
}

fn find(folder: &Path, pages: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        if kind.is_dir() && !name.starts_with('.') && !IGNORED.contains(&name.as_str()) {
            find(&entry.path(), pages)?;
        } else if kind.is_file() && name.ends_with(".md") {
            pages.push(entry.path());
        }
    }
    Ok(())
}

fn of_page(page: &Path, text: &str) -> Vec<Fence> {
    let mut fences = Vec::new();
    let mut before = "";
    // The open fence with its indentation; `Some(None)` if it is of another language.
    let mut open: Option<Option<(Fence, usize)>> = None;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        match &mut open {
            None => {
                if let Some(language) = trimmed.strip_prefix("```") {
                    let indentation = line.len() - line.trim_start().len();
                    let fence =
                        Fence { page: page.to_owned(), line: number + 1, text: String::new(), not_run: reason(before) };
                    open = Some(SHELL.contains(&language.trim()).then_some((fence, indentation)));
                } else if !trimmed.is_empty() {
                    before = trimmed;
                }
            }
            Some(_) if trimmed == "```" => {
                fences.extend(open.take().flatten().map(|(fence, _)| fence));
                before = "";
            }
            Some(Some((fence, indentation))) => {
                let blanks = line.len() - line.trim_start().len();
                fence.text.push_str(&line[blanks.min(*indentation)..]);
                fence.text.push('\n');
            }
            Some(None) => {}
        }
    }
    fences
}

fn reason(line: &str) -> Option<String> {
    let reason = line.strip_prefix(NOT_RUN.0)?.strip_suffix(NOT_RUN.1)?.trim();
    (!reason.is_empty()).then(|| reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Title

```sh
tenure ls \\
    jobs/   # all
# nothing
```

<!-- not run: it takes a cluster -->

  ```bash
  kubectl get pods
    more
  ```

```toml
[not]
a = 'shell'
```

```sh
cargo xtask test
```
";

    #[test]
    fn shell_snippets_are_found_with_their_reasons() {
        let found = of_page(Path::new("a.md"), PAGE);
        assert_eq!(found.iter().map(|fence| fence.line).collect::<Vec<_>>(), [3, 11, 21]);
        assert_eq!(found[0].commands().collect::<Vec<_>>(), ["tenure ls      jobs/   # all"]);
        assert_eq!(found[1].text, "kubectl get pods\n  more\n");
        assert_eq!(found[1].not_run.as_deref(), Some("it takes a cluster"));
        assert_eq!((&found[0].not_run, &found[2].not_run), (&None, &None), "a reason applies to the next snippet only");
    }

    #[test]
    fn empty_reason_is_ignored() {
        assert_eq!(reason("<!-- not run:  -->"), None);
        assert_eq!(reason("<!-- snippet: a b -->"), None);
    }

    #[test]
    fn has_word_matches_whole_words() {
        let fence = &of_page(Path::new("a.md"), "```sh\na | grpcurl -d '{}' && ./b\n```\n")[0];
        assert!(fence.has_word("grpcurl") && fence.has_word("./b") && !fence.has_word("curl"));
    }
}
