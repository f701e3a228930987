import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { invocationIn } from '../../../src/cli/cli.ts'
import { startFleet, type Fleet } from '../../../src/cli/up/fleet.ts'
import type { Exit, Launched } from '../../../src/cli/up/launch.ts'
import { TurnbellError } from '../../../src/contracts/errors.ts'
import { EXIT } from '../../../src/contracts/exit-codes.ts'
import { personaPaths, resolveHome } from '../../../src/system/home.ts'
import { eventually } from '../../support/eventually.ts'
import { daemonStatus, fakeDaemon } from '../../support/fake-daemon.ts'
import { testCli } from '../../support/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const NEVER = new Promise<void>(() => {})

interface Known {
  identity: string
  state: string
  updated_at: string
}

const BEFORE = '2026-01-01T00:00:00.000Z'
const LATER = '2026-01-01T00:00:01.000Z'
const PID = 999_999_999

/** A home whose hub runs as this very process, unless it is said what stands in its file. */
async function world(options: { hub_pid?: object | null; asked?: Promise<void>; names?: string[] } = {}) {
  const home = temporaryDirectory()
  const at = resolveHome({}, home)
  const known: Known[] = []
  /** Whom the hub does not take in, and why. */
  const refuses = new Map<string, string>()
  const write = (personas: object) => fs.writeFileSync(at.config, JSON.stringify({ personas }))
  const configure = (...names: string[]) =>
    write(Object.fromEntries(names.map((name) => [name, { surface: 'mcp' }])))
  const knows = (identity: string): Known => ({ identity, state: 'active', updated_at: BEFORE })
  configure(...(options.names ?? []))
  known.push(...(options.names ?? []).map(knows))
  const stands = options.hub_pid === undefined ? { pid: process.pid } : options.hub_pid
  if (stands !== null) {
    fs.mkdirSync(path.dirname(at.hub_pid))
    const file = { url: 'http://hub.test', started_at: '2026-01-01T00:00:00.000Z', ...stands }
    fs.writeFileSync(at.hub_pid, JSON.stringify(file))
  }
  const rest = { created_at: BEFORE, surface: 'mcp' }
  const turnbell = testCli({
    home,
    hub: {
      '/ready': () => ({}),
      'personas.list': () => ({
        personas: known.map((one) => ({ ...rest, ...one })),
      }),
      'personas.add': (asked) => {
        const identity = String(asked['identity'])
        const detail = refuses.get(identity)
        if (detail !== undefined) throw new TurnbellError('params_invalid', { detail })
        known.push(knows(identity))
        return { ...rest, ...knows(identity) }
      },
    },
  })
  const launched: { args: readonly string[]; killed: string[]; end: (exit: Exit) => void }[] = []
  const launch = (args: readonly string[]): Launched => {
    let ended: Exit | null = null
    let resolve = (_: Exit): void => {}
    const exited = new Promise<Exit>((resolved) => (resolve = resolved))
    const end = (exit: Exit) => resolve((ended = exit))
    const killed: string[] = []
    launched.push({ args, killed, end })
    return {
      ...{ pid: PID, exited, exit: () => ended, said: () => '' },
      kill(os_signal) {
        killed.push(os_signal)
        end({ code: null, os_signal })
      },
    }
  }
  const fleet: Fleet = await startFleet({
    ...{ invocation: invocationIn(turnbell.cli, home), launch, onChange: () => {} },
    asked: options.asked ?? NEVER,
  })
  onTestFinished(() => fleet.kill())
  const added = () => turnbell.hubCalls.filter(({ what }) => what === 'personas.add')
  /** The daemon answers as the process that was launched for it. */
  const answers = (identity: string) =>
    fakeDaemon(personaPaths(at, 'local', identity, {}), () => daemonStatus(identity, { pid: PID }))
  const isSeen = (identity: string, state: string) =>
    eventually(`${identity} is ${state}`, () =>
      fleet.daemons().some((part) => part.name === identity && part.state === state),
    )
  return { home, fleet, known, launched, configure, write, added, refuses, answers, isSeen, at }
}

type World = Awaited<ReturnType<typeof world>>

/** The latest process that was launched for the persona, once there is one. */
async function processOf({ launched }: World, identity: string) {
  const of = () => launched.filter(({ args }) => args[0] === 'daemon' && args[2] === identity).at(-1)
  await eventually(`a process for ${identity}`, () => of() !== undefined)
  return of() as NonNullable<ReturnType<typeof of>>
}

/** Its daemon runs and answers. */
async function withDaemon() {
  const made = await world({ names: ['ada'] })
  const { end } = await processOf(made, 'ada')
  const daemon = await made.answers('ada')
  await made.isSeen('ada', 'running')
  return {
    ...made,
    ada: made.known[0] as Known,
    /** It says goodbye and ends; the fleet hears of the end when that is called. */
    stop: async () => {
      await daemon.close()
      return () => {
        end({ code: EXIT.done, os_signal: null })
        return made.isSeen('ada', 'stopped')
      }
    },
    state: () => made.fleet.daemons()[0]?.state,
  }
}

describe('the fleet of up', () => {
  test('brings back what was configured again after a removal', async () => {
    const { fleet, known, configure, added, home } = await world({ names: ['ada'] })
    await fakeDaemon(personaPaths(resolveHome({}, home), 'local', 'bob', {}), () => daemonStatus('bob'))
    configure('ada', 'bob')
    await fleet.follow()
    expect(added().map(({ params }) => params)).toEqual([{ identity: 'bob', surface: 'mcp' }])
    expect(known.map(({ identity }) => identity)).toEqual(['ada', 'bob'])
  })

  test('leaves alone what is being removed: its settings are the last of it', async () => {
    const { fleet, known, configure, added } = await world({ names: ['ada'] })
    known.length = 0
    await fleet.follow()
    await fleet.follow()
    expect(added()).toEqual([])
    configure()
    await fleet.follow()
    configure('ada')
    await fleet.follow()
    expect(added()).toHaveLength(1)
  })

  test('shows whom the hub does not take in, with the reason, and starts the others', async () => {
    const made = await world({ names: ['ada'] })
    const { fleet, configure, refuses } = made
    refuses.set('bob', 'no such directory')
    configure('ada', 'bob', 'cy')
    await fleet.follow()
    const view = () => fleet.daemons().map(({ name, state, note }) => [name, state, note])
    expect(view()).toEqual([
      ['ada', 'starting', null],
      ['cy', 'starting', null],
      ['bob', 'failed', 'no such directory'],
    ])
    refuses.clear()
    await fleet.follow()
    expect(view().at(-1)).toEqual(['bob', 'starting', null])
  })

  describe('a daemon that was stopped', () => {
    test('rests', async () => {
      const { stop, fleet, state } = await withDaemon()
      await (
        await stop()
      )()
      await fleet.follow()
      expect(state()).toBe('stopped')
    })

    test('is started again where its persona was wrapped and added between two looks', async () => {
      const { stop, fleet, ada, state } = await withDaemon()
      const ended = await stop()
      ada.updated_at = LATER
      // Its end is not heard of yet.
      await fleet.follow()
      await ended()
      await fleet.follow()
      expect(state()).toBe('starting')
    })

    test('rests also where its persona was added anew while it ran', async () => {
      const { stop, fleet, ada, state } = await withDaemon()
      ada.updated_at = LATER
      await fleet.follow()
      expect(state()).toBe('running')
      await (
        await stop()
      )()
      await fleet.follow()
      expect(state()).toBe('stopped')
    })
  })

  test.each<[string, string, (made: World) => unknown]>([
    ['its settings were changed', 'starting', ({ write }) => write({ ada: { surface: 'codex' } })],
    [
      'a broken file was mended',
      'starting',
      async ({ at, fleet, configure }) => {
        fs.writeFileSync(at.config, 'personas: [')
        await expect(fleet.follow()).rejects.toThrow(TurnbellError)
        configure('ada')
      },
    ],
    ['nothing changed', 'failed', () => {}],
  ])('a daemon that could not start, once %s, is %s', async (_, state, happen) => {
    const made = await world({ names: ['ada'] })
    const { end } = await processOf(made, 'ada')
    end({ code: EXIT.config_invalid, os_signal: null })
    await made.isSeen('ada', 'failed')
    await happen(made)
    await made.fleet.follow()
    expect(made.fleet.daemons()[0]?.state).toBe(state)
  })

  test('a daemon that could not start is out of view once its persona is removed', async () => {
    const made = await world({ names: ['ada'] })
    const { end } = await processOf(made, 'ada')
    end({ code: EXIT.config_invalid, os_signal: null })
    await made.isSeen('ada', 'failed')
    made.configure()
    await made.fleet.follow()
    expect(made.fleet.daemons()).toEqual([])
  })

  test('starts a hub of its own beside a bridge that stands in', async () => {
    let leave = (): void => {}
    const asked = new Promise<void>((resolve) => (leave = resolve))
    const made = world({ hub_pid: { pid: process.pid, stands_in: true }, asked })
    leave()
    expect((await made).launched.map(({ args }) => args[0])).toEqual(['hub'])
  })

  test('can be left while the hub does not answer, and takes it along', async () => {
    let leave = (): void => {}
    const asked = new Promise<void>((resolve) => (leave = resolve))
    const made = world({ hub_pid: null, asked, names: ['ada'] })
    leave()
    const { fleet, launched } = await made
    expect(fleet.hub()).toMatchObject({ state: 'starting', ours: true })
    expect(await fleet.stop()).toEqual([])
    expect(launched.map(({ args, killed }) => [args[0], killed])).toEqual([['hub', ['SIGTERM']]])
  })

  test.each<[string, Exit]>([
    ['was stopped', { code: EXIT.done, os_signal: null }],
    ['waits for its next attempt', { code: EXIT.failed, os_signal: null }],
  ])('is down once its hub was stopped on purpose and its daemon %s', async (_, exit) => {
    const hub = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    onTestFinished(() => void hub.kill('SIGKILL'))
    const made = await world({ names: ['ada'], hub_pid: { pid: hub.pid } })
    const { end } = await processOf(made, 'ada')
    fs.rmSync(made.at.hub_pid)
    hub.kill('SIGKILL')
    await eventually('the hub is stopped', () => made.fleet.hub().state === 'stopped')
    expect(made.fleet.isDown()).toBe(false)
    end(exit)
    await eventually('all is down', () => made.fleet.isDown())
  })
})
