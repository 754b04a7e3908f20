-- The five transactions of the two profiles as routines, written from clause 2 of the TPC-C
-- specification. What they draw at random comes from a seed that the client gives, so that the arms
-- of a study draw alike.

CREATE SCHEMA drawing;

-- A number from low to high: the place-th that a seed gives.
CREATE FUNCTION drawing.number(seed bigint, place int, low int, high int) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT low + ((hashint8extended(place::bigint, seed) & 9223372036854775807)
                  % (high - low + 1))::int
$$;

-- The lines of an order: items by NURand(8191) or evenly. 1 in 100 is remote: supplied by another
-- warehouse, or evenly by any one. Of a failing order the last item does not exist.
CREATE FUNCTION drawing.lines(
    seed bigint, lines int, home int, warehouses int, failing boolean, even boolean)
RETURNS TABLE (number int, item int, supplier int, quantity int, remote boolean)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10 AS $$
    SELECT n,
           CASE WHEN failing AND n = lines THEN 100001
                WHEN even THEN drawing.number(seed, 8 * n, 1, 100000)
                ELSE ((drawing.number(seed, 8 * n, 0, 8191)
                       | drawing.number(seed, 8 * n + 1, 1, 100000)) + 7911) % 100000 + 1 END,
           CASE WHEN warehouses = 1 OR NOT drawn.remote THEN home
                WHEN even THEN drawing.number(seed, 8 * n + 3, 1, warehouses)
                ELSE (home + drawing.number(seed, 8 * n + 3, 0, warehouses - 2)) % warehouses + 1
                END,
           drawing.number(seed, 8 * n + 4, 1, 10),
           drawn.remote
      FROM generate_series(1, lines) AS n,
           LATERAL (SELECT drawing.number(seed, 8 * n + 2, 1, 100) = 1) AS drawn (remote)
$$;

-- The last name of a number from 0 to 999 (clause 4.3.2.3).
CREATE FUNCTION drawing.last_name(number int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT names[number / 100 + 1] || names[number / 10 % 10 + 1] || names[number % 10 + 1]
      FROM (VALUES ('{BAR,OUGHT,ABLE,PRI,PRES,ESE,ANTI,CALLY,ATION,EING}'::text[])) AS n (names)
$$;

-- Of the customers with a last name the one in the middle, by first name; an error where none has.
CREATE FUNCTION drawing.customer_of(warehouse_id int, district_id int, name text) RETURNS int
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found int[];
BEGIN
    SELECT array_agg(c_id ORDER BY c_first) INTO found FROM customer
     WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_last = name;
    IF found IS NULL THEN
        RAISE EXCEPTION 'no customer is called %', name USING ERRCODE = 'no_data_found';
    END IF;
    RETURN found[(cardinality(found) + 1) / 2];
END $$;

CREATE FUNCTION drawing.district_of_stock(s stock, district_id int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE district_id
           WHEN 1 THEN s.s_dist_01 WHEN 2 THEN s.s_dist_02 WHEN 3 THEN s.s_dist_03
           WHEN 4 THEN s.s_dist_04 WHEN 5 THEN s.s_dist_05 WHEN 6 THEN s.s_dist_06
           WHEN 7 THEN s.s_dist_07 WHEN 8 THEN s.s_dist_08 WHEN 9 THEN s.s_dist_09
           ELSE s.s_dist_10 END
$$;

CREATE SCHEMA spec;

-- New-Order, clause 2.4. Line by line, in the order of the items, so that two orders never wait for
-- each other crosswise. An order with an unknown item is rolled back: a procedure can, without a
-- subtransaction for the other 99 of 100. Answers with the total, NULL where it was rolled back.
CREATE PROCEDURE spec.new_order(
    warehouse_id int, district_id int, customer_id int, lines int, seed bigint, warehouses int,
    failing boolean, INOUT total numeric)
LANGUAGE plpgsql AS $$
DECLARE
    line record;
    discount numeric;
    taxes numeric;
    district_tax numeric;
    order_id int;
    price numeric;
    place text;
BEGIN
    SELECT c_discount, w_tax INTO discount, taxes FROM warehouse, customer
     WHERE w_id = warehouse_id AND c_w_id = warehouse_id AND c_d_id = district_id
       AND c_id = customer_id;
    UPDATE district SET d_next_o_id = d_next_o_id + 1
     WHERE d_w_id = warehouse_id AND d_id = district_id
    RETURNING d_next_o_id - 1, d_tax INTO order_id, district_tax;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    SELECT order_id, district_id, warehouse_id, customer_id, now(), lines,
           bool_and(l.supplier = warehouse_id)::int
      FROM drawing.lines(seed, lines, warehouse_id, warehouses, failing, false) l;
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (order_id, district_id, warehouse_id);
    total := 0;
    FOR line IN
        SELECT * FROM drawing.lines(seed, lines, warehouse_id, warehouses, failing, false) l
         ORDER BY l.item, l.supplier, l.number
    LOOP
        SELECT i_price INTO price FROM item WHERE i_id = line.item;
        IF NOT FOUND THEN
            ROLLBACK;
            total := NULL;
            RETURN;
        END IF;
        UPDATE stock AS s
           SET s_quantity = s_quantity - line.quantity
                            + CASE WHEN s_quantity >= line.quantity + 10 THEN 0 ELSE 91 END,
               s_ytd = s_ytd + line.quantity,
               s_order_cnt = s_order_cnt + 1,
               s_remote_cnt = s_remote_cnt + (line.supplier <> warehouse_id)::int
         WHERE s_i_id = line.item AND s_w_id = line.supplier
        RETURNING drawing.district_of_stock(s, district_id) INTO place;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                                ol_quantity, ol_amount, ol_dist_info)
        VALUES (order_id, district_id, warehouse_id, line.number, line.item, line.supplier,
                line.quantity, line.quantity * price, place);
        total := total + line.quantity * price;
    END LOOP;
    total := total * (1 - discount) * (1 + taxes + district_tax);
END $$;

-- Payment, clause 2.5. name_number below 0: the customer is known by its number.
CREATE FUNCTION spec.payment(
    warehouse_id int, district_id int, customer_w int, customer_d int, name_number int,
    customer_id int, cents int)
RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    amount numeric := cents / 100.0;
    payer int := customer_id;
    place text;
    part text;
    balance numeric;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = warehouse_id
    RETURNING w_name INTO place;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = warehouse_id AND d_id = district_id
    RETURNING d_name INTO part;
    IF name_number >= 0 THEN
        payer := drawing.customer_of(customer_w, customer_d, drawing.last_name(name_number));
    END IF;
    UPDATE customer
       SET c_balance = c_balance - amount,
           c_ytd_payment = c_ytd_payment + amount,
           c_payment_cnt = c_payment_cnt + 1,
           c_data = CASE c_credit WHEN 'BC'
                    THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, district_id, warehouse_id,
                                        amount) || ' ' || c_data, 500)
                    ELSE c_data END
     WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = payer
    RETURNING c_balance INTO STRICT balance;
    INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (customer_d, customer_w, payer, district_id, warehouse_id, now(), amount,
            place || '    ' || part);
    RETURN balance;
END $$;

-- Order-Status, clause 2.6: balance and lines of a customer's last order.
CREATE FUNCTION spec.order_status(
    warehouse_id int, district_id int, name_number int, customer_id int,
    OUT balance numeric, OUT order_id int, OUT lines bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    asker int := customer_id;
BEGIN
    IF name_number >= 0 THEN
        asker := drawing.customer_of(warehouse_id, district_id, drawing.last_name(name_number));
    END IF;
    SELECT c_balance INTO STRICT balance FROM customer
     WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = asker;
    SELECT o_id INTO order_id FROM orders
     WHERE o_w_id = warehouse_id AND o_d_id = district_id AND o_c_id = asker
     ORDER BY o_id DESC LIMIT 1;
    SELECT count(ol_i_id + ol_supply_w_id + ol_quantity + ol_amount) INTO lines FROM order_line
     WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = order_id;
END $$;

-- Delivery, clause 2.7, all ten districts in one transaction: the oldest order of each that is not
-- delivered yet. Answers with how many there were.
CREATE FUNCTION spec.delivery(warehouse_id int, carrier int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    delivered int := 0;
    order_id int;
    customer_id int;
    total numeric;
BEGIN
    FOR district_id IN 1 .. 10 LOOP
        SELECT no_o_id INTO order_id FROM new_order
         WHERE no_w_id = warehouse_id AND no_d_id = district_id
         ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM new_order
         WHERE no_w_id = warehouse_id AND no_d_id = district_id AND no_o_id = order_id;
        UPDATE orders SET o_carrier_id = carrier
         WHERE o_w_id = warehouse_id AND o_d_id = district_id AND o_id = order_id
        RETURNING o_c_id INTO customer_id;
        WITH changed AS (
            UPDATE order_line SET ol_delivery_d = now()
             WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = order_id
            RETURNING ol_amount)
        SELECT sum(ol_amount) INTO total FROM changed;
        UPDATE customer SET c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
         WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_id;
        delivered := delivered + 1;
    END LOOP;
    RETURN delivered;
END $$;

-- Stock-Level, clause 2.8: how many items of a district's last 20 orders run low.
CREATE FUNCTION spec.stock_level(warehouse_id int, district_id int, threshold int) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT count(DISTINCT s_i_id)
      FROM district, order_line, stock
     WHERE d_w_id = warehouse_id AND d_id = district_id
       AND ol_w_id = d_w_id AND ol_d_id = d_id
       AND ol_o_id BETWEEN d_next_o_id - 20 AND d_next_o_id - 1
       AND s_w_id = d_w_id AND s_i_id = ol_i_id AND s_quantity < threshold
$$;

-- What HammerDB's routines do instead: sets in place of loops, a subtransaction in every call (a
-- block with an EXCEPTION clause has one), no counters, no order that is really rolled back.
CREATE SCHEMA hammerdb;

-- The amount of a line holds taxes and discount, and an order with a line that was drawn as remote
-- is not local, whichever warehouse that turned out to be.
CREATE FUNCTION hammerdb.new_order(
    warehouse_id int, district_id int, customer_id int, lines int, seed bigint, warehouses int,
    failing boolean)
RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    discount numeric;
    taxes numeric;
    district_tax numeric;
    order_id int;
    items int[];
    suppliers int[];
    quantities int[];
    all_local boolean;
    amounts numeric(6, 2)[];
    places text[];
BEGIN
    SELECT c_discount, w_tax INTO discount, taxes FROM customer JOIN warehouse ON w_id = c_w_id
     WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_id;
    SELECT array_agg(l.item ORDER BY l.number), array_agg(l.supplier ORDER BY l.number),
           array_agg(l.quantity ORDER BY l.number), NOT bool_or(l.remote)
      INTO items, suppliers, quantities, all_local
      FROM drawing.lines(seed, lines, warehouse_id, warehouses, failing, true) l;
    UPDATE district SET d_next_o_id = d_next_o_id + 1
     WHERE d_w_id = warehouse_id AND d_id = district_id
    RETURNING d_next_o_id - 1, d_tax INTO order_id, district_tax;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (order_id, district_id, warehouse_id, customer_id, now(), lines, all_local::int);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (order_id, district_id, warehouse_id);
    SELECT array_agg(u.quantity * i_price * (1 + taxes + district_tax) * (1 - discount) ORDER BY n)
      INTO amounts
      FROM unnest(items, quantities) WITH ORDINALITY AS u (id, quantity, n)
      LEFT JOIN item ON i_id = u.id;
    WITH changed AS (
        UPDATE stock AS s
           SET s_quantity = s_quantity - u.quantity
                            + CASE WHEN s_quantity >= u.quantity + 10 THEN 0 ELSE 91 END
          FROM unnest(items, suppliers, quantities) AS u (id, supplier, quantity)
         WHERE s_i_id = u.id AND s_w_id = u.supplier
        RETURNING s_i_id, s_w_id, drawing.district_of_stock(s, district_id) AS place)
    SELECT array_agg(place ORDER BY n) INTO places
      FROM unnest(items, suppliers) WITH ORDINALITY AS u (id, supplier, n)
      LEFT JOIN changed ON s_i_id = u.id AND s_w_id = u.supplier;
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                            ol_quantity, ol_amount, ol_dist_info)
    SELECT order_id, district_id, warehouse_id, n, u.id, u.supplier, u.quantity, u.amount, u.place
      FROM unnest(items, suppliers, quantities, amounts, places)
           WITH ORDINALITY AS u (id, supplier, quantity, amount, place, n);
    RETURN (SELECT sum(amount) FROM unnest(amounts) AS amount);
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR no_data_found THEN RAISE;
END $$;

CREATE FUNCTION hammerdb.payment(
    warehouse_id int, district_id int, customer_w int, customer_d int, name_number int,
    customer_id int, amount int)
RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    payer int := customer_id;
    place text;
    part text;
    credit text;
    about text;
    balance numeric;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = warehouse_id
    RETURNING w_name INTO place;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = warehouse_id AND d_id = district_id
    RETURNING d_name INTO part;
    IF name_number >= 0 THEN
        payer := drawing.customer_of(customer_w, customer_d, drawing.last_name(name_number));
    END IF;
    SELECT c_credit, c_data, c_balance - amount INTO STRICT credit, about, balance FROM customer
     WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = payer;
    IF credit = 'BC' THEN
        UPDATE customer
           SET c_balance = balance,
               c_data = left(concat_ws(' ', payer, customer_d, customer_w, district_id,
                                       warehouse_id, amount) || ' ' || about, 500)
         WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = payer;
    ELSE
        UPDATE customer SET c_balance = balance
         WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = payer;
    END IF;
    INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (customer_d, customer_w, payer, district_id, warehouse_id, now(), amount,
            place || '    ' || part);
    RETURN balance;
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR no_data_found THEN RAISE;
END $$;

-- All ten districts at once: four statements, each for a set of orders.
CREATE FUNCTION hammerdb.delivery(warehouse_id int, carrier int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    districts int[];
    numbers int[];
    payers int[];
    totals numeric[];
BEGIN
    WITH gone AS (
        DELETE FROM new_order
         USING (SELECT d, (SELECT min(no_o_id) FROM new_order
                            WHERE no_w_id = warehouse_id AND no_d_id = d) AS first
                  FROM generate_series(1, 10) AS d) AS oldest
         WHERE no_w_id = warehouse_id AND no_d_id = oldest.d AND no_o_id = oldest.first
        RETURNING no_d_id, no_o_id)
    SELECT array_agg(no_d_id), array_agg(no_o_id) INTO districts, numbers FROM gone;
    UPDATE orders SET o_carrier_id = carrier
      FROM unnest(districts, numbers) AS u (d, number)
     WHERE o_w_id = warehouse_id AND o_d_id = u.d AND o_id = u.number;
    WITH changed AS (
        UPDATE order_line SET ol_delivery_d = now()
          FROM unnest(districts, numbers) AS u (d, number)
         WHERE ol_w_id = warehouse_id AND ol_d_id = u.d AND ol_o_id = u.number
        RETURNING ol_d_id AS d, ol_o_id AS number, ol_amount),
    summed AS (
        SELECT d, number, sum(ol_amount) AS total FROM changed GROUP BY d, number)
    SELECT array_agg(d), array_agg(total),
           array_agg((SELECT o_c_id FROM orders
                       WHERE o_w_id = warehouse_id AND o_d_id = d AND o_id = number))
      INTO districts, totals, payers FROM summed;
    UPDATE customer SET c_balance = c_balance + coalesce(u.total, 0)
      FROM unnest(districts, payers, totals) AS u (d, payer, total)
     WHERE c_w_id = warehouse_id AND c_d_id = u.d AND c_id = u.payer;
    RETURN coalesce(cardinality(districts), 0);
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR no_data_found THEN RAISE;
END $$;

CREATE FUNCTION hammerdb.order_status(
    warehouse_id int, district_id int, name_number int, customer_id int,
    OUT balance numeric, OUT order_id int, OUT lines bigint)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT * INTO balance, order_id, lines
      FROM spec.order_status(warehouse_id, district_id, name_number, customer_id);
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR no_data_found THEN RAISE;
END $$;

CREATE FUNCTION hammerdb.stock_level(warehouse_id int, district_id int, threshold int)
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN spec.stock_level(warehouse_id, district_id, threshold);
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR no_data_found THEN RAISE;
END $$;
