import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { createLaunch, type Launch } from '../../../src/cli/up/launch.ts'

/** `sh -c SCRIPT` in the place of turnbell. */
const launch: Launch = createLaunch('/bin/sh', '-c', {})

/** The files without a name that this process holds for what its children print. */
function held(): string[] {
  const files = fs.readdirSync('/proc/self/fd').map((fd) => {
    try {
      return fs.readlinkSync(path.join('/proc/self/fd', fd))
    } catch {
      // The one by which the directory itself is read.
      return ''
    }
  })
  return files.filter((file) => file.includes(`turnbell-${process.pid}-`))
}

describe('a process that was launched', () => {
  test('is told by its last words and its exit, long after it', async () => {
    const launched = launch(['echo out; echo err >&2; exit 3'])
    expect(await launched.exited).toEqual({ code: 3, os_signal: null })
    expect([launched.said(), launched.said()]).toEqual(['out\nerr', 'out\nerr'])
    expect(launched.exit()).toEqual({ code: 3, os_signal: null })
  })

  test('says why it could not be started', async () => {
    const launched = createLaunch('/nonexistent/node', '-c', {})([])
    expect(await launched.exited).toEqual({ code: null, os_signal: null })
    expect(launched.said()).toContain('ENOENT')
  })

  test.skipIf(process.platform !== 'linux')('leaves no open file behind, however often', async () => {
    const before = held()
    const all = Array.from({ length: 20 }, (_, at) => launch([`echo ${at}`]))
    expect(held().length).toBe(before.length + 20)
    await Promise.all(all.map(({ exited }) => exited))
    await createLaunch('/nonexistent/node', '-c', {})([]).exited
    expect(held()).toEqual(before)
    expect(all.map((one) => one.said())).toEqual(all.map((_, at) => String(at)))
  })
})
