//! A row of the table, and the request that it stands for.

use crate::raw::Request;

const TABLE: &str = include_str!("../cases.tsv");

/// A row of the table.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) line: &'static str,
    pub(super) kind: &'static str,
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) changes: Vec<String>,
}

impl Case {
    /// The whole table.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let rows = TABLE.lines();
        let rows = rows.filter(|line| !line.is_empty() && !line.starts_with('#'));
        rows.map(Self::read)
    }

    fn read(line: &'static str) -> Self {
        let mut columns = line.split('\t');
        let (kind, answer) = (columns.next().unwrap(), columns.next().unwrap());
        let (status, code) = answer.split_once(' ').unwrap_or((answer, ""));
        Self {
            line,
            kind,
            status: status.parse().unwrap(),
            code,
            changes: columns.map(str::to_owned).collect(),
        }
    }

    /// Whether it has to be refused.
    pub(super) fn is_attack(&self) -> bool {
        self.status != 200
    }

    /// Makes the request that the row describes out of a good one.
    pub(super) fn apply(&self, good: &Request, path: &str) -> Request {
        let changes = self.changes.iter();
        changes.fold(good.clone(), |request, change| {
            if change == "HTTP/1.0" {
                return request.http_1_0();
            }
            if change == "many headers" {
                let add = |request: Request, at| request.with(&format!("x-{at}"), "x");
                return (0..200).fold(request, add);
            }
            let rest = &change[1..];
            match change.as_bytes()[0] {
                b'-' => request.without(rest),
                b'=' => request.verb(rest),
                b'?' => request.target(&format!("{path}?{rest}")),
                b'@' => request.target(&format!("{rest}{path}")),
                b'>' => request.target(&rest.replace("{path}", path)),
                b'+' => header(rest, |name, value| request.with(name, value)),
                _ => header(change, |name, value| request.set(name, value)),
            }
        })
    }
}

fn header<T>(line: &str, then: impl FnOnce(&str, Vec<u8>) -> T) -> T {
    let (name, value) = line.split_once(':').unwrap();
    then(name, unescaped(value.strip_prefix(' ').unwrap_or(value)))
}

/// The bytes of a text with `\xNN` in it.
pub(super) fn unescaped(text: &str) -> Vec<u8> {
    let mut pieces = text.split("\\x");
    let mut bytes = pieces.next().unwrap().as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(&piece[..2], 16).unwrap());
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    bytes
}
