//! From a request and the results so far to the next step: calls, or the answer.
//!
//! A plan is straight code over a [`Turn`], whose calls hand back their results or end the plan.

use super::heard::heard;
use super::report::{self, Report};
use super::request::{
    Asking, Detail, Goal, Job, Listing, Mode, Places, Request, Sink, Source, Unclear, Wording,
};
use super::results::FileText;
use super::say::Sentence;
use super::turn::{Answered, Next, Step, Turn};
use super::understand::understand;

/// A long file is appended to behind so many of its last lines, which must be found only once.
const TAIL: u8 = 40;

/// A request, and who wants it done.
pub(super) struct Plea {
    /// Another agent; none when it is the person.
    author: Option<String>,
    /// What is wanted.
    pub(super) request: Request,
}

impl Plea {
    /// What a message asks for.
    pub(super) fn of(message: &str) -> Self {
        let heard = heard(message);
        Self {
            author: heard.author,
            request: understand(&heard.text),
        }
    }
}

/// Plans the next step of requests, one behind the other: what comes of each is said in the end.
pub(super) fn plan(pleas: &[Plea], tools: &[&str], answered: &[Answered<'_>]) -> Next {
    let mut turn = Turn::new(tools, answered);
    let mut said = Vec::new();
    for Plea { author, request } in pleas {
        turn.language = request.language;
        let came = match turn.follow(request) {
            Ok(came) | Err(Next::Say(came)) => came,
            // A question is the person's, whoever it is asked for.
            Err(ask @ Next::Ask(..)) => return ask,
        };
        said.push(match author {
            Some(author) => {
                let author = report::bounded(author.clone());
                let to = turn.language.fill(Sentence::To, &[("author", &author)]);
                format!("{to} {came}")
            }
            None => came,
        });
    }
    Next::Say(said.join("\n"))
}

/// The tools that a job needs.
pub(super) fn needs(job: &Job) -> Vec<&'static str> {
    let (source, goal) = match job {
        Job::Report { source, goal } => (source, goal),
        Job::Replace { .. } => return vec!["edit_file"],
        Job::Ask(_) => return vec!["ask_user"],
        Job::Post(_) => return vec!["post_message"],
        Job::Greet | Job::Introduce | Job::Help => return Vec::new(),
    };
    let mut needs = match source {
        Source::List(_)
        | Source::Count(_)
        | Source::Dictated {
            wording: Wording::Plain,
            ..
        } => vec!["list_dir"],
        Source::Read { .. } | Source::Lines(_) => vec!["read_file"],
        Source::Search { .. } => vec!["search_files"],
        Source::Sum(_)
        | Source::Dictated {
            wording: Wording::Marked,
            ..
        } => Vec::new(),
    };
    match goal {
        Goal::Answer | Goal::Unnamed => {}
        Goal::Chat => needs.push("post_message"),
        Goal::File(Sink {
            mode: Mode::Write, ..
        }) => needs.push("write_file"),
        Goal::File(Sink {
            mode: Mode::Append, ..
        }) => {
            needs.extend(["read_file", "edit_file", "write_file"]);
        }
    }
    needs
}

impl Turn<'_> {
    /// Does what a request asks for, and asks the person for what it lacks.
    pub(super) fn follow(&mut self, request: &Request) -> Step<String> {
        let lacks = request.lacks().filter(|_| self.has(&["ask_user"]));
        if let Some(topic) = lacks {
            let deed = Some(request.text.clone());
            return self.ask_first(request, &Asking { topic, deed });
        }
        let job = match &request.job {
            Ok(Job::Ask(asking)) => return self.ask_first(request, asking),
            Ok(job) => job.clone(),
            Err(unclear) => return Ok(self.refuse(unclear)),
        };
        let heard = self.unplaced(request);
        let said = self.run(request, job)?;
        let words = request.unused.join(", ");
        let note = (!words.is_empty()).then(|| {
            self.language
                .fill(Sentence::Unused, &[("words", words.as_str())])
        });
        Ok(paragraphs([heard, said, note.unwrap_or_default()]))
    }

    fn run(&mut self, request: &Request, mut job: Job) -> Step<String> {
        if let Some(missing) = needs(&job).into_iter().find(|tool| !self.has(&[tool])) {
            return Ok(self.language.fill(Sentence::NoTool, &[("tool", missing)]));
        }
        for doubt in request
            .doubts
            .iter()
            .filter(|_| self.tools.contains(&"list_dir"))
        {
            match self.finds(&doubt.long) {
                Ok(true) => job.rename(&doubt.short, &doubt.long),
                // Without its folder the longer name cannot be meant.
                Ok(false) | Err(Next::Say(_)) => {}
                Err(ask @ Next::Ask(..)) => return Err(ask),
            }
        }
        match job {
            Job::Report { source, goal } => self.report(&source, &goal),
            Job::Replace {
                path,
                old,
                new,
                places,
            } => {
                let result = self.edit(&path, [&old, &new], places)?;
                let result = result.lines().next().unwrap_or("");
                let values = [
                    ("old", old.as_str()),
                    ("new", new.as_str()),
                    ("result", result),
                ];
                Ok(self.language.fill(Sentence::Replaced, &values))
            }
            Job::Ask(asking) => self.ask_first(request, &asking),
            Job::Post(text) => {
                let id = self.post(&text)?;
                let text = report::bounded(text);
                let values = [("text", text.as_str()), ("id", id)];
                Ok(self.language.fill(Sentence::Posted, &values))
            }
            Job::Greet => Ok(self.greeting(request)),
            Job::Introduce => Ok(self.with_abilities(Sentence::Who)),
            Job::Help => Ok(self.abilities()),
        }
    }

    fn report(&mut self, source: &Source, goal: &Goal) -> Step<String> {
        let sink = match goal {
            Goal::Answer | Goal::Unnamed | Goal::Chat => None,
            Goal::File(sink) => Some(sink),
        };
        let Report { said, content } = self.gather(source, sink)?;
        if *goal == Goal::Chat {
            return self.post_report(said);
        }
        let Some(sink) = sink else {
            let unplaced = *goal == Goal::Unnamed;
            let note = unplaced.then(|| self.language.say(Sentence::Unplaced));
            return Ok(paragraphs([said, note.unwrap_or_default()]));
        };
        let path = sink.path.as_str();
        let Some(content) = content else {
            let note = self
                .language
                .fill(Sentence::NothingToWrite, &[("path", path)]);
            return Ok(paragraphs([said, note]));
        };
        let done = match sink.mode {
            Mode::Write => self.write(path, &content),
            Mode::Append => self.append(path, &content),
        };
        let done = done.map(|()| self.wrote(source, sink));
        // What was found is said even when it could not be written.
        match done {
            Ok(done) => Ok(paragraphs([said, done])),
            Err(Next::Say(failure)) => Err(Next::Say(paragraphs([said, failure]))),
            Err(next @ Next::Ask(..)) => Err(next),
        }
    }

    fn post_report(&mut self, said: String) -> Step<String> {
        match self.post(&said) {
            Ok(id) => {
                let done = self.language.fill(Sentence::PostedReport, &[("id", id)]);
                Ok(paragraphs([said, done]))
            }
            // What was found is said even when it could not be posted.
            Err(Next::Say(failure)) => Err(Next::Say(paragraphs([said, failure]))),
            Err(next @ Next::Ask(..)) => Err(next),
        }
    }

    fn gather(&mut self, source: &Source, sink: Option<&Sink>) -> Step<Report> {
        let language = self.language;
        match source {
            Source::List(listing) => {
                let folder = listing.folder.as_deref();
                let text = self.list(folder)?;
                Ok(report::list(
                    language,
                    listing,
                    text,
                    sink.map(|sink| sink.path.as_str()),
                ))
            }
            Source::Count(listing) => {
                let text = self.list(listing.folder.as_deref())?;
                Ok(report::count(language, listing, text))
            }
            Source::Read { paths, lines } => {
                let texts = self.read(paths, *lines)?;
                Ok(report::texts(language, paths, &texts))
            }
            Source::Lines(paths) => {
                let texts = self.read(paths, None)?;
                Ok(report::lines(language, paths, &texts))
            }
            Source::Search { text, path } => {
                let result = self.search(text, path.as_deref())?;
                Ok(report::found(language, text, path.as_deref(), result))
            }
            Source::Sum(expression) => Ok(report::sum(language, expression)),
            Source::Dictated { text, wording } => {
                if let (Wording::Plain, Some(sink)) = (wording, sink)
                    && self.finds(&sink.path)?
                {
                    let said = language.fill(Sentence::Exists, &[("path", &sink.path)]);
                    return Err(Next::Say(said));
                }
                Ok(Report {
                    said: String::new(),
                    content: Some(text.clone()),
                })
            }
        }
    }

    /// What a successful write is told as.
    fn wrote(&self, source: &Source, sink: &Sink) -> String {
        let (sentence, text) = match (source, sink.mode) {
            (Source::Dictated { text, .. }, Mode::Write) if text.is_empty() => {
                (Sentence::WroteEmpty, "")
            }
            (Source::Dictated { text, .. }, Mode::Write) => (Sentence::WroteText, text.as_str()),
            (Source::Dictated { text, .. }, Mode::Append) => {
                (Sentence::AppendedText, text.as_str())
            }
            (
                Source::List(Listing {
                    detail: Detail::Names,
                    ..
                }),
                Mode::Write,
            ) => (Sentence::WroteNames, ""),
            (
                Source::List(Listing {
                    detail: Detail::Sizes,
                    ..
                }),
                Mode::Write,
            ) => (Sentence::WroteSizes, ""),
            (_, Mode::Write) => (Sentence::Wrote, ""),
            (_, Mode::Append) => (Sentence::Appended, ""),
        };
        let text = report::bounded(text.to_owned());
        self.language
            .fill(sentence, &[("path", &sink.path), ("text", &text)])
    }

    fn refuse(&self, unclear: &Unclear) -> String {
        let language = self.language;
        let words = |sentence, words: &str| language.fill(sentence, &[("words", words)]);
        match unclear {
            Unclear::Unknown => self.with_abilities(Sentence::Unknown),
            Unclear::Unable(word) => {
                format!("{}\n{}", words(Sentence::Unable, word), self.abilities())
            }
            Unclear::Order(order) => words(Sentence::UnknownOrder, order),
            Unclear::NoSink => language.say(Sentence::NoSink),
            Unclear::NoFile => language.say(Sentence::NoFile),
            Unclear::NoText | Unclear::NoPost => language.say(Sentence::NoText),
            Unclear::NoNumbers(_) => language.say(Sentence::NoNumbers),
            Unclear::TooLong => self.with_abilities(Sentence::TooLong),
        }
    }

    pub(super) fn with_abilities(&self, sentence: Sentence) -> String {
        format!("{} {}", self.language.say(sentence), self.abilities())
    }

    /// What can be done with the tools that are here, and how to have more.
    fn abilities(&self) -> String {
        let offers: &[(&[&str], Sentence)] = &[
            (&["list_dir", "write_file"], Sentence::CanList),
            (&["read_file"], Sentence::CanRead),
            (&["search_files"], Sentence::CanSearch),
            (&["write_file"], Sentence::CanWrite),
            (&["edit_file"], Sentence::CanEdit),
            (&[], Sentence::CanCompute),
            (&["ask_user"], Sentence::CanAsk),
            (&["post_message"], Sentence::CanPost),
            (&["select", "next"], Sentence::CanBook),
        ];
        let mut said = self.language.say(Sentence::Can);
        for (_, sentence) in offers.iter().filter(|(tools, _)| self.has(tools)) {
            said.push_str("\n- ");
            said.push_str(&self.language.say(*sentence));
        }
        format!("{said}\n{}", self.language.say(Sentence::Connect))
    }

    /// Puts a text behind the last lines of a file: an edit of these leaves all else as it is, its
    /// line ends too.
    fn append(&mut self, path: &str, content: &str) -> Step<()> {
        let text = self.read(&[path.to_owned()], None)?.concat();
        let shown = match FileText::parse(&text) {
            FileText::Empty => return self.write(path, content),
            FileText::NotText => {
                let values = [("path", path), ("result", text.trim_end())];
                return Err(Next::Say(self.language.fill(Sentence::NotText, &values)));
            }
            FileText::Lines {
                shown,
                first,
                total,
                ..
            } if is_cut(&shown, first, total) => {
                let shown = match self.read_end(path, total, u64::from(TAIL))? {
                    FileText::Lines { shown, .. } => shown,
                    FileText::Empty | FileText::NotText => Vec::new(),
                };
                // What is unique among these lines need not be so in the whole file.
                return self.append_behind(path, &shown.join("\n"), content);
            }
            FileText::Lines { shown, .. } => shown,
        };
        self.append_behind(path, &unique_end(&shown), content)
    }

    fn append_behind(&mut self, path: &str, end: &str, content: &str) -> Step<()> {
        let new = format!("{end}\n{}", content.strip_suffix('\n').unwrap_or(content));
        self.edit(path, [end, &new], Places::Only).map(drop)
    }
}

fn is_cut(shown: &[&str], first: u64, total: u64) -> bool {
    u64::try_from(shown.len()).is_ok_and(|count| first + count <= total)
}

/// The shortest end of a text, in whole lines, that is found in it but once.
fn unique_end(shown: &[&str]) -> String {
    let text = shown.join("\n");
    let ends = (1..=shown.len().min(usize::from(TAIL)))
        .map(|count| shown[shown.len() - count..].join("\n"));
    let mut unique = ends.filter(|end| !end.is_empty() && text.matches(end.as_str()).count() == 1);
    unique.next().unwrap_or(text)
}

pub(super) fn paragraphs<const N: usize>(texts: [String; N]) -> String {
    let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}
