import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    // Each is bounded by deadlines of its own; this is for what hangs.
    testTimeout: 60_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
    // No test changes what modules share, and importing them anew for each file would take most of the time.
    pool: 'threads',
    isolate: false,
  },
});
