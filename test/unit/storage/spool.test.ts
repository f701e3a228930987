import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { SPOOL_FILE } from '../../../src/contracts/spool-files.ts'
import type { Taken } from '../../../src/ports/spool.ts'
import { openSpool } from '../../../src/storage/file/spool.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

let directory: string
/** How far the clock is ahead of the files. */
let ahead_ms: number
let handed: string[]
/** Whether what waits need not wait any more. */
let ready: boolean

const open = () =>
  openSpool({
    directory,
    clock: { now: () => Date.now() + ahead_ms, monotonic: () => ahead_ms },
    ids: createIds(systemClock, systemRandom),
  })
const leave = (text: string) => fs.appendFileSync(path.join(directory, SPOOL_FILE), text)
const names = () => fs.readdirSync(directory).toSorted()
const refused = () =>
  fs
    .readFileSync(path.join(directory, 'rejected.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { line: string; reason: string })
const waiting = () => fs.readFileSync(path.join(directory, 'waiting.jsonl'), 'utf8').trim().split('\n')
const take = async (line: string): Promise<Taken> => {
  if (line.startsWith('waits') && !ready) return { later: 'not now' }
  if (line.startsWith('breaks')) return { broke: 'it fell down' }
  handed.push(line)
  return line.startsWith('bad') ? { refused: 'it is bad' } : 'taken'
}

beforeEach(() => {
  directory = temporaryDirectory()
  ahead_ms = 0
  handed = []
  ready = false
})

describe('what was left in the spool', () => {
  test('is handed over in its order, once, and then forgotten', async () => {
    const spool = open()
    leave('one\n\ntwo\n')
    expect(await spool.takeAll(take)).toEqual({ taken: 2, refused: 0 })
    leave('three\n')
    expect(await spool.takeAll(take)).toEqual({ taken: 1, refused: 0 })
    ahead_ms = 10_000
    expect(await spool.takeAll(take)).toEqual({ taken: 0, refused: 0 })
    expect(handed).toEqual(['one', 'two', 'three'])
    expect(names()).toEqual([])
  })

  test('is nothing where nobody left anything, and where there is no spool', async () => {
    const spool = open()
    expect(await spool.takeAll(take)).toEqual({ taken: 0, refused: 0 })
    fs.rmSync(directory, { recursive: true })
    expect(await spool.takeAll(take)).toEqual({ taken: 0, refused: 0 })
  })

  test('is handed over as well where its writer had opened the file before it was taken', async () => {
    const spool = open()
    leave('one\n')
    const late = fs.openSync(path.join(directory, SPOOL_FILE), 'a')
    await spool.takeAll(take)
    fs.writeSync(late, 'two\n')
    fs.closeSync(late)
    await spool.takeAll(take)
    ahead_ms = 10_000
    await spool.takeAll(take)
    expect(handed).toEqual(['one', 'two'])
    expect(names()).toEqual([])
  })

  test('is handed over as well where its writer wrote while another was taken, however long that lasted', async () => {
    const spool = open()
    leave('one\n')
    const late = fs.openSync(path.join(directory, SPOOL_FILE), 'a')
    await spool.takeAll(async (line) => {
      if (line === 'one') fs.writeSync(late, 'two\n')
      ahead_ms += 10_000
      return take(line)
    })
    fs.closeSync(late)
    await spool.takeAll(take)
    expect(handed).toEqual(['one', 'two'])
  })

  test('is kept aside with the reason where it is refused', async () => {
    const spool = open()
    leave('one\nbad one\ntwo\n')
    expect(await spool.takeAll(take)).toEqual({ taken: 2, refused: 1 })
    expect(refused()).toMatchObject([{ line: 'bad one', reason: 'it is bad' }])
  })

  test('waits where it cannot be taken in now, and holds up nothing that is behind it', async () => {
    const spool = open()
    leave('one\nwaits\nthree\n')
    expect(await spool.takeAll(take)).toEqual({ taken: 2, refused: 0 })
    leave('four\n')
    ahead_ms = 10_000
    await spool.takeAll(take)
    ahead_ms = 20_000
    await spool.takeAll(take)
    // Also for the next process.
    await open().takeAll(take)
    expect(handed).toEqual(['one', 'three', 'four'])
    expect(names()).toEqual(['waiting.jsonl'])
    ready = true
    leave('five\n')
    expect(await open().takeAll(take)).toEqual({ taken: 2, refused: 0 })
    expect(handed).toEqual(['one', 'three', 'four', 'waits', 'five'])
  })

  test('waits for so long, and is then kept aside with the reason', async () => {
    leave('waits\n')
    await open().takeAll(take)
    ahead_ms = LIMITS.spool_waiting_ms - 60_000
    expect(await open().takeAll(take)).toEqual({ taken: 0, refused: 0 })
    ahead_ms += 120_000
    expect(await open().takeAll(take)).toEqual({ taken: 0, refused: 1 })
    expect(refused()).toMatchObject([
      { line: 'waits', reason: expect.stringMatching(/waited since .*: not now/) as string },
    ])
    expect(names()).not.toContain('waiting.jsonl')
  })

  test('waits among so many, and so many bytes, and what is beyond is kept aside with the reason', async () => {
    const long = `waits ${'x'.repeat(LIMITS.spool_waiting_bytes_max / 4)}\n`
    leave(`${long.repeat(4)}waits, but is short\n`)
    expect(await open().takeAll(take)).toEqual({ taken: 0, refused: 1 })
    expect(refused()).toMatchObject([
      { reason: expect.stringMatching(/too much waits already: not now/) as string },
    ])
    expect(waiting()).toHaveLength(4)
    leave('good\n')
    await open().takeAll(take)
    expect(handed).toEqual(['good'])
  })

  test('is tried so often where something breaks at it, by whatever process, and then kept aside', async () => {
    leave('breaks\ngood\n')
    for (let tries = 1; tries < LIMITS.spool_tries_max; tries += 1) {
      expect(await open().takeAll(take)).toEqual({ taken: tries === 1 ? 1 : 0, refused: 0 })
    }
    expect(await open().takeAll(take)).toEqual({ taken: 0, refused: 1 })
    expect(refused()).toMatchObject([
      { line: 'breaks', reason: expect.stringMatching(/5 times: it fell down/) as string },
    ])
    expect(handed).toEqual(['good'])
  })

  test('is handed over again by the next process where the first one died in it, and only that', async () => {
    leave('one\ntwo\nthree\n')
    const dies = open().takeAll((line) => (line === 'two' ? Promise.reject(new Error('died')) : take(line)))
    await expect(dies).rejects.toThrow('died')
    leave('four\n')
    await open().takeAll(take)
    await open().takeAll(take)
    expect(handed).toEqual(['one', 'two', 'three', 'four'])
  })

  test('is handed over once where it was carried over by a process that died before it had noted that', async () => {
    leave('waits\none\n')
    const dies = open().takeAll((line) => (line === 'one' ? Promise.reject(new Error('died')) : take(line)))
    await expect(dies).rejects.toThrow('died')
    fs.rmSync(path.join(directory, names().find((name) => name.endsWith('.done')) as string))
    ready = true
    expect(await open().takeAll(take)).toEqual({ taken: 2, refused: 0 })
    expect(handed).toEqual(['waits', 'one'])
  })

  test('is handed over once where a power cut took the end of the file it was carried over from', async () => {
    leave('waits\n')
    await open().takeAll(take)
    const taken = names().find((name) => name.endsWith('.taken')) as string
    fs.rmSync(path.join(directory, `${taken}.done`), { force: true })
    fs.writeFileSync(path.join(directory, taken), 'wai')
    ready = true
    expect(await open().takeAll(take)).toEqual({ taken: 1, refused: 0 })
    expect(handed).toEqual(['waits'])
  })

  test('is kept aside once by who died before noting that, also where what waits is kept aside first', async () => {
    leave('waits\n')
    await open().takeAll(take)
    leave('bad one\nbad two\n')
    await open().takeAll(take)
    // As if nobody had noted the second one.
    const name = names().findLast((one) => one.endsWith('.done')) as string
    fs.writeFileSync(path.join(directory, name), `${'bad one\n'.length}\n`)
    ahead_ms = LIMITS.spool_waiting_ms + 60_000
    await open().takeAll(take)
    expect(refused().map(({ line }) => line)).toEqual(['bad one', 'bad two', 'waits'])
  })

  test('is taken up to the line in hand by who is closed, and from there by the next process', async () => {
    leave('one\ntwo\n')
    const spool = open()
    let [goOn, begin] = [() => {}, () => {}]
    const held = new Promise<void>((resolve) => (goOn = resolve))
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const taking = spool.takeAll(async (line) => {
      begin()
      return held.then(() => take(line))
    })
    await begun
    let over = false
    const closing = spool.close().then(() => (over = true))
    expect(over).toBe(false)
    goOn()
    await closing
    expect(await taking).toEqual({ taken: 1, refused: 0 })
    expect(await spool.takeAll(take)).toEqual({ taken: 0, refused: 0 })
    await open().takeAll(take)
    expect(handed).toEqual(['one', 'two'])
  })

  test('is kept aside behind what a person has made of what was kept aside before', async () => {
    const spool = open()
    leave('bad one\n')
    await spool.takeAll(take)
    fs.rmSync(path.join(directory, 'rejected.jsonl'))
    leave('bad two\n')
    await spool.takeAll(take)
    fs.appendFileSync(path.join(directory, 'rejected.jsonl'), '{"line":"of a person"}\n')
    leave('bad three\n')
    await spool.takeAll(take)
    expect(refused().map(({ line }) => line)).toEqual(['bad two', 'of a person', 'bad three'])
  })

  test('is kept aside in two files of which the older one goes', async () => {
    const spool = open()
    const half = 'x'.repeat(LIMITS.spool_rejected_bytes_max / 2)
    const beginnings = (name: string) =>
      fs
        .readFileSync(path.join(directory, name), 'utf8')
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { line: string }).line.slice(0, 5))
    for (const number of [1, 2, 3, 4, 5]) leave(`bad ${number}${half}\n`)
    expect(await spool.takeAll(take)).toEqual({ taken: 0, refused: 5 })
    expect(beginnings('rejected.1.jsonl')).toEqual(['bad 3', 'bad 4'])
    expect(beginnings('rejected.jsonl')).toEqual(['bad 5'])
    // A hub that is started anew goes on where the last one stood.
    leave(`bad 6${half}\nbad 7${half}\nbad 8${half}\n`)
    const next = open()
    await next.takeAll(take)
    expect(beginnings('rejected.1.jsonl')).toEqual(['bad 5', 'bad 6'])
    expect(beginnings('rejected.jsonl')).toEqual(['bad 7', 'bad 8'])
    // A person may have removed what was full.
    fs.rmSync(path.join(directory, 'rejected.jsonl'))
    leave('bad 9\n')
    expect(await next.takeAll(take)).toEqual({ taken: 0, refused: 1 })
    expect(beginnings('rejected.jsonl')).toEqual(['bad 9'])
  })

  test('without an end is waited for, and then kept aside', async () => {
    const spool = open()
    leave('one\nhalf a li')
    expect(await spool.takeAll(take)).toEqual({ taken: 1, refused: 0 })
    const taken = names().find((name) => name.endsWith('.taken')) as string
    fs.appendFileSync(path.join(directory, taken), 'ne\nhalf ano')
    expect(await spool.takeAll(take)).toEqual({ taken: 1, refused: 0 })
    expect(handed).toEqual(['one', 'half a line'])
    ahead_ms = 10_000
    expect(await spool.takeAll(take)).toEqual({ taken: 0, refused: 1 })
    expect(refused()).toMatchObject([{ line: 'half ano' }])
    expect(names()).toEqual(['rejected.jsonl'])
  })

  test('is handed over by one taker at a time', async () => {
    const spool = open()
    leave('one\ntwo\n')
    await Promise.all([spool.takeAll(take), spool.takeAll(take)])
    expect(handed).toEqual(['one', 'two'])
  })
})
