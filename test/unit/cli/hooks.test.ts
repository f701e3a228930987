import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { hookDelivery, hookPayload } from '../../../src/cli/hooks/hook-call.ts'
import { appendToSpool } from '../../../src/cli/hooks/spool.ts'
import { spoolSubagentStatus } from '../../../src/cli/hooks/subagent.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { parseJsonOrNull } from '../../../src/contracts/validation/json.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { SPOOL_FILE, Spooled } from '../../../src/contracts/spool/spool.ts'
import { prepareHome, resolveHome, type Home } from '../../../src/system/config/home.ts'
import { testCli } from '../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** The input of a Stop hook of Claude Code. */
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

describe('the status of an ended subagent', () => {
  test('a status entry has the type of the subagent and the beginning of its last message', () => {
    spoolSubagentStatus(invocation(), 'ada', { ...STOPPED, cwd: path.join(shop, 'src') })
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

  test('a subagent that summarized the conversation for a compaction spools nothing', () => {
    const summing = {
      ...STOPPED,
      cwd: shop,
      agent_type: '',
      last_assistant_message: '<summary>All.</summary>',
    }
    spoolSubagentStatus(invocation(), 'ada', summing)
    expect(left()).toEqual([])
  })

  test('a status entry does not contain the prompt of the subagent', () => {
    spoolSubagentStatus(invocation(), 'ada', { ...STOPPED, cwd: shop, prompt: 'secret', task: 'secret' })
    expect(JSON.stringify(left())).not.toContain('secret')
  })

  test.each<[string, Record<string, Json>, string]>([
    [
      'only the first line of the message',
      { last_assistant_message: '\n\n  Done. \r\nMore.' },
      'Subagent x finished: Done.',
    ],
    ['no message if it is empty', { last_assistant_message: '' }, 'Subagent x finished'],
    ['no message if it is not text', { last_assistant_message: [{ text: 'y' }] }, 'Subagent x finished'],
    [
      'no type if it is missing',
      { agent_type: null, last_assistant_message: 'Done' },
      'Subagent finished: Done',
    ],
  ])('a status entry has %s', (_, payload, summary) => {
    spoolSubagentStatus(invocation(), null, { cwd: shop, agent_type: 'x', ...payload })
    const [line] = left()
    expect(line).toMatchObject({ entry: { summary } })
    expect(line).not.toHaveProperty('identity')
    expect(line).not.toHaveProperty('entry.agent_id')
  })

  test('a status entry is truncated to the length of a summary, between characters', () => {
    for (const agent_type of ['x', 'xy'])
      spoolSubagentStatus(invocation(), 'ada', {
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
    ['not in a project with a memory', () => outer],
    ['next to a home, whose folder has the same name', () => path.join(outer, 'user', 'elsewhere')],
    ['empty', () => ''],
    ['a relative path', () => 'shop'],
    ['not text', () => ({ at: shop })],
  ])('a subagent spools nothing if its directory is %s', (_, cwd) => {
    spoolSubagentStatus(invocation(), 'ada', { ...STOPPED, cwd: cwd() })
    expect(left()).toEqual([])
  })
})

test('a line that is appended after a truncated line is a line of its own', () => {
  const before = '2026-01-01T00:00:00.000Z'
  const leaveOne = () =>
    appendToSpool(invocation(), { type: 'archive', root: shop, trigger: 'commit', before })
  const file = path.join(home.spool, SPOOL_FILE)
  fs.writeFileSync(file, '{"id":"half a li')
  leaveOne()
  leaveOne()
  const [half, ...whole] = fs.readFileSync(file, 'utf8').trimEnd().split('\n')
  expect(half).toBe('{"id":"half a li')
  expect(whole.map((line) => Spooled.parse(JSON.parse(line)))).toMatchObject([{ before }, { before }])
})

test('an entry that has the name of the spool file and is not a plain file is renamed', () => {
  fs.mkdirSync(home.spool, { recursive: true, mode: 0o700 })
  const file = path.join(home.spool, SPOOL_FILE)
  const before = '2026-01-01T00:00:00.000Z'
  const elsewhere = path.join(temporaryDirectory(), 'file')
  fs.writeFileSync(elsewhere, 'theirs\n')
  // One source of ids, because two sources may create the same id in the same millisecond.
  const call = invocation()
  for (const make of [
    () => fs.symlinkSync(elsewhere, file),
    () => execFileSync('mkfifo', [file]),
    () => fs.mkdirSync(file),
  ]) {
    fs.rmSync(file, { force: true })
    make()
    appendToSpool(call, { type: 'archive', root: shop, trigger: 'commit', before })
    expect(fs.readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(1)
  }
  expect(fs.readFileSync(elsewhere, 'utf8')).toBe('theirs\n')
  expect(fs.readdirSync(home.spool).filter((name) => name.endsWith('.not-plain'))).toHaveLength(3)
})

test('a line that does not fit into the spool is dropped', () => {
  const fill = (name: string, bytes: number) => {
    fs.writeFileSync(path.join(home.spool, name), '')
    fs.truncateSync(path.join(home.spool, name), bytes)
  }
  const before = '2026-01-01T00:00:00.000Z'
  const leaveOne = () =>
    appendToSpool(invocation(), { type: 'archive', root: shop, trigger: 'commit', before })
  const file = path.join(home.spool, SPOOL_FILE)
  fill(SPOOL_FILE, LIMITS.spool_bytes_max)
  leaveOne()
  expect(fs.statSync(file).size).toBe(LIMITS.spool_bytes_max)
  fs.rmSync(file)
  // Lines that the hub is processing count; quarantined lines do not.
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

  test.each([1, LIMITS.json_depth_max - 2])(
    'a payload with a value nested %i deep is spooled in full',
    (depth) => {
      const body = hookPayload(`{"session_id":"s","deep":${nested(depth)}}`)
      appendToSpool(invocation(), { type: 'hook', client: 'claude-code', identity: 'ada', body })
      const line = parseJsonOrNull(fs.readFileSync(path.join(home.spool, SPOOL_FILE), 'utf8'))
      expect(Spooled.safeParse(line).data).toMatchObject({ type: 'hook', body })
    },
  )

  test.each([LIMITS.json_depth_max - 1, 50_000])(
    'a payload is parsed without a value nested %i deep',
    (depth) => {
      expect(hookPayload(`{"session_id":"s","deep":${nested(depth)}}`)).toEqual({ session_id: 's' })
    },
  )
})

describe('the delivery of a hook event', () => {
  const event = () => {
    const spooled: string[] = []
    return { spooled, delivery: hookDelivery(() => void spooled.push('a line')) }
  }

  test('an event that was not sent is spooled once', async () => {
    const { delivery, spooled } = event()
    await delivery.spoolUnlessSent()
    await delivery.spoolUnlessSent()
    await delivery.spool()
    expect(spooled).toHaveLength(1)
  })

  test('an event that was spooled is not sent', async () => {
    const { delivery } = event()
    await delivery.spoolUnlessSent()
    expect(() => delivery.sending()).toThrow('spooled')
  })

  test('an event that is being sent is spooled only after the request failed', async () => {
    const { delivery, spooled } = event()
    delivery.sending()
    await delivery.spoolUnlessSent()
    expect(spooled).toEqual([])
    await delivery.spool()
    expect(spooled).toHaveLength(1)
  })
})
