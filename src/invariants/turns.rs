//! Turns, the steps in them, and the compaction that may be open in a turn.

use super::Event;
use super::rule::{Findings, Rule};
use crate::event::Kind;
use crate::json;
use crate::surface::NONE;

/// A turn or a step: the last one that started.
#[derive(Clone, Copy, Debug)]
struct Count {
    number: u32,
    /// Seq of its start while it is open, else [`NONE`].
    open: u32,
    /// False after damage, until an event says where the log stands.
    known: bool,
}

impl Count {
    const ZERO: Count = Count { number: 0, open: NONE, known: true };

    fn is_open(&self) -> bool {
        self.open != NONE
    }

    /// Whether it is certain that none is open.
    fn is_closed(&self) -> bool {
        self.known && self.open == NONE
    }

    /// The one that `event` starts; it names itself by `name`.
    fn started(&self, event: &Event<'_>, name: &str) -> Count {
        Count { number: event.number(name).unwrap_or(self.number + 1), open: event.seq, known: true }
    }

    fn ended(&self) -> Count {
        Count { open: NONE, known: true, ..*self }
    }

    fn lost(&self) -> Count {
        Count { open: NONE, known: false, ..*self }
    }
}

/// Where a log stands.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    turn: Count,
    step: Count,
    /// Seq of the `compact/start` that is open, else [`NONE`].
    compaction: u32,
}

impl Default for Turns {
    fn default() -> Self {
        Turns { turn: Count::ZERO, step: Count::ZERO, compaction: NONE }
    }
}

impl Turns {
    /// Whether the calls of the step are known.
    pub fn knows_step(&self) -> bool {
        self.step.known
    }

    /// Whether the event ends the open step, by its own word or with its turn.
    pub fn ends_step(&self, kind: Kind) -> bool {
        kind == Kind::StepEnd || (kind == Kind::TurnEnd && self.step.is_open())
    }

    /// What is wrong with where an event stands.
    pub fn check(&self, event: &Event<'_>, found: &mut Findings) {
        match event.kind {
            Kind::TurnStart => self.check_turn_start(event, found),
            Kind::StepStart => self.check_step_start(event, found),
            Kind::RequestHeader | Kind::RequestHeaderDelta => {}
            Kind::TurnEnd if self.turn.is_closed() => found.add(Rule::TurnNotOpen),
            Kind::StepEnd if self.step.is_closed() => found.add(Rule::StepNotOpen),
            Kind::StepEnd => self.check_step(event, found),
            Kind::TurnEnd => self.check_turn_end(event, found),
            _ if self.turn.is_closed() => found.add(Rule::OutsideTurn),
            _ if event.replaces() => {}
            Kind::AssistantChunk | Kind::AssistantMessage | Kind::ToolCall | Kind::ToolResult => {
                if self.step.is_closed() {
                    found.add(Rule::OutsideStep);
                } else {
                    self.check_step(event, found);
                }
            }
            Kind::SteeringMessage => self.check_turn(event, found),
            Kind::CompactStart if self.compaction != NONE => {
                found.beside(Rule::CompactionNested, self.compaction);
            }
            Kind::CompactSummary | Kind::CompactEnd if self.compaction == NONE && self.turn.known => {
                found.add(Rule::CompactionNotOpen);
            }
            Kind::CompactStart | Kind::CompactEnd => self.check_turn(event, found),
            _ => {}
        }
    }

    fn check_turn_start(&self, event: &Event<'_>, found: &mut Findings) {
        if self.turn.is_open() {
            found.beside(Rule::TurnNested, self.turn.open);
        }
        let (own, last) = (event.number("turn"), self.turn.number);
        let fits = if self.turn.known { own == Some(last + 1) } else { own > Some(last) };
        if !fits {
            found.with(Rule::TurnNumber, [NONE, NONE], last + 1);
        }
    }

    fn check_turn_end(&self, event: &Event<'_>, found: &mut Findings) {
        self.check_turn(event, found);
        let reason = json::get(event.data, "reason").and_then(|reason| json::get(reason, "kind"));
        if self.compaction != NONE && !reason.is_some_and(|kind| json::key_is(kind, "interrupted")) {
            found.beside(Rule::CompactionNotClosed, self.compaction);
        }
        if self.step.is_open() {
            found.beside(Rule::StepNotClosed, self.step.open);
        }
    }

    fn check_step_start(&self, event: &Event<'_>, found: &mut Findings) {
        if self.turn.is_closed() {
            found.add(Rule::OutsideTurn);
        }
        self.check_turn(event, found);
        if self.step.is_open() {
            found.beside(Rule::StepNested, self.step.open);
        }
        if self.step.known && event.number("step") != Some(self.step.number + 1) {
            found.with(Rule::StepNumber, [NONE, NONE], self.step.number + 1);
        }
    }

    /// Whether the event names the open turn.
    fn check_turn(&self, event: &Event<'_>, found: &mut Findings) {
        if self.turn.is_open() && event.number("turn") != Some(self.turn.number) {
            found.with(Rule::WrongTurn, [self.turn.open, NONE], self.turn.number);
        }
    }

    /// Whether the event names the open step.
    fn check_step(&self, event: &Event<'_>, found: &mut Findings) {
        let before = found.list.len();
        self.check_turn(event, found);
        if found.list.len() == before && self.step.is_open() && event.number("step") != Some(self.step.number) {
            found.with(Rule::WrongStep, [self.step.open, NONE], self.step.number);
        }
    }

    /// Takes in an event.
    pub fn fold(&mut self, event: &Event<'_>) {
        match event.kind {
            Kind::TurnStart => {
                *self = Turns { turn: self.turn.started(event, "turn"), ..Turns::default() };
            }
            Kind::TurnEnd => *self = Turns { turn: self.turn.ended(), ..Turns::default() },
            Kind::StepStart => {
                self.step = self.step.started(event, "step");
                if !self.turn.known {
                    self.turn = self.turn.started(event, "turn");
                }
            }
            Kind::StepEnd => self.step = self.step.ended(),
            Kind::CompactStart => self.compaction = event.seq,
            Kind::CompactEnd => self.compaction = NONE,
            _ => {}
        }
    }

    /// Forgets what lost events may have changed.
    pub fn lose(&mut self) {
        *self = Turns { turn: self.turn.lost(), step: self.step.lost(), compaction: NONE };
    }

    /// What is wrong with a log that ends here.
    pub fn check_end(&self, found: &mut Findings) {
        if self.turn.is_open() {
            found.beside(Rule::TurnOpenAtEnd, self.turn.open);
        }
        if self.compaction != NONE {
            found.beside(Rule::CompactionOpenAtEnd, self.compaction);
        }
    }
}
