"""SQL text -> the same syntax tree that Datalog text becomes.

`program.translate` is the way in. The steps, in order: `text` (tokens and places), `statements` (CREATE, WITH, SELECT
as written), `views` and `queries` (every view and query to rules), `prune` (unneeded columns are left out).
"""
