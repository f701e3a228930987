import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const ENDING = path.resolve('test/support/command/ending.mjs')

/** A command that creates `made` and `kept`, and then runs this code. */
async function command(does: string) {
  const place = temporaryDirectory()
  const script = `
    import fs from 'node:fs'
    import { createEnding } from ${JSON.stringify(ENDING)}
    const ending = createEnding()
    for (const name of ['made', 'kept']) {
      fs.mkdirSync(ending.removes(${JSON.stringify(place)} + '/' + name))
      fs.writeFileSync(${JSON.stringify(place)} + '/' + name + '/file', '')
    }
    ending.keeps(${JSON.stringify(path.join(place, 'kept'))})
    ${does}`
  return await new Promise<{ code: unknown; said: string; left: string[] }>((resolve) => {
    const args = ['--input-type=module', '--eval', script]
    execFile(process.execPath, args, (error, said) =>
      resolve({ code: error?.code ?? 0, said, left: fs.readdirSync(place) }),
    )
  })
}

test('files of a command are removed when it ends by itself', async () => {
  expect(await command('process.exitCode = 1')).toEqual({ code: 1, said: '', left: ['kept'] })
})

test.each([
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
])('a command ends on %s with %i, after its interrupt handlers', async (os_signal, code) => {
  const waits = 'setInterval(() => {}, 60_000)'
  const says = "ending.onInterrupt(async () => { await null; process.stdout.write('so far') })"
  expect(await command(`${waits}; ${says}; process.kill(process.pid, '${os_signal}')`)).toEqual({
    ...{ code, said: 'so far', left: ['kept'] },
  })
})

test('a command ends on an uncaught exception with 3, after its interrupt handlers', async () => {
  const says = "ending.onInterrupt(async () => { await null; process.stdout.write('so far') })"
  const expected = { code: 3, said: 'so far', left: ['kept'] }
  expect(await command(`${says}; setImmediate(() => { throw new Error('broken') })`)).toEqual(expected)
  expect(await command(`${says}; await Promise.reject(new Error('broken'))`)).toEqual(expected)
})

test('a command whose output is closed ends like an interrupted one', async () => {
  const waits = 'setInterval(() => {}, 60_000)'
  const says = "ending.onInterrupt(async () => { process.stdout.write('nobody'); await null })"
  const gone = "process.stdout.emit('error', Object.assign(new Error('EPIPE'), { code: 'EPIPE' }))"
  expect(await command(`${waits}; ${says}; ${gone}`)).toMatchObject({ code: 141, left: ['kept'] })
})

test('a second Ctrl-C does not wait for interrupt handlers', async () => {
  const never =
    "ending.onInterrupt(() => { process.kill(process.pid, 'SIGINT'); return new Promise(() => {}) })"
  const waits = 'setInterval(() => {}, 60_000)'
  expect(await command(`${waits}; ${never}; process.kill(process.pid, 'SIGINT')`)).toEqual({
    ...{ code: 130, said: '', left: ['kept'] },
  })
})

test('pending work of an interrupted command does not complete', async () => {
  // Like a program that received the signal, too, and exited before the command receives it.
  const fails =
    "ending.unlessInterrupted(new Promise((_, fail) => process.once('SIGINT', () => fail(new Error('gone')))))"
  const waits = 'setInterval(() => {}, 60_000)'
  expect(await command(`${waits}; ${fails}; process.kill(process.pid, 'SIGINT')`)).toEqual({
    ...{ code: 130, said: '', left: ['kept'] },
  })
  expect((await command("await ending.unlessInterrupted(Promise.reject(new Error('by itself')))")).code).toBe(
    3,
  )
  expect(
    (await command("process.stdout.write(await ending.unlessInterrupted(Promise.resolve('done')))")).said,
  ).toBe('done')
})
