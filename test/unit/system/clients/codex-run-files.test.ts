import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { codexRunFiles, hookReport } from '../../../../src/system/clients/codex-run-files.ts'
import { serverRequest } from '../../../../src/system/clients/server-request.ts'
import type { ThreadNews } from '../../../../src/contracts/clients/codex.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { eventually } from '../../../support/eventually.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const AT = '2026-01-01T00:00:00.000Z'
const news = (thread_id: string): ThreadNews => ({ thread_id, event: 'ToolCall', at: AT })

function followed(run_dir: string): string[] {
  const heard: string[] = []
  const watch = codexRunFiles(run_dir).follow((all) => heard.push(...all.map(({ thread_id }) => thread_id)))
  onTestFinished(() => watch.close())
  return heard
}

test('earlier and later reports are each delivered once to a follower', async () => {
  const run_dir = temporaryDirectory()
  codexRunFiles(run_dir).tell(news('before'))
  const heard = followed(run_dir)
  expect(heard).toEqual(['before'])
  codexRunFiles(run_dir).tell(news('since'))
  await eventually('both are heard', () => heard.length === 2)
  expect(heard).toEqual(['before', 'since'])
  expect(fs.statSync(path.join(run_dir, 'codex-threads.jsonl')).mode & 0o777).toBe(0o600)
})

test('an invalid line and an incomplete line are skipped', async () => {
  const run_dir = temporaryDirectory()
  const file = path.join(run_dir, 'codex-threads.jsonl')
  const late = JSON.stringify(news('late'))
  fs.writeFileSync(file, `{\n{"thread_id":7}\n${JSON.stringify(news('good'))}\n${late.slice(0, 20)}`)
  const heard = followed(run_dir)
  expect(heard).toEqual(['good'])
  fs.appendFileSync(file, `${late.slice(20)}\n`)
  await eventually('the whole line is heard', () => heard.includes('late'))
})

test('a long file is truncated, and no report is delivered twice', async () => {
  const run_dir = temporaryDirectory()
  const place = codexRunFiles(run_dir)
  place.tell(news('first'))
  const heard = followed(run_dir)
  const size = () => fs.statSync(path.join(run_dir, 'codex-threads.jsonl')).size
  let told = 0
  for (; size() < LIMITS.codex_thread_file_bytes_max; told += 1) place.tell(news(`t-${told}`))
  place.tell(news('last'))
  expect(size()).toBeLessThan(LIMITS.codex_thread_file_bytes_max)
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
])('the hook of %s is reported', (_what, payload, expected) => {
  const told = hookReport({ session_id: 't-1', ...payload }, AT)
  expect(told).toEqual(expected === null ? null : { thread_id: 't-1', at: AT, ...expected })
})

test('the stored thread is read back, and a damaged file counts as none', () => {
  const run_dir = temporaryDirectory()
  expect(codexRunFiles(run_dir).keptThread()).toBeNull()
  codexRunFiles(run_dir).keepThread('t-1')
  expect(codexRunFiles(run_dir).keptThread()).toBe('t-1')
  fs.writeFileSync(path.join(run_dir, 'codex-thread.json'), '{"thread_id":')
  expect(codexRunFiles(run_dir).keptThread()).toBeNull()
})

test('the stored thread can be joined after its first message', () => {
  const place = codexRunFiles(temporaryDirectory())
  place.markUsed('t-1')
  place.keepThread('t-1')
  expect(place.joinableThread()).toBeNull()
  place.markUsed('t-2')
  expect(place.joinableThread()).toBeNull()
  place.markUsed('t-1')
  expect(place.joinableThread()).toBe('t-1')
  place.keepThread('t-2')
  expect(place.joinableThread()).toBeNull()
})

test('a server is requested while the requesting process runs', async () => {
  const run_dir = temporaryDirectory()
  let asked = 0
  const wish = serverRequest(run_dir, 'codex')
  const watch = wish.onRequest(() => (asked += 1))
  onTestFinished(() => watch.close())
  expect(asked).toBe(0)
  serverRequest(run_dir, 'codex').submit()
  await eventually('the wish is heard', () => asked === 1)
  expect(wish.isActive()).toBe(true)
})
