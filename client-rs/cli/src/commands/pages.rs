//! `cheat`, `exit-codes`, `json`, `fence-sql`, `completions`, `man`: prints static material without calling a server.

use std::fs;
use std::path::Path;

use clap_complete::Shell;
use serde_json::{Value, json};
use tenure_fence::scripts;

use crate::args::{self, FenceDialect};
use crate::exit::{self, Failure};
use crate::output::{Output, Style, Table, Tint, column};
use crate::pages::{self, CHEAT, GRPCURL, Page, printed};

/// The width of a command in the cheat sheet.
const COMMAND: usize = 45;

pub fn cheat(output: Output) -> Result<u8, Failure> {
    let groups = CHEAT.iter().map(|(group, lines)| {
        let lines = lines.iter().map(|(command, does)| json!({"command": command, "does": does}));
        json!({"group": group, "lines": lines.collect::<Vec<_>>()})
    });
    let value = json!({"groups": groups.collect::<Vec<_>>(), "grpcurl": GRPCURL});
    output.value(&value, || cheat_sheet(Style::of_stdout()))
}

fn cheat_sheet(style: Style) -> String {
    let mut sheet = Vec::new();
    for (group, lines) in CHEAT {
        sheet.push(style.paint(&group.to_uppercase(), Tint::Bold));
        let line = |(command, does): &(&str, &str)| format!("  {command:<COMMAND$}{}", style.paint(does, Tint::Dim));
        sheet.extend(lines.iter().map(line));
    }
    sheet.push(style.paint("GRPCURL", Tint::Bold));
    sheet.extend(GRPCURL.iter().map(|command| format!("  {command}")));
    sheet.push(format!("{} tenure help COMMAND, tenure help exit-codes", style.paint("MORE", Tint::Bold)));
    sheet.join("\n")
}

pub fn exit_codes(output: Output) -> Result<u8, Failure> {
    let all = exit::ALL.map(|(code, name, meaning)| json!({"code": code, "name": name, "meaning": meaning}));
    let value = json!({"exitCodes": all, "ofCommand": exit::OF_CMD});
    output.value(&value, exit::help)
}

pub fn formats(output: Output) -> Result<u8, Failure> {
    let all = printed();
    let commands = all.iter().map(|one| {
        json!({
            "command": one.command,
            "message": one.message.map(|message| format!("tenure.v1.{message}")),
            "fields": one.fields,
            "lines": one.lines,
        })
    });
    output.value(&json!({"commands": commands.collect::<Vec<_>>()}), || {
        let mut table = Table::new([column("COMMAND", 1), column("MESSAGE", 1), column("FIELDS", 2)]);
        for one in &all {
            let lines = if one.lines { ", a line each" } else { "" };
            let fields = if one.fields.is_empty() { "-".to_owned() } else { one.fields.join(" ") };
            table.row([one.command.into(), format!("{}{lines}", one.message.unwrap_or("-")).into(), fields.into()]);
        }
        table.finish()
    })
}

pub fn fence_sql(output: Output, dialect: FenceDialect) -> Result<u8, Failure> {
    let (dialect, script) = match dialect {
        FenceDialect::Postgres => ("postgres", scripts::POSTGRES),
        FenceDialect::Mysql => ("mysql", scripts::MYSQL),
        FenceDialect::Sqlite => ("sqlite", scripts::SQLITE),
    };
    output.file(&json!({"dialect": dialect, "script": script}), script)
}

pub fn completions(output: Output, shell: Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "tenure", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    output.file(&json!({"shell": shell.to_string(), "script": script}), &script)
}

pub fn man(output: Output, words: &[String], dir: Option<&Path>) -> Result<u8, Failure> {
    let command = args::command();
    let Some(dir) = dir else {
        let Some(page) = pages::page(&command, words)? else {
            let message = format!("no manual page for {}", words.join(" "));
            return Err(Failure::new(exit::USAGE, message).next("list the commands: tenure help"));
        };
        return output.file(&json!({"pages": [value(&page)]}), &page.text);
    };
    let pages = pages::pages(&command)?;
    fs::create_dir_all(dir)
        .and_then(|()| pages.iter().try_for_each(|page| fs::write(dir.join(&page.name), &page.text)))
        .map_err(|error| Failure::new(exit::REFUSED, format!("cannot write to {}: {error}", dir.display())))?;
    let value = json!({"pages": pages.iter().map(value).collect::<Vec<_>>()});
    output.value(&value, || format!("{} pages in {}", pages.len(), dir.display()))
}

fn value(page: &Page) -> Value {
    json!({"name": page.name, "text": page.text})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheat_sheet_fits_one_screen() {
        let sheet = cheat_sheet(Style::PIPE);
        assert!(sheet.lines().all(|line| line.chars().count() <= 80), "{sheet}");
        assert!(sheet.lines().count() <= 45, "{sheet}");
    }
}
