/**
 * What a hub itself keeps in its spool: lines it has taken, how far it got with them, what waits and what was refused. Which
 * lines wait and which are whole is asked of the product's own readers.
 */
import { isDeepStrictEqual } from 'node:util'
import { jsonIn } from '../../../src/contracts/json.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import type { Spool, Taken } from '../../../src/ports/spool.ts'
import { openSpool } from '../../../src/storage/file/spool.ts'
import { openSyncedLines } from '../../../src/storage/file/synced-lines.ts'
import { openWaitingLines, type WaitingLine } from '../../../src/storage/file/waiting-lines.ts'
import { createIds } from '../../../src/system/random.ts'
import { fakeClock, seededRandom } from '../../support/fake-clock.ts'
import { MemoryDisk } from '../../support/memory-disk.ts'
import { inOne, NEXT, partsOf } from '../parts.ts'
import { insist, type Target } from '../target.ts'

const HOME = '/hub/spool'
const TAKEN = '01JZ0000000000000000000000.taken'
const WAITING = `${HOME}/waiting.jsonl`
const REJECTED = `${HOME}/rejected.jsonl`
/** In the order in which an input says them. */
const FILES = [`${HOME}/hooks.jsonl`, `${HOME}/${TAKEN}`, `${HOME}/${TAKEN}.done`, WAITING, REJECTED]
const NEWLINE = 10

export const spoolFiles: Target = {
  name: 'spool-files',
  promise:
    'whatever stands in its own files, a spool hands out each line that is not done once, and none is lost that is not taken',
  share: 1,
  words: [NEXT, 'later', 'broke', 'refuse', '"over":true', `${TAKEN}:0`, `${TAKEN}:8`, '16\n'],

  open() {
    const waiting = (key: string, line: string, tries = 0) =>
      JSON.stringify({ key, line, since: '2026-03-01T11:00:00.000Z', tries })
    const rejected = JSON.stringify({ reason: 'x', at: 'x', key: 'other.taken:0', line: 'refuse 0' })
    return {
      seeds: [
        inOne(['one 1\nlater 2\n', 'three 3\nfour 4 \n', '', '', '']),
        inOne(['', 'three 3\nbroke 4\n', '8\n', `${waiting('a.taken:0', 'later 5')}\n`, `${rejected}\n`]),
        inOne([
          'refuse 1\nhalf',
          'three 3\nlater 4\nfive 5\nhalf',
          '0\n8\n',
          `${waiting(`${TAKEN}:8`, 'later 4')}\n${waiting('a.taken:0', 'broke 5', 4)}\n`,
          '',
        ]),
        // Whoever wrote the lines did not sync them, and a power cut took the last one.
        inOne(['six 6\n', 'three 3\nla', '8\n', `${waiting(`${TAKEN}:8`, 'later 4')}\n`, '']),
        inOne([
          '\n \n',
          '',
          '12',
          `${waiting('a.taken:0', 'x')}\n{"key":"a.taken:0","over":true}\n${waiting('b.taken:0', 'later 6')}\n`,
          '{"half',
        ]),
      ],
      async attempt(input) {
        const parts = partsOf(input, FILES.length)
        const disk = new MemoryDisk()
        for (const [at, file] of FILES.entries())
          if (parts[at]?.length !== 0) disk.put(file, parts[at] ?? Buffer.alloc(0))
        await judgeWaiting(disk.afterKill())

        const due = dueIn(disk.afterKill())
        const handed = await hubOn(disk).take()
        insist(
          isDeepStrictEqual(handed, due.lines),
          () =>
            `not what was due is handed out: ${JSON.stringify(handed)} and not ${JSON.stringify(due.lines)}`,
        )
        if (due.in_turn && !due.told) judgeKept(disk.afterKill(), handed)

        const second = hubOn(disk.afterKill())
        const waits = waitingIn(second.disk).map(({ line }) => line)
        const again = await second.take()
        insist(
          isDeepStrictEqual(again, waits),
          () =>
            `more is handed out again than what waits: ${JSON.stringify(again)}, not ${JSON.stringify(waits)}`,
        )
        await second.clock.advance(LIMITS.spool_quiet_ms)
        await second.take()
        const left = second.disk.names().filter((name) => name.includes('.taken'))
        insist(left.length === 0, () => `these stay for ever: ${left.join(' ')}`)
        return `${Math.min(handed.length, 3)} ${Math.min(waits.length, 3)}`
      },
    }
  },
}

/** A hub that takes all there is, once each time it is told to. */
function hubOn(disk: MemoryDisk) {
  const clock = fakeClock()
  const spool: Spool = openSpool({ directory: HOME, clock, ids: createIds(clock, seededRandom()), disk })
  return {
    disk,
    clock,
    async take(): Promise<string[]> {
      const handed: string[] = []
      await spool.takeAll(async (line) => {
        handed.push(line)
        return fateOf(line)
      })
      return handed
    },
  }
}

function fateOf(line: string): Taken {
  if (line.includes('later')) return { later: 'not yet' }
  if (line.includes('broke')) return { broke: 'a bug' }
  return line.includes('refuse') ? { refused: 'never' } : 'taken'
}

function waitingIn(disk: MemoryDisk): WaitingLine[] {
  return openWaitingLines(disk, WAITING).all()
}

interface Due {
  /** What waits, then what is left of the lines that were taken before, then what has come since. */
  lines: string[]
  /** A line is put among those that wait where its turn has come: none that waits has its turn still before it. */
  in_turn: boolean
  /** Of one of these it is said already that it was refused, so that it is not said again. */
  told: boolean
}

function dueIn(disk: MemoryDisk): Due {
  const [hooks, taken, note] = FILES as [string, string, string]
  const waiting = waitingIn(disk)
  const { found } = openSyncedLines(disk, note)
  const offset = Number(found.findLast((line) => /^\d+$/.test(line)) ?? 0)
  const left = linesIn((disk.readFile(taken) ?? Buffer.alloc(0)).subarray(offset))
  const keys = new Set(waiting.map(({ key }) => key))
  const places = waiting.flatMap(({ key }) => (key.startsWith(`${TAKEN}:`) ? Number(key.split(':')[1]) : []))
  // Of the line whose turn has come nobody had noted any more that it waits.
  const fresh = [
    ...left.slice(keys.has(`${TAKEN}:${offset}`) ? 1 : 0),
    ...linesIn(disk.readFile(hooks) ?? Buffer.alloc(0)),
  ]
  return {
    lines: [...waiting.map(({ line }) => line), ...fresh.filter((line) => line.trim() !== '')],
    in_turn: places.every((place) => place <= offset),
    told: rejectedIn(disk).some(({ key }) => keys.has(key) || key.startsWith(TAKEN)),
  }
}

/** Those that came to their end. */
function linesIn(bytes: Buffer): string[] {
  return bytes
    .subarray(0, bytes.lastIndexOf(NEWLINE) + 1)
    .toString()
    .split('\n')
    .slice(0, -1)
}

/** Each line that was handed out is taken, waits, or was refused for good. */
function judgeKept(disk: MemoryDisk, handed: readonly string[]): void {
  const kept = new Set([...waitingIn(disk), ...rejectedIn(disk)].map(({ line }) => line))
  for (const line of handed)
    insist(
      fateOf(line) === 'taken' || kept.has(line),
      () => `this line is nowhere any more: ${JSON.stringify(line)}`,
    )
}

function rejectedIn(disk: MemoryDisk): { key: string; line: string }[] {
  return linesIn(disk.readFile(REJECTED) ?? Buffer.alloc(0)).flatMap((text) => {
    const said = jsonIn(text)
    if (typeof said !== 'object' || said === null || !('key' in said)) return []
    return { key: String(said.key), line: 'line' in said ? String(said.line) : '' }
  })
}

/** What is said of one line holds from then on, and changes nothing about the others. */
async function judgeWaiting(disk: MemoryDisk): Promise<void> {
  const lines = openWaitingLines(disk, WAITING)
  const before = lines.all()
  const bytes = before.reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one)), 0)
  insist(
    lines.bytes() === bytes && lines.size() === before.length,
    () => `${lines.bytes()} bytes, not ${bytes}`,
  )
  const fresh = { key: 'fresh.taken:0', line: 'fresh', since: '2026-03-01T12:00:00.000Z', tries: 0 }
  const [first, second] = before.filter(({ key }) => key !== fresh.key)
  const others = before
    .filter(({ key }) => key !== first?.key && key !== fresh.key)
    .map((one) => (one === second ? { ...one, tries: 1 - one.tries } : one))
  if (first !== undefined) await lines.over(first.key)
  if (second !== undefined) await lines.put({ ...second, tries: 1 - second.tries })
  await lines.put(fresh)
  const sorted = (all: readonly WaitingLine[]) => all.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const is = (expected: readonly WaitingLine[], when: string) => {
    const found = sorted(waitingIn(disk.afterKill()))
    insist(isDeepStrictEqual(found, sorted(expected)), () => `${when} there wait ${JSON.stringify(found)}`)
  }
  is([...others, fresh], 'after a kill')
  lines.tidy()
  is([...others, fresh], 'tidied up')
  await lines.over(fresh.key)
  is(others, 'after the last word on one')
}
