//! Reads what a client requests: statements, values, and the order in which they are answered.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::message::{Fields, Message};
use crate::observer::State;

/// The longest text, or values of one statement, that are kept.
pub const MOST_KEPT: usize = 1 << 20;
const LONGEST_NAME: usize = 16 << 10;
const LONGEST_REPORT: usize = 4 << 10;
const LONGEST_TYPES: usize = 512 << 10;
pub fn kept_of_client(kind: u8) -> usize {
    match kind {
        b'Q' | b'P' | b'B' => MOST_KEPT,
        b'D' | b'E' | b'C' => LONGEST_NAME,
        _ => 0, // authentication and COPY among them
    }
}

pub fn kept_of_server(kind: u8) -> usize {
    match kind {
        b'R' => 4,
        b'Z' => 1,
        b'E' | b'N' | b'S' => LONGEST_REPORT,
        b't' => LONGEST_TYPES,
        _ => 0,
    }
}

/// A prepared statement.
pub struct Prepared {
    /// 0: the unnamed one, whose text is here.
    pub number: u32,
    pub text: Vec<u8>,
    pub types: Vec<u32>,
    /// What the server found of an unnamed one's, where its client had it described.
    pub inferred: RefCell<Vec<u32>>,
    pub cut: bool,
    /// Time of its parse, until an execution takes it.
    pub parse_ns: Cell<u64>,
}

/// A statement with its values.
pub struct Portal {
    pub statement: Option<Rc<Prepared>>,
    /// A u16, and each value's format, length and bytes.
    pub values: Vec<u8>,
    pub cut: bool,
    pub bind_ns: Cell<u64>,
    pub executed: Cell<bool>,
}

pub enum Request {
    Query { text: Vec<u8>, cut: bool },
    Parse(Rc<Prepared>),
    Bind(Rc<Portal>),
    Describe { statement: Option<Rc<Prepared>> },
    Execute(Rc<Portal>),
    CloseStatement,
    ClosePortal,
    FunctionCall,
    Sync,
}

pub struct Waiting {
    pub request: Request,
    pub sent_ns: u64,
    pub failed: bool,
    pub nested: bool,
}

/// Names that requests under way give to statements, or take away.
pub struct Naming {
    pub name: Vec<u8>,
    pub statement: Option<Rc<Prepared>>,
}

impl State {
    pub(super) fn request(&mut self, message: Message<'_>, now_ns: u64) {
        if !self.authenticated {
            return;
        }
        let kind = message.kind;
        if self.copying {
            // The server ignores Sync and Flush until the rows end.
            self.copying = !matches!(kind, b'c' | b'f');
            return;
        }
        if self.skipping && !matches!(kind, b'S' | b'X') {
            self.note_skipped(message, now_ns);
            return;
        }
        let Some(request) = self.read_request(message) else {
            return;
        };
        self.waiting.push_back(Waiting {
            request,
            sent_ns: now_ns,
            failed: false,
            nested: false,
        });
    }

    fn read_request(&mut self, message: Message<'_>) -> Option<Request> {
        let mut fields = Fields(message.body);
        Some(match message.kind {
            b'Q' => Request::Query {
                text: without_zero(message.body).to_vec(),
                cut: !message.whole,
            },
            b'P' => {
                let name = fields.text()?.to_vec();
                let statement = self.prepare(&name, fields, message.whole);
                self.naming.push_back(Naming {
                    name,
                    statement: Some(Rc::clone(&statement)),
                });
                Request::Parse(statement)
            }
            b'B' => {
                let (portal, name) = (fields.text()?.to_vec(), fields.text()?);
                let values = read_values(fields).filter(|_| message.whole);
                let bound = Rc::new(Portal {
                    statement: self.statement(name),
                    cut: values.is_none(),
                    values: values.unwrap_or_else(|| vec![0, 0]),
                    bind_ns: Cell::new(0),
                    executed: Cell::new(false),
                });
                self.portals.insert(portal, Rc::clone(&bound));
                Request::Bind(bound)
            }
            b'D' => {
                let kind = fields.bytes(1)?;
                let name = fields.text()?;
                let statement = (kind == b"S").then(|| self.statement(name)).flatten();
                Request::Describe { statement }
            }
            b'E' => {
                let bound = self.portals.get(fields.text()?).cloned();
                Request::Execute(bound.unwrap_or_else(unknown_portal))
            }
            b'C' => {
                let kind = fields.bytes(1)?;
                let name = fields.text()?.to_vec();
                if kind == b"S" {
                    self.naming.push_back(Naming {
                        name,
                        statement: None,
                    });
                    Request::CloseStatement
                } else {
                    self.portals.remove(&name);
                    Request::ClosePortal
                }
            }
            b'F' => Request::FunctionCall,
            b'S' => {
                self.skipping = false;
                Request::Sync
            }
            _ => return None, // Flush, Terminate, rows of COPY, what a later protocol brings
        })
    }

    fn prepare(&mut self, name: &[u8], mut fields: Fields<'_>, whole: bool) -> Rc<Prepared> {
        let (text, is_text_whole) = match fields.text() {
            Some(text) => (text, true),
            None => (fields.0, false),
        };
        let count = fields.u16().filter(|_| is_text_whole).unwrap_or(0);
        let types = (0..count).map_while(|_| fields.i32()).map(|oid| oid as u32);
        let types: Vec<u32> = types.collect();
        let cut = !whole || !is_text_whole;
        let mut statement = Prepared {
            number: 0,
            text: Vec::new(),
            types,
            inferred: RefCell::default(),
            cut,
            parse_ns: Cell::new(0),
        };
        if name.is_empty() {
            statement.text = text.to_vec();
        } else {
            self.numbers += 1;
            statement.number = self.numbers;
            let record = self.notes.begin(b'P');
            self.notes.u32(statement.number);
            self.notes.types(&statement.types);
            self.notes.text(text);
            self.notes.end(&record);
        }
        Rc::new(statement)
    }

    /// The statement that a name stands for, requests under way considered.
    pub(super) fn statement(&self, name: &[u8]) -> Option<Rc<Prepared>> {
        let under_way = self.naming.iter().rev().find(|one| one.name == name);
        match under_way {
            Some(naming) => naming.statement.clone(),
            None => self.statements.get(name).cloned(),
        }
    }
}

pub fn unbound() -> Portal {
    Portal {
        statement: None,
        values: vec![0, 0],
        cut: false,
        bind_ns: Cell::new(0),
        executed: Cell::new(false),
    }
}

/// Of a name that no Bind gave: a cursor of SQL, or what follows an error.
pub fn unknown_portal() -> Rc<Portal> {
    Rc::new(unbound())
}

pub fn without_zero(body: &[u8]) -> &[u8] {
    body.strip_suffix(&[0]).unwrap_or(body)
}

/// The SQLSTATE of a report.
pub fn sqlstate(body: &[u8]) -> &[u8] {
    let mut fields = Fields(body);
    while let Some(field) = fields.text() {
        if let Some((b'C', code)) = field.split_first() {
            return code;
        }
    }
    b""
}

/// The values of a Bind as notes have them; `None`: they are not all there.
pub fn read_values(mut fields: Fields<'_>) -> Option<Vec<u8>> {
    let formats = fields.u16()?;
    let formats: Option<Vec<u16>> = (0..formats).map(|_| fields.u16()).collect();
    let formats = formats?;
    let count = fields.u16()?;
    let mut values = Vec::with_capacity(fields.0.len() + 8);
    values.extend_from_slice(&count.to_le_bytes());
    for at in 0..usize::from(count) {
        let format = match formats.as_slice() {
            [] => 0,
            [all] => *all,
            each => *each.get(at)?,
        };
        let length = fields.i32()?;
        values.push(u8::try_from(format).unwrap_or(u8::MAX));
        values.extend_from_slice(&length.to_le_bytes());
        if let Ok(length) = usize::try_from(length) {
            values.extend_from_slice(fields.bytes(length)?);
        }
    }
    Some(values)
}
