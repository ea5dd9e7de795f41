//! Calls and their results: those of the open step, and the pairs on the surface.
//!
//! Calls go by the hashes of their ids: what is kept is small, and compared in one step.
//!
//! Invariants:
//! - `call` and `result` of a pair are the surface events that carry them *now*; [`NONE`] once they
//!   are shadowed, or before there is one.
//! - A replace touches only the pairs of the nodes that it shadows and of the node that it adds, so
//!   looking for half pairs costs what the replace itself costs, however long the log is.

use super::Event;
use super::rule::{Findings, Rule};
use crate::event::Kind;
use crate::json;
use crate::pairing;
use crate::surface::NONE;

/// One call of the log and its result.
#[derive(Clone, Copy, Debug)]
struct Pair {
    id: u64,
    call: u32,
    result: u32,
}

/// A surface event that carries half of a pair.
#[derive(Clone, Copy, Debug)]
struct Carrier {
    seq: u32,
    pair: u32,
}

/// A call of the open step.
#[derive(Clone, Copy, Debug)]
struct StepCall {
    id: u64,
    /// Its pair; [`NONE`] while no message holds the call.
    pair: u32,
    /// The event that says most of it: its `tool/call`, else its message.
    seq: u32,
    logged: bool,
    answered: bool,
}

/// What a replace makes of one pair.
struct Touch {
    index: u32,
    will_be: Pair,
}

/// All pairs of a log, and the calls of its open step.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    pairs: Vec<Pair>,
    /// In seq order.
    carriers: Vec<Carrier>,
    /// Open addressing by id: indices into `pairs`, plus one.
    table: Vec<u32>,
    step: Vec<StepCall>,
}

/// FNV-1a of the id that a JSON string spells.
fn id_of(quoted: &[u8]) -> u64 {
    json::decode(quoted)
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3))
}

/// The call that a `tool/call` or a result names.
#[inline(never)]
fn named_call(event: &Event<'_>) -> u64 {
    id_of(json::get(event.data, "callId").unwrap_or_default())
}

/// The calls in an assistant message.
#[inline(never)]
fn calls_in(event: &Event<'_>) -> Vec<u64> {
    pairing::tool_calls(event.data).map(id_of).collect()
}

impl Pairs {
    /// Forgets the open step.
    pub fn end_step(&mut self) {
        self.step.clear();
    }

    /// What is wrong with the calls of a step that ends now.
    pub fn check_step_end(&self, found: &mut Findings) {
        for call in &self.step {
            if !call.answered {
                found.beside(Rule::CallWithoutResult, call.seq);
            }
        }
    }

    /// What is wrong with a `tool/call`.
    pub fn check_call(&self, event: &Event<'_>, found: &mut Findings) {
        let id = named_call(event);
        if let Some(twin) = self.step.iter().find(|call| call.logged && call.id == id) {
            found.beside(Rule::CallIdDuplicate, twin.seq);
        }
    }

    /// What is wrong with the calls of an appended assistant message.
    pub fn check_message(&self, event: &Event<'_>, found: &mut Findings) {
        let calls = calls_in(event);
        for (i, &id) in calls.iter().enumerate() {
            let earlier = self.last_of(id, false).map(|pair| self.pairs[pair as usize].call);
            if calls[..i].contains(&id) {
                found.beside(Rule::CallIdDuplicate, event.seq);
            } else if let Some(call) = earlier {
                found.beside(if call == NONE { Rule::CallIdReused } else { Rule::CallIdDuplicate }, call);
            }
        }
    }

    /// What is wrong with an appended result.
    pub fn check_result(&self, event: &Event<'_>, found: &mut Findings) {
        let interrupted = || {
            let code = json::get(event.data, "error").and_then(|error| json::get(error, "code"));
            code.is_some_and(|code| json::key_is(code, "interrupted"))
        };
        match self.step_call(named_call(event)).map(|index| self.step[index]) {
            Some(call) if call.answered => found.beside(Rule::ResultDuplicate, call.seq),
            Some(call) if call.pair != NONE && !call.logged && !interrupted() => {
                found.beside(Rule::ResultOfUnloggedCall, call.seq);
            }
            Some(call) if call.pair != NONE => {}
            _ => found.add(Rule::ResultWithoutCall),
        }
    }

    /// What a replace of the nodes `shadowed` leaves of the pairs. `stands_before` compares two
    /// nodes by position as they will be.
    pub fn check_replace(
        &self,
        event: &Event<'_>,
        shadowed: &[u32],
        stands_before: &dyn Fn(u32, u32) -> bool,
        found: &mut Findings,
    ) {
        let (touched, unmatched) = self.touched(event, shadowed);
        for Touch { index, will_be: Pair { call, result, .. } } in touched {
            let was = self.pairs[index as usize];
            let waits = || self.step.iter().any(|call| call.pair == index && !call.answered);
            let split = match (call, result) {
                (NONE, NONE) => was.call != NONE && was.result == NONE && waits(),
                (NONE, _) => true,
                (_, NONE) => was.result != NONE,
                _ => false,
            };
            if split {
                found.with(Rule::ReplaceSplitsPair, [was.call, was.result], NONE);
            } else if call != NONE && result != NONE && !stands_before(call, result) {
                found.with(Rule::ResultBeforeCall, [was.call, was.result], NONE);
            }
        }
        for _ in unmatched {
            found.add(if event.kind == Kind::ToolResult { Rule::ResultWithoutCall } else { Rule::ReplaceSplitsPair });
        }
    }

    /// Takes in a `tool/call`.
    pub fn fold_call(&mut self, event: &Event<'_>) {
        let id = named_call(event);
        match self.step.iter_mut().find(|call| call.id == id && !call.logged) {
            Some(call) => (call.logged, call.seq) = (true, event.seq),
            None => self.step.push(StepCall { id, pair: NONE, seq: event.seq, logged: true, answered: false }),
        }
    }

    /// Takes in an appended assistant message.
    pub fn fold_message(&mut self, event: &Event<'_>) {
        for id in calls_in(event) {
            let pair = self.add(id, event.seq);
            match self.step.iter_mut().find(|call| call.id == id && call.pair == NONE) {
                Some(call) => call.pair = pair,
                None => self.step.push(StepCall { id, pair, seq: event.seq, logged: false, answered: false }),
            }
        }
    }

    /// Takes in an appended result.
    pub fn fold_result(&mut self, event: &Event<'_>) {
        let id = named_call(event);
        let mut pair = NONE;
        if let Some(index) = self.step_call(id) {
            self.step[index].answered = true;
            pair = self.step[index].pair;
        }
        if pair == NONE {
            // A late answer: broken already, but the surface has a pair now.
            pair = self.last_of(id, true).unwrap_or(NONE);
        }
        if let Some(half) = self.pairs.get_mut(pair as usize) {
            half.result = event.seq;
            self.carriers.push(Carrier { seq: event.seq, pair });
        }
    }

    /// Takes in a replace of the nodes `shadowed`.
    pub fn fold_replace(&mut self, event: &Event<'_>, shadowed: &[u32]) {
        let (touched, unmatched) = self.touched(event, shadowed);
        for Touch { index, will_be } in touched {
            self.pairs[index as usize] = will_be;
            if will_be.call == event.seq || will_be.result == event.seq {
                self.carriers.push(Carrier { seq: event.seq, pair: index });
            }
        }
        if event.kind == Kind::AssistantMessage {
            for id in unmatched {
                self.add(id, event.seq);
            }
        }
    }

    /// The pairs that a replace changes, as they will be, and the calls of the new node that belong
    /// to none of them.
    #[inline(never)]
    fn touched(&self, event: &Event<'_>, shadowed: &[u32]) -> (Vec<Touch>, Vec<u64>) {
        let mut touched: Vec<Touch> = Vec::new();
        for &seq in shadowed {
            let first = self.carriers.partition_point(|carrier| carrier.seq < seq);
            for carrier in self.carriers[first..].iter().take_while(|carrier| carrier.seq == seq) {
                let pair = &mut self.touch(&mut touched, carrier.pair).will_be;
                if pair.call == seq {
                    pair.call = NONE;
                }
                if pair.result == seq {
                    pair.result = NONE;
                }
            }
        }
        let is_result = event.kind == Kind::ToolResult;
        let mut unmatched = match event.kind {
            Kind::AssistantMessage => calls_in(event),
            Kind::ToolResult => vec![named_call(event)],
            _ => Vec::new(),
        };
        unmatched.retain(|&id| {
            let freed = |pair: &Pair| pair.id == id && (if is_result { pair.result } else { pair.call }) == NONE;
            let mut at = touched.iter().position(|touch| freed(&touch.will_be));
            if let (None, true, Some(open)) = (at, is_result, self.last_of(id, true)) {
                self.touch(&mut touched, open);
                at = Some(touched.len() - 1);
            }
            match at {
                Some(at) if is_result => touched[at].will_be.result = event.seq,
                Some(at) => touched[at].will_be.call = event.seq,
                None => {}
            }
            at.is_none()
        });
        (touched, unmatched)
    }

    /// The touch of a pair, made on first sight.
    #[inline(never)]
    fn touch<'a>(&self, touched: &'a mut Vec<Touch>, index: u32) -> &'a mut Touch {
        let at = touched.iter().position(|touch| touch.index == index).unwrap_or(touched.len());
        if at == touched.len() {
            touched.push(Touch { index, will_be: self.pairs[index as usize] });
        }
        &mut touched[at]
    }

    /// Index of the step's call of this id: the first that is open, else the first.
    #[inline(never)]
    fn step_call(&self, id: u64) -> Option<usize> {
        let open = self.step.iter().position(|call| call.id == id && !call.answered);
        open.or_else(|| self.step.iter().position(|call| call.id == id))
    }

    /// The last pair of this id; with `open`, the last whose call has no result on the surface.
    #[inline(never)]
    fn last_of(&self, id: u64, open: bool) -> Option<u32> {
        let mut found = None;
        let mut at = id as usize;
        while let Some(&place) = self.table.get(at & self.table.len().wrapping_sub(1)) {
            let Some(index) = place.checked_sub(1) else { break };
            let pair = &self.pairs[index as usize];
            if pair.id == id && (!open || (pair.call != NONE && pair.result == NONE)) {
                found = found.max(Some(index));
            }
            at = at.wrapping_add(1);
        }
        found
    }

    #[inline(never)]
    fn add(&mut self, id: u64, call: u32) -> u32 {
        let pair = self.pairs.len() as u32;
        self.pairs.push(Pair { id, call, result: NONE });
        self.carriers.push(Carrier { seq: call, pair });
        let mut from = pair;
        if self.pairs.len() * 2 > self.table.len() {
            self.table = vec![0; (self.table.len() * 2).max(16)];
            from = 0;
        }
        let mask = self.table.len() - 1;
        for index in from..=pair {
            let mut at = self.pairs[index as usize].id as usize & mask;
            while self.table[at] != 0 {
                at = (at + 1) & mask;
            }
            self.table[at] = index + 1;
        }
        pair
    }
}
