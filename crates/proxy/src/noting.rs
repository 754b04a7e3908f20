//! Notes what became of requests.

use std::cell::Cell;
use std::rc::Rc;

use crate::message::{Fields, Message};
use crate::notes::{Became, Record, Sent, NESTED, TEXT_CUT, VALUES_CUT};
use crate::observer::State;
use crate::request::{unbound, unknown_portal, Portal, Prepared, Request, Waiting};

impl State {
    pub(super) fn note_failed(&mut self, request: &Request, took_ns: u64, now_ns: u64) {
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

    pub(super) fn note_unanswered(&mut self, waiting: &Waiting, became: Became, now_ns: u64) {
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

    pub(super) fn note_skipped(&mut self, message: Message<'_>, now_ns: u64) {
        if message.kind == b'E' {
            self.note_portal(&unknown_portal(), Became::Skipped, 0, now_ns, false);
        }
    }

    pub(super) fn note_query(&mut self, waiting: &Waiting, took_ns: u64, now_ns: u64) {
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

    pub(super) fn note(
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

    pub(super) fn note_portal(
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
        self.note_transaction();
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

    /// Before the first of its statements that is not simple: a Sync ends what a pipeline did as
    /// one transaction, without a word of it, and a simple statement ends its own.
    fn note_transaction(&mut self) {
        if !self.in_transaction {
            let record = self.notes.begin(b'T');
            self.notes.end(&record);
            self.in_transaction = true;
        }
    }

    pub(super) fn begin_statement(
        &mut self,
        sent: Sent,
        became: Became,
        flags: u8,
        took_ns: u64,
        now_ns: u64,
        number: u32,
    ) -> ((usize, usize), Record) {
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

    pub(super) fn note_encoding(&mut self, body: &[u8]) {
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
    pub(super) fn note_types(&mut self, body: &[u8]) {
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
