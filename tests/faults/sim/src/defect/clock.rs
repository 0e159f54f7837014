//! Clocks that run at a wrong rate.

use crate::defect::Defect;

/// The factor on the rate of clients' clocks.
#[must_use]
pub fn rate_of_clients(defect: Option<Defect>) -> f64 {
    if defect == Some(Defect::ValidTooLong) { 0.5 } else { 1.0 }
}
