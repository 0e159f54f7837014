//! What programs read from the state of a lock.

use crate::v1::{Claim, ClaimState, Lock};

impl Lock {
    /// The first claim that holds the lock. A claim that only lingers is not a holder.
    pub fn holder(&self) -> Option<&Claim> {
        self.holders.iter().find(|claim| claim.state() == ClaimState::Held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lingering_claim_is_not_a_holder() {
        let claim = |token, state: ClaimState| Claim { token, state: state.into(), ..Claim::default() };
        let mut lock = Lock { holders: vec![claim(1, ClaimState::Lingering)], ..Lock::default() };
        assert_eq!(lock.holder(), None);
        lock.holders.push(claim(2, ClaimState::Held));
        assert_eq!(lock.holder().map(|claim| claim.token), Some(2));
    }
}
