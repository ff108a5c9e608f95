//! `samovar chat`: one turn after another, with a line editor where there is a terminal.

mod command;
mod lines;

use samovar_core::command::Text;
use samovar_locale as text;

use self::command::{ChatFlow, Slash};
use self::lines::{InputLine, Lines};
use crate::answer::Person;
use crate::args::{self, Delivery};
use crate::calls::Extent;
use crate::config::{self, LocalData, Setup};
use crate::exit::{Exit, Failure};
use crate::keyboard::{Hushed, Terminal};
use crate::output::TurnFormat;
use crate::screen::say;
use crate::stop::Stop;
use crate::talk::{Talk, TurnEnd, farewell};
use crate::view::View;

/// Talks until the person leaves. Ctrl-C stops a turn, and not the program.
pub(crate) async fn chat(args: args::Chat) -> Result<Exit, Failure> {
    let found = config::read(&args.talk.places, &args.talk.who, LocalData::UseOnly)?;
    let mut stop = Stop::listen()?;
    let entering = Talk::enter(&args.talk, &found, Person::find(), &mut stop, None);
    let Ok(talk) = Box::pin(entering).await? else {
        return Ok(Exit::Interrupted);
    };
    talk.say_model(true);
    found.warn_before_turns();
    found.say_data(args.talk.verbose);
    if talk.is_first {
        found.say_earlier(true);
    }
    say(&text::chat::welcome(&talk.session.id));
    let mut chat = Chat {
        talk,
        found,
        lines: Lines::open(),
        extent: Extent::of(args.talk.verbose),
        last: Exit::Ok,
    };
    let terminal = Terminal::note();
    let exit = chat.go_on(&mut stop).await;
    drop(terminal);
    tokio::select! {
        () = chat.talk.leave() => {}
        () = stop.asked_or_alone() => {}
    }
    exit
}

struct Chat {
    talk: Talk,
    found: Setup,
    lines: Lines,
    extent: Extent,
    /// How the last turn ended: what a pipe is told at its end.
    last: Exit,
}

impl Chat {
    async fn go_on(&mut self, stop: &mut Stop) -> Result<Exit, Failure> {
        loop {
            let line = tokio::select! {
                line = self.lines.next() => line?,
                // At a terminal the editor reads Ctrl-C itself, so this is somebody who means it.
                () = stop.asked() => return Ok(Exit::Interrupted),
            };
            match line {
                InputLine::End => return Ok(self.left()),
                InputLine::Empty => {}
                InputLine::Said(line) => match self.take(&line, stop).await {
                    Ok(ChatFlow::GoOn) => {}
                    Ok(ChatFlow::Leave) => return Ok(self.left()),
                    // What is refused leaves the chat as it is.
                    Err(failure) => {
                        self.last = failure.exit;
                        failure.report();
                    }
                },
            }
            if stop.is_final() {
                return Ok(Exit::Interrupted);
            }
        }
    }

    /// A person has seen how each turn ended; a pipe is told of the last.
    fn left(&self) -> Exit {
        if self.lines.is_terminal() {
            Exit::Ok
        } else {
            self.last
        }
    }

    async fn take(&mut self, line: &str, stop: &mut Stop) -> Result<ChatFlow, Failure> {
        let is_farewell = ["exit", "quit"].contains(&line.trim());
        if is_farewell && self.lines.is_terminal() {
            return Ok(ChatFlow::Leave);
        }
        match Slash::read(line)? {
            Some(slash) => {
                slash
                    .run(&mut self.talk, &self.found, &mut self.lines)
                    .await
            }
            None => self.say(line, stop).await,
        }
    }

    async fn say(&mut self, line: &str, stop: &mut Stop) -> Result<ChatFlow, Failure> {
        let said = Text::new(line.to_owned())?;
        let mut view = View::new(TurnFormat::Text, self.extent, &self.talk.session.id);
        let message = self.talk.message(&said, Delivery::Queue);
        let hushed = self.lines.is_terminal().then(Hushed::begin);
        let left = self.talk.say(message, &mut view, stop, None).await;
        if hushed.is_some() {
            self.lines.offer(self.talk.typed_ahead().trim_end());
        }
        drop(hushed);
        let left = left?;
        self.last = farewell(&left);
        Ok(match left {
            TurnEnd::Unread => ChatFlow::Leave,
            TurnEnd::Ended(_) | TurnEnd::Asked | TurnEnd::Late | TurnEnd::Waits(_) => {
                ChatFlow::GoOn
            }
        })
    }
}
