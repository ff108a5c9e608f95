//! What people have allowed for good (TL-5): rules that are kept, listed, and revoked.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use samovar_core::{Code, Error, Grant, Ids, Millis, Rule, RuleId};
use samovar_locale as locale;

/// Rules, at most.
pub const MAX_RULES: usize = 1_000;

/// Saves all rules, before they count. It may block for a moment.
type Save = dyn Fn(&[Rule]) -> Result<(), Error> + Send + Sync;

/// The rules that people made. Copies share them.
#[derive(Clone)]
pub struct RuleBook(Arc<Inner>);

struct Inner {
    workspace: String,
    /// Its lock is never held while something is saved.
    rules: RwLock<Kept>,
    save: Box<Save>,
    /// One change after the other, each until it is saved.
    change: Mutex<()>,
}

struct Kept {
    all: Arc<[Rule]>,
    /// Those of this workspace, against which every call is held.
    in_force: Arc<[Rule]>,
}

impl Kept {
    fn of(all: Vec<Rule>, workspace: &str) -> Self {
        let here = all.iter().filter(|rule| rule.workspace == workspace);
        Self {
            in_force: here.cloned().collect(),
            all: all.into(),
        }
    }
}

impl Default for RuleBook {
    /// No rule; one that is made lasts as long as this.
    fn default() -> Self {
        Self::new(String::new(), Vec::new(), |_| Ok(()))
    }
}

impl fmt::Debug for RuleBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list().iter()).finish()
    }
}

impl RuleBook {
    /// The rules that were made before, and what saves changes. Those of another workspace stay and
    /// do not count here.
    pub fn new(
        workspace: String,
        rules: Vec<Rule>,
        save: impl Fn(&[Rule]) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            rules: RwLock::new(Kept::of(rules, &workspace)),
            workspace,
            save: Box::new(save),
            change: Mutex::default(),
        }))
    }

    /// All of them, the oldest first.
    pub fn list(&self) -> Arc<[Rule]> {
        let rules = self.0.rules.read().unwrap_or_else(PoisonError::into_inner);
        rules.all.clone()
    }

    /// Those that count here.
    pub fn in_force(&self) -> Arc<[Rule]> {
        let rules = self.0.rules.read().unwrap_or_else(PoisonError::into_inner);
        rules.in_force.clone()
    }

    /// Allows for good what a grant covers. What is allowed already makes no second rule; the answer
    /// says whether this made it.
    ///
    /// # Errors
    /// [`Code::Busy`] when there are too many, or what saving said.
    pub fn make(
        &self,
        grant: Grant,
        by: String,
        now: Millis,
        ids: &dyn Ids,
    ) -> Result<(Rule, bool), Error> {
        let _change = self.0.change.lock().unwrap_or_else(PoisonError::into_inner);
        let rules = self.list();
        let workspace = &self.0.workspace;
        let is_it = |rule: &&Rule| rule.grant == grant && rule.workspace == *workspace;
        if let Some(rule) = rules.iter().find(is_it) {
            return Ok((rule.clone(), false));
        }
        if rules.len() >= MAX_RULES {
            let why = locale::approval::too_many_rules(MAX_RULES as u64);
            return Err(Error::new(Code::Busy, why));
        }
        let rule = Rule {
            id: RuleId::fresh(ids),
            grant,
            workspace: workspace.clone(),
            made_at: now,
            by,
        };
        let mut more = rules.to_vec();
        more.push(rule.clone());
        self.keep(more)?;
        Ok((rule, true))
    }

    /// Revokes a rule. Calls that run continue.
    ///
    /// # Errors
    /// [`Code::UnknownRule`], or what saving said.
    pub fn revoke(&self, id: &RuleId) -> Result<Rule, Error> {
        let _change = self.0.change.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fewer = self.list().to_vec();
        let Some(at) = fewer.iter().position(|rule| rule.id == *id) else {
            let why = locale::approval::unknown_rule(locale::quoted(id.as_str()));
            return Err(Error::new(Code::UnknownRule, why));
        };
        let rule = fewer.remove(at);
        self.keep(fewer)?;
        Ok(rule)
    }

    fn keep(&self, changed: Vec<Rule>) -> Result<(), Error> {
        (self.0.save)(&changed)?;
        let mut rules = self.0.rules.write().unwrap_or_else(PoisonError::into_inner);
        *rules = Kept::of(changed, &self.0.workspace);
        Ok(())
    }
}
