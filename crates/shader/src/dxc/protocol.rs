//! Frames between the parent and the DXC child.
//!
//! A frame is a little-endian `u32` byte count and that many bytes. The child
//! speaks first: one frame that holds [`HELLO`]. Then each request frame is
//! answered by one response frame. Within a frame, integers are little-endian
//! `u32`, a string or blob is its byte count and its bytes, a list is its length
//! and its items.

use std::io::{self, Read, Write};

/// What the child's first frame holds.
pub(crate) const HELLO: &[u8] = b"wavefence-dxc 1";

/// No frame is larger; a larger count means that the other side speaks
/// something else (text, for one, always reads as larger).
pub(crate) const MAX_FRAME: u32 = 128 << 20;

/// What the child is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Run the preprocessor; the answer is text.
    Preprocess,
    /// Compile; the answer is SPIR-V.
    Compile,
}

/// One job for the child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub op: Op,
    /// Path of `libdxcompiler`, or a bare name for the loader to find.
    pub library: String,
    /// File name that DXC is told; includes are asked for relative to it.
    pub name: String,
    /// The source text.
    pub text: String,
    /// Entry point.
    pub entry: String,
    /// Shader model target, `cs_6_6` say.
    pub target: String,
    /// The other arguments.
    pub args: Vec<String>,
    /// Folder that relative includes start from; empty for none.
    pub dir: String,
    /// Folders outside which no file is read.
    pub roots: Vec<String>,
}

/// A file that the source included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Included {
    /// The name DXC asked for, which diagnostics and debug lines use.
    pub asked: String,
    /// Where it was found.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// An include that was not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The name DXC asked for.
    pub asked: String,
    /// Why not.
    pub reason: String,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// `output` holds the result.
    Done,
    /// `messages` says what is wrong with the source.
    Rejected,
    /// The library could not be loaded or is no DXC; `messages` says why.
    NoLibrary,
    /// The child itself failed; `messages` says how.
    Failed,
}

/// The child's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub status: Status,
    /// SPIR-V bytes or preprocessed text.
    pub output: Vec<u8>,
    /// DXC's messages, also on success (warnings).
    pub messages: String,
    /// Every file that was read.
    pub included: Vec<Included>,
    /// Every include that was not served.
    pub refused: Vec<Refused>,
}

impl Response {
    /// An answer without output.
    pub fn failure(status: Status, messages: String) -> Self {
        Self { status, output: Vec::new(), messages, included: Vec::new(), refused: Vec::new() }
    }
}

/// Writes one frame.
pub(crate) fn write_frame(to: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    let len = u32::try_from(bytes.len()).ok().filter(|n| *n <= MAX_FRAME).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("a frame of {} bytes", bytes.len()))
    })?;
    to.write_all(&len.to_le_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

/// Reads one frame; `None` if the stream ends before its first byte.
pub(crate) fn read_frame(from: &mut dyn Read) -> io::Result<Option<Vec<u8>>> {
    let mut len = [0u8; 4];
    let mut got = 0;
    while got < 4 {
        match from.read(&mut len[got..]) {
            Ok(0) if got == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let count = u32::from_le_bytes(len);
    if count > MAX_FRAME {
        let first = String::from_utf8_lossy(&len).into_owned();
        let what = format!("not a frame; its first bytes are {first:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    let mut bytes = Vec::new();
    let read = from.take(u64::from(count)).read_to_end(&mut bytes)?;
    if read != count as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(bytes))
}

struct Out(Vec<u8>);

impl Out {
    fn word(&mut self, v: u32) {
        self.0.extend_from_slice(&v.to_le_bytes());
    }
    fn count(&mut self, n: usize) {
        self.word(u32::try_from(n).unwrap_or(u32::MAX));
    }
    fn blob(&mut self, b: &[u8]) {
        self.count(b.len());
        self.0.extend_from_slice(b);
    }
    fn list(&mut self, items: &[String]) {
        self.count(items.len());
        for item in items {
            self.blob(item.as_bytes());
        }
    }
}

/// A frame that does not hold what it should.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadFrame;

struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], BadFrame> {
        let (head, tail) = self.0.split_at_checked(n).ok_or(BadFrame)?;
        self.0 = tail;
        Ok(head)
    }
    fn word(&mut self) -> Result<u32, BadFrame> {
        let b = self.take(4)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }
    fn blob(&mut self) -> Result<&'a [u8], BadFrame> {
        let n = self.word()?;
        self.take(n as usize)
    }
    fn string(&mut self) -> Result<String, BadFrame> {
        Ok(String::from_utf8_lossy(self.blob()?).into_owned())
    }
    fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, BadFrame>,
    ) -> Result<Vec<T>, BadFrame> {
        let n = self.word()?;
        let mut items = Vec::new();
        for _ in 0..n {
            items.push(item(self)?);
        }
        Ok(items)
    }
    fn end(self) -> Result<(), BadFrame> {
        if self.0.is_empty() { Ok(()) } else { Err(BadFrame) }
    }
}

impl Request {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Out(Vec::with_capacity(self.text.len() + 1024));
        out.word(match self.op {
            Op::Preprocess => 0,
            Op::Compile => 1,
        });
        for s in [&self.library, &self.name, &self.text, &self.entry, &self.target, &self.dir] {
            out.blob(s.as_bytes());
        }
        out.list(&self.args);
        out.list(&self.roots);
        out.0
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, BadFrame> {
        let mut from = In(bytes);
        let op = match from.word()? {
            0 => Op::Preprocess,
            1 => Op::Compile,
            _ => return Err(BadFrame),
        };
        let request = Self {
            op,
            library: from.string()?,
            name: from.string()?,
            text: from.string()?,
            entry: from.string()?,
            target: from.string()?,
            dir: from.string()?,
            args: from.list(In::string)?,
            roots: from.list(In::string)?,
        };
        from.end()?;
        Ok(request)
    }
}

impl Response {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Out(Vec::with_capacity(self.output.len() + 1024));
        out.word(match self.status {
            Status::Done => 0,
            Status::Rejected => 1,
            Status::NoLibrary => 2,
            Status::Failed => 3,
        });
        out.blob(&self.output);
        out.blob(self.messages.as_bytes());
        out.count(self.included.len());
        for file in &self.included {
            out.blob(file.asked.as_bytes());
            out.blob(file.path.as_bytes());
            out.blob(file.text.as_bytes());
        }
        out.count(self.refused.len());
        for r in &self.refused {
            out.blob(r.asked.as_bytes());
            out.blob(r.reason.as_bytes());
        }
        out.0
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, BadFrame> {
        let mut from = In(bytes);
        let status = match from.word()? {
            0 => Status::Done,
            1 => Status::Rejected,
            2 => Status::NoLibrary,
            3 => Status::Failed,
            _ => return Err(BadFrame),
        };
        let response = Self {
            status,
            output: from.blob()?.to_vec(),
            messages: from.string()?,
            included: from.list(|f| {
                Ok(Included { asked: f.string()?, path: f.string()?, text: f.string()? })
            })?,
            refused: from.list(|f| Ok(Refused { asked: f.string()?, reason: f.string()? }))?,
        };
        from.end()?;
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request() -> Request {
        Request {
            op: Op::Compile,
            library: "l".into(),
            name: "n.hlsl".into(),
            text: "void main() {}\n".into(),
            entry: "main".into(),
            target: "cs_6_6".into(),
            args: vec!["-O3".into(), String::new()],
            dir: "/d".into(),
            roots: vec!["/r".into()],
        }
    }

    fn response() -> Response {
        Response {
            status: Status::Rejected,
            output: vec![1, 2, 3],
            messages: "m".into(),
            included: vec![Included { asked: "a".into(), path: "p".into(), text: "t".into() }],
            refused: vec![Refused { asked: "b".into(), reason: "r".into() }],
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        assert_eq!(Request::decode(&request().encode()), Ok(request()));
        assert_eq!(Response::decode(&response().encode()), Ok(response()));
        let mut pipe = Vec::new();
        write_frame(&mut pipe, b"one").unwrap();
        write_frame(&mut pipe, b"").unwrap();
        let mut from = &pipe[..];
        assert_eq!(read_frame(&mut from).unwrap().as_deref(), Some(&b"one"[..]));
        assert_eq!(read_frame(&mut from).unwrap().as_deref(), Some(&b""[..]));
        assert_eq!(read_frame(&mut from).unwrap(), None);
    }

    #[test]
    fn text_in_place_of_a_frame_is_shown() {
        let error = read_frame(&mut &b"Usage: foo"[..]).unwrap_err();
        assert!(error.to_string().contains("\"Usag\""), "{error}");
    }

    proptest! {
        #[test]
        fn cut_and_changed_frames_never_panic(cut in 0usize..200, at in 0usize..200, byte: u8) {
            for mut bytes in [request().encode(), response().encode()] {
                if let Some(b) = bytes.get_mut(at) {
                    *b = byte;
                }
                bytes.truncate(cut);
                let _ = (Request::decode(&bytes), Response::decode(&bytes));
                let _ = read_frame(&mut &bytes[..]);
            }
        }
    }
}
