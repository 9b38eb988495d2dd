"""The store on SQL databases: SQLite and PostgreSQL, with one set of statements."""
