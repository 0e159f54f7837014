//! Tests that the shell snippets of all pages work as written, each against a fresh server, or state why they are not
//! run.

use std::path::Path;

use tenure_e2e::snippets::{Fence, Stage, fences};

/// Commands that the README must show, and that must be run.
const SHOWN: [&str; 10] = [
    "tenure lock",
    "tenure elect",
    "tenure why",
    "tenure transfer",
    "tenure group join",
    "LockService/Acquire",
    "SessionService/Renew",
    "LockService/Release",
    "WatchService/Watch",
    "GroupService/JoinGroup",
];

/// The number of attempts per snippet: some promise a time that a busy machine may miss, such as recovery within 300
/// ms.
const TRIES: usize = 3;

fn all() -> Vec<Fence> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap();
    fences(&root).unwrap()
}

/// The commands of the snippets that are run.
fn commands(fences: &[Fence]) -> Vec<String> {
    fences.iter().filter(|fence| fence.left_out.is_none()).flat_map(Fence::commands).collect()
}

#[test]
fn what_people_need_is_shown_and_run() {
    let fences = all();
    let commands = commands(&fences);
    for shown in SHOWN {
        assert!(commands.iter().any(|command| command.contains(shown)), "no snippet that is run shows {shown}");
    }
}

#[test]
fn what_can_run_here_is_not_left_out() {
    // The stage meets the requirements of these; with other programs or addresses beside them they need more.
    let elsewhere =
        |command: &str| command.contains("://") || command.contains("--listen") || command.contains("TENURE_");
    let wrong: Vec<String> = all()
        .iter()
        .filter(|fence| fence.left_out.is_some())
        .filter(|fence| fence.commands().all(|command| command.starts_with("tenure ") && !elsewhere(&command)))
        .map(|fence| format!("{}:{}", fence.page.display(), fence.line))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Returns its output, or why it failed.
async fn run(fence: &Fence) -> Result<String, String> {
    let stage = Stage::set(fence).await.map_err(|error| format!("{error:#}"))?;
    let ran = stage.run(fence).await.map_err(|error| format!("{error:#}"))?;
    if ran.is_well { Ok(ran.said) } else { Err(ran.said) }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "`cargo xtask test` runs it, and brings grpcurl"]
async fn shell_snippets_run_as_written() {
    let mut failed = Vec::new();
    for fence in all() {
        let at = format!("{}:{}", fence.page.display(), fence.line);
        if let Some(reason) = &fence.left_out {
            println!("--- {at}: not run: {reason}");
            continue;
        }
        if fence.has_word("grpcurl") && std::env::var_os("TENURE_E2E_GRPCURL").is_some_and(|has| has == "no") {
            println!("--- {at}: skipped: there is no grpcurl");
            continue;
        }
        println!("--- {at}\n{}", fence.text);
        let mut tried = Vec::new();
        while tried.len() < TRIES {
            match run(&fence).await {
                Ok(said) => {
                    println!("{said}");
                    break;
                }
                Err(why) => {
                    println!("failed: {why}");
                    tried.push(why);
                }
            }
        }
        if tried.len() == TRIES {
            failed.push(format!("{at}\n{}\n{}", fence.text, tried.concat()));
        }
    }
    let hint = "if one cannot run in a test, write `<!-- not run: REASON -->` before it";
    assert!(failed.is_empty(), "these fail ({hint}):\n\n{}", failed.join("\n\n"));
}
