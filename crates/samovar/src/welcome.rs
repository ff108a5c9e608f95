//! `samovar` alone, help, and what a shell completes.

use std::io::IsTerminal;

use clap::{CommandFactory, Parser};
use samovar_locale as text;
use samovar_server::models;

use crate::args::{self, Args};
use crate::arguments;
use crate::chat;
use crate::config::{self, LocalData};
use crate::exit::{Exit, Failure};
use crate::lists::{Rows, show_models};
use crate::screen::{put, say, written};

/// Talks, at a terminal where a model answers; else says what is there and what to type next.
pub(crate) async fn welcome() -> Result<Exit, Failure> {
    let (places, who) = (args::DirArgs::default(), args::ModelArgs::default());
    let found = config::read(&places, &who, LocalData::UseOnly)?;
    let models = models::overview(&found.registry).await;
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if is_terminal && models.chosen.is_some() {
        return Box::pin(chat::chat(args::Chat::default())).await;
    }
    show_models(&models, &found, Rows::Usable)?;
    say(text::welcome::what_to_type());
    Ok(if models.chosen.is_some() {
        Exit::Ok
    } else {
        Exit::NoModel
    })
}

/// Writes what a shell needs to complete commands.
pub(crate) fn completions(args: &args::Completions) -> Result<Exit, Failure> {
    let mut command = Args::command();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "samovar", &mut script);
    put(&String::from_utf8_lossy(&script)).map(|_| Exit::Ok)
}

/// Says what `COMMAND --help` says.
pub(crate) fn help(command: Vec<String>) -> Result<Exit, Failure> {
    // What begins with a hyphen names no command, and could hide the last word.
    let named = command.into_iter().filter(|word| !word.starts_with('-'));
    let words = ["samovar".to_owned()].into_iter().chain(named);
    match Args::try_parse_from(words.chain(["--help".to_owned()])) {
        Err(wrong) if wrong.use_stderr() => Err(Failure::usage(arguments::sentence(&wrong))),
        Err(help) => written(help.print()).map(|_| Exit::Ok),
        Ok(_) => Ok(Exit::Ok),
    }
}
