// The SQL kit, which is part of the package.
import { readFileSync } from 'node:fs';

export function script(database: 'postgres' | 'mysql' | 'sqlite'): string {
  return readFileSync(new URL(`./${database}.sql`, import.meta.url), 'utf8');
}
