//! For tests: all that PostgreSQL and MySQL are asked, so that the parsers of engines that speak their languages can tell whether
//! they understand it.

use std::time::Duration;

use serde::Serialize;

use super::mysql::flavours as mysql;
use super::postgres::{copy, flavours as postgres, hints};
use super::sql::rows::{CLAIMS, GROUPS, MEMBERS, SESSIONS, SETTINGS};
use super::sql::{Appends, Arg, HeadMove, Statements, Table, literal};

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

fn postgres(all: &mut Vec<Said>) {
    let mut list = List { all, dialect: "postgres", flavour: "any" };
    list.add("facts", postgres::FACTS);
    list.add("confirm", postgres::CONFIRM);
    list.add("ask_identity", postgres::ASK_IDENTITY);
    list.add("remember_identity", postgres::REMEMBER_IDENTITY);
    list.add("ask_whether_it_notifies", postgres::ASK_WHETHER_IT_NOTIFIES);
    // As the driver puts it.
    list.add("listen", format!("LISTEN \"{}\"", hints::CHANNEL));
    for table in TABLES {
        list.add(format!("copy_{}", table.name), copy::copy(table));
    }
    let flavours = [
        ("native", &*postgres::NATIVE),
        ("direct", &postgres::DIRECT_NATIVE),
        ("compatible", &postgres::COMPATIBLE),
        ("direct_compatible", &postgres::DIRECT_COMPATIBLE),
    ];
    for (flavour, said) in flavours {
        list.flavour = flavour;
        add_appends(&mut list, "", &said.append, |sql| sql.to_owned());
        if said.notifies {
            add_appends(&mut list, "_and_notify", &said.append_and_notify, |sql| sql.to_owned());
        }
        add_statements(&mut list, &said.statements);
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
        add_appends(&mut list, "", &said.append, |sql| literal::with_literals(sql, &[Arg::Text("x"); 10], "'"));
        list.add("advance_at_once", said.append_at_once.of(HeadMove::Advance));
        add_statements(&mut list, &said.statements);
    }
}

fn add_appends(list: &mut List<'_>, way: &str, appends: &Appends, written: impl Fn(&str) -> String) {
    let moves = [
        ("create", HeadMove::Create),
        ("create_anew", HeadMove::CreateAnew),
        ("advance", HeadMove::Advance),
        ("adopt", HeadMove::Adopt),
    ];
    for (name, head) in moves {
        list.add(format!("{name}{way}"), written(appends.of(head)));
    }
}

fn add_statements(list: &mut List<'_>, statements: &Statements) {
    for (name, sql) in statements.all() {
        if !sql.is_empty() {
            list.add(name, sql);
        }
    }
    for script in statements.scripts {
        list.add(script, script.script);
    }
}
