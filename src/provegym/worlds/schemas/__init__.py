"""From a schema to a spec: SQL and API descriptions become a sketch, and the sketch a world.

`sql_*.py` and `api_*.py` read a source into a sketch (`sketch.py`): records, fields,
links. `cores.py` chooses a connected core, `shaping.py` and `drawing.py` say how a seed draws it,
`tooling.py` and `moving.py` make its operations, `asking.py` and `wording.py` its words, and
`drafting.py` puts the spec together.
"""
