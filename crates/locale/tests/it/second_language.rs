//! A language is a file: this crate itself, compiled with a made-up catalogue.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::compiler::{File, compile};
use crate::file;

const ENGLISH: &str = r#"{
  "greeting.braces": "{{not}} a value",
  "greeting.lines": "one\n\"two\" \\ `three`",
  "greeting.plain": "good morning",
  "greeting.swapped": "{first} before {second}, {first}",
  "sessions.deleted": {"one": "one session deleted from {dir}", "other": "{count} sessions deleted from {dir}"},
  "sessions.left": {"one": "one left", "other": "{count} left"}
}"#;
const RUSSIAN: &str = r#"{
  "greeting.braces": "{{не}} значение",
  "greeting.lines": "раз\nдва",
  "greeting.plain": "доброе утро",
  "greeting.swapped": "{second} после {first}",
  "sessions.deleted": {"many": "из {dir} удалено {count} сеансов", "one": "из {dir} удалён {count} сеанс", "few": "из {dir} удалено {count} сеанса", "other": "из {dir} удалено {count} сеанса"},
  "sessions.left": {"one": "остался {count}", "few": "осталось {count}", "many": "осталось {count}"}
}"#;
const CHINESE: &str = r#"{
  "greeting.braces": "{{不}}是值",
  "greeting.lines": "一\n二",
  "greeting.plain": "早上好",
  "greeting.swapped": "{second}在{first}之后",
  "sessions.deleted": {"other": "已从{dir}删除{count}个会话"},
  "sessions.left": {"other": "剩{count}个"}
}"#;

/// Chooses the language of its argument, which is as `LANG` has it, and says everything.
const PROGRAM: &str = r#"
use samovar_locale::{Language, choose, greeting, sessions};

fn main() {
    let raw = std::env::args().nth(1).unwrap();
    let language = Language::from_tag(&raw);
    println!("{}", language.map_or("none", Language::tag));
    if let Some(language) = language {
        assert_eq!(choose(language), language);
        assert_eq!(choose(Language::En), language);
    }
    println!("{}", greeting::plain());
    println!("{}", greeting::braces());
    println!("{}", greeting::lines());
    println!("{}", greeting::swapped("a", 2));
    for count in [1, 2, 5, 11, 21, 22] {
        println!("{}; {}", sessions::deleted(count, "x"), sessions::left(count));
    }
}
"#;

fn catalogue() -> Vec<File> {
    vec![
        file("zh-Hans.json", CHINESE),
        file("ru.json", RUSSIAN),
        file("en.json", ENGLISH),
        file("en-GB.json", &ENGLISH.replace("morning", "day")),
    ]
}

/// Compiles one file as the house does, without a warning.
fn rustc(folder: &Path, arguments: &[&str]) {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let output = Command::new(rustc)
        .args([
            "--edition",
            "2024",
            "-D",
            "warnings",
            "-D",
            "missing_docs",
            "--out-dir",
        ])
        .arg(folder)
        .args(arguments)
        .env("OUT_DIR", folder)
        .output()
        .expect("whoever compiled this test has a rustc");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
}

/// A program that speaks with this crate, compiled with the made-up catalogue.
struct Speaker {
    folder: tempfile::TempDir,
}

impl Speaker {
    fn compile() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let at = folder.path();
        let source = compile(&catalogue()).expect("the catalogue is right");
        let program = at.join("speak.rs");
        fs::write(at.join("catalogue.rs"), source).expect("the folder can be written");
        fs::write(&program, format!("//! Speaks.\n{PROGRAM}")).expect("as before");
        let lib = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs");
        let library = [
            "--crate-type",
            "rlib",
            "--crate-name",
            "samovar_locale",
            lib,
        ];
        rustc(at, &library);
        let search = format!("samovar_locale={}/libsamovar_locale.rlib", at.display());
        rustc(at, &["--extern", &search, &program.to_string_lossy()]);
        Self { folder }
    }

    /// The tag of the language for this locale, and below it all that is said in it.
    fn speak(&self, locale: &str) -> Vec<String> {
        let program = self.folder.path().join("speak");
        let output = Command::new(program).arg(locale).output();
        let output = output.expect("the program was just compiled");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("sentences are text");
        text.lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_language_that_is_a_file_is_spoken_with_its_plurals() {
    let speaker = Speaker::compile();

    assert_eq!(
        speaker.speak("en"),
        [
            "en",
            "good morning",
            "{not} a value",
            "one",
            "\"two\" \\ `three`",
            "a before 2, a",
            "one session deleted from x; one left",
            "2 sessions deleted from x; 2 left",
            "5 sessions deleted from x; 5 left",
            "11 sessions deleted from x; 11 left",
            "21 sessions deleted from x; 21 left",
            "22 sessions deleted from x; 22 left",
        ]
    );
    assert_eq!(
        speaker.speak("ru"),
        [
            "ru",
            "доброе утро",
            "{не} значение",
            "раз",
            "два",
            "2 после a",
            "из x удалён 1 сеанс; остался 1",
            "из x удалено 2 сеанса; осталось 2",
            "из x удалено 5 сеансов; осталось 5",
            "из x удалено 11 сеансов; осталось 11",
            "из x удалён 21 сеанс; остался 21",
            "из x удалено 22 сеанса; осталось 22",
        ]
    );
    let chinese = speaker.speak("zh-Hans");
    assert_eq!(
        chinese.get(6..8),
        Some(
            ["已从x删除1个会话; 剩1个", "已从x删除2个会话; 剩2个"]
                .map(str::to_owned)
                .as_slice()
        )
    );
}

#[test]
fn a_language_is_found_by_what_the_environment_says() {
    let speaker = Speaker::compile();
    for (tag, locales) in [
        ("en", ["en_US.UTF-8", "EN", "en-AU", " en "]),
        ("en-GB", ["en_GB.UTF-8", "en-gb", "en_GB", "en-Latn-GB"]),
        ("ru", ["ru_RU.UTF-8", "ru", "ru-Cyrl-RU", "ru_UA@euro"]),
        ("zh-Hans", ["zh_CN.UTF-8", "zh-Hans", "zh", "zh_SG"]),
        ("none", ["zh_TW.UTF-8", "zh-Hant", "zh_HK", "zh-Hant-CN"]),
        ("none", ["C", "POSIX", "", "_"]),
        ("none", ["C.UTF-8", "de_DE", "rus", "r"]),
    ] {
        for locale in locales {
            assert_eq!(
                speaker.speak(locale).first().map(String::as_str),
                Some(tag),
                "{locale}"
            );
        }
    }
    assert_eq!(
        speaker.speak("de_DE").get(1..),
        speaker.speak("en").get(1..)
    );
}

#[test]
fn the_order_in_which_the_files_are_read_means_nothing() {
    let mut files = catalogue();
    let source = compile(&files).expect("the catalogue is right");
    files.reverse();
    assert_eq!(compile(&files).as_ref(), Ok(&source));
}
