//! Checks of a new connection to PostgreSQL before its first use.

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Executor, Row as _};

use super::error::unreached;
use super::flavours::{CONFIRM, FACTS};
use super::warnings::with_warnings;
use crate::store::sql::DriverError;

/// The meaning of a warning in the reply to a commit: the commit did not wait for the standbys, which may never receive
/// it.
pub(crate) const UNCONFIRMED: &str = "the wait for PostgreSQL's standbys was cancelled";

/// Rejects a database that takes no writes or does not keep its commits. Returns whether the connection has no pooler.
pub(crate) async fn probe(connection: &mut PgConnection, allow_unsafe_durability: bool) -> Result<bool, DriverError> {
    let unsaid = || DriverError::Rejected("the database does not report whether it accepts writes".to_owned());
    let facts = answer(connection, FACTS, false).await?.ok_or_else(unsaid)?;
    let [writable, synchronous_commit, fsync, full_page_writes, direct, standbys] =
        std::array::from_fn(|column| facts.get(column).map_or("", String::as_str));
    if writable != "yes" {
        return Err(DriverError::ReadOnly("the database rejects writes".to_owned()));
    }
    let settings =
        [("synchronous_commit", synchronous_commit), ("fsync", fsync), ("full_page_writes", full_page_writes)];
    if let Some((name, _)) = settings.iter().find(|(_, value)| *value == "off" && !allow_unsafe_durability) {
        return Err(DriverError::Unsafe(format!("PostgreSQL's {name} is off")));
    }
    if !standbys.is_empty() {
        confirm(connection).await?;
    }
    Ok(direct == "on")
}

/// Ensures that the data visible to this connection from now on cannot be lost with the primary: earlier commits of
/// other sessions may be visible on the primary but missing on the standbys, if those sessions were killed or cancelled
/// their wait.
async fn confirm(connection: &mut PgConnection) -> Result<(), DriverError> {
    match with_warnings(connection.execute(CONFIRM)).await {
        (Ok(_), false) => Ok(()),
        (Ok(_), true) => Err(DriverError::Rejected(UNCONFIRMED.to_owned())),
        // There are no tables yet.
        (Err(sqlx::Error::Database(error)), _) if error.code().as_deref() == Some("42P01") => Ok(()),
        (Err(error), _) => Err(unreached(error)),
    }
}

/// The first row of a result, as texts. `None` if there is no row, or the database does not support the query.
pub(crate) async fn answer(
    connection: &mut PgConnection,
    sql: &'static str,
    direct: bool,
) -> Result<Option<Vec<String>>, DriverError> {
    match connection.fetch_all(sql).await {
        Ok(rows) => {
            let texts = |row: &PgRow| (0..row.len()).map(|column| row.try_get(column)).collect::<Result<_, _>>();
            rows.first().map(texts).transpose().map_err(unreached)
        }
        Err(sqlx::Error::Database(error)) if is_not_understood(error.code().as_deref(), direct) => Ok(None),
        Err(error) => Err(unreached(error)),
    }
}

/// Whether an error means that the database lacks what the query needs: unknown names, rights, features, settings. An
/// interruption or a lack of resources does not mean that.
/// See <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
fn is_not_understood(code: Option<&str>, direct: bool) -> bool {
    match code {
        // Aurora is in no state to report its log position. Behind a pooler, a standby may report this error.
        Some("55000") => direct,
        Some(code) => code.starts_with("42") || code.starts_with("0A") || code == "22023",
        None => false,
    }
}
