//! `group join`: a member that prints its assignment, and that runs CMD to compute the assignments while it leads.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tenure_client::{Assignments, Client, Error, LostReason, Membership, SessionOptions, Standing};
use tenure_proto::v1::{ErrorReason, Group, GroupMember};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use super::hold::{PAUSES, close, connect, failure, host_name, may_retry};
use crate::Context;
use crate::args::{Format, GroupJoinArgs};
use crate::child::Signals;
use crate::exit::{self, Failure};
use crate::output::{escape, exact, say};

pub async fn join(context: &Context, args: GroupJoinArgs) -> Result<u8, Failure> {
    let mut signals = Signals::catch()?;
    let client = connect(context).await?;
    let ended = tokio::select! {
        failure = stay(context, &args, &client) => Err(failure),
        signal = signals.next_termination() => Ok(exit::of_signal(signal.as_raw())),
    };
    close(&client).await;
    ended
}

/// Joins, and joins again after each loss. Returns the failure that makes this impossible.
async fn stay(context: &Context, args: &GroupJoinArgs, client: &Client) -> Failure {
    let owner = args.owner.clone().unwrap_or_else(host_name);
    let request = client
        .group(&args.name)
        .session(SessionOptions::new().ttl(args.ttl).owner(owner))
        .with_metadata(args.metadata.iter().cloned().collect());
    let note = |text: String| {
        if !args.quiet {
            say(&text);
        }
    };
    let name = escape(&args.name);
    let mut pause = PAUSES.0;
    loop {
        let membership = match request.join().await {
            Ok(membership) => membership,
            Err(error) if may_retry(&error) => {
                let shown = exact(pause);
                note(format!("{}\n  retrying in {shown}", failure(context, &error).await));
                sleep(pause).await;
                pause = (pause * 2).min(PAUSES.1);
                continue;
            }
            Err(error) => return failure(context, &error).await,
        };
        pause = PAUSES.0;
        note(format!("tenure: member {} of {name}", membership.number()));
        match follow(context, args, &membership).await {
            Ok(reason) => note(format!("tenure: membership of {name} lost ({reason}); joining again")),
            Err(failure) => return failure,
        }
    }
}

/// Prints and assigns until the membership is lost.
async fn follow(context: &Context, args: &GroupJoinArgs, membership: &Membership) -> Result<LostReason, Failure> {
    let mut standings = membership.standings();
    let mut shown = Shown::default();
    loop {
        let standing = standings.borrow_and_update().clone();
        shown.show(context, &standing)?;
        if let Some(reason) = standing.lost {
            return Ok(reason);
        }
        let mut again = None;
        if standing.leads() && !standing.group.assignments_current {
            match &args.assign {
                Some(command) => {
                    let assigning = assign(context, membership, command, &standing.group);
                    again = tokio::select! {
                        biased;
                        // The assignments that are being computed are out of date.
                        changed = standings.changed() => match changed {
                            Ok(()) => continue,
                            Err(_) => return Ok(LostReason::Closed),
                        },
                        again = assigning => again,
                    };
                }
                None if !args.quiet && !shown.warned => {
                    shown.warned = true;
                    say("tenure: this member leads, but cannot compute assignments: see --assign");
                }
                None => {}
            }
        }
        tokio::select! {
            changed = standings.changed() => {
                if changed.is_err() {
                    return Ok(LostReason::Closed);
                }
            }
            () = sleep(again.unwrap_or(Duration::MAX)), if again.is_some() => {}
        }
    }
}

/// Runs CMD to compute the assignments, and assigns them. Returns the time after which to retry, if a retry may
/// succeed.
async fn assign(context: &Context, membership: &Membership, command: &str, group: &Group) -> Option<Duration> {
    let limit = context.global.timeout;
    let divided = timeout(limit, divide(command, group)).await;
    let assignments = match divided.unwrap_or_else(|_| Err(format!("the command did not end within {}", exact(limit))))
    {
        Ok(assignments) => assignments,
        Err(why) => {
            say(&format!("tenure: --assign: {why}"));
            return Some(PAUSES.1);
        }
    };
    match membership.assign(group, assignments).await {
        // The next standing reports a loss.
        Ok(()) | Err(Error::Lost(_)) => None,
        Err(error) if matches!(error.reason(), Some(ErrorReason::StaleAssignment | ErrorReason::NotLeader)) => None,
        Err(error) => {
            say(&format!("tenure: {error}"));
            Some(if error.is_transient() { PAUSES.0 } else { PAUSES.1 })
        }
    }
}

/// Runs CMD with the group on its standard input, and reads the assignments from its output.
async fn divide(command: &str, group: &Group) -> Result<Assignments, String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("sh cannot be run: {error}"))?;
    let (stdin, json) = (child.stdin.take(), as_json(group).to_string());
    let write = async move {
        if let Some(mut stdin) = stdin {
            // A command may ignore a part of its input.
            let _ = stdin.write_all(json.as_bytes()).await;
        }
    };
    // Write and read concurrently: the command may write before it has read everything.
    let ((), output) = tokio::join!(write, child.wait_with_output());
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("the command failed: {}", output.status));
    }
    parse(&String::from_utf8_lossy(&output.stdout))
}

/// A group with the field names of the API.
fn as_json(group: &Group) -> serde_json::Value {
    let member = |member: &GroupMember| {
        json!({
            "number": member.number.to_string(),
            "sessionId": member.session_id,
            "owner": member.owner,
            "metadata": member.metadata,
            "assignment": member.assignment,
        })
    };
    json!({
        "name": group.name,
        "members": group.members.iter().map(member).collect::<Vec<_>>(),
        "config": group.config,
        "configRevision": group.config_revision.to_string(),
        "membershipRevision": group.membership_revision.to_string(),
    })
}

/// Parses assignments from lines: a member's number, a space, and its assignment.
fn parse(text: &str) -> Result<Assignments, String> {
    let mut assignments = Assignments::new();
    for line in text.lines() {
        let (number, assignment) = line.split_once(' ').unwrap_or((line, ""));
        let number = number.parse().map_err(|_| format!("line does not start with a member's number: {line}"))?;
        if assignments.insert(number, assignment.to_owned()).is_some() {
            return Err(format!("member {number} appears twice"));
        }
    }
    Ok(assignments)
}

/// What was printed already.
#[derive(Default)]
struct Shown {
    /// The last line.
    line: Option<String>,
    warned: bool,
}

impl Shown {
    fn show(&mut self, context: &Context, standing: &Standing) -> Result<(), Failure> {
        let whole = json!({
            "group": standing.group.name,
            "member": standing.number.to_string(),
            "leads": standing.leads(),
            "assignment": standing.assignment(),
            "current": standing.is_current(),
            "lost": standing.lost.as_ref().map(ToString::to_string),
        });
        let line = match context.global.output {
            Format::Json => Some(whole.to_string()),
            Format::Table => standing.assignment().map(escape),
        };
        if self.line != line {
            context.output.streamed_value(&whole, || line.clone().unwrap_or_default())?;
            self.line = line;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_members() -> Group {
        let member = |number| GroupMember { number, session_id: format!("s{number}"), ..GroupMember::default() };
        Group { config: Some("1000".into()), members: vec![member(7), member(9)], ..Group::default() }
    }

    #[test]
    fn lines_are_numbers_and_the_rest() {
        let assignments = parse("7 500 and more\n9\n").unwrap();
        assert_eq!(assignments[&7], "500 and more");
        assert_eq!(assignments[&9], "");
        assert!(parse("seven 500").unwrap_err().contains("seven 500"));
        assert!(parse("7 1\n7 2").unwrap_err().contains("twice"));
    }

    #[tokio::test]
    async fn the_command_finds_the_group_and_says_what_is_assigned() {
        let script = r#"grep -o '"number":"[0-9]*"' | tr -dc '0-9\n' | sed 's/$/ x/'"#;
        let assignments = divide(script, &two_members()).await.unwrap();
        assert_eq!(assignments, two_members().assign(|_, _| "x".to_owned()));
        assert!(divide("exit 3", &two_members()).await.unwrap_err().contains("3"));
    }
}
