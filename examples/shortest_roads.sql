-- The shortest path between any two places: an aggregate inside the recursion keeps only the best row.
CREATE TABLE road (src STRING NOT NULL, dst STRING NOT NULL, km INT NOT NULL);

WITH RECURSIVE way(src, dst, min() AS km) AS (
  (SELECT src, dst, km FROM road)
  UNION
  (SELECT way.src, road.dst, way.km + road.km FROM way JOIN road ON way.dst = road.src)
)
SELECT * FROM way ORDER BY src, dst;
