//! Tests that rows are where they should be. Equality with `pgbench -i`: tests/workloads.

use steelyard_datagen::pgbench::MAX_SCALE;
use steelyard_datagen::{find, Parameters, Tuples};

fn rows(table: &str, scale: i64, from: u64, to: u64) -> Tuples {
    let given = Parameters {
        scale,
        ..Parameters::default()
    };
    let mut out = Tuples::default();
    find::<Tuples>("pgbench", table, &given)
        .expect("a source")
        .write(from..to, &mut out);
    out
}

#[test]
fn the_last_account_belongs_to_the_last_branch() {
    let row = rows("pgbench_accounts", 3, 299_999, 300_000);
    let mut expected = vec![0, 4];
    for number in [300_000i32, 3, 0] {
        expected.extend_from_slice(&4i32.to_be_bytes());
        expected.extend_from_slice(&number.to_be_bytes());
    }
    expected.extend_from_slice(&0i32.to_be_bytes());
    assert_eq!(row.bytes, expected);
    assert_eq!((row.rows, row.control_sum), (1, 300_003));
}

#[test]
fn the_last_account_of_the_largest_scale_is_an_int4() {
    let last = MAX_SCALE as u64 * 100_000;
    let row = rows("pgbench_accounts", MAX_SCALE, last - 1, last);
    assert_eq!(row.bytes[6..10], (last as i32).to_be_bytes());
    assert!(last < i32::MAX as u64);
}

#[test]
fn a_scale_or_a_table_that_does_not_exist_is_refused() {
    let given = |scale| Parameters {
        scale,
        ..Parameters::default()
    };
    for scale in [0, -1, MAX_SCALE + 1] {
        assert!(find::<Tuples>("pgbench", "pgbench_tellers", &given(scale)).is_err());
    }
    assert!(find::<Tuples>("pgbench", "pgbench_history", &given(1)).is_err());
    assert!(find::<Tuples>("nobody", "pgbench_tellers", &given(1)).is_err());
}
