//! A body, read as far as it may be: packed or not, never more than so many bytes of it.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

/// What was read of a body.
pub(crate) struct Read {
    pub(crate) bytes: Vec<u8>,
    /// Whether there was more.
    pub(crate) is_cut: bool,
}

/// Why a body could not be read.
pub(crate) enum BodyError {
    /// The connection broke off, or what came is no HTTP.
    Broken(String),
    /// It is packed in a way that is not known, or not as it says.
    Packing,
}

/// Reads up to `max` bytes, counted after they are unpacked.
pub(crate) async fn read(
    headers: &HeaderMap,
    mut body: Incoming,
    max: usize,
) -> Result<Read, BodyError> {
    let mut sink = Sink::new(headers, max)?;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| BodyError::Broken(error.to_string()))?;
        let Ok(bytes) = frame.into_data() else {
            continue;
        };
        if sink.is_full_after(&bytes)? {
            break;
        }
    }
    sink.finish()
}

/// Where the bytes go.
enum Sink {
    Plain(Bounded),
    Gzip(Box<MultiGzDecoder<Bounded>>),
}

impl Sink {
    fn new(headers: &HeaderMap, max: usize) -> Result<Self, BodyError> {
        let bounded = Bounded {
            bytes: Vec::new(),
            max,
            is_cut: false,
        };
        let mut packings = headers.get_all(header::CONTENT_ENCODING).iter();
        let first = packings.next().map(|value| value.as_bytes().trim_ascii());
        match (first, packings.next()) {
            (None, None) => Ok(Self::Plain(bounded)),
            (Some(one), None) if one.is_empty() || one.eq_ignore_ascii_case(b"identity") => {
                Ok(Self::Plain(bounded))
            }
            (Some(one), None)
                if one.eq_ignore_ascii_case(b"gzip") || one.eq_ignore_ascii_case(b"x-gzip") =>
            {
                Ok(Self::Gzip(Box::new(MultiGzDecoder::new(bounded))))
            }
            (Some(_), _) | (None, Some(_)) => Err(BodyError::Packing),
        }
    }

    fn is_full_after(&mut self, bytes: &Bytes) -> Result<bool, BodyError> {
        let (written, bounded) = match self {
            Self::Plain(bounded) => (bounded.write_all(bytes), bounded),
            Self::Gzip(decoder) => (decoder.write_all(bytes), decoder.get_mut()),
        };
        match written {
            Ok(()) => Ok(false),
            Err(_) if bounded.is_cut => Ok(true),
            Err(_) => Err(BodyError::Packing),
        }
    }

    fn finish(self) -> Result<Read, BodyError> {
        let Bounded { bytes, is_cut, .. } = match self {
            Self::Plain(bounded) => bounded,
            Self::Gzip(mut decoder) => {
                // A body that ends too early would pass for a whole one otherwise.
                let ended = decoder.try_finish();
                let bounded = std::mem::take(decoder.get_mut());
                if ended.is_err() && !bounded.is_cut {
                    return Err(BodyError::Packing);
                }
                bounded
            }
        };
        Ok(Read { bytes, is_cut })
    }
}

/// Bytes up to a bound; what is beyond is an error and not taken.
#[derive(Default)]
struct Bounded {
    bytes: Vec<u8>,
    max: usize,
    is_cut: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let taken = bytes.len().min(self.max - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        if taken == 0 {
            self.is_cut = true;
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
