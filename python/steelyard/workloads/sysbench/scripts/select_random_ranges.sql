-- Counts the rows of ten ranges of the indexed number.
-- Of the part of the table that this client has for itself.
\set n 1000 * :scale / :clients
\set bell case when :rand_special = 1 then 1 when :rand_gaussian = 1 then 4 else 0 end
\set width case when :rand_special = 1 then greatest(:n / 100, 1) else :n end
\set first (:n - :width) / 2 + 1
\set last :first + :width - 1
\set k1 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set to1 :k1 + 5
\set k2 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set to2 :k2 + 5
\set k3 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set to3 :k3 + 5
\set k4 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set to4 :k4 + 5
\set k5 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set to5 :k5 + 5
\set k6 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set to6 :k6 + 5
\set k7 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set to7 :k7 + 5
\set k8 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set to8 :k8 + 5
\set k9 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set to9 :k9 + 5
\set k10 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set to10 :k10 + 5
SELECT count(k) FROM sbtest1
 WHERE k BETWEEN :k1 AND :to1 OR k BETWEEN :k2 AND :to2 OR k BETWEEN :k3 AND :to3 OR
       k BETWEEN :k4 AND :to4 OR k BETWEEN :k5 AND :to5 OR k BETWEEN :k6 AND :to6 OR
       k BETWEEN :k7 AND :to7 OR k BETWEEN :k8 AND :to8 OR k BETWEEN :k9 AND :to9 OR
       k BETWEEN :k10 AND :to10;
