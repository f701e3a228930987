import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Finding } from '../../../src/cli/doctor/finding.ts'
import { VERSION } from '../../../src/system/version.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli, type FakeHub } from '../../support/test-cli.ts'

interface Report {
  ok: boolean
  findings: Finding[]
}

/** A home with this configuration, and what doctor says of it. */
async function examine(
  options: { config?: string; hub?: FakeHub; mode?: number; PATH?: string; version?: string } = {},
) {
  const home = temporaryDirectory()
  fs.chmodSync(home, options.mode ?? 0o700)
  if (options.config !== undefined) fs.writeFileSync(path.join(home, 'config.yaml'), options.config)
  const turnbell = testCli({
    home,
    ...(options.hub === undefined ? {} : { hub: options.hub }),
    env: { PATH: options.PATH ?? '' },
    program: () => ({
      code: options.version === undefined ? 1 : 0,
      stdout: options.version ?? '',
      stderr: 'no',
    }),
  })
  const code = await turnbell.run('doctor', '--json')
  const { ok, findings } = turnbell.json<Report>()
  return { code, ok, of: (check: string) => findings.find((finding) => finding.check === check), findings }
}

const readyHub = (version = VERSION): FakeHub => ({
  '/health': () => ({
    ...{ status: 'ok', version, uptime_s: 1, tool_count: 3 },
    connected: { agent: 0, daemon: 0, observer: 0 },
  }),
  '/ready': () => ({ ready: true }),
  'personas.list': () => ({ personas: [] }),
})

/** A directory with a program of that name in it. */
function withProgram(name: string): string {
  const directory = temporaryDirectory()
  fs.writeFileSync(path.join(directory, name), '#!/bin/sh\n', { mode: 0o755 })
  return directory
}

describe('turnbell doctor', () => {
  test('finds nothing broken where nothing was started yet, and says how to begin', async () => {
    const { code, ok, of, findings } = await examine()
    expect({ code, ok }).toEqual({ code: 0, ok: true })
    expect(of('hub')).toMatchObject({
      state: 'warning',
      mend: expect.stringContaining('turnbell up') as string,
    })
    for (const { state, mend } of findings) if (state !== 'ok') expect(mend).not.toBeNull()
  })

  test('exits 1 for a home that others can read, and says which command mends it', async () => {
    const { code, of } = await examine({ mode: 0o755 })
    expect(code).toBe(1)
    expect(of('home')).toMatchObject({
      state: 'broken',
      mend: expect.stringContaining('chmod 700') as string,
    })
  })

  test('says what is wrong in a configuration, and looks at nothing that needs it', async () => {
    const { code, of } = await examine({ config: 'nosuchkey: 1\n', hub: readyHub() })
    expect(code).toBe(1)
    expect(of('config')?.detail).toContain('nosuchkey')
    expect(of('hub')).toBeUndefined()
  })

  test('is content with a hub that is ready and installed, and not with an older one', async () => {
    expect((await examine({ hub: readyHub() })).of('hub')).toMatchObject({ state: 'ok' })
    const older = await examine({ hub: readyHub('0.0.1') })
    expect(older.of('hub')).toMatchObject({ state: 'warning' })
    expect(older.of('hub')?.detail).toContain('0.0.1')
  })

  test('finds a hub broken that is none', async () => {
    const { code, of } = await examine({ hub: { '/health': () => ({ hello: 'world' }) } })
    expect(code).toBe(1)
    expect(of('hub')).toMatchObject({ state: 'broken' })
  })

  test('names a configured persona whose daemon does not run', async () => {
    const { of } = await examine({ config: 'personas: {ada: {surface: mcp}}\n' })
    expect(of('daemon ada')).toMatchObject({
      state: 'warning',
      mend: expect.stringContaining('turnbell daemon --persona ada') as string,
    })
  })

  test('misses a client only where a persona needs it', async () => {
    const { code, of } = await examine({ config: 'personas: {ada: {surface: codex}}\n' })
    expect(code).toBe(1)
    expect(of('client codex')).toMatchObject({ state: 'broken' })
    expect(of('client opencode')).toMatchObject({ state: 'ok' })
  })

  test('says which version of a client is there', async () => {
    const { of } = await examine({ PATH: withProgram('claude'), version: '2.1.329 (Claude Code)\n' })
    expect(of('client claude-code')).toMatchObject({
      state: 'ok',
      detail: expect.stringMatching(/^2\.1\.329 at /) as string,
    })
  })

  test('says what a client lacks that is too old', async () => {
    const { code, of } = await examine({ PATH: withProgram('claude'), version: '2.1.200 (Claude Code)\n' })
    expect(code).toBe(0)
    expect(of('client claude-code')).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^2\.1\.200 at .*older than 2\.1\.224: it has no inbox/) as string,
    })
  })

  test('finds a client broken that cannot say its version and is needed', async () => {
    const { code, of } = await examine({
      config: 'personas: {ada: {surface: opencode}}\n',
      PATH: withProgram('opencode'),
    })
    expect(code).toBe(1)
    expect(of('client opencode')).toMatchObject({
      state: 'broken',
      detail: expect.stringContaining('no') as string,
    })
  })
})
