//! Which language this process speaks.

use std::sync::OnceLock;

use crate::Language;

static CHOSEN: OnceLock<Language> = OnceLock::new();

/// Sets the process's language and returns the one in effect: only the first call counts. English
/// by default.
pub fn choose(language: Language) -> Language {
    *CHOSEN.get_or_init(|| language)
}

/// The language of this process.
pub(crate) fn chosen() -> Language {
    CHOSEN.get().copied().unwrap_or_default()
}

impl Language {
    /// The language of a tag (`zh-Hans`) or of a locale's name as `LANG` and `LC_ALL` have it
    /// (`ru_RU.UTF-8`); none where the catalogue does not have it.
    pub fn from_tag(raw: &str) -> Option<Self> {
        let wanted = Tag::read(raw);
        let fitting = Self::ALL.iter().filter(|language| {
            let own = Tag::read(language.tag());
            own.language == wanted.language
                && (own.script.is_none() || own.script == wanted.script)
                && (own.region.is_none() || own.region == wanted.region)
        });
        // That of the region, where there is one, is nearer than that of the whole language.
        fitting
            .max_by_key(|language| Tag::read(language.tag()).region.is_some())
            .copied()
    }
}

/// The parts of a tag, in lower case.
struct Tag {
    language: String,
    script: Option<String>,
    region: Option<String>,
}

impl Tag {
    fn read(raw: &str) -> Self {
        // What follows is the encoding or a variant: ru_RU.UTF-8, sr_RS@latin.
        let name = raw.split(['.', '@']).next().unwrap_or_default();
        let name = name.trim().to_ascii_lowercase();
        let mut parts = name.split(['-', '_']).map(str::to_owned);
        let language = parts.next().unwrap_or_default();
        let (mut script, mut region) = (None, None);
        for part in parts {
            match part.len() {
                4 => script = Some(part),
                2 | 3 => region = Some(part),
                _ => {}
            }
        }
        if language == "zh" && script.is_none() {
            let region = region.as_deref();
            let is_traditional = region.is_some_and(|region| ["tw", "hk", "mo"].contains(&region));
            script = Some(if is_traditional { "hant" } else { "hans" }.to_owned());
        }
        Self {
            language,
            script,
            region,
        }
    }
}
