/** Surface commands, and following a small file. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  killGroup,
  programAlive,
  programIs,
  startSurfaceCommand,
} from '../../../src/system/process/surface-command.ts'
import { processStartTime } from '../../../src/system/process/process-info.ts'
import { watchFile } from '../../../src/system/files/watch-file.ts'
import { bundle } from '../../support/command/bundle.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryHome } from '../../support/processes/processes.ts'

const node = (script: string) => [process.execPath, '-e', script]
const run = (argv: readonly string[], line = '', output_bytes_max = 1_000) =>
  startSurfaceCommand({ argv, line, env: process.env, output_bytes_max, output_file: outputFile() })
const outputFile = () => path.join(temporaryHome(), 'out')

describe('a program', () => {
  test('a program reads its line from stdin, and its output is returned', async () => {
    const script = 'process.stdin.on("data", (text) => console.log("got " + text))'
    expect(await run(node(script), 'hello').exited).toEqual({
      code: 0,
      reason: 'exit code 0',
      output: 'got hello\n',
    })
  })

  test('a program that does not read its line is not a failure', async () => {
    expect(await run(node('process.exit(7)'), 'x'.repeat(1_000_000)).exited).toMatchObject({ code: 7 })
  })

  test('a long output is truncated and does not block the program', async () => {
    const { code, output } = await run(node('process.stdout.write("x".repeat(3e6))')).exited
    expect(code).toBe(0)
    expect(output).toHaveLength(1_000)
  })

  test('a missing program has no pid and a reason', async () => {
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
  ])('a program that %s has no pid and a reason', async (_, argv, why) => {
    const program = run(argv)
    expect(program.pid).toBeUndefined()
    expect(await program.exited).toMatchObject({
      code: null,
      reason: expect.stringContaining(why) as string,
    })
  })

  test('a program whose output file cannot be opened has no pid and a reason', async () => {
    const output_file = path.join(temporaryHome(), 'nowhere', 'out')
    const program = startSurfaceCommand({
      argv: node(''),
      line: '',
      env: process.env,
      output_bytes_max: 1,
      output_file,
    })
    expect(program.pid).toBeUndefined()
    expect((await program.exited).reason).toContain('ENOENT')
  })

  test('the output of an earlier program is not returned', async () => {
    const file = outputFile()
    const saying = (word: string) =>
      startSurfaceCommand({
        argv: node(`console.error(${JSON.stringify(word)})`),
        line: '',
        env: process.env,
        output_file: file,
        output_bytes_max: 1_000,
      }).exited
    expect((await saying('a long word')).output).toBe('a long word\n')
    expect((await saying('short')).output).toBe('short\n')
  })

  // A pipe to this process would end it at its next output.
  test('a program that writes on outlives the process that started it', async () => {
    const home = temporaryHome()
    const [ready, told, marker] = ['ready', 'told', 'marker'].map((name) => path.join(home, name)) as [
      string,
      string,
      string,
    ]
    // Writes a second word on request, and then its marker.
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
    const program = await bundle('src/system/process/surface-command.ts', temporaryHome())
    const spec = {
      argv: node(talker),
      line: '',
      output_file: path.join(home, 'out'),
      output_bytes_max: 1_000,
    }
    const parent = spawn(process.execPath, [
      ...['--input-type=module', '-e'],
      `import { startSurfaceCommand } from ${JSON.stringify(program)}
       startSurfaceCommand({ ...${JSON.stringify(spec)}, env: process.env })`,
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

  test('a program is killed together with its children', async () => {
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

  test('a program is distinguished from a later one with the same pid', () => {
    expect(programAlive(process.pid, 'boot:1')).toBe(false)
  })

  test('a program counts as alive while its start time cannot be read', () => {
    const looked = hideProcesses('EMFILE')
    onTestFinished(() => looked.mockRestore())
    expect(programAlive(process.pid, 'boot:1')).toBe(true)
    expect(programIs(process.pid, 'boot:1')).toBe(false)
  })

  test('a hidden process of another user does not count as the program', () => {
    const looked = hideProcesses('ENOENT')
    const killed = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
    })
    onTestFinished(() => [looked, killed].forEach((mock) => mock.mockRestore()))
    expect(programAlive(process.pid, 'boot:1')).toBe(false)
    // For that process only the pid was recorded.
    expect(programAlive(process.pid, null)).toBe(true)
  })

  test('programIs is true only for a process with a known start time', () => {
    expect(programIs(process.pid, processStartTime(process.pid))).toBe(true)
    expect(programIs(process.pid, 'boot:1')).toBe(false)
    expect(programIs(process.pid, null)).toBe(false)
  })
})

/** Makes /proc unreadable. */
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

  test('a file is read at once, and again whenever it changed, was replaced or was removed', async () => {
    const file = path.join(temporaryHome(), 'status')
    const texts: (string | null)[] = []
    fs.writeFileSync(file, 'idle')
    watch = watchFile(file, (text) => texts.push(text))
    expect(texts).toEqual(['idle'])
    fs.writeFileSync(`${file}.new`, 'busy')
    fs.renameSync(`${file}.new`, file)
    await eventually('the new text', () => texts.at(-1) === 'busy')
    fs.rmSync(file)
    await eventually('that it went', () => texts.at(-1) === null)
  })

  test('a file in a directory that is created later is found', async () => {
    const file = path.join(temporaryHome(), 'later', 'status')
    const texts: (string | null)[] = []
    watch = watchFile(file, (text) => texts.push(text))
    expect(texts).toEqual([null])
    fs.mkdirSync(path.dirname(file))
    fs.writeFileSync(file, 'idle')
    await eventually('its text', () => texts.at(-1) === 'idle')
  })
})
