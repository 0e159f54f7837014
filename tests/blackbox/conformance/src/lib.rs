//! Conformance tests of stores: a store passes if every behaviour here holds on a fresh database.
//!
//! [`conformance!`] generates a test of each behaviour, given an expression that creates a [`Subject`].

pub mod append;
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

pub use subject::{Identity, Plain, Subject};

/// Generates a module of tests, one per behaviour, for the stores that `$subject` creates: an expression of type
/// [`Subject`] in an async context, evaluated for each test.
#[macro_export]
macro_rules! conformance {
    ($store:ident, $subject:expr) => {
        mod $store {
            #[allow(unused_imports)]
            use super::*;

            $crate::behaviours! { $subject; append:
                the_first_append_creates_the_namespace
                an_append_at_another_revision_conflicts_and_changes_nothing
                one_of_many_at_once_wins_each_revision
                a_repeated_append_conflicts_and_is_found_in_the_log
                a_dropped_append_is_whole_or_not_at_all
                namespaces_are_independent
                a_huge_batch_is_one_batch
                revisions_may_be_near_their_end
                every_event_comes_back_as_it_was
                heads_tell_every_namespace
                the_other_server_is_hinted
            }
            $crate::behaviours! { $subject; read:
                of_nothing_is_nothing
                begins_after_the_revision
                stops_at_about_the_limit
                sees_what_another_server_committed
                shows_no_batch_without_the_earlier_ones
                gives_the_clock
            }
            $crate::behaviours! { $subject; search:
                in_nothing_finds_nothing
                finds_each_name_and_not_the_others
                gives_batches_as_they_were
                goes_back_in_steps_that_miss_nothing
                begins_with_the_batch_that_ends_at_the_revision
                finds_losses_and_gets_beyond_them
                tells_where_the_log_begins
            }
            $crate::behaviours! { $subject; rows:
                none_at_first
                come_back_as_they_were_saved
                replace_and_end
                keep_when_claims_were_granted
                are_saved_only_from_where_they_are
                are_saved_only_up_to_a_batch_in_the_log
                of_one_of_many_savers_at_once_are_kept
                by_the_thousands
                of_a_group_at_its_bounds
            }
            $crate::behaviours! { $subject; servers:
                see_each_others_heartbeats
                are_marked_dead_only_at_their_heartbeat
                that_are_dead_cannot_send_heartbeats
                that_are_forgotten_cannot_send_heartbeats
                alone_outlive_the_others
            }
            $crate::behaviours! { $subject; history:
                is_trimmed_up_to_the_rows_and_the_time
                is_trimmed_in_order
                keeps_the_newest_batch
                of_many_batches_is_trimmed
                is_trimmed_up_to_a_revision
                is_measured_piece_by_piece
            }
            $crate::behaviours! { $subject; identity:
                of_another_database_lets_no_namespace_begin_before_the_loss_is_declared
                of_another_database_stops_appends_until_the_loss_is_declared
                a_declared_loss_jumps_ahead
            }
            $crate::behaviours! { $subject; views:
                tell_what_the_events_say
                merge_rows_and_log
                tell_who_held_what
                tell_of_holds_what_is_left
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
