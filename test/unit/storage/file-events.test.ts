import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { GATHER_MS, openFileEventLog } from '../../../src/storage/file/events/event-log.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const clock = fakeClock()
const event = { type: 'signal.pushed', agent_id: 'ada', data: {} }

function written(directory: string): string {
  return fs.readFileSync(path.join(directory, 'events.jsonl'), 'utf8')
}

test('no seq is reused after a kill', async () => {
  const directory = temporaryDirectory()
  const log = openFileEventLog({ directory, clock })
  for (let count = 0; count < 3; count += 1) log.append(event)
  await clock.advance(GATHER_MS)
  await eventually('the events on disk', () => written(directory).includes('"seq":3'))
  // Seen by a watcher, but the process ends before it is written.
  const last = log.append(event)
  const again = openFileEventLog({ directory, clock })
  expect(again.append(event).seq).toBeGreaterThan(last.seq)
  expect(
    again
      .read({ limit: 10 })
      .events.slice(0, 3)
      .map(({ seq }) => seq),
  ).toEqual([1, 2, 3])
})

test('no seq is reused after a kill before the first write', async () => {
  const directory = temporaryDirectory()
  const first = openFileEventLog({ directory, clock })
  const seen = first.append(event)
  const second = openFileEventLog({ directory, clock })
  const after_first = second.append(event)
  await second.close()
  // This one starts after a clean end.
  const third = openFileEventLog({ directory, clock })
  const after_second = third.append(event)
  const fourth = openFileEventLog({ directory, clock })
  const after_third = fourth.append(event)
  // This one starts after one that had started after a kill.
  const after_fourth = openFileEventLog({ directory, clock }).append(event)
  const seqs = [seen, after_first, after_second, after_third, after_fourth].map(({ seq }) => seq)
  expect(seqs).toEqual([...new Set(seqs)].sort((one, other) => one - other))
})

test('torn and foreign lines are skipped and do not swallow the next line', async () => {
  const directory = temporaryDirectory()
  const log = openFileEventLog({ directory, clock })
  log.append(event)
  await log.close()
  fs.appendFileSync(path.join(directory, 'events.jsonl'), 'nonsense\n{"seq":2}\n{"seq":3,"type":"torn')
  const again = openFileEventLog({ directory, clock })
  const next = again.append(event)
  await again.close()
  const third = openFileEventLog({ directory, clock })
  expect(third.read({ limit: 10 }).events.map(({ seq }) => seq)).toEqual([1, next.seq])
  expect(third.append(event).seq).toBe(next.seq + 1)
  await third.close()
})

test('the two files contain at most twice the limit, however fast events are appended', async () => {
  const directory = temporaryDirectory()
  const log = openFileEventLog({ directory, clock, events_max: 10 })
  for (let count = 0; count < 95; count += 1) {
    log.append(event)
    if (count % 7 === 0) await clock.advance(GATHER_MS)
  }
  await log.close()
  const lines = (name: string) =>
    fs.readFileSync(path.join(directory, name), 'utf8').trim().split('\n').length
  expect(fs.readdirSync(directory).sort()).toEqual(['events.1.jsonl', 'events.jsonl'])
  // One more line records the close.
  expect(lines('events.jsonl')).toBeLessThanOrEqual(11)
  expect(lines('events.1.jsonl')).toBeLessThanOrEqual(10)
  expect(openFileEventLog({ directory, clock, events_max: 10 }).append(event).seq).toBe(96)
})

test('a log that cannot be written continues in memory and reports that once', async () => {
  const directory = temporaryDirectory()
  const failures: Error[] = []
  const log = openFileEventLog({ directory, clock, events_max: 2, onFailed: (error) => failures.push(error) })
  // Rotation finds a directory where the older file should go.
  fs.mkdirSync(path.join(directory, 'events.1.jsonl', 'in the way'), { recursive: true })
  for (let count = 0; count < 10; count += 1) {
    log.append(event)
    await clock.advance(GATHER_MS)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  await eventually('the failure', async () => {
    // Events buffered for a slow disk are written later.
    await clock.advance(GATHER_MS)
    return failures.length > 0
  })
  expect(log.append(event).seq).toBe(11)
  expect(log.read({ limit: 1, since: 10 }).events).toHaveLength(1)
  await log.close()
  expect(failures).toHaveLength(1)
})

describe('a log whose disk rejected events for a while', () => {
  /** Larger than any gap between two starts. */
  const TOLD = 25_000

  async function failed(directory: string) {
    let failures = 0
    const log = openFileEventLog({ directory, clock, events_max: 2, onFailed: () => (failures += 1) })
    const in_the_way = path.join(directory, 'events.1.jsonl')
    fs.mkdirSync(path.join(in_the_way, 'in the way'), { recursive: true })
    for (let count = 0; count < 3; count += 1) log.append(event)
    await log.written()
    for (let count = 0; count < 2; count += 1) log.append(event)
    await log.written()
    expect(failures).toBe(1)
    fs.rmSync(in_the_way, { recursive: true })
    let last = 0
    for (let count = 0; count < TOLD; count += 1) last = log.append(event).seq
    return { log, last }
  }

  test('a log continues after its last returned seq when it was stopped cleanly', async () => {
    const directory = temporaryDirectory()
    const { log, last } = await failed(directory)
    await log.close()
    expect(openFileEventLog({ directory, clock }).append(event).seq).toBe(last + 1)
  })

  test('a log whose disk rejected events reuses no seq after a kill', async () => {
    const directory = temporaryDirectory()
    const { last } = await failed(directory)
    expect(openFileEventLog({ directory, clock }).append(event).seq).toBeGreaterThan(last)
  })
})

test('a log that could not record its opening reuses no seq after a kill', async () => {
  const directory = temporaryDirectory()
  const former = openFileEventLog({ directory, clock })
  former.append(event)
  await former.close()
  const full = vi.spyOn(fs, 'writeSync').mockImplementation(() => {
    throw Object.assign(new Error('EDQUOT'), { code: 'EDQUOT' })
  })
  const log = openFileEventLog({ directory, clock })
  full.mockRestore()
  const { seq } = log.append(event)
  expect(openFileEventLog({ directory, clock }).append(event).seq).toBeGreaterThan(seq)
})

test('a log on a slow disk reuses no seq after a kill', () => {
  const directory = temporaryDirectory()
  const log = openFileEventLog({ directory, clock })
  let last = 0
  // They are never written.
  for (let count = 0; count < 25_000; count += 1) last = log.append(event).seq
  expect(openFileEventLog({ directory, clock }).append(event).seq).toBeGreaterThan(last)
})
