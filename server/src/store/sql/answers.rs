//! Results of several statements that are sent together.

use futures::{Stream, TryStreamExt};
use sqlx::Either;

/// The number of rows that each statement affected, up to the failed one, if any; and how the statements ended.
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
