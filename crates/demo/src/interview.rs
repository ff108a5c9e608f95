//! A turn that asks the person something before it does anything else.

use samovar_core::command::is_blank;

use super::plan::needs;
use super::plan::paragraphs;
use super::report;
use super::request::{Asking, Given, Job, Request, Topic};
use super::say::Sentence;
use super::sums;
use super::turn::{Next, Step, Turn};

/// The same question is asked at most so often, when the answers do not fit.
const MAX_TRIES: usize = 3;

impl Turn<'_> {
    /// Asks, and goes on with the answer. Nobody is asked for the sake of a deed that cannot be done.
    pub(super) fn ask_first(&mut self, request: &Request, asking: &Asking) -> Step<String> {
        if let Some(missing) = self.missing(request, asking) {
            return Ok(self.language.fill(Sentence::NoTool, &[("tool", missing)]));
        }
        let answer = self.answer(&asking.topic)?;
        if let Some(deed) = asking.with(self.language, &request.given, answer.clone()) {
            return self.follow(&deed);
        }
        let topic = asking.topic.clone();
        let given = [Given { topic, answer }];
        Ok(self.heard(request.given.iter().chain(&given)))
    }

    /// What is said of answers that a request had no place for.
    pub(super) fn unplaced(&self, request: &Request) -> String {
        let greets = matches!(request.job, Ok(Job::Greet));
        let left = request.left.iter();
        self.heard(left.filter(|given| !greets || given.topic != Topic::Name))
    }

    /// Greets, by name if that was asked for.
    pub(super) fn greeting(&self, request: &Request) -> String {
        let names = request.left.iter();
        match names
            .rev()
            .find(|given| given.topic == Topic::Name)
            .map(|given| given.answer.trim().to_owned())
        {
            Some(name) => {
                let values = [("name", report::bounded(name))];
                let values = values
                    .each_ref()
                    .map(|(name, value)| (*name, value.as_str()));
                self.language.fill(Sentence::HelloName, &values)
            }
            None => self.with_abilities(Sentence::Hello),
        }
    }

    fn heard<'g>(&self, given: impl Iterator<Item = &'g Given>) -> String {
        let told = given.map(|given| {
            let answer = report::bounded(given.answer.clone());
            self.language
                .fill(Sentence::Answered, &[("answer", &answer)])
        });
        told.collect::<Vec<_>>().join("\n")
    }

    /// The tool that the question, or what is to be done behind it, needs and that is not here.
    fn missing(&self, request: &Request, asking: &Asking) -> Option<&'static str> {
        if !self.has(&["ask_user"]) {
            return Some("ask_user");
        }
        let deed = asking.trial(self.language, &request.given)?;
        match &deed.job {
            Ok(Job::Ask(next)) => self.missing(&deed, next),
            Ok(job) => needs(job).into_iter().find(|tool| !self.has(&[tool])),
            Err(_) => None,
        }
    }

    /// The answer to a question; where numbers are asked for, it has them.
    fn answer(&mut self, topic: &Topic) -> Step<String> {
        let asked = self.question(topic);
        let mut question = asked.clone();
        for _ in 0..MAX_TRIES {
            let answer = match self.ask_user(&question) {
                Err(Next::Say(failure)) => {
                    let values = [("question", question.as_str())];
                    let open = self.language.fill(Sentence::OpenQuestion, &values);
                    return Err(Next::Say(paragraphs([failure, open])));
                }
                answer => answer?,
            };
            if is_blank(answer) {
                return Err(self.stopped(self.language.say(Sentence::NoAnswer)));
            }
            let fits = match topic {
                Topic::Numbers(count) => sums::numbers(self.language, answer, *count).is_some(),
                Topic::Name
                | Topic::File
                | Topic::Folder
                | Topic::Sink
                | Topic::Text
                | Topic::Anything
                | Topic::Question(_)
                | Topic::Words(_) => true,
            };
            if fits {
                return Ok(answer.to_owned());
            }
            let answer = report::bounded(answer.to_owned());
            let unfit = self
                .language
                .fill(Sentence::NotNumbers, &[("answer", &answer)]);
            question = paragraphs([unfit, asked.clone()]);
        }
        let unfit = question.lines().next().unwrap_or_default().to_owned();
        Err(self.stopped(unfit))
    }

    fn stopped(&self, why: String) -> Next {
        Next::Say(paragraphs([why, self.language.say(Sentence::Stopped)]))
    }

    fn question(&self, topic: &Topic) -> String {
        let language = self.language;
        match topic {
            Topic::Name => language.say(Sentence::AskName),
            Topic::File => language.say(Sentence::NoFile),
            Topic::Folder => language.say(Sentence::AskFolder),
            Topic::Sink => language.say(Sentence::NoSink),
            Topic::Text => language.say(Sentence::AskText),
            Topic::Numbers(None) => language.say(Sentence::AskAnyNumbers),
            Topic::Numbers(Some(count)) => {
                language.fill(Sentence::AskNumbers, &[("count", &count.to_string())])
            }
            Topic::Anything => language.say(Sentence::AskAnything),
            Topic::Question(question) => question.clone(),
            Topic::Words(words) => language.fill(Sentence::AskWords, &[("words", words)]),
        }
    }
}
