import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { invocationIn } from '../../../../src/cli/cli.ts'
import { startProcessGroup, type ProcessGroup } from '../../../../src/cli/up/process-group.ts'
import type { Exit, Launched } from '../../../../src/cli/up/launch.ts'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { EXIT } from '../../../../src/contracts/errors/exit-codes.ts'
import { personaPaths, resolveHome } from '../../../../src/system/config/home.ts'
import { eventually } from '../../../support/eventually.ts'
import { daemonStatus, fakeDaemon } from '../../../support/fakes/fake-daemon.ts'
import { testCli } from '../../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const NEVER = new Promise<void>(() => {})

interface Known {
  identity: string
  state: string
  updated_at: string
}

const BEFORE = '2026-01-01T00:00:00.000Z'
const LATER = '2026-01-01T00:00:01.000Z'
const PID = 999_999_999

/** A home whose hub is this test process, unless its pid file has other contents. */
async function world(options: { hub_pid?: object | null; asked?: Promise<void>; names?: string[] } = {}) {
  const home = temporaryDirectory()
  const at = resolveHome({}, home)
  const known: Known[] = []
  /** Personas that the hub rejects, with the reason. */
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
      ...{ pid: PID, exited, exit: () => ended, output: () => '' },
      kill(os_signal) {
        killed.push(os_signal)
        end({ code: null, os_signal })
      },
    }
  }
  const group: ProcessGroup = await startProcessGroup({
    ...{ invocation: invocationIn(turnbell.cli, home), launch, onChange: () => {} },
    stop_requested: options.asked ?? NEVER,
  })
  onTestFinished(() => group.kill())
  const added = () => turnbell.hubCalls.filter(({ what }) => what === 'personas.add')
  /** The daemon answers as the process that was launched for it. */
  const answers = (identity: string) =>
    fakeDaemon(personaPaths(at, 'local', identity, {}), () => daemonStatus(identity, { pid: PID }))
  const isSeen = (identity: string, state: string) =>
    eventually(`${identity} is ${state}`, () =>
      group.daemons().some((view) => view.name === identity && view.state === state),
    )
  return { home, group, known, launched, configure, write, added, refuses, answers, isSeen, at }
}

type World = Awaited<ReturnType<typeof world>>

/** Returns the latest process launched for the persona, when there is one. */
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
    /** Ends cleanly; the group is notified of the end when this is called. */
    stop: async () => {
      await daemon.close()
      return () => {
        end({ code: EXIT.done, os_signal: null })
        return made.isSeen('ada', 'stopped')
      }
    },
    state: () => made.group.daemons()[0]?.state,
  }
}

describe('the process group of up', () => {
  test('a persona that is configured again after a removal is added at the hub', async () => {
    const { group, known, configure, added, home } = await world({ names: ['ada'] })
    await fakeDaemon(personaPaths(resolveHome({}, home), 'local', 'bob', {}), () => daemonStatus('bob'))
    configure('ada', 'bob')
    await group.follow()
    expect(added().map(({ params }) => params)).toEqual([{ identity: 'bob', surface: 'mcp' }])
    expect(known.map(({ identity }) => identity)).toEqual(['ada', 'bob'])
  })

  test('a persona that is being removed is not added again', async () => {
    const { group, known, configure, added } = await world({ names: ['ada'] })
    known.length = 0
    await group.follow()
    await group.follow()
    expect(added()).toEqual([])
    configure()
    await group.follow()
    configure('ada')
    await group.follow()
    expect(added()).toHaveLength(1)
  })

  test('a persona that the hub refuses is shown with the reason and the others start', async () => {
    const made = await world({ names: ['ada'] })
    const { group, configure, refuses } = made
    refuses.set('bob', 'no such directory')
    configure('ada', 'bob', 'cy')
    await group.follow()
    const view = () => group.daemons().map(({ name, state, note }) => [name, state, note])
    expect(view()).toEqual([
      ['ada', 'starting', null],
      ['cy', 'starting', null],
      ['bob', 'failed', 'no such directory'],
    ])
    refuses.clear()
    await group.follow()
    expect(view().at(-1)).toEqual(['bob', 'starting', null])
  })

  describe('a stopped daemon', () => {
    test('a daemon that was stopped on purpose is not restarted', async () => {
      const { stop, group, state } = await withDaemon()
      await (
        await stop()
      )()
      await group.follow()
      expect(state()).toBe('stopped')
    })

    test('a daemon is restarted after its persona was wrapped and added again', async () => {
      const { stop, group, ada, state } = await withDaemon()
      const ended = await stop()
      ada.updated_at = LATER
      // The group has not been notified of its end.
      await group.follow()
      await ended()
      await group.follow()
      expect(state()).toBe('starting')
    })

    test('a stopped daemon is not restarted by an earlier add of its persona', async () => {
      const { stop, group, ada, state } = await withDaemon()
      ada.updated_at = LATER
      await group.follow()
      expect(state()).toBe('running')
      await (
        await stop()
      )()
      await group.follow()
      expect(state()).toBe('stopped')
    })
  })

  test.each<[string, string, (made: World) => unknown]>([
    ['its settings were changed', 'starting', ({ write }) => write({ ada: { surface: 'codex' } })],
    [
      'an invalid file was fixed',
      'starting',
      async ({ at, group, configure }) => {
        fs.writeFileSync(at.config, 'personas: [')
        await expect(group.follow()).rejects.toThrow(TurnbellError)
        configure('ada')
      },
    ],
    ['nothing changed', 'failed', () => {}],
  ])('a daemon that could not start is, once %s, %s', async (_, state, happen) => {
    const made = await world({ names: ['ada'] })
    const { end } = await processOf(made, 'ada')
    end({ code: EXIT.config_invalid, os_signal: null })
    await made.isSeen('ada', 'failed')
    await happen(made)
    await made.group.follow()
    expect(made.group.daemons()[0]?.state).toBe(state)
  })

  test('a failed daemon is hidden after its persona is removed', async () => {
    const made = await world({ names: ['ada'] })
    const { end } = await processOf(made, 'ada')
    end({ code: EXIT.config_invalid, os_signal: null })
    await made.isSeen('ada', 'failed')
    made.configure()
    await made.group.follow()
    expect(made.group.daemons()).toEqual([])
  })

  test('up starts a hub although a bridge has an embedded one', async () => {
    let leave = (): void => {}
    const asked = new Promise<void>((resolve) => (leave = resolve))
    const made = world({ hub_pid: { pid: process.pid, stands_in: true }, asked })
    leave()
    expect((await made).launched.map(({ args }) => args[0])).toEqual(['hub'])
  })

  test('up can be stopped while the hub does not answer', async () => {
    let leave = (): void => {}
    const asked = new Promise<void>((resolve) => (leave = resolve))
    const made = world({ hub_pid: null, asked, names: ['ada'] })
    leave()
    const { group, launched } = await made
    expect(group.hub()).toMatchObject({ state: 'starting', ours: true })
    expect(await group.stop()).toEqual([])
    expect(launched.map(({ args, killed }) => [args[0], killed])).toEqual([['hub', ['SIGTERM']]])
  })

  test.each<[string, Exit]>([
    ['was stopped', { code: EXIT.done, os_signal: null }],
    ['waits for its next attempt', { code: EXIT.failed, os_signal: null }],
  ])('up is down once its hub was stopped and its daemon %s', async (_, exit) => {
    const hub = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    onTestFinished(() => void hub.kill('SIGKILL'))
    const made = await world({ names: ['ada'], hub_pid: { pid: hub.pid } })
    const { end } = await processOf(made, 'ada')
    fs.rmSync(made.at.hub_pid)
    hub.kill('SIGKILL')
    await eventually('the hub is stopped', () => made.group.hub().state === 'stopped')
    expect(made.group.isDown()).toBe(false)
    end(exit)
    await eventually('all is down', () => made.group.isDown())
  })
})
