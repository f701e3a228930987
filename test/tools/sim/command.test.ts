import fs from 'node:fs'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { main, told } from '../../sim/main.ts'
import { openPool } from '../../sim/pool.ts'
import { calmEnding, throwOnExit } from '../../support/command/called-command.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

afterEach(() => vi.restoreAllMocks())

describe('invalid arguments', () => {
  const threads = { worker: 'package.json', tracer: 'package.json' }
  const complaints = () => vi.spyOn(process.stderr, 'write').mockReturnValue(true)

  test.each([
    ['--only 20-17', '"20-17" ends before it begins'],
    ['--only 30-50 --steps 40', '"30-50" goes beyond 40'],
    ['--only 0', '--only: the steps are 1-2000'],
    ['--seed=', '--seed: "" is no whole number'],
    ['--seed 4294967296', '--seed: "4294967296" is no whole number from 0 to 4294967295'],
    ['--seed 4294967295 --seeds 2', '--seed: there are not so many numbers behind'],
    ['--hours=', '--hours: "" is no number above 0'],
    ['--hours 1 --seeds 5', '--hours takes seeds until so long is over'],
    ['--jobs 257', '--jobs: "257" is no whole number from 1 to 256'],
    ['--keep=', '--keep: is empty'],
    ['--trace --seeds 2', '--trace prints a single run'],
    ['--trace --hours 1', '--trace prints a single run'],
    ['--trace --keep night.jsonl', '--trace prints a single run'],
    ['--trace --jobs 2', '--trace prints a single run as it is'],
    ['--trace --no-shrink', '--trace prints a single run as it is'],
    ['--keep nowhere/night.jsonl', 'nowhere is no directory'],
    ['--keep /dev/null', '--keep: /dev/null is no file'],
    ['--keep test', '/test is no file'],
  ])('invalid arguments are rejected with the help: %s', async (line, why) => {
    const said = complaints()
    throwOnExit()
    await expect(main(line.split(' '), threads, calmEnding)).rejects.toThrow('ends with 2')
    expect(said.mock.calls.join()).toMatch(why)
    expect(said.mock.calls.join()).toContain('usage:')
  })

  test('a link as the results file is rejected, because a file would replace it', async () => {
    const link = path.join(temporaryDirectory(), 'night.jsonl')
    fs.symlinkSync('elsewhere.jsonl', link)
    const said = complaints()
    throwOnExit()
    await expect(main(['--keep', link], threads, calmEnding)).rejects.toThrow('ends with 2')
    expect(said.mock.calls.join()).toContain(`--keep: ${link} is no file itself`)
  })

  test('a results file that was not written by such a run is rejected', async () => {
    const said = complaints()
    expect(await main(['--keep', 'package.json'], threads, calmEnding)).toBe(2)
    expect(said.mock.calls.join()).toContain(`--keep: ${path.resolve('package.json')} is something else`)
  })
})

describe('runs', () => {
  let place: string
  let threads: { worker: string; tracer: string }
  beforeEach(() => {
    place = temporaryDirectory()
    fs.writeFileSync(path.join(place, 'package.json'), '{"type":"module"}')
    threads = { worker: path.join(place, 'worker.js'), tracer: path.join(place, 'tracer.js') }
  })

  /** Fake workers that print their options `seed`, `steps` and `only`. */
  function workers(broken: string): void {
    const says = `({ seed, steps, only }) => {
      fs.appendFileSync('${place}/runs', seed + '\\n')
      parentPort.postMessage({ seed, steps, broken: ${broken}, counts: { turns: 2 } })
    }`
    const uses =
      "import fs from 'node:fs'\nimport { parentPort } from 'node:worker_threads'\nconst none = null\n"
    fs.writeFileSync(threads.worker, `${uses}parentPort.on('message', ${says})`)
  }
  const runs = () => fs.readFileSync(`${place}/runs`, 'utf8').trimEnd().split('\n')

  async function run(line: string): Promise<{ code: number; said: string }> {
    const said = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
    vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const code = await main(line.split(' '), threads, calmEnding)
    const text = said.mock.calls.map(([part]) => String(part)).join('')
    said.mockRestore()
    return { code, said: text }
  }

  test('runs are counted with their number of steps', async () => {
    workers("seed === 8 ? { promise: 'x', detail: 'x', step: 4 } : none")
    const { code, said } = await run('--seed 7 --seeds 2 --steps 50 --no-shrink')
    expect([code, said]).toEqual([1, expect.stringMatching(/turns 4\nseeds 2, steps 54, failed 1/)])
    expect((await run('--seed 7 --only 3,9 --steps 50')).said).toContain('seeds 1, steps 2, failed 0')
  })

  test('a command that tries nothing exits with 2', async () => {
    workers('none')
    expect((await run('--hours 1e-12')).code).toBe(2)
    expect(fs.existsSync(`${place}/runs`)).toBe(false)
  })

  test('a run that breaks before its first step is not shrunk', async () => {
    workers("{ promise: 'x', detail: 'x', step: 0 }")
    const { said } = await run('--seed 7')
    expect(said).not.toContain('shrunk')
    expect(runs()).toEqual(['7'])
  })

  test('a hanging run is not repeated for shrinking', async () => {
    fs.writeFileSync(
      threads.worker,
      "import { parentPort } from 'node:worker_threads'\nparentPort.on('message', () => {})",
    )
    const pool = openPool(threads.worker, 1, () => 1)
    const { broken } = await pool.run({ seed: 7, steps: 50 })
    await pool.close()
    expect(broken).toEqual({
      promise: 'every run ends',
      detail: 'every run ends: it comes to no end',
      step: 0,
    })
    expect(told({ seed: 7, steps: 50, broken, counts: {} }, undefined)).toMatch(/^seed 7 broke a promise\n/)
  })

  test('a run whose thread exits counts as failed, and the next run has another thread', async () => {
    fs.writeFileSync(
      threads.worker,
      `import { parentPort } from 'node:worker_threads'
      parentPort.on('message', ({ seed, steps }) => {
        if (seed === 7) process.exit(3)
        parentPort.postMessage({ seed, steps, broken: null, counts: {} })
      })`,
    )
    const pool = openPool(threads.worker, 1)
    const broken = async (seed: number) => (await pool.run({ seed, steps: 50 })).broken
    expect(await broken(7)).toEqual({
      promise: 'nothing breaks',
      detail: 'nothing breaks: its thread ended with 3',
      step: 50,
    })
    expect(await broken(8)).toBeNull()
    await pool.close()
  })

  test('a late failure that ends its thread is reported by the next run at the latest', async () => {
    fs.writeFileSync(
      threads.worker,
      `import { parentPort } from 'node:worker_threads'
      parentPort.on('message', ({ seed, steps }) => {
        parentPort.postMessage({ seed, steps, broken: null, counts: {} })
        if (seed === 7) process.exit(3)
      })`,
    )
    const pool = openPool(threads.worker, 1)
    const broken = async (seed: number) => (await pool.run({ seed, steps: 50 })).broken
    expect(await broken(7)).toBeNull()
    expect(await broken(8)).toMatchObject({ promise: 'nothing breaks' })
    expect(await broken(9)).toBeNull()
    await pool.close()
  })

  test('a thread that exits in the turn of its result is reported by the next run', async () => {
    workers('none')
    const pool = openPool(threads.worker, 1)
    vi.spyOn(Worker.prototype, 'postMessage').mockImplementationOnce(function (this: Worker, asked: object) {
      // Node delivers a thread's messages before it reports its end.
      this.emit('message', { ...asked, broken: null, counts: {} })
      this.emit('exit', 3)
      void this.terminate()
    })
    const broken = async (seed: number) => (await pool.run({ seed, steps: 50 })).broken
    expect(await broken(7)).toBeNull()
    expect(await broken(8)).toMatchObject({ promise: 'nothing breaks' })
    expect(await broken(9)).toBeNull()
    await pool.close()
  })

  test('a stored failing run is shrunk once on request', async () => {
    workers("only === undefined || only.has(2) ? { promise: 'x', detail: 'x', step: 2 } : none")
    const line = `--seed 7 --steps 3 --keep ${place}/night.jsonl`
    expect((await run(`${line} --no-shrink`)).said).not.toContain('shrunk')
    expect(runs()).toHaveLength(1)
    const shrunk = 'shrunk to 1 steps: npm run sim -- --seed 7 --steps 3 --only 2\n'
    expect((await run(line)).said).toContain(shrunk)
    const tried = runs().length
    expect((await run(line)).said).toContain(shrunk)
    expect(runs()).toHaveLength(tried)
  })

  test('passed runs are stored together, and not repeated', async () => {
    workers('none')
    const file = `${place}/night.jsonl`
    await run(`--seed 7 --seeds 3 --steps 50 --keep ${file}`)
    const { said } = await run(`--seed 7 --seeds 4 --steps 50 --keep ${file}`)
    expect(said).toMatch(/^turns 8\nseeds 4, steps 200, failed 0,/)
    expect(runs()).toHaveLength(4)
    await run(`--seed 7 --seeds 4 --steps 50 --keep ${file}`)
    const [head, ...lines] = fs.readFileSync(file, 'utf8').trimEnd().split('\n')
    expect(head).toContain('"steps":50')
    expect(lines).toEqual(['{"passed":"7-10","counts":{"turns":8}}'])
  })

  test('runs passed together with others are not repeated, but their counts are unknown', async () => {
    workers('none')
    const keep = `--keep ${place}/night.jsonl`
    await run(`--seed 7 --seeds 3 ${keep}`)
    expect((await run(`--seed 9 --seeds 2 ${keep}`)).said).toContain('turns 2\nseeds 2, steps 4000,')
    expect((await run(`--seed 7 --seeds 4 ${keep}`)).said).toContain('turns 8\nseeds 4,')
    expect(runs()).toHaveLength(4)
  })

  test('a command that cannot store its results ends with the reason', async () => {
    workers(`(fs.rmSync('${place}/kept', { recursive: true, force: true }), none)`)
    const file = `${place}/kept/night.jsonl`
    fs.mkdirSync(`${place}/kept`)
    const line = `--seed 7 --seeds 3 --jobs 1 --keep ${file}`
    await expect(main(line.split(' '), threads, calmEnding)).rejects.toThrow(
      `--keep: ${file} cannot be written`,
    )
  })

  test('stored runs do not count as tried when the time is over', async () => {
    workers('none')
    const keep = `--keep ${place}/night.jsonl`
    await run(`--seed 7 --seeds 3 ${keep}`)
    expect((await run(`--hours 1e-12 ${keep}`)).code).toBe(2)
  })

  test('runs are traced step by step', async () => {
    const tells = [
      { step: 1, action: 'sends', now: 1234 },
      { result: { seed: 7, steps: 1, broken: null, counts: { turns: 2 } } },
    ]
    fs.writeFileSync(
      threads.tracer,
      `import { parentPort } from 'node:worker_threads'\nfor (const one of ${JSON.stringify(tells)}) parentPort.postMessage(one)`,
    )
    expect(await run('--seed 7 --steps 1 --trace')).toEqual({
      code: 0,
      said: '    1       1.234 s  sends\n{"turns":2}\n',
    })
  })

  test('a broken promise is printed with the command that breaks it again', () => {
    const broken = { promise: 'x', detail: 'x was lost', step: 7 }
    const result = { seed: 3, steps: 40, broken, counts: {} }
    expect(told(result, undefined)).toContain('npm run sim -- --seed 3 --steps 40\n')
    expect(told(result, new Set([5, 6, 7]))).toContain('npm run sim -- --seed 3 --steps 40 --only 5-7\n')
  })
})
