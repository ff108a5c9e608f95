//! The models that a server says it has.

/// A model that a server lists, made of its name alone or with what a [`Surface`](crate::Surface)
/// tells about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) state: State,
}

/// What a model is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Chat without tools.
    Chat,
    /// Chat with tools.
    Tools,
    Embeddings,
}

/// Whether a model is in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Loaded,
    NotLoaded,
}

impl Model {
    /// A model of this name: loaded, for chat, without tools.
    pub fn new(name: impl Into<String>) -> Model {
        Model {
            name: name.into(),
            kind: Kind::Chat,
            state: State::Loaded,
        }
    }

    /// It can call tools.
    #[must_use]
    pub fn with_tools(mut self) -> Model {
        self.kind = Kind::Tools;
        self
    }

    /// It makes embeddings and cannot chat.
    #[must_use]
    pub fn for_embeddings(mut self) -> Model {
        self.kind = Kind::Embeddings;
        self
    }

    /// It is there, but not in memory.
    #[must_use]
    pub fn not_loaded(mut self) -> Model {
        self.state = State::NotLoaded;
        self
    }

    pub(crate) fn has_tools(&self) -> bool {
        self.kind == Kind::Tools
    }
}

impl<N: Into<String>> From<N> for Model {
    fn from(name: N) -> Model {
        Model::new(name)
    }
}
