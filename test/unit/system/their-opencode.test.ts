/** What is known of a person's opencode before it is started. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { isOpencode, opencodeFiles, opencodeVersion } from '../../../src/system/their-opencode.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

test('reads the files of a person that opencode reads in every directory, as far as they are there', () => {
  const root = temporaryDirectory()
  const usual = ['config.json', 'opencode.json', 'opencode.jsonc'].map((name) => `usual/opencode/${name}`)
  const own = ['.opencode/opencode.json', '.opencode/opencode.jsonc']
  const others = ['usual/opencode/other.json', '.opencode/config.json', 'folder/opencode.json', 'one.jsonc']
  for (const name of [...usual, ...own, ...others]) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    fs.writeFileSync(path.join(root, name), name)
  }
  const filesOf = (usually: string, folder: string, one: string) =>
    opencodeFiles({
      HOME: path.join(root, 'elsewhere'),
      XDG_CONFIG_HOME: path.join(root, usually),
      OPENCODE_CONFIG_DIR: path.join(root, folder),
      OPENCODE_CONFIG: path.join(root, one),
    })
  expect(opencodeFiles({ HOME: root, XDG_CONFIG_HOME: path.join(root, 'usual') })).toEqual([...usual, ...own])
  expect(filesOf('usual', 'folder', 'one.jsonc')).toEqual([...usual, 'folder/opencode.json', 'one.jsonc'])
  expect(filesOf('none', 'none', 'none')).toEqual([])
})

test.each([
  [['opencode', 'acp'], true],
  [['/opt/bin/opencode', 'acp', '--print-logs'], true],
  [['gemini', '--acp'], false],
  [['npx', 'opencode', 'acp'], false],
  [[], false],
])('%j starts opencode by its name: %s', (argv, is) => {
  expect(isOpencode(argv)).toBe(is)
})

async function toldBy(script: string) {
  const program = path.join(temporaryDirectory(), 'opencode')
  fs.writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const warned: string[] = []
  const version = await opencodeVersion(program, { warn: (_, message) => void warned.push(message) })
  return { version, warned }
}

test('its version is what it tells, with a word on what an older one lacks', async () => {
  expect(await toldBy('test "$*" = --version && echo 1.18.33')).toEqual({ version: '1.18.33', warned: [] })
  const older = await toldBy('echo 1.3.2')
  expect(older.version).toBe('1.3.2')
  expect(older.warned).toEqual([expect.stringContaining('older than')])
})

test.each(['echo local', 'echo 1.18.33; exit 1', 'exit 1', 'kill -9 $$'])(
  'its version is unknown where it does `%s`',
  async (script) => {
    expect(await toldBy(script)).toEqual({
      version: null,
      warned: [expect.stringContaining('does not tell its version')],
    })
  },
)

test('its version is unknown where it cannot be run', async () => {
  const log = { warn: () => {} }
  expect(await opencodeVersion('/no/such/opencode', log)).toBeNull()
  expect(await opencodeVersion('o'.repeat(3_000_000), log)).toBeNull()
})
