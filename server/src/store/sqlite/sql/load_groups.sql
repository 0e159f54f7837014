-- One text, since to hand over rows by themselves, cell by cell, takes several times as long.
SELECT group_concat(json_array(
    id, name, membership, leader, token, config, config_revision, assigned, assigned_membership,
    assigned_config
), char(10))
FROM (SELECT * FROM member_groups WHERE namespace = ? AND id > ? ORDER BY id LIMIT ?)
