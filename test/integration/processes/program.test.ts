/** Running a program for a shim, and following a small file. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { killGroup, programAlive, programIs, startProgram } from '../../../src/system/program.ts'
import { processStartTime } from '../../../src/system/processes.ts'
import { watchText } from '../../../src/system/watch-text.ts'
import { bundle } from '../../support/bundle.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryHome } from '../../support/processes.ts'

const node = (script: string) => [process.execPath, '-e', script]
const run = (argv: readonly string[], line = '', output_bytes_max = 1_000) =>
  startProgram({ argv, line, env: process.env, output_bytes_max, output_file: outputFile() })
const outputFile = () => path.join(temporaryHome(), 'out')

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

  test.each([
    ['takes too many words', ['node', 'x'.repeat(3_000_000)], 'E2BIG'],
    ['is said to be in a file', [path.join(import.meta.filename, 'node')], 'ENOTDIR'],
  ])('that %s has no pid and says why', async (_, argv, why) => {
    const program = run(argv)
    expect(program.pid).toBeUndefined()
    expect(await program.exited).toMatchObject({
      code: null,
      reason: expect.stringContaining(why) as string,
    })
  })

  test('that has nowhere to print has no pid and says why', async () => {
    const output_file = path.join(temporaryHome(), 'nowhere', 'out')
    const program = startProgram({
      argv: node(''),
      line: '',
      env: process.env,
      output_bytes_max: 1,
      output_file,
    })
    expect(program.pid).toBeUndefined()
    expect((await program.exited).reason).toContain('ENOENT')
  })

  test('is heard without what an earlier one said', async () => {
    const file = outputFile()
    const saying = (word: string) =>
      startProgram({
        ...{ argv: node(`console.error(${JSON.stringify(word)})`), line: '', env: process.env },
        ...{ output_file: file, output_bytes_max: 1_000 },
      }).exited
    expect((await saying('a long word')).output).toBe('a long word\n')
    expect((await saying('short')).output).toBe('short\n')
  })

  // A pipe to us would end it at its next word.
  test('that talks on outlives whoever started it', async () => {
    const home = temporaryHome()
    const [ready, told, marker] = ['ready', 'told', 'marker'].map((name) => path.join(home, name)) as [
      string,
      string,
      string,
    ]
    // Says a second word once it is told to, and writes its marker when that is out.
    const talker = `
      const fs = require('node:fs')
      let said = 0
      const talk = () => {
        if (fs.existsSync(${JSON.stringify(told)}) && said === 1) {
          said = 2
          process.stdout.write('two\\n', (error) => {
            if (!error) fs.writeFileSync(${JSON.stringify(marker)}, '')
            watcher.close()
          })
        }
      }
      const watcher = fs.watch(${JSON.stringify(home)}, talk)
      console.log('one'); said = 1
      fs.writeFileSync(${JSON.stringify(ready)}, String(process.pid))
      talk()`
    const program = await bundle('src/system/program.ts', temporaryHome())
    const spec = {
      argv: node(talker),
      line: '',
      output_file: path.join(home, 'out'),
      output_bytes_max: 1_000,
    }
    const parent = spawn(process.execPath, [
      ...['--input-type=module', '-e'],
      `import { startProgram } from ${JSON.stringify(program)}
       startProgram({ ...${JSON.stringify(spec)}, env: process.env })`,
    ])
    const gone = once(parent, 'exit')
    const pid = Number(await eventually('it has said a word', () => fs.readFileSync(ready, 'utf8') || null))
    onTestFinished(() => killGroup(pid))
    parent.kill('SIGKILL')
    await gone
    fs.writeFileSync(told, '')
    await eventually('it has said another', () => fs.existsSync(marker))
    expect(fs.readFileSync(spec.output_file, 'utf8')).toBe('one\ntwo\n')
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

  test('counts as alive while nobody can look when it was started', () => {
    const looked = hideProcesses('EMFILE')
    onTestFinished(() => looked.mockRestore())
    expect(programAlive(process.pid, 'boot:1')).toBe(true)
    expect(programIs(process.pid, 'boot:1')).toBe(false)
  })

  test('is told from one of another user where their processes are hidden', () => {
    const looked = hideProcesses('ENOENT')
    const killed = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
    })
    onTestFinished(() => [looked, killed].forEach((mock) => mock.mockRestore()))
    expect(programAlive(process.pid, 'boot:1')).toBe(false)
    // That one was never known by more than its number.
    expect(programAlive(process.pid, null)).toBe(true)
  })

  test('is exactly the one whose start is known', () => {
    expect(programIs(process.pid, processStartTime(process.pid))).toBe(true)
    expect(programIs(process.pid, 'boot:1')).toBe(false)
    expect(programIs(process.pid, null)).toBe(false)
  })
})

/** Nothing of /proc can be read. */
function hideProcesses(code: string) {
  return vi.spyOn(fs, 'readFileSync').mockImplementation(() => {
    throw Object.assign(new Error(code), { code })
  })
}

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
