//! Who calls, as far as is known.

use std::net::SocketAddr;

use super::Identity;

/// Who calls. Among the extensions of each request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// Who it is. `None`: nobody is asked, or this is open to everybody.
    pub identity: Option<Identity>,
    /// Where it calls from, unless it has gone already.
    pub address: Option<SocketAddr>,
}
