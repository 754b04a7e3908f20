-- Deletes really delete: of many transfers, some are gone. Sequences skip what was rolled back.
\if :deletes > 0
SELECT CONCAT(made, ' transfers were made and all of them are there: none was deleted')
  FROM (SELECT count(*) AS there, coalesce(max(id), 0) AS made FROM transfers) t
 WHERE made > 2000 AND there = made;
\endif
