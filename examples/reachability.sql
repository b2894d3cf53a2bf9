-- Which node reaches which: paper 000, query 1, as printed there.
with recursive reachable(src,dst) as
( select src, dst
from link
union
select link.src, reachable.dst
from link, reachable
where link.dst = reachable.src)
