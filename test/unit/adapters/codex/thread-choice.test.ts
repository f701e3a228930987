import { describe, expect, test } from 'vitest'
import {
  candidates,
  switchesThread,
  isUserThread,
  withNews,
  type ReportedThreads,
} from '../../../../adapters/codex/thread-choice.ts'
import type { ThreadEvent, ThreadNews } from '../../../../src/contracts/clients/codex.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { thread } from '../../../support/fakes/fake-app-server.ts'

const news = (thread_id: string, event: ThreadEvent, at_s = 0, bell?: string): ThreadNews => ({
  thread_id,
  event,
  at: new Date(at_s * 1000).toISOString(),
  ...(bell === undefined ? {} : { bell }),
})
const after = (...all: ThreadNews[]): ReportedThreads => all.reduce<ReportedThreads>(withNews, new Map())

describe('the state of a reported thread', () => {
  test.each<[ThreadEvent[], object]>([
    [['ToolCall'], { turn: 'unknown' }],
    [['SessionStart'], { turn: 'busy' }],
    [['SessionStart', 'UserPromptSubmit', 'Drain'], { turn: 'busy' }],
    [['UserPromptSubmit', 'Stop'], { turn: 'idle', paused: false }],
    [['UserPromptSubmit', 'Interrupt'], { turn: 'idle', paused: true }],
    [['Interrupt', 'UserPromptSubmit', 'Stop'], { turn: 'idle', paused: false }],
  ])('after %j it is %j', (events, state) => {
    expect(after(...events.map((event) => news('t-1', event))).get('t-1')).toMatchObject(state)
  })

  test('a reported thread is removed when its session ends', () => {
    expect(after(news('t-1', 'SessionStart'), news('t-1', 'SessionEnd')).size).toBe(0)
  })

  test('only the newest reported threads are kept', () => {
    const max = LIMITS.codex_known_threads_max
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

  test('a late report does not make a thread older', () => {
    expect(after(news('t-1', 'ToolCall', 9), news('t-1', 'ToolCall', 3)).get('t-1')?.at_ms).toBe(9_000)
  })
})

describe('a switch to another thread', () => {
  const idle = { thread_id: 'bound', turn: 'idle' } as const
  const busy = { thread_id: 'bound', turn: 'busy' } as const
  const nothing = { thread_id: null, turn: 'unknown' } as const

  test('is shown by a prompt there, even while the bound thread is busy', () => {
    expect(switchesThread(busy, news('other', 'SessionStart'))).toBe(true)
    expect(switchesThread(busy, news('other', 'UserPromptSubmit'))).toBe(true)
  })
  test('is shown by a tool call there only while the bound thread is idle', () => {
    expect(switchesThread(idle, news('other', 'ToolCall'))).toBe(true)
    expect(switchesThread(busy, news('other', 'Drain'))).toBe(false)
  })
  test('is not shown by a doorbell', () => {
    expect(switchesThread(idle, news('other', 'UserPromptSubmit', 0, '0abc1234'))).toBe(false)
  })
  test('is shown by the end of a turn there only if no thread is bound', () => {
    expect(switchesThread(idle, news('other', 'Stop'))).toBe(false)
    expect(switchesThread(nothing, news('other', 'Stop'))).toBe(true)
  })
  test('is not shown by an event of the bound thread', () => {
    expect(switchesThread(idle, news('bound', 'UserPromptSubmit'))).toBe(false)
  })
})

describe('the threads that may be rung', () => {
  test('are sorted newest first, both reported ones and those of the own app-server', () => {
    const threads = after(news('told-old', 'ToolCall', 10), news('told-new', 'ToolCall', 30))
    const held = [thread('held', { updatedAt: 20 }), thread('told-old', { updatedAt: 5 })]
    expect(candidates(threads, held)).toEqual(['told-new', 'held', 'told-old'])
  })

  test.each([
    ['a helper', { ephemeral: true }],
    ['a subagent', { parentThreadId: 'x' }],
    ['another source', { threadSource: 'thread_title' }],
    ['a single command', { source: 'exec' }],
  ])('do not include a thread of %s', (_what, change) => {
    expect(isUserThread(thread('t', change))).toBe(false)
    expect(candidates(new Map(), [thread('t', change)])).toEqual([])
  })
})
