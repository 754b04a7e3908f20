//! The PostgreSQL protocol as bytes and messages: no sockets, no clock.
