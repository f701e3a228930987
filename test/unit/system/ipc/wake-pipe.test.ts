/** The wake pipe of a session, and the waiter that reads it in a terminal. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  wakePipe,
  wakePipeFile,
  readWakePipe,
  releaseOrphanedPipes,
} from '../../../../src/system/ipc/wake-pipe.ts'
import { eventually } from '../../../support/eventually.ts'
import { temporaryHome } from '../../../support/processes/processes.ts'

const WAITER = path.resolve(import.meta.dirname, '../../../../adapters/claude-code/plugin/waiter.sh')
const CLIENT_PID = 4_711

let home: string
let file: string
const children: ChildProcess[] = []

beforeEach(() => {
  home = temporaryHome()
  fs.mkdirSync(path.join(home, 'run'))
  file = wakePipeFile(home, CLIENT_PID)
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** The waiter as the client runs it in a terminal. */
function wait(env: Record<string, string | undefined> = {}) {
  const child = spawn('/bin/sh', [WAITER], {
    env: {
      PATH: process.env['PATH'],
      CLAUDE_CODE_ENTRYPOINT: 'cli',
      CLAUDE_PID: String(CLIENT_PID),
      TURNBELL_HOME: home,
      TURNBELL_PERSONA: 'ada',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  children.push(child)
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = new Promise<{ code: number | null; stderr: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, stderr })),
  )
  return { pid: child.pid, ended }
}

/** Possible environments of a session; the pipe of each is in the test's home. */
const CONNECTED: Record<string, () => Record<string, string | undefined>> = {
  'that acts for the persona its project is connected to': () => ({
    TURNBELL_PERSONA: undefined,
    TURNBELL_HOME: '/no/such/home',
    TURNBELL_CONNECTED_PERSONA: 'ada',
    TURNBELL_CONNECTED_HOME: home,
  }),
  'that is connected, in the home that is usual here': () => ({
    TURNBELL_PERSONA: undefined,
    TURNBELL_CONNECTED_PERSONA: 'ada',
  }),
  'that was started for another than the connected persona': () => ({
    TURNBELL_CONNECTED_PERSONA: 'bob',
    TURNBELL_CONNECTED_HOME: '/no/such/home',
  }),
}

const noted = () => Number(fs.existsSync(`${file}.waiter`) && fs.readFileSync(`${file}.waiter`, 'utf8'))
const waits = ({ pid }: { pid: number | undefined }) =>
  eventually('it waits', () => noted() === pid && fs.lstatSync(file).isFIFO())
const posted = (text: string) =>
  eventually('somebody reads', async () => (await wakePipe(file).post(text)) === 'sent')

describe('a pipe', () => {
  test('a missing pipe and a pipe without a reader are unavailable', async () => {
    expect(await wakePipe(file).post('ring')).toBe('unavailable')
    execFileSync('mkfifo', [file])
    expect(await wakePipe(file).post('ring')).toBe('unavailable')
  })

  test('a regular file is unavailable and is not written', async () => {
    fs.writeFileSync(file, '')
    expect(await wakePipe(file).post('ring')).toBe('unavailable')
    expect(fs.readFileSync(file, 'utf8')).toBe('')
  })

  test('a doorbell wakes the client through the waiter', async () => {
    const waiter = wait()
    await posted('[turnbell] one\nline (bell 0123abcd)')
    expect(await waiter.ended).toEqual({ code: 2, stderr: '[turnbell] one line (bell 0123abcd)\n' })
  })

  test.each(Object.entries(CONNECTED))('carries a bell to the waiter of a session %s', async (_, env) => {
    const waiter = wait(env())
    await posted('ring')
    expect(await waiter.ended).toEqual({ code: 2, stderr: 'ring\n' })
  })

  test('every doorbell reaches the reader, also after an earlier writer has left', async () => {
    const heard: string[] = []
    const hearing = readWakePipe(file, (text) => heard.push(text))
    for (const text of ['one', 'two']) {
      expect(await wakePipe(file).post(text)).toBe('sent')
      await eventually('it is heard', () => heard.at(-1) === text)
    }
    wakePipe(file).release()
    expect(await wakePipe(file).post('three')).toBe('unavailable')
    expect(heard).toEqual(['one', 'two'])
    hearing.close()
  })

  test('a pipe is only for its owner', async () => {
    await waits(wait())
    expect(fs.statSync(file).mode & 0o777).toBe(0o600)
  })

  test('the pipe of an ended client is removed, and its waiter wakes no client', async () => {
    const waiter = wait()
    await waits(waiter)
    wakePipe(file).release()
    expect(await waiter.ended).toMatchObject({ code: 0 })
    expect(fs.readdirSync(path.join(home, 'run'))).toEqual([])
  })

  test('the pipe of a killed client is removed by the next one, and others stay', () => {
    const other = wakePipeFile(home, CLIENT_PID + 1)
    execFileSync('mkfifo', [file, other])
    releaseOrphanedPipes(home, (pid) => pid !== CLIENT_PID)
    expect(fs.readdirSync(path.join(home, 'run'))).toEqual([path.basename(other)])
  })

  test('a pipe that cannot be removed is not an error, and others are still removed', () => {
    const other = wakePipeFile(home, CLIENT_PID + 1)
    execFileSync('mkfifo', [file, other])
    fs.mkdirSync(`${file}.left`)
    fs.mkdirSync(`${file}.waiter`)
    releaseOrphanedPipes(home, () => false)
    expect(fs.existsSync(other)).toBe(false)
  })

  test('a pipe of an earlier client with the same pid is replaced', async () => {
    execFileSync('mkfifo', [file])
    const heard: string[] = []
    const hearing = readWakePipe(file, (text) => heard.push(text))
    expect(await wakePipe(file).post('one')).toBe('sent')
    await eventually('it is heard', () => heard.at(-1) === 'one')
    hearing.close()
  })

  test('a home without pipes is not an error', () => {
    expect(() => releaseOrphanedPipes(path.join(home, 'nowhere'), () => false)).not.toThrow()
  })
})

describe('the waiter', () => {
  test('the waiter yields to a newer one, which gets the doorbell', async () => {
    const older = wait()
    await waits(older)
    const newer = wait()
    // By a signal, which does not wake the client.
    expect(await older.ended).toEqual({ code: null, stderr: '' })
    await posted('ring')
    expect(await newer.ended).toEqual({ code: 2, stderr: 'ring\n' })
  })

  test('the waiter yields to a newer one on a system without ps', async () => {
    const slim = path.join(home, 'bin')
    fs.mkdirSync(slim)
    for (const name of ['cat', 'mkfifo', 'rm', 'tr']) {
      const program = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim()
      fs.symlinkSync(program, path.join(slim, name))
    }
    const older = wait({ PATH: slim })
    await waits(older)
    wait({ PATH: slim })
    expect(await older.ended).toEqual({ code: null, stderr: '' })
  })

  test.each([
    ['without a window', { CLAUDE_CODE_ENTRYPOINT: 'sdk-cli' }],
    ['for no persona', { TURNBELL_PERSONA: undefined }],
    ['without a client', { CLAUDE_PID: undefined }],
    ['in a home that is not there', { TURNBELL_HOME: '/no/such/home' }],
  ])('the waiter %s ends at once without output', async (_, env) => {
    expect(await wait(env).ended).toEqual({ code: 0, stderr: '' })
  })
})
