//! `samovar chat`: one turn after another, with a line editor where there is a terminal.

mod command;
mod lines;

use samovar_core::command::Text;
use samovar_core::{Code, SessionId};
use samovar_locale as text;

use self::command::{ChatFlow, Slash};
use self::lines::{InputLine, Lines};
use crate::answer::Person;
use crate::args::{self, Delivery};
use crate::calls::Extent;
use crate::config::{self, LocalData, Setup};
use crate::exit::{Exit, Failure};
use crate::keyboard::{Hushed, Terminal, is_gone};
use crate::output::TurnFormat;
use crate::screen::say;
use crate::stop::Stop;
use crate::talk::message::message;
use crate::talk::{Talk, TurnEnd, farewell};
use crate::trusting;
use crate::view::View;

/// Talks until the person leaves. Ctrl-C stops a turn, and not the program.
pub(crate) async fn chat(args: args::Chat) -> Result<Exit, Failure> {
    let found = config::read(&args.talk.places, &args.talk.who, LocalData::UseOnly)?;
    let person = Person::find();
    trusting::before_turns(&found, args.talk.trust, person != Person::Absent)?;
    let mut stop = Stop::listen()?;
    let entering = Talk::enter(&args.talk, &found, person, &mut stop, None);
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
        followed: None,
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
    /// The session that began tasks in the background, with its last turn that was shown.
    followed: Option<(SessionId, String)>,
}

impl Chat {
    async fn go_on(&mut self, stop: &mut Stop) -> Result<Exit, Failure> {
        loop {
            let last = self.last_shown();
            let followed = async {
                match &last {
                    Some(last) => self.talk.followed(last).await,
                    None => std::future::pending().await,
                }
            };
            let line = tokio::select! {
                line = self.lines.next(followed) => line?,
                // At a terminal the editor reads Ctrl-C itself, so this is somebody who means it.
                () = stop.asked() => return Ok(Exit::Interrupted),
            };
            let taken = match line {
                InputLine::End => Ok(ChatFlow::Leave),
                InputLine::Empty => Ok(ChatFlow::GoOn),
                InputLine::Broken => self.show_followed(stop).await,
                InputLine::Said(line) => self.take(&line, stop).await,
            };
            match taken {
                Ok(ChatFlow::GoOn) => {}
                Ok(ChatFlow::Leave) => return self.leave(stop).await,
                // What is refused leaves the chat as it is.
                Err(failure) => {
                    self.last = failure.exit;
                    failure.report();
                }
            }
            if stop.is_final() {
                return Ok(Exit::Interrupted);
            }
        }
    }

    /// Waits for the tasks in the background as `run` does, unless a server has them. A person has
    /// seen how each turn ended; a pipe is told of the last.
    async fn leave(&mut self, stop: &mut Stop) -> Result<Exit, Failure> {
        match self.last_shown() {
            Some(_) if self.talk.is_served() => self.talk.say_left().await?,
            Some(last) if !(self.lines.is_terminal() && is_gone()) => {
                let extent = self.extent;
                let make = |session: &SessionId| View::new(TurnFormat::Text, extent, session);
                let ended = self.talk.stay(Some(&last), make, stop, None).await?;
                for (_, left) in &ended {
                    self.last = farewell(left);
                }
            }
            _ => {}
        }
        Ok(if self.lines.is_terminal() {
            Exit::Ok
        } else {
            self.last
        })
    }

    /// The last turn that was shown of this session, if it began tasks in the background.
    fn last_shown(&self) -> Option<String> {
        let (session, turn) = self.followed.as_ref()?;
        (*session == self.talk.session.id).then(|| turn.clone())
    }

    /// Shows the turns that the results of tasks have begun.
    async fn show_followed(&mut self, stop: &mut Stop) -> Result<ChatFlow, Failure> {
        while let Some(last) = self.last_shown() {
            let mut view = self.view();
            let hushed = self.hush();
            let left = self.talk.show_followed(&last, &mut view, stop).await;
            self.listen_again(hushed);
            let Some(left) = left? else {
                break;
            };
            if view.turn().is_none_or(|turn| turn == last) {
                self.followed = None;
            }
            if let ChatFlow::Leave = self.ended(&view, &left) {
                return Ok(ChatFlow::Leave);
            }
        }
        Ok(ChatFlow::GoOn)
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
        if let ChatFlow::Leave = self.show_followed(stop).await? {
            return Ok(ChatFlow::Leave);
        }
        let mut view = self.view();
        let attached = self.talk.attached.clone();
        let message = message(&mut self.talk, &said, Delivery::Queue);
        let hushed = self.hush();
        let left = self.talk.say(message, &mut view, stop, None).await;
        self.listen_again(hushed);
        if let Err(refused) = &left
            && refused.code == Code::ModelWithoutImages.as_str()
        {
            say(&text::chat::attached(attached.len() as u64));
            self.talk.attached = attached;
        }
        Ok(self.ended(&view, &left?))
    }

    fn view(&self) -> View {
        View::new(TurnFormat::Text, self.extent, &self.talk.session.id)
    }

    fn hush(&self) -> Option<Hushed> {
        self.lines.is_terminal().then(Hushed::begin)
    }

    /// What was typed in the meantime is kept for the next line.
    fn listen_again(&mut self, hushed: Option<Hushed>) {
        if hushed.is_some() {
            self.lines.offer(self.talk.typed_ahead().trim_end());
        }
        drop(hushed);
    }

    /// Notes how a turn ended, and whether turns will follow it.
    fn ended(&mut self, view: &View, left: &TurnEnd) -> ChatFlow {
        self.last = farewell(left);
        let has_tasks = view.has_spawned() || self.last_shown().is_some();
        if let Some(turn) = view.turn().filter(|_| has_tasks) {
            self.followed = Some((self.talk.session.id.clone(), turn.to_owned()));
        }
        match left {
            TurnEnd::Unread => ChatFlow::Leave,
            TurnEnd::Ended(_) | TurnEnd::Asked | TurnEnd::Late | TurnEnd::Waits(_) => {
                ChatFlow::GoOn
            }
        }
    }
}
