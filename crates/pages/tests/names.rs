//! Tests that a relation file is recognized by its name alone, and that nothing else is.

use steelyard_pages::{parse_relation_file, Fork};

#[test]
fn names_say_filenode_fork_segment_and_backend() {
    for (name, filenode, fork, segment, temporary_of) in [
        ("16384", 16384, Fork::Main, 0, None),
        ("16384.12", 16384, Fork::Main, 12, None),
        ("1259_fsm", 1259, Fork::Fsm, 0, None),
        ("1259_vm.1", 1259, Fork::Vm, 1, None),
        ("16400_init", 16400, Fork::Init, 0, None),
        ("t3_16401", 16401, Fork::Main, 0, Some(3)),
        ("t12_16401_fsm.2", 16401, Fork::Fsm, 2, Some(12)),
    ] {
        let file = parse_relation_file(name).expect(name);
        assert_eq!(
            (file.filenode, file.fork, file.segment, file.temporary_of),
            (filenode, fork, segment, temporary_of),
            "{name}"
        );
    }
}

#[test]
fn other_names_are_no_relation_files() {
    for name in [
        "",
        "0",
        "pg_control",
        "PG_VERSION",
        "pg_internal.init.123",
        "16384_main",
        "16384_foo",
        "16384.",
        "16384.0",
        "16384.x",
        "016384",
        "16384.01",
        "-1",
        "+1",
        "1 ",
        "t_16384",
        "t3_",
        "16384_fsm_vm",
        "16384.1.2",
        "99999999999",
        "pgsql_tmp",
        "backup~",
        "１６",
    ] {
        assert_eq!(parse_relation_file(name), None, "{name}");
    }
}
