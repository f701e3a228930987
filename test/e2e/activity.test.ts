/** Tests what agents do at a real hub: reports, the tree, a killed hub, a damaged database, secrets, and the command line. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { end, startHub, temporaryHome, turnbell, type Running } from '../support/processes/processes.ts'
import { timedUlid } from '../support/timed-ulid.ts'

const closers: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const SECRETS = [
  `ghp_${'a1B2'.repeat(9)}`,
  `sk-proj-${'Zx9w'.repeat(8)}`,
  'Bearer abcdefghijklmnopqrstuvwxyz012345',
  'correct-horse-battery',
]
const [PROMPT_SECRET, INPUT_SECRET, OUTPUT_SECRET, ERROR_SECRET] = SECRETS

async function place() {
  const home = temporaryHome()
  closers.push(() => fs.rmSync(home, { recursive: true, force: true }))
  const hub = async (): Promise<Running & { url: string }> => {
    const running = await startHub(home)
    closers.push(() => end(running))
    return running
  }
  const run = (...words: string[]) => turnbell([...words, '--home', home, '--json'])
  const token = () => fs.readFileSync(path.join(home, 'secrets/operator.token'), 'utf8').trim()
  const post = async (url: string, body: object) => {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token()}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
  const call = async (url: string, action: string, params: object = {}) => {
    const { status, body } = await post(`${url}/api/activity/${action}`, params)
    expect({ action, status }).toEqual({ action, status: 200 })
    return body
  }
  return { home, hub, run, post, call }
}

/** Events of one turn: a prompt, two tool calls, one of a subagent, and the end. */
const TURN: [kind: string, data: object, agent_id?: string][] = [
  ['session.started', { project: '/home/ada/parser', reason: 'startup' }],
  ['request.started', { request_id: 't1', prompt: `fix it with ${PROMPT_SECRET}`, prompt_type: 'person' }],
  ['action.started', { action_id: 'c1', tool: 'Bash', input: { command: `curl -u ${INPUT_SECRET}` } }],
  ['action.ended', { action_id: 'c1', output: `authorization: ${OUTPUT_SECRET}`, duration_ms: 12 }],
  ['subtask.started', { subtask_id: 'a1', agent_type: 'general-purpose', description: 'look' }],
  ['action.started', { action_id: 'c2', tool: 'Read', input: { file_path: '/home/ada/parser/x' } }, 'a1'],
  ['action.failed', { action_id: 'c2', error: `password=${ERROR_SECRET}` }, 'a1'],
  ['subtask.ended', { subtask_id: 'a1', status: 'completed', result: 'done' }],
  ['request.ended', { request_id: 't1', status: 'completed' }],
]

function reportOf(turn: typeof TURN, first_seq = 1) {
  const events = turn.map(([kind, data, agent_id = null], index) => ({
    ...{ event_id: timedUlid(Date.now(), index), agent_id, turn_seq: 1, seq: first_seq + index },
    ...{ at: new Date().toISOString(), source: 'mod', kind, data },
  }))
  return { session_id: 's1', client: 'claude-code', identity: 'ada', events }
}

interface Tree {
  sessions: {
    state: { state: string }
    requests: { actions: { tool_name: string }[]; tasks: { subtasks: { actions: object[] }[] }[] }[]
  }[]
}

test('a turn becomes a tree without its secrets; a killed hub loses nothing that it had stored', async () => {
  const { home, hub, run, post, call } = await place()
  const first = await hub()
  const report = reportOf(TURN)
  expect(await post(`${first.url}/activity`, report)).toEqual({
    status: 200,
    body: { accepted: 9, duplicates: 0, next_seq: 10 },
  })
  first.child.kill('SIGKILL')
  await first.exited
  const second = await hub()
  expect((await post(`${second.url}/activity`, report)).body).toEqual({
    accepted: 0,
    duplicates: 9,
    next_seq: 10,
  })

  const { code, json } = await run('call', 'activity', 'hierarchy')
  expect(code).toBe(0)
  const tree = json<Tree>()
  const [request] = tree.sessions[0]?.requests ?? []
  expect(request).toMatchObject({
    status: 'completed',
    prompt: 'fix it with [redacted]',
    actions: [{ tool_name: 'Bash', status: 'completed', duration_ms: 12 }],
    tasks: [
      {
        wave_number: 1,
        subtasks: [
          {
            agent_type: 'general-purpose',
            status: 'completed',
            actions: [{ tool_name: 'Read', status: 'failed' }],
          },
        ],
      },
    ],
  })
  expect(tree.sessions[0]?.state).toMatchObject({ state: 'idle', evidence: { kind: 'request.ended' } })
  expect(await call(second.url, 'completeness', { session_id: 's1' })).toMatchObject({
    received: 9,
    missing: [],
  })
  const plain = await turnbell(['status', '--home', home])
  expect(plain.stdout).toMatch(/^activity \d+\.\d MiB, kept for 30 days$/m)

  await end(second)
  const files = fs.readdirSync(home, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  const bytes = files.map((file) => fs.readFileSync(path.join(file.parentPath, file.name)))
  for (const secret of SECRETS) expect(bytes.filter((content) => content.includes(secret))).toEqual([])
  expect(fs.statSync(path.join(home, 'hub/activity.db')).mode & 0o777).toBe(0o600)
})

test('a gap in the numbers is missing, until it is filled', async () => {
  const { hub, post, call } = await place()
  const { url } = await hub()
  const [head, tail] = [reportOf(TURN.slice(0, 3)), reportOf(TURN.slice(5), 6)]
  await post(`${url}/activity`, head)
  await post(`${url}/activity`, tail)
  expect(await call(url, 'completeness')).toMatchObject({ received: 7, missing: [[4, 5]] })
  expect((await post(`${url}/activity`, reportOf(TURN.slice(3, 5), 4))).body['accepted']).toBe(2)
  expect(await call(url, 'completeness')).toMatchObject({ received: 9, missing: [] })
})

test('a damaged database is replaced, and costs no signal', async () => {
  const { home, hub, post, call } = await place()
  const first = await hub()
  await post(`${first.url}/activity`, reportOf(TURN))
  first.child.kill('SIGTERM')
  expect(await first.exited).toBe(0)
  fs.writeFileSync(path.join(home, 'hub/activity.db'), 'this is not a database '.repeat(500))
  const second = await hub()
  await post(`${second.url}/api/personas/add`, { identity: 'bob', surface: 'mcp' })
  const sent = await post(`${second.url}/api/signals/send`, { to: 'bob', intent: 'note' })
  expect(sent).toMatchObject({ status: 200, body: { durable: true } })
  expect(await call(second.url, 'stats')).toMatchObject({ sessions: 0 })
  expect((await post(`${second.url}/activity`, reportOf(TURN))).body['accepted']).toBe(9)
  expect(fs.readdirSync(path.join(home, 'hub')).filter((name) => name.includes('.damaged-'))).not.toEqual([])
})

test('hooks of a client without a shim are events, too', async () => {
  const { hub, post, call } = await place()
  const { url } = await hub()
  const session = { session_id: 's2', cwd: '/home/ada/parser', turn_id: 't1' }
  const hooks = [
    { hook_event_name: 'SessionStart', source: 'startup' },
    { hook_event_name: 'UserPromptSubmit', prompt: 'go' },
    { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command: 'ls' } },
    { hook_event_name: 'PostToolUse', tool_name: 'Bash', tool_use_id: 'c1', tool_response: 'x' },
  ]
  for (const hook of hooks)
    expect((await post(`${url}/hook/codex`, { ...session, ...hook })).status).toBe(200)
  expect(await call(url, 'session', { session_id: 's2' })).toMatchObject({
    client: 'codex',
    state: { state: 'working', evidence: { source: 'hook', kind: 'action.ended' } },
    total_success: 1,
  })
})
