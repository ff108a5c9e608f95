//! What a person asked for, as far as it was understood.

use super::words::Language;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The language to answer in.
    pub(super) language: Language,
    /// What was said, as far as it was looked at.
    pub(super) text: String,
    /// What a person has answered so far, on being asked for it.
    pub(super) given: Vec<Given>,
    /// The answers of these that the job has no place for.
    pub(super) left: Vec<Given>,
    /// What to do, or why nothing can be done.
    pub(super) job: Result<Job, Unclear>,
    /// Words of the request that changed nothing.
    pub(super) unused: Vec<String>,
    /// Names that may be longer than they were taken to be.
    pub(super) doubts: Vec<Doubt>,
}

/// A name such as `my notes.txt`: that file, or the person's `notes.txt`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Doubt {
    /// Without the owner, as the job has it.
    pub(super) short: String,
    /// With the owner.
    pub(super) long: String,
}

/// What a person answered on being asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// What the question was about.
    pub(super) topic: Topic,
    /// The answer, exactly.
    pub(super) answer: String,
}

/// What a person is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// Their name.
    Name,
    /// A file.
    File,
    /// A folder.
    Folder,
    /// The file that something goes into.
    Sink,
    /// A text.
    Text,
    /// Numbers: so many, or at least two.
    Numbers(Option<usize>),
    /// Whatever they like.
    Anything,
    /// A question in somebody's own words, as it is to be asked.
    Question(String),
    /// What somebody described in their own words.
    Words(String),
}

impl Topic {
    /// An answer that fits, so that what comes behind a question is understood before it is asked.
    pub(super) fn example(&self) -> String {
        match self {
            Self::Numbers(count) => "1 ".repeat(count.unwrap_or(2)),
            Self::Name
            | Self::File
            | Self::Folder
            | Self::Sink
            | Self::Text
            | Self::Anything
            | Self::Question(_)
            | Self::Words(_) => "x".to_owned(),
        }
    }

    /// Whether the answer may be of any kind.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Name | Self::Text | Self::Anything | Self::Question(_) | Self::Words(_) => true,
            Self::File | Self::Folder | Self::Sink | Self::Numbers(_) => false,
        }
    }
}

/// A question to the person, and what comes behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asking {
    /// What the question is about.
    pub(super) topic: Topic,
    /// What is to be done with the answer, in the person's words; none to say it back.
    pub(super) deed: Option<String>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// Find something out and say it, or put it into a file.
    Report {
        /// What.
        source: Source,
        /// Where it goes.
        goal: Goal,
    },
    /// Replace text in a file.
    Replace {
        /// The file.
        path: String,
        /// The text that goes.
        old: String,
        /// The text that comes.
        new: String,
        /// Which of its places.
        places: Places,
    },
    /// Ask the person something first.
    Ask(Asking),
    /// Post what the person said word for word in the chat.
    Post(String),
    /// Answer a greeting.
    Greet,
    /// Say what this is.
    Introduce,
    /// Say what can be done.
    Help,
}

impl Job {
    /// Puts one path in the place of another.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let paths: Vec<&mut String> = match self {
            Self::Report { source, goal } => {
                let sink = match goal {
                    Goal::File(sink) => Some(&mut sink.path),
                    Goal::Answer | Goal::Unnamed | Goal::Chat => None,
                };
                source.paths().into_iter().chain(sink).collect()
            }
            Self::Replace { path, .. } => vec![path],
            Self::Ask(_) | Self::Post(_) | Self::Greet | Self::Introduce | Self::Help => Vec::new(),
        };
        for path in paths.into_iter().filter(|path| *path == from) {
            to.clone_into(path);
        }
    }
}

impl Source {
    fn paths(&mut self) -> Vec<&mut String> {
        match self {
            Self::List(listing) | Self::Count(listing) => listing.folder.iter_mut().collect(),
            Self::Read { paths, .. } | Self::Lines(paths) => paths.iter_mut().collect(),
            Self::Search { path, .. } => path.iter_mut().collect(),
            Self::Sum(_) | Self::Dictated { .. } => Vec::new(),
        }
    }
}

/// What a report is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The entries of a folder.
    List(Listing),
    /// How many there are.
    Count(Listing),
    /// The text of files, or its first lines.
    Read {
        /// The files.
        paths: Vec<String>,
        /// How many lines; none for all.
        lines: Option<u64>,
    },
    /// How many lines files have.
    Lines(Vec<String>),
    /// The lines with a text.
    Search {
        /// The text.
        text: String,
        /// Where; none for everywhere.
        path: Option<String>,
    },
    /// An arithmetic expression.
    Sum(String),
    /// What the person said word for word.
    Dictated {
        /// The text.
        text: String,
        /// How sure that is.
        wording: Wording,
    },
}

/// Whether words are surely meant literally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wording {
    /// They are in quotation marks, or announced as a text.
    Marked,
    /// They stand where a text would; they may as well describe one.
    Plain,
}

/// What a rule makes of a text: none when the text asks for something else.
pub(super) type Understood = Option<Result<Source, Unclear>>;

/// Where a report goes, beside the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// Nowhere.
    Answer,
    /// Into a file that is not named.
    Unnamed,
    /// Into the chat.
    Chat,
    /// Into a file.
    File(Sink),
}

/// A file that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sink {
    /// The file.
    pub(super) path: String,
    /// What becomes of the text it has.
    pub(super) mode: Mode,
}

/// What becomes of the text that a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It goes.
    Write,
    /// It stays in front.
    Append,
}

/// Which entries of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listing {
    /// The folder; none for the one we are in.
    pub(super) folder: Option<String>,
    /// At most so many; none for all.
    pub(super) count: Option<usize>,
    /// Which first.
    pub(super) order: Order,
    /// Which at all.
    pub(super) kind: Kind,
    /// What of them goes into a file.
    pub(super) detail: Detail,
}

/// Which entries come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// By name.
    Name,
    /// By name, the last first.
    NameReversed,
    /// The largest.
    Largest,
    /// The smallest.
    Smallest,
}

/// Which entries count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// All.
    Any,
    /// Files.
    Files,
    /// Folders.
    Folders,
    /// Files with this ending, without its dot.
    Ending(String),
}

/// What of an entry goes into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// The name.
    Names,
    /// The name and the size in bytes.
    Sizes,
}

/// Which places of a text are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// The only one.
    Only,
    /// All.
    All,
}

/// Why a request cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unclear {
    /// It is none of the requests that are known.
    Unknown,
    /// It asks for something that cannot be done: this word.
    Unable(String),
    /// It asks for an order or a kind that is not known: these words.
    Order(String),
    /// It does not say into which file.
    NoSink,
    /// It does not say which file.
    NoFile,
    /// It does not say which text.
    NoText,
    /// It does not say what to post.
    NoPost,
    /// It does not say which numbers: so many, or at least two.
    NoNumbers(Option<usize>),
    /// It is too long.
    TooLong,
}
