/** Imports the history of both clients into a real hub, twice, and continues after a file has grown. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { end, startHub, temporaryHome, turnbell } from '../support/processes/processes.ts'

const closers: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const SECRET = `ghp_${'a1B2'.repeat(9)}`
const THREAD = '01a231b7-1219-7911-b30a-13e30fd79257'
const START = Date.now() - 2 * 3_600_000
const at = (second: number) => new Date(START + second * 1_000).toISOString()

const claude = (second: number, type: string, message: object, more: object = {}) => ({
  ...{ type, message, timestamp: at(second), cwd: '/home/ada/shop', sessionId: 's1', ...more },
})
const ask = (second: number, content: unknown, more: object = {}) => claude(second, 'user', { content }, more)
const answer = (second: number, content: object[], stop_reason: string, more: object = {}) =>
  claude(
    second,
    'assistant',
    { id: `m${second}`, model: 'opus', content, stop_reason, usage: { input_tokens: 10, output_tokens: 2 } },
    more,
  )
const use = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input })
const result = (id: string, content: string, is_error = false) => [
  { type: 'tool_result', tool_use_id: id, content, is_error },
]
const SIDE = { isSidechain: true, agentId: 'a1' }

const MAIN = [
  ask(0, `deploy with ${SECRET}`),
  answer(1, [use('t1', 'Bash', { command: 'false' })], 'tool_use'),
  ask(2, result('t1', 'Exit code 1', true)),
  answer(3, [use('t2', 'Agent', { subagent_type: 'explorer' })], 'tool_use'),
  ask(7, result('t2', 'found')),
  answer(8, [{ type: 'text', text: 'Done.' }], 'end_turn'),
]
const AGENT = [
  ask(4, 'look', SIDE),
  answer(5, [use('t3', 'Read', { file_path: '/home/ada/shop/x' })], 'tool_use', SIDE),
  answer(6, [{ type: 'text', text: 'There.' }], 'end_turn', SIDE),
]
const codex = (second: number, type: string, payload: object) => ({ timestamp: at(second), type, payload })
const ROLLOUT = [
  codex(0, 'session_meta', { id: THREAD, timestamp: at(0), cwd: '/home/ada/shop' }),
  codex(1, 'event_msg', { type: 'user_message', message: 'test it' }),
  codex(2, 'response_item', { type: 'function_call', call_id: 'c1', name: 'exec_command', arguments: '{}' }),
  codex(3, 'response_item', { type: 'function_call_output', call_id: 'c1', output: 'ok' }),
  codex(4, 'event_msg', { type: 'task_complete' }),
]

function write(file: string, lines: readonly object[]): void {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  fs.utimesSync(file, START / 1_000, START / 1_000)
}

test('a repeated import changes nothing, and one of a grown file adds its new part', async () => {
  const home = temporaryHome()
  closers.push(() => fs.rmSync(home, { recursive: true, force: true }))
  const hub = await startHub(home)
  closers.push(() => end(hub))
  const [of_claude, of_codex] = [path.join(home, 'claude'), path.join(home, 'codex')]
  const session = path.join(of_claude, 'projects/-home-ada-shop/s1.jsonl')
  write(session, MAIN)
  write(path.join(path.dirname(session), 's1/subagents/agent-a1.jsonl'), AGENT)
  write(path.join(of_codex, `sessions/2026/01/05/rollout-${THREAD}.jsonl`), ROLLOUT)

  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await turnbell(['import', ...words, '--home', home, '--json'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return JSON.parse(stdout) as Record<string, unknown>
  }
  const both = () =>
    Promise.all([
      run('--from', 'claude-code', of_claude, '--persona', 'ada'),
      run('--from', 'codex', of_codex),
    ])
  const token = fs.readFileSync(path.join(home, 'secrets/operator.token'), 'utf8').trim()
  const call = async (action: string, params: object = {}) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(params) }
    return (await (await fetch(`${hub.url}/api/activity/${action}`, request)).json()) as object
  }
  const tree = () => call('hierarchy', { session_id: 's1' })

  expect(await both()).toMatchObject([
    { sessions: { imported: 1 }, requests: 1, subtasks: 1, actions: 3 },
    { sessions: { imported: 1 }, requests: 1, actions: 1 },
  ])
  const first = await tree()
  expect(first).toMatchObject({
    sessions: [
      {
        ...{ identity: 'ada', started_at: at(0), ended_at: at(8) },
        state: { state: 'ended', evidence: { source: 'import' } },
        requests: [
          {
            ...{ prompt: 'deploy with [redacted]', status: 'completed' },
            actions: [{ tool_name: 'Bash', status: 'failed' }, { tool_name: 'explorer' }],
            tasks: [{ subtasks: [{ status: 'completed', actions: [{ tool_name: 'Read' }] }] }],
          },
        ],
      },
    ],
  })
  expect(JSON.stringify(await call('requests'))).not.toContain(SECRET)

  expect(await both()).toMatchObject([
    { events: 0, sessions: { unchanged: 1 } },
    { events: 0, sessions: { unchanged: 1 } },
  ])
  expect(await tree()).toEqual(first)

  write(session, [...MAIN, ask(3_600, 'again'), answer(3_601, [{ type: 'text', text: 'Done.' }], 'end_turn')])
  expect(await run('--from', 'claude-code', of_claude)).toMatchObject({
    requests: 1,
    sessions: { continued: 1 },
  })
  expect(await call('session', { session_id: 's1' })).toMatchObject({
    ended_at: at(3_601),
    usage: { input_tokens: 60, output_tokens: 12 },
  })
  expect(await call('completeness')).toMatchObject({ missing: [], dropped: 0 })
})
