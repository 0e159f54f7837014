//! `tenure fence-sql`.

use std::io::{self, Write};

use tenure_fence::scripts;

use crate::args::{FenceDialect, FenceSqlArgs};
use crate::exit::{self, Failure};

/// Prints the script.
pub fn fence_sql(args: &FenceSqlArgs) -> Result<u8, Failure> {
    let script = match args.dialect {
        FenceDialect::Postgres => scripts::POSTGRES,
        FenceDialect::Mysql => scripts::MYSQL,
        FenceDialect::Sqlite => scripts::SQLITE,
    };
    let mut out = io::stdout().lock();
    out.write_all(script.as_bytes())?;
    out.flush()?;
    Ok(exit::OK)
}
