//! For tests: all that PostgreSQL and MySQL are asked, so that the parsers of engines that speak their languages can tell whether
//! they understand it.

use std::time::Duration;

use serde::Serialize;

use super::mysql::flavours as mysql;
use super::postgres::{copy, flavours as postgres, hints, questions};
use super::sql::rows::{CLAIMS, GROUPS, MEMBERS, SESSIONS, SETTINGS};
use super::sql::{Arg, Statements, Table, literal};

const TABLES: [&Table; 5] = [&SESSIONS, &CLAIMS, &SETTINGS, &GROUPS, &MEMBERS];

/// Statements that are sent at one go, separated by `;`.
#[derive(Debug, Serialize)]
pub struct Said {
    /// `postgres` or `mysql`.
    pub dialect: &'static str,
    /// The kind of server that is asked in this way; `any` if all are that speak this dialect.
    pub flavour: &'static str,
    /// What it is called here, such as `read` or `0001_initial`.
    pub name: String,
    /// With `$1` or `?` for arguments that are sent apart, and some text for those that are written into it.
    pub sql: String,
}

/// All of them.
#[must_use]
pub fn said() -> Vec<Said> {
    let mut all = Vec::new();
    postgres(&mut all);
    mysql(&mut all);
    all
}

struct List<'a> {
    all: &'a mut Vec<Said>,
    dialect: &'static str,
    flavour: &'static str,
}

impl List<'_> {
    fn add(&mut self, name: impl ToString, sql: impl Into<String>) {
        let (name, sql) = (name.to_string(), sql.into());
        self.all.push(Said { dialect: self.dialect, flavour: self.flavour, name, sql });
    }
}

/// Adds the fields of a struct, all of which are named, those that are no statement after the `;`: a new one does not compile until
/// it is here.
macro_rules! add_fields {
    ($list:ident, $kind:path { $($field:ident),*; $($other:tt)* } = $all:expr) => {
        let $kind { $($field,)* $($other)* } = $all;
        $($list.add(stringify!($field), *$field);)*
    };
}

fn postgres(all: &mut Vec<Said>) {
    let mut list = List { all, dialect: "postgres", flavour: "any" };
    list.add("facts", questions::FACTS);
    list.add("confirm", questions::CONFIRM);
    list.add("ask_identity", postgres::ASK_IDENTITY);
    list.add("remember_identity", postgres::REMEMBER_IDENTITY);
    list.add("ask_whether_it_notifies", postgres::ASK_WHETHER_IT_NOTIFIES);
    // As the driver puts it.
    list.add("listen", format!("LISTEN \"{}\"", hints::CHANNEL));
    for table in TABLES {
        list.add(format!("copy_{}", table.name), copy::copy(table));
    }
    let flavours = [
        ("native", &postgres::NATIVE),
        ("direct", &postgres::DIRECT_NATIVE),
        ("compatible", &postgres::COMPATIBLE),
        ("direct_compatible", &postgres::DIRECT_COMPATIBLE),
    ];
    for (flavour, said) in flavours {
        list.flavour = flavour;
        add_fields!(list, postgres::Flavour {
            create, create_anew, advance, adopt;
            create_and_notify, advance_and_notify, adopt_and_notify, statements, notifies
        } = said);
        if *notifies {
            list.add("create_and_notify", *create_and_notify);
            list.add("advance_and_notify", *advance_and_notify);
            list.add("adopt_and_notify", *adopt_and_notify);
        }
        add_statements(&mut list, statements);
    }
}

fn mysql(all: &mut Vec<Said>) {
    let mut list = List { all, dialect: "mysql", flavour: "any" };
    list.add("settings", mysql::settings(Duration::from_secs(5)));
    list.add("facts", mysql::FACTS);
    list.add("read_committed_by_all", mysql::READ_COMMITTED_BY_ALL);
    for table in TABLES {
        let row = vec![Arg::Text("x"); table.columns.len()];
        list.add(format!("insert_{}", table.name), literal::insert(table, &row, "'"));
    }
    for ((question, said), flavour) in mysql::FLAVOURS.iter().zip(["server_uuid", "server_uid", "hostname"]) {
        list.flavour = flavour;
        list.add("ask_identity", *question);
        add_fields!(list, mysql::Flavour {
            advance_at_once;
            create, create_anew, advance, adopt, statements
        } = said);
        let appends = [("create", create), ("create_anew", create_anew), ("advance", advance), ("adopt", adopt)];
        for (name, sql) in appends {
            list.add(name, literal::with_literals(sql, &[Arg::Text("x"); 10], "'"));
        }
        add_statements(&mut list, statements);
    }
}

fn add_statements(list: &mut List<'_>, statements: &Statements) {
    add_fields!(list, Statements {
        begin, begin_snapshot, read, newest_batch, search, heads, rows_revision, load_sessions, load_claims, load_settings,
        load_groups, load_members, advance_rows, delete_sessions, delete_claims, delete_settings, delete_groups, delete_members,
        beat, register, servers, mark_dead, outlive, forget, measure, oldest_batches, delete_batches, migrations_exist, create_migrations,
        lock_migrations, relations, migrations, record_migration, birth, record_birth;
        system: _, own_place: _, scripts, tune_tables, disown: [disown_heads, disown_new_ones]
    } = statements);
    list.add("disown_heads", *disown_heads);
    list.add("disown_new_ones", *disown_new_ones);
    if let Some(sql) = tune_tables {
        list.add("tune_tables", *sql);
    }
    for script in *scripts {
        list.add(script, script.script);
    }
}
