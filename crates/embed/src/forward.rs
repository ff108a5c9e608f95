//! The forward pass: a BERT encoder with its norms after each part, the mean of the tokens' rows as the
//! text's.

use crate::file::{Fault, File, Head, floats};
use crate::math::{self, Linear, Norm, Rounded, packed};

/// The layers of the model.
pub(crate) struct Encoder<'a> {
    head: Head,
    words: &'a [u8],
    positions: &'a [u8],
    kind: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer<'a>>,
}

struct Layer<'a> {
    query: Linear<'a>,
    key: Linear<'a>,
    value: Linear<'a>,
    attended: Linear<'a>,
    attended_norm: Norm,
    wide: Linear<'a>,
    narrow: Linear<'a>,
    norm: Norm,
}

impl<'a> Encoder<'a> {
    pub(crate) fn read(file: &File<'a>) -> Result<Self, Fault> {
        let head = file.head;
        let layers = (0..head.layers).map(|layer| Layer::read(file, layer));
        Ok(Self {
            head,
            words: file.tensor("emb.word", head.vocabulary * packed(head.hidden))?,
            positions: file.tensor("emb.pos", head.positions * head.hidden * 4)?,
            // One text is of the first kind.
            kind: floats(file.tensor("emb.type", 2 * head.hidden * 4)?)
                .take(head.hidden)
                .collect(),
            norm: norm(file, "emb.ln")?,
            layers: layers.collect::<Result<_, _>>()?,
        })
    }

    /// The tokens that a text may have.
    pub(crate) const fn positions(&self) -> usize {
        self.head.positions
    }

    /// The vector of a text, of length 1; `tokens` are at most as many as there are positions.
    pub(crate) fn run(&self, tokens: &[u32]) -> Vec<f32> {
        let width = self.head.hidden;
        let mut rows = self.embedded(tokens);
        let mut work = Work::new(tokens.len(), self.head);
        for layer in &self.layers {
            layer.run(&mut rows, &mut work, self.head);
        }
        let mut text = vec![0.0; width];
        for row in rows.chunks_exact(width) {
            text.iter_mut().zip(row).for_each(|(sum, n)| *sum += n);
        }
        let length = math::dot(&text, &text).sqrt();
        for n in &mut text {
            *n /= length;
        }
        text
    }

    fn embedded(&self, tokens: &[u32]) -> Vec<f32> {
        let width = self.head.hidden;
        let mut rows = vec![0.0; tokens.len() * width];
        let positions = self.positions.chunks_exact(width * 4);
        for ((token, position), row) in tokens
            .iter()
            .zip(positions)
            .zip(rows.chunks_exact_mut(width))
        {
            let from = *token as usize * packed(width);
            math::row(&self.words[from..from + packed(width)], row);
            for ((n, position), kind) in row.iter_mut().zip(floats(position)).zip(&self.kind) {
                *n += position + kind;
            }
        }
        self.norm.apply(&mut rows, self.head.epsilon);
        rows
    }
}

/// What a layer writes to, made once for all layers.
struct Work {
    rounded: Rounded,
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
    attended: Vec<f32>,
    wide: Vec<f32>,
    shares: Vec<f32>,
}

impl Work {
    fn new(tokens: usize, head: Head) -> Self {
        let rows = vec![0.0; tokens * head.hidden];
        Self {
            rounded: Rounded::default(),
            query: rows.clone(),
            key: rows.clone(),
            value: rows.clone(),
            attended: rows,
            wide: vec![0.0; tokens * head.feed_forward],
            shares: vec![0.0; tokens],
        }
    }
}

impl<'a> Layer<'a> {
    fn read(file: &File<'a>, layer: usize) -> Result<Self, Fault> {
        let Head {
            hidden,
            feed_forward,
            ..
        } = file.head;
        let linear = |name: &str, rows: usize, columns: usize| {
            let name = format!("l{layer}.{name}");
            Ok(Linear {
                weights: file.tensor(&format!("{name}.w"), rows * packed(columns))?,
                bias: file.floats(&format!("{name}.b"), rows)?,
            })
        };
        Ok(Self {
            query: linear("q", hidden, hidden)?,
            key: linear("k", hidden, hidden)?,
            value: linear("v", hidden, hidden)?,
            attended: linear("ao", hidden, hidden)?,
            attended_norm: norm(file, &format!("l{layer}.aln"))?,
            wide: linear("fi", feed_forward, hidden)?,
            narrow: linear("fo", hidden, feed_forward)?,
            norm: norm(file, &format!("l{layer}.oln"))?,
        })
    }

    fn run(&self, rows: &mut [f32], work: &mut Work, head: Head) {
        let width = head.hidden;
        work.rounded.set(rows);
        self.query.apply(&work.rounded, width, &mut work.query);
        self.key.apply(&work.rounded, width, &mut work.key);
        self.value.apply(&work.rounded, width, &mut work.value);
        attend(work, head);
        work.rounded.set(&work.attended);
        // The query is not needed any more; its rows take the result.
        self.attended.apply(&work.rounded, width, &mut work.query);
        add(rows, &work.query);
        self.attended_norm.apply(rows, head.epsilon);
        work.rounded.set(rows);
        self.wide.apply(&work.rounded, width, &mut work.wide);
        work.wide.iter_mut().for_each(|n| *n = math::gelu(*n));
        work.rounded.set(&work.wide);
        self.narrow
            .apply(&work.rounded, head.feed_forward, &mut work.query);
        add(rows, &work.query);
        self.norm.apply(rows, head.epsilon);
    }
}

/// Each token's row as the shares of all tokens' values, head by head.
#[expect(clippy::cast_precision_loss, reason = "the width of a head is small")]
fn attend(work: &mut Work, head: Head) {
    let (row, width) = (head.hidden, head.hidden / head.heads);
    let factor = (width as f32).sqrt().recip();
    work.attended.fill(0.0);
    for from in (0..row).step_by(width) {
        let part = from..from + width;
        for (query, into) in work
            .query
            .chunks_exact(row)
            .zip(work.attended.chunks_exact_mut(row))
        {
            for (share, key) in work.shares.iter_mut().zip(work.key.chunks_exact(row)) {
                *share = math::dot(&query[part.clone()], &key[part.clone()]) * factor;
            }
            math::softmax(&mut work.shares);
            let into = &mut into[part.clone()];
            for (share, value) in work.shares.iter().zip(work.value.chunks_exact(row)) {
                let value = &value[part.clone()];
                into.iter_mut()
                    .zip(value)
                    .for_each(|(n, value)| *n += share * value);
            }
        }
    }
}

fn add(rows: &mut [f32], more: &[f32]) {
    rows.iter_mut().zip(more).for_each(|(n, more)| *n += more);
}

fn norm(file: &File<'_>, name: &str) -> Result<Norm, Fault> {
    Ok(Norm {
        weights: file.floats(&format!("{name}.w"), file.head.hidden)?,
        bias: file.floats(&format!("{name}.b"), file.head.hidden)?,
    })
}
