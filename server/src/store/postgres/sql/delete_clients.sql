-- An array in the database's own form lets it look into the index, whatever it knows about the table.
DELETE FROM clients
WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb))) AND namespace = $2
