//! One stream: the commands to send, and the subjects of those that were sent.

use std::collections::VecDeque;

use foldhash::HashMap;
use tenure_proto::v1;
use tenure_proto::v1::command::Kind;

use crate::clock::Moment;
use crate::connection::{ClaimKey, WatchKey};
use crate::session_id::SessionId;
use crate::trace::Trace;

/// The commands of one stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) last_command: u64,
    pub(super) sent: HashMap<u64, Sent>,
    pub(super) outgoing: VecDeque<v1::Command>,
}

impl Stream {
    /// A stream whose commands are numbered after `last_command`.
    pub(super) fn after(last_command: u64) -> Self {
        Self { last_command, sent: HashMap::default(), outgoing: VecDeque::new() }
    }

    /// Sends a command, as a part of this trace. Returns its id.
    pub(super) fn send(&mut self, kind: Kind, what: What, trace: &Trace, now: Moment) -> u64 {
        self.last_command += 1;
        let id = self.last_command;
        let renewal = matches!(what, What::KeepAlive);
        self.sent.insert(id, Sent { what, at: now });
        let command = v1::Command { id, kind: Some(kind), traceparent: trace.to_wire() };
        // Renewals do not wait behind other commands.
        if renewal {
            self.outgoing.push_front(command)
        } else {
            self.outgoing.push_back(command)
        }
        id
    }

    /// Cancels a command that is in progress.
    pub(super) fn cancel(&mut self, command_id: u64) {
        self.last_command += 1;
        let kind = Kind::Cancel(v1::CancelCommand { command_id });
        self.outgoing.push_back(v1::Command { id: self.last_command, kind: Some(kind), ..v1::Command::default() });
    }
}

/// A sent command: its subject, and when it was sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) what: What,
    pub(super) at: Moment,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Open(SessionId),
    Attach(SessionId),
    KeepAlive,
    Close(SessionId),
    Claim(SessionId, ClaimKey),
    Watch(WatchKey),
    Stray(SessionId),
}
