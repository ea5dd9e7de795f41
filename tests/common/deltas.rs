//! `header-deltas.json`: request headers, the deltas between them, and what applying those gives.

use super::{Tally, member};
use palimpsest_core::{Header, json};

const DELTAS: &[u8] = include_bytes!("../fixtures/vectors/header-deltas.json");

/// Checks every pair; the number of cases.
pub fn check() -> usize {
    let mut tally = Tally::default();
    for (i, pair) in json::items(DELTAS).enumerate() {
        let field = |name| json::normalized(member(pair, name));
        let (previous, next) = (Header::parse(member(pair, "prev")), Header::parse(member(pair, "next")));
        tally.same(&format!("pair {i}: prev is canonical"), previous.to_json(), field("prev"));
        tally.same(&format!("pair {i}: next is canonical"), next.to_json(), field("next"));

        let delta = previous.diff(&next);
        tally.same(&format!("pair {i}: delta"), delta.as_deref().unwrap_or(b"null"), field("delta"));

        let applied = delta.map(|delta| previous.apply(&delta));
        let applied_json = applied.as_ref().map_or_else(|| b"null".to_vec(), Header::to_json);
        tally.same(&format!("pair {i}: applied"), applied_json, field("applied"));
        let round_trips = *applied.as_ref().unwrap_or(&previous) == next;
        tally.same(&format!("pair {i}: roundTrips"), round_trips.to_string(), field("roundTrips"));
    }
    tally.cases()
}
