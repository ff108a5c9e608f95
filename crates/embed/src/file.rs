//! The model file, little-endian: a head, the tokenizer's pieces, a table of character changes, and a
//! directory of tensors.

use std::collections::HashMap;

use crate::vector::DIMENSIONS;

/// The tokens that a text may have, at most.
pub const MAX_TOKENS: usize = 512;

/// Why a model file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is not of this format.
    #[error("this is no model file of the format E5S1, version 1")]
    Format,
    /// It ends before it should.
    #[error("the model file is cut at {at}")]
    Cut {
        /// What could not be read.
        at: &'static str,
    },
    /// Its parts do not fit together.
    #[error("the model file contradicts itself at {at}")]
    Wrong {
        /// What does not fit.
        at: String,
    },
}

/// What the head of the file says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) feed_forward: usize,
    pub(crate) vocabulary: usize,
    pub(crate) positions: usize,
    pub(crate) epsilon: f32,
}

/// The tokenizer's part.
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    pub(crate) begin: u32,
    pub(crate) end: u32,
    pub(crate) unknown: u32,
    /// Each piece with its score, in the order of their numbers.
    pub(crate) all: Vec<(&'a [u8], f32)>,
    /// The characters that are written otherwise.
    pub(crate) changes: HashMap<u32, Vec<u32>>,
}

/// What is in the file.
#[derive(Debug)]
pub(crate) struct File<'a> {
    pub(crate) head: Head,
    pub(crate) pieces: Pieces<'a>,
    tensors: HashMap<&'a str, &'a [u8]>,
}

impl<'a> File<'a> {
    /// Reads it; the tensors stay where they lie.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader { rest: bytes };
        if reader.take(4, "its mark") != Ok(b"E5S1") || reader.size("its version") != Ok(1) {
            return Err(Fault::Format);
        }
        let head = head(&mut reader)?;
        let pieces = pieces(&mut reader, head.vocabulary)?;
        let tensors = tensors(&mut reader, bytes)?;
        Ok(Self {
            head,
            pieces,
            tensors,
        })
    }

    /// The bytes of a tensor, which are as many as they must be.
    pub(crate) fn tensor(&self, name: &str, bytes: usize) -> Result<&'a [u8], Fault> {
        let found = self.tensors.get(name);
        let found = found.filter(|tensor| tensor.len() == bytes);
        found.copied().ok_or_else(|| Fault::Wrong {
            at: name.to_owned(),
        })
    }

    /// A tensor of numbers that are stored whole.
    pub(crate) fn floats(&self, name: &str, count: usize) -> Result<Vec<f32>, Fault> {
        Ok(floats(self.tensor(name, count * 4)?).collect())
    }
}

/// Numbers that are stored whole.
pub(crate) fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|number| f32::from_le_bytes(*number))
}

fn head(reader: &mut Reader<'_>) -> Result<Head, Fault> {
    const AT: &str = "its head";
    let head = Head {
        hidden: reader.size(AT)?,
        layers: reader.size(AT)?,
        heads: reader.size(AT)?,
        feed_forward: reader.size(AT)?,
        vocabulary: reader.size(AT)?,
        positions: reader.size(AT)?,
        epsilon: {
            reader.size(AT)?;
            f32::from_bits(reader.number(AT)?)
        },
    };
    reader.size(AT)?;
    let fits = head.hidden == DIMENSIONS
        && head.heads > 0
        && head.hidden.is_multiple_of(head.heads)
        && head.feed_forward.is_multiple_of(32)
        && (1..=8_192).contains(&head.feed_forward)
        && (1..=64).contains(&head.layers)
        && (1..=MAX_TOKENS).contains(&head.positions);
    fits.then_some(head).ok_or_else(|| wrong(AT))
}

fn pieces<'a>(reader: &mut Reader<'a>, vocabulary: usize) -> Result<Pieces<'a>, Fault> {
    const AT: &str = "its tokens";
    let count = reader.size(AT)?;
    let [begin, end] = [reader.number(AT)?, reader.number(AT)?];
    reader.number(AT)?;
    let unknown = reader.number(AT)?;
    let is_token = |token: u32| (token as usize) < count;
    if count != vocabulary || ![begin, end, unknown].into_iter().all(is_token) {
        return Err(wrong(AT));
    }
    let text = reader.long(AT)?;
    let ends = reader.take(count.saturating_add(1).saturating_mul(4), AT)?;
    let scores = reader.take(count.saturating_mul(4), AT)?;
    let text = reader.take(text, AT)?;
    let (ends, _) = ends.as_chunks::<4>();
    let ends: Vec<_> = ends
        .iter()
        .map(|at| u32::from_le_bytes(*at) as usize)
        .collect();
    let all = ends.windows(2).zip(floats(scores)).map(|(ends, score)| {
        let piece = text.get(ends[0]..ends[1]).ok_or_else(|| wrong(AT))?;
        Ok((piece, score))
    });
    Ok(Pieces {
        begin,
        end,
        unknown,
        all: all.collect::<Result<_, Fault>>()?,
        changes: changes(reader)?,
    })
}

fn changes(reader: &mut Reader<'_>) -> Result<HashMap<u32, Vec<u32>>, Fault> {
    const AT: &str = "its table of characters";
    let count = reader.number(AT)?;
    let bytes = reader.size(AT)?;
    let mut table = Reader {
        rest: reader.take(bytes, AT)?,
    };
    let one = |_| {
        let from = table.number(AT)?;
        let count = table.take(1, AT)?[0];
        let to = (0..count).map(|_| table.number(AT));
        Ok((from, to.collect::<Result<_, Fault>>()?))
    };
    (0..count).map(one).collect()
}

fn tensors<'a>(
    reader: &mut Reader<'a>,
    bytes: &'a [u8],
) -> Result<HashMap<&'a str, &'a [u8]>, Fault> {
    const AT: &str = "its tensors";
    let count = reader.number(AT)?;
    let one = |_| {
        let length = u16::from_le_bytes(reader.array(AT)?);
        let name = reader.take(length.into(), AT)?;
        let name = str::from_utf8(name).map_err(|_| wrong(AT))?;
        // Its kind and how many numbers it has: both follow from its name.
        reader.take(5, AT)?;
        let [at, length] = [reader.long(AT)?, reader.long(AT)?];
        let range = at..at.saturating_add(length);
        let tensor = bytes.get(range).ok_or(Fault::Cut { at: AT })?;
        Ok((name, tensor))
    };
    (0..count).map(one).collect()
}

fn wrong(at: &str) -> Fault {
    Fault::Wrong { at: at.to_owned() }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize, at: &'static str) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Fault::Cut { at })?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, at: &'static str) -> Result<[u8; N], Fault> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Fault::Cut { at })?;
        self.rest = rest;
        Ok(*taken)
    }

    fn number(&mut self, at: &'static str) -> Result<u32, Fault> {
        self.array(at).map(u32::from_le_bytes)
    }

    fn size(&mut self, at: &'static str) -> Result<usize, Fault> {
        self.number(at).map(|number| number as usize)
    }

    fn long(&mut self, at: &'static str) -> Result<usize, Fault> {
        let number = u64::from_le_bytes(self.array(at)?);
        usize::try_from(number).map_err(|_| Fault::Cut { at })
    }
}
