/** Running a program for a shim, and following a small file. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { programAlive, startProgram } from '../../../src/system/program.ts'
import { watchText } from '../../../src/system/watch-text.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryHome } from '../../support/processes.ts'

const node = (script: string) => [process.execPath, '-e', script]
const run = (argv: readonly string[], line = '', output_bytes_max = 1_000) =>
  startProgram({ argv, line, env: process.env, output_bytes_max })

describe('a program', () => {
  test('reads its line from stdin and is heard', async () => {
    const script = 'process.stdin.on("data", (text) => console.log("got " + text))'
    expect(await run(node(script), 'hello').exited).toEqual({
      code: 0,
      reason: 'exit code 0',
      output: 'got hello\n',
    })
  })

  test('that cares for no line is no failure', async () => {
    expect(await run(node('process.exit(7)'), 'x'.repeat(1_000_000)).exited).toMatchObject({ code: 7 })
  })

  test('that talks too much is heard up to a bound, and not held up', async () => {
    const { code, output } = await run(node('process.stdout.write("x".repeat(3e6))')).exited
    expect(code).toBe(0)
    expect(output).toHaveLength(1_000)
  })

  test('that is not there has no pid and says why', async () => {
    const program = run(['/no/such/program'])
    expect(program.pid).toBeUndefined()
    expect(await program.exited).toMatchObject({
      code: null,
      reason: expect.stringContaining('ENOENT') as string,
    })
  })

  test('is ended together with what it started', async () => {
    const file = path.join(temporaryHome(), 'pid')
    const script = `const { spawn } = require('child_process'); const child = spawn('sleep', ['600']); require('fs').writeFileSync(${JSON.stringify(file)}, String(child.pid)); setInterval(() => {}, 1e6)`
    const program = run(node(script))
    const grandchild = Number(await eventually('it has a child', () => fs.readFileSync(file, 'utf8') || null))
    expect(programAlive(program.pid as number, program.started)).toBe(true)
    program.kill()
    expect(await program.exited).toMatchObject({ code: null, reason: 'SIGKILL' })
    await eventually('the grandchild is gone', () => !programAlive(grandchild, null) || isZombie(grandchild))
    expect(programAlive(program.pid as number, program.started)).toBe(false)
  })

  test('is told from a later one with the same number', () => {
    expect(programAlive(process.pid, 'boot:1')).toBe(false)
  })
})

function isZombie(pid: number): boolean {
  return fs.readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z')
}

describe('a small file', () => {
  let watch: { close(): void } | null = null
  afterEach(() => watch?.close())

  test('is read at once, and again whenever it changed, was replaced, or went', async () => {
    const file = path.join(temporaryHome(), 'status')
    const texts: (string | null)[] = []
    fs.writeFileSync(file, 'idle')
    watch = watchText(file, (text) => texts.push(text))
    expect(texts).toEqual(['idle'])
    fs.writeFileSync(`${file}.new`, 'busy')
    fs.renameSync(`${file}.new`, file)
    await eventually('the new text', () => texts.at(-1) === 'busy')
    fs.rmSync(file)
    await eventually('that it went', () => texts.at(-1) === null)
  })

  test('in a directory that is made later is found', async () => {
    const file = path.join(temporaryHome(), 'later', 'status')
    const texts: (string | null)[] = []
    watch = watchText(file, (text) => texts.push(text))
    expect(texts).toEqual([null])
    fs.mkdirSync(path.dirname(file))
    fs.writeFileSync(file, 'idle')
    await eventually('its text', () => texts.at(-1) === 'idle')
  })
})
