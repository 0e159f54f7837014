//! The connection's task, and how it reaches servers. Public for the command line, and for tests that connect by other
//! means than TCP.

mod connector;
mod dial;
mod driver;

pub(crate) use self::connector::Tcp;
pub use self::connector::{Connector, connect};
pub(crate) use self::driver::start;
pub use crate::connection::Wire;
pub use crate::options::{Secret, Security};
