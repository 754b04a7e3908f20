-- The values that parameters of queries are drawn from (clause 2.4 of TPC-H), and the two refresh
-- functions, for MySQL and MariaDB: what routines.sql has, with the same draws. The functions that
-- make a number a word are deterministic, so a query evaluates them once and not for every row.
-- Routines keep the sql_mode with which they were made; these need none: no || and no double
-- quotes.

CREATE FUNCTION drawing_nation(number int)
RETURNS varchar(25) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
    RETURN ELT(number + 1, 'ALGERIA', 'ARGENTINA', 'BRAZIL', 'CANADA', 'EGYPT', 'ETHIOPIA',
        'FRANCE', 'GERMANY', 'INDIA', 'INDONESIA', 'IRAN', 'IRAQ', 'JAPAN', 'JORDAN', 'KENYA',
        'MOROCCO', 'MOZAMBIQUE', 'PERU', 'CHINA', 'ROMANIA', 'SAUDI ARABIA', 'VIETNAM', 'RUSSIA',
        'UNITED KINGDOM', 'UNITED STATES');

CREATE FUNCTION drawing_region(number int)
RETURNS varchar(25) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
    RETURN ELT(number + 1, 'AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST');

-- The region of a nation.
CREATE FUNCTION drawing_region_of(number int)
RETURNS varchar(25) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
    RETURN drawing_region(ELT(number + 1, 0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2,
        3, 4, 2, 3, 3, 1));

CREATE FUNCTION drawing_segment(number int)
RETURNS varchar(10) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
    RETURN ELT(number + 1, 'AUTOMOBILE', 'BUILDING', 'FURNITURE', 'MACHINERY', 'HOUSEHOLD');

CREATE FUNCTION drawing_mode(number int)
RETURNS varchar(10) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
    RETURN ELT(number + 1, 'REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB');

-- Types of parts have three syllables: a number from 0 to 149.
CREATE FUNCTION drawing_type_ending(number int)
RETURNS varchar(25) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
    RETURN ELT(number + 1, 'TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER');

CREATE FUNCTION drawing_type_beginning(number int)
RETURNS varchar(25) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
    RETURN CONCAT(
        ELT(number DIV 5 + 1, 'STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO'), ' ',
        ELT(number % 5 + 1, 'ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED'));

CREATE FUNCTION drawing_type(number int)
RETURNS varchar(25) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
    RETURN CONCAT(drawing_type_beginning(number DIV 5), ' ', drawing_type_ending(number % 5));

CREATE FUNCTION drawing_container(number int)
RETURNS varchar(10) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
    RETURN CONCAT(
        ELT(number DIV 8 + 1, 'SM', 'LG', 'MED', 'JUMBO', 'WRAP'), ' ',
        ELT(number % 8 + 1, 'CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM'));

CREATE FUNCTION drawing_brand(number int)
RETURNS varchar(10) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
    RETURN CONCAT('Brand#', number DIV 5 + 1, number % 5 + 1);

CREATE FUNCTION drawing_color(number int)
RETURNS varchar(10) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
    RETURN ELT(number + 1, 'almond', 'antique', 'aquamarine', 'azure', 'beige', 'bisque', 'black',
        'blanched', 'blue', 'blush', 'brown', 'burlywood', 'burnished', 'chartreuse', 'chiffon',
        'chocolate', 'coral', 'cornflower', 'cornsilk', 'cream', 'cyan', 'dark', 'deep', 'dim',
        'dodger', 'drab', 'firebrick', 'floral', 'forest', 'frosted', 'gainsboro', 'ghost',
        'goldenrod', 'green', 'grey', 'honeydew', 'hot', 'indian', 'ivory', 'khaki', 'lace',
        'lavender', 'lawn', 'lemon', 'light', 'lime', 'linen', 'magenta', 'maroon', 'medium',
        'metallic', 'midnight', 'mint', 'misty', 'moccasin', 'navajo', 'navy', 'olive', 'orange',
        'orchid', 'pale', 'papaya', 'peach', 'peru', 'pink', 'plum', 'powder', 'puff', 'purple',
        'red', 'rose', 'rosy', 'royal', 'saddle', 'salmon', 'sandy', 'seashell', 'sienna', 'sky',
        'slate', 'smoke', 'snow', 'spring', 'steel', 'tan', 'thistle', 'tomato', 'turquoise',
        'violet', 'wheat', 'white', 'yellow');

CREATE FUNCTION drawing_complaint(number int)
RETURNS varchar(25) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
    RETURN CONCAT('%', ELT(number DIV 4 + 1, 'special', 'pending', 'unusual', 'express'), '%',
        ELT(number % 4 + 1, 'packages', 'requests', 'accounts', 'deposits'), '%');

-- PostgreSQL's hashint8extended of a number from 0 to 4294967295 (src/common/hashfn.c,
-- hash_bytes_uint32_extended).
CREATE FUNCTION drawing_hash(number bigint, seed bigint) RETURNS bigint unsigned
DETERMINISTIC NO SQL
BEGIN
    DECLARE mask bigint unsigned DEFAULT 4294967295;
    DECLARE carry bigint unsigned DEFAULT 4294967296;
    DECLARE a, b, c bigint unsigned DEFAULT 2658358868;
    IF seed <> 0 THEN
        SET a = (a + (seed >> 32)) & mask, b = (b + (seed & mask)) & mask;
        SET a = ((a + carry - c) & mask) ^ ((c << 4 | c >> 28) & mask), c = (c + b) & mask;
        SET b = ((b + carry - a) & mask) ^ ((a << 6 | a >> 26) & mask), a = (a + c) & mask;
        SET c = ((c + carry - b) & mask) ^ ((b << 8 | b >> 24) & mask), b = (b + a) & mask;
        SET a = ((a + carry - c) & mask) ^ ((c << 16 | c >> 16) & mask), c = (c + b) & mask;
        SET b = ((b + carry - a) & mask) ^ ((a << 19 | a >> 13) & mask), a = (a + c) & mask;
        SET c = ((c + carry - b) & mask) ^ ((b << 4 | b >> 28) & mask), b = (b + a) & mask;
    END IF;
    SET a = (a + number) & mask;
    SET c = ((c ^ b) + carry - ((b << 14 | b >> 18) & mask)) & mask;
    SET a = ((a ^ c) + carry - ((c << 11 | c >> 21) & mask)) & mask;
    SET b = ((b ^ a) + carry - ((a << 25 | a >> 7) & mask)) & mask;
    SET c = ((c ^ b) + carry - ((b << 16 | b >> 16) & mask)) & mask;
    SET a = ((a ^ c) + carry - ((c << 4 | c >> 28) & mask)) & mask;
    SET b = ((b ^ a) + carry - ((a << 14 | a >> 18) & mask)) & mask;
    SET c = ((c ^ b) + carry - ((b << 24 | b >> 8) & mask)) & mask;
    RETURN b << 32 | c;
END;

-- So many different numbers from low to high, by a seed, as words between commas: those with the
-- lowest hashes, which PostgreSQL takes for signed. 23 characters each while they are sorted.
CREATE FUNCTION drawing_different(seed bigint, wanted int, low int, high int)
RETURNS varchar(255) CHARACTER SET ascii DETERMINISTIC NO SQL
BEGIN
    DECLARE number int DEFAULT low;
    DECLARE place int;
    DECLARE entry char(23) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE sorted varchar(4000) CHARACTER SET ascii COLLATE ascii_bin DEFAULT '';
    DECLARE found varchar(255) CHARACTER SET ascii DEFAULT NULL;
    WHILE number <= high DO
        SET entry = CONCAT(LPAD(drawing_hash(number, seed) ^ 9223372036854775808, 20, '0'),
                           LPAD(number, 3, '0'));
        SET place = LENGTH(sorted) + 1;
        WHILE place > 1 AND SUBSTRING(sorted, place - 23, 23) > entry DO
            SET place = place - 23;
        END WHILE;
        SET sorted = LEFT(CONCAT(LEFT(sorted, place - 1), entry, SUBSTRING(sorted, place)),
                          23 * wanted);
        SET number = number + 1;
    END WHILE;
    SET place = 21;
    WHILE place < LENGTH(sorted) DO
        SET found = CONCAT_WS(',', found, SUBSTRING(sorted, place, 3) DIV 1), place = place + 23;
    END WHILE;
    RETURN found;
END;

-- How many sets of orders have come and gone, and how many orders these were.
CREATE TABLE refreshed (sets_in int, sets_out int, inserted int, deleted int) ENGINE = InnoDB;
INSERT INTO refreshed VALUES (0, 0, 0, 0);

-- RF1: a thousandth of the orders anew, with keys between those of dbgen, as in routines.sql. The
-- orders that are copied lie side by side, so only they and their lines are locked.
CREATE PROCEDURE refresh_in(orders_a_set int)
BEGIN
    DECLARE number, made, skipped int;
    DECLARE low, high bigint;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    UPDATE refreshed SET sets_in = sets_in + 1;
    SELECT sets_in INTO number FROM refreshed;
    IF number > 1500 THEN
        SIGNAL SQLSTATE '45000'
            SET MESSAGE_TEXT = 'no keys are left for more than 1500 sets of orders';
    END IF;
    SET skipped = orders_a_set * ((number - 1) DIV 3);
    SELECT MIN(o_orderkey), MAX(o_orderkey) INTO low, high
      FROM (SELECT o_orderkey FROM orders
             WHERE o_orderkey % 32 < 8
               AND o_orderkey > (SELECT MAX(o_orderkey) FROM orders) / 2
             ORDER BY o_orderkey LIMIT skipped, orders_a_set) AS coming;
    INSERT INTO orders (o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate,
           o_orderpriority, o_clerk, o_shippriority, o_comment)
    SELECT o_orderkey + 8 * ((number - 1) % 3 + 1), o_custkey, o_orderstatus, o_totalprice,
           o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment
      FROM orders WHERE o_orderkey BETWEEN low AND high AND o_orderkey % 32 < 8;
    SET made = ROW_COUNT();
    INSERT INTO lineitem (l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity,
           l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate,
           l_receiptdate, l_shipinstruct, l_shipmode, l_comment)
    SELECT l_orderkey + 8 * ((number - 1) % 3 + 1), l_partkey, l_suppkey, l_linenumber, l_quantity,
           l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate,
           l_receiptdate, l_shipinstruct, l_shipmode, l_comment
      FROM lineitem WHERE l_orderkey BETWEEN low AND high AND l_orderkey % 32 < 8;
    UPDATE refreshed SET inserted = inserted + made;
    COMMIT;
    SELECT made;
END;

-- RF2: the oldest keys of as many orders go, with their lines.
CREATE PROCEDURE refresh_out(orders_a_set int)
BEGIN
    DECLARE gone int;
    DECLARE high bigint;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SELECT MAX(o_orderkey) INTO high
      FROM (SELECT o_orderkey FROM orders ORDER BY o_orderkey LIMIT orders_a_set) AS oldest;
    DELETE FROM lineitem WHERE l_orderkey <= high;
    DELETE FROM orders WHERE o_orderkey <= high;
    SET gone = ROW_COUNT();
    UPDATE refreshed SET sets_out = sets_out + 1, deleted = deleted + gone;
    COMMIT;
    SELECT gone;
END;
