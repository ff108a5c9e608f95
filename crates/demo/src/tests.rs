//! Tests of the provider as its callers see it; the rules have tables of their own.

use super::say::Sentence;
use super::words::Language;

mod abilities;
mod chatting;
mod events;
mod honesty;
pub(super) mod world;

const FILES: &[(&str, &str)] = &[
    ("a file with spaces.txt", "123456789"),
    ("docs/deep.txt", "123456789012345"),
    ("middle.md", "12345678"),
    ("notes.txt", "one\ntwo\nthree\n"),
    ("small.txt", "1"),
    ("twin of middle.md", "12345678"),
];

/// A request of each kind, in every language where its result is told in other words.
const REQUESTS: &[&str] = &[
    "list the three largest files here and write their names to largest.txt",
    "перечисли три самых больших файла здесь и запиши их имена и размеры в largest.txt",
    "列出这里最大的三个文件，把它们的名字写到 largest.txt",
    "перелічи три найбільші файли тут і запиши їхні імена у файл largest.txt",
    "append the names of the two smallest files to notes.txt",
    "how many files are here? write the number to n.txt",
    "show me notes.txt and middle.md",
    "how many lines are in notes.txt? save it to n.txt",
    "find two in notes.txt and write the matches to found.txt",
    "write \"hello\" to a.txt",
    "write hello to new.txt",
    "create an empty file b.txt",
    "append \"four\" to notes.txt",
    "добавь «четыре» в notes.txt",
    "replace two with 2 in notes.txt",
    "把 notes.txt 里的 two 换成 2",
    "calculate 2+2 and write it to sum.txt",
    "what is in my notes.txt",
];

/// Requests that reach the person, with an answer for each of their questions.
const CHATS: &[(&str, &[&str])] = &[
    ("ask me my name and greet me", &["Olena"]),
    ("спроси, как меня зовут, и поздоровайся", &["Олена"]),
    ("ask me which file to read, then read it", &["notes.txt"]),
    ("问我要读哪个文件，然后读它", &["notes.txt"]),
    ("запитай у мене два числа й додай їх", &["2 і 3"]),
    ("ask me what to write and write it to a.txt", &["hello"]),
    ("ask me something", &["no"]),
    ("ask me how I feel and post it in the chat", &["fine"]),
    ("read the file", &["notes.txt"]),
    ("write \"hello\"", &["a.txt"]),
    ("add two numbers", &["1 2"]),
    ("post in the chat", &["hello"]),
    ("tell the chat that the build is done", &[]),
    ("напиши в чат, сколько здесь файлов", &[]),
    ("post the names of the two largest files in the chat", &[]),
];

/// What is only said of deeds that were done.
const DEEDS: &[Sentence] = &[
    Sentence::WroteNames,
    Sentence::WroteSizes,
    Sentence::WroteText,
    Sentence::WroteEmpty,
    Sentence::Wrote,
    Sentence::Appended,
    Sentence::AppendedText,
    Sentence::Replaced,
    Sentence::Posted,
    Sentence::PostedReport,
    Sentence::Answered,
    Sentence::HelloName,
];

/// Whether a text tells of a deed, whatever its names.
fn claims(text: &str) -> bool {
    let tells = |deed: Sentence, language: Language| {
        let told = language.fill(
            deed,
            &["path", "text", "old", "new", "id", "answer", "name"].map(|name| (name, "\0")),
        );
        told.split('\0').all(|piece| text.contains(piece))
    };
    Language::ALL
        .iter()
        .any(|language| DEEDS.iter().any(|deed| tells(*deed, *language)))
}
