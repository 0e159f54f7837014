// An authority that signs certificates for a test, in a folder of its own. Uses the program `openssl`.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from './files.js';

const CONFIG = `
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = keyCertSign
`;
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** The paths of a certificate and its key, both PEM. */
export interface Certified {
  cert: string;
  key: string;
}

export class Authority {
  private readonly folder = newFolder();
  private readonly key = this.file('ca.key');
  private readonly config = this.file('openssl.cnf');
  /** Its own certificate. */
  readonly ca = this.file('ca.pem');

  /** A new one of this name, until the test is over. */
  constructor(name: string) {
    writeFileSync(this.config, CONFIG);
    this.request(name, this.key, this.ca, '-x509', '-extensions', 'ca', '-days', '1');
  }

  /** A certificate with this name, as `DNS:localhost` or `URI:spiffe://office/worker`. */
  certify(name: string): Certified {
    const file = this.file(name.replaceAll(/\W+/g, '-'));
    const [request, extensions, cert, key] = [`${file}.csr`, `${file}.cnf`, `${file}.pem`, `${file}.key`];
    this.request('subject', key, request);
    writeFileSync(extensions, `subjectAltName = ${name}`);
    const by = ['-CA', this.ca, '-CAkey', this.key, '-CAcreateserial', '-days', '1', '-extfile', extensions];
    openssl('x509', '-req', '-in', request, '-out', cert, ...by);
    return { cert, key };
  }

  private file(name: string): string {
    return join(this.folder, name);
  }

  private request(subject: string, key: string, out: string, ...more: string[]): void {
    openssl(
      'req',
      '-new',
      '-config',
      this.config,
      ...NEW_KEY,
      '-subj',
      `/CN=${subject}`,
      '-keyout',
      key,
      '-out',
      out,
      ...more,
    );
  }
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: 'pipe' });
}
