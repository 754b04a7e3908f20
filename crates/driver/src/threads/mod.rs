//! Runs the threads of the driver: a coordinator, and workers with groups of clients.

pub mod arm;
pub mod client_group;
pub mod coordinator;
pub mod run_queue;
pub mod worker;
