//! One line of the log: what an event is written down as.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::groups;

/// One event. Which fields there are depends on the kind of event.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Line<'a> {
    pub(super) revision: u64,
    #[serde(borrow)]
    pub(super) event: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) claim: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) opened: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub(super) names: Vec<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub(super) still_held: Vec<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) priority: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) disconnect_grace_ms: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) permits: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) permit_limit: Option<u32>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) min_hold_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) settling_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) drain_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transfer_to: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) to_session: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) home: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) operator: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) longest_pause_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dead: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) group_id: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) group: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) member: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) leader: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) config: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) membership: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) config_revision: Option<u64>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub(super) assignments: Vec<groups::AssignmentLine<'a>>,
    #[serde(default, skip_serializing_if = "no_labels")]
    pub(super) metadata: Cow<'a, BTreeMap<String, String>>,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

fn no_labels(metadata: &BTreeMap<String, String>) -> bool {
    metadata.is_empty()
}
