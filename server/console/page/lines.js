// What the page does, as lines to copy: of the command line, and of grpcurl.

/** For a shell: in quotes unless it is plain. @param {string} text */
export const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** How the server is reached. @typedef {{ endpoint: string, tls: boolean, token: boolean, namespace: string }} Place */

/** A name that could be taken for an option comes after all options. @param {Place} place @param {(string | false | undefined)[]} words */
export function tenure(place, words) {
  const given = /** @type {string[]} */ (words.filter((word) => word !== false && word !== undefined));
  const scheme = place.tls ? 'https' : 'http';
  const options = [`--endpoints ${quoted(`${scheme}://${place.endpoint}`)}`];
  if (place.tls) options.push('--ca-cert ca.crt');
  if (place.token) options.push('--token-file token');
  if (place.namespace !== 'default') options.push(`--namespace ${quoted(place.namespace)}`);
  return `tenure ${options.join(' ')} ${given.map(quoted).join(' ')}`;
}

/** @param {Place} place @param {string} method @param {Record<string, unknown>} request */
export function grpcurl(place, method, request) {
  const asked = place.namespace === 'default' ? request : { namespace: place.namespace, ...request };
  const options = place.tls ? ['-cacert ca.crt'] : ['-plaintext'];
  if (place.token) options.push('-H "authorization: Bearer $TOKEN"');
  if (Object.keys(asked).length > 0) options.push(`-d ${quoted(JSON.stringify(asked))}`);
  return `grpcurl ${options.join(' ')} ${place.endpoint} tenure.v1.${method}`;
}
