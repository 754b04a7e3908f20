//! Follows both directions of one connection, and notes the statements that were executed.
//!
//! Requests wait in the order in which the server answers them (PostgreSQL documentation,
//! "Message Flow"). A statement's time is that of its parse, bind and execution, each from when it
//! was sent, or the answer before it, to its own answer.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use crate::message::{Cutter, Fields, Message};
use crate::notes::{Became, Notes, Sent, NESTED, TEXT_CUT, VALUES_CUT};

/// The longest text, or values of one statement, that are kept.
pub const MOST_KEPT: usize = 1 << 20;
const LONGEST_NAME: usize = 16 << 10;
const LONGEST_REPORT: usize = 4 << 10;
const LONGEST_TYPES: usize = 512 << 10;
/// Notes that are handed on even in the middle of a pipeline.
const MOST_HELD: usize = 256 << 10;
/// Of a warning that a transaction is in progress (active_sql_transaction).
const ALREADY_BEGUN: &[u8] = b"25001";

fn kept_of_client(kind: u8) -> usize {
    match kind {
        b'Q' | b'P' | b'B' => MOST_KEPT,
        b'D' | b'E' | b'C' => LONGEST_NAME,
        _ => 0, // authentication and COPY among them
    }
}

fn kept_of_server(kind: u8) -> usize {
    match kind {
        b'R' => 4,
        b'Z' => 1,
        b'E' | b'N' | b'S' => LONGEST_REPORT,
        b't' => LONGEST_TYPES,
        _ => 0,
    }
}

/// A prepared statement.
struct Prepared {
    /// 0: the unnamed one, whose text is here.
    number: u32,
    text: Vec<u8>,
    types: Vec<u32>,
    cut: bool,
    /// Time of its parse, until an execution takes it.
    parse_ns: Cell<u64>,
}

/// A statement with its values.
struct Portal {
    statement: Option<Rc<Prepared>>,
    /// A u16, and each value's format, length and bytes.
    values: Vec<u8>,
    cut: bool,
    bind_ns: Cell<u64>,
    executed: Cell<bool>,
}

enum Request {
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

struct Waiting {
    request: Request,
    sent_ns: u64,
    failed: bool,
    nested: bool,
}

/// Names that requests under way give to statements, or take away.
struct Naming {
    name: Vec<u8>,
    statement: Option<Rc<Prepared>>,
}

/// What is known of a connection.
pub struct Observer {
    from_client: Cutter,
    from_server: Cutter,
    state: State,
}

struct State {
    notes: Notes,
    waiting: VecDeque<Waiting>,
    naming: VecDeque<Naming>,
    statements: HashMap<Vec<u8>, Rc<Prepared>>,
    portals: HashMap<Vec<u8>, Rc<Portal>>,
    numbers: u32,
    authenticated: bool,
    /// After an error the server skips what comes until a Sync.
    skipping: bool,
    /// The server takes rows, and no request.
    copying: bool,
    answered_ns: u64,
    /// Where the latest statement's record begins, and its outcome: a commit may still fail.
    latest: Option<(usize, usize)>,
    readable: bool,
}

impl Observer {
    /// `session`: user, database and application, each ended by 0.
    pub fn new(session: &[u8]) -> Observer {
        let mut notes = Notes::default();
        let record = notes.begin(b'S');
        notes.raw(session);
        notes.end(&record);
        Observer {
            from_client: Cutter::new(kept_of_client),
            from_server: Cutter::new(kept_of_server),
            state: State {
                notes,
                waiting: VecDeque::new(),
                naming: VecDeque::new(),
                statements: HashMap::new(),
                portals: HashMap::new(),
                numbers: 0,
                authenticated: false,
                skipping: false,
                copying: false,
                answered_ns: 0,
                latest: None,
                readable: true,
            },
        }
    }

    /// Bytes that the client sent, and that were forwarded at `now_ns`.
    pub fn from_client(&mut self, bytes: &[u8], now_ns: u64) {
        if self.state.readable {
            let state = &mut self.state;
            let fed = self
                .from_client
                .feed(bytes, |one| state.request(one, now_ns));
            self.state.readable = fed.is_ok();
        }
    }

    /// Bytes that the server sent, and that came at `now_ns`.
    pub fn from_server(&mut self, bytes: &[u8], now_ns: u64) {
        if self.state.readable {
            let state = &mut self.state;
            let fed = self
                .from_server
                .feed(bytes, |one| state.answer(one, now_ns));
            self.state.readable = fed.is_ok();
        }
    }

    /// Whether it could follow so far.
    pub fn is_readable(&self) -> bool {
        self.state.readable
    }

    /// The connection or the recording ends: what has no answer is noted so.
    pub fn end(&mut self, now_ns: u64) {
        self.state.latest = None;
        while let Some(waiting) = self.state.waiting.pop_front() {
            self.state
                .note_unanswered(&waiting, Became::Running, now_ns);
        }
        let record = self.state.notes.begin(b'X');
        self.state.notes.end(&record);
    }

    /// Whether nothing is under way, and something is noted.
    pub fn has_whole_notes(&self) -> bool {
        self.state.waiting.is_empty() && !self.state.notes.bytes.is_empty()
    }

    /// Whether so much is noted that it must be handed on.
    pub fn has_many_notes(&self) -> bool {
        self.state.notes.bytes.len() > MOST_HELD
    }

    /// What was noted, but for a statement whose commit may still fail.
    pub fn take_notes(&mut self) -> Notes {
        let state = &mut self.state;
        let begins = match state.latest {
            Some((begins, _)) if !state.waiting.is_empty() => begins,
            _ => {
                state.latest = None;
                return std::mem::take(&mut state.notes);
            }
        };
        let rest = state.notes.bytes.split_off(begins);
        let mut taken = std::mem::take(&mut state.notes);
        state.notes.bytes = rest;
        // Its counts go with it.
        taken.statements = taken.statements.saturating_sub(1);
        state.notes.statements = 1;
        state.latest = state.latest.map(|(_, outcome)| (0, outcome - begins));
        taken
    }
}

impl State {
    fn request(&mut self, message: Message<'_>, now_ns: u64) {
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
    fn statement(&self, name: &[u8]) -> Option<Rc<Prepared>> {
        let under_way = self.naming.iter().rev().find(|one| one.name == name);
        match under_way {
            Some(naming) => naming.statement.clone(),
            None => self.statements.get(name).cloned(),
        }
    }

    fn answer(&mut self, message: Message<'_>, now_ns: u64) {
        match message.kind {
            b'R' => self.authenticated = self.authenticated || message.body == [0; 4],
            b'S' => self.note_encoding(message.body),
            b'E' if self.authenticated => self.fail(now_ns),
            b'N' => {
                if let Some(front) = self.waiting.front_mut() {
                    front.nested = front.nested || sqlstate(message.body) == ALREADY_BEGUN;
                }
            }
            b'1' => self.parsed(now_ns),
            b'2' => {
                if let Some(Request::Bind(portal)) = self.front() {
                    portal.bind_ns.set(self.took_ns(now_ns));
                    self.pop(now_ns);
                }
            }
            b't' => self.note_types(message.body),
            b'T' | b'n' => {
                if let Some(Request::Describe { .. }) = self.front() {
                    self.pop(now_ns);
                }
            }
            b'3' => self.closed(now_ns),
            b'C' | b's' => self.executed(now_ns),
            b'I' => {
                if let Some(Request::Execute(_)) = self.front() {
                    self.pop(now_ns); // an empty statement is none
                }
            }
            b'G' | b'W' => self.begin_copy(),
            b'Z' => self.ready(message.body, now_ns),
            _ => {}
        }
    }

    fn front(&self) -> Option<&Request> {
        self.waiting.front().map(|waiting| &waiting.request)
    }

    fn pop(&mut self, now_ns: u64) -> Option<Waiting> {
        self.answered_ns = now_ns;
        let waiting = self.waiting.pop_front();
        if let Some(Request::Parse(_) | Request::CloseStatement) =
            waiting.as_ref().map(|one| &one.request)
        {
            self.naming.pop_front();
        }
        waiting
    }

    /// How long the request at the front took.
    fn took_ns(&self, now_ns: u64) -> u64 {
        let sent_ns = self.waiting.front().map_or(now_ns, |one| one.sent_ns);
        now_ns.saturating_sub(sent_ns.max(self.answered_ns))
    }

    fn parsed(&mut self, now_ns: u64) {
        let took_ns = self.took_ns(now_ns);
        let Some(Request::Parse(statement)) = self.front() else {
            return;
        };
        statement.parse_ns.set(took_ns);
        let statement = Rc::clone(statement);
        if let Some(naming) = self.naming.front() {
            self.statements.insert(naming.name.clone(), statement);
        }
        self.pop(now_ns);
    }

    fn closed(&mut self, now_ns: u64) {
        match self.front() {
            Some(Request::CloseStatement) => {
                if let Some(naming) = self.naming.front() {
                    self.statements.remove(&naming.name);
                }
                self.pop(now_ns);
            }
            Some(Request::ClosePortal) => {
                self.pop(now_ns);
            }
            _ => {}
        }
    }

    fn executed(&mut self, now_ns: u64) {
        let took_ns = self.took_ns(now_ns);
        let Some(Request::Execute(portal)) = self.front() else {
            return; // of a Query, which ends with ReadyForQuery
        };
        let portal = Rc::clone(portal);
        let nested = self.pop(now_ns).is_some_and(|one| one.nested);
        let became = match portal.executed.replace(true) || portal.statement.is_none() {
            true => Became::Fetched,
            false => Became::Executed,
        };
        self.note_portal(&portal, became, took_ns, now_ns, nested);
    }

    /// In COPY the server ignores a Sync that was sent before its rows ended.
    fn begin_copy(&mut self) {
        if let Some(Request::Execute(_)) = self.front() {
            self.waiting
                .retain(|one| !matches!(one.request, Request::Sync));
        }
        self.copying = true;
    }

    fn ready(&mut self, body: &[u8], now_ns: u64) {
        self.copying = false;
        match self.front() {
            Some(Request::Query { .. } | Request::FunctionCall) => {
                let took_ns = self.took_ns(now_ns);
                if let Some(waiting) = self.pop(now_ns) {
                    self.note_query(&waiting, took_ns, now_ns);
                }
            }
            Some(Request::Sync) => {
                self.pop(now_ns);
            }
            _ => {}
        }
        self.latest = None;
        if self.waiting.is_empty() && body == b"I" {
            self.portals.clear();
        }
    }

    fn fail(&mut self, now_ns: u64) {
        let took_ns = self.took_ns(now_ns);
        match self
            .waiting
            .front_mut()
            .map(|one| (&one.request, &mut one.failed))
        {
            None => return,
            Some((Request::Query { .. } | Request::FunctionCall, failed)) => {
                *failed = true;
                return;
            }
            Some((Request::Sync, _)) => {
                // The commit of what came before it.
                if let Some((_, outcome)) = self.latest {
                    self.notes.bytes[outcome] = Became::Failed as u8;
                }
                return;
            }
            Some(_) => {}
        }
        self.copying = false;
        if let Some(waiting) = self.pop(now_ns) {
            self.note_failed(&waiting.request, took_ns, now_ns);
        }
        // The server skips everything until a Sync.
        while let Some(request) = self.front() {
            if matches!(request, Request::Sync) {
                return;
            }
            if let Some(waiting) = self.pop(now_ns) {
                self.note_unanswered(&waiting, Became::Skipped, now_ns);
            }
        }
        self.skipping = true;
    }

    fn note_failed(&mut self, request: &Request, took_ns: u64, now_ns: u64) {
        match request {
            Request::Execute(portal) => {
                self.note_portal(portal, Became::Failed, took_ns, now_ns, false);
            }
            Request::Bind(portal) => {
                portal.bind_ns.set(took_ns);
                self.note_portal(portal, Became::Failed, 0, now_ns, false);
            }
            Request::Parse(statement) => {
                let portal = Portal {
                    statement: Some(Rc::clone(statement)),
                    ..unbound()
                };
                self.note_portal(&portal, Became::Failed, took_ns, now_ns, false);
            }
            _ => {}
        }
    }

    fn note_unanswered(&mut self, waiting: &Waiting, became: Became, now_ns: u64) {
        let took_ns = match became {
            Became::Running => now_ns.saturating_sub(waiting.sent_ns.max(self.answered_ns)),
            _ => 0,
        };
        match &waiting.request {
            Request::Execute(portal) => self.note_portal(portal, became, took_ns, now_ns, false),
            Request::Query { text, cut } => {
                let flags = if *cut { TEXT_CUT } else { 0 };
                self.note(Sent::Simple, became, flags, took_ns, now_ns, text);
            }
            _ => {}
        }
    }

    fn note_skipped(&mut self, message: Message<'_>, now_ns: u64) {
        if message.kind == b'E' {
            self.note_portal(&unknown_portal(), Became::Skipped, 0, now_ns, false);
        }
    }

    fn note_query(&mut self, waiting: &Waiting, took_ns: u64, now_ns: u64) {
        let mut flags = if waiting.nested { NESTED } else { 0 };
        let became = if waiting.failed {
            Became::Failed
        } else {
            Became::Executed
        };
        match &waiting.request {
            Request::Query { text, cut } => {
                flags |= if *cut { TEXT_CUT } else { 0 };
                self.note(Sent::Simple, became, flags, took_ns, now_ns, text);
            }
            _ => self.note(Sent::Simple, Became::FastPath, flags, took_ns, now_ns, b""),
        }
    }

    fn note(
        &mut self,
        sent: Sent,
        became: Became,
        flags: u8,
        took_ns: u64,
        now_ns: u64,
        text: &[u8],
    ) {
        let (begins, record) = self.begin_statement(sent, became, flags, took_ns, now_ns, 0);
        self.notes.types(&[]);
        self.notes.text(text);
        self.notes.u16(0);
        self.notes.end(&record);
        self.latest = Some(begins);
    }

    fn note_portal(
        &mut self,
        portal: &Portal,
        became: Became,
        took_ns: u64,
        now_ns: u64,
        nested: bool,
    ) {
        let unknown = Prepared {
            number: 0,
            text: Vec::new(),
            types: Vec::new(),
            cut: false,
            parse_ns: Cell::new(0),
        };
        let statement = portal.statement.as_deref().unwrap_or(&unknown);
        let mut flags = if nested { NESTED } else { 0 };
        flags |= if statement.cut { TEXT_CUT } else { 0 };
        flags |= if portal.cut { VALUES_CUT } else { 0 };
        let took_ns = took_ns + portal.bind_ns.take() + statement.parse_ns.take();
        let sent = match statement.number {
            0 => Sent::Extended,
            _ => Sent::Prepared,
        };
        let (begins, record) =
            self.begin_statement(sent, became, flags, took_ns, now_ns, statement.number);
        if statement.number == 0 {
            self.notes.types(&statement.types);
            self.notes.text(&statement.text);
        }
        self.notes.raw(&portal.values);
        self.notes.end(&record);
        self.latest = Some(begins);
    }

    fn begin_statement(
        &mut self,
        sent: Sent,
        became: Became,
        flags: u8,
        took_ns: u64,
        now_ns: u64,
        number: u32,
    ) -> ((usize, usize), crate::notes::Record) {
        let begins = self.notes.bytes.len();
        let record = self.notes.begin(b'Q');
        self.notes.u64(now_ns);
        self.notes.u64(took_ns);
        self.notes.u8(sent as u8);
        let outcome = self.notes.bytes.len();
        self.notes.u8(became as u8);
        self.notes.u8(flags);
        self.notes.u32(number);
        self.notes.statements += 1;
        self.notes.time_ns += took_ns;
        ((begins, outcome), record)
    }

    fn note_encoding(&mut self, body: &[u8]) {
        let mut fields = Fields(body);
        if fields.text() != Some(b"client_encoding") {
            return;
        }
        if let Some(name) = fields.text() {
            let record = self.notes.begin(b'E');
            self.notes.raw(name);
            self.notes.end(&record);
        }
    }

    /// What the server says of the types that a statement's parameters have.
    fn note_types(&mut self, body: &[u8]) {
        let Some(Request::Describe {
            statement: Some(statement),
        }) = self.front()
        else {
            return;
        };
        let mut fields = Fields(body);
        let count = fields.u16().unwrap_or(0);
        let types = (0..count).map_while(|_| fields.i32()).map(|oid| oid as u32);
        let types: Vec<u32> = types.collect();
        let number = statement.number;
        let record = self.notes.begin(b'O');
        self.notes.u32(number);
        self.notes.types(&types);
        self.notes.end(&record);
    }
}

fn unbound() -> Portal {
    Portal {
        statement: None,
        values: vec![0, 0],
        cut: false,
        bind_ns: Cell::new(0),
        executed: Cell::new(false),
    }
}

/// Of a name that no Bind gave: a cursor of SQL, or what follows an error.
fn unknown_portal() -> Rc<Portal> {
    Rc::new(unbound())
}

fn without_zero(body: &[u8]) -> &[u8] {
    body.strip_suffix(&[0]).unwrap_or(body)
}

/// The SQLSTATE of a report.
fn sqlstate(body: &[u8]) -> &[u8] {
    let mut fields = Fields(body);
    while let Some(field) = fields.text() {
        if let Some((b'C', code)) = field.split_first() {
            return code;
        }
    }
    b""
}

/// The values of a Bind as notes have them; `None`: they are not all there.
fn read_values(mut fields: Fields<'_>) -> Option<Vec<u8>> {
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
