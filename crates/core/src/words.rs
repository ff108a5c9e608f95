//! Enums of which each variant has one word, on the wire and where it is kept.

/// Makes such enums: a variant stands beside its word.
#[macro_export]
macro_rules! words {
    ($($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$about:meta])* $variant:ident = $word:literal,)*
    })*) => {$(
        $(#[$meta])*
        $vis enum $name { $($(#[$about])* $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// The word for it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The one that this word stands for. Returns `None` if there is no such one.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == word)
            }
        }
    )*};
}
