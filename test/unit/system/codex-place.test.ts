import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { codexPlace, newsOfHook } from '../../../src/system/codex-place.ts'
import { serverWish } from '../../../src/system/server-wish.ts'
import type { ThreadNews } from '../../../src/contracts/codex.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const AT = '2026-01-01T00:00:00.000Z'
const news = (thread_id: string): ThreadNews => ({ thread_id, event: 'ToolCall', at: AT })

function followed(run_dir: string): string[] {
  const heard: string[] = []
  const watch = codexPlace(run_dir).follow((all) => heard.push(...all.map(({ thread_id }) => thread_id)))
  onTestFinished(() => watch.close())
  return heard
}

test('what was told is heard by whoever follows, before and since, each once', async () => {
  const run_dir = temporaryDirectory()
  codexPlace(run_dir).tell(news('before'))
  const heard = followed(run_dir)
  expect(heard).toEqual(['before'])
  codexPlace(run_dir).tell(news('since'))
  await eventually('both are heard', () => heard.length === 2)
  expect(heard).toEqual(['before', 'since'])
  expect(fs.statSync(path.join(run_dir, 'codex-threads.jsonl')).mode & 0o777).toBe(0o600)
})

test('a line that does not parse, and one whose end has not come, are passed over', async () => {
  const run_dir = temporaryDirectory()
  const file = path.join(run_dir, 'codex-threads.jsonl')
  const late = JSON.stringify(news('late'))
  fs.writeFileSync(file, `{\n{"thread_id":7}\n${JSON.stringify(news('good'))}\n${late.slice(0, 20)}`)
  const heard = followed(run_dir)
  expect(heard).toEqual(['good'])
  fs.appendFileSync(file, `${late.slice(20)}\n`)
  await eventually('the whole line is heard', () => heard.includes('late'))
})

test('a long story is shortened, and nothing of it is heard twice', async () => {
  const run_dir = temporaryDirectory()
  const place = codexPlace(run_dir)
  place.tell(news('first'))
  const heard = followed(run_dir)
  const size = () => fs.statSync(path.join(run_dir, 'codex-threads.jsonl')).size
  let told = 0
  for (; size() < LIMITS.codex_news_bytes_max; told += 1) place.tell(news(`t-${told}`))
  place.tell(news('last'))
  expect(size()).toBeLessThan(LIMITS.codex_news_bytes_max)
  await eventually('the last is heard', () => heard.includes('last'))
  expect(new Set(heard).size).toBe(heard.length)
})

test.each<[string, object, object | null]>([
  ['a beginning', { hook_event_name: 'SessionStart', source: 'startup' }, { event: 'SessionStart' }],
  ['a prompt', { hook_event_name: 'UserPromptSubmit', prompt: 'hi' }, { event: 'UserPromptSubmit' }],
  [
    'a doorbell',
    {
      hook_event_name: 'UserPromptSubmit',
      prompt: '[turnbell] 1 signal waits (from ada: x). Call signals_pending once. (bell 0abc1234)',
    },
    { event: 'UserPromptSubmit', bell: '0abc1234' },
  ],
  [
    'a person who quotes a doorbell',
    { hook_event_name: 'UserPromptSubmit', prompt: 'what is (bell 0abc1234)?' },
    { event: 'UserPromptSubmit' },
  ],
  ['a tool', { hook_event_name: 'PreToolUse' }, null],
  ['nothing', {}, null],
])('the hook of %s', (_what, payload, expected) => {
  const told = newsOfHook({ session_id: 't-1', ...payload }, AT)
  expect(told).toEqual(expected === null ? null : { thread_id: 't-1', at: AT, ...expected })
})

test('the kept thread is remembered, and nothing where the file was damaged', () => {
  const run_dir = temporaryDirectory()
  expect(codexPlace(run_dir).keptThread()).toBeNull()
  codexPlace(run_dir).keepThread('t-1')
  expect(codexPlace(run_dir).keptThread()).toBe('t-1')
  fs.writeFileSync(path.join(run_dir, 'codex-thread.json'), '{"thread_id":')
  expect(codexPlace(run_dir).keptThread()).toBeNull()
})

test('the kept thread can be joined once something was said in it', () => {
  const place = codexPlace(temporaryDirectory())
  place.spokenIn('t-1')
  place.keepThread('t-1')
  expect(place.joinableThread()).toBeNull()
  place.spokenIn('t-2')
  expect(place.joinableThread()).toBeNull()
  place.spokenIn('t-1')
  expect(place.joinableThread()).toBe('t-1')
  place.keepThread('t-2')
  expect(place.joinableThread()).toBeNull()
})

test('a server is wanted while the process that asked for it runs', async () => {
  const run_dir = temporaryDirectory()
  let asked = 0
  const wish = serverWish(run_dir, 'codex')
  const watch = wish.onAsked(() => (asked += 1))
  onTestFinished(() => watch.close())
  expect(asked).toBe(0)
  serverWish(run_dir, 'codex').ask()
  await eventually('the wish is heard', () => asked === 1)
  expect(wish.stands()).toBe(true)
})
