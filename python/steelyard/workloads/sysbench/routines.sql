-- oltp_insert goes on behind the rows that are there.
SELECT setval('sbtest1_id_seq', 1000 * :scale);
