//! Tests every state of the protocol with every failure there: nothing hangs, and nothing false is
//! counted.

use serde_json::{json, Value as Json};

use crate::fake::{drive, slices};
use crate::staged::{Fault, StagedServer, State, FAULTS};

/// The answers of a driver that is asked for two slices.
fn driven(script: &str, state: State, fault: Fault) -> Vec<Json> {
    let server = StagedServer::start(state, fault);
    let slice = json!({"arm": 0, "count": 5, "length_ns": 50_000_000});
    drive(&server.plan(script), &[json!([slice]), json!([slice])])
}

/// In a handshake everything is an error of the driver's: there is no load without a connection.
fn in_the_handshake(state: State) {
    for fault in FAULTS {
        let answers = driven("SELECT 1;", state, fault);
        assert_eq!(answers.len(), 1, "{state:?} {fault:?}: {answers:?}");
        let said = answers[0]["error"]["primary"].as_str().unwrap();
        assert!(said.starts_with("could not connect client 0"), "{said}");
        let expected = match fault {
            Fault::Silence => "no answer within 0.15 s",
            Fault::Error if state != State::Encryption => "57P01",
            _ => "",
        };
        assert!(said.contains(expected), "{state:?} {fault:?}: {said}");
    }
}

/// Under load the transaction has failed, and the connection with it; then a new one is made.
fn under_load(script: &str, state: State, done: u64) {
    for fault in FAULTS {
        let answers = driven(script, state, fault);
        let slices = slices(&answers);
        assert_eq!(slices.len(), 2, "{state:?} {fault:?}: {answers:?}");
        let (first, second) = (&slices[0], &slices[1]);
        let context = format!("{state:?} {fault:?}: {first} {second}");
        assert_eq!(first["transactions"], done, "{context}");
        let errors = first["errors"].as_object().unwrap();
        if fault == Fault::Silence {
            // Silence is no error while a client sleeps, and nobody waits for it.
            assert_eq!(first["capped"], 1, "{context}");
        } else {
            assert_eq!(
                (&first["lost"], &first["failed"]),
                (&json!(1), &json!(1)),
                "{context}"
            );
            let expected = match fault {
                Fault::Error => "57P01",
                Fault::End | Fault::Truncated => "08006",
                _ => "08P01",
            };
            assert_eq!(errors.keys().collect::<Vec<_>>(), [expected], "{context}");
        }
        assert!(second["transactions"].as_u64() > Some(0), "{context}");
        assert_eq!(second["failed"], 0, "{context}");
        assert_eq!(
            second["reconnected"].as_array().unwrap().len(),
            1,
            "{context}"
        );
    }
}

#[test]
fn before_encryption() {
    in_the_handshake(State::Encryption);
}

#[test]
fn after_the_startup_message() {
    in_the_handshake(State::Startup);
}

#[test]
fn after_a_password() {
    in_the_handshake(State::Password);
}

#[test]
fn after_the_first_step_of_scram() {
    in_the_handshake(State::ScramFirst);
}

#[test]
fn after_the_proof_of_scram() {
    in_the_handshake(State::ScramProof);
}

#[test]
fn before_the_first_ready_for_query() {
    in_the_handshake(State::Parameters);
}

#[test]
fn after_a_request() {
    under_load("SELECT 1;", State::Request, 0);
}

#[test]
fn in_the_middle_of_a_reply() {
    under_load("SELECT 1;", State::Rows, 0);
}

#[test]
fn in_the_middle_of_a_script() {
    under_load("SELECT 1;\nSELECT 2;", State::Block, 0);
}

#[test]
fn while_rolling_back() {
    // The error that made it roll back is counted too.
    for fault in FAULTS {
        let answers = driven("SELECT 1;", State::Rollback, fault);
        let slices = slices(&answers);
        let context = format!("{fault:?}: {answers:?}");
        assert_eq!(slices[0]["transactions"], 0, "{context}");
        assert_eq!(slices[0]["errors"]["40001"], 1, "{context}");
        assert!(slices[1]["transactions"].as_u64() > Some(0), "{context}");
    }
}

#[test]
fn after_a_pipeline() {
    let script = "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n";
    under_load(script, State::Pipeline, 0);
}

#[test]
fn in_the_middle_of_a_pipelines_replies() {
    let script = "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n";
    under_load(script, State::HalfPipeline, 0);
}

#[test]
fn while_a_client_sleeps() {
    under_load("SELECT 1;\n\\sleep 30 ms\nSELECT 2;", State::Asleep, 0);
}

#[test]
fn while_a_client_asks_for_nothing() {
    for fault in FAULTS {
        let server = StagedServer::start(State::Idle, fault);
        let slice = json!({"arm": 0, "count": 5, "length_ns": 50_000_000});
        let pause = json!({"arm": 1, "length_ns": 30_000_000});
        let mut plan = server.plan("SELECT 1;");
        let mut other = plan["arms"][0].clone();
        let others = StagedServer::start(State::Startup, Fault::Silence);
        // The first connection of the other server is the one that goes wrong.
        let wasted = drive(&others.plan("SELECT 1;"), &[]);
        assert!(wasted[0].get("error").is_some());
        other["name"] = json!("other");
        other["port"] = others.plan("SELECT 1;")["arms"][0]["port"].clone();
        plan["arms"].as_array_mut().unwrap().push(other);
        let answers = drive(&plan, &[json!([slice, pause, slice, slice])]);
        let slices = slices(&answers);
        let context = format!("{fault:?}: {answers:?}");
        assert_eq!(slices[0]["transactions"], 5, "{context}");
        assert!(slices[1]["transactions"].as_u64().unwrap() > 0, "{context}");
        let (third, last) = (&slices[2], &slices[3]);
        match fault {
            Fault::Silence => assert_eq!(third["capped"], 1, "{context}"),
            _ => assert_eq!(third["lost"], 1, "{context}"),
        }
        assert_eq!(third["transactions"], 0, "{context}");
        assert!(last["transactions"].as_u64() > Some(0), "{context}");
    }
}
