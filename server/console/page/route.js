// Where the page is: `#/NAMESPACE/SCREEN/NAME?query`. Links are ordinary ones, so that they can be opened elsewhere and sent to others.

/** @typedef {{ namespace: string, screen: string, name: string, query: URLSearchParams }} Route */

/** @param {string} hash @returns {Route} */
export function read(hash) {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [namespace, screen, ...name] = path.split('/').map(decoded);
  return {
    namespace: namespace || 'default',
    screen: screen || 'overview',
    name: name.join('/'),
    query: new URLSearchParams(query),
  };
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** @param {string} namespace @param {string} screen @param {string} [name] @param {Record<string, string>} [query] */
export function link(namespace, screen, name = '', query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const asked = given.length > 0 ? `?${new URLSearchParams(given)}` : '';
  const at = name === '' ? '' : `/${encodeURIComponent(name)}`;
  return `#/${encodeURIComponent(namespace)}/${screen}${at}${asked}`;
}
