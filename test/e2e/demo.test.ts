/** Tests `turnbell demo` from the built package: it passes, and removes everything however it ends. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { end, start, turnbell, type Running } from '../support/processes/processes.ts'

interface Summary {
  ok: boolean
  home: string | null
  checks: { name: string; held: boolean; detail: string }[]
  directions: { sent: number; drained: number; drained_twice: number; sent_mid_turn: number }[]
  agents: { doorbells: number; turns: number; doorbells_mid_turn: number; most_doorbells_in_a_turn: number }[]
  hub: { first_pid: number; second_pid: number; killed_by: string }
}

const running: Running[] = []
const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'tbd-'))
const env = { TMPDIR: temporary }
const left = () => fs.readdirSync(temporary)

afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => end(one)))
  for (const name of left()) fs.rmSync(path.join(temporary, name), { recursive: true, force: true })
})

describe('the demo', () => {
  test('the demo passes every check with five signals each way and a killed hub', async () => {
    const ran = await turnbell(['demo', '--json'], { env })
    const summary = ran.json<Summary>()
    expect(summary.checks.filter(({ held }) => !held)).toEqual([])
    expect(ran.code).toBe(0)
    expect(summary.ok).toBe(true)
    for (const way of summary.directions) {
      expect(way.sent).toBeGreaterThanOrEqual(5)
      expect(way).toMatchObject({ drained: way.sent, drained_twice: 0 })
      expect(way.sent_mid_turn).toBeGreaterThan(0)
    }
    for (const agent of summary.agents) {
      expect(agent).toMatchObject({ most_doorbells_in_a_turn: 1, doorbells_mid_turn: 0 })
      expect(agent.doorbells).toBeLessThanOrEqual(agent.turns)
    }
    expect(summary.hub.killed_by).toBe('SIGKILL')
    expect(left()).toEqual([])
  })

  test('the demo prints each step with its time and the checks at the end', async () => {
    const ran = await turnbell(['demo'], { env })
    expect(ran.stdout).toMatch(/^ +\d+ ms {2}the hub is ready at http/m)
    expect(ran.stdout).toMatch(/kill -9: the hub \(process \d+\) ends/)
    expect(ran.stdout).toMatch(/^passed .*every signal was drained exactly once/m)
    expect(ran.stdout).toMatch(/All checks passed/)
    expect(ran.stderr).toBe('')
  })

  test('demo --keep keeps the home, whose journal has every signal as a line of JSON', async () => {
    const ran = await turnbell(['demo', '--keep', '--json'], { env })
    const { home, directions } = ran.json<Summary>()
    const journal = path.join(home ?? '', 'hub/journal')
    const files = fs.readdirSync(journal).filter((name) => name.endsWith('.jsonl'))
    const lines = files.flatMap((name) =>
      fs.readFileSync(path.join(journal, name), 'utf8').split('\n').filter(Boolean),
    )
    for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow()
    const sent = directions.reduce((sum, way) => sum + way.sent, 0)
    expect(lines.length).toBeGreaterThanOrEqual(sent)
  })

  test('the demo ignores the environment of the user', async () => {
    const ran = await turnbell(['demo', '--json'], {
      env: {
        ...env,
        TURNBELL_HUB_URL: 'http://127.0.0.1:1',
        TURNBELL_HOME: '/nowhere',
        TURNBELL_TENANT: 'x',
      },
    })
    expect(ran.json<Summary>().ok).toBe(true)
  })

  test('an interrupted demo leaves no process and no home', async () => {
    const demo = start(['demo'], env)
    running.push(demo)
    const [, pid] = await eventually('a hub runs', () => /ready at \S+ \(process (\d+)\)/.exec(demo.output()))
    expect(await end(demo, 'SIGINT')).toBe(1)
    await eventually('the hub is gone', () => !fs.existsSync(`/proc/${pid}`))
    expect(left()).toEqual([])
  })

  test('the demo reports a missing temporary directory', async () => {
    const ran = await turnbell(['demo'], { env: { TMPDIR: '/nowhere/at/all' } })
    expect(ran.code).toBeGreaterThan(0)
    expect(ran.stderr).toContain('/nowhere/at/all')
  })
})
