import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { explore, type Tried } from '../../crash-points/explore.ts'
import { leaveLine, withSaid } from '../../crash-points/hub-process.ts'
import { main, type Wanted } from '../../crash-points/main.ts'
import type { SoFar } from '../../crash-points/slice.ts'
import { keepTold, readStory, traceIn } from '../../crash-points/story.ts'
import type { FileCall } from '../../crash-points/trace.ts'
import { calmEnding } from '../../support/command/called-command.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

afterEach(() => vi.restoreAllMocks())

const COMMAND = path.resolve('test/crash-points/run.mjs')

describe('npm run crash-points', () => {
  const refused = (...args: string[]) =>
    new Promise<{ code: unknown; said: string; complained: string }>((resolve) => {
      execFile(process.execPath, [COMMAND, ...args], { cwd: '/' }, (error, said, complained) =>
        resolve({ code: error?.code ?? 0, said, complained }),
      )
    })

  test.each([
    ['--variant killed', '--variant is a state of one point: it needs --at'],
    ['--at 5', '--at is a point of a story that was kept'],
    ['--at 5 --from / --points 9', '--at is the one point: it goes with no --points or --starts'],
    ['--at 5 --from / --starts 8', '--at is the one point: it goes with no --points or --starts'],
    ['--points 0 --starts 0', '--points and --starts are both 0'],
    ['--torn=-1', '--torn: "-1" is no whole number from 0'],
    ['--from nowhere', '--from: /nowhere is no directory'],
  ])('npm run crash-points rejects %s with 2, before anything is bundled', async (line, why) => {
    const { code, said, complained } = await refused(...line.split(' '))
    expect([code, said]).toEqual([2, ''])
    expect(complained).toContain(why)
  })
})

/** Three points: a directory, a file in it, and a write. */
function storyIn(directory: string): void {
  const root = path.join(temporaryDirectory(), 'root')
  const calls: FileCall[] = [
    { do: 'make_directory', path: `${root}/home` },
    { do: 'open', handle: '1', path: `${root}/home/file`, made: true, emptied: false },
    { do: 'open', handle: '2', path: `${root}/home/file`, made: false, emptied: false },
    { do: 'write', handle: '2', at: 0, base64: 'eHg=', changed_at: 1 },
  ]
  fs.writeFileSync(traceIn(directory), calls.map((call) => `${JSON.stringify(call)}\n`).join(''))
  keepTold(directory, { root, steps: [], receipts: [], operator_token: '', now_ms: 1 })
}

function tried(more: Partial<Tried>): Tried {
  return {
    ...{ points: { writes: 3 }, points_tried: 0, starts: 0, points_of_starts: 0 },
    ...{ states: 0, recovered: 0, failures: [], ...more },
  }
}

/** Runs the command with a test program in place of its recording and exploring processes; returns its output. */
async function run(values: Partial<Wanted>, program: string) {
  const place = temporaryDirectory()
  const file = path.join(place, 'program.mjs')
  fs.writeFileSync(file, program)
  const [lines, complaints]: [string[], string[]] = [[], []]
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line))
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => complaints.push(String(text)) > 0)
  const acts: (() => unknown)[] = []
  const kept: string[] = []
  const ending = {
    ...calmEnding,
    removes(made: string) {
      onTestFinished(() => fs.rmSync(made, { recursive: true, force: true }))
      return made
    },
    keeps: (made: string) => void kept.push(made),
    onInterrupt: (act: () => unknown) => void acts.push(act),
  }
  const programs = { command: 'node run.mjs', recorded: file, slice: file }
  const outcome = await main({ seed: 1, torn: 2, starts: 0, ...values }, programs, ending).catch(String)
  return {
    ...{ outcome, kept, complained: complaints.join('') },
    said: lines.splice(0).join('\n'),
    /** Simulates Ctrl-C. */
    interrupt: () => {
      acts[0]?.()
      return lines.splice(0).join('\n')
    },
  }
}

/** A part that sends these messages and exits with a code. */
const says = (words: SoFar[], code = 0) => `
  for (const word of ${JSON.stringify(words)}) await new Promise((resolve) => process.send(word, resolve))
  process.exit(${code})`

describe('a stored story', () => {
  const failure = { at: 4, call: 'a write', variant: 'killed', wrong: ['the signal is gone'] }

  test('the summary combines the results of all parts', async () => {
    const from = temporaryDirectory()
    storyIn(from)
    const words: SoFar[] = [
      { tried: tried({ points_tried: 1, states: 4 }), whole: false },
      { tried: tried({ points_tried: 3, states: 12, recovered: 5 }), whole: true },
    ]
    const { outcome, said } = await run({ from, starts: 1 }, says(words))
    expect(outcome).toBe(0)
    expect(said).toContain('points: 3 (writes 3); tried: 6;')
    expect(said).toContain('states tried: 24, with 10 starts; failures 0')
  })

  test('a failure is printed with a command that repeats it from anywhere', async () => {
    const from = temporaryDirectory()
    storyIn(from)
    const whole = tried({ states: 1, failures: [failure] })
    const { outcome, said, kept } = await run(
      { from: path.relative('', from), at: 4, variant: 'killed' },
      says([{ tried: whole, whole: true }]),
    )
    expect([outcome, kept]).toEqual([1, [from]])
    expect(said).toContain(`again: node run.mjs --from ${from} --seed 1 --torn 2 --at 4 --variant killed`)
  })

  test('the results so far are printed when a part dies, and after Ctrl-C', async () => {
    const from = temporaryDirectory()
    storyIn(from)
    const so_far = tried({ points_tried: 2, states: 9, failures: [failure] })
    const { outcome, said, kept, interrupt } = await run({ from }, says([{ tried: so_far, whole: false }]))
    expect([outcome, kept]).toEqual(['Error: a part of the run ended (0)', [from, from]])
    expect(said).toContain('tried: 2;')
    expect(said).toContain('FAILED  point 4, killed')
    expect(interrupt()).toBe(`interrupted; so far:\n${said}`)
  })

  test('no result is printed after Ctrl-C before the first point', async () => {
    const from = temporaryDirectory()
    storyIn(from)
    const { outcome, said, interrupt } = await run({ from }, says([], 7))
    expect([outcome, said]).toEqual(['Error: a part of the run ended (7)', ''])
    expect(interrupt()).toBe('interrupted before the first point was tried')
  })

  test('a call that changes nothing is not a point', async () => {
    const from = temporaryDirectory()
    storyIn(from)
    const { outcome, complained } = await run({ from, at: 3 }, '')
    expect(outcome).toBe(2)
    expect(complained).toBe(
      '--at: nothing can be lost at call 3, of points from 1 to 4; one beside it is 4\n',
    )
  })

  test('each point is reported once tried, with the total number', async () => {
    const from = temporaryDirectory()
    storyIn(from)
    const told: string[] = []
    await explore(readStory(from), {
      // No point has such a state, so no hub has to be started.
      ...{ seed: 1, torn: 1, only: 'none', wanted: (at) => at !== 2 },
      onTried: ({ points, points_tried }) => told.push(JSON.stringify([points_tried, points])),
    })
    const points = { 'directories made': 1, creations: 1, writes: 1 }
    expect(told).toEqual([JSON.stringify([1, points]), JSON.stringify([2, points])])
  })
})

describe('warnings of recorded processes', () => {
  const warns = (code: number) => `
    process.stderr.write('warn: something is torn\\n')
    process.exitCode = ${code}
    process.disconnect()`

  test('warnings are printed if the recording fails', async () => {
    const { outcome, complained, interrupt } = await run({}, warns(3))
    expect([outcome, complained]).toEqual(['Error: the recorded hub ended (3)', 'warn: something is torn\n'])
    expect(interrupt()).toBe('interrupted before all was recorded: nothing was tried')
  })

  test('warnings are not printed if the recording succeeds', async () => {
    const place = temporaryDirectory()
    const program = path.join(place, 'program.mjs')
    fs.writeFileSync(program, warns(0))
    const recording = { program, root: place, trace: path.join(place, 'trace.jsonl') }
    const shown = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const left = { type: 'post', root: place, entry: { entry_type: 'finding', summary: 'x' } } as const
    await withSaid(recording, () => leaveLine(recording, 0, left))
    expect(shown.mock.calls.join('')).toBe('')
    expect(fs.readdirSync(place)).toEqual(['program.mjs'])
  })
})
