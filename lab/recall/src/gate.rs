//! How near exchanges are to the questions that they answer, and to others.

use std::io::Write;

use anyhow::{Context as _, Result};
use samovar_embed::Side;

use crate::centred_alone;
use crate::set::{Half, QUESTION_TOKENS, Set};

/// Prints, for gates in hundredths of a cosine, how many of the right exchanges pass, and how many wrong
/// ones a question finds, over the half for tuning.
pub(crate) fn print(set: &Set, out: &mut impl Write) -> Result<()> {
    let model = samovar_embed::embedded()?.context("the model is not in this binary")?;
    let exchanges = centred_alone(&model, &set.exchanges)?;
    let (mut right, mut wrong, mut questions) = (Vec::new(), Vec::new(), 0);
    for question in set.questions(Half::Tuning) {
        let query = model.embed(Side::Query, &question.text, QUESTION_TOKENS);
        let query = query.context("a question has no vector")?;
        questions += 1;
        for (exchange, vector) in set.exchanges.iter().zip(&exchanges) {
            let near = vector.cosine(&query);
            if exchange.id == question.note {
                right.push(near);
            } else {
                wrong.push(near);
            }
        }
    }
    writeln!(
        out,
        "gate, right ones of {}, wrong ones a question of {}",
        right.len(),
        set.exchanges.len()
    )?;
    for gate in (20_u8..=50).step_by(5) {
        let passes = |all: &[f32]| {
            all.iter()
                .filter(|near| **near >= f32::from(gate) / 100.0)
                .count()
        };
        let wrong = crate::share(passes(&wrong), questions);
        writeln!(out, "0.{gate}  {:>2}  {wrong:.2}", passes(&right))?;
    }
    Ok(())
}
