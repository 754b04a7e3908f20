//! Requests: the bytes that tds-protocol writes for the same.

use bytes::Bytes;
use proptest::prelude::*;
use steelyard_tds_wire::{
    attention, begin_batch, begin_call, end_batch, end_call, widen, write_bit, write_double,
    write_handle, write_integer, write_text, write_text_null, write_wide, Procedure, PACKET_SIZE,
};
use tds_protocol::__private::encode_sql_batch_with_transaction;
use tds_protocol::rpc::{ProcId, RpcParam, RpcRequest, TypeInfo};

/// The content of a message, whose packets are numbered and full but for the last one.
fn content(message: &[u8], kind: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = message;
    let mut number = 1_u8;
    while !rest.is_empty() {
        let length = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        let (packet, after) = rest.split_at(length);
        assert_eq!(packet[0], kind);
        assert_eq!(packet[1], u8::from(after.is_empty()));
        assert_eq!(packet[6], number);
        assert!(after.is_empty() || length == PACKET_SIZE);
        out.extend_from_slice(&packet[8..]);
        rest = after;
        number = number.wrapping_add(1);
    }
    out
}

proptest! {
    #[test]
    fn a_text_is_that_of_tds_protocol(text in ".{0,3000}", transaction in any::<u64>()) {
        let mut out = Vec::new();
        let start = begin_batch(transaction, &mut out);
        write_wide(&text, &mut out);
        end_batch(start, &mut out);
        let expected = encode_sql_batch_with_transaction(&text, transaction);
        prop_assert_eq!(content(&out, 1), expected.to_vec());
    }

    #[test]
    fn widening_is_utf_16(text in ".*") {
        let (mut widened, mut written) = (vec![7], vec![7]);
        widened.extend_from_slice(text.as_bytes());
        widen(1, &mut widened);
        write_wide(&text, &mut written);
        prop_assert_eq!(widened, written);
    }
}

fn nvarchar(text: Option<&str>, long: bool) -> RpcParam {
    let kind = match long {
        true => TypeInfo::nvarchar_max(),
        false => TypeInfo::nvarchar(4000),
    };
    match text {
        None => RpcParam::null("", kind),
        Some(text) => {
            let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            RpcParam::new("", kind, Bytes::from(units))
        }
    }
}

#[test]
fn an_execution_is_that_of_tds_protocol() {
    let mut out = Vec::new();
    let start = begin_call(Procedure::Execute, 9, &mut out);
    write_handle(Some(7), false, &mut out);
    write_integer(Some(-3), &mut out);
    write_integer(None, &mut out);
    write_double(Some(0.5), &mut out);
    write_bit(Some(true), &mut out);
    write_text(false, &mut out, |out| {
        out.extend_from_slice("hé".as_bytes())
    });
    write_text_null(false, &mut out);
    write_text_null(true, &mut out);
    write_text(true, &mut out, |out| out.extend_from_slice(&[b'x'; 5000]));
    end_call(start, &mut out);
    let double = Bytes::copy_from_slice(&0.5_f64.to_le_bytes());
    let expected = RpcRequest::execute(
        7,
        vec![
            RpcParam::bigint("", -3),
            RpcParam::null("", TypeInfo::bigint()),
            RpcParam::new("", TypeInfo::float(), double),
            RpcParam::new("", TypeInfo::bit(), Bytes::from_static(&[1])),
            nvarchar(Some("hé"), false),
            nvarchar(None, false),
            nvarchar(None, true),
            nvarchar(Some(&"x".repeat(5000)), true),
        ],
    );
    let expected = expected.encode_with_transaction(9);
    assert_eq!(content(&out, 3), expected.to_vec());
}

#[test]
fn preparing_is_that_of_tds_protocol_but_for_names() {
    let mut out = Vec::new();
    let start = begin_call(Procedure::PrepareAndExecute, 0, &mut out);
    write_handle(None, true, &mut out);
    for text in ["@P1 bigint", "SELECT @P1"] {
        write_text(false, &mut out, |out| {
            out.extend_from_slice(text.as_bytes())
        });
    }
    write_integer(Some(1), &mut out);
    end_call(start, &mut out);
    let expected = RpcRequest::by_id(ProcId::PrepExec)
        .param(RpcParam::null("", TypeInfo::int()).as_output())
        .param(nvarchar(Some("@P1 bigint"), false))
        .param(nvarchar(Some("SELECT @P1"), false))
        .param(RpcParam::bigint("", 1));
    assert_eq!(content(&out, 3), expected.encode().to_vec());
}

#[test]
fn an_empty_long_text_has_no_chunk() {
    let mut out = Vec::new();
    write_text(true, &mut out, |_| {});
    assert_eq!(out[out.len() - 12..], [0; 12]);
}

#[test]
fn the_signal_is_a_packet_without_content() {
    assert_eq!(attention(), [6, 1, 0, 8, 0, 0, 1, 0]);
}
