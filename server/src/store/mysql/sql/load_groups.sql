SELECT
    id, name, membership, leader, token, config, config_revision, assigned, assigned_membership,
    assigned_config
FROM member_groups
WHERE namespace = ? AND id > ?
ORDER BY id LIMIT ?
