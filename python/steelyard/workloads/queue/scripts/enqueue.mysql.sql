-- Puts a job into the queue.
-- A client is a producer that counts its jobs; a number is given out only once its job is there.
\if :producer = 0
INSERT INTO producers () VALUES ();
SELECT LAST_INSERT_ID() AS producer \gset
\endif
\set next :sent + 1
\set p1 random(100000000000000000, 999999999999999999)
\set p2 random(100000000000000000, 999999999999999999)
\set p3 random(100000000000000000, 999999999999999999)
\set p4 random(100000000000000000, 999999999999999999)
\set p5 random(100000000000000000, 999999999999999999)
\set p6 random(100000000000000000, 999999999999999999)
\set p7 random(100000000000000000, 999999999999999999)
\set p8 random(100000000000000000, 999999999999999999)
\set p9 random(100000000000000000, 999999999999999999)
\set p10 random(100000000000000000, 999999999999999999)
\set p11 random(100000000000000000, 999999999999999999)
\set p12 random(10, 99)
INSERT INTO jobs (producer, number, payload) VALUES (:producer, :next,
    CONCAT(:p1, :p2, :p3, :p4, :p5, :p6, :p7, :p8, :p9, :p10, :p11, :p12));
\set sent :next
