//! Finds the expression in a question such as `what is 12 * (3+4)` or `сколько будет два плюс два`,
//! and what is to be done with numbers that are spoken of, as in `add two numbers`.

use super::lexicon::Meaning;
use super::reading::Reading;
use super::request::{Sink, Source, Topic, Unclear, Understood};
use super::words::Concept::{
    self, Adding, And, Answer, Append, Article, Calculate, Count, Dividing, File, Files, Filler,
    Find, Folder, Folders, For, List, Minus, Multiplying, Names, Numbers, Of, Over, Plus, Power,
    Subtracting, Times, What,
};
use super::words::Language;

/// At most so many numbers are asked for at once.
const MAX_NUMBERS: usize = 100;

/// The longest run of numbers and operators, when the rest of the text asks for its value.
pub(super) fn sum(reading: &mut Reading<'_>, sink: Option<&Sink>) -> Understood {
    let (first, last) = longest_run(reading)?;
    if reading.has(&[File, Files, Folder, Folders, Find, List, Names]) {
        return None;
    }
    let signs = (first..=last).filter_map(|at| sign(reading, at));
    let expression = signs.collect::<Vec<_>>().join(" ").replace("* *", "^");
    reading.take(first, last);
    let asked = reading.has(&[Calculate]);
    let nothing_else = reading.unused(&[]).is_empty();
    let bare = nothing_else && (sink.is_none() || reading.has(&[What, Count]));
    (asked || bare).then_some(Ok(Source::Sum(expression)))
}

/// `add two numbers`, `multiply the numbers 3 and 4`: the numbers behind the word for them, else
/// those that the person has answered.
pub(super) fn of_numbers(reading: &mut Reading<'_>, sink: Option<&Sink>) -> Understood {
    let (verb, sign) = operation(reading, sink)?;
    let joined = |numbers: Vec<String>| Source::Sum(numbers.join(&format!(" {sign} ")));
    let is_numbers = |topic: &Topic| matches!(topic, Topic::Numbers(_));
    let answered = reading
        .given
        .iter()
        .find(|given| is_numbers(&given.topic))
        .cloned();
    if let Some(given) = answered {
        let Topic::Numbers(count) = given.topic else {
            return None;
        };
        let numbers = numbers(reading.language, &given.answer, count);
        reading.take_given(is_numbers);
        reading.take(verb, verb);
        take_counted(reading);
        return Some(numbers.map(joined).ok_or(Unclear::NoNumbers(count)));
    }
    let (count, noun) = take_counted(reading)?;
    reading.take(verb, verb);
    let behind = noun + 1..reading.pieces.len();
    let mut said: Vec<(usize, String)> = Vec::new();
    for at in behind {
        match &reading.pieces[at].meaning {
            Meaning::Number(digits) if reading.is_free(at) => said.push((at, digits.clone())),
            _ => {}
        }
    }
    if said.len() < 2 || count.is_some_and(|count| count != said.len()) {
        return Some(Err(Unclear::NoNumbers(count)));
    }
    for (at, _) in &said {
        reading.take(*at, *at);
    }
    let digits = said.into_iter().map(|(_, digits)| digits).collect();
    Some(Ok(joined(digits)))
}

/// The verb, and the sign that stands for it.
fn operation(reading: &Reading<'_>, sink: Option<&Sink>) -> Option<(usize, &'static str)> {
    let adding: &[Concept] = if sink.is_none() {
        &[Adding, Append]
    } else {
        &[Adding]
    };
    let operations = [
        (adding, "+"),
        (&[Subtracting], "-"),
        (&[Multiplying], "*"),
        (&[Dividing], "/"),
    ];
    let mut known = operations.into_iter();
    known.find_map(|(verbs, sign)| Some((reading.first(verbs)?, sign)))
}

/// The numbers that words speak of, if that is all that they do: `two numbers`.
pub(super) fn spoken_of(reading: &Reading<'_>, from: usize, to: usize) -> Option<Topic> {
    let (noun, count) = counted(reading, from, to)?;
    let known = [Article, Filler, For, Of, Numbers, Answer];
    let fits = |at: usize| {
        let mark = matches!(reading.pieces[at].meaning, Meaning::Mark(_));
        mark || at == noun || Some(at) == count || reading.pieces[at].is_any(&known)
    };
    let is_all = (from..to).all(fits);
    let amount = count.map(|at| amount(reading, at));
    // So many or so few are not asked for.
    (is_all && amount != Some(None)).then(|| Topic::Numbers(amount.flatten()))
}

/// Uses up the word for numbers, with how many there are; says where the word stands.
fn take_counted(reading: &mut Reading<'_>) -> Option<(Option<usize>, usize)> {
    let (noun, count) = counted(reading, 0, reading.pieces.len())?;
    let amount = match count {
        Some(at) => Some(amount(reading, at)?),
        None => None,
    };
    for at in count.into_iter().chain([noun]) {
        reading.take(at, at);
    }
    Some((amount, noun))
}

/// Where the word for numbers stands, and the number of them.
fn counted(reading: &Reading<'_>, from: usize, to: usize) -> Option<(usize, Option<usize>)> {
    let is_number = |at: usize| matches!(reading.pieces[at].meaning, Meaning::Number(_));
    let before = |noun: usize| {
        let passing = |at: &usize| reading.is(*at, &[Article, Filler, Of]);
        let count = (from..noun).rev().find(|at| !passing(at));
        count.filter(|at| reading.is_free(*at) && is_number(*at))
    };
    let noun = (from..to).find(|at| reading.is(*at, &[Numbers]));
    // In Chinese the word for results is that for numbers, too.
    let noun = noun.or_else(|| {
        let mut answers = (from..to).filter(|at| reading.is(*at, &[Answer]));
        answers.find(|at| reading.language == Language::Chinese && before(*at).is_some())
    })?;
    Some((noun, before(noun)))
}

/// How many numbers a piece says there are; none for less than two or very many.
fn amount(reading: &Reading<'_>, at: usize) -> Option<usize> {
    match &reading.pieces[at].meaning {
        Meaning::Number(digits) => digits
            .parse()
            .ok()
            .filter(|count| (2..=MAX_NUMBERS).contains(count)),
        _ => None,
    }
}

/// The numbers that an answer consists of: so many, or at least two.
pub(super) fn numbers(
    language: Language,
    answer: &str,
    count: Option<usize>,
) -> Option<Vec<String>> {
    let reading = Reading::new_in(answer, language)?;
    let mut numbers = Vec::new();
    let mut negative = false;
    for (at, piece) in reading.pieces.iter().enumerate() {
        let signs = reading
            .pieces
            .get(at + 1)
            .is_some_and(|next| next.glued && matches!(next.meaning, Meaning::Number(_)));
        match &piece.meaning {
            Meaning::Number(digits) => {
                numbers.push(format!("{}{digits}", if negative { "-" } else { "" }));
                negative = false;
            }
            Meaning::Operator('-') if signs && (at == 0 || !piece.glued) => negative = true,
            Meaning::Mark(_) | Meaning::Is(And | Filler) => {}
            _ => return None,
        }
    }
    let fits = count.map_or((2..=MAX_NUMBERS).contains(&numbers.len()), |count| {
        count == numbers.len()
    });
    fits.then_some(numbers)
}

/// The first and the last piece of the longest run that computes something.
fn longest_run(reading: &Reading<'_>) -> Option<(usize, usize)> {
    let count = reading.pieces.len();
    let starts = (0..count).filter(|at| *at == 0 || sign(reading, at - 1).is_none());
    let runs = starts.filter_map(|first| {
        let signs: Vec<_> = (first..count).map_while(|at| sign(reading, at)).collect();
        let from = signs
            .iter()
            .position(|sign| is_number(sign) || matches!(*sign, "(" | "-"))?;
        let to = signs
            .iter()
            .rposition(|sign| is_number(sign) || *sign == ")")?;
        let signs = signs.get(from..=to)?;
        let numbers = signs.iter().filter(|sign| is_number(sign)).count();
        let computes = signs.iter().any(|sign| "+-*/^".contains(sign));
        (numbers > 1 && computes).then_some((first + from, first + to))
    });
    runs.max_by_key(|(first, last)| last - first)
}

fn is_number(sign: &str) -> bool {
    sign.starts_with(|c: char| c.is_ascii_digit())
}

/// What a piece is in an expression.
fn sign<'a>(reading: &'a Reading<'_>, at: usize) -> Option<&'a str> {
    const SIGNS: &str = "+-*/^()";
    if !reading.is_free(at) {
        return None;
    }
    match &reading.pieces[at].meaning {
        Meaning::Number(digits) => Some(digits),
        Meaning::Operator(sign) => SIGNS.find(*sign).map(|at| &SIGNS[at..=at]),
        Meaning::Is(Plus) => Some("+"),
        Meaning::Is(Minus) => Some("-"),
        Meaning::Is(Times) => Some("*"),
        Meaning::Is(Over) => Some("/"),
        Meaning::Is(Power) => Some("^"),
        _ => None,
    }
}
