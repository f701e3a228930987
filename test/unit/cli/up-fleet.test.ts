import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { invocationIn } from '../../../src/cli/cli.ts'
import { startFleet, type Fleet } from '../../../src/cli/up/fleet.ts'
import type { Exit, Launched } from '../../../src/cli/up/launch.ts'
import { personaPaths, resolveHome } from '../../../src/system/home.ts'
import { daemonStatus, fakeDaemon } from '../../support/fake-daemon.ts'
import { testCli } from '../../support/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const NEVER = new Promise<void>(() => {})

interface Known {
  identity: string
  state: string
}

/** A home whose hub runs as this very process, unless it is said what stands in its file. */
async function world(options: { hub_pid?: object | null; asked?: Promise<void>; names?: string[] } = {}) {
  const home = temporaryDirectory()
  const at = resolveHome({}, home)
  const known: Known[] = []
  const configure = (...names: string[]) => {
    const settings = Object.fromEntries(names.map((name) => [name, { surface: 'mcp' }]))
    fs.writeFileSync(at.config, JSON.stringify({ personas: settings }))
  }
  configure(...(options.names ?? []))
  for (const name of options.names ?? []) known.push({ identity: name, state: 'active' })
  const stands = options.hub_pid === undefined ? { pid: process.pid } : options.hub_pid
  if (stands !== null) {
    fs.mkdirSync(path.dirname(at.hub_pid))
    const file = { url: 'http://hub.test', started_at: '2026-01-01T00:00:00.000Z', ...stands }
    fs.writeFileSync(at.hub_pid, JSON.stringify(file))
  }
  const times = { created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' }
  const turnbell = testCli({
    home,
    hub: {
      '/ready': () => ({}),
      'personas.list': () => ({
        personas: known.map((one) => ({ ...one, ...times, surface: 'mcp' })),
      }),
      'personas.add': ({ identity }) => {
        known.push({ identity: String(identity), state: 'active' })
        return {}
      },
    },
  })
  const launched: { args: readonly string[]; killed: string[] }[] = []
  const launch = (args: readonly string[]): Launched => {
    let ended: Exit | null = null
    let end = (_: Exit): void => {}
    const exited = new Promise<Exit>((resolve) => (end = resolve))
    const killed: string[] = []
    launched.push({ args, killed })
    return {
      ...{ pid: 999_999_999, exited, exit: () => ended, said: () => '' },
      kill(os_signal) {
        killed.push(os_signal)
        end((ended = { code: null, os_signal }))
      },
    }
  }
  const fleet: Fleet = await startFleet({
    ...{ invocation: invocationIn(turnbell.cli, home), launch, onChange: () => {} },
    asked: options.asked ?? NEVER,
  })
  onTestFinished(() => fleet.kill())
  const added = () => turnbell.hubCalls.filter(({ what }) => what === 'personas.add')
  return { home, fleet, known, launched, configure, added }
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
})
