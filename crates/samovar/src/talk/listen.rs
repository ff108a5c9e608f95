//! Listening to a turn: it is shown, and the person answers what it asks.

use samovar_core::Code;
use samovar_locale as text;
use samovar_wire::api::ApprovalList;
use serde_json::Value;

use super::approval::Approval;
use super::questions::{Closing, QuestionStep, Questions};
use super::{Talk, TurnEnd};
use crate::client::Client;
use crate::exit::Failure;
use crate::follow::{StreamEvent, TurnStream};
use crate::keyboard::typed_ahead;
use crate::reconnecting::Repeat;
use crate::screen::{Reader, say};
use crate::view::View;

impl Talk {
    /// Shows a turn until its stream ends, and lets the person answer what it asks.
    pub(super) async fn listen(
        &mut self,
        turn: &mut TurnStream,
        view: &mut View,
        questions: &mut Questions,
    ) -> Result<TurnEnd, Failure> {
        loop {
            tokio::select! {
                told = turn.next() => {
                    let told = told?;
                    questions.take(&told).await;
                    if matches!(told, StreamEvent::Reset(..)) {
                        self.find_approvals(questions).await?;
                    }
                    if let Some(ending) = told.show(view)? {
                        return Ok(TurnEnd::Ended(ending));
                    }
                }
                next = questions.next() => match next {
                    QuestionStep::Show => self.put_question(view, questions).await?,
                    QuestionStep::Close(closing) => self.close(closing, questions).await?,
                    QuestionStep::Stop => return Ok(TurnEnd::Asked),
                },
                () = view.tick(), if !questions.is_prompting() => {}
            }
            if view.reader() == Reader::Gone {
                return Ok(TurnEnd::Unread);
            }
        }
    }

    /// Shows the question that waits. Where nobody can answer it, and nobody else was there before
    /// this program, it is closed; who serves others may have somebody who answers.
    async fn put_question(
        &mut self,
        view: &mut View,
        questions: &mut Questions,
    ) -> Result<(), Failure> {
        view.end_line()?;
        if !questions.is_unheard() {
            // It was typed before there was a question, and is no answer to it.
            self.typed_ahead.push_str(&typed_ahead());
        }
        questions.show();
        if !questions.is_unheard() {
            return Ok(());
        }
        if !self.way.is_here() {
            say(text::ask::waits_elsewhere());
            return Ok(());
        }
        say(text::ask::nobody());
        match questions.unheard() {
            Some(closing) => self.close(closing, questions).await,
            None => Ok(()),
        }
    }

    /// Asks again, after a reader lost its place, what is to be decided about the session's calls.
    async fn find_approvals(&mut self, questions: &mut Questions) -> Result<(), Failure> {
        let asked = async |client: &Client| client.get("/api/approvals").await;
        let waiting: ApprovalList = self.way.ask(Repeat::Harmless, asked).await?;
        for info in waiting.items {
            if info.session_id == self.session.id {
                questions.approve(&info.call_id.clone(), Approval::read(info));
            }
        }
        Ok(())
    }

    /// Closes the call of a question. The first answer counts, so it may be sent twice.
    async fn close(&mut self, closing: Closing, questions: &mut Questions) -> Result<(), Failure> {
        let (path, how) = (closing.path(), closing.how());
        let asked = async |client: &Client| client.post::<Value>(&path, &how).await;
        match self.way.ask(Repeat::Harmless, asked).await {
            Ok(_) => questions.closed(&closing),
            Err(refused) if was_faster(&refused) => questions.outrun(closing),
            Err(failure) if questions.is_unheard() => return Err(failure),
            Err(refused) => {
                refused.report();
                questions.refused(closing);
            }
        }
        Ok(())
    }
}

/// Whether another client has answered first.
fn was_faster(refused: &Failure) -> bool {
    let codes = [
        Code::UnknownCall,
        Code::UnknownApproval,
        Code::ApprovalDecided,
    ];
    codes.iter().any(|code| refused.code == code.as_str())
}
