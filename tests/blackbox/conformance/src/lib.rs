//! Conformance tests of stores: a store passes if every behaviour here holds on a fresh database.
//!
//! [`conformance!`] generates a test of each behaviour, given an expression that creates a [`Subject`].

pub mod append;
#[cfg(test)]
mod encoding;
pub mod history;
pub mod identity;
mod model;
pub mod read;
pub mod rows;
mod samples;
pub mod search;
pub mod servers;
mod subject;
pub mod views;

pub use subject::{FailOver, Query, Subject};

/// Generates a module of tests, one per behaviour, for the stores that `$subject` creates: an expression of type
/// [`Subject`] in an async context, evaluated for each test.
#[macro_export]
macro_rules! conformance {
    ($store:ident, $subject:expr) => {
        mod $store {
            #[allow(unused_imports)]
            use super::*;

            $crate::behaviours! { $subject; append:
                first_append_creates_the_namespace
                append_at_another_revision_conflicts_and_changes_nothing
                concurrent_appends_have_one_winner_per_revision
                repeated_append_conflicts_and_is_found_in_the_log
                dropped_append_is_atomic
                namespaces_are_independent
                huge_batch_is_read_as_one_batch
                append_near_the_highest_revision_succeeds
                every_event_is_read_as_written
                heads_list_every_namespace
                append_sends_a_hint_to_the_other_server
            }
            $crate::behaviours! { $subject; read:
                absent_namespace_is_empty
                starts_after_the_revision
                stops_near_the_limit
                sees_commits_of_another_server
                never_skips_earlier_batches
                returns_the_database_clock
            }
            $crate::behaviours! { $subject; search:
                absent_namespace_has_no_results
                matches_names_exactly
                returns_batches_as_appended
                steps_backward_without_gaps
                starts_with_the_batch_that_ends_at_the_revision
                finds_losses_and_continues_before_them
                reports_where_the_log_begins
            }
            $crate::behaviours! { $subject; rows:
                new_namespace_has_none
                are_loaded_as_saved
                are_replaced_and_deleted_by_key
                keep_grant_times_after_history_is_trimmed
                save_from_another_revision_conflicts
                save_beyond_the_log_conflicts
                concurrent_saves_have_one_winner
                thousands_are_saved_and_deleted
                largest_group_is_saved_and_logged
            }
            $crate::behaviours! { $subject; servers:
                see_each_others_heartbeats
                are_marked_dead_only_at_their_last_heartbeat
                dead_server_cannot_send_heartbeats
                forgotten_server_cannot_send_heartbeats
                new_server_replaces_the_old_in_an_exclusive_store
            }
            $crate::behaviours! { $subject; history:
                trim_stops_at_the_rows_and_the_time
                trim_leaves_no_gaps
                trim_keeps_the_newest_batch
                trim_drops_more_batches_than_fit_into_a_transaction
                trim_stops_at_a_revision
                measure_adds_up_in_pieces
            }
            $crate::behaviours! { $subject; identity:
                change_blocks_new_namespaces_until_the_loss_is_declared
                change_blocks_appends_until_the_loss_is_declared
                declared_loss_advances_the_revision
            }
            $crate::behaviours! { $subject; views:
                events_have_a_row_each
                merge_rows_and_log
                past_holds_list_former_holders
                past_holds_with_trimmed_history_show_what_is_left
            }
        }
    };
}

/// A module of tests for a module of behaviours. Used by [`conformance!`].
#[macro_export]
macro_rules! behaviours {
    ($subject:expr; $group:ident: $($behaviour:ident)*) => {
        mod $group {
            #[allow(unused_imports)]
            use super::*;

            $(
                #[tokio::test]
                async fn $behaviour() {
                    let subject: $crate::Subject = $subject;
                    $crate::$group::$behaviour(&subject).await;
                }
            )*
        }
    };
}
