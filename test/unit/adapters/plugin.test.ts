/** The plugin's static files, and the keeper that brings workers back. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { TurnEvent } from '../../../adapters/claude-code/turn-events.ts'
import { temporaryHome } from '../../support/processes.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const PLUGIN = path.join(ROOT, 'adapters/claude-code/plugin')
const read = <T>(...at: string[]) => JSON.parse(fs.readFileSync(path.join(...at), 'utf8')) as T

interface Hooks {
  hooks: Record<
    string,
    {
      matcher?: string
      hooks: { type: string; server: string; tool: string; input: Record<string, string> }[]
    }[]
  >
}

describe('the plugin', () => {
  test('has the version of the package', () => {
    const { version } = read<{ version: string }>(ROOT, 'package.json')
    expect(read<{ version: string }>(PLUGIN, '.claude-plugin/plugin.json').version).toBe(version)
  })

  const { hooks } = read<Hooks>(PLUGIN, 'hooks/hooks.json')
  test.each(Object.entries(hooks))('tells of %s in words the worker knows', (event, entries) => {
    for (const { hooks } of entries) {
      for (const { type, server, tool, input } of hooks) {
        expect({ type, server, tool }).toEqual({
          type: 'mcp_tool',
          server: 'plugin:turnbell:hub',
          tool: 'turn_event',
        })
        expect(input['event']).toBe(event)
        for (const [name, value] of Object.entries(input)) {
          expect(Object.keys(TurnEvent.shape)).toContain(name)
          if (name !== 'event') expect(value).toBe(`\${${name}}`)
        }
      }
    }
  })

  test('never hooks the start of a process, where the client has no server to call', () => {
    expect(hooks['SessionStart']?.map(({ matcher }) => matcher)).toEqual(['clear|compact'])
  })
})

interface Run {
  code: number | null
  starts: { respawn: string; host: string; stdin: string }[]
}

/** Runs the keeper around a worker that ends with these codes, one after the other. */
async function keep(codes: number[], input = ''): Promise<Run & { pid: number }> {
  const directory = temporaryHome()
  const log = path.join(directory, 'starts.jsonl')
  fs.copyFileSync(path.join(PLUGIN, 'keeper.sh'), path.join(directory, 'keeper.sh'))
  fs.writeFileSync(
    path.join(directory, 'shim.js'),
    `const fs = require('node:fs')
const log = ${JSON.stringify(log)}
const starts = fs.existsSync(log) ? fs.readFileSync(log, 'utf8').split('\\n').length - 1 : 0
const { TURNBELL_RESPAWN: respawn, TURNBELL_HOST_PID: host } = process.env
let stdin = ''
const code = ${JSON.stringify(codes)}[starts]
const end = () => { fs.appendFileSync(log, JSON.stringify({ respawn, host, stdin }) + '\\n'); code < 0 ? process.kill(process.pid, -code) : process.exit(code) }
if (code === 0) process.stdin.on('data', (text) => (stdin += text)).on('end', end)
else end()
`,
  )
  const child = spawn('/bin/sh', [path.join(directory, 'keeper.sh')], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { ...process.env, TURNBELL_NODE: process.execPath },
  })
  child.stdin.end(input)
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  const lines = fs.readFileSync(log, 'utf8').trimEnd().split('\n')
  return { code, starts: lines.map((line) => JSON.parse(line) as Run['starts'][number]), pid: process.pid }
}

describe('the keeper', () => {
  test('ends with a worker that was told to end', async () => {
    const { code, starts, pid } = await keep([0], 'hello')
    expect(code).toBe(0)
    expect(starts).toEqual([{ respawn: '0', host: String(pid), stdin: 'hello' }])
  })

  test('brings back a worker that failed or was killed, on the same pipes, and says so', async () => {
    const { code, starts } = await keep([1, -9, 0], 'hello')
    expect(code).toBe(0)
    expect(starts.map(({ respawn }) => respawn)).toEqual(['0', '1', '1'])
    expect(starts.at(-1)?.stdin).toBe('hello')
  })
})
