//! Just enough of a WebSocket to speak over the relay: short texts in one frame each.

use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use crate::http::{Connection, wrong};
use crate::program::WayIn;

/// How long the other side may say nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// A frame that is whole and has a text.
const TEXT: u8 = 0x81;
/// The same of a question whether we are there, and of the answer.
const PING: u8 = 0x89;
const PONG: u8 = 0x8A;

/// What says that a frame is masked, as all of a client's have to be.
const MASKED: u8 = 0x80;
/// One mask is as good as another here.
const MASK: [u8; 4] = [7, 1, 9, 3];

/// What stands for a length that follows in two bytes, and in eight; shorter ones stand for themselves.
const LONG: u8 = 0x7E;
const VERY_LONG: u8 = 0x7F;

/// One end of a connection.
pub(crate) struct Socket {
    stream: BufReader<TcpStream>,
    side: Side,
}

/// Which end.
#[derive(Clone, Copy)]
enum Side {
    Client,
    Server,
}

impl Socket {
    /// A client's end of a connection to a server.
    ///
    /// # Errors
    ///
    /// The server does not take it.
    pub(crate) fn open(way_in: &WayIn, path: &str) -> io::Result<Socket> {
        let stream = Connection::open(way_in.address)?.upgrade(&way_in.token, path)?;
        let side = Side::Client;
        Ok(Socket { stream, side })
    }

    /// Both ends of a connection with nobody in between: a client's, and a server's.
    ///
    /// # Errors
    ///
    /// The system gives none.
    pub(crate) fn pair() -> io::Result<(Socket, Socket)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let client = TcpStream::connect(listener.local_addr()?)?;
        let (server, _) = listener.accept()?;
        let socket = |stream: TcpStream, side| {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            let stream = BufReader::new(stream);
            Ok::<_, io::Error>(Socket { stream, side })
        };
        Ok((socket(client, Side::Client)?, socket(server, Side::Server)?))
    }

    /// Says something.
    ///
    /// # Errors
    ///
    /// Nobody is there.
    pub(crate) fn say(&mut self, text: &str) -> io::Result<()> {
        let frame = frame(TEXT, text.as_bytes(), self.side);
        self.stream.get_mut().write_all(&frame)
    }

    /// What the other side says next.
    ///
    /// # Errors
    ///
    /// It says nothing, or goes.
    pub(crate) fn hear(&mut self) -> io::Result<String> {
        loop {
            let (kind, bytes) = read(&mut self.stream)?;
            match kind {
                TEXT => {
                    let text = String::from_utf8(bytes);
                    return text.map_err(|text| wrong("no text", &text.to_string()));
                }
                PING => {
                    let pong = frame(PONG, &bytes, self.side);
                    self.stream.get_mut().write_all(&pong)?;
                }
                PONG => {}
                _ => return Err(wrong("no text", &format!("{kind:#x}"))),
            }
        }
    }
}

fn frame(kind: u8, bytes: &[u8], side: Side) -> Vec<u8> {
    let masked = match side {
        Side::Client => MASKED,
        Side::Server => 0,
    };
    let length = bytes.len();
    let mut frame = vec![kind];
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(length), _) if length < LONG => frame.push(masked | length),
        (_, Ok(length)) => {
            frame.push(masked | LONG);
            frame.extend(length.to_be_bytes());
        }
        (_, Err(_)) => {
            frame.push(masked | VERY_LONG);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    match side {
        Side::Client => {
            frame.extend(MASK);
            let mask = MASK.iter().cycle();
            frame.extend(bytes.iter().zip(mask).map(|(byte, mask)| byte ^ mask));
        }
        Side::Server => frame.extend(bytes),
    }
    frame
}

/// Reads a frame: what kind it is, and what it has.
fn read(stream: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    stream.read_exact(&mut head)?;
    let [kind, length] = head;
    let length = match length & !MASKED {
        LONG => {
            let mut length = [0; 2];
            stream.read_exact(&mut length)?;
            usize::from(u16::from_be_bytes(length))
        }
        VERY_LONG => {
            let mut length = [0; 8];
            stream.read_exact(&mut length)?;
            usize::try_from(u64::from_be_bytes(length)).map_err(|_| ErrorKind::InvalidData)?
        }
        length => usize::from(length),
    };
    let is_masked = head[1] & MASKED != 0;
    let mut mask = [0; 4];
    if is_masked {
        stream.read_exact(&mut mask)?;
    }
    let mut bytes = Vec::new();
    stream.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    for (byte, mask) in bytes.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
    Ok((kind, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_any_length_comes_as_it_was_said() {
        for side in [Side::Client, Side::Server] {
            for length in [0, 1, 125, 126, 255, 256, 65_535, 65_536] {
                let said = vec![b'x'; length];
                let frame = frame(TEXT, &said, side);

                let (kind, heard) = read(&mut frame.as_slice()).unwrap();

                assert_eq!((kind, heard.len()), (TEXT, length));
                assert_eq!(heard, said);
                let cut = &frame[..frame.len() - 1];
                let cut = read(&mut { cut }).unwrap_err();
                assert_eq!(cut.kind(), ErrorKind::UnexpectedEof, "{length}");
            }
        }
    }

    #[test]
    fn a_short_text_of_each_side_is_spelled_as_the_standard_shows_it() {
        // RFC 6455, 5.7.
        assert_eq!(
            frame(TEXT, b"Hello", Side::Server),
            [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]
        );
        let masked = [
            0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58,
        ];
        assert_eq!(
            read(&mut masked.as_slice()).unwrap(),
            (TEXT, b"Hello".to_vec())
        );
    }

    #[test]
    fn who_is_asked_whether_they_are_there_says_so_and_hears_on() {
        let (mut client, mut server) = Socket::pair().unwrap();
        let ping = frame(PING, b"there?", Side::Server);
        server.stream.get_mut().write_all(&ping).unwrap();
        server.say("well then").unwrap();

        assert_eq!(client.hear().unwrap(), "well then");

        let answer = read(&mut server.stream).unwrap();
        assert_eq!(answer, (PONG, b"there?".to_vec()));
    }
}
