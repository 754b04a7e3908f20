-- Changes the text of a row that no index is on.
\set n 1000 * :scale
\set bell case when :rand_special = 1 then 1 when :rand_gaussian = 1 then 4 else 0 end
\set width case when :rand_special = 1 then greatest(:n / 100, 1) else :n end
\set first (:n - :width) / 2 + 1
\set last :first + :width - 1
\set id case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set c1 random(10000000000, 99999999999)
\set c2 random(10000000000, 99999999999)
\set c3 random(10000000000, 99999999999)
\set c4 random(10000000000, 99999999999)
\set c5 random(10000000000, 99999999999)
\set c6 random(10000000000, 99999999999)
\set c7 random(10000000000, 99999999999)
\set c8 random(10000000000, 99999999999)
\set c9 random(10000000000, 99999999999)
\set c10 random(10000000000, 99999999999)
UPDATE sbtest1 SET c = CONCAT_WS('-', :c1, :c2, :c3, :c4, :c5, :c6, :c7, :c8, :c9, :c10)
 WHERE id = :id;
