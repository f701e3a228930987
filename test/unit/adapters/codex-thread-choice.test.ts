import { describe, expect, test } from 'vitest'
import {
  candidates,
  goesOver,
  isPersons,
  told,
  type ToldThreads,
} from '../../../adapters/codex/thread-choice.ts'
import type { ThreadEvent, ThreadNews } from '../../../src/contracts/codex.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { thread } from '../../support/fake-app-server.ts'

const news = (thread_id: string, event: ThreadEvent, at_s = 0, bell?: string): ThreadNews => ({
  thread_id,
  event,
  at: new Date(at_s * 1000).toISOString(),
  ...(bell === undefined ? {} : { bell }),
})
const after = (...all: ThreadNews[]): ToldThreads => all.reduce<ToldThreads>(told, new Map())

describe('what hooks and tool calls tell of a thread', () => {
  test.each<[ThreadEvent[], object]>([
    [['ToolCall'], { turn: 'unknown' }],
    [['SessionStart'], { turn: 'busy' }],
    [['SessionStart', 'UserPromptSubmit', 'Drain'], { turn: 'busy' }],
    [['UserPromptSubmit', 'Stop'], { turn: 'idle', paused: false }],
    [['UserPromptSubmit', 'Interrupt'], { turn: 'idle', paused: true }],
    [['Interrupt', 'UserPromptSubmit', 'Stop'], { turn: 'idle', paused: false }],
  ])('%j', (events, state) => {
    expect(after(...events.map((event) => news('t-1', event))).get('t-1')).toMatchObject(state)
  })

  test('is forgotten when its session ends', () => {
    expect(after(news('t-1', 'SessionStart'), news('t-1', 'SessionEnd')).size).toBe(0)
  })

  test('is kept of the newest threads only', () => {
    const max = LIMITS.codex_told_threads_max
    const names = [...Array(max + 2).keys()].map((n) => `t-${n}`)
    const threads = after(
      ...names.map((name) => news(name, 'Stop')),
      news('t-2', 'Stop'),
      news('new', 'Stop'),
    )
    expect(threads.size).toBe(max)
    expect(threads.has('t-3')).toBe(false)
    expect(threads.has('t-2')).toBe(true)
  })

  test('does not make it older when it is told late', () => {
    expect(after(news('t-1', 'ToolCall', 9), news('t-1', 'ToolCall', 3)).get('t-1')?.at_ms).toBe(9_000)
  })
})

describe('a person has gone over to another thread', () => {
  const idle = { thread_id: 'bound', turn: 'idle' } as const
  const busy = { thread_id: 'bound', turn: 'busy' } as const
  const nothing = { thread_id: null, turn: 'unknown' } as const

  test('with a prompt there, whatever the bound one does', () => {
    expect(goesOver(busy, news('other', 'SessionStart'))).toBe(true)
    expect(goesOver(busy, news('other', 'UserPromptSubmit'))).toBe(true)
  })
  test('with a tool call there only while the bound one rests', () => {
    expect(goesOver(idle, news('other', 'ToolCall'))).toBe(true)
    expect(goesOver(busy, news('other', 'Drain'))).toBe(false)
  })
  test('not with a doorbell, which is no person', () => {
    expect(goesOver(idle, news('other', 'UserPromptSubmit', 0, '0abc1234'))).toBe(false)
  })
  test('not with the end of a turn there, unless nothing is bound', () => {
    expect(goesOver(idle, news('other', 'Stop'))).toBe(false)
    expect(goesOver(nothing, news('other', 'Stop'))).toBe(true)
  })
  test('not within the bound thread', () => {
    expect(goesOver(idle, news('bound', 'UserPromptSubmit'))).toBe(false)
  })
})

describe('the threads that may be rung', () => {
  test("are the newest first, whether told or on the persona's own app-server", () => {
    const threads = after(news('told-old', 'ToolCall', 10), news('told-new', 'ToolCall', 30))
    const held = [thread('held', { updatedAt: 20 }), thread('told-old', { updatedAt: 5 })]
    expect(candidates(threads, held)).toEqual(['told-new', 'held', 'told-old'])
  })

  test.each([
    ['a helper', { ephemeral: true }],
    ['a subagent', { parentThreadId: 'x' }],
    ['another source', { threadSource: 'thread_title' }],
    ['a single command', { source: 'exec' }],
  ])('are no thread of %s', (_what, change) => {
    expect(isPersons(thread('t', change))).toBe(false)
    expect(candidates(new Map(), [thread('t', change)])).toEqual([])
  })
})
