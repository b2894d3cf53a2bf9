"""The format `headwater` of Spark: views of a query as tables and streams of any session."""
