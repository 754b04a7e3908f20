-- Reads up to a hundred rows in the order of their keys, from one on.
-- YCSB's scrambled zipfian: a rank of ten billion with exponent 0.99 (Gray et al., 1994), hashed.
\set u random(0, 4503599627370495) / 4503599627370496.0
\set rank case when :u * 26.46902820178302 < 1 then 0 \
  when :u * 26.46902820178302 < 1.5034777750283594 then 1 \
  else int(10000000001 * pow(0.21220003380967406 * (:u - 1) + 1, 100) - 0.5) end
\set number abs(hash_fnv1a(:rank, 0)) % (1000 * :scale)
\set key abs(hash_fnv1a(:number, 0))
\set length random(1, 100)
SELECT * FROM usertable WHERE ycsb_key >= CONCAT('user', :key) ORDER BY ycsb_key LIMIT :length;
