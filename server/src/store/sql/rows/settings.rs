//! Encoding and decoding of lock settings as rows.

use std::time::Duration;

use tenure_core::{LockSettings, Preempt, Text, whole_millis};

use super::{int, number, optional, optional_int, small, text};
use crate::store::sql::connection::{Arg, DriverError, Row};
use crate::store::sql::statements::Table;

pub(crate) static SETTINGS: Table =
    Table { name: "settings", columns: &["namespace", "position", "name", "permit_limit", "settling_ms", "drain_ms"] };

/// Encodes all settings as rows of [`SETTINGS`].
pub(crate) fn settings_cells<'a>(namespace: &'a str, settings: &'a [(Text, LockSettings)]) -> Vec<Arg<'a>> {
    let mut cells = Vec::with_capacity(settings.len() * SETTINGS.columns.len());
    for ((name, settings), position) in settings.iter().zip(0..) {
        cells.extend([
            Arg::Text(namespace),
            int(position),
            Arg::Text(name),
            optional_int(settings.limit.map(u64::from)),
            optional_int(settings.preempt.map(|preempt| whole_millis(preempt.settling))),
            optional_int(settings.preempt.map(|preempt| whole_millis(preempt.drain))),
        ]);
    }
    cells
}

/// Decodes the settings of a lock from the columns of `load_settings`.
pub(crate) fn settings(row: &Row<'_>) -> Result<(Text, LockSettings), DriverError> {
    let preempt = match optional(row, 3)?.map(Duration::from_millis) {
        None => None,
        Some(settling) => Some(Preempt { settling, drain: Duration::from_millis(number(row, 4)?) }),
    };
    Ok((text(row, 1)?, LockSettings { limit: small(row, 2)?, preempt }))
}
