//! The rules by name, and what is found of an event that breaks one.

use crate::error::Error;
use crate::json;
use crate::surface::NONE;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The log breaks the contract: something that reads it may fail.
    Error,
    /// Allowed, and yet what providers or people stumble over.
    Warning,
}

/// A rule. Its code is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rule {
    /// Events before this one are missing, from the seq on that was due.
    SeqGap,
    /// The seq was used before: two writers, or a copy.
    SeqRepeated,
    /// `sourceEventSeqs` names an event that is missing.
    UnknownSource,
    /// The event's time is far in the future.
    TimeInFuture,
    /// A turn starts while another is open.
    TurnNested,
    /// Turns count up from 1 without gaps.
    TurnNumber,
    /// A turn ends that is not open.
    TurnNotOpen,
    /// The log ends in an open turn; the next load closes it as interrupted.
    TurnOpenAtEnd,
    /// The event names another turn than the open one.
    WrongTurn,
    /// Only request headers may stand outside a turn.
    OutsideTurn,
    /// A step starts while another is open.
    StepNested,
    /// The steps of a turn count up from 1 without gaps.
    StepNumber,
    /// A step ends that is not open.
    StepNotOpen,
    /// The turn ends while a step is open.
    StepNotClosed,
    /// The event names another step than the open one.
    WrongStep,
    /// Chunks, assistant messages, tool calls and results belong to an open step.
    OutsideStep,
    /// The step ends and a call in it has no result.
    CallWithoutResult,
    /// A tool-call block needs a non-empty id, a name, and arguments as text.
    CallMalformed,
    /// Another call on the surface has the same id.
    CallIdDuplicate,
    /// An earlier call, no longer on the surface, had the same id.
    CallIdReused,
    /// The result answers no call of the open step.
    ResultWithoutCall,
    /// The result answers a call for which the step holds no tool/call event.
    ResultOfUnloggedCall,
    /// The call has a result already.
    ResultDuplicate,
    /// The replace leaves a result before its call.
    ResultBeforeCall,
    /// The replace leaves half of a call and its result on the surface.
    ReplaceSplitsPair,
    /// A compaction starts while another is open.
    CompactionNested,
    /// No compaction is open.
    CompactionNotOpen,
    /// The turn ends while a compaction is open.
    CompactionNotClosed,
    /// The log ends in an open compaction; it dies with its turn.
    CompactionOpenAtEnd,
    /// A request/header-delta stands before any request/header.
    DeltaWithoutHeader,
    /// A text block is empty or blank, which providers refuse.
    EmptyText,
    /// The message has no content, which providers refuse.
    EmptyContent,
    /// A block holds more data than providers accept.
    OversizedBlob,
    /// The last record was cut off; the next load drops it.
    TornTail,
}

/// Every rule with its code and severity, in the order of [`Rule`].
const RULES: [(Rule, &str, Severity); 34] = {
    use Rule::*;
    use Severity::{Error, Warning};
    [
        (SeqGap, "SEQ_GAP", Error),
        (SeqRepeated, "SEQ_REPEATED", Error),
        (UnknownSource, "UNKNOWN_SOURCE", Error),
        (TimeInFuture, "TIME_IN_FUTURE", Warning),
        (TurnNested, "TURN_NESTED", Error),
        (TurnNumber, "TURN_NUMBER", Error),
        (TurnNotOpen, "TURN_NOT_OPEN", Error),
        (TurnOpenAtEnd, "TURN_OPEN_AT_END", Warning),
        (WrongTurn, "WRONG_TURN", Error),
        (OutsideTurn, "OUTSIDE_TURN", Error),
        (StepNested, "STEP_NESTED", Error),
        (StepNumber, "STEP_NUMBER", Error),
        (StepNotOpen, "STEP_NOT_OPEN", Error),
        (StepNotClosed, "STEP_NOT_CLOSED", Error),
        (WrongStep, "WRONG_STEP", Error),
        (OutsideStep, "OUTSIDE_STEP", Error),
        (CallWithoutResult, "CALL_WITHOUT_RESULT", Error),
        (CallMalformed, "CALL_MALFORMED", Error),
        (CallIdDuplicate, "CALL_ID_DUPLICATE", Error),
        (CallIdReused, "CALL_ID_REUSED", Warning),
        (ResultWithoutCall, "RESULT_WITHOUT_CALL", Error),
        (ResultOfUnloggedCall, "RESULT_OF_UNLOGGED_CALL", Error),
        (ResultDuplicate, "RESULT_DUPLICATE", Error),
        (ResultBeforeCall, "RESULT_BEFORE_CALL", Error),
        (ReplaceSplitsPair, "REPLACE_SPLITS_PAIR", Error),
        (CompactionNested, "COMPACTION_NESTED", Error),
        (CompactionNotOpen, "COMPACTION_NOT_OPEN", Error),
        (CompactionNotClosed, "COMPACTION_NOT_CLOSED", Error),
        (CompactionOpenAtEnd, "COMPACTION_OPEN_AT_END", Warning),
        (DeltaWithoutHeader, "DELTA_WITHOUT_HEADER", Error),
        (EmptyText, "EMPTY_TEXT", Warning),
        (EmptyContent, "EMPTY_CONTENT", Warning),
        (OversizedBlob, "OVERSIZED_BLOB", Error),
        (TornTail, "TORN_TAIL", Warning),
    ]
};

impl Rule {
    /// Every rule.
    pub fn all() -> impl Iterator<Item = Rule> {
        RULES.iter().map(|(rule, ..)| *rule)
    }

    /// The stable code.
    pub const fn code(self) -> &'static str {
        RULES[self as usize].1
    }

    /// How bad it is to break the rule.
    pub const fn severity(self) -> Severity {
        RULES[self as usize].2
    }
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's code, or that of the [`Error`] that makes a line no event.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Seq of the event that breaks the rule; [`NONE`] for a header line.
    pub seq: u32,
    /// The number that the rule is about, else [`NONE`].
    pub number: u32,
    /// Seqs of the other events concerned, else [`NONE`].
    pub related: [u32; 2],
    /// What an [`Error`] says; empty for a rule, whose code says it.
    pub message: String,
    /// Line in the file, counted from 1, and its byte offset; where a file was read.
    pub place: Option<(u64, u64)>,
}

impl Finding {
    /// Appends the finding as a JSON object; what does not apply is left out.
    pub fn put_json(&self, out: &mut Vec<u8>) {
        json::put(out, b"{\"code\":\"");
        json::put(out, self.code.as_bytes());
        json::put(out, b"\",\"severity\":\"");
        json::put(out, if self.severity == Severity::Error { b"error" } else { b"warning" });
        json::put(out, b"\",\"message\":");
        json::encode(self.message.as_bytes(), out);
        let (line, byte) = self.place.unwrap_or((u64::MAX, u64::MAX));
        let seq = |n: u32| if n == NONE { u64::MAX } else { u64::from(n) };
        let [first, second] = self.related;
        let numbers: [(&[u8], u64); 6] = [
            (b",\"seq\":", seq(self.seq)),
            (b",\"number\":", seq(self.number)),
            (b",\"first\":", seq(first)),
            (b",\"second\":", seq(second)),
            (b",\"line\":", line),
            (b",\"byte\":", byte),
        ];
        for (name, value) in numbers {
            if value != u64::MAX {
                json::put(out, name);
                json::push_integer(value, out);
            }
        }
        json::put(out, b"}");
    }
}

/// What is found, event by event.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// So far.
    pub list: Vec<Finding>,
    /// Seq of the event being looked at.
    pub(super) seq: u32,
}

impl Findings {
    /// The event breaks `rule`.
    pub(super) fn add(&mut self, rule: Rule) {
        self.with(rule, [NONE, NONE], NONE);
    }

    /// The event breaks `rule` together with `other`.
    pub(super) fn beside(&mut self, rule: Rule, other: u32) {
        self.with(rule, [other, NONE], NONE);
    }

    /// The event breaks `rule`, which is about a number and other events.
    #[inline(never)]
    pub(super) fn with(&mut self, rule: Rule, related: [u32; 2], number: u32) {
        let (code, severity) = (rule.code(), rule.severity());
        let seq = self.seq;
        self.list.push(Finding { code, severity, seq, number, related, message: String::new(), place: None });
    }

    /// What the log itself would refuse the event for.
    #[inline(never)]
    pub(super) fn error(&mut self, error: Error) {
        self.with(Rule::SeqGap, [NONE, NONE], NONE);
        if let Some(finding) = self.list.last_mut() {
            finding.code = error.code.name();
            finding.message = error.message;
        }
    }
}
