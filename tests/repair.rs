//! Closing an interrupted turn: which calls are answered, in which order, from which sources.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/make.rs"]
mod make;

use make::{append, event, read, replace, session, state, stored};
use palimpsest_core::event::{Intent, Kind};
use palimpsest_core::json;
use palimpsest_core::position::{self, Position};
use palimpsest_core::surface::NONE;
use palimpsest_core::{Session, repair};

/// A turn with an open step, and whatever is added to it.
struct Turn(Session);

impl Turn {
    fn new() -> Turn {
        Turn(session()).log(Kind::TurnStart).log(Kind::StepStart)
    }

    fn log(mut self, kind: Kind) -> Turn {
        self.0.append(&event(kind, r#"{"turn":3,"step":2}"#, Intent::default())).unwrap();
        self
    }

    fn message(mut self, blocks: &str, intent: Intent) -> Turn {
        self.0.append(&event(Kind::AssistantMessage, &format!(r#"{{"content":[{blocks}]}}"#), intent)).unwrap();
        self
    }

    fn calls(self, ids: &[&str]) -> Turn {
        let blocks: Vec<String> = ids.iter().map(|id| format!(r#"{{"type":"tool-call","id":"{id}"}}"#)).collect();
        self.message(&blocks.join(","), append())
    }

    fn called(mut self, id: &str) -> Turn {
        self.0.append(&event(Kind::ToolCall, &format!(r#"{{"callId":"{id}"}}"#), Intent::default())).unwrap();
        self
    }

    fn answered(mut self, id: &str, intent: Intent) -> Turn {
        let data = format!(r#"{{"callId":"{id}","content":[]}}"#);
        self.0.append(&event(Kind::ToolResult, &data, intent)).unwrap();
        self
    }

    /// The closers as `type`, call id and source each; then appends them, which must close the turn.
    #[track_caller]
    fn closers(mut self) -> Vec<String> {
        let first = self.0.len();
        let closers = self.0.closers();
        let mut told = Vec::new();
        for (i, closer) in closers.iter().enumerate() {
            let member = |name| json::get(closer, name);
            let data = member("data").unwrap();
            let text = |bytes: Option<&[u8]>| String::from_utf8(bytes.unwrap_or_default().to_vec()).unwrap();
            assert_eq!(text(member("seq")), (first as usize + i).to_string());
            assert_eq!(text(member("time")), "7");
            assert_eq!(text(json::get(data, "turn")), "3");
            let parts = [text(member("type")), text(json::get(data, "callId")), text(member("sourceEventSeqs"))];
            told.push(parts.join(" ").trim_end().replace('"', ""));
            self.0.append_line(closer).unwrap();
        }
        assert_eq!(self.0.closers(), Vec::<Vec<u8>>::new(), "closed");
        assert_eq!(state(&read(&stored(&self.0)).unwrap().session), state(&self.0));
        told
    }
}

#[test]
fn a_closed_or_empty_log_needs_nothing() {
    assert_eq!(session().closers(), Vec::<Vec<u8>>::new());
    assert!(Turn(session()).log(Kind::StepStart).closers().is_empty(), "a step outside a turn");
    assert!(Turn::new().log(Kind::StepEnd).log(Kind::TurnEnd).closers().is_empty());
    // An open call in a turn that was closed is not rewritten.
    assert!(Turn::new().calls(&["a"]).called("a").log(Kind::StepEnd).log(Kind::TurnEnd).closers().is_empty());
}

#[test]
fn the_step_and_the_turn_are_closed() {
    assert_eq!(Turn(session()).log(Kind::TurnStart).closers(), ["turn/end"]);
    assert_eq!(Turn::new().closers(), ["step/end", "turn/end"]);
    assert_eq!(Turn::new().log(Kind::StepEnd).closers(), ["turn/end"]);
    assert_eq!(Turn::new().log(Kind::StepEnd).log(Kind::StepStart).closers(), ["step/end", "turn/end"]);
    // Only the tail turn counts.
    let second = Turn::new().calls(&["a"]).log(Kind::TurnEnd).log(Kind::TurnStart);
    assert_eq!(second.closers(), ["turn/end"]);
}

#[test]
fn open_calls_are_answered_in_log_order() {
    let turn = Turn::new().calls(&["a", "b", "c"]).called("c").called("a").answered("b", append());
    assert_eq!(turn.closers(), ["tool/result a [4]", "tool/result c [3]", "step/end", "turn/end"]);
    // Started and not logged, or logged and killed.
    assert_eq!(Turn::new().calls(&["a"]).closers(), ["tool/result a", "step/end", "turn/end"]);
    assert_eq!(Turn::new().calls(&["a"]).called("a").closers(), ["tool/result a [3]", "step/end", "turn/end"]);
    // A call that no assistant message made has nothing to be paired with.
    assert_eq!(Turn::new().called("x").closers(), ["step/end", "turn/end"]);
}

#[test]
fn calls_of_a_step_before_are_left_alone() {
    let turn = Turn::new().calls(&["a"]).log(Kind::StepEnd).log(Kind::StepStart).calls(&["b"]);
    assert_eq!(turn.closers(), ["tool/result b", "step/end", "turn/end"]);
}

#[test]
fn one_id_may_stand_for_two_calls() {
    let twice = || Turn::new().calls(&["a", "a"]).called("a");
    let both = ["tool/result a [3]", "tool/result a", "step/end", "turn/end"];
    assert_eq!(twice().closers(), both);
    let logged = ["tool/result a [3]", "tool/result a [4]", "step/end", "turn/end"];
    assert_eq!(twice().called("a").closers(), logged);
    assert_eq!(twice().answered("a", append()).closers(), ["tool/result a", "step/end", "turn/end"]);
}

#[test]
fn what_replaces_makes_and_answers_no_call() {
    let pruned = Turn::new().calls(&["a"]).called("a").answered("a", append()).answered("a", replace(4, 4, &[4]));
    assert_eq!(pruned.closers(), ["step/end", "turn/end"]);
    let rewritten = Turn::new().calls(&["a"]).message(r#"{"type":"tool-call","id":"a"}"#, replace(2, 2, &[2]));
    assert_eq!(rewritten.closers(), ["tool/result a", "step/end", "turn/end"]);
}

#[test]
fn ids_are_compared_by_what_they_spell() {
    let turn = Turn::new().calls(&["caf\\u00e9", "\\ud83d"]).called("caf\u{e9}").answered("\\uD83D", append());
    assert_eq!(turn.closers(), ["tool/result caf\u{e9} [3]", "step/end", "turn/end"]);
}

/// A result must name its call by a string, so these could never be answered, and a log that had to would never load.
#[test]
fn a_block_without_a_proper_id_is_no_call() {
    for id in ["null", "1", "{}", "[]", "true"] {
        let block = format!(r#"{{"type":"tool-call","id":{id}}}"#);
        let turn = Turn::new().message(&block, append()).calls(&["a"]);
        assert_eq!(turn.0.is_balanced(Some(3)), Ok(true));
        assert_eq!(turn.closers(), ["tool/result a", "step/end", "turn/end"], "{id}");
    }
}

#[test]
fn where_a_log_stands() {
    let of = |turn: Turn| position::of(turn.0.log(), 0);
    let nowhere = Position { turn: 0, open_turn: NONE, step: 0, open_step: NONE, compaction: NONE };
    assert_eq!(of(Turn(session())), nowhere);
    let open = Position { turn: 3, open_turn: 0, step: 2, open_step: 1, ..nowhere };
    assert_eq!(of(Turn::new()), open);
    assert_eq!(of(Turn::new().calls(&["a"]).log(Kind::CompactStart)), Position { compaction: 3, ..open });
    assert_eq!(of(Turn::new().log(Kind::CompactStart).log(Kind::CompactEnd)), open);
    assert_eq!(of(Turn::new().log(Kind::StepEnd)), Position { open_step: NONE, ..open });
    assert_eq!(of(Turn::new().log(Kind::StepEnd).log(Kind::TurnEnd)), Position { turn: 3, ..nowhere });
    // Events before `first` are not looked at.
    let turn = Turn::new();
    assert_eq!(position::of(turn.0.log(), 1), Position { open_turn: NONE, turn: 0, ..open });
    assert_eq!(repair::interrupted_turn_closers(turn.0.log(), 1), Vec::<Vec<u8>>::new());
}
