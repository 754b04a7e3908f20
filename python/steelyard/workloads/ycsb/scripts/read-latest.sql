-- Reads a row that was inserted lately.
-- YCSB's skewed latest: the further back from the newest key that this client knows, the rarer.
\if :latest = 0
SELECT last_value AS latest FROM usertable_numbers \gset
\endif
\set newest greatest(1, :latest)
\set zeta 100 * pow(:newest, 0.01) - 99.4235129777 + 0.5 * pow(:newest, -0.99)
\set eta (1 - pow(2.0 / :newest, 0.01)) / (1 - 1.5034777750283594 / :zeta)
\set u random(0, 4503599627370495) / 4503599627370496.0
\set back case when :u * :zeta < 1 then 0 when :u * :zeta < 1.5034777750283594 then 1 \
  else int(:newest * pow(:eta * (:u - 1) + 1, 100) - 0.5) end
\set number greatest(0, :newest - :back)
\set key abs(hash_fnv1a(:number, 0))
SELECT * FROM usertable WHERE ycsb_key = 'user' || :key;
