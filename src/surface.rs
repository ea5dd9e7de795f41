//! The surface: the ordered list of surface events that the model sees now.
//!
//! Every append gets the next *slot*; a replace never grows the list, so the new node takes the
//! slot of the range's first node and the other slots of the range die. Slots are therefore in
//! position order for ever: comparing two slots compares two positions, and nothing ever shifts.
//!
//! Invariants:
//! - `nodes` is in seq order; node `i` is the i-th surface event of the log.
//! - A slot is occupied by at most one node at any time of the log; a node that was replaced keeps
//!   its slot number and the seq of the event that shadowed it. The surface as of any seq is thus a
//!   filter over `nodes`, and provenance can be read both ways.
//! - `next` links the occupied slots in order; a replace skips its range in one step.

use crate::chunks::Chunks;
use crate::error::{Code, Error, Result};
use crate::event::{self, Intent, SurfaceOp};

/// No node, no slot, never shadowed.
pub const NONE: u32 = u32::MAX;

/// One surface event of the log.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Seq of the event.
    pub seq: u32,
    /// Its slot: slots are in position order.
    pub slot: u32,
    /// Seq of the replace that took it off the surface; [`NONE`] while it is on it.
    pub shadowed_by: u32,
    /// Whether it entered by a replace.
    pub replaces: bool,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Index of the occupying node; meaningless once the slot is unlinked.
    node: u32,
    next: u32,
}

/// A checked operation, ready to be applied.
#[derive(Clone, Copy, Debug)]
pub enum Plan {
    /// Add at the tail.
    Append,
    /// Take the place of the slots from `first` through `last`.
    Replace {
        /// Slot of the range's first node.
        first: u32,
        /// Slot of the range's last node.
        last: u32,
    },
}

/// The surface of one log.
#[derive(Clone, Debug)]
pub struct Surface {
    nodes: Chunks<Node>,
    slots: Chunks<Slot>,
    head: u32,
    tail: u32,
    live: u32,
    replaces: u32,
}

impl Default for Surface {
    fn default() -> Self {
        Surface { nodes: Chunks::default(), slots: Chunks::default(), head: NONE, tail: NONE, live: 0, replaces: 0 }
    }
}

impl Surface {
    /// Number of nodes on the surface.
    pub fn len(&self) -> usize {
        self.live as usize
    }

    /// Whether nothing is on the surface.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Number of replaces folded so far.
    pub fn replaces(&self) -> u32 {
        self.replaces
    }

    /// Number of replaces among the events before `end`.
    pub fn replaces_before(&self, end: u32) -> u32 {
        if self.nodes.last().is_none_or(|last| last.seq < end) {
            return self.replaces;
        }
        let until = self.first_from(end);
        self.nodes.iter().take(until).filter(|n| n.replaces).count() as u32
    }

    /// The surface event at `seq`, on the surface or shadowed.
    pub fn node(&self, seq: u32) -> Option<&Node> {
        let node = self.nodes.get(self.first_from(seq))?;
        (node.seq == seq).then_some(node)
    }

    /// Index of the first node whose seq is not below `seq`.
    fn first_from(&self, seq: u32) -> usize {
        let before = |n: &Node| n.seq < seq;
        let len = self.nodes.len();
        let Some(last) = self.nodes.last().filter(|n| seq <= n.seq) else { return len };
        // Surface events come about evenly, so the node is near where its seq says: a search outwards from there, in steps
        // that double, looks at few nodes, and at ones that are close to each other.
        let guess = (u64::from(seq) * len as u64 / (u64::from(last.seq) + 1)) as usize;
        let mut step = 1;
        let range = match self.nodes.get(guess) {
            Some(node) if node.seq == seq => return guess,
            Some(node) if before(node) => {
                let mut low = guess + 1;
                while self.nodes.get(low + step).is_some_and(before) {
                    low += step + 1;
                    step *= 2;
                }
                low..len.min(low + step)
            }
            _ => {
                let mut high = guess;
                while high > step && !self.nodes.get(high - step).is_some_and(before) {
                    high -= step;
                    step *= 2;
                }
                high.saturating_sub(step)..high
            }
        };
        self.nodes.partition_point_in(range, before)
    }

    /// Seqs of the nodes on the surface, head to tail.
    pub fn seqs(&self) -> Vec<u32> {
        let mut seqs = Vec::with_capacity(self.len());
        let mut slot = self.head;
        while let Some(s) = self.slots.get(slot as usize) {
            seqs.push(self.nodes.get(s.node as usize).map_or(NONE, |n| n.seq));
            slot = s.next;
        }
        seqs
    }

    /// Seqs of the surface as it was after the events before `end`.
    pub fn seqs_before(&self, end: u32) -> Vec<u32> {
        let until = self.first_from(end);
        let mut by_slot = vec![NONE; self.slots_before(until) as usize];
        for node in self.nodes.iter().take(until).filter(|n| n.shadowed_by >= end) {
            if let Some(place) = by_slot.get_mut(node.slot as usize) {
                *place = node.seq;
            }
        }
        by_slot.retain(|&seq| seq != NONE);
        by_slot
    }

    /// Seqs of the nodes in the occupied slots `first` through `last`.
    #[inline(never)]
    pub fn between(&self, first: u32, last: u32) -> Vec<u32> {
        let mut seqs = Vec::new();
        let mut slot = first;
        while let Some(s) = self.slots.get(slot as usize) {
            seqs.push(self.nodes.get(s.node as usize).map_or(NONE, |n| n.seq));
            if slot == last {
                break;
            }
            slot = s.next;
        }
        seqs
    }

    /// The slot of a node that is on the surface now.
    fn slot_on_surface(&self, seq: u32) -> Option<u32> {
        self.node(seq).filter(|n| n.shadowed_by == NONE).map(|n| n.slot)
    }

    /// Checks an operation before its event enters the log. Changes nothing.
    #[inline(never)]
    pub fn plan(&self, intent: &Intent, seq: u32) -> Result<Plan> {
        let Some(SurfaceOp::Replace { start, end }) = intent.op else { return Ok(Plan::Append) };
        let refuse = |what: String| Err(Error::new(Code::InvalidReplace, what).at_seq(seq).at_path("surfaceOp"));
        let Some(first) = self.slot_on_surface(start) else {
            return refuse(format!("start {start} is not on the surface; take both ends from surface.nodes"));
        };
        let Some(last) = (if end == start { Some(first) } else { self.slot_on_surface(end) }) else {
            return refuse(format!("end {end} is not on the surface; take both ends from surface.nodes"));
        };
        if first > last {
            return refuse(format!("start {start} stands after end {end} on the surface; swap them"));
        }
        let sources = event::sorted(intent.sources.as_deref().unwrap_or_default());
        let mut slot = first;
        while let Some(s) = self.slots.get(slot as usize) {
            let shadowed = self.nodes.get(s.node as usize).map_or(NONE, |n| n.seq);
            if sources.binary_search(&shadowed).is_err() {
                return Err(Error::new(
                    Code::InvalidSources,
                    format!(
                        "the replace shadows {shadowed}, which sourceEventSeqs does not name; list every shadowed node"
                    ),
                )
                .at_seq(seq)
                .at_path("sourceEventSeqs"));
            }
            if slot == last {
                break;
            }
            slot = s.next;
        }
        Ok(Plan::Replace { first, last })
    }

    /// Applies a plan made for the event `seq` on this very surface.
    #[inline(never)]
    pub fn apply(&mut self, plan: Plan, seq: u32) {
        let index = self.nodes.len() as u32;
        match plan {
            Plan::Append => {
                let slot = self.slots.len() as u32;
                self.nodes.push(Node { seq, slot, shadowed_by: NONE, replaces: false });
                self.slots.push(Slot { node: index, next: NONE });
                match self.slots.get_mut(self.tail as usize) {
                    Some(tail) if self.tail != NONE => tail.next = slot,
                    _ => self.head = slot,
                }
                self.tail = slot;
                self.live += 1;
            }
            Plan::Replace { first, last } => {
                let mut slot = first;
                let mut after = NONE;
                while let Some(s) = self.slots.get(slot as usize).copied() {
                    if let Some(node) = self.nodes.get_mut(s.node as usize) {
                        node.shadowed_by = seq;
                    }
                    self.live -= 1;
                    after = s.next;
                    if slot == last {
                        break;
                    }
                    slot = s.next;
                }
                self.nodes.push(Node { seq, slot: first, shadowed_by: NONE, replaces: true });
                if let Some(s) = self.slots.get_mut(first as usize) {
                    s.node = index;
                    s.next = after;
                }
                if after == NONE {
                    self.tail = first;
                }
                self.live += 1;
                self.replaces += 1;
            }
        }
    }

    /// The surface after the events before `end`, as one that can grow on its own.
    pub fn prefix(&self, end: u32) -> Surface {
        let until = self.first_from(end);
        if until == self.nodes.len() {
            return self.clone();
        }
        // Only a fork at an earlier boundary comes here: replay what the prefix holds.
        let mut surface = Surface::default();
        for node in self.nodes.iter().take(until) {
            let mut node = *node;
            if node.shadowed_by != NONE && node.shadowed_by >= end {
                node.shadowed_by = NONE;
            }
            surface.replaces += u32::from(node.replaces);
            surface.nodes.push(node);
        }
        let slots = self.slots_before(until);
        surface.relink(slots);
        surface
    }

    fn slots_before(&self, until: usize) -> u32 {
        self.nodes.iter().take(until).filter(|n| !n.replaces).count() as u32
    }

    /// Rebuilds the slots from the nodes.
    fn relink(&mut self, slots: u32) {
        let mut occupant = vec![NONE; slots as usize];
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(place) = occupant.get_mut(node.slot as usize)
                && node.shadowed_by == NONE
            {
                *place = index as u32;
            }
        }
        let (mut head, mut tail, mut live) = (NONE, NONE, 0);
        for (slot, &node) in occupant.iter().enumerate() {
            let slot = slot as u32;
            self.slots.push(Slot { node, next: NONE });
            if node == NONE {
                continue;
            }
            match self.slots.get_mut(tail as usize) {
                Some(previous) if tail != NONE => previous.next = slot,
                _ => head = slot,
            }
            tail = slot;
            live += 1;
        }
        (self.head, self.tail, self.live) = (head, tail, live);
    }
}
