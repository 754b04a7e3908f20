-- The three tables that CH-benCHmark takes over from TPC-H, and which queries have ended. The key
-- of a nation is the code of a letter or digit, by which the state of a customer names it; states
-- begin with A to Z here, so customers are of 26 nations. A stock's supplier is the remainder of
-- warehouse times item.
CREATE TABLE region (
    r_regionkey smallint NOT NULL, r_name char(55) NOT NULL, r_comment char(152) NOT NULL);

CREATE TABLE nation (
    n_nationkey smallint NOT NULL, n_name char(25) NOT NULL, n_regionkey smallint NOT NULL,
    n_comment char(152) NOT NULL);

CREATE TABLE supplier (
    su_suppkey int NOT NULL, su_name char(25) NOT NULL, su_address varchar(40) NOT NULL,
    su_nationkey smallint NOT NULL, su_phone char(15) NOT NULL, su_acctbal numeric(12, 2) NOT NULL,
    su_comment char(101) NOT NULL);

CREATE TABLE asked (query smallint NOT NULL, ended timestamptz NOT NULL DEFAULT clock_timestamp());

INSERT INTO region
SELECT number - 1, name, 'region ' || name
  FROM unnest(ARRAY['Africa', 'America', 'Asia', 'Europe', 'Middle East'])
       WITH ORDINALITY AS r (name, number);

INSERT INTO nation
SELECT key, name, region, 'nation ' || name
  FROM (VALUES
       (65, 'Germany', 3), (66, 'Cambodia', 2), (67, 'Algeria', 0), (68, 'Argentina', 1),
       (69, 'Bahrain', 4), (70, 'Austria', 3), (71, 'Bangladesh', 2), (72, 'Angola', 0),
       (73, 'Brazil', 1), (74, 'Iran', 4), (75, 'Belgium', 3), (76, 'China', 2),
       (77, 'Cameroon', 0), (78, 'Canada', 1), (79, 'Iraq', 4), (80, 'Denmark', 3),
       (81, 'India', 2), (82, 'Egypt', 0), (83, 'Chile', 1), (84, 'Israel', 4), (85, 'Estonia', 3),
       (86, 'Indonesia', 2), (87, 'Ethiopia', 0), (88, 'Colombia', 1), (89, 'Jordan', 4),
       (90, 'Finland', 3), (97, 'Japan', 2), (98, 'Ghana', 0), (99, 'Cuba', 1), (100, 'Kuwait', 4),
       (101, 'France', 3), (102, 'Laos', 2), (103, 'Kenya', 0), (104, 'Ecuador', 1),
       (105, 'Lebanon', 4), (106, 'Greece', 3), (107, 'Malaysia', 2), (108, 'Morocco', 0),
       (109, 'Jamaica', 1), (110, 'Oman', 4), (111, 'Hungary', 3), (112, 'Mongolia', 2),
       (113, 'Mozambique', 0), (114, 'Mexico', 1), (115, 'Qatar', 4), (116, 'Italy', 3),
       (117, 'Nepal', 2), (118, 'Nigeria', 0), (119, 'Panama', 1), (120, 'Syria', 4),
       (121, 'Norway', 3), (122, 'Thailand', 2), (48, 'Senegal', 0), (49, 'Peru', 1),
       (50, 'Turkey', 4), (51, 'Poland', 3), (52, 'Vietnam', 2), (53, 'Tunisia', 0),
       (54, 'Uruguay', 1), (55, 'Yemen', 4), (56, 'Portugal', 3), (57, 'United States', 1)
       ) AS n (key, name, region);

-- Of nations evenly; 5 of 10,000 are complained of.
INSERT INTO supplier
SELECT n, 'Supplier#' || lpad(n::text, 9, '0'), left(md5(n::text), 10 + n % 20),
       (SELECT array_agg(n_nationkey ORDER BY n_nationkey) FROM nation)[1 + n % 62],
       lpad((n * 7919::bigint % 1000000000)::text, 15, '1'), (n * 104729::bigint % 1000000) / 100.0,
       CASE WHEN n % 2000 = 7 THEN 'customers say bad things' ELSE md5((n + 20000)::text) END
  FROM generate_series(0, 9999) AS n;
