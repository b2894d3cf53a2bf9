-- Who reports to whom, through how many levels, and how many people work below each manager.
-- Cycles in the data do no harm, because a recursion is a set.
CREATE TABLE employee (name STRING PRIMARY KEY, boss STRING);

CREATE TEMP VIEW below AS
WITH RECURSIVE chain(boss, name) AS (
  SELECT boss, name FROM employee WHERE boss IS NOT NULL
  UNION
  SELECT employee.boss, chain.name FROM employee JOIN chain ON employee.name = chain.boss
  WHERE employee.boss IS NOT NULL
)
SELECT boss, name FROM chain;

SELECT boss, count(*) AS people FROM below GROUP BY boss ORDER BY people DESC, boss;
