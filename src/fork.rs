//! Forks: a child session that starts as a prefix of its parent and shares the parent's storage.

use crate::error::{Code, Error, Result};
use crate::event::Kind;
use crate::session::{Session, SessionHeader};

impl Session {
    /// A child with the events through `boundary` (inclusive; `None`: no events). Costs the same
    /// however long the log is: blocks and folds are shared until one side writes.
    ///
    /// # Errors
    /// `INVALID_BOUNDARY` where the boundary is no event, `OPEN_TURN` where it is not a `turn/end`.
    pub fn fork(&mut self, boundary: Option<u32>, header: SessionHeader) -> Result<Session> {
        let Some(seq) = boundary else { return Ok(self.share(0, header)) };
        match self.log().kind(seq) {
            Some(Kind::TurnEnd) => Ok(self.share(seq + 1, header)),
            Some(_) => Err(Error::new(
                Code::OpenTurn,
                "the boundary stands inside an open turn; fork at the seq of a turn/end",
            )
            .at_seq(seq)),
            None => Err(Error::new(
                Code::InvalidBoundary,
                format!("the boundary must be a seq of the source, which holds {} events", self.len()),
            )
            .at_seq(seq)),
        }
    }
}
