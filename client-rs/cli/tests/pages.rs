//! The man page and the completions, as installed.

use std::io::Write;
use std::process::{Command, Stdio};

fn tenure(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tenure")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns whether a program accepts `input` on standard input, and its output; `None` if it is not installed.
fn feed(program: &str, arguments: &[&str], input: &str) -> Option<(bool, String)> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((output.status.success(), stderr))
}

#[test]
fn every_command_has_a_page_that_roff_formats_without_warnings() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("man1");
    let printed = tenure(&["man", "--dir", folder.to_str().unwrap()]);
    let pages: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(printed, format!("{} pages in {}\n", pages.len(), folder.display()));
    for command in tenure_cli::command().get_subcommands() {
        assert!(folder.join(format!("tenure-{}.1", command.get_name())).is_file(), "{}", command.get_name());
    }
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.contains("\n.SH NAME\n") && text.contains("\n.SH SYNOPSIS\n"), "{}", page.display());
        if let Some((is_accepted, stderr)) = feed("groff", &["-man", "-ww", "-K", "utf8", "-Tutf8", "-z"], &text) {
            assert!(is_accepted && stderr.is_empty(), "{}: {stderr}", page.display());
        }
    }
}

#[test]
fn page_of_one_command_is_printed() {
    assert_eq!(
        tenure(&["man"]).lines().find(|line| line.starts_with(".TH")).unwrap().split(' ').nth(1),
        Some("tenure")
    );
    assert!(tenure(&["man", "group", "set"]).contains(".TH tenure-group-set 1"));
    let output = Command::new(env!("CARGO_BIN_EXE_tenure")).args(["man", "no-such"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn completions_are_scripts_of_their_shells() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = tenure(&["completions", shell]);
        for word in ["elect", "disconnect-grace", "fence-sql"] {
            assert!(script.contains(word), "{shell}: {word} is missing");
        }
        if ["bash", "zsh", "fish"].contains(&shell)
            && let Some((is_accepted, stderr)) = feed(shell, &["-n"], &script)
        {
            assert!(is_accepted, "{shell}: {stderr}");
        }
    }
}

#[test]
fn bash_completes_commands_and_options() {
    let script = tenure(&["completions", "bash"]);
    let complete = |words: &str, at: usize| {
        let run = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD={at}; _tenure tenure '' ''; echo \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash").args(["-c", &run]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(complete("tenure ele", 1).contains("elect"));
    assert!(complete("tenure elect --disc", 2).contains("--disconnect-grace"));
    assert!(complete("tenure group jo", 2).contains("join"));
}

#[test]
fn offline_commands_need_no_server() {
    for arguments in
        [&["cheat"][..], &["exit-codes"], &["json"], &["man"], &["fence-sql", "sqlite"], &["completions", "fish"]]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        // Files that matter only for a connection are not read either.
        command.env("TENURE_ENDPOINTS", "https://nowhere.invalid:1").env("TENURE_CLIENT_CERT", "/no/such/file");
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success() && !output.stdout.is_empty(), "{arguments:?}");
    }
}
