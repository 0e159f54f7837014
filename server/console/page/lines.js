// What the page does, as lines to copy: of the command line, and of grpcurl.

/** For a shell: in quotes unless it is plain. @param {string} text */
export const quoted = (text) => (/^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** How the server is reached. @typedef {{ endpoint: string, tls: boolean, token: boolean, namespace: string }} Place */

/** An option with a value that is never taken for an option of its own. @param {string} name @param {string} value */
const option = (name, value) => `--${name}=${quoted(value)}`;

/**
 * A command, its options by name, and after `--` what others have named: none of that is ever taken for an option.
 * @param {Place} place @param {string[]} command @param {{ options?: Record<string, string | false | undefined>, names?: string[] }} [rest]
 */
export function tenure(place, command, { options = {}, names = [] } = {}) {
  const scheme = place.tls ? 'https' : 'http';
  const words = [`--endpoints ${quoted(`${scheme}://${place.endpoint}`)}`];
  if (place.tls) words.push('--ca-cert ca.crt');
  if (place.token) words.push('--token-file token');
  if (place.namespace !== 'default') words.push(option('namespace', place.namespace));
  words.push(...command.map(quoted));
  for (const [name, value] of Object.entries(options)) {
    if (typeof value === 'string') words.push(option(name, value));
  }
  if (names.length > 0) words.push('--', ...names.map(quoted));
  return `tenure ${words.join(' ')}`;
}

/** @param {Place} place @param {string} method @param {Record<string, unknown>} request */
export function grpcurl(place, method, request) {
  const asked = place.namespace === 'default' ? request : { namespace: place.namespace, ...request };
  const options = place.tls ? ['-cacert ca.crt'] : ['-plaintext'];
  if (place.token) options.push('-H "authorization: Bearer $TOKEN"');
  if (Object.keys(asked).length > 0) options.push(`-d ${quoted(JSON.stringify(asked))}`);
  return `grpcurl ${options.join(' ')} ${quoted(place.endpoint)} tenure.v1.${method}`;
}
