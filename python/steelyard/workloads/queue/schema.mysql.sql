-- Jobs that wait, and those that are finished. The latter have no key on the job: one that was
-- taken twice is there twice. InnoDB keeps rows in the primary key, so that of the jobs is there
-- before them.
CREATE TABLE jobs (
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, producer int NOT NULL, number bigint NOT NULL,
    payload varchar(255) NOT NULL);

CREATE TABLE finished (
    place bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, id bigint NOT NULL, producer int NOT NULL,
    number bigint NOT NULL, consumer int NOT NULL,
    made timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6));

CREATE TABLE producers (id int NOT NULL AUTO_INCREMENT PRIMARY KEY);
