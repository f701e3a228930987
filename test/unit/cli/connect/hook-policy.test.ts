import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { hooksSwitchedOff, skippedSettings } from '../../../../src/cli/connect/hook-policy.ts'
import type { ClientKind } from '../../../../src/contracts/ids.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { testCli } from '../../../support/processes/test-cli.ts'

let outer: string
beforeEach(() => (outer = fs.realpathSync(temporaryDirectory())))

const at = (name: string) => path.join(outer, name)
const write = (name: string, text: string) => {
  fs.mkdirSync(path.dirname(at(name)), { recursive: true })
  fs.writeFileSync(at(name), text)
}
const machine = () => ({ env: { HOME: at('user') }, administratorFolder: () => at('system') })
const look = (client: ClientKind) => hooksSwitchedOff(machine(), client, at('shop'))

const OFF = '{"disableAllHooks": true}'
const ON = '{"disableAllHooks": false}'

describe('disabled hooks', () => {
  test.each<[string, ClientKind, Record<string, string>, string]>([
    ['by the user', 'claude-code', { 'user/.claude/settings.json': OFF }, 'disableAllHooks in'],
    ['in the project', 'claude-code', { 'shop/.claude/settings.json': OFF }, 'disableAllHooks in'],
    [
      'for this person in the project',
      'claude-code',
      { 'shop/.claude/settings.local.json': OFF },
      'disableAllHooks in',
    ],
    ['by an administrator', 'claude-code', { 'system/managed-settings.json': OFF }, 'disableAllHooks in'],
    [
      'by an administrator, in a part of the settings',
      'claude-code',
      { 'system/managed-settings.d/10-hooks.json': '{"allowManagedHooksOnly": true}' },
      'allowManagedHooksOnly in',
    ],
    [
      'by the user',
      'codex',
      { 'user/.codex/config.toml': '[features]\nhooks = false\n' },
      'features.hooks = false in',
    ],
    [
      'by an administrator',
      'codex',
      { 'system/requirements.toml': 'allow_managed_hooks_only = true\n' },
      'allow_managed_hooks_only in',
    ],
  ])('hooks are disabled by %s of %s', (_, client, files, said) => {
    for (const [name, text] of Object.entries(files)) write(name, text)
    const [file = ''] = Object.keys(files)
    expect(look(client)).toMatchObject({
      detail: expect.stringContaining(`${said} ${at(file)}`) as string,
      hint: expect.stringContaining(at(file)) as string,
    })
  })
})

describe('enabled hooks', () => {
  test.each<[string, ClientKind, Record<string, string>]>([
    ['where nothing is set', 'claude-code', {}],
    [
      'where the project switches on again what the user has off',
      'claude-code',
      { 'user/.claude/settings.json': OFF, 'shop/.claude/settings.json': ON },
    ],
    [
      'where only managed settings may say so',
      'claude-code',
      { 'user/.claude/settings.json': '{"allowManagedHooksOnly": true}' },
    ],
    ['where the file is skipped', 'claude-code', { 'user/.claude/settings.json': `// off\n${OFF}` }],
    ['where nothing is set', 'codex', { 'user/.codex/config.toml': 'model = "x"\n' }],
    ['where there are none', 'opencode', { 'user/.claude/settings.json': OFF }],
  ])('hooks run with %s: %s', (_, client, files) => {
    for (const [name, text] of Object.entries(files)) write(name, text)
    expect(look(client)).toBeNull()
  })
})

test('skippedSettings returns files that Claude Code skips', () => {
  write('user/.claude/settings.json', '{ "model": "x", } // mine')
  write('shop/.claude/settings.json', '{}')
  expect(skippedSettings(machine(), at('shop'))).toEqual([at('user/.claude/settings.json')])
})

test('connect reports disabled hooks, also as JSON', async () => {
  write('user/.claude/settings.json', OFF)
  fs.mkdirSync(at('shop'))
  const cli = testCli({ home: at('home'), env: { HOME: at('user') }, overrides: { cwd: at('shop') } })
  await cli.run('connect', 'claude-code', '--persona', 'ada')
  expect(cli.stdout()).toContain(`disableAllHooks in ${at('user/.claude/settings.json')}`)
  await cli.run('connect', 'claude-code', '--persona', 'ada', '--json')
  expect(cli.json<{ hooks_off: string | null }>().hooks_off).toContain('disableAllHooks')
})
