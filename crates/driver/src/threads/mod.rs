//! The threads of the driver, and what they share.

pub mod arm;
pub mod client_group;
pub mod coordinator;
pub mod worker;
