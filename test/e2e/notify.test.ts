/** Tests `notify.command` of a real configuration: a real hub runs a real program for each message to the operator. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Receipt } from '../../src/contracts/signal.ts'
import { processAlive } from '../../src/system/process/process-info.ts'
import { eventually } from '../support/eventually.ts'
import { end, startHub, temporaryHome, turnbell, type Running } from '../support/processes/processes.ts'

/** Records its arguments, directory, environment and stdin in a separate file; then behaves as configured. */
const PROGRAM = `
import fs from 'node:fs'
const [told, ...args] = process.argv.slice(2)
const seen = { pid: process.pid, args, cwd: process.cwd(), env: process.env, input: fs.readFileSync(0, 'utf8') }
const how = fs.existsSync(told + '/how') ? fs.readFileSync(told + '/how', 'utf8') : 'well'
fs.writeFileSync(told + '/writing', JSON.stringify(seen))
fs.renameSync(told + '/writing', told + '/' + JSON.parse(seen.input).signal_id + '.json')
if (how === 'badly') {
  console.error('no desktop here')
  process.exit(3)
}
if (how === 'never') setInterval(() => {}, 1000)
`

interface Seen {
  pid: number
  args: string[]
  cwd: string
  env: Record<string, string>
  input: string
}

let home: string
/** Directory of the program's records. */
let told: string
const running: Running[] = []
beforeEach(() => {
  home = temporaryHome()
  told = path.join(home, 'told')
  fs.mkdirSync(told)
  fs.writeFileSync(path.join(home, 'notify.mjs'), PROGRAM)
})
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => end(one)))
})

async function hub(command: readonly string[], env: Record<string, string> = {}) {
  const config = { personas: { ada: { surface: 'mcp' } }, notify: { command } }
  fs.writeFileSync(path.join(home, 'config.yaml'), JSON.stringify(config))
  const started = await startHub(home, ['--port', '0'], env)
  running.push(started)
  return started
}
const usual = () => [process.execPath, './notify.mjs', told, '--now']

/** Sets the behaviour from the next run on. */
const does = (how: 'well' | 'badly' | 'never') => fs.writeFileSync(path.join(told, 'how'), how)

async function sends(text: string): Promise<string> {
  const args = ['--from', 'ada', '--to', 'operator', '--intent', 'reply', '--json', text]
  const sent = await turnbell(['send', '--home', home, ...args])
  if (sent.code !== 0) throw new Error(sent.stdout)
  return sent.json<Pick<Receipt, 'signal_id'>>().signal_id
}

const seenFor = (signal_id: string) =>
  eventually(
    'the program was run',
    () => JSON.parse(fs.readFileSync(path.join(told, `${signal_id}.json`), 'utf8')) as Seen,
  )

const logged = (signal_id: string) =>
  eventually('its end is logged', () =>
    fs
      .readFileSync(path.join(home, 'logs/hub.log'), 'utf8')
      .split('\n')
      .filter((line) => line.includes('notify.command failed'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .find((line) => line['signal_id'] === signal_id),
  )

const inbox = async () =>
  (await turnbell(['inbox', '--home', home, '--json'])).json<{ signals: { payload: unknown }[] }>().signals

describe('notify.command', () => {
  test('notify.command runs in the home for a signal to the user, with a notice without payload on stdin', async () => {
    await hub(usual(), { DISPLAY: ':7', TURNBELL_SECRET: 'nobody knows' })
    const signal_id = await sends('the build is red')
    const { args, cwd, env, input } = await seenFor(signal_id)
    expect(JSON.parse(input)).toEqual({
      ...{ signal_id, from: 'ada', intent: 'reply', priority: 3, pending_count: 1 },
    })
    expect(input.endsWith('\n')).toBe(true)
    expect(args).toEqual(['--now'])
    expect(fs.realpathSync(cwd)).toBe(fs.realpathSync(home))
    expect(env).toMatchObject({ DISPLAY: ':7', HOME: process.env['HOME'] })
    expect(env).not.toHaveProperty('TURNBELL_SECRET')
    expect(await inbox()).toMatchObject([{ payload: 'the build is red' }])
  })

  test('notify.command does not run for a signal to an agent', async () => {
    await hub(usual())
    await turnbell(['send', '--home', home, '--to', 'ada', 'look'])
    const signal_id = await sends('seen')
    await seenFor(signal_id)
    expect(fs.readdirSync(told)).toEqual([`${signal_id}.json`])
  })

  test('a failing notify.command is logged with its output, loses no signal and runs for the next one', async () => {
    await hub(usual())
    does('badly')
    const first = await sends('one')
    expect(await logged(first)).toMatchObject({ exit_code: 3, timed_out: false, stderr: 'no desktop here\n' })
    does('well')
    const second = await sends('two')
    expect(JSON.parse((await seenFor(second)).input)).toMatchObject({ pending_count: 2 })
    expect((await inbox()).map(({ payload }) => payload)).toEqual(['one', 'two'])
  })

  test('a missing notify.command is logged and the hub accepts signals', async () => {
    await hub(['./not-there'])
    const signal_id = await sends('one')
    expect(await logged(signal_id)).toMatchObject({ err: { code: 'program_failed' } })
    expect(await inbox()).toMatchObject([{ payload: 'one' }])
  })

  test('a hanging notify.command delays no signal, is killed and logged, and runs for the next one', async () => {
    await hub(usual())
    does('never')
    const first = await sends('one')
    const { pid } = await seenFor(first)
    does('well')
    const second = await sends('two')
    expect((await inbox()).map(({ payload }) => payload)).toEqual(['one', 'two'])
    expect(await logged(first)).toMatchObject({ exit_code: null, timed_out: true })
    expect(processAlive(pid)).toBe(false)
    await seenFor(second)
  })

  test('a hanging notify.command is killed with the hub, which stops cleanly', async () => {
    const started = await hub(usual())
    does('never')
    const { pid } = await seenFor(await sends('one'))
    expect(await end(started, 'SIGTERM')).toBe(0)
    await eventually('the program is gone', () => !processAlive(pid))
  })
})
