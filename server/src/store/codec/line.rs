//! One line of the log, from which an event is decoded.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::groups;

/// One event. The kind of event determines which fields are present.
#[derive(Deserialize)]
pub(super) struct Line<'a> {
    pub(super) revision: u64,
    #[serde(borrow)]
    pub(super) event: Cow<'a, str>,
    pub(super) claim: Option<u64>,
    /// The claim of an event that the views leave out.
    pub(super) awaited: Option<u64>,
    pub(super) awaited_at: Option<u64>,
    pub(super) token: Option<u64>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    pub(super) session: Option<Cow<'a, str>>,
    pub(super) opened: Option<u64>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    pub(super) owner: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "all_borrowed")]
    pub(super) names: Vec<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "all_borrowed")]
    pub(super) still_held: Vec<Cow<'a, str>>,
    #[serde(default)]
    pub(super) priority: i32,
    pub(super) ttl_ms: Option<u64>,
    pub(super) disconnect_grace_ms: Option<u64>,
    #[serde(default)]
    pub(super) attachment: u64,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    pub(super) identity: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    pub(super) client: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    pub(super) mode: Option<Cow<'a, str>>,
    pub(super) permits: Option<u32>,
    pub(super) permit_limit: Option<u32>,
    #[serde(default)]
    pub(super) min_hold_ms: u64,
    pub(super) settling_ms: Option<u64>,
    pub(super) drain_ms: Option<u64>,
    pub(super) transfer_to: Option<u64>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    pub(super) to_session: Option<Cow<'a, str>>,
    pub(super) home: Option<u64>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    pub(super) reason: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    pub(super) operator: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    pub(super) note: Option<Cow<'a, str>>,
    pub(super) longest_pause_ms: Option<u64>,
    pub(super) dead: Option<u64>,
    pub(super) by: Option<u64>,
    pub(super) after: Option<u64>,
    pub(super) group_id: Option<u64>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    pub(super) group: Option<Cow<'a, str>>,
    pub(super) member: Option<u64>,
    pub(super) leader: Option<u64>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    pub(super) config: Option<Cow<'a, str>>,
    pub(super) membership: Option<u64>,
    pub(super) config_revision: Option<u64>,
    #[serde(borrow, default)]
    pub(super) assignments: Vec<groups::AssignmentLine<'a>>,
    #[serde(default)]
    pub(super) metadata: Cow<'a, BTreeMap<String, String>>,
}

/// A text that is copied only if it contains escapes. Within an `Option` or a `Vec`, serde would always copy it.
#[derive(Deserialize)]
struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);

fn borrowed<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'a, str>>, D::Error> {
    Ok(Option::<Borrowed<'a>>::deserialize(deserializer)?.map(|text| text.0))
}

fn all_borrowed<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Cow<'a, str>>, D::Error> {
    Ok(Vec::<Borrowed<'a>>::deserialize(deserializer)?.into_iter().map(|text| text.0).collect())
}
