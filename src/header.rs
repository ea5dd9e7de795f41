//! Request headers: the envelope of a model request, logged as snapshots and deltas.
//!
//! A header is kept as normalized JSON text per field, so equality is equality of what
//! `JSON.stringify` would print: key order counts, spelling does not.

use crate::error::{Code, Error, Result};
use crate::json;

type Text = Vec<u8>;

/// A header in canonical form: an empty system, tool list or message prefix is an absent field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Model configuration, any JSON.
    config: Option<Text>,
    /// System prompt as WTF-8 text.
    system: Option<Text>,
    /// Tool schemas in order, each with its name (as its JSON string).
    tools: Vec<Tool>,
    /// Messages that precede the derived history, a JSON array.
    prefix: Option<Text>,
    /// Members that this format does not name, kept as they are: (key with quotes, value).
    extra: Vec<(Text, Text)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Tool {
    name: Text,
    schema: Text,
}

#[inline(never)]
fn tools_of(list: &[u8]) -> Vec<Tool> {
    json::items(list)
        .map(|item| Tool {
            name: json::get(item, "name").map(json::normalized).unwrap_or_default(),
            schema: json::normalized(item),
        })
        .collect()
}

fn schemas(tools: &[Tool]) -> Vec<&Text> {
    tools.iter().map(|tool| &tool.schema).collect()
}

#[inline(never)]
fn find<'a>(tools: &'a [Tool], name: &[u8]) -> Option<&'a Tool> {
    tools.iter().find(|tool| tool.name == name)
}

fn is_empty_array(value: &[u8]) -> bool {
    value.first() == Some(&b'[') && json::items(value).next().is_none()
}

impl Header {
    /// Reads a header from JSON text that was checked before, dropping empty fields.
    pub fn parse(text: &[u8]) -> Header {
        let mut header = Header::default();
        for (key, value) in json::members(text) {
            let (key, value) = (&text[key], &text[value]);
            // Of a member that stands there twice, the last one counts.
            let known = if json::key_is(key, "config") {
                header.config = Some(json::normalized(value));
                true
            } else if json::key_is(key, "system") {
                header.system = json::is_string(value).then(|| json::decode(value)).filter(|s| !s.is_empty());
                json::is_string(value) || value == b"null"
            } else if json::key_is(key, "tools") {
                header.tools = tools_of(value);
                value.first() == Some(&b'[')
            } else if json::key_is(key, "messagePrefix") {
                header.prefix = Some(json::normalized(value)).filter(|p| !is_empty_array(p));
                true
            } else {
                false
            };
            let key = json::normalized(key);
            let place = header.extra.iter().position(|(k, _)| *k == key);
            match place {
                Some(place) if known => drop(header.extra.remove(place)),
                Some(place) => header.extra[place].1 = json::normalized(value),
                None if known => {}
                None => header.extra.push((key, json::normalized(value))),
            }
        }
        header
    }

    /// The header as JSON text, keys in the order config, system, tools, messagePrefix.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Fields::new();
        if let Some(config) = &self.config {
            json::put(out.field("config"), config);
        }
        if let Some(system) = &self.system {
            json::encode(system, out.field("system"));
        }
        if !self.tools.is_empty() {
            list(&schemas(&self.tools), out.field("tools"));
        }
        if let Some(prefix) = &self.prefix {
            json::put(out.field("messagePrefix"), prefix);
        }
        for (key, value) in &self.extra {
            json::put(out.raw_field(key), value);
        }
        out.close()
    }

    /// The system prompt, the tool list, the config and the message prefix as JSON texts.
    pub fn parts(&self) -> [(&'static str, Option<Vec<u8>>); 4] {
        let system = self.system.as_ref().map(|s| {
            let mut out = Vec::new();
            json::encode(s, &mut out);
            out
        });
        let tools = (!self.tools.is_empty()).then(|| {
            let mut out = Vec::new();
            list(&schemas(&self.tools), &mut out);
            out
        });
        [("system", system), ("tools", tools), ("config", self.config.clone()), ("messagePrefix", self.prefix.clone())]
    }

    /// The change from this header to `next` as a delta's JSON text; `None` when they are equal.
    /// A change that the encoding cannot express (tools in another order, members it does not
    /// name) is left out: apply the delta and compare before trusting it.
    pub fn diff(&self, next: &Header) -> Option<Vec<u8>> {
        if self == next {
            return None;
        }
        let mut out = Fields::new();
        if self.system != next.system {
            diff_system(self.system.as_deref(), next.system.as_deref(), out.field("system"));
        }
        if self.tools != next.tools {
            diff_tools(&self.tools, &next.tools, out.field("tools"));
        }
        if self.config != next.config {
            json::put(out.field("config"), next.config.as_deref().unwrap_or(b"null"));
        }
        if self.prefix != next.prefix {
            json::put(out.field("messagePrefix"), next.prefix.as_deref().unwrap_or(b"[]"));
        }
        Some(out.close())
    }

    /// This header with a delta applied; the delta is JSON text that was checked before.
    pub fn apply(&self, delta: &[u8]) -> Header {
        let mut next = self.clone();
        if let Some(change) = json::get(delta, "system") {
            next.system = apply_system(self.system.as_deref(), change);
        }
        if let Some(change) = json::get(delta, "tools") {
            apply_tools(&mut next.tools, change);
        }
        if let Some(config) = json::get(delta, "config") {
            next.config = Some(json::normalized(config)).filter(|c| c != b"null");
        }
        if let Some(prefix) = json::get(delta, "messagePrefix") {
            next.prefix = Some(json::normalized(prefix)).filter(|p| !is_empty_array(p));
        }
        next
    }

    /// Folds one header event; `None` in, for a log that has no snapshot yet.
    pub fn fold(state: Option<&Header>, snapshot: bool, data: &[u8], seq: u32) -> Result<Header> {
        if snapshot {
            return Ok(Header::parse(json::get(data, "header").unwrap_or(b"{}")));
        }
        match state {
            Some(header) => Ok(header.apply(data)),
            None => Err(Error::new(
                Code::DeltaWithoutHeader,
                "a request/header-delta stands before any request/header; the log is corrupt",
            )
            .at_seq(seq)),
        }
    }
}

/// Lines of a system prompt; an absent prompt has none.
fn lines(system: Option<&[u8]>) -> Vec<&[u8]> {
    system.map(|s| s.split(|&b| b == b'\n').collect()).unwrap_or_default()
}

fn diff_system(prev: Option<&[u8]>, next: Option<&[u8]>, out: &mut Vec<u8>) {
    let (prev, next) = (lines(prev), lines(next));
    let shorter = prev.len().min(next.len());
    let start = prev.iter().zip(&next).take_while(|(a, b)| a == b).count();
    let end = prev.iter().rev().zip(next.iter().rev()).take(shorter - start).take_while(|(a, b)| a == b).count();
    json::put(out, b"{\"keepStart\":");
    json::push_integer(start as u64, out);
    json::put(out, b",\"keepEnd\":");
    json::push_integer(end as u64, out);
    json::put(out, b",\"insert\":");
    let inserted: Vec<Vec<u8>> = next[start..next.len() - end]
        .iter()
        .map(|line| {
            let mut text = Vec::new();
            json::encode(line, &mut text);
            text
        })
        .collect();
    list(&inserted.iter().collect::<Vec<_>>(), out);
    json::put(out, b"}");
}

fn apply_system(prev: Option<&[u8]>, change: &[u8]) -> Option<Vec<u8>> {
    let prev = lines(prev);
    let count = |name| {
        // As a number it counts, however it is spelled: 1.0 is 1.
        let given = json::get(change, name).and_then(json::integer).unwrap_or(0);
        usize::try_from(given).unwrap_or(usize::MAX)
    };
    let keep_start = count("keepStart").min(prev.len());
    let keep_end = count("keepEnd").min(prev.len() - keep_start);
    let mut system = Vec::new();
    let mut line = |text: &[u8]| {
        json::put(&mut system, text);
        json::put(&mut system, b"\n");
    };
    prev[..keep_start].iter().for_each(|kept| line(kept));
    json::items(json::get(change, "insert").unwrap_or(b"[]")).for_each(|new| line(&json::decode(new)));
    prev[prev.len() - keep_end..].iter().for_each(|kept| line(kept));
    system.pop();
    Some(system).filter(|system| !system.is_empty())
}

fn diff_tools(prev: &[Tool], next: &[Tool], out: &mut Vec<u8>) {
    let (mut added, mut removed, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    for tool in next {
        match find(prev, &tool.name) {
            None => added.push(&tool.schema),
            Some(old) if old.schema != tool.schema => changed.push(&tool.schema),
            Some(_) => {}
        }
    }
    for tool in prev {
        if find(next, &tool.name).is_none() {
            removed.push(&tool.name);
        }
    }
    let mut fields = Fields::new();
    list(&added, fields.field("added"));
    list(&removed, fields.field("removed"));
    list(&changed, fields.field("changed"));
    json::put(out, &fields.close());
}

fn apply_tools(tools: &mut Vec<Tool>, change: &[u8]) {
    let member = |name| json::get(change, name).unwrap_or(b"[]");
    let removed: Vec<Text> = json::items(member("removed")).map(json::normalized).collect();
    tools.retain(|t| !removed.contains(&t.name));
    for changed in tools_of(member("changed")) {
        if let Some(tool) = tools.iter_mut().find(|t| t.name == changed.name) {
            *tool = changed;
        }
    }
    tools.extend(tools_of(member("added")));
}

#[inline(never)]
fn list(values: &[&Text], out: &mut Vec<u8>) {
    json::put(out, b"[");
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            json::put(out, b",");
        }
        json::put(out, value);
    }
    json::put(out, b"]");
}

/// Writes an object member by member.
struct Fields(Vec<u8>);

impl Fields {
    fn new() -> Self {
        Fields(vec![b'{'])
    }

    fn field(&mut self, name: &str) -> &mut Vec<u8> {
        let mut quoted = Vec::new();
        json::encode(name.as_bytes(), &mut quoted);
        self.raw_field(&quoted)
    }

    #[inline(never)]
    fn raw_field(&mut self, quoted: &[u8]) -> &mut Vec<u8> {
        if self.0.len() > 1 {
            json::put(&mut self.0, b",");
        }
        json::put(&mut self.0, quoted);
        json::put(&mut self.0, b":");
        &mut self.0
    }

    fn close(mut self) -> Vec<u8> {
        json::put(&mut self.0, b"}");
        self.0
    }
}
