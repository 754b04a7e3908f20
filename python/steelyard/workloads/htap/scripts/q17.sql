-- Revenue of lines with fewer pieces of an item than its mean.
SELECT sum(ol_amount) / 2.0 AS avg_yearly
  FROM order_line,
       (SELECT i_id, avg(ol_quantity) AS mean
          FROM item, order_line
         WHERE i_data LIKE '%b' AND ol_i_id = i_id
         GROUP BY i_id) t
 WHERE ol_i_id = t.i_id AND ol_quantity < t.mean;
INSERT INTO asked (query) VALUES (17);
