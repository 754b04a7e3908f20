-- Rows of 61 a page, all there. This is looked at before the new rows are inserted: whoever counts
-- them afterwards has touched them.
\if :frozen = 0
SELECT format('measurements has %s rows, not %s', found, 1000 * :scale)
  FROM (SELECT count(*) AS found FROM measurements WHERE id <= 1000 * :scale) counted
 WHERE found <> 1000 * :scale;
\endif

SELECT format('%s rows of page %s are not 61', count(*), page)
  FROM (SELECT (ctid::text::point)[0] AS page FROM measurements WHERE id <= 6100) placed
 GROUP BY page
HAVING count(*) <> 61 AND :scale > 6;
