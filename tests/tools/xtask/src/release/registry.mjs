// A registry that has the crates and the npm package of a release, and redirects to the real registries for all others:
// RELEASE FOLDER INDEX NPM. FOLDER/crates.json has the output of `cargo metadata` for each crate, and FOLDER/package.json the
// manifest for npm; INDEX is cargo's folder for its index, and NPM the address of npm's registry. Prints its own address,
// which is that for npm; cargo's index is below /index/.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename } from 'node:path';

const [, , release, folder, index, npm] = process.argv;
// cargo names the folder by the index's host, and keeps where crates are.
const crates = JSON.parse(readFileSync(`${index}/config.json`, 'utf8')).dl;
const host = basename(index).replace(/-[0-9a-f]+$/, '');
const bytes = (path) => readFileSync(`${release}/${path}`);
const digest = (algorithm, data, encoding) => createHash(algorithm).update(data).digest(encoding);
const answers = new Map();

for (const line of readFileSync(`${folder}/crates.json`, 'utf8').trim().split('\n')) {
  const [{ name, version, dependencies, features }] = JSON.parse(line).packages;
  const archive = bytes(`crates/${name}-${version}.crate`);
  const deps = dependencies.map((it) => ({
    name: it.rename ?? it.name,
    ...(it.rename && { package: it.name }),
    req: it.req,
    features: it.features,
    optional: it.optional,
    default_features: it.uses_default_features,
    target: it.target,
    kind: it.kind ?? 'normal',
  }));
  const entry = { name, vers: version, deps, cksum: digest('sha256', archive, 'hex'), features, features2: {}, yanked: false, v: 2 };
  answers.set(`/index/${name.slice(0, 2)}/${name.slice(2, 4)}/${name}`, JSON.stringify(entry));
  answers.set(`/crates/${name}/${version}`, archive);
}

const [tarball] = readdirSync(`${release}/npm`);
const manifest = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
answers.set('/package.tgz', bytes(`npm/${tarball}`));

const server = createServer((request, response) => {
  const answer = answers.get(request.url);
  const crate = /^\/crates\/([^/]+)\/([^/]+)$/.exec(request.url);
  const elsewhere = crate
    ? `${crates}/${crate[1]}/${crate[2]}/download`
    : request.url.startsWith('/index/')
      ? `https://${host}${request.url.slice('/index'.length)}`
      : new URL(request.url, npm).href;
  response.writeHead(answer === undefined ? 307 : 200, answer === undefined ? { location: elsewhere } : {}).end(answer);
});
server.listen(0, '127.0.0.1', () => {
  const address = `http://127.0.0.1:${server.address().port}`;
  const { name, version } = manifest;
  const dist = { tarball: `${address}/package.tgz`, integrity: `sha512-${digest('sha512', answers.get('/package.tgz'), 'base64')}` };
  const versions = { [version]: { ...manifest, dist } };
  answers.set(`/${name}`, JSON.stringify({ name, 'dist-tags': { latest: version }, versions }));
  answers.set('/index/config.json', JSON.stringify({ dl: `${address}/crates/{crate}/{version}`, api: address }));
  console.log(address);
});
