//! Cuts a text into tokens: words, single Han characters, numbers, operators, quoted text, marks.

/// A text with more bytes is not looked at: it is no plain request.
pub(super) const MAX_BYTES: usize = 16 * 1024;
/// A text with more tokens is not looked at either.
pub(super) const MAX_TOKENS: usize = 2_000;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word, maybe a path.
    Word,
    /// One Han character; words are found among these by the tables.
    Han,
    /// Digits, maybe with a fraction.
    Number,
    /// One character of arithmetic.
    Operator(char),
    /// Text in quotation marks: the bytes between them.
    Quoted {
        /// The first byte behind the opening mark.
        from: usize,
        /// The first byte of the closing mark.
        to: usize,
    },
    /// Punctuation.
    Mark(char),
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// What it is.
    pub(super) kind: Kind,
    /// Its first byte.
    pub(super) start: usize,
    /// The first byte behind it.
    pub(super) end: usize,
    /// It as the tables spell it: lower case, simplified Han, plain digits.
    pub(super) norm: String,
    /// Whether nothing but the token before it lies in front.
    pub(super) glued: bool,
}

/// Opening quotation marks, each with the marks that close it.
const QUOTES: &[(char, &[char])] = &[
    ('"', &['"']),
    ('`', &['`']),
    ('“', &['”', '“']),
    ('„', &['“', '”']),
    ('«', &['»']),
    ('「', &['」']),
    ('『', &['』']),
    ('《', &['》']),
    ('＂', &['＂']),
    ('\'', &['\'']),
    ('‘', &['’']),
];
/// Marks that are apostrophes too, so they quote only whole words.
const APOSTROPHES: &str = "'‘’";
/// Longer words are not cut at their hyphens.
const MAX_HYPHENATED: usize = 64;
/// Punctuation that ends a word wherever it stands.
const SEPARATORS: &str = ",;:!?，。；：！？、…—|";
/// Characters of arithmetic as people type them, and what they mean.
const OPERATORS: &[(char, char)] = &[
    ('+', '+'),
    ('-', '-'),
    ('*', '*'),
    ('/', '/'),
    ('^', '^'),
    ('(', '('),
    (')', ')'),
    ('=', '='),
    ('＋', '+'),
    ('－', '-'),
    ('−', '-'),
    ('–', '-'),
    ('×', '*'),
    ('·', '*'),
    ('＊', '*'),
    ('÷', '/'),
    ('／', '/'),
    ('（', '('),
    ('）', ')'),
    ('＝', '='),
];
/// Traditional characters in the words of the tables, each before its simplified form.
const TRADITIONAL: &str = "檔档個个這这裡里裏里讀读寫写內内開开資资夾夹數数幾几尋寻換换為为爲为幫帮輸输\
    結结錄录從从兩两別别誰谁嗎吗後后順顺儲储顯显檢检視视進进請请計计對对稱称們们將将與与並并還还選选創创\
    體体長长項项總总詢询給给單单麼么說说嘗尝間间檢检舊旧裝装會会語语統统筆笔問问題题執执運运編编詞词\
    標标號号類类種种級级擇择頭头歲岁邊边舉举辦办區区沒没過过無无條条當当動动複复減减劃划萬万應应該该發发訴诉\
    電电張张劇剧點点連连場场訂订買买驚惊愛爱畫画紀纪週周禮礼預预";

/// Whether a character is Han, written without spaces between words.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' | '〇')
}

/// Spells a word as the tables do.
pub(super) fn normalise(word: &str) -> String {
    word.to_lowercase().chars().map(plain).collect()
}

fn plain(c: char) -> char {
    match c {
        'ё' => 'е',
        '’' | 'ʼ' | '‘' => '\'',
        '０'..='９' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        c if is_han(c) => simplified(c),
        c => c,
    }
}

fn simplified(c: char) -> char {
    let mut pairs = TRADITIONAL.chars().filter(|c| is_han(*c));
    while let (Some(traditional), Some(simple)) = (pairs.next(), pairs.next()) {
        if traditional == c {
            return simple;
        }
    }
    c
}

fn operator(c: char) -> Option<char> {
    OPERATORS
        .iter()
        .find(|(typed, _)| *typed == c)
        .map(|(_, meant)| *meant)
}

/// Cuts a text; at most one token more than [`MAX_TOKENS`].
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut cutter = Cutter {
        text,
        at: 0,
        glued: false,
        tokens: Vec::new(),
    };
    while cutter.tokens.len() <= MAX_TOKENS && cutter.cut_one() {}
    cutter.tokens
}

struct Cutter<'a> {
    text: &'a str,
    at: usize,
    glued: bool,
    tokens: Vec<Token>,
}

impl Cutter<'_> {
    fn cut_one(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let Some(c) = rest.chars().next() else {
            return false;
        };
        if c.is_whitespace() {
            self.at += c.len_utf8();
            self.glued = false;
        } else if let Some((from, to, end)) = quoted(rest, self.glued) {
            let kind = Kind::Quoted {
                from: self.at + from,
                to: self.at + to,
            };
            self.push(kind, end);
        } else if is_han(c) {
            self.push(Kind::Han, c.len_utf8());
        } else if SEPARATORS.contains(c) {
            self.push(Kind::Mark(c), c.len_utf8());
        } else {
            self.cut_chunk(chunk(rest));
        }
        true
    }

    fn push(&mut self, kind: Kind, len: usize) {
        let (start, end) = (self.at, self.at + len);
        let norm = normalise(&self.text[start..end]);
        self.tokens.push(Token {
            kind,
            start,
            end,
            norm,
            glued: self.glued,
        });
        self.at = end;
        self.glued = true;
    }

    /// Cuts what stands between separators: arithmetic, a path, words joined by a hyphen.
    fn cut_chunk(&mut self, len: usize) {
        let chunk = &self.text[self.at..self.at + len];
        let first = chunk.chars().next().unwrap_or(' ');
        let dots = chunk.chars().all(|c| c == '.');
        let divides = matches!(
            self.tokens.last(),
            Some(Token {
                kind: Kind::Number | Kind::Operator(')'),
                ..
            })
        );
        if is_arithmetic(chunk) && (chunk != "/" || divides) {
            self.cut_arithmetic(self.at + len);
        } else if matches!(first, '(' | '（')
            && !chunk.trim_end_matches([')', '）']).contains([')', '）'])
        {
            self.push(Kind::Operator('('), first.len_utf8());
        } else if dots && (self.glued || len > 2) {
            self.push(Kind::Mark('.'), len);
        } else if let Some(kept) = stripped(chunk) {
            self.cut_chunk(kept);
        } else if let Some(left) = hyphen(chunk) {
            self.cut_chunk(left);
            self.at += 1;
        } else {
            self.push(Kind::Word, len);
        }
    }

    fn cut_arithmetic(&mut self, end: usize) {
        while self.at < end {
            let rest = &self.text[self.at..end];
            let c = rest.chars().next().unwrap_or(' ');
            match operator(c) {
                Some(meant) => self.push(Kind::Operator(meant), c.len_utf8()),
                None => self.push(
                    Kind::Number,
                    rest.find(|c| operator(c).is_some()).unwrap_or(rest.len()),
                ),
            }
        }
    }
}

/// The bytes between the marks that a text begins with, and the length with the marks.
fn quoted(rest: &str, glued: bool) -> Option<(usize, usize, usize)> {
    let open = rest.chars().next()?;
    let (_, closers) = QUOTES.iter().find(|(mark, _)| *mark == open)?;
    let from = open.len_utf8();
    let whole_words = APOSTROPHES.contains(open);
    if whole_words && glued {
        return None;
    }
    let ends = rest[from..]
        .match_indices(*closers)
        .map(|(at, mark)| (from + at, mark.len()));
    for (to, len) in ends {
        let next = rest[to + len..].chars().next();
        if !whole_words || next.is_none_or(|c| !c.is_alphanumeric()) {
            return Some((from, to, to + len));
        }
    }
    None
}

/// How many bytes stand before the next separator.
fn chunk(rest: &str) -> usize {
    let mut before = ' ';
    let mut rest_chars = rest.char_indices().peekable();
    while let Some((at, c)) = rest_chars.next() {
        let next = rest_chars.peek().map_or(' ', |(_, next)| *next);
        let in_number = c == ',' && before.is_numeric() && next.is_numeric();
        let opens = !APOSTROPHES.contains(c) && QUOTES.iter().any(|(mark, _)| *mark == c);
        let ends = c.is_whitespace() || is_han(c) || SEPARATORS.contains(c) || opens;
        if at > 0 && ends && !in_number {
            return at;
        }
        before = c;
    }
    rest.len()
}

/// Whether a chunk is nothing but numbers and operators.
fn is_arithmetic(chunk: &str) -> bool {
    let mut numbers = chunk
        .split(|c| operator(c).is_some())
        .filter(|part| !part.is_empty());
    numbers.all(|part| {
        let ends = [part.chars().next(), part.chars().next_back()];
        let digits = ends.iter().flatten().all(|c| c.is_numeric());
        digits
            && part.chars().all(|c| c.is_numeric() || c == '.' || c == ',')
            && part.matches('.').count() < 2
    })
}

/// How much of a chunk is left without the full stops and lonely brackets at its end.
fn stripped(chunk: &str) -> Option<usize> {
    let closes = |c: char| matches!(c, ')' | '）');
    let opened = chunk.chars().filter(|c| matches!(c, '(' | '（')).count();
    let mut lonely = chunk
        .chars()
        .filter(|c| closes(*c))
        .count()
        .saturating_sub(opened);
    let bare = chunk.trim_end_matches(|c| {
        let strip = c == '.' || (closes(c) && lonely > 0);
        lonely -= usize::from(strip && closes(c));
        strip
    });
    let shorter = bare.len() < chunk.len() && !bare.is_empty() && !bare.ends_with('/');
    shorter.then_some(bare.len())
}

/// Where a hyphen joins two kinds of characters, as in `top-3`; never inside a path.
fn hyphen(chunk: &str) -> Option<usize> {
    if chunk.len() > MAX_HYPHENATED || chunk.contains(['.', '/', '\\', '_']) {
        return None;
    }
    let kind = |c: char| (c.is_ascii_alphabetic(), c.is_alphabetic(), c.is_numeric());
    let mut hyphens = chunk.match_indices('-').map(|(at, _)| at);
    hyphens.find(|at| {
        let before = chunk[..*at].chars().next_back();
        let after = chunk[at + 1..].chars().next();
        before
            .zip(after)
            .is_some_and(|(before, after)| kind(before) != kind(after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let cut: Vec<_> = tokens(text)
            .into_iter()
            .map(|token| match token.kind {
                Kind::Quoted { from, to } => format!("<{}>", &text[from..to]),
                Kind::Mark(c) => format!("{c}!"),
                Kind::Operator(c) => format!("{c}?"),
                Kind::Word | Kind::Han | Kind::Number => token.norm,
            })
            .collect();
        assert_eq!(cut, expected, "{text}");
    }

    #[test]
    fn words_paths_numbers_and_quotes_are_told_apart() {
        check(
            "Read ../a b.txt, please.",
            &["read", "../a", "b.txt", ",!", "please", ".!"],
        );
        check("it's 'a b' «в г» `x`", &["it's", "<a b>", "<в г>", "<x>"]);
        check("写到largest.txt里", &["写", "到", "largest.txt", "里"]);
        check("寫到 檔案.txt", &["写", "到", "档", "案", ".txt"]);
        check("2+2=?", &["2", "+?", "2", "=?", "?!"]);
        check("12×（3−1,5）", &["12", "*?", "(?", "3", "-?", "1,5", ")?"]);
        check(
            "top-3 md-файлы by-name",
            &["top", "3", "md", "файлы", "by-name"],
        );
        check("(see a (1).txt)", &["(?", "see", "a", "(1).txt", ")?"]);
        check("(a.txt) (b", &["(?", "a.txt", ")?", "(?", "b"]);
        check("\"unclosed", &["\"unclosed"]);
        check("1.2.3 v2.0 … .", &["1.2.3", "v2.0", "…!", "."]);
    }

    #[test]
    fn every_token_is_a_slice_of_its_text_and_there_is_a_bound() {
        let text = "«а» ' ‘b’ \u{301} (((. …）0-х -- ../.. 三\u{0}".repeat(500);
        let tokens = tokens(&text);
        assert!(tokens.len() <= MAX_TOKENS + 1);
        let ordered = tokens.windows(2).all(|pair| pair[0].end <= pair[1].start);
        assert!(
            ordered
                && tokens
                    .iter()
                    .all(|token| text.get(token.start..token.end).is_some())
        );
    }
}
