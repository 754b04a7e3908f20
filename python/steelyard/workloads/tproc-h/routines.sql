-- The values that parameters of queries are drawn from (clause 2.4 of TPC-H), and the two refresh
-- functions. A number is drawn by the client, from the seed of the study; here it becomes a word.

CREATE SCHEMA drawing;

CREATE FUNCTION drawing.nation(number int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('{ALGERIA,ARGENTINA,BRAZIL,CANADA,EGYPT,ETHIOPIA,FRANCE,GERMANY,INDIA,INDONESIA,IRAN,'
            'IRAQ,JAPAN,JORDAN,KENYA,MOROCCO,MOZAMBIQUE,PERU,CHINA,ROMANIA,SAUDI ARABIA,VIETNAM,'
            'RUSSIA,UNITED KINGDOM,UNITED STATES}'::text[])[number + 1]
$$;

CREATE FUNCTION drawing.region(number int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('{AFRICA,AMERICA,ASIA,EUROPE,MIDDLE EAST}'::text[])[number + 1]
$$;

-- The region of a nation.
CREATE FUNCTION drawing.region_of(number int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT drawing.region(
        ('{0,1,1,1,4,0,3,3,2,2,4,4,2,4,0,0,0,1,2,3,4,2,3,3,1}'::int[])[number + 1])
$$;

CREATE FUNCTION drawing.segment(number int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('{AUTOMOBILE,BUILDING,FURNITURE,MACHINERY,HOUSEHOLD}'::text[])[number + 1]
$$;

CREATE FUNCTION drawing.mode(number int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('{REG AIR,AIR,RAIL,SHIP,TRUCK,MAIL,FOB}'::text[])[number + 1]
$$;

-- Types of parts have three syllables: a number from 0 to 149.
CREATE FUNCTION drawing.type_ending(number int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('{TIN,NICKEL,BRASS,STEEL,COPPER}'::text[])[number + 1]
$$;

CREATE FUNCTION drawing.type_beginning(number int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('{STANDARD,SMALL,MEDIUM,LARGE,ECONOMY,PROMO}'::text[])[number / 5 + 1] || ' '
           || ('{ANODIZED,BURNISHED,PLATED,POLISHED,BRUSHED}'::text[])[number % 5 + 1]
$$;

CREATE FUNCTION drawing.type(number int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT drawing.type_beginning(number / 5) || ' ' || drawing.type_ending(number % 5)
$$;

CREATE FUNCTION drawing.container(number int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('{SM,LG,MED,JUMBO,WRAP}'::text[])[number / 8 + 1] || ' '
           || ('{CASE,BOX,BAG,JAR,PKG,PACK,CAN,DRUM}'::text[])[number % 8 + 1]
$$;

CREATE FUNCTION drawing.brand(number int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT 'Brand#' || (number / 5 + 1)::text || (number % 5 + 1)::text
$$;

CREATE FUNCTION drawing.color(number int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('{almond,antique,aquamarine,azure,beige,bisque,black,blanched,blue,blush,brown,'
            'burlywood,burnished,chartreuse,chiffon,chocolate,coral,cornflower,cornsilk,cream,cyan,'
            'dark,deep,dim,dodger,drab,firebrick,floral,forest,frosted,gainsboro,ghost,goldenrod,'
            'green,grey,honeydew,hot,indian,ivory,khaki,lace,lavender,lawn,lemon,light,lime,linen,'
            'magenta,maroon,medium,metallic,midnight,mint,misty,moccasin,navajo,navy,olive,orange,'
            'orchid,pale,papaya,peach,peru,pink,plum,powder,puff,purple,red,rose,rosy,royal,saddle,'
            'salmon,sandy,seashell,sienna,sky,slate,smoke,snow,spring,steel,tan,thistle,tomato,'
            'turquoise,violet,wheat,white,yellow}'::text[])[number + 1]
$$;

CREATE FUNCTION drawing.complaint(number int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT '%' || ('{special,pending,unusual,express}'::text[])[number / 4 + 1] || '%'
           || ('{packages,requests,accounts,deposits}'::text[])[number % 4 + 1] || '%'
$$;

-- The first day of a month, counted from January 1992.
CREATE FUNCTION drawing.month(number int) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT make_date(1992 + number / 12, number % 12 + 1, 1)
$$;

-- So many different numbers from low to high, by a seed.
CREATE FUNCTION drawing.different(seed bigint, wanted int, low int, high int) RETURNS int[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_agg(n) FROM (
        SELECT n FROM generate_series(low, high) AS n
         ORDER BY hashint8extended(n::bigint, seed), n LIMIT wanted) AS drawn
$$;

-- How many sets of orders have come and gone, and how many orders these were.
CREATE TABLE refreshed (sets_in int, sets_out int, inserted int, deleted int);
INSERT INTO refreshed VALUES (0, 0, 0, 0);

-- RF1: a thousandth of the orders anew, with keys between those of dbgen, which uses 8 of every 32,
-- in the newer half: RF2 takes the oldest.
-- What they say is what other orders say, so that nothing about the tables changes but their age.
-- Set n takes slot (n − 1) mod 3 + 1 of the three free ones of 32 keys, beginning where
-- set n − 3 ended.
CREATE FUNCTION refresh_in(orders_a_set int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    number int;
    made int;
BEGIN
    UPDATE refreshed SET sets_in = sets_in + 1 RETURNING sets_in INTO number;
    IF number > 1500 THEN
        RAISE EXCEPTION 'no keys are left for more than 1500 sets of orders';
    END IF;
    WITH coming AS MATERIALIZED (
        SELECT o_orderkey AS source, o_orderkey + 8 * ((number - 1) % 3 + 1) AS key
          FROM orders
         WHERE o_orderkey % 32 < 8
           AND o_orderkey > (SELECT max(o_orderkey) FROM orders) / 2
         ORDER BY o_orderkey
        OFFSET orders_a_set * ((number - 1) / 3) LIMIT orders_a_set),
    entered AS (
        INSERT INTO orders (o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate,
               o_orderpriority, o_clerk, o_shippriority, o_comment)
        SELECT key, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk,
               o_shippriority, o_comment
          FROM coming JOIN orders ON o_orderkey = source
        RETURNING o_orderkey),
    lines AS (
        INSERT INTO lineitem (l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity,
               l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate,
               l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment)
        SELECT key, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount,
               l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate,
               l_shipinstruct, l_shipmode, l_comment
          FROM coming JOIN lineitem ON l_orderkey = source)
    SELECT count(*) INTO made FROM entered;
    UPDATE refreshed SET inserted = inserted + made;
    RETURN made;
END $$;

-- RF2: the oldest keys of as many orders go, with their lines.
CREATE FUNCTION refresh_out(orders_a_set int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    gone int;
    last numeric;
BEGIN
    SELECT max(o_orderkey) INTO last FROM (
        SELECT o_orderkey FROM orders ORDER BY o_orderkey LIMIT orders_a_set) AS oldest;
    DELETE FROM lineitem WHERE l_orderkey <= last::bigint;
    DELETE FROM orders WHERE o_orderkey <= last::bigint;
    GET DIAGNOSTICS gone = ROW_COUNT;
    UPDATE refreshed SET sets_out = sets_out + 1, deleted = deleted + gone;
    RETURN gone;
END $$;
