import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { SPOOL_FILE } from '../../../../src/contracts/spool/spool.ts'
import type { LineOutcome } from '../../../../src/ports/spool.ts'
import { openSpool } from '../../../../src/storage/file/spool/spool.ts'
import { systemClock } from '../../../../src/system/clock.ts'
import { createIds, systemRandom } from '../../../../src/system/random.ts'
import { eachLine } from '../../../support/each-line.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

let directory: string
/** Difference between the clock and the files' times. */
let ahead_ms: number
let handed: string[]
/** Whether waiting lines can be processed. */
let ready: boolean

let notices: { reason: string; kept_in: string }[]

const open = () => {
  const spool = openSpool({
    directory,
    clock: { now: () => Date.now() + ahead_ms, monotonic: () => ahead_ms },
    ids: createIds(systemClock, systemRandom),
    onRefused: (notice) => void notices.push(notice),
  })
  return {
    ...spool,
    takeAll: (take: (line: string) => Promise<LineOutcome>) => spool.consume(eachLine(take)),
  }
}
const leave = (text: string) => fs.appendFileSync(path.join(directory, SPOOL_FILE), text)
const names = () => fs.readdirSync(directory).toSorted()
const refused = () =>
  fs
    .readFileSync(path.join(directory, 'rejected.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { line: string; reason: string })
const waiting = () => fs.readFileSync(path.join(directory, 'waiting.jsonl'), 'utf8').trim().split('\n')
const take = async (line: string): Promise<LineOutcome> => {
  if (line.startsWith('waits') && !ready) return { later: 'not now' }
  if (line.startsWith('breaks')) return { broke: 'it fell down' }
  handed.push(line)
  return line.startsWith('bad') ? { refused: 'it is bad' } : 'taken'
}

beforeEach(() => {
  directory = temporaryDirectory()
  ahead_ms = 0
  handed = []
  notices = []
  ready = false
})

describe('spooled lines', () => {
  test('spooled lines are passed once, in order, and then removed', async () => {
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

  test('an empty or missing spool passes nothing', async () => {
    const spool = open()
    expect(await spool.takeAll(take)).toEqual({ taken: 0, refused: 0 })
    fs.rmSync(directory, { recursive: true })
    expect(await spool.takeAll(take)).toEqual({ taken: 0, refused: 0 })
  })

  test('a line is passed if its writer opened the file before it was taken', async () => {
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

  test('a line is passed if its writer wrote while another line was handled, however long that took', async () => {
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

  test('a rejected line is stored with the reason', async () => {
    const spool = open()
    leave('one\nbad one\ntwo\n')
    expect(await spool.takeAll(take)).toEqual({ taken: 2, refused: 1 })
    expect(refused()).toMatchObject([{ line: 'bad one', reason: 'it is bad' }])
  })

  test('a deferred line is passed again later and blocks no line after it', async () => {
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

  test('a line deferred for too long is rejected with the reason', async () => {
    leave('waits\n')
    await open().takeAll(take)
    ahead_ms = LIMITS.spool_deferred_ms - 60_000
    expect(await open().takeAll(take)).toEqual({ taken: 0, refused: 0 })
    ahead_ms += 120_000
    expect(await open().takeAll(take)).toEqual({ taken: 0, refused: 1 })
    expect(refused()).toMatchObject([
      { line: 'waits', reason: expect.stringMatching(/deferred since .*: not now/) as string },
    ])
    expect(names()).not.toContain('waiting.jsonl')
  })

  test('lines beyond the maximum number or bytes of deferred lines are rejected with the reason', async () => {
    const long = `waits ${'x'.repeat(LIMITS.spool_deferred_bytes_max / 4)}\n`
    leave(`${long.repeat(4)}waits, but is short\n`)
    expect(await open().takeAll(take)).toEqual({ taken: 0, refused: 1 })
    expect(refused()).toMatchObject([
      { reason: expect.stringMatching(/too many lines are deferred: not now/) as string },
    ])
    expect(waiting()).toHaveLength(4)
    leave('good\n')
    await open().takeAll(take)
    expect(handed).toEqual(['good'])
  })

  test('a line that keeps failing is retried a limited number of times across processes, and then rejected', async () => {
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

  test('a group is passed again by the next process if the first one crashed in it', async () => {
    leave('one\ntwo\nthree\n')
    const dies = open().takeAll((line) => (line === 'two' ? Promise.reject(new Error('died')) : take(line)))
    await expect(dies).rejects.toThrow('died')
    leave('four\n')
    await open().takeAll(take)
    await open().takeAll(take)
    expect(handed).toEqual(['one', 'one', 'two', 'three', 'four'])
  })

  test('a line is passed once if its process crashed after deferring it and before recording that', async () => {
    leave('one\nwaits\ntwo\n')
    await open().takeAll(take)
    // The state if the process had died before that.
    fs.rmSync(path.join(directory, names().find((name) => name.endsWith('.done')) as string))
    ready = true
    expect(await open().takeAll(take)).toEqual({ taken: 3, refused: 0 })
    expect(handed).toEqual(['one', 'two', 'waits', 'one', 'two'])
  })

  test('a deferred line is passed once if a power cut removed the end of its file', async () => {
    leave('waits\n')
    await open().takeAll(take)
    const taken = names().find((name) => name.endsWith('.taken')) as string
    fs.rmSync(path.join(directory, `${taken}.done`), { force: true })
    fs.writeFileSync(path.join(directory, taken), 'wai')
    ready = true
    expect(await open().takeAll(take)).toEqual({ taken: 1, refused: 0 })
    expect(handed).toEqual(['waits'])
  })

  test('a rejected line is stored once if its process crashed before recording that, also when deferred lines are rejected first', async () => {
    leave('waits\n')
    await open().takeAll(take)
    leave('bad one\nbad two\n')
    await open().takeAll(take)
    // The state if the second one had not been recorded.
    const name = names().findLast((one) => one.endsWith('.done')) as string
    fs.writeFileSync(path.join(directory, name), `${'bad one\n'.length}\n`)
    ahead_ms = LIMITS.spool_deferred_ms + 60_000
    await open().takeAll(take)
    expect(refused().map(({ line }) => line)).toEqual(['bad one', 'bad two', 'waits'])
  })

  test('a closed spool finishes the current group, and the next process continues after it', async () => {
    const most = LIMITS.spool_batch_max
    leave(`${'one\n'.repeat(most)}two\n`)
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
    expect(await taking).toEqual({ taken: most, refused: 0 })
    expect(await spool.takeAll(take)).toEqual({ taken: 0, refused: 0 })
    expect(await open().takeAll(take)).toEqual({ taken: 1, refused: 0 })
    expect(handed.slice(-2)).toEqual(['one', 'two'])
  })

  test('rejected lines are appended to a rejected file that a person has edited', async () => {
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

  test('rejected lines are stored in two files, of which the older one is replaced', async () => {
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
    // A restarted hub continues where the last one stopped.
    leave(`bad 6${half}\nbad 7${half}\nbad 8${half}\n`)
    const next = open()
    await next.takeAll(take)
    expect(beginnings('rejected.1.jsonl')).toEqual(['bad 5', 'bad 6'])
    expect(beginnings('rejected.jsonl')).toEqual(['bad 7', 'bad 8'])
    // A person may have removed the full file.
    fs.rmSync(path.join(directory, 'rejected.jsonl'))
    leave('bad 9\n')
    expect(await next.takeAll(take)).toEqual({ taken: 0, refused: 1 })
    expect(beginnings('rejected.jsonl')).toEqual(['bad 9'])
  })

  test.each<[string, (file: string, elsewhere: string) => void]>([
    ['a link to a device', (file) => fs.symlinkSync('/dev/zero', file)],
    ['a link to a file', (file, elsewhere) => fs.symlinkSync(elsewhere, file)],
    ['a pipe', (file) => execFileSync('mkfifo', [file])],
    ['a directory', (file) => fs.mkdirSync(file)],
  ])('the spool works without %s in place of one of its files, which is quarantined', async (_, make) => {
    const elsewhere = path.join(temporaryDirectory(), 'file')
    fs.writeFileSync(elsewhere, 'theirs\n')
    const others = ['hooks.jsonl', 'waiting.jsonl', 'rejected.jsonl', '01KJMHHR00AAAAAAAAAAAAAAAA.taken']
    for (const name of others) make(path.join(directory, name), elsewhere)
    const spool = open()
    expect(await spool.takeAll(take)).toEqual({ taken: 0, refused: 0 })
    expect(notices.map(({ kept_in }) => path.basename(kept_in).split('.')[0]).toSorted()).toEqual([
      '01KJMHHR00AAAAAAAAAAAAAAAA',
      'hooks',
      'rejected',
      'waiting',
    ])
    expect(names().every((name) => name.endsWith('.not-plain'))).toBe(true)
    leave('one\nbad two\n')
    expect(await spool.takeAll(take)).toEqual({ taken: 1, refused: 1 })
    expect(fs.readFileSync(elsewhere, 'utf8')).toBe('theirs\n')
  })

  test('a line is read in pieces, and a line that is too long is rejected with its start', async () => {
    const long = 'x'.repeat(LIMITS.spool_line_bytes_max + 300_000)
    const many = Array.from({ length: 3_000 }, (_, n) => `line ${n} ${'y'.repeat(200)}`)
    leave(`${many.slice(0, 1_500).join('\n')}\n${long}\n${many.slice(1_500).join('\n')}\n`)
    expect(await open().takeAll(take)).toEqual({ taken: 3_000, refused: 1 })
    expect(handed).toEqual(many)
    expect(refused()).toMatchObject([{ line: expect.stringMatching(/^x{1000,20000}$/) as string }])
  })

  test('a line without newline is waited for, and then rejected', async () => {
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

  test('lines are passed by one call at a time', async () => {
    const spool = open()
    leave('one\ntwo\n')
    await Promise.all([spool.takeAll(take), spool.takeAll(take)])
    expect(handed).toEqual(['one', 'two'])
  })
})
