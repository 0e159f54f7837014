//! Maps for what is only looked up by its key. Hashes differ from run to run, but no order depends on them. A map that grows
//! does not look at its keys again, so that nobody waits long for it.

/// A map.
pub(crate) type Map<K, V> = indexmap::IndexMap<K, V, foldhash::fast::RandomState>;

/// A set.
pub(crate) type Set<T> = indexmap::IndexSet<T, foldhash::fast::RandomState>;
