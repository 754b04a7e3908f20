-- Ticks go on behind those that are there, which begin with 0.
SELECT setval('ticks', 100 * :scale - 1);
