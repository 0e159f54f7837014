// Files that are there until the test is over.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** The path of a new file that says this. */
export function written(text: string): string {
  const file = join(newFolder(), 'file');
  writeFileSync(file, text);
  return file;
}
