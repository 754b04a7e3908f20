//! Follows both directions of one connection, and notes the statements that were executed.
//!
//! Requests wait in the order in which the server answers them (PostgreSQL documentation,
//! "Message Flow"). A statement's time is that of its parse, bind and execution, each from when it
//! was sent, or the answer before it, to its own answer.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use crate::message::{Cutter, Message};
use crate::notes::{Became, Notes};
use crate::request::{
    kept_of_client, kept_of_server, sqlstate, Naming, Portal, Prepared, Request, Waiting,
};

/// Notes that are handed on even in the middle of a pipeline.
const MOST_HELD: usize = 256 << 10;
/// Of a warning that a transaction is in progress (active_sql_transaction).
const ALREADY_BEGUN: &[u8] = b"25001";

/// What is known of a connection.
pub struct Observer {
    from_client: Cutter,
    from_server: Cutter,
    state: State,
}

/// Where both directions of it stand.
pub struct State {
    pub(super) notes: Notes,
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) naming: VecDeque<Naming>,
    pub(super) statements: HashMap<Vec<u8>, Rc<Prepared>>,
    pub(super) portals: HashMap<Vec<u8>, Rc<Portal>>,
    pub(super) numbers: u32,
    /// What was noted last of the types of an unnamed statement.
    pub(super) unnamed_types: Vec<u32>,
    pub(super) authenticated: bool,
    /// After an error the server skips what comes until a Sync.
    pub(super) skipping: bool,
    /// The server takes rows, and no request.
    pub(super) copying: bool,
    pub(super) answered_ns: u64,
    /// Where the latest statement's record begins, and its outcome: a commit may still fail.
    pub(super) latest: Option<(usize, usize)>,
    /// The transaction under way is noted.
    pub(super) in_transaction: bool,
    pub(super) readable: bool,
}

impl Observer {
    /// `session`: user, database and application, and settings, each ended by 0.
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
                unnamed_types: Vec::new(),
                authenticated: false,
                skipping: false,
                copying: false,
                answered_ns: 0,
                latest: None,
                in_transaction: false,
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

    pub(super) fn front(&self) -> Option<&Request> {
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
        if body == b"I" {
            self.in_transaction = false;
            if self.waiting.is_empty() {
                self.portals.clear();
            }
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
}
