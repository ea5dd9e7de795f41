//! palimpsest's core: the event-sourced session log, pure and synchronous.
//!
//! A session is one append-only log of events. What the model sees is derived from it through a
//! *surface*; the log itself is never rewritten.
//!
//! The map, from the bytes up:
//! - [`json`]: scanner over JSON text, spans instead of trees.
//! - [`event`]: one event and its line; the checks that need nothing else. [`record`]: events as the
//!   façade hands them over.
//! - [`log`]: blocks of JSONL bytes and their index; [`filed`]: events whose bytes stay in a file.
//! - `alike`: lines that differ from the one before in a string only.
//! - [`chunks`]: lists that forks share.
//! - [`surface`]: which surface events the model sees, in order; append and replace.
//! - [`derive`]: a surface event's message; [`parts`]: messages as they are handed to the façade. [`header`]: the request header and its deltas.
//! - [`position`]: the turn and step that are open. [`repair`]: closing an interrupted turn.
//! - [`pairing`]: calls and their results.
//! - [`session`]: a log with its folds; [`fork`]: a child that shares them; [`jsonl`]: reading one.
//! - [`invariants`]: the rules that a correct agent's log keeps, over a live log or a damaged file.
//! - [`error`]: the one error type with its codes.
//!
//! Three promises hold throughout: an event's bytes are never changed, decoded and re-encoded, or
//! copied by a fork; a refused operation leaves everything as it was; no input makes the core panic.
//!
//! The `wasm` module (on wasm32 only) binds this to JavaScript; nothing else knows of it.

#![deny(unsafe_code)]
#![warn(missing_docs)]

mod alike;
pub mod chunks;
pub mod derive;
pub mod error;
pub mod event;
pub mod filed;
pub mod fork;
pub mod header;
pub mod invariants;
pub mod json;
pub mod jsonl;
pub mod log;
pub mod pairing;
pub mod parts;
pub mod position;
pub mod record;
pub mod repair;
pub mod session;
pub mod surface;

#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code, reason = "the exports that wasm-bindgen generates; nothing there is unsafe by hand")]
mod wasm;

pub use error::{Code, Error, Result};
pub use event::{Intent, Kind, NewEvent, SurfaceOp};
pub use header::Header;
pub use jsonl::{Loaded, Reader};
pub use session::{FORMAT_VERSION, Session, SessionHeader};
