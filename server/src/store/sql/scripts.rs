//! The scripts that create the tables and views, with the same numbers and names for every database.

use std::fmt;

/// A migration script.
#[derive(Debug)]
pub(crate) struct Migration {
    pub(crate) number: i64,
    pub(crate) name: &'static str,
    pub(crate) script: &'static str,
}

impl fmt::Display for Migration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04}_{}", self.number, self.name)
    }
}

/// The scripts of a folder, by their numbers and names.
macro_rules! migrations {
    ($folder:literal: $(($number:literal, $name:literal)),*) => {
        &[$(Migration {
            number: $number,
            name: $name,
            script: include_str!(concat!("../../../../migrations/", $folder, "/000", $number, "_", $name, ".sql")),
        }),*]
    };
}

pub(crate) const POSTGRES: &[Migration] = migrations!("postgres": (1, "initial"));
pub(crate) const MYSQL: &[Migration] = migrations!("mysql": (1, "initial"));
pub(crate) const SQLITE: &[Migration] = migrations!("sqlite": (1, "initial"));
