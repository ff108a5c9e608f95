//! The words that are understood, a table for each language.
//!
//! A cell holds spellings separated by `|`. A spelling is one word or several; a word that ends in
//! `*` stands for every word that begins so. The longest spelling that fits wins, so `file name`
//! beats `file`. Words are in lower case, `е` for `ё`, Han characters are simplified.

mod chinese;
mod english;
mod russian;
mod ukrainian;

/// A language that people can write in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// English.
    English,
    /// Russian.
    Russian,
    /// Chinese, in simplified or traditional characters.
    Chinese,
    /// Ukrainian.
    Ukrainian,
}

impl Language {
    /// All of them; the earlier wins a tie.
    pub(super) const ALL: [Self; 4] =
        [Self::English, Self::Russian, Self::Chinese, Self::Ukrainian];

    /// Its words.
    pub(super) fn words(self) -> &'static [(Concept, &'static str)] {
        match self {
            Self::English => english::WORDS,
            Self::Russian => russian::WORDS,
            Self::Chinese => chinese::WORDS,
            Self::Ukrainian => ukrainian::WORDS,
        }
    }

    /// Its numbers.
    pub(super) fn numbers(self) -> &'static [(u64, &'static str)] {
        match self {
            Self::English => english::NUMBERS,
            Self::Russian => russian::NUMBERS,
            Self::Chinese => chinese::NUMBERS,
            Self::Ukrainian => ukrainian::NUMBERS,
        }
    }

    /// Letters that only this one of the languages has.
    pub(super) fn letters(self) -> &'static str {
        match self {
            Self::English | Self::Chinese => "",
            Self::Russian => "ыэъё",
            Self::Ukrainian => "іїєґ",
        }
    }

    /// Whether a comma stands before the fraction of a number, not between thousands.
    pub(super) fn has_decimal_comma(self) -> bool {
        matches!(self, Self::Russian | Self::Ukrainian)
    }
}

/// What a word means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Concept {
    // What is to be done.
    List,
    Show,
    Read,
    Write,
    Append,
    Find,
    /// What says what is inside: `containing`.
    Holding,
    Replace,
    Count,
    Calculate,
    What,
    Content,
    // What is done with a person.
    /// What says who is asked, too: `ask me`.
    AskMe,
    Ask,
    /// What a question is about when it may be about anything.
    Something,
    /// What stands for the person's own name: `who I am`.
    MyName,
    Repeat,
    // What is done with the chat.
    Post,
    Send,
    /// What says the place, too: `tell the chat`.
    TellChat,
    Chat,
    // Things.
    File,
    Files,
    Folder,
    Folders,
    Names,
    Sizes,
    Lines,
    Numbers,
    Text,
    Empty,
    /// What a computation brought.
    Answer,
    Here,
    // Orders.
    Largest,
    Smallest,
    First,
    Last,
    ByName,
    BySize,
    Ascending,
    Descending,
    /// An order that cannot be had: age, length of the name.
    OtherOrder,
    /// What makes the next word a superlative.
    Most,
    // What stands between.
    To,
    In,
    From,
    Of,
    With,
    For,
    /// In Chinese, behind a place: in it.
    Inside,
    /// In Chinese, before an object that stands before its verb.
    Take,
    /// In Chinese, before what something is replaced with.
    Using,
    Article,
    Mine,
    Called,
    And,
    All,
    /// Words that change nothing.
    Filler,
    // Arithmetic.
    Plus,
    Minus,
    Times,
    Over,
    Power,
    // What is done with numbers that are spoken of: `multiply them`.
    Adding,
    Subtracting,
    Multiplying,
    Dividing,
    // Talk.
    Hello,
    Who,
    Help,
    /// What cannot be done: other deeds, conditions, negation.
    Unable,
    /// Texts that would have to be composed.
    Composition,
}

/// Kinds of files that people name by a word, each before its ending.
pub(super) const KINDS: &[(&str, &str)] = &[
    ("txt", "text|plain text|текстов*|文本"),
    ("md", "markdown|маркдаун"),
    ("rs", "rust|раст"),
    ("py", "python|питон*|пайтон"),
    ("js", "javascript"),
    ("ts", "typescript"),
];
/// Endings that people name as such: `csv files`, `файлы csv`. Any other is understood as `*.abc`.
pub(super) const EXTENSIONS: &str = "|7z|avi|bak|bat|bin|bmp|bz2|c|cfg|conf|cpp|cs|css|csv|dat|db|diff|doc|docx|exe|flac|gif|go|gz|h\
    |hpp|htm|html|ini|ipynb|iso|java|jpeg|jpg|js|json|jsx|kt|lock|log|lua|md|mkv|mov|mp3|mp4|odt|ogg\
    |patch|pdf|php|pl|png|po|ppt|pptx|ps1|py|rar|rb|rs|rst|rtf|scala|sh|sql|sqlite|svg|swift|tar|tex\
    |tgz|tmp|toml|ts|tsv|tsx|txt|vue|wasm|wav|webp|xls|xlsx|xml|xz|yaml|yml|zip|";
/// Endings of numbers written with digits, as in `3-х`.
pub(super) const NUMBER_ENDINGS: &str = "|х|ти|рех|ох|ьох|м|мя|";
/// Words for the name of a file, among those for names.
pub(super) const FILE_NAMES: &str = "|filename|filenames|文件名|文件名称|文件名字|档名\
    |именафайлов|названияфайлов|іменафайлів|назвифайлів|";
/// Words behind which somebody's words follow, as in `tell the chat that`.
pub(super) const THAT: &str = "|that|что|що|说|";
/// Words that may stand before a plea, as in `could you please`.
pub(super) const POLITE: &str = "|please|kindly|can|could|would|will|you|now|just|ok|okay\
    |пожалуйста|ты|вы|можешь|можете|сейчас|будьласка|ти|ви|можеш|зараз|请|你|您|能|可以|先|";
