-- The five transactions of the two profiles as procedures of MySQL and MariaDB: the statements of
-- routines.sql in their order, from the same draws, so that equal seeds change equal rows. Each
-- begins and commits its own transaction and answers with one row; where one fails, it rolls back
-- all and passes the error on, so that it can be tried again.
--
-- The isolation is the server's or the arm's, REPEATABLE READ unless another is set: transactions
-- that only read see one moment, as a function of PostgreSQL does. For those that write it is all
-- one: what they decide by they have locked, and what they read without a lock never changes.
--
-- MySQL has no RETURNING: what an UPDATE returns there is read from the row that it has locked
-- here, by the INSERT that needs it where there is one. Routines keep the sql_mode with which they
-- were made; these need none: no || and no double quotes.

-- The lines of an order, 16 characters each: item (6), supplier (5), number (2), quantity (2), R if
-- another warehouse supplies it, or L. Items by NURand(8191), and lines sorted by item, supplier
-- and number; or evenly, sorted by number: then R means that it was drawn as remote, whichever
-- warehouse that is. Of a failing order the last item does not exist.
--
-- The draws are those of drawing.lines: number `place` of a seed is PostgreSQL's hashint8extended
-- (src/common/hashfn.c, hash_bytes_uint32_extended). What depends on the seed alone is computed
-- once: three words x, y, z and two steps of the last mixing. With the data in memory, drawing ten
-- lines was a third of New-Order's time on MySQL 5.7 (0.7 of 2.2 ms), on MariaDB 1/4 to 1/2.
CREATE FUNCTION drawing_lines(
    seed bigint, line_count int, home int, warehouses int, failing boolean, even boolean)
RETURNS varchar(240) CHARACTER SET ascii DETERMINISTIC NO SQL
BEGIN
    DECLARE mask bigint unsigned DEFAULT 4294967295;
    DECLARE carry bigint unsigned DEFAULT 4294967296;
    DECLARE x, y, z bigint unsigned DEFAULT 2658358868;
    DECLARE a, b, c, less, drawn bigint unsigned;
    DECLARE number int DEFAULT 1;
    DECLARE place, low, item_id, supplier, quantity int;
    DECLARE remote boolean;
    DECLARE line char(16) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE packed varchar(240) CHARACTER SET ascii COLLATE ascii_bin DEFAULT '';
    IF seed <> 0 THEN
        SET x = (x + (seed >> 32)) & mask, y = (y + (seed & mask)) & mask;
        SET x = ((x + carry - z) & mask) ^ ((z << 4 | z >> 28) & mask), z = (z + y) & mask;
        SET y = ((y + carry - x) & mask) ^ ((x << 6 | x >> 26) & mask), x = (x + z) & mask;
        SET z = ((z + carry - y) & mask) ^ ((y << 8 | y >> 24) & mask), y = (y + x) & mask;
        SET x = ((x + carry - z) & mask) ^ ((z << 16 | z >> 16) & mask), z = (z + y) & mask;
        SET y = ((y + carry - x) & mask) ^ ((x << 19 | x >> 13) & mask), x = (x + z) & mask;
        SET z = ((z + carry - y) & mask) ^ ((y << 4 | y >> 28) & mask), y = (y + x) & mask;
    END IF;
    SET z = ((z ^ y) + carry - ((y << 14 | y >> 18) & mask)) & mask;
    SET less = carry - ((z << 11 | z >> 21) & mask);
    WHILE number <= line_count DO
        SET place = 8 * number, remote = FALSE, supplier = home;
        WHILE place <= 8 * number + 4 DO
            SET a = ((((x + place) & mask) ^ z) + less) & mask;
            SET b = ((y ^ a) + carry - ((a << 25 | a >> 7) & mask)) & mask;
            SET c = ((z ^ b) + carry - ((b << 16 | b >> 16) & mask)) & mask;
            SET a = ((a ^ c) + carry - ((c << 4 | c >> 28) & mask)) & mask;
            SET b = ((b ^ a) + carry - ((a << 14 | a >> 18) & mask)) & mask;
            SET c = ((c ^ b) + carry - ((b << 24 | b >> 8) & mask)) & mask;
            SET drawn = (b << 32 | c) & 9223372036854775807;
            CASE place & 7
            WHEN 0 THEN SET low = drawn % 8192, item_id = drawn % 100000 + 1, place = place + even;
            WHEN 1 THEN SET item_id = ((low | 1 + drawn % 100000) + 7911) % 100000 + 1;
            WHEN 2 THEN
                SET remote = drawn % 100 = 0 AND (even OR warehouses > 1);
                SET place = IF(remote AND warehouses > 1, place, place + 1);
            WHEN 3 THEN
                SET supplier = IF(even, 1 + drawn % warehouses,
                                  (home + drawn % (warehouses - 1)) % warehouses + 1);
            ELSE SET quantity = 1 + drawn % 10;
            END CASE;
            SET place = place + 1;
        END WHILE;
        SET place = 16 * number - 15;
        SET item_id = IF(failing AND number = line_count, 100001, item_id);
        SET line = CONCAT(LPAD(item_id, 6, '0'), LPAD(supplier, 5, '0'), LPAD(number, 2, '0'),
                          LPAD(quantity, 2, '0'), IF(remote, 'R', 'L'));
        WHILE NOT even AND place > 1 AND SUBSTRING(packed, place - 16, 16) > line DO
            SET place = place - 16;
        END WHILE;
        SET packed = CONCAT(LEFT(packed, place - 1), line, SUBSTRING(packed, place)),
            number = number + 1;
    END WHILE;
    RETURN packed;
END;

-- The last name of a number from 0 to 999 (clause 4.3.2.3).
CREATE FUNCTION drawing_last_name(number int)
RETURNS varchar(16) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
BEGIN
    DECLARE syllables varchar(60) CHARACTER SET ascii
        DEFAULT 'BAR,OUGHT,ABLE,PRI,PRES,ESE,ANTI,CALLY,ATION,EING';
    RETURN CONCAT(
        SUBSTRING_INDEX(SUBSTRING_INDEX(syllables, ',', number DIV 100 + 1), ',', -1),
        SUBSTRING_INDEX(SUBSTRING_INDEX(syllables, ',', number DIV 10 % 10 + 1), ',', -1),
        SUBSTRING_INDEX(SUBSTRING_INDEX(syllables, ',', number % 10 + 1), ',', -1));
END;

-- Of the customers with a last name the one in the middle, by first name; an error where none has.
CREATE PROCEDURE drawing_customer_of(warehouse_id int, district_id int, number int, OUT found int)
BEGIN
    DECLARE name char(16) CHARACTER SET ascii COLLATE ascii_bin DEFAULT drawing_last_name(number);
    DECLARE ids varchar(1024) CHARACTER SET ascii;
    DECLARE named int;
    SELECT GROUP_CONCAT(c_id ORDER BY c_first), COUNT(*) INTO ids, named FROM customer
     WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_last = name;
    IF named = 0 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such name'; END IF;
    SET found = SUBSTRING_INDEX(SUBSTRING_INDEX(ids, ',', (named + 1) DIV 2), ',', -1);
END;

-- New-Order, clause 2.4. Line by line, in the order of the items, so that two orders never wait for
-- each other crosswise. An order with an unknown item is rolled back. Answers with the total, NULL
-- where it was rolled back.
CREATE PROCEDURE spec_new_order(
    warehouse_id int, district_id int, customer_id int, line_count int, seed bigint, warehouses int,
    failing boolean)
BEGIN
    DECLARE discount, taxes, district_tax decimal(4, 4);
    DECLARE total decimal(30, 10) DEFAULT 0;
    DECLARE price decimal(5, 2);
    DECLARE order_id, item_id, supplier, number, quantity int;
    DECLARE place int DEFAULT 1;
    DECLARE drawn varchar(240) CHARACTER SET ascii
        DEFAULT drawing_lines(seed, line_count, warehouse_id, warehouses, failing, FALSE);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SELECT c_discount, w_tax INTO discount, taxes FROM warehouse, customer
     WHERE w_id = warehouse_id AND c_w_id = warehouse_id AND c_d_id = district_id
       AND c_id = customer_id;
    UPDATE district SET d_next_o_id = d_next_o_id + 1
     WHERE d_w_id = warehouse_id AND d_id = district_id;
    SELECT d_next_o_id - 1, d_tax INTO order_id, district_tax FROM district
     WHERE d_w_id = warehouse_id AND d_id = district_id;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (order_id, district_id, warehouse_id, customer_id, UTC_TIMESTAMP(6), line_count,
            LOCATE('R', drawn) = 0);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (order_id, district_id, warehouse_id);
    order_lines: WHILE place <= 16 * line_count DO
        SET item_id = SUBSTRING(drawn, place, 6), supplier = SUBSTRING(drawn, place + 6, 5),
            number = SUBSTRING(drawn, place + 11, 2), quantity = SUBSTRING(drawn, place + 13, 2);
        SET price = (SELECT i_price FROM item WHERE i_id = item_id);
        IF price IS NULL THEN ROLLBACK; SET total = NULL; LEAVE order_lines; END IF;
        UPDATE stock
           SET s_quantity = s_quantity - quantity + IF(s_quantity >= quantity + 10, 0, 91),
               s_ytd = s_ytd + quantity,
               s_order_cnt = s_order_cnt + 1,
               s_remote_cnt = s_remote_cnt + (supplier <> warehouse_id)
         WHERE s_i_id = item_id AND s_w_id = supplier;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                                ol_quantity, ol_amount, ol_dist_info)
        SELECT order_id, district_id, warehouse_id, number, item_id, supplier, quantity,
               quantity * price, ELT(district_id, s_dist_01, s_dist_02, s_dist_03, s_dist_04,
                   s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10)
          FROM stock WHERE s_i_id = item_id AND s_w_id = supplier;
        SET total = total + quantity * price, place = place + 16;
    END WHILE;
    COMMIT;
    SELECT total * (1 - discount) * (1 + taxes + district_tax) AS total;
END;

-- Payment, clause 2.5. name_number below 0: the customer is known by its number. The amount in its
-- data has sixteen decimals, as a division has in PostgreSQL.
CREATE PROCEDURE spec_payment(
    warehouse_id int, district_id int, customer_w int, customer_d int, name_number int,
    customer_id int, cents int)
BEGIN
    DECLARE amount decimal(6, 2) DEFAULT cents * 0.01;
    DECLARE payer int DEFAULT customer_id;
    DECLARE balance decimal(12, 2);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = warehouse_id;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = warehouse_id AND d_id = district_id;
    IF name_number >= 0 THEN
        CALL drawing_customer_of(customer_w, customer_d, name_number, payer);
    END IF;
    UPDATE customer
       SET c_balance = c_balance - amount,
           c_ytd_payment = c_ytd_payment + amount,
           c_payment_cnt = c_payment_cnt + 1,
           c_data = CASE c_credit WHEN 'BC'
                    THEN LEFT(CONCAT_WS(' ', c_id, c_d_id, c_w_id, district_id, warehouse_id,
                                        CAST(amount AS decimal(22, 16)), c_data), 500)
                    ELSE c_data END
     WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = payer;
    SELECT c_balance INTO balance FROM customer
     WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = payer;
    IF balance IS NULL THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such customer'; END IF;
    INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    SELECT customer_d, customer_w, payer, district_id, warehouse_id, UTC_TIMESTAMP(6), amount,
           CONCAT(w_name, '    ', d_name)
      FROM warehouse, district WHERE w_id = warehouse_id AND d_w_id = w_id AND d_id = district_id;
    COMMIT;
    SELECT balance;
END;

-- Order-Status, clause 2.6: balance and lines of a customer's last order.
CREATE PROCEDURE spec_order_status(
    warehouse_id int, district_id int, name_number int, customer_id int)
BEGIN
    DECLARE asker int DEFAULT customer_id;
    DECLARE balance decimal(12, 2);
    DECLARE order_id, line_count int;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION READ ONLY;
    IF name_number >= 0 THEN
        CALL drawing_customer_of(warehouse_id, district_id, name_number, asker);
    END IF;
    SELECT c_balance INTO balance FROM customer
     WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = asker;
    IF balance IS NULL THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such customer'; END IF;
    SET order_id = (
        SELECT o_id FROM orders
         WHERE o_w_id = warehouse_id AND o_d_id = district_id AND o_c_id = asker
         ORDER BY o_id DESC LIMIT 1);
    SELECT COUNT(ol_i_id + ol_supply_w_id + ol_quantity + ol_amount) INTO line_count FROM order_line
     WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = order_id;
    COMMIT;
    SELECT balance, order_id, line_count;
END;

-- Delivery, clause 2.7, all ten districts in one transaction: the oldest order of each that is not
-- delivered yet. Answers with how many there were.
CREATE PROCEDURE spec_delivery(warehouse_id int, carrier int)
BEGIN
    DECLARE delivered int DEFAULT 0;
    DECLARE district_id int DEFAULT 1;
    DECLARE order_id, customer_id int;
    DECLARE total decimal(12, 2);
    DECLARE now_utc datetime(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    WHILE district_id <= 10 DO
        SELECT MAX(no_o_id) INTO order_id
          FROM (SELECT no_o_id FROM new_order
                 WHERE no_w_id = warehouse_id AND no_d_id = district_id
                 ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS oldest;
        IF order_id IS NOT NULL THEN
            DELETE FROM new_order
             WHERE no_w_id = warehouse_id AND no_d_id = district_id AND no_o_id = order_id;
            UPDATE orders SET o_carrier_id = carrier
             WHERE o_w_id = warehouse_id AND o_d_id = district_id AND o_id = order_id;
            SELECT o_c_id INTO customer_id FROM orders
             WHERE o_w_id = warehouse_id AND o_d_id = district_id AND o_id = order_id;
            UPDATE order_line SET ol_delivery_d = now_utc
             WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = order_id;
            SELECT SUM(ol_amount) INTO total FROM order_line
             WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = order_id;
            UPDATE customer SET c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
             WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_id;
            SET delivered = delivered + 1;
        END IF;
        SET district_id = district_id + 1;
    END WHILE;
    COMMIT;
    SELECT delivered;
END;

-- Stock-Level, clause 2.8: how many items of a district's last 20 orders run low, at one moment.
CREATE PROCEDURE spec_stock_level(warehouse_id int, district_id int, threshold int)
    SELECT COUNT(DISTINCT s_i_id) AS low
      FROM district, order_line, stock
     WHERE d_w_id = warehouse_id AND d_id = district_id
       AND ol_w_id = d_w_id AND ol_d_id = d_id
       AND ol_o_id BETWEEN d_next_o_id - 20 AND d_next_o_id - 1
       AND s_w_id = d_w_id AND s_i_id = ol_i_id AND s_quantity < threshold;

-- What HammerDB's routines do instead: sets in place of loops, no counters, no order that is really
-- rolled back. The subtransaction that each call has in PostgreSQL has no counterpart here, so
-- Order-Status and Stock-Level are those of the other profile.

-- The places of what is packed. A view: rows of a table would be locked.
CREATE VIEW drawing_places AS
    SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION
    ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9 UNION ALL SELECT 10 UNION
    ALL SELECT 11 UNION ALL SELECT 12 UNION ALL SELECT 13 UNION ALL SELECT 14 UNION ALL SELECT 15;

-- The amount of a line holds taxes and discount, and an order with a line that was drawn as remote
-- is not local, whichever warehouse that is. Amounts are packed too, 7 characters each.
CREATE PROCEDURE hammerdb_new_order(
    warehouse_id int, district_id int, customer_id int, line_count int, seed bigint, warehouses int,
    failing boolean)
BEGIN
    DECLARE discount, taxes, district_tax decimal(4, 4);
    DECLARE total decimal(12, 2);
    DECLARE order_id int;
    DECLARE drawn, amounts varchar(240) CHARACTER SET ascii;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SELECT c_discount, w_tax INTO discount, taxes FROM customer JOIN warehouse ON w_id = c_w_id
     WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_id;
    SET drawn = drawing_lines(seed, line_count, warehouse_id, warehouses, failing, TRUE);
    UPDATE district SET d_next_o_id = d_next_o_id + 1
     WHERE d_w_id = warehouse_id AND d_id = district_id;
    SELECT d_next_o_id - 1, d_tax INTO order_id, district_tax FROM district
     WHERE d_w_id = warehouse_id AND d_id = district_id;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (order_id, district_id, warehouse_id, customer_id, UTC_TIMESTAMP(6), line_count,
            LOCATE('R', drawn) = 0);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (order_id, district_id, warehouse_id);
    SELECT GROUP_CONCAT(LPAD(COALESCE(amount, ''), 7, ' ') ORDER BY n SEPARATOR ''), SUM(amount)
      INTO amounts, total
      FROM (SELECT n, CAST(SUBSTRING(drawn, 16 * n - 2, 2) * i_price
                           * (1 + taxes + district_tax) * (1 - discount) AS decimal(6, 2)) AS amount
              FROM drawing_places
              LEFT JOIN item ON i_id = SUBSTRING(drawn, 16 * n - 15, 6) DIV 1
             WHERE n <= line_count) AS priced;
    UPDATE drawing_places
      JOIN stock ON n <= line_count AND s_i_id = SUBSTRING(drawn, 16 * n - 15, 6) DIV 1
                    AND s_w_id = SUBSTRING(drawn, 16 * n - 9, 5) DIV 1
       SET s_quantity = s_quantity - SUBSTRING(drawn, 16 * n - 2, 2)
                        + IF(s_quantity >= SUBSTRING(drawn, 16 * n - 2, 2) + 10, 0, 91);
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                            ol_quantity, ol_amount, ol_dist_info)
    SELECT order_id, district_id, warehouse_id, n, SUBSTRING(drawn, 16 * n - 15, 6),
           SUBSTRING(drawn, 16 * n - 9, 5), SUBSTRING(drawn, 16 * n - 2, 2),
           NULLIF(TRIM(SUBSTRING(amounts, 7 * n - 6, 7)), ''),
           ELT(district_id, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06,
               s_dist_07, s_dist_08, s_dist_09, s_dist_10)
      FROM drawing_places
      LEFT JOIN stock ON s_i_id = SUBSTRING(drawn, 16 * n - 15, 6) DIV 1
                         AND s_w_id = SUBSTRING(drawn, 16 * n - 9, 5) DIV 1
     WHERE n <= line_count;
    COMMIT;
    SELECT total;
END;

-- The balance is computed from one that was read without a lock, as there: of two payments of a
-- customer at once, one may be lost.
CREATE PROCEDURE hammerdb_payment(
    warehouse_id int, district_id int, customer_w int, customer_d int, name_number int,
    customer_id int, amount int)
BEGIN
    DECLARE payer int DEFAULT customer_id;
    DECLARE credit char(2) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE about varchar(500) CHARACTER SET ascii;
    DECLARE balance decimal(12, 2);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = warehouse_id;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = warehouse_id AND d_id = district_id;
    IF name_number >= 0 THEN
        CALL drawing_customer_of(customer_w, customer_d, name_number, payer);
    END IF;
    SELECT c_credit, c_data, c_balance - amount INTO credit, about, balance FROM customer
     WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = payer;
    IF balance IS NULL THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such customer'; END IF;
    IF credit = 'BC' THEN
        UPDATE customer
           SET c_balance = balance,
               c_data = LEFT(CONCAT_WS(' ', payer, customer_d, customer_w, district_id,
                                       warehouse_id, amount, about), 500)
         WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = payer;
    ELSE
        UPDATE customer SET c_balance = balance
         WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = payer;
    END IF;
    INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    SELECT customer_d, customer_w, payer, district_id, warehouse_id, UTC_TIMESTAMP(6), amount,
           CONCAT(w_name, '    ', d_name)
      FROM warehouse, district WHERE w_id = warehouse_id AND d_w_id = w_id AND d_id = district_id;
    COMMIT;
    SELECT balance;
END;

-- All ten districts at once, each statement for a set of orders, packed in 12 characters each:
-- district (2) and number (10). Those that another delivery was faster to take are not found any
-- more once it has committed.
CREATE PROCEDURE hammerdb_delivery(warehouse_id int, carrier int)
BEGIN
    DECLARE packed varchar(120) CHARACTER SET ascii;
    DECLARE taken int;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SELECT GROUP_CONCAT(LPAD(no_d_id, 2, '0'), LPAD(no_o_id, 10, '0') SEPARATOR ''), COUNT(*)
      INTO packed, taken
      FROM (SELECT n AS d, (SELECT no_o_id FROM new_order
                             WHERE no_w_id = warehouse_id AND no_d_id = n
                             ORDER BY no_o_id LIMIT 1) AS first
              FROM drawing_places WHERE n <= 10) AS oldest
      JOIN new_order ON no_w_id = warehouse_id AND no_d_id = d AND no_o_id = first FOR UPDATE;
    DELETE new_order FROM drawing_places JOIN new_order ON n <= taken AND no_w_id = warehouse_id
       AND no_d_id = SUBSTRING(packed, 12 * n - 11, 2) DIV 1
       AND no_o_id = SUBSTRING(packed, 12 * n - 9, 10) DIV 1;
    UPDATE drawing_places JOIN orders ON n <= taken AND o_w_id = warehouse_id
       AND o_d_id = SUBSTRING(packed, 12 * n - 11, 2) DIV 1
       AND o_id = SUBSTRING(packed, 12 * n - 9, 10) DIV 1
       SET o_carrier_id = carrier;
    UPDATE drawing_places JOIN order_line ON n <= taken AND ol_w_id = warehouse_id
       AND ol_d_id = SUBSTRING(packed, 12 * n - 11, 2) DIV 1
       AND ol_o_id = SUBSTRING(packed, 12 * n - 9, 10) DIV 1
       SET ol_delivery_d = UTC_TIMESTAMP(6);
    UPDATE (SELECT o_d_id AS d, o_c_id AS payer, SUM(ol_amount) AS total
              FROM drawing_places JOIN orders ON n <= taken AND o_w_id = warehouse_id
                   AND o_d_id = SUBSTRING(packed, 12 * n - 11, 2) DIV 1
                   AND o_id = SUBSTRING(packed, 12 * n - 9, 10) DIV 1
              JOIN order_line ON ol_w_id = warehouse_id AND ol_d_id = o_d_id AND ol_o_id = o_id
             GROUP BY o_d_id, o_c_id) AS summed
      JOIN customer ON c_w_id = warehouse_id AND c_d_id = d AND c_id = payer
       SET c_balance = c_balance + COALESCE(total, 0);
    COMMIT;
    SELECT taken;
END;
