//! The one error type of the core: a stable code, and where it happened.

use std::fmt;

/// Stable error codes. Their text form crosses the wasm boundary and is part of the public contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The event type is empty or not a JSON string.
    InvalidType,
    /// A surface event whose payload could not be projected to a message.
    InvalidPayload,
    /// A surface event without `surfaceOp`.
    MissingSurfaceOp,
    /// A log-only event with `surfaceOp` or `sourceEventSeqs`.
    UnexpectedSurfaceFields,
    /// `surfaceOp` is neither `"append"` nor a well-formed replace.
    InvalidSurfaceOp,
    /// `sourceEventSeqs` is empty where that is refused, repeats itself, or names no earlier event.
    InvalidSources,
    /// A replace whose ends or sources do not fit the surface.
    InvalidReplace,
    /// An event that does not continue the log.
    SeqMismatch,
    /// Bytes that are not a whole session log.
    CorruptLog,
    /// A log of another format version.
    UnsupportedVersion,
    /// A session header that is not one.
    InvalidHeader,
    /// A header delta before any header snapshot.
    DeltaWithoutHeader,
    /// A tool result on the surface that answers no call before it.
    UnpairedToolResult,
    /// A seq outside the log, or not on the surface.
    InvalidSeq,
    /// A fork boundary that is no event of the source.
    InvalidBoundary,
    /// A fork boundary inside an open turn.
    OpenTurn,
    /// Text that is not JSON.
    InvalidJson,
    /// Memory that the host does not give.
    OutOfMemory,
}

impl Code {
    /// The stable name of the code.
    pub const fn name(self) -> &'static str {
        match self {
            Code::InvalidType => "INVALID_TYPE",
            Code::InvalidPayload => "INVALID_PAYLOAD",
            Code::MissingSurfaceOp => "MISSING_SURFACE_OP",
            Code::UnexpectedSurfaceFields => "UNEXPECTED_SURFACE_FIELDS",
            Code::InvalidSurfaceOp => "INVALID_SURFACE_OP",
            Code::InvalidSources => "INVALID_SOURCES",
            Code::InvalidReplace => "INVALID_REPLACE",
            Code::SeqMismatch => "SEQ_MISMATCH",
            Code::CorruptLog => "CORRUPT_LOG",
            Code::UnsupportedVersion => "UNSUPPORTED_VERSION",
            Code::InvalidHeader => "INVALID_HEADER",
            Code::DeltaWithoutHeader => "DELTA_WITHOUT_HEADER",
            Code::UnpairedToolResult => "UNPAIRED_TOOL_RESULT",
            Code::InvalidSeq => "INVALID_SEQ",
            Code::InvalidBoundary => "INVALID_BOUNDARY",
            Code::OpenTurn => "OPEN_TURN",
            Code::InvalidJson => "INVALID_JSON",
            Code::OutOfMemory => "OUT_OF_MEMORY",
        }
    }
}

/// What went wrong and where. Fields that do not apply are `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Stable code.
    pub code: Code,
    /// What is wrong and what to do, in one sentence.
    pub message: String,
    /// Seq of the event concerned.
    pub seq: Option<u32>,
    /// Path inside the event, for example `data.content`.
    pub path: Option<&'static str>,
    /// Line of the file, counted from 1.
    pub line: Option<u64>,
    /// Byte offset in the file.
    pub byte: Option<u64>,
}

/// Result with the core's error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error that names no place yet.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error { code, message: message.into(), seq: None, path: None, line: None, byte: None }
    }

    /// Memory that the host does not give.
    #[cold]
    #[inline(never)]
    pub(crate) fn out_of_memory() -> Self {
        let what = "there is no memory left for this; free sessions, or open large logs without their bytes (openFile, openBlob)";
        Error::new(Code::OutOfMemory, what)
    }

    /// Names the event concerned.
    pub fn at_seq(mut self, seq: u32) -> Self {
        self.seq = Some(seq);
        self
    }

    /// Names the path inside the event.
    pub fn at_path(mut self, path: &'static str) -> Self {
        self.path = Some(path);
        self
    }

    /// Names the place in the file.
    pub fn at_line(mut self, line: u64, byte: u64) -> Self {
        self.line = Some(line);
        self.byte = Some(byte);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)?;
        if let Some(seq) = self.seq {
            write!(f, " (seq {seq})")?;
        }
        if let Some(path) = self.path {
            write!(f, " (path {path})")?;
        }
        if let (Some(line), Some(byte)) = (self.line, self.byte) {
            write!(f, " (line {line}, byte {byte})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
