//! The links of pages in packages, which are shown where the rest of the tree is not.

/// A page in a folder of the tree, with its links to other files as links to the tree at this address.
pub(super) fn absolute(page: &str, tree: &str, folder: &str) -> String {
    let mut parts = page.split("](");
    let mut changed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        changed.push_str("](");
        if !["https://", "http://", "#"].iter().any(|begin| part.starts_with(begin)) {
            let (target, rest) = part.split_once(')').unwrap_or((part, ""));
            changed.push_str(tree);
            changed.push_str(&resolved(folder, target));
            changed.push(')');
            changed.push_str(rest);
        } else {
            changed.push_str(part);
        }
    }
    changed
}

/// The path from the top of the tree to the target of a link.
fn resolved(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_other_files_are_absolute() {
        let page = "[a](../README.md#x), [b](examples) [c](#d), [e](https://e.example/f)\n[g\nh](../../deploy/g.md).";
        let expected = "[a](tree/clients/README.md#x), [b](tree/clients/go/examples) [c](#d), \
                        [e](https://e.example/f)\n[g\nh](tree/deploy/g.md).";
        assert_eq!(absolute(page, "tree/", "clients/go"), expected);
    }
}
