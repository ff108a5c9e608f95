//! Points at which a proof can end the process: one before and one after each edge of what a turn
//! keeps, and of what a start and an end do.

/// Marks a named point: `failpoint!("journal.commit.before")`.
#[cfg(feature = "failpoints")]
#[macro_export]
macro_rules! failpoint {
    ($name:expr) => {
        $crate::failpoint::reached($name)
    };
}

/// Marks a named point; no code in this build.
#[cfg(not(feature = "failpoints"))]
#[macro_export]
macro_rules! failpoint {
    ($name:expr) => {{
        let _ = $name;
    }};
}

#[cfg(feature = "failpoints")]
mod armed {
    use std::sync::OnceLock;

    static HOOK: OnceLock<fn(&'static str)> = OnceLock::new();

    /// Sets what happens at every named point, once for the process.
    ///
    /// # Errors
    /// The hook itself, when there is one already.
    pub fn arm(hook: fn(&'static str)) -> Result<(), fn(&'static str)> {
        HOOK.set(hook)
    }

    /// Called by [`failpoint!`](crate::failpoint!).
    pub fn reached(name: &'static str) {
        if let Some(hook) = HOOK.get() {
            hook(name);
        }
    }
}

#[cfg(feature = "failpoints")]
mod table;

#[cfg(feature = "failpoints")]
pub use armed::{arm, reached};
#[cfg(feature = "failpoints")]
pub use table::{LifeStage, POINTS, Point};
