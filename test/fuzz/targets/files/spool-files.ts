/**
 * Fuzzes the hub's own files in its spool: taken lines, the progress with them, waiting lines and rejected ones. The
 * product's own readers determine which lines are waiting or complete.
 */
import { isDeepStrictEqual } from 'node:util'
import { parseJsonOrNull } from '../../../../src/contracts/validation/json.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { Spool, LineOutcome } from '../../../../src/ports/spool.ts'
import { openSpool } from '../../../../src/storage/file/spool/spool.ts'
import { openSyncedLines } from '../../../../src/storage/file/project/synced-lines.ts'
import { openDeferredLines, type DeferredLine } from '../../../../src/storage/file/spool/deferred-lines.ts'
import { createIds } from '../../../../src/system/random.ts'
import { fakeClock, seededRandom } from '../../../support/fakes/fake-clock.ts'
import { eachLine } from '../../../support/each-line.ts'
import { MemoryDisk } from '../../../support/disk/memory-disk.ts'
import { inOne, NEXT, partsOf } from '../../parts.ts'
import { insist, type Target } from '../../target.ts'

const HOME = '/hub/spool'
const TAKEN = '01JZ0000000000000000000000.taken'
const WAITING = `${HOME}/waiting.jsonl`
const REJECTED = `${HOME}/rejected.jsonl`
/** The order of the files in an input. */
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
        // The writer did not sync the lines, and a power cut removed the last one.
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

/** A hub that processes all lines once per call. */
function hubOn(disk: MemoryDisk) {
  const clock = fakeClock()
  const spool: Spool = openSpool({ directory: HOME, clock, ids: createIds(clock, seededRandom()), disk })
  return {
    disk,
    clock,
    async take(): Promise<string[]> {
      const handed: string[] = []
      await spool.consume(
        eachLine(async (line) => {
          handed.push(line)
          return fateOf(line)
        }),
      )
      return handed
    },
  }
}

function fateOf(line: string): LineOutcome {
  if (line.includes('later')) return { later: 'not yet' }
  if (line.includes('broke')) return { broke: 'a bug' }
  return line.includes('refuse') ? { refused: 'never' } : 'taken'
}

function waitingIn(disk: MemoryDisk): DeferredLine[] {
  return openDeferredLines(disk, WAITING).all()
}

interface Due {
  /** Waiting lines, then the rest of earlier taken lines, then new lines. */
  lines: string[]
  /** A line joins the waiting ones when it is due, in order: no waiting line before it is still due. */
  in_turn: boolean
  /** The rejection of one of these lines has already been reported and is not reported again. */
  told: boolean
}

function dueIn(disk: MemoryDisk): Due {
  const [hooks, taken, note] = FILES as [string, string, string]
  const waiting = waitingIn(disk)
  const { found } = openSyncedLines(disk, note)
  const offset = Number(found.findLast((line) => /^\d+$/.test(line)) ?? 0)
  const bytes = disk.readFile(taken) ?? Buffer.alloc(0)
  const keys = new Set(waiting.map(({ key }) => key))
  const places = waiting.flatMap(({ key }) => (key.startsWith(`${TAKEN}:`) ? Number(key.split(':')[1]) : []))
  // Due lines that were no longer recorded as waiting.
  const left: string[] = []
  for (let at = offset; bytes.indexOf(NEWLINE, at) !== -1; at = bytes.indexOf(NEWLINE, at) + 1)
    if (!keys.has(`${TAKEN}:${at}`)) left.push(bytes.toString('utf8', at, bytes.indexOf(NEWLINE, at)))
  const fresh = [...left, ...linesIn(disk.readFile(hooks) ?? Buffer.alloc(0))]
  return {
    lines: [...waiting.map(({ line }) => line), ...fresh.filter((line) => line.trim() !== '')],
    in_turn: places.every((place) => place <= offset),
    told: rejectedIn(disk).some(({ key }) => keys.has(key) || key.startsWith(TAKEN)),
  }
}

/** Returns the complete lines. */
function linesIn(bytes: Buffer): string[] {
  return bytes
    .subarray(0, bytes.lastIndexOf(NEWLINE) + 1)
    .toString()
    .split('\n')
    .slice(0, -1)
}

/** Throws unless each handed-out line is taken, waiting, or finally rejected. */
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
    const said = parseJsonOrNull(text)
    if (typeof said !== 'object' || said === null || !('key' in said)) return []
    return { key: String(said.key), line: 'line' in said ? String(said.line) : '' }
  })
}

/** Throws unless a statement about one line persists and does not change the others. */
async function judgeWaiting(disk: MemoryDisk): Promise<void> {
  const lines = openDeferredLines(disk, WAITING)
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
  if (first !== undefined) await lines.change([], [first.key])
  if (second !== undefined) await lines.change([{ ...second, tries: 1 - second.tries }], [])
  await lines.change([fresh], [])
  const sorted = (all: readonly DeferredLine[]) => all.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const is = (expected: readonly DeferredLine[], when: string) => {
    const found = sorted(waitingIn(disk.afterKill()))
    insist(isDeepStrictEqual(found, sorted(expected)), () => `${when} there wait ${JSON.stringify(found)}`)
  }
  is([...others, fresh], 'after a kill')
  lines.tidy()
  is([...others, fresh], 'tidied up')
  await lines.change([], [fresh.key])
  is(others, 'after the last word on one')
}
