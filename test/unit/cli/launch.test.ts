import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { createLaunch, type Launch } from '../../../src/cli/up/launch.ts'

/** Runs `sh -c SCRIPT` instead of turnbell. */
const launch: Launch = createLaunch('/bin/sh', '-c', {})

/** Returns the unnamed files that this process holds for the output of its children. */
function held(): string[] {
  const files = fs.readdirSync('/proc/self/fd').map((fd) => {
    try {
      return fs.readlinkSync(path.join('/proc/self/fd', fd))
    } catch {
      // The descriptor of the directory itself.
      return ''
    }
  })
  return files.filter((file) => file.includes(`turnbell-${process.pid}-`))
}

describe('a launched process', () => {
  test('a launched process keeps its last output and exit after its end', async () => {
    const launched = launch(['echo out; echo err >&2; exit 3'])
    expect(await launched.exited).toEqual({ code: 3, os_signal: null })
    expect([launched.output(), launched.output()]).toEqual(['out\nerr', 'out\nerr'])
    expect(launched.exit()).toEqual({ code: 3, os_signal: null })
  })

  test('a process that cannot be started reports the reason', async () => {
    const launched = createLaunch('/nonexistent/node', '-c', {})([])
    expect(await launched.exited).toEqual({ code: null, os_signal: null })
    expect(launched.output()).toContain('ENOENT')
  })

  test.skipIf(process.platform !== 'linux')('launched processes leave no open file', async () => {
    const before = held()
    const all = Array.from({ length: 20 }, (_, at) => launch([`echo ${at}`]))
    expect(held().length).toBe(before.length + 20)
    await Promise.all(all.map(({ exited }) => exited))
    await createLaunch('/nonexistent/node', '-c', {})([]).exited
    expect(held()).toEqual(before)
    expect(all.map((one) => one.output())).toEqual(all.map((_, at) => String(at)))
  })
})
