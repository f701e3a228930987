import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { OWN_SERVER_PERSONA } from '../../../../src/contracts/clients/codex.ts'
import { Config } from '../../../../src/contracts/config.ts'
import {
  clientProgram,
  opencodeLoadsPluginsFast,
  withoutOuterSession,
} from '../../../../src/system/clients/client-discovery.ts'
import { resolveHome } from '../../../../src/system/config/home.ts'
import { temporaryHome } from '../../../support/processes/processes.ts'

function program(file: string, text: string): string {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, text, { mode: 0o755 })
  return file
}

function place(clients: object = {}) {
  const root = temporaryHome()
  return { root, where: { home: resolveHome({}, root), config: Config.parse({ clients }) } }
}

describe("a client's program", () => {
  test("a client's program is the first executable on PATH", () => {
    const { root, where } = place()
    fs.mkdirSync(path.join(root, 'a'))
    fs.writeFileSync(path.join(root, 'a/claude'), '', { mode: 0o644 })
    const found = program(path.join(root, 'b/claude'), 'native')
    const env = { PATH: [path.join(root, 'a'), '', path.join(root, 'b')].join(path.delimiter) }
    expect(clientProgram('claude-code', { ...where, env })).toBe(found)
  })

  test("a client's program is the configured one, relative to the home, and no other", () => {
    const { root, where } = place({ codex: 'bin/codex' })
    const env = { PATH: path.dirname(program(path.join(root, 'other/codex'), 'native')) }
    expect(() => clientProgram('codex', { ...where, env })).toThrow('clients.codex')
    const found = program(path.join(root, 'bin/codex'), 'native')
    expect(clientProgram('codex', { ...where, env })).toBe(found)
  })

  test("the program of Codex is the native one behind npm's script, wherever npm put its package", () => {
    const platform = `@openai/codex-${process.platform}-${process.arch}/vendor/any-triple/bin/codex`
    for (const folder of ['node_modules', 'node_modules/@openai/codex/node_modules']) {
      const { root, where } = place()
      const script = program(
        path.join(root, 'node_modules/@openai/codex/bin/codex.js'),
        '#!/usr/bin/env node\n',
      )
      const native = program(path.join(root, folder, platform), 'native')
      fs.mkdirSync(path.join(root, 'node_modules/.bin'))
      fs.symlinkSync(script, path.join(root, 'node_modules/.bin/codex'))
      const env = { PATH: path.join(root, 'node_modules/.bin') }
      expect(clientProgram('codex', { ...where, env })).toBe(native)
    }
  })
})

describe('an opencode that npm could not move into place', () => {
  const note = `echo "opencode-ai's postinstall script was not run."\nexit 1\n`
  const platform = process.platform === 'win32' ? 'windows' : process.platform

  test.each(['node_modules', 'node_modules/opencode-ai/node_modules'])(
    'an opencode that npm could not move into place is run from its platform package: %s',
    (folder) => {
      const { root, where } = place()
      const stub = program(path.join(root, 'node_modules/opencode-ai/bin/opencode.exe'), note)
      const native = path.join(root, folder, `opencode-${platform}-${process.arch}/bin/opencode`)
      program(native, 'native')
      fs.mkdirSync(path.join(root, 'bin'))
      fs.symlinkSync(stub, path.join(root, 'bin/opencode'))
      const env = { PATH: path.join(root, 'bin') }
      expect(clientProgram('opencode', { ...where, env })).toBe(native)
    },
  )

  test('a placeholder of opencode is rejected with the command that fixes it', () => {
    const { root, where } = place({ opencode: 'opencode-ai/bin/opencode.exe' })
    program(path.join(root, 'opencode-ai/bin/opencode.exe'), note)
    const postinstall = path.join(root, 'opencode-ai/postinstall.mjs')
    expect(() => clientProgram('opencode', { ...where, env: {} })).toThrow(
      expect.objectContaining({
        code: 'client_missing',
        hint: expect.stringContaining(postinstall) as string,
      }),
    )
  })
})

test('opencode loads plugins at once only if it has fetched what they need', () => {
  const home = temporaryHome()
  expect(opencodeLoadsPluginsFast({ HOME: home })).toBe(false)
  const lock = program(path.join(home, '.config/opencode/package-lock.json'), '{"packages": {}}')
  expect(opencodeLoadsPluginsFast({ HOME: home })).toBe(false)
  fs.writeFileSync(lock, '{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "1.18.33"}}}}')
  expect(opencodeLoadsPluginsFast({ HOME: home })).toBe(true)
  expect(opencodeLoadsPluginsFast({ HOME: '/', XDG_CONFIG_HOME: path.join(home, '.config') })).toBe(true)
  expect(opencodeLoadsPluginsFast({ HOME: home, XDG_CONFIG_HOME: '' })).toBe(true)
})

test('marks of an outer session are not inherited, and user settings are', () => {
  const env = { CODEX_HOME: '/h', CODEX_THREAD_ID: 't', CLAUDECODE: '1', CLAUDE_CODE_X: 'x', PATH: '/bin' }
  expect(withoutOuterSession(env)).toEqual({ CODEX_HOME: '/h', PATH: '/bin' })
  expect(withoutOuterSession({ [OWN_SERVER_PERSONA]: 'ada', PATH: '/bin' })).toEqual({ PATH: '/bin' })
  expect(withoutOuterSession({ CLAUDE_CODE_X: 'x' })).toEqual({ CLAUDE_CODE_X: 'x' })
})
