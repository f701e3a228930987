/** Runs a test file against a planted bug, for code that the simulation replaces or does not contain. */
import fs from 'node:fs'
import path from 'node:path'
import { withBug } from './plant.mjs'

const root = path.resolve(import.meta.dirname, '../../..')

/**
 * Resolves with the name of the first failed test of `test_file`, or null if all pass. Throws if a test file cannot be loaded,
 * has no tests, or never loads the source with the bug.
 */
export async function failedTest(test_file, mutant) {
  const { startVitest } = await import('vitest/node')
  const place = mutant && path.join(root, mutant.file)
  const { TMPDIR: temporary } = process.env
  let loaded = mutant === undefined
  const plugin = {
    name: 'planted-bug',
    enforce: 'pre',
    load(id) {
      if (id.split('?')[0] !== place) return null
      loaded = true
      return withBug(mutant, fs.readFileSync(place, 'utf8'))
    },
  }
  const vitest = await startVitest(
    'test',
    [test_file],
    {
      ...{ root, config: false, watch: false, reporters: [{}], bail: 1, maxWorkers: 1, testTimeout: 60_000 },
      globalSetup: ['test/support/temporary-place.ts'],
    },
    { plugins: [plugin] },
  )
  try {
    const modules = vitest.state.getTestModules()
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const [failed] = tests.filter((test) => test.result().state === 'failed')
    const [error] = [...modules.flatMap((module) => module.errors()), ...vitest.state.getUnhandledErrors()]
    if (failed === undefined && error !== undefined) throw error
    if (tests.length === 0 || !loaded)
      throw new Error(`${test_file} tests nothing of ${mutant?.file ?? 'it'}`)
    return failed?.fullName ?? null
  } finally {
    await vitest.close()
    // The global setup has set it to a directory that it removes.
    if (temporary === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = temporary
  }
}
