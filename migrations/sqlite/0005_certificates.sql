-- By what servers know each other over TLS.
ALTER TABLE servers ADD COLUMN certificate TEXT NOT NULL DEFAULT ''; -- the SHA-256 of its certificate, in hexadecimal; empty if none
