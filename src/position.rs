//! Where a log stands: its last turn, the step and the compaction that are open in it.

use crate::event::Kind;
use crate::json;
use crate::log::Log;
use crate::surface::NONE;

/// Where a log stands at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Number of the last turn; 0 before the first.
    pub turn: u32,
    /// Seq of its `turn/start` while it is open, else [`NONE`].
    pub open_turn: u32,
    /// Number of the last step of the open turn; 0 before its first.
    pub step: u32,
    /// Seq of its `step/start` while it is open, else [`NONE`].
    pub open_step: u32,
    /// Seq of the `compact/start` that is open in the turn, else [`NONE`].
    pub compaction: u32,
}

/// The position at the end of the events `first..`.
pub fn of(log: &Log, first: u32) -> Position {
    let mut at = Position { turn: 0, open_turn: NONE, step: 0, open_step: NONE, compaction: NONE };
    let number = |seq: u32, name: &str| {
        let value = log.get(seq).and_then(|event| json::get(event.data(), name).and_then(json::plain_integer));
        value.map_or(0, |n| n as u32)
    };
    let (mut step_known, mut compaction_known) = (false, false);
    for seq in (first..log.len()).rev() {
        match log.kind(seq) {
            Some(kind @ (Kind::TurnStart | Kind::TurnEnd)) => {
                at.turn = number(seq, "turn");
                if kind == Kind::TurnStart {
                    at.open_turn = seq;
                }
                break;
            }
            Some(kind @ (Kind::StepStart | Kind::StepEnd)) if !step_known => {
                step_known = true;
                at.step = number(seq, "step");
                if kind == Kind::StepStart {
                    at.open_step = seq;
                }
            }
            Some(kind @ (Kind::CompactStart | Kind::CompactEnd)) if !compaction_known => {
                compaction_known = true;
                if kind == Kind::CompactStart {
                    at.compaction = seq;
                }
            }
            _ => {}
        }
    }
    at
}
