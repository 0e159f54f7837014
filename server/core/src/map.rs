//! Maps and sets for lookups by key only. Hashes differ from run to run, but no order depends on them. A map that grows
//! does not rehash its keys, so that no caller waits long for it.

pub(crate) type Map<K, V> = indexmap::IndexMap<K, V, foldhash::fast::RandomState>;

pub(crate) type Set<T> = indexmap::IndexSet<T, foldhash::fast::RandomState>;
