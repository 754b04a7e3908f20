-- Deletes a row by its key, if it is still there.
\set n 1000 * :scale
\set bell case when :rand_special = 1 then 1 when :rand_gaussian = 1 then 4 else 0 end
\set width case when :rand_special = 1 then greatest(:n / 100, 1) else :n end
\set first (:n - :width) / 2 + 1
\set last :first + :width - 1
\set id case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
DELETE FROM sbtest1 WHERE id = :id;
