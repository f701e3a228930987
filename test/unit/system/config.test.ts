import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/system/config.ts'
import { temporaryHome } from '../../support/processes.ts'

function load(text: string, env: Record<string, string> = {}) {
  const file = path.join(temporaryHome(), 'config.yaml')
  fs.writeFileSync(file, text)
  return { file, run: () => loadConfig(file, env) }
}

describe('the configuration', () => {
  test('takes the file over the default, the environment over the file, the flag over both', () => {
    const { file } = load('hub:\n  port: 5000\n  host: localhost\n')
    const config = loadConfig(file, { TURNBELL_HUB_PORT: '6000' }, { hub: { host: '::1' } })
    expect(config.hub).toMatchObject({ port: 6000, host: '::1' })
    expect(config.tenant_id).toBe('local')
  })
  test.each([
    ['nosuchkey: 1\n', 'there is no key nosuchkey; allowed here: tenant_id, hub, daemon'],
    ['hub:\n  prot: 1\n', 'there is no key hub.prot; allowed here: host, port, store'],
    [
      'personas:\n  ada:\n    surfaces: mcp\n    surface: mcp\n',
      'there is no key personas.ada.surfaces; allowed here: surface, project, command',
    ],
  ])('names an unknown key and what is allowed there: %j', (text, message) => {
    const { file, run } = load(text)
    expect(run).toThrow(`${file}: ${message}`)
  })
  test.each([
    ['hub:\n  port: abc\n', 'hub.port'],
    ['hub:\n  port: 70000\n', 'found 70000'],
    ['tenant_id: Not Good\n', 'a tenant_id matches'],
    ['- a list\n', 'expected keys and values'],
    ['hub: [\n', 'config.yaml'],
  ])('says what is wrong with a value: %j', (text, message) => {
    expect(load(text).run).toThrow(message)
  })
  test('blames the environment for what is wrong there', () => {
    expect(load('', { TURNBELL_HUB_PORT: 'many' }).run).toThrow('the environment: hub.port')
  })
})
