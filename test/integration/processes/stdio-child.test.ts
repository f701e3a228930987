import fs from 'node:fs'
import path from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import type { Log } from '../../../src/ports/log.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { processAlive } from '../../../src/system/process/process-info.ts'
import { startStdioChild } from '../../../src/system/process/stdio-child.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

type Talking = ReturnType<typeof startStdioChild>
const started: Talking[] = []
afterEach(async () => {
  for (const talking of started.splice(0)) {
    talking.kill()
    await talking.exited
  }
})

const notedPid = (note_file: string) =>
  (JSON.parse(fs.readFileSync(note_file, 'utf8')) as { pid: number }).pid

/** A program in JavaScript, and the lines that it wrote. */
function talk(program: string, more: { note_file?: string; line_bytes_max?: number; argv?: string[] } = {}) {
  const note_file = more.note_file ?? path.join(temporaryDirectory(), 'pid')
  const talking = startStdioChild({
    argv: more.argv ?? [process.execPath, '-e', program],
    cwd: path.dirname(note_file),
    env: process.env,
    note_file,
    line_bytes_max: more.line_bytes_max ?? 1_000,
    log: silentLog satisfies Log,
  })
  started.push(talking)
  const lines: string[] = []
  const end = { came: false }
  talking.read({ onLine: (line) => void lines.push(line), onEnd: () => (end.came = true) })
  return { talking, lines, end, note_file }
}

const ECHO = 'process.stdin.on("data", (data) => process.stdout.write(data))'
const STAYS = 'setInterval(() => {}, 1000)'

test('a program exchanges lines, and ends with its input', async () => {
  const { talking, lines, end, note_file } = talk(ECHO)
  talking.write('{"a": 1}')
  talking.write('ä'.repeat(400))
  await eventually('both are back', () => lines.length === 2)
  expect(lines).toEqual(['{"a": 1}', 'ä'.repeat(400)])
  talking.closeInput()
  expect(await talking.exited).toBe('exit code 0')
  expect(end.came).toBe(true)
  expect(fs.existsSync(note_file)).toBe(false)
})

test('the last output of a program is part of the reason', async () => {
  const { talking } = talk('console.error("first"); console.error("no model is configured"); process.exit(3)')
  expect(await talking.exited).toBe('exit code 3: no model is configured')
})

test('a missing program ends at once with a reason', async () => {
  const { talking } = talk('', { argv: ['/nowhere/agent', 'acp'] })
  expect(await talking.exited).toMatch(/ENOENT/)
  talking.write('unread')
})

test.each([
  ['takes too many words', [process.execPath, 'x'.repeat(3_000_000)], /E2BIG/],
  ['is said to be in a file', [path.join(import.meta.filename, 'node')], /ENOTDIR/],
])('a program that %s ends at once with a reason', async (_, argv, why) => {
  const { talking, end } = talk('', { argv })
  expect(await talking.exited).toMatch(why)
  expect(end.came).toBe(true)
  talking.write('unread')
})

test('a program that does not read any more is killed after a write', async () => {
  const { talking, lines } = talk('', { argv: ['sh', '-c', 'exec 0<&-; echo ready; exec sleep 600'] })
  await eventually('it is ready', () => lines.length === 1)
  talking.write('a prompt')
  expect(await talking.exited).toBe('SIGKILL')
})

// A progress bar rewrites its line and never ends it.
test('a last line without an end is truncated to the reported length', async () => {
  const { talking } = talk(`
    for (let n = 0; n < 1000; n++) process.stderr.write('loading '.repeat(100) + '\\r')
    process.exitCode = 3`)
  const reason = await talking.exited
  expect(reason).toMatch(/^exit code 3: loading/)
  expect(reason.length).toBeLessThan(600)
})

// Its child keeps its streams open.
test('a program that ends late does not remove the file of the next one', async () => {
  const { talking, lines, note_file } = talk('', { argv: ['sh', '-c', 'sleep 600 & echo $!; exit 0'] })
  const left = Number(await eventually('its child runs', () => lines[0]))
  expect(await talking.exited).toBe('exit code 0')
  const next = talk(ECHO, { note_file })
  process.kill(left, 'SIGKILL')
  await eventually('that is gone', () => !processAlive(left))
  // In both directions, so that all earlier lines were delivered too.
  for (const word of ['one', 'two']) {
    next.talking.write(word)
    await eventually('it came back', () => next.lines.includes(word))
  }
  expect(fs.existsSync(note_file)).toBe(true)
})

test('a line without an end ends the reading, and the program', async () => {
  const { talking, lines, end } = talk(`process.stdout.write("x".repeat(5000)); ${STAYS}`)
  await eventually('it is given up', () => end.came)
  expect(lines).toEqual([])
  expect(await talking.exited).toBe('SIGKILL')
})

test('a program is killed with its children', async () => {
  const { talking, lines } = talk(
    `const { spawn } = require('node:child_process')
     const child = spawn(process.execPath, ['-e', ${JSON.stringify(STAYS)}], { stdio: 'ignore' })
     console.log(child.pid); ${STAYS}`,
  )
  const pid = Number(await eventually('it started another', () => lines[0]))
  talking.kill()
  await talking.exited
  await eventually('the other is gone too', () => !processAlive(pid))
})

test('the orphan of an earlier run is killed first, and no other process with its pid', async () => {
  const note_file = path.join(temporaryDirectory(), 'pid')
  talk(STAYS, { note_file })
  const left = notedPid(note_file)
  talk(ECHO, { note_file })
  await eventually('it is gone', () => !processAlive(left))
  const stranger = talk(STAYS)
  fs.writeFileSync(note_file, JSON.stringify({ pid: notedPid(stranger.note_file), started: 'another time' }))
  const next = talk(ECHO, { note_file })
  next.talking.write('here')
  await eventually('it runs', () => next.lines.length === 1)
  expect(processAlive(notedPid(stranger.note_file))).toBe(true)
})

// Without /proc it cannot be distinguished from the recorded one.
test.each(['is not recorded', 'cannot be read now'])(
  'no process is killed whose start time %s',
  async (why) => {
    const note_file = path.join(temporaryDirectory(), 'pid')
    const stranger = talk(ECHO)
    const started = why === 'cannot be read now' ? 'another time' : null
    fs.writeFileSync(note_file, JSON.stringify({ pid: notedPid(stranger.note_file), started }))
    const read = fs.readFileSync
    const looked = vi.spyOn(fs, 'readFileSync').mockImplementation((file, options) => {
      if (started !== null && String(file).startsWith('/proc/'))
        throw new Error('EMFILE: too many open files')
      return read(file, options)
    })
    onTestFinished(() => looked.mockRestore())
    const next = talk(ECHO, { note_file })
    next.talking.write('here')
    await eventually('it runs', () => next.lines.length === 1)
    stranger.talking.write('here too')
    await eventually('the stranger lives', () => stranger.lines.length === 1)
  },
)
