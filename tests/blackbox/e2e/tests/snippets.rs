//! Tests that the shell snippets of all pages work as written, each against a fresh server, or state why they are not
//! run.

use std::path::Path;

use tenure_e2e::snippets::{Fence, Sandbox, fences};

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
    fences.iter().filter(|fence| fence.not_run.is_none()).flat_map(Fence::commands).collect()
}

#[test]
fn required_commands_are_shown_and_run() {
    let fences = all();
    let commands = commands(&fences);
    for shown in SHOWN {
        assert!(commands.iter().any(|command| command.contains(shown)), "no snippet that is run shows {shown}");
    }
}

#[test]
fn runnable_snippets_are_run() {
    // The sandbox meets the requirements of `tenure` commands, unless they use other programs or addresses.
    let needs_more =
        |command: &str| command.contains("://") || command.contains("--listen") || command.contains("TENURE_");
    let wrong: Vec<String> = all()
        .iter()
        .filter(|fence| fence.not_run.is_some())
        .filter(|fence| fence.commands().all(|command| command.starts_with("tenure ") && !needs_more(&command)))
        .map(|fence| format!("{}:{}", fence.page.display(), fence.line))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Returns its output, or why it failed.
async fn run(fence: &Fence) -> Result<String, String> {
    let sandbox = Sandbox::prepare(fence).await.map_err(|error| format!("{error:#}"))?;
    let output = sandbox.run(fence).await.map_err(|error| format!("{error:#}"))?;
    if output.succeeded { Ok(output.text) } else { Err(output.text) }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "`cargo xtask test` runs it, and provides grpcurl"]
async fn shell_snippets_run_as_written() {
    let mut failed = Vec::new();
    for fence in all() {
        let at = format!("{}:{}", fence.page.display(), fence.line);
        if let Some(reason) = &fence.not_run {
            println!("--- {at}: not run: {reason}");
            continue;
        }
        if fence.has_word("grpcurl") && std::env::var_os("TENURE_E2E_GRPCURL").is_some_and(|has| has == "no") {
            println!("--- {at}: skipped: grpcurl is not available");
            continue;
        }
        println!("--- {at}\n{}", fence.text);
        let mut tried = Vec::new();
        while tried.len() < TRIES {
            match run(&fence).await {
                Ok(text) => {
                    println!("{text}");
                    break;
                }
                Err(failure) => {
                    println!("failed: {failure}");
                    tried.push(failure);
                }
            }
        }
        if tried.len() == TRIES {
            failed.push(format!("{at}\n{}\n{}", fence.text, tried.concat()));
        }
    }
    let hint = "if one cannot run in a test, write `<!-- not run: REASON -->` before it";
    assert!(failed.is_empty(), "snippets fail ({hint}):\n\n{}", failed.join("\n\n"));
}
