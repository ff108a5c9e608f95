//! Words that can be typed, each one of a few.

use clap::ValueEnum;
use samovar_core::Approval;
use samovar_core::tool::DeclaredEffect;
use samovar_locale::help;

/// What a tool does to the world, as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Effect {
    #[value(help = help::effect_read())]
    Read,
    #[value(help = help::effect_idempotent())]
    Idempotent,
    #[value(help = help::effect_unsafe())]
    Unsafe,
}

impl From<Effect> for DeclaredEffect {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Read => Self::Read,
            Effect::Idempotent => Self::Idempotent,
            Effect::Unsafe => Self::Unsafe,
        }
    }
}

/// An approval level, as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum, PartialEq, Eq)]
pub(crate) enum Level {
    #[value(help = help::approval_auto())]
    Auto,
    #[value(help = help::approval_supervised())]
    Supervised,
    #[value(help = help::approval_read_only())]
    ReadOnly,
}

impl From<Level> for Approval {
    fn from(level: Level) -> Self {
        match level {
            Level::Auto => Self::Auto,
            Level::Supervised => Self::Supervised,
            Level::ReadOnly => Self::ReadOnly,
        }
    }
}

/// What happens to a message while another turn of its session runs, as it is typed (AS-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Delivery {
    #[value(help = help::delivery_queue())]
    Queue,
    #[value(help = help::delivery_steer())]
    Steer,
    #[value(help = help::delivery_interrupt())]
    Interrupt,
    #[value(help = help::delivery_reject())]
    Reject,
}

impl Delivery {
    /// The word on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Steer => "steer",
            Self::Interrupt => "interrupt",
            Self::Reject => "reject",
        }
    }
}
