/** Warnings about clients that are older than required, or of another series. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { CURRENT, FORMER } from '../../../../scripts/client-packages.mjs'
import { moduleVersionFault, versionWarning } from '../../../../src/contracts/clients/client-versions.ts'

test.each(['2.1.287', '2.1.329', '2.1.332', '2.1.1000', '2.1.333-beta.1'])(
  'Claude Code %s gets no warning',
  (version) => {
    expect(versionWarning('claude-code', version)).toBeNull()
  },
)

test.each([
  ['2.1.286', ['module']],
  ['2.1.223', ['inbox', 'module']],
  ['2.1.162', ['end of a turn', 'inbox', 'module']],
  ['2.0.999', ['hooks', 'end of a turn', 'inbox', 'module']],
  ['1.9.0', ['hooks', 'end of a turn', 'inbox', 'module']],
])('the warning about Claude Code %s mentions %s', (version, words) => {
  const caution = versionWarning('claude-code', version)
  expect(caution?.what.split('; ')).toHaveLength(words.length)
  for (const word of words) expect(caution?.what).toContain(word)
  expect(caution?.fix).toContain('up to date')
})

test.each(['2.2.0', '3.0.0'])('Claude Code %s is of another series', (version) => {
  const caution = versionWarning('claude-code', version)
  expect(caution?.what).toBe('of another series than 2.1.332, with which turnbell was measured')
  expect(caution?.rings).toBe(true)
  expect(caution?.fix).not.toContain('up to date')
})

test.each(['', 'latest', '2.1'])('%j is no version, and nothing is said of it', (version) => {
  expect(versionWarning('claude-code', version)).toBeNull()
})

test('Claude Code loads modules from 2.1.287 on', () => {
  for (const version of ['2.1.287', '2.1.332', '2.2.0', '3.0.0', 'latest'])
    expect(moduleVersionFault(version)).toBeNull()
  const fault = moduleVersionFault('2.1.286')
  expect(fault?.what).toBe('2.1.286 is older than 2.1.287, the first that loads modules')
  expect(fault?.fix).toContain('up to date')
})

test('opencode of another major version gets no doorbells, and of the same version it does', () => {
  expect(versionWarning('opencode', '1.99.0')).toBeNull()
  expect(versionWarning('opencode', '2.0.0')).toEqual({
    what: 'opencode 2.0.0 has another API than 1.x, which turnbell supports',
    fix: 'Install opencode 1.x; this version does not get doorbells.',
    rings: false,
  })
})

test('Codex is supported in the measured series, because its protocol is experimental', () => {
  for (const version of ['0.169.0', '0.169.3', '0.171.0', '0.171.4'])
    expect(versionWarning('codex', version)).toBeNull()
  expect(versionWarning('codex', '0.168.9')?.what).toContain('queue')
  const what = 'of another series than 0.171.0 and 0.169.0, with which turnbell was measured'
  const between = versionWarning('codex', '0.170.0')
  expect(between).toMatchObject({ what, rings: true })
  expect(between?.fix).toContain('up to date')
  const newer = versionWarning('codex', '0.172.0')
  expect(newer).toMatchObject({ what, rings: true })
  expect(newer?.fix).toContain('Look for a newer turnbell')
})

test('the versions that the scenes run with are measured, and the documentation names them', () => {
  const page = path.resolve(import.meta.dirname, '../../../../docs/explanation/how-agents-are-reached.md')
  const text = fs.readFileSync(page, 'utf8')
  const packages = [
    ['claude-code', 'Claude Code', '@anthropic-ai/claude-code'],
    ['codex', 'Codex', '@openai/codex'],
    ['opencode', 'opencode', 'opencode-ai'],
  ] as const
  for (const [client, title, name] of packages) {
    for (const { versions } of [CURRENT, FORMER]) {
      const version = versions[name]
      if (version === undefined) continue
      expect(versionWarning(client, version)).toBeNull()
      expect(text).toContain(`${title} ${version}`)
    }
  }
})
