//! `fence-sql`: prints the SQL script that installs the fencing check.

use serde_json::json;
use tenure_fence::scripts;

use crate::args::{FenceDialect, FenceSqlArgs};
use crate::exit::Failure;
use crate::output::Output;

/// Prints the script of the dialect.
pub fn fence_sql(output: Output, args: &FenceSqlArgs) -> Result<u8, Failure> {
    let (dialect, script) = match args.dialect {
        FenceDialect::Postgres => ("postgres", scripts::POSTGRES),
        FenceDialect::Mysql => ("mysql", scripts::MYSQL),
        FenceDialect::Sqlite => ("sqlite", scripts::SQLITE),
    };
    output.file(&json!({"dialect": dialect, "script": script}), script)
}
