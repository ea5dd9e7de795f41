//! The rules that a correct agent's log keeps, checked one event at a time.
//!
//! [`Session`](crate::Session) refuses what would make a log unreadable; these rules are about what
//! an agent should not have written. A [`Checker`] looks at an event before it enters a log
//! ([`Checker::check`], which changes nothing) and then takes it in ([`Checker::fold`]). [`lines`]
//! feeds it a stored log, damaged or not. [`rule`] names the rules; [`turns`], [`pairs`] and
//! [`content`] hold them.
//!
//! What stands where in a correct log:
//! - Every event but `turn/start` and the request headers stands in a turn. What happens between
//!   two turns (a compaction, a prune) is a turn of its own, started by an injection.
//! - An event that replaces belongs to the turn, not to a step: it says which step it comes from.
//! - A compaction belongs to the turn that it starts in and dies with it. Only a crash, whose
//!   repair ends the turn as `interrupted`, may leave it open there.
//! - A fork begins with its parent's events and is held to the same rules; it cannot begin inside a
//!   turn, and so not inside a compaction.
//!
//! After damage, whatever depends on the lost events is taken as it comes until the next event
//! that says where the log stands.

mod content;
pub mod lines;
mod pairs;
pub mod rule;
mod turns;

use crate::event::{Intent, Kind, SurfaceOp};
use crate::json;
use crate::surface::{NONE, Plan, Surface};
use pairs::Pairs;
use rule::Findings;
pub use rule::{Finding, Rule, Severity};
use turns::Turns;

/// Longest string that a block may hold, unless told otherwise: 5 MiB of base64.
pub const MAX_BLOB: usize = 5 << 20;

/// What is too much.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest string in a block that is neither text nor a call, in bytes.
    pub max_blob: usize,
    /// Latest time that is not called the future, in epoch milliseconds.
    pub latest: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_blob: MAX_BLOB, latest: u64::MAX }
    }
}

/// One event, decoded as far as the rules need it.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its seq.
    pub seq: u32,
    /// Its time, a JSON number.
    pub time: &'a [u8],
    /// Its payload, checked JSON.
    pub data: &'a [u8],
    /// Its surface fields.
    pub intent: &'a Intent,
}

impl Event<'_> {
    fn number(&self, name: &str) -> Option<u32> {
        json::get(self.data, name).and_then(json::plain_integer).and_then(|n| u32::try_from(n).ok())
    }

    fn replaces(&self) -> bool {
        matches!(self.intent.op, Some(SurfaceOp::Replace { .. }))
    }
}

/// The state that the rules need: of the log's end only, but for the calls and the surface.
#[derive(Clone, Debug)]
pub struct Checker {
    /// The limits in force.
    pub limits: Limits,
    next: u32,
    turns: Turns,
    pairs: Pairs,
    surface: Surface,
    has_header: bool,
    /// Seqs that a damaged log lacks, as `from..to` in order.
    missing: Vec<(u32, u32)>,
}

impl Checker {
    /// A checker of an empty log.
    pub fn new(limits: Limits) -> Self {
        Checker {
            limits,
            next: 0,
            turns: Turns::default(),
            pairs: Pairs::default(),
            surface: Surface::default(),
            has_header: false,
            missing: Vec::new(),
        }
    }

    /// Seq of the event that comes next.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Adds what is wrong with an event that stands next. Changes nothing.
    pub fn check(&self, event: &Event<'_>, found: &mut Findings) {
        found.seq = event.seq;
        if is_after(event.time, self.limits.latest) {
            found.add(Rule::TimeInFuture);
        }
        if event.kind == Kind::RequestHeaderDelta && !self.has_header {
            found.add(Rule::DeltaWithoutHeader);
        }
        self.turns.check(event, found);
        if self.turns.ends_step(event.kind) {
            self.pairs.check_step_end(found);
        }
        if event.kind == Kind::ToolCall {
            self.pairs.check_call(event, found);
        }
        self.check_surface(event, found);
    }

    fn check_surface(&self, event: &Event<'_>, found: &mut Findings) {
        let Event { kind, seq, intent, .. } = *event;
        for &source in intent.sources.iter().flatten() {
            if self.missing.iter().any(|&(from, to)| (from..to).contains(&source)) {
                found.with(Rule::UnknownSource, [NONE, NONE], source);
            }
        }
        if let Err(error) = intent.check(kind, seq) {
            return found.error(error);
        }
        if !kind.is_surface() {
            return;
        }
        match self.surface.plan(intent, seq) {
            Err(error) => found.error(error),
            Ok(Plan::Replace { first, last }) => {
                let slot = |node| if node == seq { first } else { self.surface.node(node).map_or(NONE, |n| n.slot) };
                let shadowed = self.surface.between(first, last);
                self.pairs.check_replace(event, &shadowed, &|a, b| slot(a) < slot(b), found);
            }
            Ok(Plan::Append) if kind == Kind::AssistantMessage => self.pairs.check_message(event, found),
            Ok(Plan::Append) if kind == Kind::ToolResult && self.turns.knows_step() => {
                self.pairs.check_result(event, found);
            }
            Ok(Plan::Append) => {}
        }
        content::check(event, &self.limits, found);
    }

    /// Takes in an event that stands next, whether or not it broke a rule.
    pub fn fold(&mut self, event: &Event<'_>) {
        self.next = event.seq + 1;
        self.turns.fold(event);
        match event.kind {
            Kind::TurnStart | Kind::TurnEnd | Kind::StepStart | Kind::StepEnd => self.pairs.end_step(),
            Kind::ToolCall => self.pairs.fold_call(event),
            Kind::RequestHeader | Kind::RequestHeaderDelta => self.has_header = true,
            kind if kind.is_surface() && event.intent.op.is_some() => self.fold_surface(event),
            _ => {}
        }
    }

    fn fold_surface(&mut self, event: &Event<'_>) {
        // A replace that does not fit keeps its place in the log at least.
        let plan = self.surface.plan(event.intent, event.seq).unwrap_or(Plan::Append);
        match plan {
            Plan::Replace { first, last } => self.pairs.fold_replace(event, &self.surface.between(first, last)),
            Plan::Append if event.kind == Kind::AssistantMessage => self.pairs.fold_message(event),
            Plan::Append if event.kind == Kind::ToolResult => self.pairs.fold_result(event),
            Plan::Append => {}
        }
        self.surface.apply(plan, event.seq);
    }

    /// Goes on at `seq` after events were lost.
    pub fn skip_to(&mut self, seq: u32) {
        self.missing.push((self.next, seq));
        self.next = seq;
        self.turns.lose();
        self.pairs.end_step();
        self.has_header = true;
    }

    /// Adds what is wrong with a log that ends here.
    pub fn finish(&self, found: &mut Findings) {
        found.seq = self.next;
        self.turns.check_end(found);
    }
}

/// Whether a time (a JSON number) is later than `latest`.
fn is_after(time: &[u8], latest: u64) -> bool {
    let whole = time.split(|&b| b == b'.').next().unwrap_or_default();
    // What has too many digits, or an exponent that is not negative, is later than all.
    latest != u64::MAX && json::plain_integer(whole).map_or(!time.contains(&b'-'), |n| n > latest)
}
