//! Foreign HTML as a small, well-formed page: only the tags that make a text, each closed, none
//! deep. The parsers of HTML take time that grows with the square of the depth and of the number of
//! attributes, so they get no page that its author could have made for that.

use url::Url;

use crate::web_fetch::tokens::{Tag, Token, tokens};

/// Levels of tags that are kept; the text of deeper ones stays.
const MAX_DEPTH: usize = 96;
/// Tags that are kept; the text of further ones stays.
const MAX_TAGS: usize = 20_000;
/// Bytes of a page that are kept.
const MAX_BYTES: usize = 512 * 1024;
/// Bytes of a link that are kept; a longer one is dropped.
const MAX_HREF_BYTES: usize = 2_048;
/// Bytes of any other attribute that are kept.
const MAX_ATTRIBUTE_BYTES: usize = 200;
/// Bytes of a title that are kept.
const MAX_TITLE_BYTES: usize = 500;

/// Tags that begin a line and end a paragraph.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "li",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
];
/// Tags within a line.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "cite", "code", "del", "dfn", "em", "i", "ins", "kbd", "mark", "q", "s",
    "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var",
];
/// Tags that have no content.
const EMPTY: &[&str] = &["br", "hr"];
/// Tags whose content is no text of the page.
const DROPPED: &[&str] = &[
    "applet", "audio", "button", "canvas", "iframe", "math", "noembed", "noframes", "object",
    "script", "select", "style", "svg", "template", "textarea", "video", "xmp",
];
/// Tags that always have an end tag, so that it is known how far a hidden one reaches.
const CLOSED: &[&str] = &[
    "article",
    "aside",
    "blockquote",
    "div",
    "footer",
    "form",
    "header",
    "main",
    "nav",
    "section",
    "span",
    "table",
    "ul",
    "ol",
];
/// What an end tag does not close from within.
const WALLS: &[&str] = &["table", "td", "th", "caption"];
/// The attributes by which the main text is found.
const ATTRIBUTES: &[&str] = &["class", "id", "role", "itemprop", "rel", "dir", "lang"];

/// A page, made small.
pub(super) struct Tidy {
    /// Its title; empty if it has none.
    pub(super) title: String,
    /// Its body, without the tag of that name.
    pub(super) html: String,
    /// Whether it was longer.
    pub(super) is_cut: bool,
}

/// Makes a page small. Its links are those of `base`, or of what the page names as its base.
pub(super) fn tidy(html: &str, base: &Url) -> Tidy {
    let mut page = Page::new(base.clone());
    for token in tokens(html) {
        match token {
            Token::Start(tag) => page.start(&tag),
            Token::End(name) => page.end(&name),
            Token::Text(text) => page.text(&text),
            Token::Comment(_) => {}
        }
        if page.html.len() >= MAX_BYTES {
            page.is_cut = true;
            break;
        }
    }
    page.finish()
}

struct Page {
    base: Url,
    has_base: bool,
    title: String,
    html: String,
    /// The tags that are open.
    open: Vec<&'static str>,
    tags: usize,
    /// Tags that are open in the page and were not kept, because they are too many or too deep.
    unkept: usize,
    /// The tag whose content is dropped, and how many of its name are open in each other.
    dropping: Option<(&'static str, usize)>,
    in_title: bool,
    is_cut: bool,
}

impl Page {
    fn new(base: Url) -> Self {
        Self {
            base,
            has_base: false,
            title: String::new(),
            html: String::new(),
            open: Vec::new(),
            tags: 0,
            unkept: 0,
            dropping: None,
            in_title: false,
            is_cut: false,
        }
    }

    fn finish(mut self) -> Tidy {
        self.close_to(0);
        let is_blank = |c: char| c.is_whitespace() || c.is_control();
        let words = self.title.split(is_blank).filter(|word| !word.is_empty());
        Tidy {
            title: words.collect::<Vec<_>>().join(" "),
            html: self.html,
            is_cut: self.is_cut,
        }
    }

    fn start(&mut self, tag: &Tag) {
        let name = tag.name.as_str();
        if let Some((dropped, depth)) = &mut self.dropping {
            *depth += usize::from(*dropped == name && !tag.is_self_closing);
            return;
        }
        if let Some(dropped) = known(DROPPED, name) {
            let is_whole = tag.is_self_closing && matches!(dropped, "svg" | "math");
            self.dropping = (!is_whole).then_some((dropped, 1));
            return;
        }
        if let Some(hidden) = known(CLOSED, name).filter(|_| is_hidden(tag)) {
            self.dropping = Some((hidden, 1));
            return;
        }
        match name {
            "title" => self.in_title = self.title.is_empty(),
            "base" => self.rebase(tag),
            // What an image shows is said by its own words; it is loaded from nowhere.
            "img" => self.text(tag.attribute("alt").unwrap_or_default()),
            _ => {
                if let Some(name) = known(EMPTY, name) {
                    self.empty(name);
                } else if let Some(name) = known(BLOCKS, name).or_else(|| known(INLINE, name)) {
                    self.push(name, tag);
                }
            }
        }
    }

    fn rebase(&mut self, tag: &Tag) {
        let href = tag.attribute("href");
        let href = href.filter(|href| href.len() <= MAX_HREF_BYTES);
        // Each link is joined with it.
        if let (Some(href), false) = (href, self.has_base)
            && let Ok(base) = self.base.join(href)
            && base.as_str().len() <= MAX_HREF_BYTES
        {
            self.base = base;
            self.has_base = true;
        }
    }

    fn empty(&mut self, name: &'static str) {
        if self.tags < MAX_TAGS {
            self.tags += 1;
            self.html.extend(["<", name, ">"]);
        }
    }

    fn push(&mut self, name: &'static str, tag: &Tag) {
        self.close_implied(name);
        if self.open.len() >= MAX_DEPTH || self.tags >= MAX_TAGS {
            self.unkept += 1;
            self.html.push(' ');
            return;
        }
        self.tags += 1;
        self.open.push(name);
        self.html.extend(["<", name]);
        for attribute_name in ATTRIBUTES {
            if let Some(value) = tag.attribute(attribute_name)
                && value.len() <= MAX_ATTRIBUTE_BYTES
            {
                self.attribute(attribute_name, value);
            }
        }
        if name == "a"
            && let Some(href) = tag.attribute("href").and_then(|href| self.link(href))
        {
            self.attribute("href", &href);
        }
        self.html.push('>');
    }

    /// Where a link leads; `None` if it leads nowhere that a person could open.
    fn link(&self, href: &str) -> Option<String> {
        if href.len() > MAX_HREF_BYTES {
            return None;
        }
        let url = self.base.join(href).ok()?;
        let is_page = matches!(url.scheme(), "http" | "https" | "mailto");
        (is_page && url.as_str().len() <= MAX_HREF_BYTES).then(|| url.into())
    }

    fn attribute(&mut self, name: &str, value: &str) {
        self.html.extend([" ", name, "=\""]);
        escape(value, &mut self.html, usize::MAX);
        self.html.push('"');
    }

    /// Closes what the beginning of a tag ends without saying so.
    fn close_implied(&mut self, name: &'static str) {
        let (closed, walls): (&[&str], &[&str]) = match name {
            "li" => (&["li"], &["ul", "ol", "menu", "table", "td", "th"]),
            "dt" | "dd" => (&["dt", "dd"], &["dl", "table", "td", "th"]),
            "tr" => (&["tr", "caption"], &["table"]),
            "td" | "th" => (&["td", "th"], &["tr", "table"]),
            "tbody" | "thead" | "tfoot" => (&["tbody", "thead", "tfoot", "caption"], &["table"]),
            "a" => (&["a"], &["td", "th", "li", "div", "section", "article"]),
            _ if BLOCKS.contains(&name) => (&["p"], WALLS),
            _ => return,
        };
        let mut upwards = self
            .open
            .iter()
            .rposition(|open| closed.contains(open) || walls.contains(open));
        upwards = upwards.filter(|at| self.open.get(*at).is_some_and(|open| closed.contains(open)));
        if let Some(at) = upwards {
            self.close_to(at);
        }
        if name != "p" && BLOCKS.contains(&name) && closed != ["p"] {
            self.close_paragraph();
        }
    }

    /// Closes the paragraph that a block within it ends.
    fn close_paragraph(&mut self) {
        let found = self
            .open
            .iter()
            .rposition(|open| *open == "p" || WALLS.contains(open));
        if let Some(at) = found.filter(|at| self.open.get(*at) == Some(&"p")) {
            self.close_to(at);
        }
    }

    fn end(&mut self, name: &str) {
        if let Some((dropped, depth)) = &mut self.dropping {
            if *dropped == name {
                *depth -= 1;
                if *depth == 0 {
                    self.dropping = None;
                }
            }
            return;
        }
        if name == "title" {
            self.in_title = false;
            return;
        }
        let is_inline = INLINE.contains(&name);
        if !is_inline && !BLOCKS.contains(&name) {
            return;
        }
        if self.unkept > 0 {
            self.unkept -= 1;
            return;
        }
        let is_of_table = matches!(
            name,
            "table" | "thead" | "tbody" | "tfoot" | "tr" | "td" | "th"
        );
        let found = self.open.iter().rposition(|open| {
            *open == name
                || (is_inline && BLOCKS.contains(open))
                || (!is_of_table && WALLS.contains(open))
                || (is_of_table && *open == "table")
        });
        if let Some(at) = found.filter(|at| self.open.get(*at) == Some(&name)) {
            self.close_to(at);
        }
    }

    /// Closes the open tags from this one on.
    fn close_to(&mut self, at: usize) {
        for name in self.open.drain(at..).rev() {
            self.html.extend(["</", name, ">"]);
        }
    }

    fn text(&mut self, text: &str) {
        if self.dropping.is_some() {
            return;
        }
        if self.in_title {
            let room = MAX_TITLE_BYTES.saturating_sub(self.title.len());
            self.title.push_str(beginning(text, room));
            return;
        }
        // One text may be the whole page.
        let room = MAX_BYTES.saturating_sub(self.html.len());
        let begin = beginning(text, room);
        self.is_cut |= begin.len() < text.len();
        escape(begin, &mut self.html, MAX_BYTES);
    }
}

/// The name as the list has it.
fn known(list: &[&'static str], name: &str) -> Option<&'static str> {
    list.iter().find(|known| **known == name).copied()
}

/// Whether a tag says that no reader sees it; then it is not for a model either.
fn is_hidden(tag: &Tag) -> bool {
    let style = tag.attribute("style").unwrap_or_default();
    let style = beginning(style, 1_000).to_ascii_lowercase();
    let style: String = style.chars().filter(|c| !c.is_whitespace()).collect();
    tag.attribute("hidden").is_some()
        || style.contains("display:none")
        || style.contains("visibility:hidden")
}

/// As many bytes of a text as there is room for.
pub(super) fn beginning(text: &str, room: usize) -> &str {
    text.get(..text.floor_char_boundary(room)).unwrap_or(text)
}

/// Appends a text as HTML, as far as all of it has so many bytes.
fn escape(text: &str, out: &mut String, max: usize) {
    for c in text.chars() {
        if out.len() > max {
            return;
        }
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
}
