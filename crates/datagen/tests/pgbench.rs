//! Rows are where they should be, whatever the chunks. Equality with `pgbench -i`: tests/workloads.

use steelyard_datagen::pgbench::{rows, Table, MAX_SCALE};

#[test]
fn chunks_put_together_are_the_whole_table() {
    for table in [Table::Accounts, Table::Branches, Table::Tellers] {
        let whole = rows(table, 2, 0, i64::MAX);
        let step = table.rows(2) / 3 + 1;
        let chunks: Vec<u8> = (0..4)
            .flat_map(|at| rows(table, 2, at * step, step))
            .collect();
        assert!(!whole.is_empty() && whole == chunks, "{table:?}");
    }
}

#[test]
fn the_last_account_belongs_to_the_last_branch() {
    let row = rows(Table::Accounts, 3, 299_999, 10);
    let mut expected = vec![0, 4];
    for number in [300_000i32, 3, 0] {
        expected.extend_from_slice(&4i32.to_be_bytes());
        expected.extend_from_slice(&number.to_be_bytes());
    }
    expected.extend_from_slice(&0i32.to_be_bytes());
    assert_eq!(row, expected);
}

#[test]
fn the_last_account_of_the_largest_scale_is_an_int4() {
    let last = Table::Accounts.rows(MAX_SCALE) - 1;
    let row = rows(Table::Accounts, MAX_SCALE, last, 1);
    assert_eq!(row[6..10], (last as i32 + 1).to_be_bytes());
    assert!(last < i64::from(i32::MAX));
}

#[test]
fn nothing_lies_outside_a_table() {
    assert!(rows(Table::Branches, 5, 5, 10).is_empty());
    assert_eq!(
        rows(Table::Branches, 5, -3, 4),
        rows(Table::Branches, 5, 0, 1)
    );
    assert!(rows(Table::Branches, 5, 0, -1).is_empty());
}
