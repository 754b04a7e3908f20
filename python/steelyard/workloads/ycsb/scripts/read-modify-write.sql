-- Reads a row and changes one field of it, each statement a transaction.
-- YCSB's scrambled zipfian: a rank of ten billion with exponent 0.99 (Gray et al., 1994), hashed.
\set u random(0, 4503599627370495) / 4503599627370496.0
\set rank case when :u * 26.46902820178302 < 1 then 0 \
  when :u * 26.46902820178302 < 1.5034777750283594 then 1 \
  else int(10000000001 * pow(0.21220003380967406 * (:u - 1) + 1, 100) - 0.5) end
\set number abs(hash_fnv1a(:rank, 0)) % (1000 * :scale)
\set key abs(hash_fnv1a(:number, 0))
SELECT * FROM usertable WHERE ycsb_key = 'user' || :key;
-- One field of the ten, a hundred bytes; its first seven say of which row.
\set part 1000000 + :key % 1000000
\set v1 random(100000000000000000, 999999999999999999)
\set v2 random(100000000000000000, 999999999999999999)
\set v3 random(100000000000000000, 999999999999999999)
\set v4 random(100000000000000000, 999999999999999999)
\set v5 random(100000000000000000, 999999999999999999)
\set v6 random(100, 999)
\set field random(0, 9)
\if :field = 0
UPDATE usertable SET field0 = :part || :v1 || :v2 || :v3 || :v4 || :v5 || :v6
 WHERE ycsb_key = 'user' || :key;
\elif :field = 1
UPDATE usertable SET field1 = :part || :v1 || :v2 || :v3 || :v4 || :v5 || :v6
 WHERE ycsb_key = 'user' || :key;
\elif :field = 2
UPDATE usertable SET field2 = :part || :v1 || :v2 || :v3 || :v4 || :v5 || :v6
 WHERE ycsb_key = 'user' || :key;
\elif :field = 3
UPDATE usertable SET field3 = :part || :v1 || :v2 || :v3 || :v4 || :v5 || :v6
 WHERE ycsb_key = 'user' || :key;
\elif :field = 4
UPDATE usertable SET field4 = :part || :v1 || :v2 || :v3 || :v4 || :v5 || :v6
 WHERE ycsb_key = 'user' || :key;
\elif :field = 5
UPDATE usertable SET field5 = :part || :v1 || :v2 || :v3 || :v4 || :v5 || :v6
 WHERE ycsb_key = 'user' || :key;
\elif :field = 6
UPDATE usertable SET field6 = :part || :v1 || :v2 || :v3 || :v4 || :v5 || :v6
 WHERE ycsb_key = 'user' || :key;
\elif :field = 7
UPDATE usertable SET field7 = :part || :v1 || :v2 || :v3 || :v4 || :v5 || :v6
 WHERE ycsb_key = 'user' || :key;
\elif :field = 8
UPDATE usertable SET field8 = :part || :v1 || :v2 || :v3 || :v4 || :v5 || :v6
 WHERE ycsb_key = 'user' || :key;
\elif :field = 9
UPDATE usertable SET field9 = :part || :v1 || :v2 || :v3 || :v4 || :v5 || :v6
 WHERE ycsb_key = 'user' || :key;
\endif
