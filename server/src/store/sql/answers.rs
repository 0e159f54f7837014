//! What comes of several statements that are sent at one go.

use futures::{Stream, TryStreamExt};
use sqlx::Either;

/// How many rows each statement met, up to the one that failed, if one did; and how they ended.
pub(crate) async fn rows_met<D, R, E>(
    mut answers: impl Stream<Item = Result<Either<D, R>, E>> + Unpin,
    met: impl Fn(D) -> u64,
) -> (Vec<u64>, Result<(), E>) {
    let mut all = Vec::new();
    loop {
        match answers.try_next().await {
            Ok(Some(Either::Left(done))) => all.push(met(done)),
            Ok(Some(Either::Right(_))) => {}
            Ok(None) => return (all, Ok(())),
            Err(error) => return (all, Err(error)),
        }
    }
}
