-- Numbers go on behind the jobs that wait.
SELECT setval('jobs_id_seq', 1000 * :scale);
