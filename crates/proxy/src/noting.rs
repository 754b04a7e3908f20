//! Notes what became of requests.

use std::cell::{Cell, RefCell};
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
            inferred: RefCell::default(),
            cut: false,
            parse_ns: Cell::new(0),
        };
        let statement = portal.statement.as_deref().unwrap_or(&unknown);
        let mut flags = if nested { NESTED } else { 0 };
        flags |= if statement.cut { TEXT_CUT } else { 0 };
        flags |= if portal.cut { VALUES_CUT } else { 0 };
        self.note_transaction();
        if statement.number == 0 {
            self.note_unnamed_types(&statement.inferred.borrow());
        }
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
        match statement.number {
            // A next one may be parsed before this is executed.
            0 => *statement.inferred.borrow_mut() = types,
            number => self.note_inferred(number, &types),
        }
    }

    /// Of an unnamed statement that is noted next, unless the one before had the same.
    fn note_unnamed_types(&mut self, types: &[u32]) {
        if self.unnamed_types != types {
            self.unnamed_types = types.to_vec();
            self.note_inferred(0, types);
        }
    }

    fn note_inferred(&mut self, number: u32, types: &[u32]) {
        let record = self.notes.begin(b'O');
        self.notes.u32(number);
        self.notes.types(types);
        self.notes.end(&record);
    }
}

#[cfg(test)]
mod tests {
    use crate::observer::Observer;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32 + 4).to_be_bytes();
        [&[kind][..], &length[..], body].concat()
    }

    /// Messages by a letter each. Of a client: A and B parse the unnamed statement, D has it
    /// described; p and u bind it, P and U execute that portal; S. Of a server: 1, 2 and c answer
    /// parse, bind and execution; i and t say the types int4 and text; Z.
    fn messages(letters: &str) -> Vec<u8> {
        let each = letters.bytes().map(|letter| match letter {
            b'A' | b'B' => message(b'P', &[0, letter, 0, 0, 0]),
            b'D' => message(b'D', b"S\0"),
            b'p' | b'u' => message(b'B', &[letter, 0, 0, 0, 0, 0, 0, 0, 0]),
            b'P' | b'U' => message(b'E', &[letter.to_ascii_lowercase(), 0, 0, 0, 0, 0]),
            b'i' | b't' => {
                let oid = if letter == b'i' { 23 } else { 25 };
                [message(b't', &[0, 1, 0, 0, 0, oid]), message(b'n', b"")].concat()
            }
            b'c' => message(b'C', b"SELECT 1\0"),
            b'Z' => message(b'Z', b"I"),
            plain => message(plain, b""),
        });
        each.collect::<Vec<_>>().concat()
    }

    fn number(bytes: &[u8], at: usize) -> usize {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    }

    /// Each statement with the latest types that were noted of an unnamed one; 0: none.
    fn noted(notes: &[u8]) -> Vec<(char, usize)> {
        let (mut at, mut oid, mut all) = (0, 0, Vec::new());
        while at < notes.len() {
            let body = &notes[at + 5..at + 5 + number(notes, at + 1)];
            match notes[at] {
                b'O' => {
                    oid = body.get(6..).map_or(0, |oids| match oids {
                        [] => 0,
                        oids => number(oids, 0),
                    })
                }
                b'Q' => all.push((char::from(body[29]), oid)),
                _ => {}
            }
            at += 5 + body.len();
        }
        all
    }

    #[test]
    fn an_unnamed_statement_has_the_types_that_the_server_said_of_it_and_no_others() {
        for (client, server, wanted) in [
            ("ADuUuUS", "1i2c2cZ", vec![('A', 23), ('A', 23)]),
            ("ADuUSBuUS", "1i2cZ12cZ", vec![('A', 23), ('B', 0)]),
            ("ADuUSAuUS", "1i2cZ12cZ", vec![('A', 23), ('A', 0)]),
            ("ADSBuUS", "1iZ12cZ", vec![('B', 0)]),
            ("ADpBDuPUS", "1i21t2ccZ", vec![('A', 23), ('B', 25)]),
            ("ADpBuUPS", "1i212ccZ", vec![('B', 0), ('A', 23)]),
        ] {
            let mut observer = Observer::new(b"u\0d\0a\0");
            observer.from_server(&message(b'R', &[0; 4]), 0);
            observer.from_client(&messages(client), 1);
            let mut notes = Vec::new();
            for part in messages(server).chunks(7) {
                observer.from_server(part, 2);
                notes.extend(observer.take_notes().bytes);
            }
            assert_eq!(noted(&notes), wanted, "{client} {server}");
        }
    }
}
