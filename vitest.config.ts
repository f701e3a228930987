import { defineConfig } from 'vitest/config'

// Seven projects: `fast` is part of the check command; `integration` runs real git, kills real processes, damages
// files, hangs up real connections, and searches at random for what breaks a promise; `tools` tests the programs of the proof and the
// benchmarks; `proof` simulates, plants bugs,
// crashes everywhere and fuzzes; `e2e` starts what is in dist/; `judges` lets the programs of others judge it; `clients`
// drives real agent CLIs against a local model server.

/** Stores on a real disk: unit tests by what they look at, integration tests by what they cost. */
const ON_DISK = ['test/unit/storage/**/*.test.ts', 'test/contract/*-store.{file,project}.test.ts']
/** Tests of units that run real programs, wait for real timers or try random input: integration tests by what they cost. */
const COSTLY = [
  'test/unit/cli/connect/*.test.ts',
  'test/unit/cli/up/process-group.test.ts',
  'test/unit/system/files/short-lock.test.ts',
  'test/unit/system/embedding/*.test.ts',
  'test/unit/hub/restart-on-recovery.test.ts',
  'test/unit/bridge/hub/upstream.test.ts',
  'test/unit/daemon/{runtime,control}.test.ts',
  'test/unit/modules/runs/*.test.ts',
  'test/unit/kernel/projections.test.ts',
  'test/unit/transports/*.test.ts',
  'test/contract/surface.*.test.ts',
]

export default defineConfig({
  test: {
    // What was compiled once is kept below node_modules, by its content.
    experimental: { fsModuleCache: true },
    tags: [
      {
        name: 'extended',
        description: 'Runs only with --all: what a cheaper test proves too, in another client, mode or size.',
      },
    ],
    // Asked for by npm test, of the fast and the integration tests together.
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts', 'adapters/**/*.ts'],
      // Composition, which only processes run; the end-to-end tests start it from dist/.
      exclude: ['**/main.ts', 'src/bin.ts'],
      reporter: ['text-summary'],
      thresholds: { lines: 80, functions: 80, statements: 80, branches: 80 },
    },
    projects: [
      {
        test: {
          name: 'fast',
          include: [
            'test/unit/**/*.test.ts',
            'test/contract/**/*.test.ts',
            'test/fixtures/facade/*.test.ts',
            'test/tidy.test.ts',
          ],
          exclude: [...ON_DISK, ...COSTLY],
          globalSetup: ['test/support/temporary-place.ts'],
          testTimeout: 60_000,
          // Files share their process: loading the packages anew for each cost twice what the tests do.
          isolate: false,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts', 'test/property/**/*.test.ts', ...ON_DISK, ...COSTLY],
          globalSetup: ['test/support/temporary-place.ts'],
          testTimeout: 60_000,
          isolate: false,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'tools',
          include: ['test/tools/**/*.test.ts'],
          globalSetup: ['test/support/temporary-place.ts'],
          testTimeout: 60_000,
          isolate: false,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'proof',
          include: ['test/proof/**/*.test.ts'],
          globalSetup: ['test/support/temporary-place.ts'],
          testTimeout: 60_000,
          // What it starts uses every core.
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/support/temporary-place.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Files share nothing: each hub takes a free port and a temporary home.
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'judges',
          include: ['test/judges/**/*.test.ts'],
          globalSetup: ['test/support/temporary-place.ts', 'test/judges/setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'clients',
          include: ['test/clients/**/*.test.ts'],
          globalSetup: ['test/clients/setup.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          // Each scene has a network of its own. A client uses a whole core while it starts, and more at once exceed its timeouts.
          maxWorkers: 2,
        },
      },
    ],
  },
})
