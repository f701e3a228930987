import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { Figure, Goal } from '../../../bench/report/figures.ts'
import { met } from '../../../bench/report/verdict.mjs'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const run = promisify(execFile)
const BENCH = path.resolve(import.meta.dirname, '../../../bench')
const PLOTS = ['goals.svg', 'growth.svg', 'latency.svg', 'restart.svg', 'throughput.svg']

interface Row extends Figure {
  verdict: string
}

/** Parses the table of bench/README.md. */
const rows = fs
  .readFileSync(path.join(BENCH, 'README.md'), 'utf8')
  .split('\n')
  .flatMap((line): Row[] => {
    const cells = line.split('|').map((cell) => cell.trim())
    const [, name = '', value = '', limit = '', ratio = '', rounds = '', goal = '', verdict = ''] = cells
    if (!/ to /.test(rounds)) return []
    const [number = '', unit = ''] = value.split(' ')
    const read = (text: string) => Number(text.replaceAll(',', '').split(' ')[0])
    const figure = {
      ...{
        name: name.replaceAll('`', ''),
        value: read(number),
        unit,
        limit: read(limit),
        ratio: Number(ratio),
      },
      ...{ goal: goal === 'none' ? null : (`1: ${goal}` as Goal), method: `ratios ${rounds}` },
    }
    return [{ ...figure, verdict }]
  })
const goals = rows.filter(({ goal }) => goal !== null)

test('each line of the table matches its figures', () => {
  expect(goals.length).toBeGreaterThan(30)
  for (const row of goals) {
    const expected = row.verdict === 'met'
    const { name, ratio, goal } = row
    expect({ name, met: met(row) }).toEqual({ name, met: expected })
    expect({ name, met: met({ value: ratio, limit: 1, goal }) }).toEqual({ name, met: expected })
  }
})

test('the plot of the goals matches the table', () => {
  const svg = fs.readFileSync(path.resolve(BENCH, '../docs/explanation/performance/goals.svg'), 'utf8')
  const drawn = [...svg.matchAll(/text-anchor="end">(.*?)<\/text>\n<circle class="(good|bad)"/g)]
  expect(drawn.map(([, name, kind]) => [name, kind])).toEqual(
    goals.map(({ name, verdict }) => [name, verdict === 'met' ? 'good' : 'bad']),
  )
})

describe('of a file', () => {
  /** Draws these figures over existing plots; returns the renewed plots and the output. */
  async function drawn(lines: readonly Row[]): Promise<{ renewed: string[]; said: string[] }> {
    const place = temporaryDirectory()
    const source = path.join(place, 'out.jsonl')
    const plots = path.join(place, 'plots')
    fs.mkdirSync(plots)
    for (const name of PLOTS) fs.writeFileSync(path.join(plots, name), 'before')
    fs.writeFileSync(
      source,
      ['> turnbell@0.0.0 bench', ...lines.map((line) => JSON.stringify(line))].join('\n'),
    )
    const { stderr: said } = await run(process.execPath, [path.join(BENCH, 'plot.mjs'), source, plots])
    return {
      renewed: PLOTS.filter((name) => fs.readFileSync(path.join(plots, name), 'utf8') !== 'before'),
      said: said.replaceAll(source, 'FILE').split('\n').slice(0, -1),
    }
  }

  test('a file with all figures renews every plot', async () => {
    expect(await drawn(rows)).toEqual({ renewed: PLOTS, said: [] })
  })

  test('a file with a single line renews no plot', async () => {
    const { renewed, said } = await drawn(rows.filter(({ name }) => name === 'send-one'))
    expect(renewed).toEqual([])
    expect(said).toHaveLength(PLOTS.length)
    expect(said).toContain('latency.svg is unchanged: FILE has no doorbell')
  })

  test('a file without one figure leaves the plots of that figure unchanged', async () => {
    expect(await drawn(rows.filter(({ name }) => name !== 'redis-100'))).toEqual({
      renewed: PLOTS.slice(1, -1),
      said: [
        'goals.svg is unchanged: FILE has no redis-100',
        'throughput.svg is unchanged: FILE has no redis-100',
      ],
    })
  })

  test('a skipped benchmark counts as missing', async () => {
    const lines = rows.map((row) => (row.name === 'daemon-cpu' ? { ...row, value: null, ratio: null } : row))
    expect(await drawn(lines)).toEqual({
      renewed: PLOTS.slice(1),
      said: ['goals.svg is unchanged: FILE has no daemon-cpu'],
    })
  })

  test.each([
    ['no figures', '> turnbell@0.0.0 bench\n', [], 'has no figures'],
    ['half a line', '{"name":"send-one","val', [], 'has a line that is no figure: {"name":"send-one","val'],
    ['something else', '{"a":1}\n', [], 'has a line that is no figure: {"a":1}'],
    ['half a figure', '{"name":"peek","ratio":2.7}\n', [], 'has a line that is no figure: {"name":"peek"'],
    ['more than it reads', '', ['b', 'c'], 'usage: '],
  ])('a file that is, or has, %s is rejected, for the table as well', async (_, text, more, why) => {
    const source = path.join(temporaryDirectory(), 'out.jsonl')
    fs.writeFileSync(source, text)
    for (const program of ['plot.mjs', 'table.mjs']) {
      const asked = run(process.execPath, [path.join(BENCH, program), source, ...more])
      await expect(asked).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining(why) as string })
    }
  })

  test('no plots are drawn if the target is a file', async () => {
    const source = path.join(temporaryDirectory(), 'out.jsonl')
    fs.writeFileSync(source, JSON.stringify(rows[0]))
    const asked = run(process.execPath, [path.join(BENCH, 'plot.mjs'), source, source])
    await expect(asked).rejects.toMatchObject({ code: 2, stderr: `${source} is no directory\n` })
  })

  test('each goal of the table is required', async () => {
    const { said } = await drawn(rows.filter(({ goal }) => goal === null))
    const missing = said
      .find((line) => line.startsWith('goals.svg'))
      ?.split(' has no ')[1]
      ?.split(', ')
    expect(missing).toEqual(goals.map(({ name }) => name))
  })
})
