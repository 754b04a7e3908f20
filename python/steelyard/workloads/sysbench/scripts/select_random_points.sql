-- Rows of ten values of the indexed number.
-- Of the part of the table that this client has for itself.
\set n 1000 * :scale / :clients
\set bell case when :rand_special = 1 then 1 when :rand_gaussian = 1 then 4 else 0 end
\set width case when :rand_special = 1 then greatest(:n / 100, 1) else :n end
\set first (:n - :width) / 2 + 1
\set last :first + :width - 1
\set k1 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set k2 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set k3 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set k4 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set k5 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set k6 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set k7 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set k8 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set k9 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
\set k10 :n * :client_id + case when random(1, 4) <= :bell then random_gaussian(1, :n, 6.0) \
  when :rand_pareto = 0 then random(:first, :last) \
  else 1 + int(:n * pow(random(0, 4503599627370495) / 4503599627370496.0, 7.2125674) - 0.5) end
SELECT id, k, c, pad FROM sbtest1
 WHERE k IN (:k1, :k2, :k3, :k4, :k5, :k6, :k7, :k8, :k9, :k10);
