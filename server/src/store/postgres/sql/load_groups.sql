SELECT
    id, name, membership, leader, token, config, config_revision, assigned, assigned_membership,
    assigned_config
FROM member_groups
WHERE namespace = $1 AND id > $2
ORDER BY id LIMIT $3
