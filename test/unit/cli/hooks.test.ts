import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { hookPayload, untold } from '../../../src/cli/hooks/hook-call.ts'
import { leave } from '../../../src/cli/hooks/spool.ts'
import { leaveSubagentStatus } from '../../../src/cli/hooks/subagent.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { jsonIn } from '../../../src/contracts/json.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { SPOOL_FILE } from '../../../src/contracts/spool-files.ts'
import { Spooled } from '../../../src/contracts/spool.ts'
import { prepareHome, resolveHome, type Home } from '../../../src/system/home.ts'
import { testCli } from '../../support/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** As Claude Code sends it. */
const STOPPED = JSON.parse(
  fs.readFileSync(
    path.resolve(import.meta.dirname, '../../fixtures/claude-code/2.1.329/hooks/SubagentStop.json'),
    'utf8',
  ),
) as Record<string, Json>

let outer: string
let home: Home
let shop: string
beforeEach(() => {
  outer = fs.realpathSync(temporaryDirectory())
  home = resolveHome({}, path.join(outer, 'user', '.turnbell'))
  prepareHome(home)
  shop = path.join(outer, 'user', 'shop')
  fs.mkdirSync(path.join(shop, '.turnbell'), { recursive: true })
  fs.mkdirSync(path.join(shop, 'src', 'auth'), { recursive: true })
})

const invocation = () => ({ cli: testCli({ home: home.root }).cli, home })
const left = () => {
  const file = path.join(home.spool, SPOOL_FILE)
  if (!fs.existsSync(file)) return []
  const lines = fs.readFileSync(file, 'utf8').trimEnd().split('\n')
  return lines.map((line) => Spooled.parse(JSON.parse(line)))
}

describe('a subagent that has ended', () => {
  test('leaves who it was and how its own last words begin', () => {
    leaveSubagentStatus(invocation(), 'ada', { ...STOPPED, cwd: path.join(shop, 'src') })
    expect(left()).toMatchObject([
      {
        ...{ type: 'post', root: shop, identity: 'ada' },
        entry: {
          ...{ entry_type: 'status', summary: 'Subagent general-purpose finished: SUB RESULT' },
          ...{ tags: ['subagent'], agent_id: STOPPED['agent_id'] },
        },
      },
    ])
  })

  test('leaves nothing where it only summed up the conversation that is compacted', () => {
    const summing = {
      ...STOPPED,
      cwd: shop,
      agent_type: '',
      last_assistant_message: '<summary>All.</summary>',
    }
    leaveSubagentStatus(invocation(), 'ada', summing)
    expect(left()).toEqual([])
  })

  test('leaves nothing of what it was asked', () => {
    leaveSubagentStatus(invocation(), 'ada', { ...STOPPED, cwd: shop, prompt: 'secret', task: 'secret' })
    expect(JSON.stringify(left())).not.toContain('secret')
  })

  test.each<[string, Record<string, Json>, string]>([
    [
      'only its first line',
      { last_assistant_message: '\n\n  Done. \r\nMore.' },
      'Subagent x finished: Done.',
    ],
    ['no words', { last_assistant_message: '' }, 'Subagent x finished'],
    ['words of another form', { last_assistant_message: [{ text: 'y' }] }, 'Subagent x finished'],
    ['no type', { agent_type: null, last_assistant_message: 'Done' }, 'Subagent finished: Done'],
  ])('says %s', (_, payload, summary) => {
    leaveSubagentStatus(invocation(), null, { cwd: shop, agent_type: 'x', ...payload })
    const [line] = left()
    expect(line).toMatchObject({ entry: { summary } })
    expect(line).not.toHaveProperty('identity')
    expect(line).not.toHaveProperty('entry.agent_id')
  })

  test('says no more than a reader sees in a list, and no half character', () => {
    for (const agent_type of ['x', 'xy'])
      leaveSubagentStatus(invocation(), 'ada', {
        ...{ cwd: shop, agent_type, agent_id: 'a'.repeat(500), last_assistant_message: '😀'.repeat(300) },
      })
    for (const line of left()) {
      const { entry } = line as { entry: { summary: string; agent_id: string } }
      expect(entry.summary.length).toBeLessThanOrEqual(LIMITS.memory_summary_length_max)
      expect(entry.summary).toMatch(/😀…$/u)
      expect(entry.agent_id).toHaveLength(128)
    }
    expect(left()).toHaveLength(2)
  })

  test.each<[string, () => Json]>([
    ['in no project with a memory', () => outer],
    ['beside a home, whose folder is called the same', () => path.join(outer, 'user', 'elsewhere')],
    ['nowhere', () => ''],
    ['at a place that is no path', () => 'shop'],
    ['at a place that is no text', () => ({ at: shop })],
  ])('leaves nothing where it worked %s', (_, cwd) => {
    leaveSubagentStatus(invocation(), 'ada', { ...STOPPED, cwd: cwd() })
    expect(left()).toEqual([])
  })
})

test('what is left behind half a line of a full disk is a line of its own', () => {
  const before = '2026-01-01T00:00:00.000Z'
  const leaveOne = () => leave(invocation(), { type: 'archive', root: shop, trigger: 'commit', before })
  const file = path.join(home.spool, SPOOL_FILE)
  fs.writeFileSync(file, '{"id":"half a li')
  leaveOne()
  leaveOne()
  const [half, ...whole] = fs.readFileSync(file, 'utf8').trimEnd().split('\n')
  expect(half).toBe('{"id":"half a li')
  expect(whole.map((line) => Spooled.parse(JSON.parse(line)))).toMatchObject([{ before }, { before }])
})

test('what does not fit into the spool any more is dropped', () => {
  const fill = (name: string, bytes: number) => {
    fs.writeFileSync(path.join(home.spool, name), '')
    fs.truncateSync(path.join(home.spool, name), bytes)
  }
  const before = '2026-01-01T00:00:00.000Z'
  const leaveOne = () => leave(invocation(), { type: 'archive', root: shop, trigger: 'commit', before })
  const file = path.join(home.spool, SPOOL_FILE)
  fill(SPOOL_FILE, LIMITS.spool_bytes_max)
  leaveOne()
  expect(fs.statSync(file).size).toBe(LIMITS.spool_bytes_max)
  fs.rmSync(file)
  // What the hub has taken away waits as well; what it has set aside does not.
  fill('01KJMHHR00AAAAAAAAAAAAAAAA.taken', LIMITS.spool_bytes_max / 2)
  fill('waiting.jsonl', LIMITS.spool_bytes_max / 2)
  leaveOne()
  expect(fs.existsSync(file)).toBe(false)
  fs.rmSync(path.join(home.spool, 'waiting.jsonl'))
  fill('rejected.jsonl', LIMITS.spool_bytes_max)
  leaveOne()
  expect(left()).toHaveLength(1)
})

describe('the payload of a hook', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

  test.each([1, LIMITS.json_depth_max - 2])('is left so that the hub can read it, %i deep', (depth) => {
    const body = hookPayload(`{"session_id":"s","deep":${nested(depth)}}`)
    leave(invocation(), { type: 'hook', client: 'claude-code', identity: 'ada', body })
    const line = jsonIn(fs.readFileSync(path.join(home.spool, SPOOL_FILE), 'utf8'))
    expect(Spooled.safeParse(line).data).toMatchObject({ type: 'hook', body })
  })

  test.each([LIMITS.json_depth_max - 1, 50_000])('loses a value that is nested %i deep', (depth) => {
    expect(hookPayload(`{"session_id":"s","deep":${nested(depth)}}`)).toEqual({ session_id: 's' })
  })
})

describe('an event that is to be told', () => {
  const event = () => {
    const left: string[] = []
    return { left, one: untold(() => void left.push('a line')) }
  }

  test('is left once where it cannot be told, and when there is no more time for it', async () => {
    const { one, left } = event()
    await one.leaveIfUntold()
    await one.leaveIfUntold()
    await one.leave()
    expect(left).toHaveLength(1)
  })

  test('is told no more once it was left', async () => {
    const { one } = event()
    await one.leaveIfUntold()
    expect(() => one.telling()).toThrow('left in the spool')
  })

  test('is not left for want of time while it is told, which may have been heard', async () => {
    const { one, left } = event()
    one.telling()
    await one.leaveIfUntold()
    expect(left).toEqual([])
    await one.leave()
    expect(left).toHaveLength(1)
  })
})
